/*
 * timeline.h - what every thread and every CPU did, from start to end.
 *
 * state/ writes it, analyse/ asks it. For any thread and time: the state (two
 * searches), the wait it is in with all that is known of it, and the thread that
 * ended that wait. For any CPU and time: the thread that ran.
 *
 * It is in memory, or, with a store behind it (index.h), in a file of which only
 * the tables and a bounded number of chunks are in memory.
 *
 * Times given to and taken from these functions are ns on the trace clock. A timeline
 * is used by one thread at a time, for reading, too: open it once more for another.
 */
#ifndef TIMELINE_TIMELINE_H
#define TIMELINE_TIMELINE_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/names.h"
#include "event/facts.h"
#include "timeline/totals.h"
#include "timeline/track.h"

/* A state is one word: the kind in the top 5 bits, its argument below. */
#define WORD_ARG_BITS 27
#define WORD_ARG_MAX  ((1u << WORD_ARG_BITS) - 1)

enum word_kind {
	WORD_NONE,	/* did not exist */
	WORD_UNCERTAIN, /* arg: enum unsure */
	WORD_RUN,	/* on a CPU; whether in user or kernel code is not known */
	WORD_USER, /* own code; arg: errno of the call that just failed, or 0; WORD_FAULT, WORD_VAIN, WORD_MADE */
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
	WORD_CPU, /* of no length: it comes onto a CPU that is not where it was queued; arg: CPU */
	WORD_KIND_COUNT
};

/*
 * WORD_CPU: a thread begins with such marks that goes on with what it did before the origin, as in
 * a cut: how long before its wait and its call began, and that so many of the entries that follow,
 * all of the origin, began before. See word_goes_on() and word_began().
 */
#define WORD_GOES_ON	   (1u << 26)
#define WORD_BEGAN	   (1u << 25)
#define WORD_BEGAN_SHIFT   23
#define WORD_BEGAN_BITS	   23
#define WORD_GOES_ON_SHIFT 20
#define WORD_CPU_NONE	   0xfffffu

#define WORD_COMPAT (1u << 16) /* WORD_SYSCALL: number of the 32-bit table */
#define WORD_FAULT  (1u << 26) /* WORD_USER, _RUN, _SYSCALL: a page fault was taken as it began */
#define WORD_ERRORS 0x7ffu     /* WORD_USER: errno */
/* WORD_USER: it was about a channel, where what one puts in another one takes out: see word_was_channel() */
#define WORD_CHANNEL (1u << 11)
#define WORD_VAIN    (1u << 12) /* WORD_USER: the call that just ended looked, and found nothing new */
/*
 * WORD_USER: the call was asked to open a file, or to make it; or mapped one to write; or closed a copy of a descriptor;
 * or wrote to the standard output or error
 */
#define WORD_MADE (1u << 13)
#define WORD_EMPTIED \
	(WORD_VAIN | WORD_MADE) /* WORD_USER: it opened a file, and emptied it; may have made it */
/*
 * WORD_USER: from here on a few bits of what some calls were about, for which one looks that asked in
 * vain: the process of kill() and wait4(), the file of locks and of close(). See word_about().
 */
#define WORD_ABOUT_SHIFT 14
#define WORD_ABOUT_BITS	 12

enum trap_id {
	TRAP_FAULT_USER,
	TRAP_FAULT_KERNEL,
	TRAP_OTHER
};

/* Why a span is uncertain. */
enum unsure {
	UNSURE_LOST,	/* events were lost */
	UNSURE_START,	/* nothing was known yet */
	UNSURE_SWITCH,	/* a switch was not recorded; it lies in this span */
	UNSURE_ORDER,	/* events contradict each other */
	UNSURE_DAMAGED, /* the timeline's store cannot be read there */
	UNSURE_WAKING,	/* it slept and ran again: who woke it, and when, is missing */
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

static inline bool word_faulted(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return (word & WORD_FAULT) && kind >= WORD_RUN && kind <= WORD_SYSCALL;
}

/* errno of the system call that ended as 'word' began; 0 = none */
static inline uint32_t word_error(uint32_t word)
{
	return word_kind(word) == WORD_USER ? word & WORD_ERRORS : 0;
}

/* Did the call that ended as 'word' began have a flag of WORD_USER? */
static inline bool word_has(uint32_t word, uint32_t flag)
{
	return word_kind(word) == WORD_USER && (word & flag);
}

/* The call that ended as 'word' began looked, and found nothing new. */
static inline bool word_found_nothing(uint32_t word)
{
	return word_kind(word) == WORD_USER && (word & WORD_EMPTIED) == WORD_VAIN;
}

/* The same opened a file, and emptied it. */
static inline bool word_emptied(uint32_t word)
{
	return word_kind(word) == WORD_USER && (word & WORD_EMPTIED) == WORD_EMPTIED;
}

/* What a process or the inode of a file is in WORD_USER, at its place; never 0, unless 'number' is. */
static inline uint32_t word_about(uint64_t number)
{
	uint32_t bits = (uint32_t)(number * 0x9e3779b97f4a7c15u >> (64 - WORD_ABOUT_BITS));

	return number ? (bits ? bits : 1) << WORD_ABOUT_SHIFT : 0;
}

/* Of a futex: the two words of a condition of the C library lie in the same eight bytes. */
static inline uint32_t word_about_futex(uint64_t address)
{
	return word_about(address >> 3);
}

/*
 * The same of a name: the whole of it, or the last part of a path or an address, since another process
 * may come to its folder in another way. What is in the folder of a process in /proc is that folder.
 */
uint32_t word_about_name(const char *name, bool last_part);
bool word_is_of_process(const char *name); /* in that folder */

/* Of two such: half of the bits of each. Any one of them is among them, if word_is_among() says so. */
static inline uint32_t word_half(uint32_t about)
{
	const uint32_t half = WORD_ABOUT_BITS / 2, bits = about >> WORD_ABOUT_SHIFT;

	return (bits ^ bits >> half) & ((1u << half) - 1);
}

static inline uint32_t word_about_both(uint32_t one, uint32_t other)
{
	uint32_t bits = word_half(one) << WORD_ABOUT_BITS / 2 | word_half(other);

	return one || other ? (bits ? bits : 1) << WORD_ABOUT_SHIFT : 0;
}

static inline bool word_is_among(uint32_t about, uint32_t both)
{
	const uint32_t half = WORD_ABOUT_BITS / 2, bits = both >> WORD_ABOUT_SHIFT;

	return word_half(about) == bits >> half || word_half(about) == (bits & ((1u << half) - 1));
}

#define WORD_ABOUT (((1u << WORD_ABOUT_BITS) - 1) << WORD_ABOUT_SHIFT)

/* The same of the call that ended as 'word' began; 0 = not told. */
static inline uint32_t word_was_about(uint32_t word)
{
	return word_kind(word) == WORD_USER && !(word & WORD_CHANNEL) ? word & WORD_ABOUT : 0;
}

/*
 * The pipe, the direction of a socket, the queue or the semaphores that the call was about, WORD_CHANNEL and a
 * few bits: the same for who puts in and for who takes out. 0 = it was about none, or that is not told.
 */
static inline uint32_t word_was_channel(uint32_t word)
{
	return word_kind(word) == WORD_USER && word & WORD_CHANNEL
		       ? word & (WORD_ABOUT | WORD_CHANNEL)
		       : 0;
}

static inline uint32_t word_was_what(uint32_t word)
{
	return word_was_about(word) | word_was_channel(word);
}

/* EINTR, and what calls that a signal interrupts return inside the kernel (include/linux/errno.h) */
static inline bool error_is_interrupted(uint32_t error)
{
	return error == EINTR || (error >= 512 && error <= 516);
}

/* Signals that ask a process to end, as a user or its parent does who has waited long enough. */
#define SIGNAL_FREEZER 128u /* in the place of a signal's number: the cgroup was frozen */

static inline bool signal_asks_to_end(uint8_t signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT || signal == SIGHUP ||
	       signal == SIGKILL;
}

/* Number of a WORD_SYSCALL, and WORD_COMPAT. */
static inline uint32_t word_call(uint32_t word)
{
	return word & (WORD_COMPAT | 0xffff);
}

/* The state alone, without what happened as it began. */
static inline uint32_t word_plain(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	if (kind == WORD_USER)
		return word_make(WORD_USER, 0);
	return kind == WORD_RUN || kind == WORD_SYSCALL ? word & ~WORD_FAULT : word;
}

enum word_before {
	BEFORE_WAIT,
	BEFORE_CALL,
	BEFORE_COUNT
};

/* The lower or the upper half of how many ns before the origin it began. */
static inline uint32_t word_began(enum word_before what, bool upper, uint64_t ns)
{
	uint32_t half = (uint32_t)(upper ? ns >> WORD_BEGAN_BITS : ns);

	return word_make(WORD_CPU, WORD_GOES_ON | WORD_BEGAN |
					   ((uint32_t)what << 1 | upper) << WORD_BEGAN_SHIFT |
					   (half & ((1u << WORD_BEGAN_BITS) - 1)));
}

/*
 * 'cpu' may be UINT32_MAX: not known. 'count' is below 32. The first such mark, with the count 0, says where it
 * came onto a CPU last; the other one, where it is.
 */
static inline uint32_t word_goes_on(uint32_t cpu, uint32_t count)
{
	uint32_t on = cpu < WORD_CPU_NONE ? cpu : WORD_CPU_NONE;

	return word_make(WORD_CPU, WORD_GOES_ON | count << WORD_GOES_ON_SHIFT | on);
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
	WAIT_IO = 1 << 8,	     /* uninterruptible: the kernel says that it was for I/O, */
	WAIT_NO_IO = 1 << 9,	     /* or that it was not */
	/* It did not come: 'origin' was awaited, at no time. With WAIT_ASKED: had the lock. */
	WAIT_EXPECTS = 1 << 10,
	/* A sleep: 'object' and 'fd' are of the call that failed before it. */
	WAIT_ASKED = 1 << 11,
	/* For a kernel lock: 'origin' had it when the wait began, or later; at no time. */
	WAIT_OWNED = 1 << 12,
	/* A limit held it back, up to the time of 'origin', which is named by it. */
	WAIT_THROTTLED = 1 << 13,
	/* In a cut: behind its end no event tells when it ended. */
	WAIT_LOST = 1 << 14,
	/* It did not come, and any of several could have brought it: 'origin' is named by BY_CHILDREN or BY_ENDS. */
	WAIT_GROUP = 1 << 15,
};

/* The upper half of a wait's flags: the number of the epoll set it is on, and 1; 0 = of none, or not known. */
#define WAIT_SET_SHIFT 16
#define WAIT_SET_MAX   0xffffu
#define WAIT_FLAGS     0xffffu

/* The name of a wait's origin where that is inferred: from what. Stored; words are made from them. */
#define BY_OWN_END_LATELY    "own_end_used_lately"
#define BY_LOCK_WORD	     "lock_word"
#define BY_LISTENS	     "listens_there"
#define BY_NO_LATER_USER     "no_later_user"
#define BY_TAKER_GONE	     "taker_gone_one_has"
#define BY_TAKER_GONE_FAMILY "taker_gone_family_has"
#define BY_GLIBC_OWNER	     "glibc_owner"
#define BY_TOLD_BEFORE	     "told_before"
#define BY_PASSED_ON	     "passed_on"
#define BY_WRITTEN_TO	     "written_to"
#define BY_SEEN		     "seen " /* and a name of stuck/how.h */
#define BY_CHILD_SIGNAL	     "child_signal"
#define BY_ONLY_ONE_LEFT     "only_one_left"

/* From what it is inferred that a limit held back what was waited for: the argument of the word of WAIT_THROTTLED's origin. */
enum limit_by {
	LIMIT_TOLD,  /* it is known, */
	LIMIT_WOKE,  /* or the end of such a request woke the thread that polls for io_uring */
	LIMIT_BELOW, /* its request ended right behind one below it that the limit had held back */
	LIMIT_POLLED, /* such a request ended right before a thread that polls for io_uring was done */
	LIMIT_SEEN, /* it slept for I/O, and no such request was with the disk */
};

/* The name of the origin of WAIT_GROUP: behind it the slots of all of them, such as "children 7 12". */
#define BY_CHILDREN "children "
#define BY_ENDS	    "ends "
#define GROUP_MAX   64u

/* One wait of one thread: from the switch out to the wake-up. */
struct wait {
	uint64_t begin_ns;
	uint64_t woken_ns; /* 0 = never, or not recorded */
	struct actor waker;
	/*
	 * Who queued the work or sent the packet that the waker only delivered; WAIT_EXPECTS. Of a wait that may be
	 * a sleep, at no time: what the call before it asked for in vain, and who had it; see wait_asked(); or the
	 * file that it looked into: see wait_looked().
	 */
	struct actor origin;
	uint32_t in;	 /* word: system call, trap, kernel ...: what it waited in */
	uint32_t object; /* name id of what it waited for; 0 = unknown */
	uint32_t
		stack; /* name id: kernel functions it slept in, innermost first; 0 = not recorded */
	int32_t fd;    /* descriptor it is about; -1 = none */
	uint32_t flags; /* enum wait_flag, and WAIT_SET_SHIFT */
};

/*
 * One in slices, as its last one, behind which it would have gone on, had the recording or the thread not ended. Made
 * by analyses; never stored.
 */
static inline void wait_cut_off(struct wait *wait)
{
	wait->woken_ns = 0;
	wait->flags |= WAIT_TIMED_OUT;
	wait->waker = (struct actor){ .slot = UINT32_MAX };
}

static inline bool wait_is_cut_off(const struct wait *wait)
{
	return !wait->woken_ns && (wait->flags & (WAIT_TIMED_OUT | WAIT_LOST)) == WAIT_TIMED_OUT;
}

static inline uint32_t wait_set(const struct wait *wait)
{
	return wait->flags >> WAIT_SET_SHIFT;
}

static inline enum limit_by wait_limit_by(const struct wait *wait)
{
	return word_kind(wait->origin.word) == WORD_NONE
		       ? (enum limit_by)word_arg(wait->origin.word)
		       : LIMIT_TOLD;
}

/* Name id of what the call before asked for in vain; 0 = that is told otherwise (WAIT_ASKED), or not at all. */
static inline uint32_t wait_asked(const struct wait *wait)
{
	const struct actor *origin = &wait->origin;

	return !origin->time_ns && !origin->word &&
			       (origin->kind == ACTOR_NONE || origin->kind == ACTOR_THREAD) &&
			       !(wait->flags & (WAIT_ASKED | WAIT_EXPECTS | WAIT_OWNED |
						WAIT_THROTTLED | WAIT_GROUP))
		       ? origin->name
		       : 0;
}

/* Name id of the file that the call before looked into, by origin.word, of what may be a sleep; 0 = none is told. */
static inline uint32_t wait_looked(const struct wait *wait)
{
	const struct actor *origin = &wait->origin;

	return !origin->time_ns && origin->word && origin->kind == ACTOR_NONE &&
			       !(wait->flags &
				 (WAIT_EXPECTS | WAIT_OWNED | WAIT_THROTTLED | WAIT_GROUP))
		       ? origin->name
		       : 0;
}

/*
 * For so long a limit had the thread free memory, or pause, instead of what it was at: across its states, as
 * it works, sleeps or is preempted then as anywhere else.
 */
struct tl_limit {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t name; /* name id: which limit, and what it has the thread do */
};

/* How a thread is scheduled: 0 = not known; SCHED_AS_IDLE; else the kernel's priority and SCHED_AS. */
#define SCHED_AS      2	  /* of SCHED_DEADLINE it is -1 */
#define SCHED_AS_IDLE 255 /* SCHED_IDLE */

struct tl_thread {
	int32_t tid; /* 0 = idle task of CPU 'idle_cpu' */
	int32_t tgid;
	uint32_t comm;	  /* name id: the last one seen */
	uint32_t cmdline; /* name id; 0 = unknown */
	uint32_t
		killed_by; /* name id: the signal that ended its process, and why that came; 0 = none */
	uint8_t sched_as; /* of late: since sched_as_ns */
	uint64_t sched_as_ns;
	uint32_t
		allowed; /* name id: the CPUs that it may use, since allowed_ns; 0 = all, or not known */
	uint64_t allowed_ns;
	uint32_t parent; /* slot of who made it; SLOT_NONE = unknown */
	uint32_t idle_cpu;
	uint64_t birth_ns; /* begin of the recording when it was there before */
	uint64_t death_ns; /* end of the recording when it still lived */
	bool born;	   /* its birth was recorded */
	bool died;	   /* its end was recorded */
	bool kernel;	   /* a kernel thread */
	struct track track;
	struct wait *waits;  /* owned; the last ones: see tl_wait() and timeline_wait() */
	uint32_t wait_base;  /* waits before it are sealed */
	uint32_t wait_count; /* of all; index = argument of WORD_BLOCKED */
	uint32_t wait_cap;
	uint32_t keep_wait;    /* the writer may still change waits from here on */
	struct tl_edge *edges; /* owned; the last ones, in order of time */
	uint32_t edge_base;
	uint32_t edge_count;
	uint32_t edge_cap;
	struct tl_limit *limits; /* owned; in order, none touches another one */
	size_t limit_count;
	size_t limit_cap;
};

/* The number of its process. A thread of which nothing else is known is the first one there. */
static inline int32_t thread_process(const struct tl_thread *thread)
{
	return thread->tgid > 0 ? thread->tgid : thread->tid;
}

/* The CPU of an idle task, or SLOT_NONE. */
static inline uint32_t thread_idle_cpu(const struct tl_thread *thread)
{
	return thread->tid == 0 ? thread->idle_cpu : SLOT_NONE;
}

/* A wake-up, kept with the thread that gave it. The other end is the wait itself. */
struct tl_edge {
	uint64_t time_ns;
	uint32_t slot; /* who was woken */
	uint32_t wait; /* which of its waits that ended */
};

#define TL_SYSCALLS FACTS_CALLS_MAX

struct tl_gap { /* a hole in the recording of one CPU */
	uint64_t since_ns;
	uint64_t until_ns;
	uint64_t lost; /* events; 0 = unknown number */
	uint32_t cpu;
};

struct seal;
struct tl_cache;

struct timeline {
	uint64_t origin_ns;	    /* time 0 of the tracks */
	uint64_t end_ns;	    /* the last instant that is known */
	struct tl_thread **threads; /* owned; index = slot */
	uint32_t thread_count;
	size_t thread_cap;
	struct track **cpus; /* owned; word = slot of the thread that ran, SLOT_NONE = unknown */
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
	uint32_t *notes;	 /* owned; name ids: damage of the trace that was met on the way */
	size_t note_count;
	size_t note_cap;

	uint32_t chunk_entries; /* entries of a chunk; 0 = as many as are good (tests take fewer) */
	uint32_t mark_every;	/* entries from mark to mark in them; 0 = the same */
	struct seal *seal;	/* while it is written into a store; else NULL */
	struct tl_cache *cache; /* chunks of a store that are in memory; NULL = nothing is sealed */
};

struct timeline *timeline_new(uint64_t origin_ns);
void timeline_free(struct timeline *timeline); /* NULL is fine */

/* A new thread; returns its slot. It becomes what timeline_find_thread() finds for its tid. */
uint32_t timeline_add_thread(struct timeline *timeline, int32_t tid);

/* A new wait of 'thread'; returns its index. All fields zero, slots SLOT_NONE, fd -1. */
uint32_t timeline_add_wait(struct tl_thread *thread);

/* Those of the thread that lie within it are replaced; one that lasts into it is cut. */
void timeline_add_limit(struct tl_thread *thread, struct tl_limit limit);

/* The first one of the thread that ends behind 'time_ns'; NULL = there is none. */
const struct tl_limit *timeline_limit(const struct tl_thread *thread, uint64_t time_ns);

/* Slow path of tl_wait(): bring sealed waits back. */
void timeline_unseal_wait(struct tl_thread *thread, uint32_t index);

/* For the writer: wait 'index', to be amended until the thread is next written to. */
static inline struct wait *tl_wait(struct tl_thread *thread, uint32_t index)
{
	if (__builtin_expect(index < thread->wait_base, 0))
		timeline_unseal_wait(thread, index);
	return &thread->waits[index - thread->wait_base];
}

/* 'thread' ended wait 'wait' of thread 'slot'. */
void timeline_add_edge(struct tl_thread *thread, uint64_t time_ns, uint32_t slot, uint32_t wait);

/* Nothing more will be told of this thread: its track goes to the store, if there is one. */
void timeline_seal_thread(struct tl_thread *thread);

/* Track of 'cpu', made when new. */
struct track *timeline_cpu(struct timeline *timeline, uint32_t cpu);

/* The thread that had 'tid' at 'at_ns' (UINT64_MAX: the last one), or SLOT_NONE. */
uint32_t timeline_find_thread(const struct timeline *timeline, int32_t tid, uint64_t at_ns);

/* The same, or the last one where nobody had it yet. */
uint32_t timeline_near_thread(const struct timeline *timeline, int32_t tid, uint64_t at_ns);

/* Keep a sentence about the trace with the timeline. */
void timeline_note(struct timeline *timeline, const char *text);

const char *timeline_comm(const struct timeline *timeline, uint32_t slot);
const char *timeline_name(const struct timeline *timeline, uint32_t name);

/*
 * ------------------------------------------------------------------- queries
 *
 * None of them fails. Where a chunk of the store cannot be read or is damaged, the
 * intervals in it are uncertain (UNSURE_DAMAGED), its waits unknown, and
 * timeline_damage() says so: the caller checks it when done.
 */

/* Copy wait 'index' of thread 'slot'. An index that does not exist gives an unknown wait. */
void timeline_wait(const struct timeline *timeline, uint32_t slot, uint32_t index,
		   struct wait *out_wait);

/* What cannot be read of the store, in words, or NULL. Owned by the timeline. */
const char *timeline_damage(const struct timeline *timeline);

/* One interval of a thread or CPU, cut to the window asked for. */
struct tl_interval {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t word;
};

struct chunk;

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
 * (for a CPU track: SLOT_NONE). Words are plain, see word_plain(), and intervals of
 * the same one are joined. Any number of iterators may be under way.
 *
 * tl_iter_entry() is the same entry by entry, with those of no length: a call that
 * begins where another ended leaves one. Its intervals are not cut at the end.
 */
struct tl_iter {
	const struct timeline *timeline;
	const struct track *track;
	const struct track_entry *entries; /* of the piece at hand */
	const struct chunk *chunk;	   /* the piece; NULL = the tail */
	uint64_t stamp;			   /* of 'chunk' when 'entries' was taken from it */
	uint32_t piece;			   /* chunk index; chunk_count = the tail */
	uint32_t at, count;		   /* next entry in the piece, and entries in it */
	uint64_t now_ns;
	uint64_t end_ns;
	uint32_t word; /* in force at now_ns */
};

void tl_iter_begin(struct tl_iter *iter, const struct timeline *timeline, const struct track *track,
		   uint64_t start_ns, uint64_t end_ns);
/* The track of thread 'slot'. */
void tl_iter_thread(struct tl_iter *iter, const struct timeline *timeline, uint32_t slot,
		    uint64_t start_ns, uint64_t end_ns);
bool tl_iter_next(struct tl_iter *iter, struct tl_interval *out_interval);
bool tl_iter_entry(struct tl_iter *iter, struct tl_interval *out_interval);

/* The state word of thread 'slot' at 'at_ns'; WORD_NONE when it was not there. */
uint32_t timeline_state_at(const struct timeline *timeline, uint32_t slot, uint64_t at_ns);

/* The CPU that thread 'slot' came onto last before 'at_ns', or SLOT_NONE. */
uint32_t timeline_ran_on(const struct timeline *timeline, uint32_t slot, uint64_t at_ns);

/* The thread that ran on 'cpu' at 'at_ns', or SLOT_NONE. */
uint32_t timeline_running_at(const struct timeline *timeline, uint32_t cpu, uint64_t at_ns);

/* The same for one time after the other: what was walked along is not walked along again. */
struct tl_places;
struct tl_places *tl_places_new(const struct timeline *timeline, uint32_t slot);
void tl_places_free(struct tl_places *places); /* NULL is fine */
uint32_t tl_places_at(struct tl_places *places, uint64_t at_ns);

struct totals;

/*
 * Sums over thread 'slot' in [start, end): two chunks are looked at, and the heads of
 * those between them for max_ns. 'out_totals' is cleared first. Rows: see totals.h.
 * What it was not there for is a row of WORD_NONE: TOTAL_STATE adds up to the window.
 */
void timeline_totals(const struct timeline *timeline, uint32_t slot, uint64_t start_ns,
		     uint64_t end_ns, struct totals *out_totals);

/*
 * The sums over thread 'slot' from the origin to one time after the other. All times asked
 * together cost one walk along the track, or less: chunks in between are skipped. So the
 * difference of two of them is a window, and many windows cost no more than few.
 */
struct tl_sums;
struct tl_sums *tl_sums_new(const struct timeline *timeline, uint32_t slot);
void tl_sums_free(struct tl_sums *sums); /* NULL is fine */

/*
 * The sums up to 'time_ns', or to the last time that was asked when that is later. max_ns is
 * not kept up. Valid until the next call.
 */
const struct totals *tl_sums_at(struct tl_sums *sums, uint64_t time_ns);

/*
 * The timeline was written to since: go on behind the times that were asked. For one that is in
 * memory, between writing and asking.
 */
void tl_sums_renew(struct tl_sums *sums);

/* How the sums grow from the time that was asked last: by what goes on, until another entry. */
struct tl_pace {
	uint64_t until_ns; /* included; UINT64_MAX = there is no other entry */
	uint32_t word;	   /* as in TOTAL_STATE */
	uint32_t wait;	   /* WORD_BLOCKED: enum wait_kind */
	uint32_t call;	   /* as in TOTAL_CALL; SLOT_NONE = none is under way */
	bool vague;	   /* or that is not known */
};

/* False: what goes on has not been counted yet; ask at a later time. */
bool tl_sums_pace(struct tl_sums *sums, struct tl_pace *out_pace);

/* Time in which it is not known whether a call was under way, up to where tl_sums_at() was asked. */
uint64_t tl_sums_vague_ns(const struct tl_sums *sums);

/*
 * The same as tl_sums, by a few classes of states that the caller chooses: for drawing, where it costs
 * a tenth. No waits are unpacked, and of a chunk only the entries behind a mark (marks.h).
 */
#define TL_CLASSES 32 /* a class is below that */

struct tl_classes {
	uint8_t of_word[WORD_KIND_COUNT]; /* WORD_BLOCKED: of a wait that is not known */
	uint8_t of_wait[WAIT_KIND_COUNT];
};

/* 'classes' stay as long as it does. */
struct tl_classed;
struct tl_classed *tl_classed_new(const struct timeline *timeline, uint32_t slot,
				  const struct tl_classes *classes);
void tl_classed_free(struct tl_classed *classed); /* NULL is fine */

/*
 * What passed by class from the time that was asked last, or the origin, up to 'time_ns', which may not be before that.
 * Returns the bits of classes whose ns are set in 'out_ns', which has room for the largest class; the others, that did not grow, are left alone.
 */
uint32_t tl_classed_take(struct tl_classed *classed, uint64_t time_ns, uint64_t *out_ns);

/* What goes on at the time that was asked last. */
struct tl_classed_pace {
	uint64_t since_ns; /* of its entry */
	uint64_t until_ns; /* included; UINT64_MAX = there is no other entry */
	uint8_t in_class;
};

/* False: at the origin, where nothing has been counted yet. */
bool tl_classed_pace(const struct tl_classed *classed, struct tl_classed_pace *out_pace);

/* Wake-ups that thread 'slot' gave in [start, end), in order. Used like tl_iter. */
struct tl_edge_iter {
	const struct timeline *timeline;
	uint32_t slot;
	uint32_t piece;
	uint32_t at;
	uint64_t start_ns;
	uint64_t end_ns;
};

void tl_edges_begin(struct tl_edge_iter *iter, const struct timeline *timeline, uint32_t slot,
		    uint64_t start_ns, uint64_t end_ns);
bool tl_edges_next(struct tl_edge_iter *iter, struct tl_edge *out_edge);

/*
 * For drawing: cut [start, end) into 'width' columns; out_words[i] = the state word (as in
 * TOTAL_STATE) that thread 'slot' was in longest in column i, the smaller one of two.
 * Costs what is drawn: per column one part of a chunk, however much lies between.
 */
void timeline_columns(const struct timeline *timeline, uint32_t slot, uint64_t start_ns,
		      uint64_t end_ns, uint32_t width, uint32_t *out_words);

#endif
