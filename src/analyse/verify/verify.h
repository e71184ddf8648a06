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

/* What was found. 'who' is the thread that is looked at, 'other' another one. */
enum verify_fault {
	FAULT_TIME_BACK,      /* on 'cpu', by number 0 ns */
	FAULT_EVENT_COUNT,    /* of 'cpu': number 0 are read, number 1 were recorded */
	FAULT_TIMELINE_COUNT, /* the timeline was made of number 0 events, but there are number 1 */
	FAULT_HOLE_COUNT,     /* the timeline has number 0, the streams number 1 */
	FAULT_HOLE_CPU, /* hole number 0: the timeline's is on 'cpu', the streams' on 'other_cpu' */
	FAULT_NO_CPU,	/* who runs in the span, but no CPU names it */
	FAULT_OTHER_STATE,   /* 'cpu' runs who in the span, whose state is number 0 */
	FAULT_NO_THREAD,     /* 'cpu' runs thread number 0, which is none, at the start */
	FAULT_OTHER_IDLE,    /* 'cpu' runs the idle task of 'other_cpu' */
	FAULT_TWO_CPUS,	     /* who runs on 'cpu' and 'other_cpu' at the start */
	FAULT_ROOTS,	     /* add up to number 0 of number 1 ns */
	FAULT_STATES,	     /* so do the states */
	FAULT_WAIT_KINDS,    /* so do the kinds of waits */
	FAULT_WOKEN_EARLY,   /* wait number 0, which begins at the start */
	FAULT_WAIT_OUTSIDE,  /* wait number 0 */
	FAULT_WAKER_NONE,    /* wait number 0 was ended by thread number 1 */
	FAULT_WAKER_DEAD,    /* wait number 0 was ended at the start by other */
	FAULT_WAITS_OVERLAP, /* wait number 0 begins before the one before it ended */
	FAULT_WAIT_STOPS,    /* wait number 0 should go on at the start */
	FAULT_NO_WAIT,	     /* at the start it is blocked in wait number 0 of number 1 */
	FAULT_WAIT_TIME,     /* at the start it is blocked before or after its wait number 0 */
	FAULT_WINDOW_STATES, /* of the span add up to number 0 ns */
	FAULT_STORED_SUM,    /* of row number 0 in the span is number 1 ns, not number 2 */
	FAULT_WAIT_SUM,	     /* its waits add up to number 0 of number 1 ns */
	FAULT_WINDOW_HOLE,   /* the span is not covered */
	FAULT_INTERVALS_GAP, /* its intervals do not touch at the start */
	FAULT_STATE,	     /* number 0 cannot be at the start */
	FAULT_INTERVALS_END, /* at the start */
	FAULT_LIFE_SUM,	     /* its states add up to number 0 ns of a life of number 1 */
	FAULT_LIFE,	     /* it lives from number 0 to number 1 */
	FAULT_ENDED_NONE, /* at the start it ended wait number 0 of thread number 1, which is none */
	FAULT_ENDED_TIME,  /* it ended wait number 0 of other at the start; that one says the end */
	FAULT_ENDED_NAME,  /* it ended wait number 0 of 'other', which names 'named' */
	FAULT_WAKES_ORDER, /* its wake-ups are not in order at the start */
};

struct verify_who {
	char comm[17];
	bool is_thread; /* false: no thread has slot 'number' */
	int32_t tid;	/* 0: the idle task of CPU 'number' */
	uint32_t number;
};

struct verify_broken {
	enum verify_check check;
	enum verify_fault fault;
	struct verify_who who, other, named;
	uint32_t cpu, other_cpu;
	uint64_t number[3];
	uint64_t start_ns, end_ns;
};

struct verify {
	struct lock_owners *locks; /* the caller's, for verdicts as of why; NULL = none */
	uint64_t events;	   /* read, holes not counted */
	uint64_t origin_ns;	   /* of the timeline */
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

/* The word of a check in JSON: "time_order". */
const char *verify_check_key(enum verify_check check);

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
