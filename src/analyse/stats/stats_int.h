/*
 * stats_int.h - what the files of `stats` share.
 *
 *	stats.c        rows out of the sums of threads
 *	stats_group.c  which row a thread belongs to
 *	stats_cpu.c    what each CPU did; events by type
 */
#ifndef ANALYSE_STATS_STATS_INT_H
#define ANALYSE_STATS_STATS_INT_H

#include "analyse/stats/stats.h"
#include "analyse/why/why_int.h"
#include "base/map.h"

/* A row while it is added up. */
struct group {
	uint32_t slot; /* the thread that names it */
	uint32_t fact; /* index of the fact that tells cgroup and user, plus one; 0 = none */
	uint32_t threads;
	bool kernel;
	struct totals totals;
	struct ps_charge ticks;
};

struct stats_query {
	const struct timeline *tl;
	const struct facts *facts;
	const struct stats_opts *opts;
	struct why why;	    /* lends its texts to the words of describe.c */
	struct query words; /* for describe.c */
	struct stats *stats;
	uint32_t *fact_of;    /* owned; slot -> index of its fact, plus one; 0 = none */
	struct group *groups; /* owned */
	size_t group_count, group_cap;
	struct map by_key; /* -> index of groups */
};

/* stats_group.c */
void group_init(struct stats_query *query);
struct group *group_of(struct stats_query *query, uint32_t slot); /* made when new */
void group_fini(struct stats_query *query);

/* stats_cpu.c: 'all' has the sums of all threads, those of the idle tasks too. */
void stats_fill_cpus(struct stats_query *query, const struct totals *all,
		     const struct ps_cpu *ticks);

#endif
