/* growing.c - step by step: open, feed the state engine, close. */
#include "ask/growing.h"

#include <stdlib.h>

#include "analyse/others/others.h"
#include "ask/follow_engine.h"
#include "ask/read_on.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/event.h"
#include "read/read.h"
#include "timeline/timeline.h"

#define STEP_NS	       300000000u   /* a step takes no longer, nearly */
#define MOST_BEHIND_NS 3000000000u  /* then a stretch is left out */
#define KEPT_NS	       200000000u   /* of it the last part is read */
#define SPANS_MOST     (1u << 16)   /* of other lanes, together */
#define LANES_NS       30000000000u /* they reach back so far, or to the beginning */
#define WARM_NS	       2000000000u  /* more than what a reader looks back from where it begins */

/* They are begun anew now and then: what is kept of a long recording stays small. */
struct lanes {
	struct others *others; /* owned; NULL = not begun */
	uint64_t since_ns;
};

struct growing {
	const char *dir;
	struct lanes lanes, next; /* 'next' takes its place once it reaches back far enough */
	struct trace *base;	  /* owned; the first one: its facts are the engine's */
	struct trace *trace;
	struct follow_engine *engine; /* owned */
	uint64_t read_ns;	      /* all before it is read */
};

struct growing *growing_new(const char *dir)
{
	struct growing *growing = xcalloc(1, sizeof(*growing));

	growing->dir = dir;
	return growing;
}

void growing_free(struct growing *growing)
{
	if (!growing)
		return;
	follow_engine_free(growing->engine);
	trace_close(growing->base);
	others_free(growing->lanes.others);
	others_free(growing->next.others);
	free(growing);
}

static int32_t process_of(void *context, int32_t tid, uint64_t time_ns)
{
	const struct timeline *timeline = growing_timeline(context);
	uint32_t slot = timeline ? timeline_near_thread(timeline, tid, time_ns) : SLOT_NONE;

	return slot == SLOT_NONE ? 0 : thread_process(timeline->threads[slot]);
}

static char *process_name(void *context, int32_t tgid)
{
	const struct timeline *timeline = growing_timeline(context);
	uint32_t slot = timeline ? timeline_near_thread(timeline, tgid, UINT64_MAX) : SLOT_NONE;

	return slot == SLOT_NONE ? NULL : xasprintf("%s[%d]", timeline_comm(timeline, slot), tgid);
}

static void begin_lanes(struct growing *growing, struct lanes *lanes, uint64_t now_ns)
{
	const struct others_opts opts = { .facts = trace_facts(growing->base),
					  .process = process_of,
					  .process_name = process_name,
					  .context = growing,
					  .is_live = true,
					  .most_spans = SPANS_MOST };

	*lanes = (struct lanes){ .others = others_new(&opts), .since_ns = now_ns };
}

static void renew_lanes(struct growing *growing)
{
	uint64_t now_ns = growing->read_ns;

	if (growing->next.others && now_ns > growing->next.since_ns + LANES_NS) {
		others_free(growing->lanes.others);
		growing->lanes = growing->next;
		growing->next = (struct lanes){ 0 };
	}
	if (!growing->next.others && now_ns > growing->lanes.since_ns + LANES_NS)
		begin_lanes(growing, &growing->next, now_ns);
}

static int growing_open_trace(struct growing *growing, uint64_t whole_ns, struct err *err)
{
	uint64_t from_ns =
		growing->base && growing->read_ns > WARM_NS ? growing->read_ns - WARM_NS : 0;
	int rc = read_open_growing(growing->dir, from_ns, whole_ns, &growing->trace, err);

	if (rc < 0)
		return rc;
	trace_set_threads(growing->trace, 0);
	if (growing->base) {
		trace_learn(growing->trace, growing->base);
		return 0;
	}
	growing->base = growing->trace;
	growing->engine = follow_engine_new(trace_facts(growing->base), 0);
	begin_lanes(growing, &growing->lanes, trace_facts(growing->base)->first_ns);
	return 0;
}

static void close_trace(struct growing *growing)
{
	if (growing->trace && growing->trace != growing->base) {
		trace_learn(growing->base, growing->trace);
		trace_close(growing->trace);
	}
	growing->trace = NULL;
}

static void feed_lanes(struct growing *growing, const struct event *event)
{
	others_feed(growing->lanes.others, event);
	if (growing->next.others)
		others_feed(growing->next.others, event);
}

/* Too slow: what is older than this is not read any more. */
static void keep_pace(struct growing *growing, uint64_t whole_ns)
{
	uint64_t first_ns = trace_facts(growing->base)->first_ns;
	uint64_t since_ns = growing->read_ns > first_ns ? growing->read_ns : first_ns;
	const struct event hole = { .time_ns = since_ns, .type = EV_LOST };

	if (whole_ns <= since_ns + MOST_BEHIND_NS)
		return;
	follow_engine_skip(growing->engine, since_ns, whole_ns - KEPT_NS);
	feed_lanes(growing, &hole);
	growing->read_ns = whole_ns - KEPT_NS;
}

static void growing_feed(void *context, const struct event *event)
{
	struct growing *growing = context;

	follow_engine_feed(growing->engine, event);
	feed_lanes(growing, event);
}

int growing_step(struct growing *growing, uint64_t whole_ns, struct err *err)
{
	int rc = growing_open_trace(growing, whole_ns, err);

	if (rc == 0) {
		keep_pace(growing, whole_ns);
		rc = read_on(growing->trace, &growing->read_ns, whole_ns, clock_now_ns() + STEP_NS,
			     growing_feed, growing, err);
	}
	if (rc == 0) {
		renew_lanes(growing);
		follow_engine_advance(growing->engine, growing->read_ns);
		if (follow_engine_next(growing->engine, growing->read_ns))
			follow_engine_renewed(growing->engine);
	}
	close_trace(growing);
	return rc;
}

const struct timeline *growing_timeline(const struct growing *growing)
{
	return growing->engine ? follow_engine_timeline(growing->engine) : NULL;
}

const struct facts *growing_facts(const struct growing *growing)
{
	return follow_engine_facts(growing->engine);
}

const struct others *growing_others(struct growing *growing)
{
	if (growing->lanes.others)
		others_look(growing->lanes.others, growing->read_ns);
	return growing->lanes.others;
}
