/*
 * fuzz_ctf2.c - a trace of CTF 2: its metadata, a line "%%", and a stream.
 *
 * Read with and without records: the two ways to decode must give the same events.
 */
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "fuzz_dir.h"
#include "fuzz_trace.h"
#include "read/ctf/ctf2_meta.h"
#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *mark = memmem(data, bytes, "\n%%\n", 4);
	size_t meta = mark ? (size_t)(mark - data) : bytes;
	struct trace *trace;
	struct err err = { 0 };

	if (!ctf2_is_metadata((const char *)data, meta))
		return 0;
	fuzz_file("kernel/metadata", data, meta);
	fuzz_file("kernel/stream", mark ? mark + 4 : data, mark ? bytes - meta - 4 : 0);
	if (read_open(fuzz_dir_path(), &trace, &err) < 0)
		return 0;
	(void)read_both_ways(trace);
	(void)source_seek(trace_source(trace), 1000, &err);
	(void)read_all(trace);
	trace_close(trace);
	return 0;
}
