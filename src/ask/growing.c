/* growing.c - step by step: open, feed the state engine, close. */
#include "ask/growing.h"

#include <stdlib.h>

#include "ask/follow_engine.h"
#include "ask/read_on.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "read/read.h"
#include "timeline/timeline.h"

#define STEP_NS	       300000000u  /* a step takes no longer, nearly */
#define MOST_BEHIND_NS 3000000000u /* then a stretch is left out */
#define KEPT_NS	       200000000u  /* of it the last part is read */
#define WARM_NS	       2000000000u /* more than what a reader looks back from where it begins */

struct growing {
	const char *dir;
	struct trace *base; /* owned; the first one: its facts are the engine's */
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
	free(growing);
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

/* Too slow: what is older than this is not read any more. */
static void keep_pace(struct growing *growing, uint64_t whole_ns)
{
	uint64_t first_ns = trace_facts(growing->base)->first_ns;
	uint64_t since_ns = growing->read_ns > first_ns ? growing->read_ns : first_ns;

	if (whole_ns <= since_ns + MOST_BEHIND_NS)
		return;
	follow_engine_skip(growing->engine, since_ns, whole_ns - KEPT_NS);
	growing->read_ns = whole_ns - KEPT_NS;
}

static void growing_feed(void *context, const struct event *event)
{
	follow_engine_feed(context, event);
}

int growing_step(struct growing *growing, uint64_t whole_ns, struct err *err)
{
	int rc = growing_open_trace(growing, whole_ns, err);

	if (rc == 0) {
		keep_pace(growing, whole_ns);
		rc = read_on(growing->trace, &growing->read_ns, whole_ns, clock_now_ns() + STEP_NS,
			     growing_feed, growing->engine, err);
	}
	if (rc == 0) {
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
