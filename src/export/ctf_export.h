/*
 * ctf_export.h - a trace as CTF 1.8, for any format that has records.
 *
 * In the folder, kernel/ is one trace of CTF: a stream for each CPU, one of what descriptors name,
 * and one with the state dump; user/ is another, with what programs logged, for each CPU. See
 * read/ctf/native.h for what is in an
 * event. babeltrace2 and others read it as it is, and holdup reads back what it read from the
 * original: the same events in the same order, and the same facts beside them.
 */
#ifndef EXPORT_CTF_EXPORT_H
#define EXPORT_CTF_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct event;
struct facts;
struct trace;

/* Which part of the trace. All zero is everything. */
struct ctf_choice {
	uint64_t from_ns; /* events at or after it; 0 = from the start */
	uint64_t to_ns;	  /* events before it; 0 = to the end */
	/* Is this event wanted? NULL = all are. Holes are always asked for, too. */
	bool (*wants)(void *context, const struct event *event);
	void *context;
	const struct facts *facts; /* what is known at from_ns; NULL = the trace's */
	bool programs_only; /* what programs logged, without the kernel's: straight into the folder */
};

/*
 * Write to 'folder', which exists. Returns how many events were written, or a negative errno with
 * err filled: -ENOTSUP when the format of the trace has no records.
 */
int64_t ctf_export(struct trace *trace, const char *folder, const struct ctf_choice *choice,
		   struct err *err);

#endif
