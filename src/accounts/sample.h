/*
 * sample.h - the accounts of many tasks at one time, and what came to them between two times.
 *
 *	struct delays_sampler *sampler;
 *	struct delays_sample before, after;
 *
 *	rc = delays_sampler_open(&sampler, err);
 *	rc = delays_sample_take(sampler, &select, 0, &before, err);
 *	...
 *	rc = delays_sample_take(sampler, &select, 0, &after, err);
 *	delays_delta_make(&before, &after, &delta);
 *	... delta.tasks ...
 *	delays_delta_fini(&delta);
 *	delays_sample_fini(&before);
 *	delays_sample_fini(&after);
 *	delays_sampler_close(sampler);
 *
 * A sample costs a walk through /proc (8 us for each process, less with DELAYS_TAKE_THREADS in
 * the select, which needs no counting of threads) and 1 to 2 us for each task. Exact I/O numbers
 * cost another 10 us each and are asked for by a flag. Samples are plain memory and may go to
 * other threads; a sampler is used by one thread at a time.
 */
#ifndef ACCOUNTS_SAMPLE_H
#define ACCOUNTS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/account.h"
#include "accounts/list.h"
#include "accounts/stats.h"

struct delays_sampler;
struct err;

/* Where the numbers are from. */
enum delays_source {
	DELAYS_FROM_TASKSTATS,
	DELAYS_FROM_PROC,  /* no rights: run time and time without a CPU only, of living threads */
	DELAYS_FROM_TRACE, /* from recorded events: never by a sampler */
};

/* Whether a task's delays other than that of the CPU are counted. */
enum delays_coverage {
	DELAYS_COVERED, /* since its start */
	DELAYS_PARTLY,	/* a process: those of its younger threads are */
	DELAYS_OLDER,	/* it is older than the accounting: never */
	DELAYS_OFF,	/* the accounting is off, or these are not kernel delays at all */
};

struct delays_task {
	int32_t tid; /* of a process: its main thread */
	int32_t tgid;
	bool is_process;
	bool io_exact;	   /* else rounded down to DELAYS_IO_STEP; not there for some processes */
	uint32_t threads;  /* of a process: how many live */
	uint64_t birth_ns; /* since boot, CLOCK_BOOTTIME; to a few us */
	uint64_t wall_ns;  /* since its start */
	enum delays_coverage coverage;
	/*
	 * Classes that are not counted for this task are not in stats.classes. stats.life_us of a
	 * process is the sum of its living threads.
	 */
	struct delays_stats stats;
};

struct delays_sample {
	uint64_t time_ns; /* since boot, CLOCK_BOOTTIME */
	enum delays_source source;
	struct delays_account account;
	struct delays_task *tasks; /* owned; by process, each before its threads */
	size_t count;
	size_t missing; /* asked for by number, and not there */
	size_t gone;	/* ended between being listed and being asked about */
};

#define DELAYS_TAKE_IO 1u /* exact I/O from /proc, where allowed */

/*
 * Open a connection. Without the rights for one the sampler reads /proc; *out_why is then
 * filled with the reason (it may be NULL). Never fails for want of rights.
 */
int delays_sampler_open(struct delays_sampler **out_sampler, struct err *out_why);

void delays_sampler_close(struct delays_sampler *sampler); /* NULL is fine */

enum delays_source delays_sampler_source(const struct delays_sampler *sampler);

/*
 * Ask about all tasks of 'select' now. Returns 0, also when there are none, or a negative
 * errno with err filled. End it with delays_sample_fini().
 */
int delays_sample_take(struct delays_sampler *sampler, const struct delays_select *select,
		       uint32_t flags, struct delays_sample *out_sample, struct err *err);

void delays_sample_fini(struct delays_sample *sample);

/* What came to a task between two samples. */
struct delays_change {
	const struct delays_task *task; /* in the later sample; of one that ended in the earlier */
	bool born;			/* it is new: all of its account counts */
	bool ended;			/* what it did since the earlier sample is not known */
	uint64_t span_ns;		/* how long it lived between the samples */
	struct delays_stats stats;	/* the differences; zero for those that ended */
};

struct delays_delta {
	uint64_t span_ns;	     /* between the samples */
	struct delays_change *tasks; /* owned; those of the later sample, then those that ended */
	size_t count;
	size_t ended;
	size_t born;
};

/*
 * The differences of two samples of the same tasks; both must outlive the delta. A number
 * that was taken by a new task is a new task: births are compared, not numbers only.
 */
void delays_delta_make(const struct delays_sample *before, const struct delays_sample *after,
		       struct delays_delta *out_delta);

void delays_delta_fini(struct delays_delta *delta);

#endif
