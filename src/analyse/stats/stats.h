/*
 * stats.h - where time went, by process, thread, cgroup, user or command: the
 * statistics of the Linux Trace Toolkit, and the share of each CPU.
 *
 * Everything comes from the sums that the timeline keeps, so a window costs the same
 * however long it is; only stats_count_events() reads the events again.
 *
 * A plain result: computed once, never printed here. Every string is owned by the
 * result and never NULL. Spans are ns.
 */
#ifndef ANALYSE_STATS_STATS_H
#define ANALYSE_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/stats/ps.h"
#include "analyse/coverage.h"
#include "base/names.h"
#include "timeline/timeline.h"
#include "timeline/totals.h"

struct err;
struct facts;
struct source;

/* What a row stands for. In the order of the words of --by. */
enum stats_by {
	STATS_PROCESS,
	STATS_THREAD,
	STATS_CGROUP,
	STATS_USER,
	STATS_COMM,
	STATS_BY_COUNT
};

/* What rows are ordered by, the largest first. In the order of the words of --sort. */
enum stats_sort {
	STATS_BY_ON_CPU,
	STATS_BY_OWN,
	STATS_BY_KERNEL,
	STATS_BY_CALLS,
	STATS_BY_IRQ,
	STATS_BY_WAITING,
	STATS_BY_BLOCKED,
	STATS_BY_IO,
	STATS_BY_UNCERTAIN,
	STATS_BY_SWITCHES,
	STATS_BY_FAULTS,
	STATS_BY_NAME, /* in alphabetical order */
};

#define STATS_REASONS (UNSURE_WAKING + 1)

/* One kind of wait of a row. */
struct stats_wait {
	uint64_t ns;
	uint64_t count;	 /* waits begun */
	uint64_t max_ns; /* longest that ended */
};

/* Life of a row's threads inside the window: all of them but the sums partition it. */
struct stats_sums {
	uint64_t life_ns;

	uint64_t on_cpu_ns;  /* the sum of the next eight */
	uint64_t own_ns;     /* in its own code */
	uint64_t either_ns;  /* own code or kernel: the trace does not tell */
	uint64_t call_ns;    /* in system calls */
	uint64_t fault_ns;   /* in page faults that blocked it, before and after that */
	uint64_t thread_ns;  /* kernel threads: their own code */
	uint64_t work_ns;    /* kernel threads: queued work */
	uint64_t irq_ns;     /* interrupts on top of it */
	uint64_t softirq_ns; /* softirqs on top of it */

	uint64_t waiting_ns;   /* the sum of the next two */
	uint64_t preempted_ns; /* could run, its CPU was taken */
	uint64_t queued_ns;    /* could run, was woken or new and had no CPU yet */

	uint64_t blocked_ns; /* the sum of waits[] */
	struct stats_wait waits[WAIT_KIND_COUNT];

	uint64_t uncertain_ns;		    /* the sum of reasons_ns[] */
	uint64_t reasons_ns[STATS_REASONS]; /* index: enum unsure */

	uint64_t counts[COUNT_COUNTERS]; /* index: enum total_counter */
};

struct stats_error {
	int32_t code;	  /* errno */
	const char *name; /* "ENOENT" */
	uint64_t count;
};

struct stats_call {
	const char *name;
	uint64_t count;	     /* calls begun in the window */
	uint64_t ns;	     /* from enter to exit, all that happened in between included */
	uint64_t working_ns; /* of it: on a CPU in the call itself */
	uint64_t blocked_ns; /* of it: blocked; the rest: interrupted, without a CPU, uncertain */
	uint64_t max_ns;     /* longest that ended */
	uint64_t error_count;
	struct stats_error *errors; /* owned; most often first */
	size_t error_kinds;
};

/* An interrupt or softirq on top of a row's threads. */
struct stats_irq {
	const char *name;
	uint64_t ns;
};

struct stats_row {
	const char *name;    /* command, path of the cgroup, user; "?" = not known */
	int32_t tid;	     /* process: of its main thread; thread: its own; else 0 */
	int32_t tgid;	     /* process, thread; else 0 */
	const char *cmdline; /* process, thread; else "" */
	bool kernel;	     /* kernel threads only */
	bool known;	     /* cgroup, user: false = no fact tells */
	uint32_t threads;    /* that lived in the window */
	struct stats_sums sums;
	struct stats_call *calls; /* owned; longest in all first */
	size_t call_count;
	struct stats_irq *irqs; /* owned; longest in all first */
	size_t irq_count;
	struct ps_charge ticks; /* with --ps: what ticks would have told */
};

/* What a CPU did in the window. They and unknown_ns add up to the window. */
struct stats_cpu {
	uint64_t mode_ns[MODE_COUNT]; /* index: enum total_mode */
	uint64_t unknown_ns;	      /* who ran is not known */
	struct ps_cpu ticks;
};

struct stats_event {
	const char *name;
	uint64_t count;
};

struct stats {
	enum stats_by by;
	enum stats_sort sort;
	uint64_t start_ns;
	uint64_t end_ns;
	struct stats_row *rows; /* owned */
	size_t row_count;
	struct stats_row all;	/* all rows together, but for the idle tasks */
	struct stats_cpu *cpus; /* owned; index = CPU */
	size_t cpu_count;
	struct stats_cpu cpu_sum;
	bool has_ps;
	uint64_t tick_ns; /* with --ps: from one tick to the next */
	enum ps_source tick_source;
	bool has_events;
	struct stats_event *events; /* owned; most often first */
	size_t event_count;
	uint64_t event_sum;
	struct coverage coverage;
	struct names texts; /* every string of the result, each once */
};

struct stats_opts {
	enum stats_by by;
	enum stats_sort sort;
	uint64_t start_ns;
	uint64_t end_ns;
	const struct ps_ticks *ticks; /* NULL = without the comparison */
};

/*
 * Add it all up. Returns 0 and fills *out_stats (free with stats_fini()), or -EINVAL
 * with err filled when the window is empty. Deterministic.
 */
int stats_run(const struct timeline *timeline, const struct facts *facts,
	      const struct stats_opts *opts, struct stats *out_stats, struct err *err);

/* One pass over the events of the window: how many of each type. 0, or what source_next() gave. */
int stats_count_events(struct stats *stats, struct source *source, struct err *err);

void stats_fini(struct stats *stats);

const char *stats_by_name(enum stats_by by);

/* "events were lost", as describe.c has it. */
const char *stats_reason(enum unsure reason);

/* One word for JSON: "lost", "start" ... */
const char *stats_reason_name(enum unsure reason);

#endif
