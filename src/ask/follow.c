/* follow.c - step by step: open, read on, check, close. */
#include "ask/follow.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/check/check.h"
#include "analyse/check/check_live.h"
#include "ask/check_feed.h"
#include "ask/follow_engine.h"
#include "ask/read_on.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "model/model.h"
#include "read/read.h"
#include "timeline/timeline.h"

#define AMEND_NS	100000000u /* a running thread has a timer tick in this time */
#define STEP_NS		400000000u /* a step takes no longer, nearly */
#define MOST_BEHIND_NS	5000000000u
#define EXPLAIN_MOST	5u	    /* findings of a step */
#define EXPLAIN_SPAN_NS 1000000000u /* longer ones are explained at the end */
#define KEEP_FINDINGS	1000u
#define LATE_MOST	10000u	    /* open instances that a step looks at */
#define GOALS		32u	    /* steps that read ahead takes to get to where one was */
#define WARM_NS		2000000000u /* more than what a reader looks back from where it begins */

struct follow {
	const struct follow_opts *opts;
	struct trace *base;  /* owned; the first one: its facts are the engine's */
	struct trace *names; /* owned unless it is 'base': what the feed was made with */
	struct trace *trace; /* of the step */
	struct check_feed *feed;
	struct check *check;
	struct follow_engine *engine; /* NULL = neither the model nor the reasons ask for it */
	bool is_measured;	      /* the model asks for it */
	const char *missing[METRIC_KIND_COUNT];
	uint64_t state_ns, check_ns, last_ns;
	/*
	 * A stream tells of a loss where it is whole again, which may be behind what is in the
	 * directory for sure, but not behind the moment at which that was said. So what was
	 * lost before 'whole_ns' is known when all up to 'said_ns' was read ahead.
	 */
	struct {
		uint64_t whole_ns, said_ns;
	} goals[GOALS]; /* the oldest first */
	uint32_t goal_count;
	uint64_t known_ns;	   /* what was lost before is known */
	size_t told;		   /* findings */
	struct map late, late_now; /* numbers of instances: told of, and found by this step */
	struct follow_sum sum;
};

struct follow *follow_new(const struct follow_opts *opts)
{
	struct follow *follow = xcalloc(1, sizeof(*follow));

	follow->opts = opts;
	return follow;
}

void follow_free(struct follow *follow)
{
	if (!follow)
		return;
	map_fini(&follow->late);
	map_fini(&follow->late_now);
	check_free(follow->check);
	check_feed_free(follow->feed);
	follow_engine_free(follow->engine);
	if (follow->names != follow->base)
		trace_close(follow->names);
	trace_close(follow->base);
	free(follow);
}

/* ------------------------------------------------------------ what is asked */

/* The feed at hand may be another one than when the check was made. */
static bool passes(void *context, uint32_t pattern)
{
	const struct follow *follow = context;
	struct check_reader reader = check_feed_reader(follow->feed);

	return reader.passes(reader.context, pattern);
}

static bool read_field(void *context, uint32_t field, struct check_field *out_field)
{
	const struct follow *follow = context;
	struct check_reader reader = check_feed_reader(follow->feed);

	return reader.field(reader.context, field, out_field);
}

static void begin_check(struct follow *follow)
{
	const struct facts *facts = trace_facts(follow->base);
	struct check_opts opts = {
		.reader = { .context = follow, .passes = passes, .field = read_field },
		.facts = facts,
		.missing = follow->missing,
	};

	/* All that is there: some events are older than what is called the beginning. */
	follow->state_ns = follow->check_ns = 0;
	if (check_feed_has_kernel(follow->feed)) {
		follow->is_measured = model_asks_kernel(follow->opts->model);
		if (follow->is_measured || !follow->opts->no_why)
			follow->engine = follow_engine_new(facts, follow->opts->most_bytes);
		if (follow->is_measured)
			opts.timeline = follow_engine_timeline(follow->engine);
	}
	follow->check = check_new(follow->opts->model, &opts);
}

/* Look the names up again: programs have come with kinds of events that were not there. */
static int renew_feed(struct follow *follow, struct model_errors *errors, struct err *err)
{
	struct check_feed *feed;
	int rc = check_feed_new(follow->trace, follow->opts->model, &feed, errors, err);

	if (rc < 0)
		return rc;
	if (follow->feed)
		check_feed_take_over(feed, follow->feed);
	check_feed_free(follow->feed);
	if (follow->names != follow->base)
		trace_close(follow->names);
	follow->feed = feed;
	follow->names = follow->trace;
	memcpy(follow->missing, check_feed_missing(feed), sizeof(follow->missing));
	return 0;
}

uint64_t follow_needs_ns(const struct follow *follow)
{
	return follow->check_ns > WARM_NS ? follow->check_ns - WARM_NS : 0;
}

static int follow_open_trace(struct follow *follow, uint64_t whole_ns, struct model_errors *errors,
			     struct err *err)
{
	bool first = !follow->base;
	int rc = whole_ns == UINT64_MAX
			 ? read_open(follow->opts->dir, &follow->trace, err)
			 : read_open_growing(follow->opts->dir, first ? 0 : follow_needs_ns(follow),
					     whole_ns, &follow->trace, err);

	if (rc < 0)
		return rc;
	trace_set_threads(follow->trace, 0);
	if (first)
		follow->base = follow->trace;
	else
		trace_learn(follow->trace, follow->base);
	follow->opts->opened(follow->opts->context, trace_facts(follow->trace));
	if (!follow->feed || !check_feed_use_trace(follow->feed, follow->trace))
		rc = renew_feed(follow, errors, err);
	if (rc == 0 && !follow->check)
		begin_check(follow);
	return rc;
}

static void close_trace(struct follow *follow)
{
	if (follow->trace && follow->trace != follow->base)
		trace_learn(follow->base, follow->trace);
	if (follow->trace != follow->base && follow->trace != follow->names)
		trace_close(follow->trace);
	follow->trace = NULL;
}

/* --------------------------------------------------------------------- read */

static void see_hole(struct follow *follow, const struct event *event)
{
	struct check_hole hole = { .since_ns = event->lost.since_ns < event->time_ns
						       ? event->lost.since_ns
						       : event->time_ns,
				   .until_ns = event->time_ns,
				   .is_user = event->context & EV_CTX_USER };

	check_live_hole(follow->check, &hole);
}

/* Ahead of the check. */
static void look_ahead(void *context, const struct event *event)
{
	struct follow *follow = context;

	if (event->type == EV_LOST)
		see_hole(follow, event);
	follow->opts->ahead(follow->opts->context, event);
	if (follow->engine)
		follow_engine_feed(follow->engine, event);
	follow->last_ns = event->time_ns;
}

static void check_one(void *context, const struct event *event)
{
	struct follow *follow = context;

	check_feed_event(follow->feed, follow->check, event);
	follow->last_ns = event->time_ns;
}

/* Too slow: what is older than this is not read any more. */
static void skip_to(struct follow *follow, uint64_t since_ns, uint64_t until_ns)
{
	struct event lost = {
		.time_ns = until_ns,
		.tid = -1,
		.type = EV_LOST,
		.lost.since_ns = since_ns,
	};

	follow->sum.skips++;
	follow->sum.skipped_ns += until_ns - since_ns;
	check_feed(follow->check, &lost, NULL, 0);
	lost.context = EV_CTX_USER;
	check_feed(follow->check, &lost, NULL, 0);
	if (until_ns > follow->state_ns) {
		if (follow->engine)
			follow_engine_skip(follow->engine,
					   follow->state_ns > since_ns ? follow->state_ns
								       : since_ns,
					   until_ns);
		follow->state_ns = until_ns;
	}
	follow->check_ns = until_ns;
}

static uint64_t checked_ns(const struct follow *follow)
{
	uint64_t first_ns = trace_facts(follow->base)->first_ns;

	return follow->check_ns > first_ns ? follow->check_ns : first_ns;
}

static uint64_t seen_ns(const struct follow *follow)
{
	uint64_t first_ns = trace_facts(follow->base)->first_ns;

	return follow->state_ns > first_ns ? follow->state_ns : first_ns;
}

static void keep_pace(struct follow *follow, uint64_t whole_ns)
{
	uint64_t most_ns =
		follow->opts->most_behind_ns ? follow->opts->most_behind_ns : MOST_BEHIND_NS;

	if (whole_ns == UINT64_MAX)
		return;
	/* How far it reads ahead of the check is not that it is slow. */
	if (whole_ns > seen_ns(follow) + most_ns || follow->known_ns > checked_ns(follow) + most_ns)
		skip_to(follow, checked_ns(follow),
			whole_ns - (AMEND_NS < most_ns ? AMEND_NS : most_ns));
}

/* Let the check have what the engine knows by now. */
static void advance(struct follow *follow, uint64_t end_ns)
{
	if (follow->engine) {
		if (end_ns == UINT64_MAX)
			follow_engine_end(follow->engine, trace_facts(follow->trace)->last_ns);
		else
			follow_engine_advance(follow->engine, follow->state_ns);
	}
	check_live_advance(follow->check, follow->missing);
	if (end_ns == UINT64_MAX)
		check_live_settle(follow->check);
}

static void renew_timeline(struct follow *follow)
{
	const struct timeline *next =
		follow->engine ? follow_engine_next(follow->engine, follow->check_ns) : NULL;

	if (!next)
		return;
	follow->sum.renewals++;
	if (follow->is_measured)
		follow->sum.doubtful += check_live_renew(follow->check, next, follow->check_ns);
	follow_engine_renewed(follow->engine);
}

static uint64_t check_until(const struct follow *follow, uint64_t whole_ns)
{
	uint64_t amend_ns = follow->engine ? AMEND_NS : 0, until_ns;

	if (whole_ns == UINT64_MAX)
		return whole_ns;
	until_ns = follow->state_ns > amend_ns ? follow->state_ns - amend_ns : 0;
	if (until_ns > follow->known_ns)
		until_ns = follow->known_ns;
	return until_ns > follow->check_ns ? until_ns : follow->check_ns;
}

static void note_goal(struct follow *follow, uint64_t whole_ns)
{
	if (whole_ns == UINT64_MAX || follow->goal_count == GOALS)
		return;
	follow->goals[follow->goal_count].whole_ns = whole_ns;
	follow->goals[follow->goal_count++].said_ns = clock_now_ns();
}

static void note_known(struct follow *follow)
{
	uint32_t done = 0;

	while (done < follow->goal_count && follow->state_ns >= follow->goals[done].said_ns)
		follow->known_ns = follow->goals[done++].whole_ns;
	if (!done)
		return;
	follow->goal_count -= done;
	memmove(follow->goals, follow->goals + done, follow->goal_count * sizeof(follow->goals[0]));
}

static int read_step(struct follow *follow, uint64_t whole_ns, struct err *err)
{
	uint64_t stop_ns = whole_ns == UINT64_MAX ? UINT64_MAX : clock_now_ns() + STEP_NS / 2;
	int rc;

	note_goal(follow, whole_ns);
	keep_pace(follow, whole_ns);
	trace_keep_records(follow->trace, false);
	rc = read_on(follow->trace, &follow->state_ns, whole_ns, stop_ns, look_ahead, follow, err);
	if (rc < 0)
		return rc;
	note_known(follow);
	advance(follow, whole_ns);
	if (stop_ns != UINT64_MAX)
		stop_ns += STEP_NS / 2;
	trace_keep_records(follow->trace, true);
	return read_on(follow->trace, &follow->check_ns, check_until(follow, whole_ns), stop_ns,
		       check_one, follow, err);
}

/* ----------------------------------------------------------------- findings */

static bool may_explain(const struct follow *follow, const struct check_finding *finding)
{
	return finding->status == CHECK_INVALID &&
	       finding->end_ns - finding->start_ns <= EXPLAIN_SPAN_NS &&
	       finding->start_ns >= watch_engine_origin_ns(follow->engine);
}

static void explain_fresh(struct follow *follow, struct check_finding *findings, size_t count)
{
	uint32_t explained = 0;

	if (!follow->engine || follow->opts->no_why)
		return;
	for (size_t i = follow->told; i < count && explained < EXPLAIN_MOST; i++) {
		if (i > 0 && check_same_span(&findings[i - 1], &findings[i]))
			continue;
		if (!may_explain(follow, &findings[i]))
			continue;
		check_live_explain(follow->check, &findings[i],
				   follow_engine_timeline(follow->engine),
				   follow_engine_facts(follow->engine));
		explained++;
	}
}

static void follow_tell(struct follow *follow)
{
	struct check_finding *findings;
	size_t count = check_live_findings(follow->check, &findings);

	if (count > follow->told) {
		explain_fresh(follow, findings, count);
		follow->opts->found(follow->opts->context, follow->check, follow->told);
	}
	check_live_forget(follow->check, KEEP_FINDINGS);
	follow->told = count < KEEP_FINDINGS ? count : KEEP_FINDINGS;
}

static void on_late(void *context, const struct check_finding *finding)
{
	struct follow *follow = context;

	map_put(&follow->late_now, finding->instance, 1);
	if (!map_find(&follow->late, finding->instance))
		follow->opts->late(follow->opts->context, follow->check, finding);
}

/* What hangs never comes to the transition that has the deadline. */
static void tell_late(struct follow *follow)
{
	check_live_late(follow->check, follow->check_ns, LATE_MOST, on_late, follow);
	/* Those that went on are forgotten, a step after they were told of as findings. */
	map_fini(&follow->late);
	follow->late = follow->late_now;
	follow->late_now = (struct map){ 0 };
}

bool follow_was_late(const struct follow *follow, uint64_t instance)
{
	return map_find(&follow->late, instance) != NULL;
}

/* Where check_feed_run() ends, too. */
static void end_check(struct follow *follow)
{
	uint64_t last_ns = trace_facts(follow->trace)->last_ns;

	check_end(follow->check, last_ns > follow->last_ns ? last_ns : follow->last_ns);
}

static void note_pace(struct follow *follow, uint64_t whole_ns)
{
	uint64_t behind_ns;

	if (whole_ns == UINT64_MAX)
		return;
	behind_ns = clock_now_ns() - checked_ns(follow);
	if (behind_ns > follow->sum.behind_most_ns)
		follow->sum.behind_most_ns = behind_ns;
}

int follow_step(struct follow *follow, uint64_t whole_ns, struct model_errors *errors,
		struct err *err)
{
	int rc = follow_open_trace(follow, whole_ns, errors, err);

	if (rc < 0) {
		close_trace(follow);
		return rc;
	}
	rc = read_step(follow, whole_ns, err);
	if (rc == 0)
		follow_tell(follow);
	if (rc == 0 && whole_ns != UINT64_MAX)
		tell_late(follow);
	if (rc == 0 && whole_ns == UINT64_MAX)
		end_check(follow);
	if (rc == 0 && whole_ns != UINT64_MAX)
		renew_timeline(follow);
	note_pace(follow, whole_ns);
	close_trace(follow);
	return rc;
}

void follow_explain(struct follow *follow, uint32_t count)
{
	if (follow->engine && !follow->opts->no_why)
		check_explain(follow->check, follow_engine_timeline(follow->engine),
			      follow_engine_facts(follow->engine), NULL, count);
}

struct check *follow_check(const struct follow *follow)
{
	return follow->check;
}

const struct facts *follow_facts(const struct follow *follow)
{
	return trace_facts(follow->base);
}

size_t follow_notes(const struct follow *follow, const char *const **out_notes)
{
	return check_feed_notes(follow->feed, out_notes);
}

const struct follow_sum *follow_sum(const struct follow *follow)
{
	return &follow->sum;
}
