/*
 * stats.h - what the kernel counted: per_cpu/cpuN/stats, all of them in one text.
 *
 *	CPU: 0
 *	overrun: 12
 *	dropped events: 0
 *	read events: 735
 *
 * "Buffer: NAME" stands before those of an instance other than the top one.
 */
#ifndef READ_TRACEDAT_STATS_H
#define READ_TRACEDAT_STATS_H

struct dat_meta;

/* Fill 'lost' and 'events' of all CPUs from meta->stats. */
void dat_stats_fill(struct dat_meta *meta);

#endif
