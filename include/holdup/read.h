/*
 * read.h - open a recording of holdup and ask what its threads and CPUs did.
 *
 *	struct hr_trace *trace;
 *	char error[512];
 *	struct hr_wait wait = { .struct_size = sizeof(wait) };
 *	struct hr_waits *waits;
 *
 *	if (hr_open("run.holdup", NULL, &trace, error, sizeof(error)) < 0)
 *		...
 *	if (hr_waits_new(trace, thread, hr_begin_ns(trace), hr_end_ns(trace), &waits) == 0)
 *		while (hr_waits_next(waits, &wait) > 0)
 *			...
 *	hr_waits_free(waits);
 *	hr_close(trace);
 *
 * Link with -lholdup-read (pkg-config holdup-read). C11 or C++; holdup-read(3) has more.
 *
 * Times are in ns on the trace clock (CLOCK_MONOTONIC of the recorded machine). A window is
 * [start_ns, end_ns); what lies outside the recording, [hr_begin_ns(), hr_end_ns()), is cut off.
 *
 * Threads are known by an index, 0 to hr_thread_count() - 1: the kernel gives a tid to several
 * threads, one after the other. A process is known by the index of any of its threads.
 *
 * A function that returns int returns 0, or 1 for "got one" where it says so, or a negative
 * errno: -EINVAL for an index, a window or a struct_size that makes no sense, -EBADMSG when the
 * index of the trace turns out to be damaged (from then on all queries say so: nothing is
 * guessed; see hr_rebuild()). hr_error() says it in words. Results are written on success only.
 *
 * A struct that the library fills begins with struct_size, which the caller sets to sizeof of
 * the struct, so that later versions can add fields.
 *
 * Text given out belongs to the trace, is UTF-8 or whatever bytes the recording had, and is
 * valid until hr_close() or hr_rebuild().
 *
 * A trace and what was made from it are used by one thread at a time; any number of traces may
 * be open. The library never prints and never ends the process, with one exception: when memory
 * runs out it says so on stderr and calls abort(). While it builds an index it runs threads.
 */
#ifndef HOLDUP_READ_H
#define HOLDUP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#define HR_API __attribute__((visibility("default")))
#else
#define HR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HR_NONE UINT32_MAX /* no thread, no CPU, no wait, no number */
#define HR_LAST UINT64_MAX /* hr_find_thread(): at any time, the last one */

/* The version of holdup: "1.2.3". */
HR_API const char *hr_version(void);

/* --------------------------------------------------------------------- a trace */

struct hr_trace;

enum hr_open_flag {
	HR_OPEN_REBUILD = 1 << 0,   /* build the index even if there is one that fits */
	HR_OPEN_MUST_KEEP = 1 << 1, /* fail when there is no place where the index can stay */
	HR_OPEN_TEMPORARY = 1 << 2, /* an index that is built goes to a temporary file only */
	HR_OPEN_NO_BUILD = 1 << 3,  /* build nothing: -ENOENT when no index fits */
};

struct hr_options {
	size_t struct_size; /* set by the caller */
	uint32_t flags;	    /* enum hr_open_flag */
	uint32_t reserved;  /* 0 */
	/*
	 * Called now and then while an index is built, in the thread that called: 'done_ns' of
	 * 'whole_ns' of the recording are read. May be NULL; must not use the trace.
	 */
	void (*progress)(void *context, uint64_t done_ns, uint64_t whole_ns);
	void *context; /* of progress; as long as the trace */
};

/*
 * Open the recording at 'path', with the index that answers all questions. Where there is none
 * that fits, it is built (about 0.1 s for a million events) and kept in 'path'/timeline, else in
 * the user's cache, else in a temporary file. 'options' may be NULL.
 *
 * Returns 0 with *out_trace (free with hr_close()), or a negative errno:
 *   -ENOENT, -EACCES ...  as open(2) reports,
 *   -EBADMSG              not a recording, or so damaged that nothing can be read,
 *   -ENOTSUP              written by a newer version,
 *   -ENOENT               with HR_OPEN_NO_BUILD: there is no index that fits,
 *   -ENOSPC, -EROFS ...   with HR_OPEN_MUST_KEEP: the index cannot be kept,
 *   -E2BIG, -EINVAL       options of a newer version, or that contradict each other,
 * and the reason in words in error[0 .. error_bytes), which may be NULL.
 * Damage that leaves something to read is no failure: see hr_damage().
 */
HR_API int hr_open(const char *path, const struct hr_options *options, struct hr_trace **out_trace,
		   char *error, size_t error_bytes);

/* NULL is fine. What was made from the trace is freed before. */
HR_API void hr_close(struct hr_trace *trace);

/* Why the last call with 'trace' that failed did so; "" before any. Until the next such call. */
HR_API const char *hr_error(const struct hr_trace *trace);

/*
 * Build the index again, after -EBADMSG. Ends the life of all text given out; intervals,
 * waits ... that are under way say -ESTALE from then on and can only be freed. Threads keep their
 * index. As hr_open(); on failure the trace stays as it was.
 */
HR_API int hr_rebuild(struct hr_trace *trace);

/* When the recording began and ended. */
HR_API uint64_t hr_begin_ns(const struct hr_trace *trace);
HR_API uint64_t hr_end_ns(const struct hr_trace *trace);

/* CLOCK_REALTIME minus the trace clock at the beginning; 0 = not known. */
HR_API int64_t hr_realtime_offset_ns(const struct hr_trace *trace);

/* Events that were read, and that the recording lost. */
HR_API uint64_t hr_event_count(const struct hr_trace *trace);
HR_API uint64_t hr_lost_count(const struct hr_trace *trace);

enum hr_about {
	HR_ABOUT_HOST = 0,
	HR_ABOUT_KERNEL = 1,  /* uname -r */
	HR_ABOUT_ARCH = 2,    /* uname -m */
	HR_ABOUT_FORMAT = 3,  /* "holdup trace directory, version 1" */
	HR_ABOUT_COMMAND = 4, /* the command line that was recorded */
	HR_ABOUT_INDEX = 5, /* what the user should know of the index: where it could not be kept */
	HR_ABOUT_LEFT_OUT = 6, /* what programs told that hr_why_new() could not read, and why */
};

/* "" where it is not known. */
HR_API const char *hr_about(const struct hr_trace *trace, enum hr_about what);

/* The main thread of the command that was recorded, or HR_NONE. */
HR_API uint32_t hr_command_thread(const struct hr_trace *trace);

/*
 * What is damaged in the recording or its index, one sentence each; NULL past the end.
 * What is damaged in a part that no question touched may not be known yet.
 */
HR_API const char *hr_damage(const struct hr_trace *trace, uint32_t index);

/* What was not recorded ("file names of descriptors"); NULL past the end. */
HR_API const char *hr_missing(const struct hr_trace *trace, uint32_t index);

/* Why, for the same index: "BPF program not loaded: Operation not permitted". */
HR_API const char *hr_missing_reason(const struct hr_trace *trace, uint32_t index);

/* A hole in the recording of one CPU: near it, states are uncertain. */
struct hr_gap {
	size_t struct_size; /* set by the caller */
	uint64_t since_ns;  /* the last instant that is known whole */
	uint64_t until_ns;
	uint64_t lost; /* events; 0 = unknown number */
	uint32_t cpu;
	uint32_t reserved;
};

/* Gaps are in order of until_ns. */
HR_API uint32_t hr_gap_count(const struct hr_trace *trace);
HR_API int hr_gap_get(struct hr_trace *trace, uint32_t index, struct hr_gap *out_gap);

/* CPUs are 0 to this - 1; some may have been absent. */
HR_API uint32_t hr_cpu_count(const struct hr_trace *trace);

/* --------------------------------------------------------------------- threads */

HR_API uint32_t hr_thread_count(const struct hr_trace *trace);

/*
 * The thread that had 'tid' at 'at_ns' (HR_LAST: the last that had it), or HR_NONE.
 * Idle tasks, which all have tid 0: hr_idle_thread().
 */
HR_API uint32_t hr_find_thread(const struct hr_trace *trace, int32_t tid, uint64_t at_ns);

/* The idle task of 'cpu', or HR_NONE when nothing was seen of it. */
HR_API uint32_t hr_idle_thread(const struct hr_trace *trace, uint32_t cpu);

enum hr_thread_flag {
	HR_THREAD_BORN = 1 << 0,   /* its birth was recorded: else it was there before */
	HR_THREAD_DIED = 1 << 1,   /* its end was recorded: else it lived on */
	HR_THREAD_KERNEL = 1 << 2, /* a kernel thread */
	HR_THREAD_IDLE = 1 << 3,   /* the idle task of a CPU */
};

/* Of a thread that does not exist: -1, "", HR_NONE, 0. */
HR_API int32_t hr_thread_tid(const struct hr_trace *trace, uint32_t thread);
HR_API int32_t hr_thread_tgid(const struct hr_trace *trace, uint32_t thread);	  /* its process */
HR_API const char *hr_thread_comm(const struct hr_trace *trace, uint32_t thread); /* the last one */
HR_API const char *hr_thread_cmdline(const struct hr_trace *trace,
				     uint32_t thread); /* "": unknown */
HR_API uint32_t hr_thread_flags(const struct hr_trace *trace, uint32_t thread);

/* Who made it; the main thread of its process (HR_NONE when nothing was seen of that one). */
HR_API uint32_t hr_thread_parent(const struct hr_trace *trace, uint32_t thread);
HR_API uint32_t hr_thread_leader(const struct hr_trace *trace, uint32_t thread);

/* Where it was there before, or lived on: the beginning, the end of the recording. */
HR_API uint64_t hr_thread_birth_ns(const struct hr_trace *trace, uint32_t thread);
HR_API uint64_t hr_thread_death_ns(const struct hr_trace *trace, uint32_t thread);

/* ---------------------------------------------------------------------- states */

/*
 * A state is a number: equal numbers are equal states of the same trace. What it means is asked
 * of the functions below, each of which takes any number.
 */
enum hr_kind {
	HR_KIND_NOT_THERE = 0,	/* the thread did not exist */
	HR_KIND_UNCERTAIN = 1,	/* hr_state_number(): enum hr_unsure */
	HR_KIND_RUNNING = 2,	/* on a CPU; whether in user or kernel code is not known */
	HR_KIND_USER = 3,	/* its own code */
	HR_KIND_SYSCALL = 4,	/* number of the system call */
	HR_KIND_FAULT = 5,	/* page fault */
	HR_KIND_KERNEL = 6,	/* a kernel thread's own code */
	HR_KIND_WORK = 7,	/* a kworker runs a work function: hr_state_name() */
	HR_KIND_IDLE = 8,	/* the idle task */
	HR_KIND_IRQ = 9,	/* hr_state_name() */
	HR_KIND_VECTOR = 10,	/* timer, IPI ...; enum hr_vector */
	HR_KIND_SOFTIRQ = 11,	/* number of the softirq */
	HR_KIND_PREEMPTED = 12, /* could run, but its CPU was taken; the CPU */
	HR_KIND_WAIT_CPU = 13,	/* woken or new, not yet on a CPU; the CPU it is queued on */
	HR_KIND_BLOCKED = 14,	/* waits: struct hr_wait */
};

/* The four that add up to the life of a thread. */
enum hr_group {
	HR_GROUP_NONE = 0, /* not there */
	HR_GROUP_WORKING = 1,
	HR_GROUP_INTERRUPTED = 2, /* could run: interrupts, preempted, waiting for a CPU */
	HR_GROUP_BLOCKED = 3,
	HR_GROUP_UNCERTAIN = 4,
};

/* Why nobody can tell. */
enum hr_unsure {
	HR_UNSURE_LOST = 0,    /* events were lost */
	HR_UNSURE_START = 1,   /* nothing was recorded of it yet */
	HR_UNSURE_SWITCH = 2,  /* a switch was not recorded; it lies in this span */
	HR_UNSURE_ORDER = 3,   /* events contradict each other */
	HR_UNSURE_DAMAGED = 4, /* the index cannot be read there */
	HR_UNSURE_WAKING = 5,  /* its wake-up is missing: it lies in this span */
};

enum hr_vector {
	HR_VECTOR_LOCAL_TIMER = 0,
	HR_VECTOR_RESCHEDULE = 1,
	HR_VECTOR_CALL_FUNCTION = 2,
	HR_VECTOR_CALL_FUNCTION_SINGLE = 3,
	HR_VECTOR_IRQ_WORK = 4,
	HR_VECTOR_PLATFORM = 5,
	HR_VECTOR_ERROR = 6,
	HR_VECTOR_SPURIOUS = 7,
	HR_VECTOR_THERMAL = 8,
	HR_VECTOR_THRESHOLD = 9,
	HR_VECTOR_DEFERRED_ERROR = 10,
	HR_VECTOR_OTHER = 11,
};

HR_API enum hr_kind hr_state_kind(uint64_t state);
HR_API enum hr_group hr_state_group(uint64_t state);

/* What enum hr_kind says, or HR_NONE. In sums and columns a state has no CPU. */
HR_API uint32_t hr_state_number(uint64_t state);

/* A system call of a 32-bit program: the number is of that table. */
HR_API bool hr_state_is_compat(uint64_t state);

/* "read", "24 virtio0-req.0", "wb_workfn", "RCU", "local timer"; "" = it has none. */
HR_API const char *hr_state_name(struct hr_trace *trace, uint64_t state);

/* In the words of holdup why: "own code", "read", "irq 24 virtio0-req.0", "blocked" ... */
HR_API const char *hr_state_text(struct hr_trace *trace, uint64_t state);

/* --------------------------------------------------------- what was when, by time */

/*
 * The state of 'thread' at 'at_ns', and the index of the wait it is in (HR_NONE when it is not
 * blocked). Outside the recording: not there. 'out_wait' may be NULL. Two searches.
 */
HR_API int hr_state_at(struct hr_trace *trace, uint32_t thread, uint64_t at_ns, uint64_t *out_state,
		       uint32_t *out_wait);

/* The thread that ran on 'cpu' at 'at_ns'; HR_NONE = not known. */
HR_API int hr_running_at(struct hr_trace *trace, uint32_t cpu, uint64_t at_ns,
			 uint32_t *out_thread);

/*
 * What follows goes through something in order of time, all in the same way: ..._new() makes a
 * cursor, ..._next() returns 1 with the next one, 0 at the end, or a negative errno, ..._free()
 * ends it (NULL is fine). Any number may be under way. They must be freed before hr_close().
 */

/* One state of a thread, cut to the window. They touch and cover it. */
struct hr_interval {
	size_t struct_size; /* set by the caller */
	uint64_t start_ns;
	uint64_t end_ns; /* never start_ns */
	uint64_t state;
	uint32_t wait; /* blocked: see hr_wait_get(); else HR_NONE */
	uint32_t reserved;
};

struct hr_intervals;

HR_API int hr_intervals_new(struct hr_trace *trace, uint32_t thread, uint64_t start_ns,
			    uint64_t end_ns, struct hr_intervals **out_intervals);
HR_API int hr_intervals_next(struct hr_intervals *intervals, struct hr_interval *out_interval);
HR_API void hr_intervals_free(struct hr_intervals *intervals);

/* Who ran on a CPU, cut to the window. They touch and cover it. */
struct hr_stay {
	size_t struct_size; /* set by the caller */
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t thread; /* the idle task, too; HR_NONE = not known */
	uint32_t cpu;
};

struct hr_stays;

HR_API int hr_stays_new(struct hr_trace *trace, uint32_t cpu, uint64_t start_ns, uint64_t end_ns,
			struct hr_stays **out_stays);
HR_API int hr_stays_next(struct hr_stays *stays, struct hr_stay *out_stay);
HR_API void hr_stays_free(struct hr_stays *stays);

/* --------------------------------------------------------------- waits and edges */

enum hr_actor_kind {
	HR_ACTOR_NONE = 0,    /* not known, or nothing yet */
	HR_ACTOR_THREAD = 1,  /* a thread, in its own or the kernel's code */
	HR_ACTOR_TIMER = 2,   /* name: the callback; thread: who set it */
	HR_ACTOR_DISK = 3,    /* name: the request ("vda 4096 B read"); thread: who issued it */
	HR_ACTOR_NETWORK = 4, /* name: the device; thread: who sent the packet, on this machine */
	HR_ACTOR_IPI = 5,     /* thread: who sent it */
	HR_ACTOR_IRQ = 6,     /* name: the handler */
	HR_ACTOR_SOFTIRQ = 7, /* name: the action */
};

/* Something that acted: ended a wait, queued work, sent a packet. Later versions do not change it. */
struct hr_actor {
	uint64_t time_ns; /* when; 0 = not known */
	uint64_t state;	  /* what that CPU was in: the top of its control-flow stack */
	uint64_t below;	  /* what it was in below that; HR_KIND_NOT_THERE = nothing */
	const char *name; /* see enum hr_actor_kind; never NULL */
	uint32_t kind;	  /* enum hr_actor_kind */
	uint32_t thread;  /* HR_NONE = hardware, or not known */
	uint32_t signal; /* it did so by sending this signal; 0 = none, 128 = it froze the cgroup */
	uint32_t reserved[3];
};

enum hr_wait_flag {
	HR_WAIT_DISK_SLEEP = 1 << 0, /* uninterruptible */
	HR_WAIT_TIMED_OUT = 1 << 1,  /* the sleeper's own timer ended it */
	HR_WAIT_SERVER = 1 << 2,     /* on a descriptor where work arrives: listening, accepted */
	HR_WAIT_LOCK = 1 << 3,	     /* for a lock: futex, kernel lock, file lock */
	HR_WAIT_STOPPED = 1 << 4,    /* by a signal or a tracer */
	HR_WAIT_START_UNKNOWN = 1 << 5, /* began before the recording, or in a hole */
	HR_WAIT_EXITED = 1 << 6,	/* the waker ended */
	HR_WAIT_MANY = 1 << 7,		/* poll, select, epoll: for several things */
	HR_WAIT_IO = 1 << 8,		/* uninterruptible: the kernel says that it was for I/O, */
	HR_WAIT_NO_IO = 1 << 9,		/* or that it was not */
};

/* What it was for, as its end tells; the first that fits. */
enum hr_wait_kind {
	HR_WAIT_FOR_STOP = 0, /* stopped by a signal or a tracer */
	HR_WAIT_FOR_LOCK = 1,
	HR_WAIT_FOR_DISK = 2,	 /* a block device ended it */
	HR_WAIT_FOR_IDLE = 3,	 /* a server that waits for work */
	HR_WAIT_FOR_TIME = 4,	 /* its own timer ended it: it asked to sleep */
	HR_WAIT_FOR_NETWORK = 5, /* a packet */
	HR_WAIT_FOR_THREAD = 6,	 /* another thread ended it */
	HR_WAIT_FOR_IO = 7,	 /* uninterruptible, ended by something else */
	HR_WAIT_FOR_OTHER = 8,	 /* another interrupt or softirq */
	HR_WAIT_FOR_UNKNOWN = 9, /* it had not ended, or its end was not recorded */
};

/* "stopped", "lock", "disk", "idle", "time", "network", "thread", "io", "interrupt", "unknown" */
HR_API const char *hr_wait_kind_name(enum hr_wait_kind kind);

/* One wait: from the switch out to the wake-up. Not cut to a window. */
struct hr_wait {
	size_t struct_size; /* set by the caller */
	uint64_t begin_ns;
	uint64_t woken_ns; /* 0 = never, or not recorded */
	uint64_t in;	   /* state: what it waited in: a system call, a page fault ... */
	uint32_t thread;   /* who waited */
	uint32_t index;	   /* among the waits of that thread */
	uint32_t kind;	   /* enum hr_wait_kind */
	uint32_t flags;	   /* enum hr_wait_flag */
	int32_t fd;	   /* descriptor it is about; -1 = none */
	uint32_t reserved;
	const char *object; /* what it waited for ("/etc/passwd", "futex 0x7f.."); "" = unknown */
	const char *stack;  /* kernel functions it slept in, innermost first; "" = not recorded */
	struct hr_actor waker;
	struct hr_actor
		origin; /* who queued the work or sent the packet that the waker delivered */
};

/* Wait 'index' of 'thread', as struct hr_interval and struct hr_edge name it. */
HR_API int hr_wait_get(struct hr_trace *trace, uint32_t thread, uint32_t index,
		       struct hr_wait *out_wait);

/*
 * What an actor did, in the words of holdup why: "futex", "SIGTERM", "timer hrtimer_wakeup",
 * "vda 4096 B read", "packet on lo". 'actor' is one that the same trace gave out.
 */
HR_API const char *hr_actor_text(struct hr_trace *trace, const struct hr_actor *actor);

/* The waits of a thread of which it was in some part, or all, during the window; each once. */
struct hr_waits;

HR_API int hr_waits_new(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
			struct hr_waits **out_waits);
HR_API int hr_waits_next(struct hr_waits *waits, struct hr_wait *out_wait);
HR_API void hr_waits_free(struct hr_waits *waits);

/* A wake-up. */
struct hr_edge {
	size_t struct_size; /* set by the caller */
	uint64_t time_ns;
	uint32_t from; /* thread that woke, or sent the packet that did; HR_NONE: other hardware */
	uint32_t to;   /* thread that was woken */
	uint32_t wait; /* of 'to': what ended; see hr_wait_get() */
	uint32_t kind; /* enum hr_actor_kind: what woke it */
};

struct hr_edges;

/* Wake-ups that 'thread' gave in the window. */
HR_API int hr_edges_out_new(struct hr_trace *trace, uint32_t thread, uint64_t start_ns,
			    uint64_t end_ns, struct hr_edges **out_edges);

/* Wake-ups that 'thread' got in the window, from threads and from hardware. */
HR_API int hr_edges_in_new(struct hr_trace *trace, uint32_t thread, uint64_t start_ns,
			   uint64_t end_ns, struct hr_edges **out_edges);
HR_API int hr_edges_next(struct hr_edges *edges, struct hr_edge *out_edge);
HR_API void hr_edges_free(struct hr_edges *edges);

/* ------------------------------------------------------------------------ totals */

enum hr_total_kind {
	/*
	 * state: ns in it, count = how often it began (or was in force as the window began). The
	 * ns of a thread, not-there included, add up to the window. Without the CPU of
	 * HR_KIND_PREEMPTED and _WAIT_CPU.
	 */
	HR_TOTAL_STATE = 0,
	/*
	 * state: what it waited in, wait_kind: ns blocked, count = waits begun, max_ns = the
	 * longest that ended. Their ns add up to those of HR_KIND_BLOCKED.
	 */
	HR_TOTAL_WAIT = 1,
	/*
	 * state: a system call: ns from enter to exit, all that happened in between included,
	 * count = calls begun, max_ns = the longest that ended.
	 */
	HR_TOTAL_CALL = 2,
	HR_TOTAL_ERROR = 3,   /* state: a system call, error: count = calls that ended with it */
	HR_TOTAL_CPU = 4,     /* cpu, mode: ns on that CPU in that mode */
	HR_TOTAL_COUNTER = 5, /* counter: count */
};

enum hr_mode {
	HR_MODE_USER = 0,
	HR_MODE_KERNEL = 1,  /* system calls, faults, kernel threads */
	HR_MODE_RUNNING = 2, /* user or kernel is not known */
	HR_MODE_IRQ = 3,
	HR_MODE_SOFTIRQ = 4,
	HR_MODE_IDLE = 5,
};

enum hr_counter {
	HR_COUNTER_SWITCH_IN = 0,  /* came onto a CPU */
	HR_COUNTER_PREEMPTED = 1,  /* lost its CPU while it could run on */
	HR_COUNTER_WAITS = 2,	   /* went to sleep */
	HR_COUNTER_MIGRATIONS = 3, /* came onto another CPU than before */
	HR_COUNTER_FAULTS = 4,	   /* page faults */
};

/* One sum. What its kind does not name is HR_NONE, or HR_KIND_NOT_THERE. */
struct hr_total {
	size_t struct_size; /* set by the caller */
	uint64_t ns;
	uint64_t count;
	uint64_t max_ns; /* 0 = none ended in the window */
	uint64_t state;
	uint32_t kind;	    /* enum hr_total_kind */
	uint32_t wait_kind; /* enum hr_wait_kind */
	uint32_t error;	    /* errno */
	uint32_t cpu;
	uint32_t mode;	  /* enum hr_mode */
	uint32_t counter; /* enum hr_counter */
};

/* Sums over a window. They are in memory: nothing below them can fail. */
struct hr_totals;

/* Of one thread. Costs two searches, however long the window is. */
HR_API int hr_thread_totals(struct hr_trace *trace, uint32_t thread, uint64_t start_ns,
			    uint64_t end_ns, struct hr_totals **out_totals);

/*
 * Of all threads of the process that 'thread' belongs to, added up (max_ns: the largest), without
 * the time in which they were not there.
 */
HR_API int hr_process_totals(struct hr_trace *trace, uint32_t thread, uint64_t start_ns,
			     uint64_t end_ns, struct hr_totals **out_totals);

/*
 * Of one CPU: rows of HR_TOTAL_CPU only, over all threads and its idle task. What is missing to
 * the window is not known. Costs two searches for each thread that lived.
 */
HR_API int hr_cpu_totals(struct hr_trace *trace, uint32_t cpu, uint64_t start_ns, uint64_t end_ns,
			 struct hr_totals **out_totals);

/* The next row, in order of kind and state: 1, or 0 at the end; hr_totals_rewind() starts again. */
HR_API int hr_totals_next(struct hr_totals *totals, struct hr_total *out_total);
HR_API void hr_totals_rewind(struct hr_totals *totals);

/* Added up over the rows of HR_TOTAL_STATE, HR_TOTAL_CPU, HR_TOTAL_COUNTER. */
HR_API uint64_t hr_totals_group_ns(const struct hr_totals *totals, enum hr_group group);
HR_API uint64_t hr_totals_mode_ns(const struct hr_totals *totals, enum hr_mode mode);
HR_API uint64_t hr_totals_counter(const struct hr_totals *totals, enum hr_counter counter);

HR_API void hr_totals_free(struct hr_totals *totals);

/* ----------------------------------------------------------------------- drawing */

#define HR_COLUMNS_MAX (1u << 20)

/*
 * Cut [start_ns, end_ns) into 'width' columns, 1 to HR_COLUMNS_MAX: column i ends at
 * start_ns + (end_ns - start_ns) * (i + 1) / width. out_states[i] is the state that 'thread' was
 * in longest in column i, without wait and CPU; of two equal ones always the same. The window is
 * not cut: outside the recording the thread is not there. Costs what is drawn, not what
 * lies in the window.
 */
HR_API int hr_columns(struct hr_trace *trace, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
		      uint32_t width, uint64_t *out_states);

/* ------------------------------------------------------------------- why, locks */

/* A thread that an answer names. Later versions do not change it. */
struct hr_who {
	const char *comm; /* never NULL */
	int32_t tid;	  /* 0 = none: hardware, no CPU, not known */
	int32_t tgid;
};

/* What held a thread up in the end. */
enum hr_cause_kind {
	HR_CAUSE_WORKING = 0,	    /* nothing: it worked itself */
	HR_CAUSE_CPU_QUEUE = 1,	    /* it could run, was woken, and had no CPU yet */
	HR_CAUSE_PREEMPTED = 2,	    /* it could run, and its CPU was taken away */
	HR_CAUSE_IRQ = 3,	    /* an interrupt ran on its CPU */
	HR_CAUSE_SOFTIRQ = 4,	    /* a softirq ran on its CPU */
	HR_CAUSE_TIMER = 5,	    /* someone slept until a timer went off */
	HR_CAUSE_DISK = 6,	    /* a block device was busy with a request */
	HR_CAUSE_NETWORK = 7,	    /* a packet from outside was awaited */
	HR_CAUSE_IPI = 8,	    /* another CPU's interrupt ended the wait */
	HR_CAUSE_LOCK = 9,	    /* another thread worked while it held a lock */
	HR_CAUSE_OTHER_THREAD = 10, /* another thread worked */
	HR_CAUSE_STUCK = 11,	    /* what someone waited for did not come */
	HR_CAUSE_STOPPED = 12,	 /* a signal or the freezer of its cgroup kept somebody stopped */
	HR_CAUSE_UNKNOWN = 13,	 /* events were lost, or nothing tells */
	HR_CAUSE_GRACE = 14,	 /* RCU waited until all CPUs had let go of what they read */
	HR_CAUSE_THROTTLED = 15, /* a limit of somebody's cgroup held it back */
};

/* "working", "cpu_queue", "other_thread" ...: the word that "holdup why --json" has; "" = no kind. */
HR_API const char *hr_cause_kind_name(enum hr_cause_kind kind);

/* The target's own wait through which a cause came. */
enum hr_wait_class {
	HR_WAIT_CLASS_HELD_UP = 0, /* it wanted to go on and could not */
	HR_WAIT_CLASS_ASKED = 1,   /* it asked to sleep */
	HR_WAIT_CLASS_IDLE = 2,	   /* a server that waits for work */
	HR_WAIT_CLASS_RUNS = 3,	   /* not a wait: it worked or was interrupted */
};

/* "held_up", "asked", "idle", "runs"; "" = no class. */
HR_API const char *hr_wait_class_name(enum hr_wait_class wait_class);

struct hr_why_options {
	size_t struct_size;	/* set by the caller */
	uint64_t start_ns;	/* 0 = where the thread began */
	uint64_t end_ns;	/* HR_LAST = where it ended */
	uint32_t thread;	/* HR_NONE = the command that was recorded */
	uint32_t whole_process; /* 1: all threads of its process, added up; 0: this thread */
};

/* An answer: in memory, whole. Its text is valid until hr_why_free(). */
struct hr_why;

/*
 * What held a thread, or a process, up: what "holdup why" says, by the same rules, with what programs
 * told of their locks and at known points. Without 'options' (NULL) it is of the main thread of the
 * command that was recorded, from its first instruction to its end.
 *
 * Returns 0 with *out_why (free with hr_why_free() before hr_close()), or a negative errno:
 *   -EINVAL   there is no such thread or window, or no command was recorded,
 *   -ESRCH    the thread did not live in the window,
 *   -ENODATA  the recording does not tell when threads ran,
 *   -E2BIG    options of a newer version,
 * or as above.
 */
HR_API int hr_why_new(struct hr_trace *trace, const struct hr_why_options *options,
		      struct hr_why **out_why);
HR_API void hr_why_free(struct hr_why *why);

/* The answer as a whole. Of a process, times are of its threads, added up. */
struct hr_why_sum {
	size_t struct_size; /* set by the caller */
	uint64_t start_ns;  /* the window that was explained */
	uint64_t end_ns;
	uint64_t working_ns; /* the four add up to the window, or to the threads' time in it */
	uint64_t interrupted_ns;
	uint64_t blocked_ns;
	uint64_t uncertain_ns;
	uint64_t held_up_ns; /* the three add up to blocked_ns: enum hr_wait_class */
	uint64_t asked_ns;
	uint64_t idle_ns;
	uint64_t causes_ns;   /* all causes add up to this */
	uint64_t lost_events; /* in the window, on any CPU */
	struct hr_who target;
	uint32_t threads; /* of which times were added up */
	uint32_t reserved;
};

HR_API int hr_why_sum_get(struct hr_why *why, struct hr_why_sum *out_sum);

/* One row of the verdict. Every ns is in one of them. Text is never NULL: "" = nothing. */
struct hr_cause {
	size_t struct_size; /* set by the caller */
	uint64_t ns;
	uint64_t count; /* spans that were added up */
	uint64_t longest_ns;
	uint64_t told_ns;	 /* for how long at least 'told' was so */
	struct hr_who who;	 /* whom it was charged to */
	struct hr_who kept_off;	 /* no CPU: who had none, where that is one other thread */
	struct hr_who works_for; /* it worked: at whose requests, where that is another process */
	const char *what;	 /* "own code", "system call write", "irq 24 virtio0-req.0" */
	const char *object;	 /* "/var/db/x", "sda 4096 B write" */
	const char
		*why; /* unknown: the reason; stuck: what happened instead; stopped: until what */
	const char *inferred; /* from what it is inferred; "" = it is known */
	const char *told;     /* what it did meanwhile, as it said at known points */
	uint32_t kind;	      /* enum hr_cause_kind */
	uint32_t wait_class;  /* enum hr_wait_class */
	uint32_t timed_out;   /* timer: 1 = it was the limit of a wait for something else */
	uint32_t reserved;
};

/* Causes are in order of ns, the largest first; waits for work come last where something held it up for 2 % or more. */
HR_API uint32_t hr_cause_count(const struct hr_why *why);
HR_API int hr_cause_get(struct hr_why *why, uint32_t index, struct hr_cause *out_cause);

/* One hop of the chain: from the target (first) to the largest cause that is not its own work. */
struct hr_hop {
	size_t struct_size; /* set by the caller */
	uint64_t ns;	    /* of the window, charged through this hop */
	uint64_t count;	    /* waits that were added up */
	uint64_t
		slices; /* of its waits, those that its own time-outs ended, beside the last of each */
	struct hr_who who;
	struct hr_who waker;	/* who ended the wait; none = hardware, not known, the last hop */
	struct hr_who owner;	/* had the lock meanwhile, as the program told */
	struct hr_who holder;	/* had the kernel's lock, as that told when it was asked for */
	struct hr_who expects;	/* who could have brought what did not come */
	struct hr_who answerer; /* what this one did was slept for */
	const char *what;	/* what it was in while it waited; of the last hop: what that did */
	const char *object;
	const char *woken_by;	/* how the wait ended */
	const char *lock;	/* that the program told of */
	const char *holding;	/* what the holder was in */
	const char *instead;	/* what happened, for what it waited for did not come */
	const char *inferred;	/* from what the answerer is inferred, or known: is_known */
	const char *helper;	/* what ended the wait for somebody else: "the terminal (Ctrl-C)" */
	const char *told;	/* what it waited for, as it said at known points */
	const char *waker_told; /* what its waker said just before */
	uint32_t is_known;	/* 1: 'inferred' is a fact */
	uint32_t reserved;
};

HR_API uint32_t hr_hop_count(const struct hr_why *why);
HR_API int hr_hop_get(struct hr_why *why, uint32_t index, struct hr_hop *out_hop);

enum hr_lock_kind {
	HR_LOCK_UNKNOWN = 0,
	HR_LOCK_MUTEX = 1,
	HR_LOCK_READ = 2, /* a read-write lock; HR_LOCK_WRITE is no row of its own */
	HR_LOCK_WRITE = 3,
	HR_LOCK_SPIN = 4,
	HR_LOCK_BARRIER = 5,
	HR_LOCK_COND = 6,
};

/* "mutex", "rwlock", "spin lock", "barrier", "condition" */
HR_API const char *hr_lock_kind_name(enum hr_lock_kind kind);

/* Locks of the whole recording: in memory. Text is valid until hr_locks_free(). */
struct hr_locks;

/*
 * What "holdup locks" says: locks of programs that were run with their locks recorded, and of the
 * kernel where its events of contention were. Neither is no failure. Free before hr_close().
 */
HR_API int hr_locks_new(struct hr_trace *trace, struct hr_locks **out_locks);
HR_API void hr_locks_free(struct hr_locks *locks);

/* A lock of a program; a condition or a barrier, which are waited for and never held. */
struct hr_lock {
	size_t struct_size; /* set by the caller */
	const char *program;
	const char *name;     /* of a static lock; "" = on the heap or a stack */
	uint64_t address;     /* in that process */
	uint64_t taken;	      /* times held, however it came to that */
	uint64_t taken_write; /* of these, a read-write lock for writing */
	uint64_t contended;   /* waits that have begun */
	uint64_t failed;      /* of these, ended without the lock: a timeout, an error */
	uint64_t waiting;     /* of these, not ended when the recording did */
	uint64_t wait_ns;
	uint64_t wait_max_ns;
	uint64_t nobody_ns;  /* of wait_ns: let go, and the one it went to had not run yet */
	uint64_t unknown_ns; /* of wait_ns: nobody told who had it */
	uint64_t holds;	     /* that were seen from begin to end */
	uint64_t hold_ns;
	uint64_t hold_max_ns;
	uint64_t signals; /* of a condition */
	uint64_t broadcasts;
	uint64_t destroyed; /* times; what came then at this address is counted here as well */
	int32_t pid;
	uint32_t kind; /* enum hr_lock_kind */
	uint32_t owner_count;
	uint32_t site_count;
};

/* Who had it during others' waits. With nobody_ns and unknown_ns they add up to wait_ns. */
struct hr_lock_owner {
	size_t struct_size; /* set by the caller */
	uint64_t ns;
	int32_t tid;
	uint32_t reserved;
};

/* A place in the program that takes the lock, or waits for the condition. */
struct hr_lock_site {
	size_t struct_size; /* set by the caller */
	const char *name;   /* "" = no file is known there */
	uint64_t address;
	uint64_t taken;
	uint64_t contended;
	uint64_t wait_ns;
	uint64_t wait_max_ns;
	uint64_t hold_ns; /* of what was taken here */
	uint64_t hold_max_ns;
};

/* Locks, owners and sites are in order of their waits, the largest first. */
HR_API uint32_t hr_lock_count(const struct hr_locks *locks);
HR_API int hr_lock_get(struct hr_locks *locks, uint32_t lock, struct hr_lock *out_lock);
HR_API int hr_lock_owner_get(struct hr_locks *locks, uint32_t lock, uint32_t index,
			     struct hr_lock_owner *out_owner);
HR_API int hr_lock_site_get(struct hr_locks *locks, uint32_t lock, uint32_t index,
			    struct hr_lock_site *out_site);

/* A lock of the kernel. */
struct hr_kernel_lock {
	size_t struct_size; /* set by the caller */
	const char *name;   /* what it belongs to, or its address */
	uint64_t waits;	    /* begun, whether the thread spun or slept */
	uint64_t spins;	    /* of these, never slept */
	uint64_t waiting;   /* of these, not ended when the recording did */
	uint64_t wait_ns;
	uint64_t wait_max_ns;
	uint64_t spin_ns;  /* of wait_ns */
	uint32_t is_known; /* 1: by more than its address */
	uint32_t owner_count;
	uint32_t caller_count;
	uint32_t reserved;
};

struct hr_kernel_lock_owner {
	size_t struct_size; /* set by the caller */
	const char *comm;
	const char *in; /* the call it was in; "" = none, or not known */
	uint64_t count; /* of the waits */
	uint64_t ns;
	int32_t tid;
	uint32_t is_told; /* 1: had the lock when it was asked for; 0: woke who waited for it */
};

struct hr_kernel_lock_caller {
	size_t struct_size;   /* set by the caller */
	const char *call;     /* "mmap", "page fault", "kernel thread"; "" = not known */
	const char *function; /* that asked for the lock; "" = not known */
	uint64_t count;
	uint64_t ns;
};

HR_API uint32_t hr_kernel_lock_count(const struct hr_locks *locks);
HR_API int hr_kernel_lock_get(struct hr_locks *locks, uint32_t lock,
			      struct hr_kernel_lock *out_lock);
HR_API int hr_kernel_lock_owner_get(struct hr_locks *locks, uint32_t lock, uint32_t index,
				    struct hr_kernel_lock_owner *out_owner);
HR_API int hr_kernel_lock_caller_get(struct hr_locks *locks, uint32_t lock, uint32_t index,
				     struct hr_kernel_lock_caller *out_caller);

#ifdef __cplusplus
}
#endif

#endif
