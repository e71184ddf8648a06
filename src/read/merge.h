/*
 * merge.h - many lanes as one source, in the order of (time, lane).
 *
 * Long reading is helped by threads that decode ahead, a bounded number of batches;
 * the events and their order are the same with and without them.
 */
#ifndef READ_MERGE_H
#define READ_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;
struct facts;
struct lane;
struct merge;
struct source;
struct trace_record;

/*
 * A source over 'lanes', which it owns from now on. Damage that is met while reading
 * is added to 'facts', by the thread that reads. Free with source_close().
 */
struct merge *merge_new(struct lane *const *lanes, size_t count, struct facts *facts);

struct source *merge_source(struct merge *merge);

/* Let at most 'count' threads decode ahead; 0 = none. The default fits the machine. */
void merge_set_threads(struct merge *merge, uint32_t count);

/*
 * Whether the lanes keep records; 'heads_only': of those that they make themselves no more than
 * the head. To be followed by a seek.
 */
void merge_keep_records(struct merge *merge, bool keep, bool heads_only);

/* The record of an event that was handed out and is still valid. NULL when it has none. */
const struct trace_record *merge_record_of(const struct merge *merge, const struct event *event);

/* The record of the event that was handed out last. False when it has none. */
bool merge_record(const struct merge *merge, struct trace_record *out_record);

#endif
