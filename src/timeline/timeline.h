/*
 * timeline.h - what every thread and every CPU did, from start to end.
 *
 * state/ writes it, analyse/ asks it. For any thread and time: the state (two
 * searches), the wait it is in with all that is known of it, and the thread that
 * ended that wait. For any CPU and time: the thread that ran.
 *
 * Times given to and taken from these functions are ns on the trace clock.
 * Written by one thread; afterwards read-only, by any number of threads.
 */
#ifndef TIMELINE_TIMELINE_H
#define TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/names.h"
#include "timeline/track.h"

/* A state is one word: the kind in the top 5 bits, its argument below. */
#define WORD_ARG_BITS 27
#define WORD_ARG_MAX  ((1u << WORD_ARG_BITS) - 1)

enum word_kind {
	WORD_NONE,	/* did not exist */
	WORD_UNCERTAIN, /* arg: enum unsure */
	WORD_RUN,	/* on a CPU; whether in user or kernel code is not known */
	WORD_USER,	/* own code */
	WORD_SYSCALL,	/* arg: number, plus WORD_COMPAT */
	WORD_TRAP,	/* page fault; arg: enum trap_id */
	WORD_KERNEL,	/* a kernel thread's own code */
	WORD_WORK,	/* a kworker runs a work function; arg: name id */
	WORD_IDLE,	/* the idle task */
	WORD_IRQ,	/* arg: name id ("24 virtio0-req.0") */
	WORD_VECTOR,	/* arg: enum vector_id */
	WORD_SOFTIRQ,	/* arg: softirq number */
	WORD_PREEMPTED, /* runnable, its CPU was taken; arg: CPU */
	WORD_WAIT_CPU,	/* woken (or new), not yet on a CPU; arg: CPU */
	WORD_BLOCKED,	/* arg: index of its wait */
	WORD_KIND_COUNT
};

#define WORD_COMPAT (1u << 16) /* WORD_SYSCALL: number of the 32-bit table */

enum trap_id {
	TRAP_FAULT_USER,
	TRAP_FAULT_KERNEL,
	TRAP_OTHER
};

/* Why a span is uncertain. */
enum unsure {
	UNSURE_LOST,   /* events were lost */
	UNSURE_START,  /* nothing was known yet */
	UNSURE_SWITCH, /* a switch was not recorded; it lies in this span */
	UNSURE_ORDER,  /* events contradict each other */
};

static inline uint32_t word_make(enum word_kind kind, uint32_t arg)
{
	return (uint32_t)kind << WORD_ARG_BITS | (arg & WORD_ARG_MAX);
}

static inline enum word_kind word_kind(uint32_t word)
{
	return (enum word_kind)(word >> WORD_ARG_BITS);
}

static inline uint32_t word_arg(uint32_t word)
{
	return word & WORD_ARG_MAX;
}

/* Working, Interrupted, Blocked, Uncertain. */
enum wib {
	WIB_NONE,
	WIB_WORKING,
	WIB_INTERRUPTED,
	WIB_BLOCKED,
	WIB_UNCERTAIN,
	WIB_COUNT
};

enum wib word_wib(uint32_t word);

#define SLOT_NONE UINT32_MAX /* no thread */

/* What kind of thing acted. */
enum actor_kind {
	ACTOR_NONE,    /* not known, or nothing yet */
	ACTOR_THREAD,  /* a thread, in its own or the kernel's code */
	ACTOR_TIMER,   /* name: the callback; slot: who set it, or SLOT_NONE */
	ACTOR_DISK,    /* name: the request ("vda 4096 B read"); slot: who issued it */
	ACTOR_NETWORK, /* name: the device; slot: who sent the packet, when on this machine */
	ACTOR_IPI,     /* name: the vector; slot: who sent it, if known */
	ACTOR_IRQ,     /* name: the handler */
	ACTOR_SOFTIRQ, /* name: the action */
};

/* Something that acted at a time: ended a wait, queued work, sent a packet. */
struct actor {
	uint64_t time_ns; /* when; 0 = not known */
	uint32_t slot;	  /* the thread, as 'kind' says; SLOT_NONE = hardware or unknown */
	uint32_t word;	  /* top of that CPU's control-flow stack at the moment */
	uint32_t below;	  /* the word under it; WORD_NONE = none */
	uint32_t name;	  /* name id */
	uint8_t kind;	  /* enum actor_kind */
	uint8_t signal;	  /* != 0: it did so by sending this signal */
};

enum wait_flag {
	WAIT_DISK_SLEEP = 1 << 0,    /* uninterruptible */
	WAIT_TIMED_OUT = 1 << 1,     /* the sleeper's own timer ended it */
	WAIT_SERVER = 1 << 2,	     /* on a descriptor where work arrives: listening, accepted */
	WAIT_LOCK = 1 << 3,	     /* for a lock: futex, kernel lock, file lock */
	WAIT_STOPPED = 1 << 4,	     /* by a signal or a tracer */
	WAIT_START_UNKNOWN = 1 << 5, /* began before the recording, or in a hole */
	WAIT_EXITED = 1 << 6,	     /* the waker ended */
	WAIT_MANY = 1 << 7,	     /* poll, select, epoll: waits for several things */
};

/* One wait of one thread: from the switch out to the wake-up. */
struct wait {
	uint64_t begin_ns;
	uint64_t woken_ns; /* 0 = never, or not recorded */
	struct actor waker;
	struct actor
		origin;	 /* who queued the work or sent the packet that the waker only delivered */
	uint32_t in;	 /* word: system call, trap, kernel ...: what it waited in */
	uint32_t object; /* name id of what it waited for; 0 = unknown */
	uint32_t
		stack; /* name id: kernel functions it slept in, innermost first; 0 = not recorded */
	int32_t fd;    /* descriptor it is about; -1 = none */
	uint32_t flags; /* enum wait_flag */
};

struct tl_thread {
	int32_t tid; /* 0 = idle task of CPU 'idle_cpu' */
	int32_t tgid;
	uint32_t comm;	  /* name id: the last one seen */
	uint32_t cmdline; /* name id; 0 = unknown */
	uint32_t parent;  /* slot of who made it; SLOT_NONE = unknown */
	uint32_t idle_cpu;
	uint64_t birth_ns; /* begin of the recording when it was there before */
	uint64_t death_ns; /* end of the recording when it still lived */
	bool born;	   /* its birth was recorded */
	bool died;	   /* its end was recorded */
	bool kernel;	   /* a kernel thread */
	struct track track;
	struct wait *waits; /* owned; index = argument of WORD_BLOCKED */
	uint32_t wait_count;
	uint32_t wait_cap;
	uint64_t *
		syscalls; /* calls begun per number (64-bit table); NULL = none; TL_SYSCALLS of them */
};

#define TL_SYSCALLS 1024

struct tl_gap { /* a hole in the recording of one CPU */
	uint64_t since_ns;
	uint64_t until_ns;
	uint64_t lost; /* events; 0 = unknown number */
	uint32_t cpu;
};

struct timeline {
	uint64_t origin_ns;	    /* time 0 of the tracks */
	uint64_t end_ns;	    /* the last instant that is known */
	struct tl_thread **threads; /* owned; index = slot */
	uint32_t thread_count;
	size_t thread_cap;
	struct track *cpus; /* owned; word = slot of the thread that ran, SLOT_NONE = unknown */
	uint32_t cpu_count;
	struct tl_gap *gaps; /* in order of until_ns */
	size_t gap_count;
	size_t gap_cap;
	struct names names;
	struct map by_tid;	 /* tid -> slot of the last thread that had it */
	uint32_t *next_same_tid; /* slot -> slot of the thread that had the tid before */
	size_t next_cap;

	uint64_t events;
	uint64_t lost_events;
	uint64_t repairs;	 /* switches not recorded, found out by other events */
	uint64_t repairs_exact;	 /* of these, placed exactly */
	uint64_t contradictions; /* events that could not be true together */
};

struct timeline *timeline_new(uint64_t origin_ns);
void timeline_free(struct timeline *timeline); /* NULL is fine */

/* A new thread; returns its slot. It becomes what timeline_find_thread() finds for its tid. */
uint32_t timeline_add_thread(struct timeline *timeline, int32_t tid);

/* A new wait of 'thread'; returns its index. All fields zero, slots SLOT_NONE, fd -1. */
uint32_t timeline_add_wait(struct tl_thread *thread);

/* Track of 'cpu', made when new. */
struct track *timeline_cpu(struct timeline *timeline, uint32_t cpu);

/* The thread that had 'tid' at 'at_ns' (UINT64_MAX: the last one), or SLOT_NONE. */
uint32_t timeline_find_thread(const struct timeline *timeline, int32_t tid, uint64_t at_ns);

const char *timeline_comm(const struct timeline *timeline, uint32_t slot);
const char *timeline_name(const struct timeline *timeline, uint32_t name);

/* One interval of a thread or CPU, cut to the window asked for. */
struct tl_interval {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t word;
};

/*
 * The intervals of a track in [start, end), in order, without empty ones.
 *
 *	struct tl_iter iter;
 *	struct tl_interval in;
 *
 *	tl_iter_begin(&iter, timeline, &thread->track, start_ns, end_ns);
 *	while (tl_iter_next(&iter, &in))
 *		...
 *
 * They touch and cover the window: before the first entry the word is WORD_NONE
 * (for a CPU track: SLOT_NONE).
 */
struct tl_iter {
	struct track_pos pos;
	uint64_t origin_ns;
	uint64_t now_ns;
	uint64_t end_ns;
	uint32_t word; /* in force at now_ns */
	uint32_t none; /* word before the first entry */
	bool more;     /* pos holds the entry after the one in force */
};

void tl_iter_begin(struct tl_iter *iter, const struct timeline *timeline, const struct track *track,
		   uint64_t start_ns, uint64_t end_ns);
bool tl_iter_next(struct tl_iter *iter, struct tl_interval *out_interval);

#endif
