/*
 * gather.h - accounts added up over a long time, by command and by cgroup, in bounded memory.
 *
 * What comes out never counts backwards while a name is there: differences between samples are
 * added up, not the accounts of those that happen to live. What a process does between the last
 * sample before its end and its end is missed; 'ended' says how many that were, at least: those
 * that came and went between two samples are not even seen.
 *
 * Only so many names have a sum of their own. One more comes into 'other', until a name has had no
 * process for DELAYS_GATHER_FORGET_NS: then that one is added to 'other' and forgotten.
 */
#ifndef ACCOUNTS_GATHER_H
#define ACCOUNTS_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/sample.h"

#define DELAYS_GATHER_FORGET_NS (UINT64_C(300) * 1000000000)

enum delays_gather_by {
	DELAYS_BY_COMMAND,
	DELAYS_BY_CGROUP,
	DELAYS_GATHER_BYS,
};

struct delays_series {
	char *name; /* owned; NULL of 'other' */
	struct delays_stats stats;
	uint64_t processes; /* that live now */
	uint64_t threads;   /* likewise */
	uint64_t uncounted; /* of the processes: only their time without a CPU is counted */
	uint64_t seen_ns;   /* when it last had a process */
};

struct delays_series_set {
	struct delays_series *series; /* owned; in order of their first process */
	size_t count;
	struct delays_series other;
};

struct delays_gather {
	size_t limit; /* names of each kind */
	/* The name of a process's cgroup, as delays_proc_cgroup(). */
	void (*cgroup_of)(int32_t tgid, char *path, size_t bytes);
	struct delays_series_set sets[DELAYS_GATHER_BYS];
	struct delays_sample before; /* owned */
	bool has_before;
	uint64_t ended;
	uint64_t samples;
};

/* 'limit' is above 0. */
void delays_gather_init(struct delays_gather *gather, size_t limit);
void delays_gather_fini(struct delays_gather *gather);

/* Add what came since the last one; takes the sample, which is of processes. */
void delays_gather_feed(struct delays_gather *gather, struct delays_sample *sample);

#endif
