/*
 * reconcile.h - the kernel's own accounts beside those computed from the events of a recording.
 *
 * For each thread both are taken over the same span: from when its account was asked at the start
 * (or its birth) to when it was asked at the end (or its exit). Where they differ, what is known
 * to make such a difference is listed with how much of it it can be at most; what is beyond that
 * is unexplained.
 *
 * All sizes are ns. Sums over threads are sums of the threads' spans.
 */
#ifndef ANALYSE_ACCOUNTS_RECONCILE_H
#define ANALYSE_ACCOUNTS_RECONCILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/recorded.h"
#include "accounts/stats.h"

struct err;
struct facts;
struct memory_spans;
struct moved;
struct timeline;

/* The classes of delays/, and run time behind them. */
#define RECONCILE_RUN  DELAYS_CLASSES
#define RECONCILE_ROWS (DELAYS_CLASSES + 1)

enum reconcile_why {
	/* One of the two is not there. */
	RECONCILE_OFF,	     /* kernel.task_delayacct was off */
	RECONCILE_OLDER,     /* the thread is older than the accounting */
	RECONCILE_NO_CLASS,  /* this kernel does not count the class */
	RECONCILE_NO_START,  /* its account at the start is not there */
	RECONCILE_NO_END,    /* its account at its end is not there: lost, or not heard */
	RECONCILE_NO_THREAD, /* the events do not know the thread */
	RECONCILE_NO_EVENTS, /* the events of the class were not recorded */
	RECONCILE_UNTOLD,    /* no event of any kernel tells of the class */
	/* Both are there and differ. */
	RECONCILE_LOST,	      /* events were lost: time of the thread is uncertain */
	RECONCILE_OMITTED,    /* this kernel omits switches out of idle: likewise */
	RECONCILE_BEGAN,      /* nothing was known of the thread yet: likewise */
	RECONCILE_UNSURE,     /* other uncertain time */
	RECONCILE_ASKED,      /* the two spans are not the same: it was asked within so much */
	RECONCILE_OPEN,	      /* what was under way then is counted when it ends */
	RECONCILE_EDGES,      /* event and account stand a moment apart, at each wait */
	RECONCILE_IRQ_TIME,   /* interrupts are counted with CONFIG_IRQ_TIME_ACCOUNTING only */
	RECONCILE_MARKED,     /* uninterruptible waits that the kernel may mark as I/O, or not */
	RECONCILE_DELAYED,    /* Linux 6.12 and later: waits whose begin another thread was given */
	RECONCILE_IMPOSSIBLE, /* a wait longer than the thread's life */
	RECONCILE_ZONES,      /* the kernel counts more than the events bracket: choosing zones */
	RECONCILE_QUEUED,     /* a wait for disk ends in a queue, by another CPU's interrupt */
	RECONCILE_STOLEN,     /* a hypervisor took the CPU: no run time for the kernel */
	RECONCILE_IRQ_RUN,    /* the kernel counts interrupts, and takes them off the run time */
	RECONCILE_MOVED,      /* Linux 6.12 and later: asleep, but counted as waiting for a CPU */
	RECONCILE_WHYS,
};

struct reconcile_value {
	bool known;
	uint64_t ns;
	uint64_t count;
};

struct reconcile_class {
	struct reconcile_value kernel;
	struct reconcile_value events;
	uint32_t whys;			     /* a bit for each enum reconcile_why */
	uint64_t at_most_ns[RECONCILE_WHYS]; /* so much of the difference, where that is known */
	uint64_t unexplained_ns;	     /* with both known: beyond all of these */
};

struct reconcile_task {
	int32_t tid; /* of a process: its main thread */
	int32_t tgid;
	bool is_process;
	bool began;	  /* it began in the recording */
	bool ended;	  /* and ended in it */
	uint32_t threads; /* of a process */
	char name[DELAYS_NAME_BYTES];
	uint64_t span_ns; /* compared; of a process the sum of its threads */
	struct reconcile_class rows[RECONCILE_ROWS];
	/* schedstat over the same span, of threads that lived at both ends; count is that of runs. */
	bool has_sched;
	uint64_t sched_run_ns, sched_queued_ns, sched_count;
	/* by how much taskstats differs from it, beyond what ran between the two questions */
	uint64_t sched_off_ns;
};

/* What came to pressure in the recording. */
struct reconcile_pressure {
	const char *resource;
	const char *cgroup; /* "" = the machine */
	uint64_t span_ns;
	bool has_some, has_full;
	uint64_t some_ns, full_ns;
};

/* What is known of how exact both are, from this recording. */
struct reconcile_scale {
	uint64_t
		edge_ns; /* from an event to where the kernel reads its clock, at most, for each wait */
	uint64_t apart_ns; /* measured: of half of the threads it is less for each switch */
	uint64_t most_ns;  /* and of nine in ten; edge_ns is this, or three times the half's */
	size_t threads;	   /* that this was measured with; 0 = edge_ns is a guess */
	uint64_t tick_ns;  /* run time is brought up to date at ticks and switches */
};

struct reconcile {
	enum delays_account_state state;
	bool since_boot;
	bool complete; /* the accounts were kept up to the end */
	uint64_t lost_exits;
	uint64_t lost_events;
	struct reconcile_scale scale;
	uint64_t memory_cut;	      /* spans of reclaim or compaction without both ends */
	const char *damage;	      /* a view; NULL = none */
	struct reconcile_task *tasks; /* owned; by process, each before its threads */
	size_t count;
	struct reconcile_pressure *pressures; /* owned; views of 'recorded' in it */
	size_t pressure_count;
};

/* What the events tell. */
struct reconcile_events {
	const struct timeline *timeline;
	const struct facts *facts;
	const struct memory_spans *memory;
	const struct moved *moved;
};

struct reconcile_opts {
	const int32_t *pids; /* processes, or single threads; none = all */
	size_t pid_count;
	const char *comm; /* processes of this name; NULL = not asked */
	bool threads;	  /* a row for each thread, too */
};

/*
 * 'recorded' must outlive the result. Returns 0, or -ESRCH with err filled when no chosen thread is
 * in the accounts. End it with reconcile_fini().
 */
int reconcile_run(const struct reconcile_events *events, const struct recorded *recorded,
		  const struct reconcile_opts *opts, struct reconcile *out_result, struct err *err);

void reconcile_fini(struct reconcile *result);

/* kernel - events; 0 unless both are known. */
int64_t reconcile_difference(const struct reconcile_class *row);

/* Within 1 % of the larger, or within 'floor' ns: nothing to explain. */
bool reconcile_agrees(const struct reconcile_class *row);

const char *reconcile_why_name(enum reconcile_why why); /* "older", "lost" ... for JSON */

#endif
