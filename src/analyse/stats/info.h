/*
 * info.h - what is in a trace: events by type, streams, losses, and which questions it can answer.
 *
 *	struct info *info = info_new(facts);
 *
 *	while ((rc = source_next(source, &ev, &err)) > 0)
 *		info_count(info, &ev, kind);
 *	info_end(info, title_of, context);
 *
 * Memory does not grow with the events, only with their types and streams. Used by one thread at a
 * time.
 */
#ifndef ANALYSE_STATS_INFO_H
#define ANALYSE_STATS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct facts;

/* A type of event, by the name that the trace has for it. */
struct info_type {
	const char *title; /* owned by the info; "sched:sched_switch" */
	uint64_t count;
	uint8_t type; /* enum event_type */
};

struct info_stream {
	const char *name; /* owned by the info; NULL = that of a CPU */
	int32_t cpu;
	bool is_user; /* what programs logged themselves */
	uint64_t events;
	uint64_t bytes; /* 0 = not known */
	uint64_t lost;	/* events; of a hole of unknown length, one */
	uint64_t holes;
	uint64_t first_ns; /* of events; 0 = there is none */
	uint64_t last_ns;
};

/* A question that a trace may answer. */
enum info_question {
	INFO_WHY,	    /* what each thread waited for, and who ended the wait */
	INFO_PROCESSES,	    /* births, programs and ends of threads */
	INFO_SYSTEM_CALLS,  /* which call a thread waited or worked in */
	INFO_PAGE_FAULTS,   /* faults, and what they cost */
	INFO_FILE_NAMES,    /* what descriptors name: files, sockets, pipes */
	INFO_INTERRUPTS,    /* time in interrupts, and waits that devices ended */
	INFO_SOFTIRQS,	    /* time in softirqs, and waits that they ended */
	INFO_TIMERS,	    /* waits that a timer ended */
	INFO_DISKS,	    /* waits that a disk ended, by request */
	INFO_NETWORK,	    /* waits that a packet ended, by device and sender */
	INFO_KERNEL_WORK,   /* waits that a kworker ended, and who had asked for it */
	INFO_KERNEL_LOCKS,  /* time that threads spin or sleep on locks of the kernel */
	INFO_SIGNALS,	    /* who sent a signal that ended a wait */
	INFO_KERNEL_STACKS, /* where in the kernel a thread blocked */
	INFO_USER_EVENTS,   /* what programs say of themselves (libholdup, LTTng-UST) */
	INFO_USER_LOCKS,    /* who held which lock of a program */
	INFO_DELAYS,	    /* the kernel's own accounting of delays */
	INFO_QUESTIONS
};

/* Why it may not. */
enum info_lack {
	INFO_LACKS_NOTHING, /* it answers */
	INFO_LACKS_EVENTS,
	INFO_LACKS_FD_NAMES,
	INFO_LACKS_USER_EVENTS,
	INFO_LACKS_USER_LOCKS,
	INFO_ASKS_THE_KERNEL, /* no trace answers it */
};

#define INFO_NEEDS 4 /* types of events that a question rests on, at most */

struct info_ability {
	enum info_lack lack;
	const char *missing
		[INFO_NEEDS]; /* of INFO_LACKS_EVENTS: as record --events takes them; up to NULL */
};

#define INFO_NO_KIND UINT32_MAX

struct info {
	const struct facts *facts;
	uint64_t events; /* without those that the reader made */
	uint64_t first_ns, last_ns;
	uint64_t lost_events; /* of the kernel and of programs; unknown numbers count as one */
	uint64_t holes;
	uint64_t holes_unknown; /* of these, how many have no number */
	uint64_t
		lost_packets; /* a hole that tells no number of them, nor of events, counts as one */
	struct info_type *types; /* most frequent first; after info_end() */
	size_t type_count;
	struct info_stream *streams; /* in order of CPUs; after info_end() */
	size_t stream_count;
	struct info_ability abilities[INFO_QUESTIONS];
	struct info_work *work; /* of counting */
};

/* 'facts' must outlive it. Free with info_free(). */
struct info *info_new(const struct facts *facts);
void info_free(struct info *info);

/* Count an event. 'kind': number of its kind below 65536, or INFO_NO_KIND. */
void info_count(struct info *info, const struct event *event, uint32_t kind);

/* A type that was recorded, whether or not it came: "sched/sched_switch". */
void info_recorded(struct info *info, const char *title);

/* A stream that is counted elsewhere: of one process. The name is copied. */
void info_add_stream(struct info *info, const struct info_stream *stream);

/* All is counted: fill the lists. 'title_of' names a kind; it may be NULL. */
void info_end(struct info *info, const char *(*title_of)(void *context, uint32_t kind),
	      void *context);

/* Nothing lost, nothing damaged, and the recorder came to its end. */
bool info_is_whole(const struct info *info);

#endif
