/*
 * fuzz_pages.c - ring files, opened, merged, sought and searched like any trace.
 *
 * The input: one byte that chooses page size, byte order and clock, one that says
 * where it is cut into the files of two CPUs, then the pages; of an odd second byte in compressed chunks
 * (kernel/cpuN.packed).
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fuzz_dir.h"
#include "fields/find.h"
#include "read/read.h"

#define COMMON                                                                          \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"          \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"  \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const struct {
	const char *name;
	const char *text;
} formats[] = {
	{ "sched/sched_switch",
	  "ID: 1\n" COMMON "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	  "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	  "\tfield:pid_t next_pid;\toffset:40;\tsize:4;\tsigned:1;\n" },
	{ "raw_syscalls/sys_enter",
	  "ID: 2\n" COMMON "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
	  "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n" },
	{ "irq/irq_handler_entry",
	  "ID: 3\n" COMMON "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n" },
	{ "irq/softirq_raise",
	  "ID: 7\n" COMMON "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n" },
	{ "other/located",
	  "ID: 5\n" COMMON "\tfield:__rel_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n" },
};

static void put_formats(void)
{
	char text[8192];
	size_t used = 0;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "=== %s %zu\n%s\n",
					 formats[i].name, strlen(formats[i].text), formats[i].text);
	fuzz_file("kernel/formats", text, used);
	fuzz_file("kernel/dump.jsonl", "", 0);
	fuzz_file("kernel/sync", "1000 1000 5\n2000000 1000000 5\n", 29);
}

static void put_manifest(uint8_t choice, bool packed)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"version\":%d,\"complete\":%s,\"arch\":\"%s\",\"clock\":\"%s\","
		 "\"page_bytes\":%d,\"long_bytes\":%d,\"begin_ns\":50%s}",
		 packed ? 3 : 1, choice & 8 ? "true" : "false", choice & 4 ? "s390x" : "x86_64",
		 choice & 2 ? "x86-tsc" : "mono", 256 << (choice >> 6), choice & 1 ? 4 : 8,
		 choice & 16 ? ",\"cpus\":[{\"cpu\":0,\"lost\":99,\"bytes\":4096}]" : "");
	fuzz_file("trace.json", text, strlen(text));
}

/* Touch everything that an event points to, so that a sanitizer sees it. */
static uint64_t touch(const struct event *event)
{
	const char *text = NULL;

	switch (event->type) {
	case EV_SCHED_SWITCH:
		text = event->sched_switch.prev_comm;
		break;
	case EV_IRQ_ENTRY:
		return event->irq.name ? strlen(event->irq.name) : 0;
	case EV_OTHER:
		return strlen(event->other.name) + strlen(event->other.system);
	case EV_LOST:
		assert(event->lost.since_ns <= event->time_ns);
		break;
	default:
		break;
	}
	return text ? strnlen(text, 16) : 0;
}

static uint64_t read_all(struct trace *trace, uint64_t from_ns, uint64_t *out_last_ns)
{
	const struct event *event;
	uint64_t count = 0, before = from_ns;
	volatile uint64_t sum = 0;

	while (source_next(trace_source(trace), &event, NULL) > 0) {
		assert(event->time_ns >= before);
		before = event->time_ns;
		sum += touch(event);
		count++;
	}
	(void)sum;
	*out_last_ns = before;
	return count;
}

static const char *const names[2][2] = { { "kernel/cpu0.ring", "kernel/cpu0.packed" },
					 { "kernel/cpu1.ring", "kernel/cpu1.packed" } };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct trace *trace;
	struct err err = { 0 };
	uint64_t count, last_ns, ns;
	char other[128];
	bool packed;
	size_t cut;

	if (bytes < 2)
		return 0;
	cut = (bytes - 2) * data[1] / 256;
	put_formats();
	packed = data[1] & 1;
	put_manifest(data[0], packed);
	for (int i = 0; i < 2; i++) {
		fuzz_file(names[i][packed], i ? data + 2 + cut : data + 2,
			  i ? bytes - 2 - cut : cut);
		snprintf(other, sizeof(other), "%s/%s", fuzz_dir_path(), names[i][!packed]);
		(void)remove(other);
	}
	if (read_open(fuzz_dir_path(), &trace, &err) < 0)
		return 0;
	if (!(data[0] & 32))
		trace_set_threads(trace, 0);
	count = read_all(trace, 0, &last_ns);
	assert(source_seek(trace_source(trace), last_ns / 2, NULL) == 0);
	(void)read_all(trace, last_ns / 2, &ns); /* time does not go back */
	assert(trace_find_event(trace, "softirq_raise:vec > 3", data[0] & 64, 0, &ns, &err) >= 0);
	assert(trace_find_event(trace, "located:name ~ \"a*\"", false, 100, &ns, &err) >= 0);
	assert(read_all(trace, 0, &last_ns) == count);
	trace_close(trace);
	return 0;
}
