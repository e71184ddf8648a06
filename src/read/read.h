/*
 * read.h - open a trace of any format that holdup knows.
 *
 *	struct trace *trace;
 *
 *	if (read_open("run.holdup", &trace, &err) < 0)
 *		...
 *	while ((rc = source_next(trace_source(trace), &ev, &err)) > 0)
 *		...
 *	trace_close(trace);
 *
 * A trace is used by one thread at a time; any number of traces may be open.
 */
#ifndef READ_READ_H
#define READ_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct event;
struct facts;
struct formats;
struct source;
struct stack_walker;
struct stacks;
struct trace;

/*
 * Open the trace at 'path', recognised by its content. Returns 0 and sets
 * *out_trace (free with trace_close()), or a negative errno with err filled:
 *   -ENOENT, -EACCES ...  as open(2) reports,
 *   -EBADMSG              not a trace, or damaged where nothing can be read,
 *   -ENOTSUP              written by a newer version.
 * Damage that leaves something to read is no failure: facts->damage lists it, and
 * the events lost by it come as EV_LOST.
 */
int read_open(const char *path, struct trace **out_trace, struct err *err);

/*
 * Open a recording of ours that is still being made. All events before 'until_ns' are there; the
 * caller reads no further: what comes then may be half written. 'from_ns' 0: all of it, with what is
 * known beside the events; else nothing before that is read, opening costs a few milliseconds,
 * and of the facts only those that events need are there. Returns as read_open().
 */
int read_open_growing(const char *path, uint64_t from_ns, uint64_t until_ns,
		      struct trace **out_trace, struct err *err);

void trace_close(struct trace *trace);

/*
 * 'before' is the same recording, read so far: what was learnt there of threads, and is told only
 * once, is known in 'trace' from its next source_seek() on.
 */
void trace_learn(struct trace *trace, const struct trace *before);

/* The merged events of all CPUs, at the first one. Owned by the trace. */
struct source *trace_source(struct trace *trace);

/* What is known beside the events. Owned by the trace. */
const struct facts *trace_facts(const struct trace *trace);

/* The stacks among these, to be named by who can; NULL = there are none. */
struct stacks *trace_stacks(struct trace *trace);

/*
 * Where the trace has copies of stacks, let 'walker' tell the calls in them: the stacks are made anew. How many it could not is
 * in the facts then.
 */
void trace_walk_stacks(struct trace *trace, const struct stack_walker *walker);

/* Note damage that is known from elsewhere, once: it is in trace_facts() then. */
void trace_note_damage(struct trace *trace, const char *text);

/*
 * Let up to 'count' threads decode ahead of the reader; 0 = none. The default fits the
 * machine. The events are the same in any case. Call it before the first event.
 */
void trace_set_threads(struct trace *trace, uint32_t count);

/* The kernel's record behind an event: a view, valid as long as the event. */
struct trace_record {
	const uint8_t *data;
	uint32_t bytes;
	uint64_t place; /* of the record in its CPU's stream, in bytes: never changes */
	const char
		*origin; /* name of the tracing instance that recorded it; NULL = the usual one */
};

/* Whether to keep the records beside the events, from the next source_seek() on. */
void trace_keep_records(struct trace *trace, bool keep);
bool trace_keeps_records(const struct trace *trace);

/*
 * Keep records from which only the kind of the event is asked, no fields: where a reader makes
 * the records itself, that is less work. From the next source_seek() on.
 */
void trace_keep_heads(struct trace *trace);

/*
 * The record of the event that source_next() gave last. False when the event was made by
 * the reader (EV_LOST, EV_FD_NAME), or when records are not kept.
 */
bool trace_record(const struct trace *trace, struct trace_record *out_record);

/*
 * The record of any event that source_next() or source_next_run() of this trace gave, as long as
 * the event is valid. NULL where trace_record() is false.
 */
const struct trace_record *trace_record_of(const struct trace *trace, const struct event *event);

/* What the bytes of records mean. Owned by the trace. */
struct trace_meaning {
	const struct formats *formats;
	bool formats_are_recorded; /* each is of an event that was recorded; else of any */
	bool big_endian;
	uint32_t long_bytes;
};

/* False when this format has no records. */
bool trace_meaning(const struct trace *trace, struct trace_meaning *out_meaning);

/*
 * The time of the record at 'place' in the stream of 'cpu'. Reads one page. Returns 0 and
 * *out_ns, or -ENOENT with err filled when there is no record. The source stays where it is.
 */
int trace_find_place(struct trace *trace, uint32_t cpu, uint64_t place, uint64_t *out_ns,
		     struct err *err);

#endif
