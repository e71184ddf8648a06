/*
 * scene.h - a recording as tracks with slices, instants and counters: what perfetto and chrome
 * both show. One walk over the timeline, one over the events; each format only writes.
 *
 *	who ran on each CPU                          timeline
 *	waits, with what they were for and who       timeline, lock events
 *	ended them; wake-ups from thread to thread
 *	system calls, interrupts, page faults,       events
 *	events of programs, disk requests, losses
 *	runnable threads of each CPU                 timeline
 *
 * Slices of one track nest, and come in the order of time, but for those that were open when the
 * window began: they may come late, with the time at which it begins. Tracks come in any order.
 * What does not fit (the end of what never began) is an instant. All that is open at the end of
 * the window ends there.
 */
#ifndef EXPORT_SCENE_H
#define EXPORT_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/timeline.h"

struct err;
struct event;
struct export_job;

enum scene_lane {
	SCENE_THREAD, /* system calls of a thread, faults, wake-ups */
	SCENE_WAITS,  /* of a thread: what it waited for; without a CPU; not known */
	SCENE_USER,   /* of a thread: what its program logged, and other events in it */
	SCENE_IRQ,    /* of a CPU: interrupts */
	SCENE_LOST,   /* of a CPU: holes in the recording */
	SCENE_EVENTS, /* of a CPU: events of which nobody knows the thread */
	SCENE_LANES
};

/* struct scene_track.id of a thread that is not in the timeline: this, and its tid. */
#define SCENE_STRAY (1u << 31)

struct scene_track {
	enum scene_lane lane;
	uint32_t id; /* slot of the timeline, or the CPU */
};

enum scene_arg_kind {
	SCENE_U64,
	SCENE_I64,
	SCENE_TEXT,
	SCENE_JSON, /* text: a value as JSON writes it */
};

struct scene_arg {
	const char *name;
	enum scene_arg_kind kind;
	uint64_t number;
	const char *text; /* any bytes */
};

#define SCENE_ARGS 64u /* more are left out */

/* The beginning or the end of a slice, or an instant. Views. */
struct scene_mark {
	struct scene_track track;
	uint64_t time_ns;
	const char *name; /* the same at both ends of a slice */
	const char *category;
	const struct scene_arg *args;
	size_t arg_count;
	uint64_t flow_out; /* an arrow begins here; 0 = none */
	uint64_t flow_in;  /* it ends here */
};

enum scene_counter {
	SCENE_RUNNABLE,	   /* threads that wait for this CPU */
	SCENE_BLOCK,	   /* requests in flight, of all devices; CPU 0 */
	SCENE_LOST_EVENTS, /* so far, of all CPUs; CPU 0 */
	SCENE_COUNTERS
};

/* "runnable threads" ... */
const char *scene_counter_name(enum scene_counter counter);

/* Somebody has a CPU. Slots may be SLOT_NONE: not known who. */
struct scene_run {
	uint32_t cpu;
	uint64_t start_ns, end_ns;
	uint32_t slot;
	uint32_t before; /* who had it until start_ns */
	uint32_t
		before_word; /* what that one was in from then on; WORD_NONE: it ended, or is not known */
	bool before_sleeps_hard; /* it is blocked, uninterruptibly */
	bool lost;		 /* events were lost on this CPU since the run before began */
};

/* A thread that is waked. The waker is event.tid. */
struct scene_wake {
	uint64_t time_ns;
	uint32_t cpu;	 /* the waker's */
	uint32_t target; /* the CPU it is queued on */
	int32_t waker_tid;
	int32_t tid;
	const char *comm; /* terminated */
	bool in_hardirq, in_softirq;
};

struct scene_ops {
	void (*run)(void *context, const struct scene_run *run);
	void (*wake)(void *context, const struct scene_wake *wake);
	/* A thread is made; 'slot' may be SLOT_NONE. May be NULL. */
	void (*made)(void *context, const struct event *event, uint32_t slot);
	void (*begin)(void *context, const struct scene_mark *mark);
	void (*end)(void *context, const struct scene_mark *mark);
	void (*instant)(void *context, const struct scene_mark *mark);
	void (*counter)(void *context, enum scene_counter counter, uint32_t cpu, uint64_t time_ns,
			uint64_t value);
	/* Is writing in vain? Asked now and then. */
	bool (*failed)(void *context);
};

/* Returns 0, also when writing failed; or negative with err filled when reading did. */
int scene_run(struct export_job *job, const struct scene_ops *ops, void *context, struct err *err);

/* The name of a track's thread, and its number and process. */
struct scene_thread {
	const char *comm;
	int32_t tid, tgid;
};

struct scene_thread scene_thread_of(const struct timeline *tl, uint32_t id);

#endif
