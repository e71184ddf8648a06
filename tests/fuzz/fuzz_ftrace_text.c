/*
 * fuzz_ftrace_text.c - a trace that is text.
 *
 * Read with and without records, and from the middle on: the events must be the same.
 */
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fuzz_dir.h"
#include "fuzz_trace.h"
#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[96];
	struct seen plain;
	struct trace *trace;
	struct err err = { 0 };

	fuzz_file("kernel/trace", data, bytes);
	snprintf(path, sizeof(path), "%s/kernel/trace", fuzz_dir_path());
	if (read_open(path, &trace, &err) < 0)
		return 0;
	plain = read_both_ways(trace);
	/* The file is shorter than the way back of a seek: nothing is missed. */
	(void)source_seek(trace_source(trace), plain.first_ns, &err);
	if (read_all(trace).sum != plain.sum)
		abort();
	(void)source_seek(trace_source(trace), plain.last_ns, &err);
	(void)read_all(trace);
	trace_close(trace);
	return 0;
}
