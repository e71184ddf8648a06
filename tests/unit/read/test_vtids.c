/* test_vtids.c - user events beside a kernel's: their order, their threads, their damage. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fields/find.h"
#include "read/trace_key.h"
#include "read/page_maker.h"
#include "read/read.h"
#include "read/vtids.h"
#include "attach/packet_maker.h"

#define INITIAL "\tpid_ns = 4026531836;\n"

/* A recording whose counter runs at 2 ticks a ns, and 4 behind tick 2000. */
static struct made_dir recording(void)
{
	struct made_dir dir = dir_made(",\"end_ns\":9000");
	char text[512], path[128];

	snprintf(text, sizeof(text),
		 "{\"version\":1,\"complete\":true,\"arch\":\"x86_64\",\"clock\":\"x86-tsc\","
		 "\"page_bytes\":%d,\"long_bytes\":8,\"begin_ns\":50,\"end_ns\":9000}\n",
		 MADE_PAGE_BYTES);
	made_file(&dir, "trace.json", text, strlen(text));
	snprintf(text, sizeof(text), "0 100 1000\n2000 1100 2000\n10000 3100 4000\n");
	made_file(&dir, "kernel/sync", text, strlen(text));
	snprintf(path, sizeof(path), "%s/user", dir.path);
	if (mkdir(path, 0700) < 0)
		abort();
	return dir;
}

/* A folder of a process in it. */
static char *process_in(const struct made_dir *dir, const char *name, const char *metadata)
{
	char *path = xasprintf("%s/user/%s", dir->path, name);

	if (mkdir(path, 0700) < 0)
		abort();
	text_write(path, "metadata", metadata);
	return path;
}

/* Events of thread 11 on CPU 0, by the kernel, at raw times that end in 0. */
static void kernel_at(const struct made_dir *dir, uint64_t raw, uint32_t count, uint32_t step)
{
	struct made_page page = page_made(raw, 8, false);

	for (uint32_t i = 0; i < count; i++)
		made_event(&page, i ? step : 0, 7, 11, i);
	made_append(dir, 0, &page, MADE_PAGE_BYTES);
}

static char *listed(const struct made_dir *dir, uint64_t from_ns, size_t *out_damage)
{
	struct trace *trace = NULL;
	const struct event *event;
	struct err err = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (read_open(dir->path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(source_seek(trace_source(trace), from_ns, NULL), 0);
	while (source_next(trace_source(trace), &event, NULL) > 0) {
		if (event->type == EV_LOST)
			fprintf(out, "%" PRIu64 ":lost%s%" PRIu64 " ", event->time_ns,
				event->context & EV_CTX_USER ? "-user-" : "-", event->lost.count);
		else if (event->type == EV_OTHER)
			fprintf(out, "%" PRIu64 ":%s[%d] ", event->time_ns, event->other.name,
				event->tid);
		else
			fprintf(out, "%" PRIu64 ":k[%d] ", event->time_ns, event->tid);
	}
	fclose(out);
	if (out_damage)
		*out_damage = trace_facts(trace)->damage_count;
	trace_close(trace);
	return text;
}

static void shows(const struct made_dir *dir, uint64_t from_ns, const char *expected)
{
	AUTO_FREE char *text = listed(dir, from_ns, NULL);

	assert_string_equal(text, expected);
}

/* The frequency in the metadata is a lie: the recording's own clock counts. */
static void the_order_is_that_of_the_counter(void **unused)
{
	struct made_dir dir = recording();
	AUTO_FREE char *path = process_in(&dir, "a-7", MADE_METADATA(MADE_COUNTER, INITIAL, ""));
	struct made_packet *packet = xcalloc(1, sizeof(*packet));

	packet_init(packet, 0, 0);
	packet_event(packet, 1000, 7, 1); /* 100 + 1000 / 2 */
	packet_event(packet, 1006, 7, 2);
	packet_event(packet, 4000, 7, 3); /* 1100 + 2000 / 4 */
	packets_write(path, "cpu0-000001", packet, 1);
	kernel_at(&dir, 1002, 3, 20);
	shows(&dir, 0, "600:paid[7] 601:k[11] 603:paid[7] 611:k[11] 621:k[11] 1600:paid[7] ");
	shows(&dir, 603, "603:paid[7] 611:k[11] 621:k[11] 1600:paid[7] ");
	free(packet);
	dir_unmade(&dir);
}

/* Process 7 of namespace 5 is 107, which has a thread 9; 10 is another process. */
static void numbers_of_a_container(const struct made_dir *dir)
{
	static const char lines[] =
		"{\"vtid\":{\"space\":5,\"vtid\":7,\"tid\":107,\"tgid\":107,\"start\":33}}\n"
		"{\"vtid\":{\"space\":6,\"vtid\":7,\"tid\":207,\"tgid\":207}}\n"
		"{\"vtid\":{\"space\":5,\"vtid\":9,\"tid\":109,\"tgid\":107}}\n"
		"{\"vtid\":{\"space\":5,\"vtid\":10,\"tid\":110,\"tgid\":110}}\n";

	made_file(dir, "kernel/dump.jsonl", lines, strlen(lines));
}

/* Process 7, with these lines in 'env'. */
#define CONTAINER(env) MADE_METADATA(MADE_COUNTER, env, "")

/* What a program tells of as its threads 7, 8, 9 and 10, while 11 has the CPU. */
static void threads_are(const char *metadata, const char *expected)
{
	struct made_dir dir = recording();
	AUTO_FREE char *path = process_in(&dir, "a-7", metadata);
	struct made_packet *packet = xcalloc(1, sizeof(*packet));

	numbers_of_a_container(&dir);
	packet_init(packet, 0, 0);
	for (uint64_t i = 0; i < 4; i++)
		packet_event(packet, 1004 + 2 * i, (uint32_t)(7 + i), 1);
	packets_write(path, "cpu0-000001", packet, 1);
	kernel_at(&dir, 1002, 1, 0);
	shows(&dir, 602, expected);
	free(packet);
	dir_unmade(&dir);
}

/* Nothing but the recorder knows what the threads of a container are called here. */
static void threads_of_a_container_are_those_that_the_recorder_saw(void **unused)
{
	threads_are(CONTAINER("\tpid_ns = 5;\n\tpid_start = 33;\n"),
		    "602:paid[107] 603:paid[-1] 604:paid[109] 605:paid[-1] ");
}

/* Of another process, of one that has ended, of one that does not say where it is. */
static void who_is_not_known_is_not_who_had_the_cpu(void **unused)
{
	static const char nobody[] = "602:paid[-1] 603:paid[-1] 604:paid[-1] 605:paid[-1] ";

	threads_are(CONTAINER("\tpid_ns = 6;\n"),
		    "602:paid[207] 603:paid[-1] 604:paid[-1] 605:paid[-1] ");
	threads_are(CONTAINER("\tpid_ns = 5;\n\tpid_start = 34;\n"), nobody);
	threads_are(CONTAINER("\tpid_ns = 8;\n"), nobody);
	threads_are(CONTAINER(""), nobody);
}

static int32_t number_at(const struct vtids *vtids, int32_t vtid, uint64_t time_ns)
{
	const struct vtid_process process = { .space = 5, .vpid = 7 };

	return vtids_find(vtids, &process, vtid, time_ns);
}

/* A number is used again: by the process's own thread, or by another process. */
static void a_number_is_whose_began_last(void **unused)
{
	static struct fact_vtid known[] = {
		{ .space = 5, .vtid = 8, .tid = 128, .tgid = 107, .from_ns = 50000000 },
		{ .space = 5, .vtid = 7, .tid = 107, .tgid = 107 },
		{ .space = 5, .vtid = 8, .tid = 138, .tgid = 138, .from_ns = 70000000 },
		{ .space = 5, .vtid = 8, .tid = 118, .tgid = 107, .from_ns = 30000000 },
	};
	struct facts facts = { .vtids = known, .vtid_count = ARRAY_LEN(known) };
	struct vtids *vtids = vtids_new(&facts);

	assert_int_equal(number_at(vtids, 7, 10000000), 107);
	assert_int_equal(number_at(vtids, 8, 10000000), -1);
	assert_int_equal(number_at(vtids, 8, 30000000), 118);
	assert_int_equal(number_at(vtids, 8, 40000000), 118);
	assert_int_equal(number_at(vtids, 8, 60000000), 128);
	assert_int_equal(number_at(vtids, 8, 80000000), -1);
	vtids_free(vtids);
}

/* The two clocks are not the same to the nanosecond. */
static void near_the_begin_of_the_next_one_it_is_nobodys(void **unused)
{
	static struct fact_vtid known[] = {
		{ .space = 5, .vtid = 7, .tid = 107, .tgid = 107 },
		{ .space = 5, .vtid = 8, .tid = 118, .tgid = 107, .from_ns = 30000000 },
		{ .space = 5, .vtid = 8, .tid = 128, .tgid = 107, .from_ns = 50000000 },
	};
	struct facts facts = { .vtids = known, .vtid_count = ARRAY_LEN(known) };
	struct vtids *vtids = vtids_new(&facts);

	assert_int_equal(number_at(vtids, 8, 29999000), 118);
	assert_int_equal(number_at(vtids, 8, 49999000), -1);
	assert_int_equal(number_at(vtids, 8, 50001000), -1);
	assert_int_equal(number_at(vtids, 8, 48000000), 118);
	assert_int_equal(number_at(vtids, 8, 52000000), 128);
	vtids_free(vtids);
}

static void what_programs_lost_is_no_hole_of_the_kernels(void **unused)
{
	struct made_dir dir = recording();
	AUTO_FREE char *path = process_in(&dir, "a-7", MADE_METADATA(MADE_COUNTER, INITIAL, ""));
	struct made_packet *packet = xcalloc(1, sizeof(*packet));

	packet_init(packet, 0, 0);
	packet->head.lost = 3;
	packet_event(packet, 1000, 7, 1);
	packets_write(path, "cpu0-000001", packet, 1);
	shows(&dir, 0, "600:lost-user-3 600:paid[7] ");
	free(packet);
	dir_unmade(&dir);
}

/* One broken folder costs itself; one that says it is the kernel's is not believed. */
static void damage_costs_the_trace_it_is_in(void **unused)
{
	struct made_dir dir = recording();
	AUTO_FREE char *good = process_in(&dir, "a-7", MADE_METADATA(MADE_COUNTER, INITIAL, ""));
	AUTO_FREE char *bad = process_in(&dir, "b-8", "/* CTF 1.8 */ event {");
	AUTO_FREE char *fake = process_in(
		&dir, "c-9",
		MADE_METADATA(MADE_COUNTER, INITIAL,
			      "event {\n\tid = 2;\n\tname = \"kernel:sched_switch\";\n\tfields := "
			      "struct { uint64_t next_pid; };\n};\n"));
	struct made_packet *packet = xcalloc(1, sizeof(*packet));
	AUTO_FREE char *text = NULL;
	size_t damage;

	packet_init(packet, 0, 0);
	packet_event(packet, 1000, 7, 1);
	packets_write(good, "cpu0-000001", packet, 1);
	packets_write(bad, "cpu0-000001", packet, 1);
	packets_write(fake, "cpu0-000001", packet, 1);
	text = listed(&dir, 0, &damage);
	assert_string_equal(text, "600:paid[7] ");
	assert_int_equal(damage, 2);
	free(packet);
	dir_unmade(&dir);
}

static void events_of_programs_are_found_by_name_and_field(void **unused)
{
	struct made_dir dir = recording();
	AUTO_FREE char *path = process_in(&dir, "a-7", MADE_METADATA(MADE_COUNTER, INITIAL, ""));
	struct made_packet *packet = xcalloc(1, sizeof(*packet));
	struct trace *trace = NULL;
	struct err err = { 0 };
	uint64_t ns = 0;

	packet_init(packet, 0, 0);
	for (uint64_t i = 0; i < 10; i++)
		packet_event(packet, 1000 + 20 * i, 7, 4705 + i);
	packets_write(path, "cpu0-000001", packet, 1);
	kernel_at(&dir, 1002, 3, 20);
	if (read_open(dir.path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(trace_find_event(trace, "shop:paid:order == 4711", false, 0, &ns, &err),
			 1);
	assert_int_equal(ns, 660);
	assert_int_equal(trace_find_event(trace, "shop:paid", true, 0, &ns, &err), 1);
	assert_int_equal(ns, 690);
	assert_int_equal(trace_find_event(trace, "paid", false, 645, &ns, &err), 1);
	assert_int_equal(ns, 650);
	assert_int_equal(trace_find_event(trace, "irq:softirq_raise", true, 0, &ns, &err), 1);
	assert_int_equal(ns, 621);
	assert_int_equal(trace_find_event(trace, "shop:paid:nothing == 1", false, 0, &ns, &err),
			 -EINVAL);
	trace_close(trace);
	free(packet);
	dir_unmade(&dir);
}

/* The timeline is kept by what the files are: those of programs belong to it. */
static void the_key_covers_the_files_of_programs(void **unused)
{
	struct made_dir dir = recording();
	AUTO_FREE char *path = process_in(&dir, "a-7", MADE_METADATA(MADE_COUNTER, INITIAL, ""));
	struct made_packet *packet = xcalloc(2, sizeof(*packet));
	uint8_t before[KEY_BYTES], after[KEY_BYTES];

	packet_init(packet, 0, 0);
	packet_event(packet, 1000, 7, 1);
	packets_write(path, "cpu0-000001", packet, 1);
	assert_int_equal(read_key(dir.path, before, NULL), 0);
	packet_init(packet + 1, 0, 1);
	packets_write(path, "cpu0-000001", packet, 2);
	assert_int_equal(read_key(dir.path, after, NULL), 0);
	assert_memory_not_equal(before, after, KEY_BYTES);
	free(packet);
	dir_unmade(&dir);
}

/* Any byte of a program's files may be anything. */
static void turned_bytes_never_stop_the_reading(void **unused)
{
	struct made_dir dir = recording();
	AUTO_FREE char *path = process_in(&dir, "a-7", MADE_METADATA(MADE_COUNTER, INITIAL, ""));
	struct made_packet *packet = xcalloc(1, sizeof(*packet));

	kernel_at(&dir, 1002, 3, 20);
	for (size_t at = 0; at < 200; at++) {
		AUTO_FREE char *text = NULL;

		packet_init(packet, 0, 0);
		packet_event(packet, 1000, 7, 1);
		packet_event(packet, 1010, 7, 1);
		((uint8_t *)packet)[at] ^= 0xff;
		packets_write(path, "cpu0-000001", packet, 1);
		text = listed(&dir, 0, NULL);
		assert_non_null(strstr(text, "601:k[11] "));
		assert_non_null(strstr(text, "621:k[11] "));
	}
	free(packet);
	dir_unmade(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_is_that_of_the_counter),
		cmocka_unit_test(threads_of_a_container_are_those_that_the_recorder_saw),
		cmocka_unit_test(who_is_not_known_is_not_who_had_the_cpu),
		cmocka_unit_test(a_number_is_whose_began_last),
		cmocka_unit_test(near_the_begin_of_the_next_one_it_is_nobodys),
		cmocka_unit_test(what_programs_lost_is_no_hole_of_the_kernels),
		cmocka_unit_test(damage_costs_the_trace_it_is_in),
		cmocka_unit_test(events_of_programs_are_found_by_name_and_field),
		cmocka_unit_test(the_key_covers_the_files_of_programs),
		cmocka_unit_test(turned_bytes_never_stop_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
