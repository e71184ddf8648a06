/*
 * fuzz_perf_data.c - a whole perf.data: a file, what came out of a pipe, or a folder of two files.
 *
 * A folder is FOLDER, the number of bytes of its "data" in two bytes, these, and data.0.
 *
 * Read with and without records, which must give the same events, and from the middle. Records
 * are printed, too: the formats of perf's own are made by the reader. Copies of stacks are walked
 * by what takes each word for a call.
 */
#include <stdint.h>

#include "base/err.h"
#include "base/outbuf.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "event/stacks.h"
#include "fuzz_dir.h"
#include "fuzz_trace.h"
#include "fields/print.h"
#include "read/read.h"
#include "read/stack_walk.h"
#include "fields/value.h"

#define MAX_PRINTED 500
#define FOLDER	    "FOLDER"

/* The same place is the same event's, and its text can be made. */
static void print_some(struct trace *trace)
{
	struct trace_meaning meaning = { 0 };
	const struct event *event;
	struct trace_record record;
	struct value_context context = { .facts = trace_facts(trace) };
	struct outbuf out;
	struct err err = { 0 };
	uint64_t ns;

	if (!trace_meaning(trace, &meaning))
		return;
	context.printer = printer_new(&(struct print_setup){
		meaning.formats, context.facts, meaning.big_endian, meaning.long_bytes });
	context.memory = print_memory_new(context.printer);
	outbuf_to_memory(&out);
	for (int i = 0; i < MAX_PRINTED; i++) {
		struct value_line line = { .comm = "0123456789abcdef" };

		if (source_next(trace_source(trace), &event, &err) <= 0)
			break;
		if (!trace_record(trace, &record))
			continue;
		line.event = event;
		line.record = record;
		line.kind = value_kind_of(context.printer, event, &record);
		outbuf_reset(&out);
		value_put_event_text(&context, &line, &out);
		if (trace_find_place(trace, event->cpu, record.place, &ns, &err) < 0)
			abort();
	}
	outbuf_fini(&out);
	print_memory_free(context.memory);
	printer_free((struct printer *)context.printer);
}

/* What was mapped: how many, and the sum of what was told of them. */
struct walked {
	size_t count;
	uint64_t sum;
};

static void enter(void *context, const struct walk_map *maps, size_t count)
{
	struct walked *walked = context;

	walked->count = count;
	for (size_t i = 0; i < count; i++) {
		walked->sum += strlen(maps[i].path) + maps[i].start;
		if (maps[i].build_id)
			walked->sum += strlen(maps[i].build_id);
	}
}

static size_t walk(void *context, const struct walk_dump *dump, struct walk_frame *out_frames,
		   const char **out_end)
{
	const struct walked *walked = context;
	size_t count = dump->stack_bytes / 8;

	if (dump->machine == WALK_OTHER || !dump->reg_count || dump->reg_count > WALK_REGS_MAX)
		abort();
	count = count < WALK_FRAMES_MAX ? count : WALK_FRAMES_MAX;
	for (size_t i = 0; i < count; i++) {
		memcpy(&out_frames[i].pc, dump->stack + 8 * i, 8);
		out_frames[i].map = i % 3 ? (uint32_t)(i % (walked->count + 1)) : WALK_NO_MAP;
	}
	*out_end = count % 2 ? "odd" : NULL;
	return count;
}

/* Each wait and sample has a stack of frames that are there. */
static void check_stacks(struct trace *trace)
{
	const struct stacks *stacks = trace_stacks(trace);

	for (size_t i = 0; stacks && i < stacks->wait_count; i++) {
		if (stacks->waits[i].stack >= stacks->stack_count)
			abort();
	}
	for (size_t i = 0; stacks && i < stacks->sample_count; i++) {
		if (stacks->samples[i].stack >= stacks->stack_count)
			abort();
	}
}

/* The trace of an input. Its path is valid until the next call. */
static const char *put_trace(const uint8_t *data, size_t bytes)
{
	static char path[96];
	const size_t head = strlen(FOLDER) + 2;
	char folder[96];
	size_t first;

	if (bytes < head || memcmp(data, FOLDER, strlen(FOLDER)) != 0) {
		fuzz_file("kernel/perf.data", data, bytes);
		snprintf(path, sizeof(path), "%s/kernel/perf.data", fuzz_dir_path());
		return path;
	}
	snprintf(folder, sizeof(folder), "%s/kernel/folder", fuzz_dir_path());
	(void)mkdir(folder, 0700); /* it may be there */
	first = (size_t)data[head - 2] | (size_t)data[head - 1] << 8;
	if (first > bytes - head)
		first = bytes - head;
	fuzz_file("kernel/folder/data", data + head, first);
	fuzz_file("kernel/folder/data.0", data + head + first, bytes - head - first);
	strcpy(path, folder);
	return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct seen plain;
	struct trace *trace;
	struct err err = { 0 };
	struct walked walked = { 0 };
	uint64_t middle;

	if (read_open(put_trace(data, bytes), &trace, &err) < 0) {
		if (err.text[0] == '\0')
			abort();
		return 0;
	}
	plain = read_both_ways(trace);
	middle = trace_facts(trace)->first_ns / 2 + plain.last_ns / 2;
	(void)source_seek(trace_source(trace), middle, &err);
	print_some(trace);
	check_stacks(trace);
	trace_walk_stacks(trace, &(struct stack_walker){ enter, walk, &walked });
	check_stacks(trace);
	trace_close(trace);
	return 0;
}
