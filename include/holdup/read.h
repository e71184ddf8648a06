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
	uint32_t signal;  /* it did so by sending this signal; 0 = none */
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

#ifdef __cplusplus
}
#endif

#endif
