/*
 * check.h - run a model over a trace: which instances kept its constraints, and which did not.
 *
 *	check_new(model, &opts);
 *	for each event of the trace, in order
 *		check_feed(check, event, patterns, count);
 *	check_end(check, end_ns);
 *	check_explain(check, ...);
 *	use(check_result(check));
 *
 * Events take transitions as they come. What a thread did meanwhile is the difference of two
 * sums of the timeline, whatever the length of the span; what the timeline does not sum up
 * (signals, bytes, requests) is counted as the events come by. So each event is looked at once.
 *
 * A value that rests on lost events is a range. A constraint that every value of the range keeps
 * is valid, one that none keeps is invalid, else it is uncertain.
 *
 * Memory is bounded: of too many open instances those that were heard of last the longest ago
 * are given up and counted. One thread at a time.
 */
#ifndef ANALYSE_CHECK_CHECK_H
#define ANALYSE_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/check/check_stats.h"

struct check;
struct event;
struct facts;
struct lock_owners;
struct model;
struct timeline;
struct why;

enum check_status {
	CHECK_VALID,
	CHECK_UNCERTAIN,
	CHECK_INVALID, /* the worst is the largest */
	CHECK_STATUS_COUNT
};

const char *check_status_name(enum check_status status); /* "valid" ... */

/* The value of a field of the event at hand. */
struct check_field {
	bool is_text;
	long double number;
	const char *text; /* is_text: not terminated */
	size_t bytes;
};

/* What the engine asks of the one that feeds it, about the event that is being fed. */
struct check_reader {
	void *context;
	/* Does it pass the filter of this pattern? Asked only for those that have one. */
	bool (*passes)(void *context, uint32_t pattern);
	/* The field of this number, see model->fields. False: this event has none. */
	bool (*field)(void *context, uint32_t field, struct check_field *out_field);
};

/* A part of the trace in which events were lost. */
struct check_hole {
	uint64_t since_ns, until_ns;
	bool is_user; /* those of programs; else of the kernel */
};

struct check_opts {
	struct check_reader reader;
	const struct timeline *timeline; /* NULL = nothing is known of the kernel */
	const struct facts *facts;
	/* By enum metric_kind: why it cannot be told from this trace; NULL = it can. */
	const char *const *missing;
	size_t open_bytes; /* memory for open instances; 0 = default */
	/*
	 * When the trace was run over before: its holes, and from whom events were matched. Else
	 * what comes in a hole before its stream is whole again is taken as if nothing were lost.
	 */
	const struct check_hole *holes; /* copied */
	size_t hole_count;
	bool took_kernel, took_user;
};

/* A value, or what is known of it. */
struct check_range {
	double low, high;
};

/* Why a value is a range, or what was found of a state. */
enum check_reason_kind {
	REASON_NONE,	    /* the values say it */
	REASON_UNSURE,	    /* what the thread did is not known: for 'ns' */
	REASON_MISSING,	    /* 'text' says what */
	REASON_HOLE,	    /* events of the kernel were lost */
	REASON_BLURRED,	    /* its own code or the kernel's: for 'ns' */
	REASON_KIND,	    /* of wait: the events that tell were not recorded */
	REASON_UNENDED,	    /* of wait: it is under way */
	REASON_LOCKS,	    /* a program told of its locks, and what it told was lost before */
	REASON_RSS,	    /* how large memory was at an end of the span is not known */
	REASON_SILENT,	    /* its program does not tell of its locks */
	REASON_WAY,	    /* events that the instance may have taken were lost */
	REASON_DEAF,	    /* no events of the kernel */
	REASON_STRANGER,    /* the thread is not known there */
	REASON_NOT_STARTED, /* variable 'index' */
	REASON_NOT_SET,
	REASON_VALUE,	   /* of variable 'index' */
	REASON_NO_FIELD,   /* 'index' */
	REASON_TEXT_FIELD, /* 'index' */
	REASON_BY_ZERO,
	REASON_GUESS,	    /* events were lost before: which transition it was is not known */
	REASON_LOST,	    /* events were lost in the state */
	REASON_LOST_TRACK,  /* events were lost before: it may have been another state */
	REASON_UNEXPECTED,  /* pattern 'index' in the state, which has no such transition */
	REASON_TRACE_ENDED, /* in the state, where no transition can meet its deadline */
	REASON_STILL,	    /* in the state */
};

struct check_reason {
	enum check_reason_kind kind;
	uint32_t index; /* of the variable, field or pattern */
	uint64_t ns;
	const char *text; /* static */
};

/* A constraint that an instance did not keep, or that cannot be told. */
struct check_finding {
	uint8_t status;
	uint64_t instance;   /* number, from 1 */
	char *key;	     /* owned */
	uint32_t transition; /* UINT32_MAX: no transition, see reason */
	uint32_t constraint; /* of the transition; UINT32_MAX: none, see reason */
	uint32_t state;	     /* in which the instance was */
	struct check_range left, right;
	struct check_reason reason;
	uint64_t start_ns, end_ns;
	uint32_t slot; /* thread it is about; SLOT_NONE = not known */
	int32_t tid;

	/* Of those that check_explain() looked at. */
	struct why *why;   /* owned; NULL = not asked, or it could not be told */
	uint32_t grown;	   /* root of 'why' that grew most against the valid ones; UINT32_MAX */
	uint64_t usual_ns; /* what it takes in the median valid instance */
	uint32_t compared_with; /* valid instances looked at */
};

/* Are the two about the same transition and span? Only the first of them has a 'why'. */
bool check_same_span(const struct check_finding *a, const struct check_finding *b);

struct check_constraint {
	uint64_t count[CHECK_STATUS_COUNT];
};

/* What a variable was when a transition was taken. */
struct check_value {
	uint32_t variable;
	uint64_t uncertain; /* values that are ranges: not in the stats */
	struct check_stats stats;
	uint64_t worst_instance; /* of the largest value; 0 = none */
	char *worst_key;	 /* owned */
};

#define CHECK_SAMPLES 15

struct check_span {
	uint64_t start_ns, end_ns;
	uint32_t slot; /* SLOT_NONE = it was not asked for: see tid */
	int32_t tid;
};

struct check_transition {
	uint64_t taken;
	uint64_t count[CHECK_STATUS_COUNT];
	struct check_constraint *constraints; /* owned; as in the model */
	struct check_value *values;	      /* owned */
	uint32_t value_count;
	struct check_span samples[CHECK_SAMPLES]; /* of valid ones, chosen evenly */
	uint32_t sample_count;
};

enum check_end {
	CHECK_ENDED,   /* in a final state, or back at the initial one */
	CHECK_OPEN,    /* the trace, or its thread, ended first */
	CHECK_DROPPED, /* given up, for there were too many */
};

struct check_instance {
	uint64_t number;
	char *key; /* owned */
	uint64_t begin_ns, end_ns;
	uint64_t transitions;
	uint32_t state; /* the last one */
	int32_t tid;	/* of its last event */
	uint8_t status;
	uint8_t end; /* enum check_end */
};

struct check_unexpected {
	uint32_t state, pattern;
	uint64_t count;
};

struct check_result {
	const struct model *model;
	uint64_t instances;
	uint64_t count[CHECK_STATUS_COUNT];
	uint64_t open, dropped;
	uint64_t events;		      /* fed */
	uint64_t no_key;		      /* that matched, and had no key */
	uint64_t lost;			      /* at least so many */
	bool took_kernel, took_user;	      /* events of both were matched */
	uint64_t *matched;		      /* owned; by pattern */
	struct check_transition *transitions; /* owned; as in the model */
	struct check_finding *findings; /* owned; invalid ones first, by number of the instance */
	size_t finding_count, finding_cap;
	uint64_t findings_left_out[CHECK_STATUS_COUNT];
	struct check_instance *list; /* owned; the first ones, in the order they ended */
	size_t list_count, list_cap;
	struct check_unexpected *unexpected; /* owned; most frequent first */
	size_t unexpected_count;
	enum check_status status; /* of the whole */
};

/* 'model' and what opts points to must outlive it. */
struct check *check_new(const struct model *model, const struct check_opts *opts);
void check_free(struct check *check); /* NULL is fine */

/* The next event of the trace; 'patterns' are those of the model whose name it has. */
void check_feed(struct check *check, const struct event *event, const uint32_t *patterns,
		uint32_t count);

/*
 * What the next event tells beside itself, in words that the engine understands: EV_USER_LOCK,
 * and pages of memory that the kernel gave out in the name of its thread. What no metric of the model is about costs nothing.
 */
void check_tell_lock(struct check *check, const struct event *event);
void check_tell_memory(struct check *check, const struct event *event, uint64_t bytes);

/* How large a counter of the resident memory of an address space is now. */
struct check_resident {
	uint32_t space; /* its number */
	bool is_own;	/* that of the event's thread */
	uint32_t
		counter; /* 0 of files, 1 its own, 2 swapped out, 3 shared: as the kernel has them */
	uint64_t bytes;
};

void check_tell_resident(struct check *check, const struct event *event,
			 const struct check_resident *resident);

/* The trace ends: instances that are open stay so. */
void check_end(struct check *check, uint64_t end_ns);

/* After check_end(). Owned by the check. */
const struct check_result *check_result(const struct check *check);

/*
 * Explain the first 'count' spans with invalid findings by their verdicts, and say what
 * distinguishes them from valid ones. After check_end().
 */
void check_explain(struct check *check, const struct timeline *timeline, const struct facts *facts,
		   struct lock_owners *lock_owners, uint32_t count);

#endif
