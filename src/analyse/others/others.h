/*
 * others.h - lanes that are neither threads nor CPUs: locks, disks, network devices, programs, models.
 *
 *	others = others_new(&opts);
 *	for each event of the trace, in order            others_feed(others, event);
 *	for each event of lock_source.h, in order        others_feed_lock(others, event);
 *	others_add_model(others, name, check_result);
 *	others_end(others, end_ns);
 *	for (i = 0; i < others_count(others); i++)
 *		... others_lane(others, i) ...
 *
 * Each lane has a series, which answers for any window, and the longest spans of what lies behind it:
 * who held a lock, which request was in flight. Events are read once. Memory is bounded: then neighbouring
 * changes are joined, and short spans go first; both are told.
 */
#ifndef ANALYSE_OTHERS_OTHERS_H
#define ANALYSE_OTHERS_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/others/series.h"

struct check_finding;
struct check_result;
struct event;
struct facts;
struct others;
struct recorded;

enum other_group {
	OTHER_LOCKS,
	OTHER_DISKS,
	OTHER_NETWORK,
	OTHER_PROGRAMS,	 /* events that programs told, and probes that threads came across */
	OTHER_SAMPLES,	 /* looks at threads at work, and the function each was in */
	OTHER_FREQUENCY, /* of CPUs, in MHz */
	OTHER_PRESSURE,	 /* stalls of the machine, by the kernel's own count */
	OTHER_MODEL,
	OTHER_GROUP_COUNT
};

/* What a lock is, as series.h has states. */
enum other_lock {
	OTHER_LOCK_HELD = 1,
	OTHER_LOCK_CONTENDED, /* held, and somebody waits for it */
	OTHER_LOCK_WAITED,    /* somebody waits for it; the holder did not tell that it is one */
};

enum other_what {
	OTHER_HOLD,
	OTHER_WAIT,
	OTHER_REQUEST,
	OTHER_INSTANCE,
	OTHER_VIOLATION,
	OTHER_EVENT, /* of a program, or a probe: at a moment */
};

struct other_span {
	uint64_t start_ns, end_ns;
	int32_t tid;	   /* 0 = not known */
	int32_t other_tid; /* wait: who held it most of that time; 0 = not known */
	uint32_t text;	   /* others_text(): "W 4096 bytes"; 0 = none */
	uint8_t what;	   /* enum other_what */
};

struct other_lane {
	enum other_group group;
	char *label; /* owned */
	struct series series;
	struct other_span *spans; /* owned; by begin */
	size_t span_count, span_cap;
	uint64_t spans_left_out; /* shorter ones */
	uint64_t weight;	 /* the largest of a group come first */
};

/* In words, what is wrong where no constraint is; the caller frees it. */
typedef char *others_reason(const struct check_result *result, const struct check_finding *finding);

struct others_opts {
	const struct facts *facts; /* must outlive it */
	/* The process of a thread at a time; 0 = not known. NULL: it is not known of any. */
	int32_t (*process)(void *context, int32_t tid, uint64_t time_ns);
	/* "server[12]" of a process; owned by the caller of it. NULL: it has no name. */
	char *(*process_name)(void *context, int32_t tgid);
	void *context;
	/* For who looks while it is recorded: events of programs are spans, too, and texts are few, whatever comes. */
	bool is_live;
	size_t most_changes; /* kept, of all lanes; 0 = default (tests take fewer) */
	size_t most_spans;
};

struct others *others_new(const struct others_opts *opts);
void others_free(struct others *others); /* NULL is fine */

void others_feed(struct others *others, const struct event *event);
/* Times of the programs' locks; in a pass of their own. */
void others_feed_lock(struct others *others, const struct event *event);
/* Instances and violations of a model that was run over the trace. */
void others_add_model(struct others *others, const struct check_result *result,
		      others_reason *reason_of);
/* What the recorder read of /proc/pressure now and then; in between it grows evenly. */
void others_add_pressure(struct others *others, const struct recorded *recorded);
/* Samples of the facts: of code at work, by process. */
void others_add_samples(struct others *others);
void others_end(struct others *others, uint64_t end_ns);

/*
 * While it goes on: series reach to 'now_ns', and all lanes have their names; lanes are in the order in which they came.
 * What programs told of their locks is not for this.
 */
void others_look(struct others *others, uint64_t now_ns);

/* After the end: by group, largest weight first. */
size_t others_count(const struct others *others);
const struct other_lane *others_lane(const struct others *others, size_t index);
const char *others_text(const struct others *others, uint32_t text);
/* Lanes of a group that had no place. */
uint64_t others_left_out(const struct others *others, enum other_group group);

#endif
