/*
 * fuzz_raw_dir.c - pages of ftrace beside a format, as they lie in tracefs.
 *
 * The number of bytes of the format in two bytes, the format, then the pages of CPU 0.
 */
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "fuzz_dir.h"
#include "fuzz_trace.h"
#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void make_folders(void)
{
	static const char *const names[] = { "events", "events/irq", "events/irq/softirq_raise" };
	char path[160];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", fuzz_dir_path(), names[i]);
		(void)mkdir(path, 0700); /* there from the second call on */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	size_t format;
	struct trace *trace;
	struct err err = { 0 };

	if (bytes < 2)
		return 0;
	format = (size_t)data[0] << 8 | data[1];
	format = format < bytes - 2 ? format : bytes - 2;
	make_folders();
	fuzz_file("events/irq/softirq_raise/format", data + 2, format);
	fuzz_file("events/header_page", data + 2, format);
	fuzz_file("cpu0.raw", data + 2 + format, bytes - 2 - format);
	if (read_open(fuzz_dir_path(), &trace, &err) < 0)
		return 0;
	(void)read_both_ways(trace);
	trace_close(trace);
	return 0;
}
