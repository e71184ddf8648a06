/*
 * fuzz_names.c - the files beside the events: names, sync, kallsyms, dump.jsonl.
 *
 * The first byte chooses which of them the rest of the input is.
 */
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fuzz_dir.h"
#include "read/read.h"

static const char *const files[] = { "kernel/names", "kernel/sync", "kernel/kallsyms",
				     "kernel/dump.jsonl" };

static const char manifest[] = "{\"version\":1,\"arch\":\"x86_64\",\"clock\":\"x86-tsc\","
			       "\"page_bytes\":4096,\"long_bytes\":8}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct event *event;
	struct trace *trace;
	struct err err = { 0 };
	volatile size_t sum = 0;
	uint64_t before = 0;

	if (bytes < 1)
		return 0;
	fuzz_file("trace.json", manifest, strlen(manifest));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (i == data[0] % 4)
			fuzz_file(files[i], data + 1, bytes - 1);
		else
			fuzz_file(files[i], "", 0);
	}
	if (read_open(fuzz_dir_path(), &trace, &err) < 0)
		return 0;
	while (source_next(trace_source(trace), &event, NULL) > 0) {
		assert(event->type == EV_FD_NAME && event->time_ns >= before);
		before = event->time_ns;
		sum += strlen(event->fd_name.name);
	}
	(void)sum;
	(void)facts_symbol(trace_facts(trace), 0x1234);
	trace_close(trace);
	return 0;
}
