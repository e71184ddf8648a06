/*
 * facts.h - what was known about the machine beside its events.
 *
 * Every trace comes with more or less of it: the threads alive at the start and
 * what their file descriptors named, names of interrupts and devices, symbols,
 * the command that was run, and what could not be recorded. A reader fills it
 * from its format; a format that lacks a part leaves it empty. Analyses ask
 * here and never learn where it came from.
 *
 * Owned by the reader; every string lives as long as the facts. Read-only once
 * filled: any number of threads may read it.
 */
#ifndef EVENT_FACTS_H
#define EVENT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread that lived when the state dump passed it. */
struct fact_thread {
	int32_t tid;
	int32_t tgid;
	int32_t ppid; /* tgid of the parent; 0 = none or unknown */
	const char *comm;
	const char *cmdline; /* arguments joined by blanks; "" for kernel threads */
	const char *cgroup; /* path in the unified hierarchy, else of the first one; "" = unknown */
	uint32_t uid;
	int32_t policy;	     /* SCHED_OTHER ...; -1 = unknown */
	int32_t prio;	     /* as /proc/PID/stat shows it */
	char state;	     /* R, S, D ...; F = frozen; '?' = unknown */
	const char *frozen;  /* path of the cgroup that it is frozen with; "" = not, or unknown */
	const char *allowed; /* which CPUs it may use: "CPU 0"; "" = all, or unknown */
	bool kernel;	     /* a kernel thread */
	bool compat; /* of a 32-bit program on a 64-bit kernel; false: it is not, or not known */
	uint64_t seen_ns; /* when the dump read it; ns on the trace clock */

	/* The system call that it was blocked in; what it was before 'call_ns' is not known. */
	int32_t call;
	uint64_t arg0, arg1, arg2;
	bool untimed;	  /* futex(2), without a time limit; false: it is not, or not known */
	uint64_t call_ns; /* 0 = in none, or not known */
};

struct fact_fd {
	int32_t tgid;
	int32_t fd;
	uint8_t role;	  /* enum fd_role, with FD_PARTLY (FD_READS), FD_STAYS or FD_CLOSES */
	uint64_t inode;	  /* 0 = unknown */
	const char *name; /* what to print */
};

struct fact_epoll { /* fd 'target' is watched by epoll descriptor 'epoll' of 'tgid' */
	int32_t tgid;
	int32_t epoll;
	int32_t target;
};

struct fact_name { /* a number with a name: irq, device */
	uint64_t nr;
	const char *name;
};

/*
 * A thread that sees itself by another number: that of its pid namespace. Numbers are used again:
 * the one that began last had it.
 */
struct fact_vtid {
	uint64_t space; /* the namespace: inode of /proc/PID/ns/pid */
	int32_t vtid;	/* its number there */
	int32_t tid, tgid;
	uint64_t from_ns; /* when it began; 0 = before the recording */
	uint64_t start;	  /* of the thread, field 22 of /proc/PID/stat; 0 = not known */
};

#define HOW_IO_LIMIT "io_limit" /* fact_wait.how: nobody; 'object' is a limit that holds it back */

/*
 * A thread was seen to wait for what this one could end: one for each of these, and one with nobody where
 * nobody is named. Without a time limit, and nothing else could end it, as far as that is known.
 */
struct fact_wait {
	int32_t tid;
	int32_t who; /* a thread, or the main thread of a process, any of which could; 0 = nobody */
	bool is_process;
	bool is_inferred;   /* it need not be that one */
	uint64_t seen_ns;   /* it waited then; ns on the trace clock */
	uint64_t word;	    /* address of the futex that it waits for; 0 = of none */
	const char *call;   /* the system call */
	const char *object; /* what it waits for; "" = not known */
	const char *how;    /* from what it is known: a name of stuck/how.h; "" = nobody is named */
};

struct fact_moment { /* of a cut: what was known at its start; one line of state/moment.h */
	const char *text;
};

struct fact_symbol {
	uint64_t address;
	const char *name;
};

/* Something that was not recorded, and what that means for the reader of a report. */
struct fact_missing {
	const char *what; /* "file names of descriptors" */
	const char *why;  /* "BPF program not loaded: Operation not permitted" */
};

/* The CPU quota of a cgroup held its tasks back, within the whole recording. */
struct fact_throttle {
	const char *cgroup; /* path in its hierarchy; NULL = not told */
	uint64_t quota_ns;  /* of CPU time, in each ... */
	uint64_t period_ns;
	uint64_t periods; /* in which its tasks ran, or would have */
	uint64_t times;	  /* of these it was held back in */
	uint64_t ns;	  /* so long, on all CPUs together */
};

struct fact_cpu {
	uint64_t events; /* decoded or counted; 0 = unknown */
	uint64_t lost;	 /* events lost on this CPU */
	uint64_t bytes;
};

struct stacks;

/* What the recorder cost itself. */
struct fact_cost {
	uint64_t cpu_ns;	/* CPU time of its process while it recorded; 0 = not known */
	uint64_t bpf_ns;	/* in its BPF programs, in the first 'bpf_window_ns' */
	uint64_t bpf_runs;	/* how often they ran in these */
	uint64_t bpf_window_ns; /* 0 = not measured */
	uint64_t bpf_on_ns;	/* they were attached for so long */
	uint64_t event_ns; /* one event costs who has it so long, as measured; 0 = not measured */
	uint64_t call_event_ns;	 /* the same of a system call's */
	uint64_t events_ns;	 /* all of them, by these */
	uint32_t cpus;		 /* that were online */
	uint32_t budget_ppm;	 /* asked for, of the time of all CPUs; 0 = none */
	uint64_t budget_ns;	 /* it was kept for so long: beginning and ending are not in it */
	uint64_t budget_cost_ns; /* and recording cost so much CPU time in these */
};

/* From then on, until the next one, so many kinds of events were recorded: event/steps.h. */
struct fact_step {
	uint64_t since_ns;
	uint32_t step;	   /* enum record_step */
	uint32_t cost_ppm; /* what recording cost just before, of the time of all CPUs */
};

struct facts {
	const char *host;
	const char *kernel;   /* uname -r */
	const char *arch;     /* uname -m: decides the system call table */
	const char *format;   /* "holdup trace directory, version 1" ... */
	const char *tracer;   /* "holdup", "lttng-modules 2.13.9" ...; NULL = not known */
	const char *recorder; /* command line of the tracer; NULL = not known */
	const char *clock;    /* of the events, by its tracer's name; NULL = not known */

	uint64_t first_ns;	    /* recording began; ns on the trace clock */
	uint64_t last_ns;	    /* recording ended */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME minus trace clock at the start; 0 = unknown */

	int32_t target_tid;	  /* the command that was recorded; 0 = none */
	uint64_t target_start_ns; /* 0 = see the events */
	uint64_t target_end_ns;
	int target_status; /* wait status of the command; -1 = unknown */
	const char *target_cmdline;

	const char *apps; /* what known points of programs mean: app_table.h; NULL = none */

	bool omits_idle_switches; /* this kernel leaves out switches from the idle task */
	bool has_syscalls;	  /* system calls were recorded, all the time */
	bool has_some_syscalls;	  /* ... as long as the steps do not say that they were not */
	bool has_lean_steps;	  /* the same at the budget's steps without them */
	bool only_programs;	  /* no events of the kernel: nothing tells when a thread ran */
	bool is_lean;		  /* of these, only which one a thread blocks in: EV_BLOCKED_IN */
	bool has_calls_beside;	  /* these are beside the streams, and not in their counts */
	struct fact_cost cost;	  /* of recording it; all 0 = not known */
	bool complete;		  /* the recorder finished; false: cut short */

	int32_t *recorder_tids; /* threads of the recorder itself */
	size_t recorder_tid_count;

	struct fact_thread *threads;
	size_t thread_count;
	struct fact_fd *fds; /* sorted by (tgid, fd) */
	size_t fd_count;
	struct fact_epoll *epolls;
	size_t epoll_count;
	struct fact_vtid *vtids;
	size_t vtid_count, vtid_cap;
	struct fact_wait *waits; /* sorted by (tid, seen_ns) */
	size_t wait_count;
	struct fact_moment *moments;
	size_t moment_count;
	struct fact_name *irqs;
	size_t irq_count;
	struct fact_name *devices; /* block devices; nr = kernel dev_t, major << 20 | minor */
	size_t device_count;
	struct fact_name *calls; /* system calls that the trace names and no table has */
	size_t call_count, call_cap;
	struct fact_name *comms; /* nr = tid: a name it had at some time, nobody knows when */
	size_t comm_count;
	struct fact_name *printks; /* nr = address, sorted: format of a trace_printk() */
	size_t printk_count;
	struct fact_symbol *symbols; /* kernel text, sorted by address */
	size_t symbol_count;
	struct fact_missing *missing;
	size_t missing_count;
	struct fact_throttle *throttles; /* longest first */
	size_t throttle_count;
	struct fact_step *steps; /* in order of time */
	size_t step_count;
	struct stacks *stacks; /* owned; where threads waited; NULL = not recorded */
	bool stacks_of_others; /* another tracer's: places in files, without names */
	struct fact_cpu *cpus; /* index = CPU */
	size_t cpu_count;
	/*
	 * What was damaged in the trace: place and reason, one sentence each. Grows while
	 * events are read; written by facts_note_damage() only.
	 */
	char **damage;
	size_t damage_count;
	/* What is in the trace and in no event that is told: one sentence each, by facts_note_unshown(). */
	char **unshown;
	size_t unshown_count;

	char **owned; /* strings of the facts, freed by facts_fini() */
	size_t owned_count;
	size_t owned_cap;
};

/* CPU time of the programs over the whole recording, as in the time that was measured. */
static inline uint64_t fact_cost_bpf_ns(const struct fact_cost *cost)
{
	return cost->bpf_window_ns ? (uint64_t)((double)cost->bpf_ns * (double)cost->bpf_on_ns /
						(double)cost->bpf_window_ns)
				   : 0;
}

/* CPU time of all that recording cost. */
static inline uint64_t fact_cost_all_ns(const struct fact_cost *cost)
{
	return cost->cpu_ns + cost->events_ns + fact_cost_bpf_ns(cost);
}

/* What it cost while the budget was kept, in percent of the time of all CPUs. */
static inline double fact_cost_kept(const struct fact_cost *cost)
{
	double all_ns = (double)cost->budget_ns * cost->cpus;

	return all_ns > 0 ? 100 * (double)cost->budget_cost_ns / all_ns : 0;
}

/* Free what the facts own (not the struct itself). Half-filled facts are fine. */
void facts_fini(struct facts *facts);

/* first_ns and last_ns hold this span, too; the first one sets them, and *is_begun. */
void facts_widen(struct facts *facts, uint64_t first_ns, uint64_t last_ns, bool *is_begun);

/* The order of facts->fds, for qsort(). */
int facts_compare_fds(const void *a, const void *b);

/* A copy of 'text' that lives as long as the facts. NULL gives "". */
const char *facts_keep(struct facts *facts, const char *text);

/* The same for memory that the caller allocated: the facts free it. Returns 'text'. */
char *facts_take(struct facts *facts, char *text);

#define FACTS_MAX_NOTES 64 /* of each kind; one more says that there were more */

/* Add a sentence to facts->damage, unless it is there: events may be read more than once. */
void facts_note_damage(struct facts *facts, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for facts->unshown. */
void facts_note_unshown(struct facts *facts, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Name of the kernel function at 'address', or NULL when unknown. O(log symbols). */
const char *facts_symbol(const struct facts *facts, uint64_t address);

/* The first symbol at the start of the function at 'address', or NULL when unknown. */
const struct fact_symbol *facts_symbol_at(const struct facts *facts, uint64_t address);

/* The text of a trace_printk() whose address is 'address', or NULL. O(log texts). */
const char *facts_printk(const struct facts *facts, uint64_t address);

/* Name of a block device ("vda", "nvme0n1p2"), or NULL. */
const char *facts_device(const struct facts *facts, uint32_t dev);

#define FACTS_CALLS_MAX 1024 /* numbers of system calls are below this */

/* A call that was under way when the recording began, of a tracer that names only beginnings. */
#define FACTS_CALL_UNKNOWN 0xffff

/*
 * A number for a system call that a trace knows by name only, and that no table of its
 * architecture has: the same for the same name. -1 when there are too many.
 */
int64_t facts_name_call(struct facts *facts, const char *name);

/*
 * Name of system call 'nr' of this trace's architecture ("openat"), or NULL when
 * the number has none. 'compat' asks for the 32-bit table.
 */
const char *facts_syscall(const struct facts *facts, int64_t nr, bool compat);

#endif
