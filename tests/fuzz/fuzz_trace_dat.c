/*
 * fuzz_trace_dat.c - a whole trace.dat.
 *
 * Read with and without records, which must give the same events, and from the middle.
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
	struct seen plain;
	struct trace *trace;
	struct err err = { 0 };
	char path[96];
	uint64_t middle;

	fuzz_file("kernel/trace.dat", data, bytes);
	snprintf(path, sizeof(path), "%s/kernel/trace.dat", fuzz_dir_path());
	if (read_open(path, &trace, &err) < 0) {
		if (err.text[0] == '\0')
			abort();
		return 0;
	}
	plain = read_both_ways(trace);
	middle = trace_facts(trace)->first_ns / 2 + plain.last_ns / 2;
	(void)source_seek(trace_source(trace), middle, &err);
	(void)read_all(trace);
	trace_close(trace);
	return 0;
}
