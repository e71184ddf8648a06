/*
 * verify.h - is a trace whole, and does all hold that must hold of its timeline?
 *
 * Two walks, each linear in what it walks over. The first goes through all events: what
 * was lost on which CPU and when, what could not be decoded, whether time goes back. The
 * second goes through the timeline and checks what docs/ARCHITECTURE.md says holds
 * everywhere: the states of a thread are its life to the nanosecond, a CPU and the threads
 * on it tell the same story, waits and their wakers fit together, stored sums are the sums
 * of the intervals, and the verdict of a window is the window.
 *
 * A plain result: computed once, never printed here. What is kept of it is bounded.
 * Times are ns on the trace clock.
 */
#ifndef ANALYSE_VERIFY_VERIFY_H
#define ANALYSE_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct facts;
struct lock_owners;
struct source;
struct timeline;

#define VERIFY_MAX_HOLES  10000 /* kept, the first ones; the sums tell of all */
#define VERIFY_MAX_BROKEN 100

/* A span of one CPU of which events are missing. */
struct verify_hole {
	uint64_t since_ns;
	uint64_t until_ns;
	uint64_t lost; /* events; 0 = unknown number */
	uint32_t cpu;
	bool is_step; /* none: nothing was recorded, to keep to a budget */
};

struct verify_cpu {
	uint64_t events;	/* read from its stream */
	uint64_t holes;		/* spans of which events are missing */
	uint64_t lost;		/* events, in holes that tell how many */
	uint64_t unknown;	/* holes that do not */
	uint64_t packets;	/* known to be missing */
	uint64_t hole_ns;	/* all of them together */
	uint64_t back_ns;	/* the largest step back in time; 0 = none */
	uint64_t last_ns;	/* time of its last event */
	uint64_t hole_until_ns; /* where its last hole ends */
};

/* What is checked, in this order. */
enum verify_check {
	VERIFY_ORDER,	/* per event: the time of a stream does not go back */
	VERIFY_STREAMS, /* per CPU: what was recorded is there, where no hole tells of loss */
	VERIFY_EVENTS,	/* the timeline was made of the events that are read */
	VERIFY_GAPS,	/* per hole: the timeline knows it */
	VERIFY_LIFE,	/* per thread: its states are its life */
	VERIFY_WINDOWS, /* per window: Working + Interrupted + Blocked + Uncertain is the window */
	VERIFY_TOTALS,	/* per window: the stored sums are those of the intervals */
	VERIFY_WAITS,	/* per wait: begin, end, waker and intervals fit */
	VERIFY_EDGES,	/* per wake-up: the wait that it ended tells the same */
	VERIFY_CPUS,	/* per stay: the thread that a CPU names runs, and on no other CPU */
	VERIFY_THREADS, /* per interval on a CPU: a CPU names the thread that runs */
	VERIFY_VERDICT, /* per window: what it is charged to is the window */
	VERIFY_CHECKS
};

struct verify_count {
	uint64_t done;
	uint64_t failed;
};

struct verify_broken {
	enum verify_check check;
	char *text; /* owned; one sentence */
};

struct verify {
	struct lock_owners *locks; /* the caller's, for verdicts as of why; NULL = none */
	uint64_t events;	   /* read, holes not counted */
	uint64_t steps;		   /* told in streams, and no hole */
	uint64_t early;		   /* of them, before the recording began */
	struct verify_cpu *cpus;   /* owned; index = CPU */
	size_t cpu_count;
	struct verify_hole *holes; /* owned; in order of their end */
	size_t hole_count, hole_cap;
	struct verify_count checks[VERIFY_CHECKS];
	struct verify_broken *broken; /* owned; the first ones of each check */
	size_t broken_count, broken_cap;
	char *index_damage; /* owned; what cannot be read of the stored timeline; NULL = nothing */
	bool index_rebuilt; /* that was so, and it was built again */

	/* Of the timeline: not a fault of the trace, but worth to be known. */
	uint64_t threads;
	uint64_t intervals;
	uint64_t waits;
	uint64_t repairs, repairs_exact;
	uint64_t contradictions;
	uint64_t uncertain_ns; /* of all threads */
	uint64_t life_ns;
};

/* The word of a check in JSON ("time_order") and in text ("time does not go back ..."). */
const char *verify_check_key(enum verify_check check);
const char *verify_check_name(enum verify_check check);

/* Called now and then with the time that was reached. */
struct verify_progress {
	void (*say)(void *context, uint64_t time_ns); /* NULL = nobody listens */
	void *context;
};

/*
 * Read all events of 'source' from the start on, into the zeroed *out_verify. Returns 0,
 * or what source_next() failed with. facts->damage is complete afterwards.
 */
int verify_events(struct source *source, const struct facts *facts,
		  const struct verify_progress *progress, struct verify *out_verify,
		  struct err *err);

/* Check 'timeline' on its own and against what verify_events() found. */
void verify_timeline(const struct timeline *timeline, const struct facts *facts,
		     const struct verify_progress *progress, struct verify *verify);

void verify_fini(struct verify *verify);

/* Events that are known to be lost, and holes of unknown size. */
uint64_t verify_lost(const struct verify *verify);
uint64_t verify_unknown(const struct verify *verify);
uint64_t verify_packets(const struct verify *verify); /* known to be missing */

/* Events that were recorded, by the kernel's count, and cannot be read. */
uint64_t verify_unread(const struct verify *verify, const struct facts *facts);

/* Something that must hold does not. */
bool verify_is_broken(const struct verify *verify);

/* Nothing lost, damaged, cut short or broken. */
bool verify_is_whole(const struct verify *verify, const struct facts *facts);

#endif
