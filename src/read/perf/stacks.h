/*
 * stacks.h - the call chains of samples and their copies of stacks, as stacks of waits and samples of work.
 *
 *	sched:sched_switch         its chain is that of the wait which begins there
 *	cpu-clock, cycles ...      its chain is a sample of work; of one event, the first of that kind
 *
 * perf writes the records of one CPU after those of another: all is kept while they are read, and put in order
 * at the end. Addresses become places in the files that MMAP and MMAP2 tell of; files are not looked for.
 */
#ifndef READ_PERF_STACKS_H
#define READ_PERF_STACKS_H

#include <stdbool.h>
#include <stdint.h>

struct perf_attr;
struct perf_record;
struct perf_scan;
struct perf_stacks;
struct perf_where;
struct stack_walker;

/* Free it with perf_stacks_free(). */
struct perf_stacks *perf_stacks_new(void);
void perf_stacks_free(struct perf_stacks *stacks); /* NULL is fine */

/* Does an event of the recording have call chains or copies of stacks? Then each sample is to be shown. */
bool perf_stacks_wants(const struct perf_scan *scan);

/* A record at 'place', with a time or without one, where they are wanted. Memory is bound by perf_scan_may_keep(). */
void perf_stacks_take(struct perf_scan *scan, const struct perf_record *record,
		      const struct perf_attr *attr, const struct perf_where *where, uint64_t place);

/* All records were there: the facts have the stacks now, if there are any. */
void perf_stacks_end(struct perf_scan *scan);

struct perf_walked {
	uint64_t count; /* copies of stacks, each once for what its process had mapped */
	uint64_t left;	/* of these that were not walked */
};

/* After that: make them again, with what a walker tells of the copies. Those with most time first, where there are too many. */
void perf_stacks_walk(struct perf_scan *scan, const struct stack_walker *walker,
		      struct perf_walked *out_walked);

#endif
