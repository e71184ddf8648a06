/*
 * dump.h - what perf tells of the threads that were there before it began, as facts.
 *
 * It writes records as the kernel would have written them, without a time.
 */
#ifndef READ_PERF_DUMP_H
#define READ_PERF_DUMP_H

#include <stdint.h>

struct perf_attr;
struct perf_record;
struct perf_scan;

/* A record without a time. */
void perf_dump_take(struct perf_scan *scan, const struct perf_record *record,
		    const struct perf_attr *attr);

/* A COMM record of the recording itself: the command that perf ran may begin here. */
void perf_dump_live(struct perf_scan *scan, const struct perf_record *record,
		    const struct perf_attr *attr, uint64_t time_ns);

/* All records were there: the rest of the facts. */
void perf_dump_end(struct perf_scan *scan);

#endif
