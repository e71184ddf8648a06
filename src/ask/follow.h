/*
 * follow.h - run a check over a recording while it is made.
 *
 *	time ──────────────────────────────────────────────────▶
 *	     read by the check │ AMEND or more │ read ahead │ still written
 *	                    check_ns             state_ns      whole_ns
 *
 * Each step opens the directory anew, with the ordinary reader, and reads on from where the last
 * one ended: so nothing of a format needs to know that a file grows. The check reads behind the
 * state engine, because that amends what it wrote when later events prove otherwise; and behind
 * what was read ahead to find losses, which a stream tells of when it is whole again.
 *
 * A step takes a bounded time. When the check falls too far behind, a stretch is left out, and
 * is a hole to the engine and to the check, as if its events had been lost.
 */
#ifndef ASK_FOLLOW_H
#define ASK_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check;
struct check_finding;
struct err;
struct event;
struct facts;
struct follow;
struct model;
struct model_errors;

struct follow_opts {
	const char *dir; /* of the recording */
	const struct model *model;
	uint64_t most_behind_ns; /* then a stretch is left out; 0 = default */
	size_t most_bytes;	 /* of the timeline; 0 = default */
	bool no_why;
	/* Called as the trace was opened, before its events come. */
	void (*opened)(void *context, const struct facts *facts);
	/* Called for each event, in order, ahead of the check. */
	void (*ahead)(void *context, const struct event *event);
	/* Called for findings from index 'first' on, as they are found. */
	void (*found)(void *context, struct check *check, size_t first);
	/* Called once for an open instance that misses a deadline, whatever comes. */
	void (*late)(void *context, struct check *check, const struct check_finding *finding);
	void *context;
};

/* What there is to say of the way it went. */
struct follow_sum {
	uint64_t behind_most_ns; /* between an event and its check; of steps before the end */
	uint64_t skipped_ns;	 /* not read */
	uint64_t skips;
	uint64_t renewals; /* of the timeline */
	uint64_t doubtful; /* instances that became uncertain by them */
};

struct follow *follow_new(const struct follow_opts *opts); /* 'opts' must outlive it */
void follow_free(struct follow *follow);		   /* NULL is fine */

/*
 * Go on: all before 'whole_ns' is in the directory; UINT64_MAX: all of it, recording is over.
 * Returns 0, -EINVAL with errors filled when a filter of the model is wrong, or negative with err
 * filled.
 */
int follow_step(struct follow *follow, uint64_t whole_ns, struct model_errors *errors,
		struct err *err);

/* Events before this are not read any more. */
uint64_t follow_needs_ns(const struct follow *follow);

/* After the step to the end: explain the first 'count' findings. */
void follow_explain(struct follow *follow, uint32_t count);

/* Was it told of as late? */
bool follow_was_late(const struct follow *follow, uint64_t instance);

/* NULL before the first step. */
struct check *follow_check(const struct follow *follow);
const struct facts *follow_facts(const struct follow *follow);
size_t follow_notes(const struct follow *follow, const char *const **out_notes);
const struct follow_sum *follow_sum(const struct follow *follow);

#endif
