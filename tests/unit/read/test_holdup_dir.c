/* test_holdup_dir.c - whole trace directories, made by hand: order, holes, damage, seek. */
#include <errno.h>
#include <fcntl.h>
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
#include "event/stacks.h"
#include "event/source.h"
#include "fields/find.h"
#include "read/page_maker.h"
#include "read/read.h"
#include "wire/wire.h"

static struct trace *opened(const struct made_dir *dir)
{
	struct trace *trace = NULL;
	struct err err = { 0 };

	if (read_open(dir->path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	return trace;
}

/* The rest of the events as text: "TIME.CPU:VEC " or "TIME.CPU:lost(SINCE,COUNT) ". */
static char *rest_of(struct trace *trace)
{
	const struct event *event;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	while (source_next(trace_source(trace), &event, NULL) > 0) {
		if (event->type == EV_LOST)
			fprintf(out, "%" PRIu64 ".%u:lost(%" PRIu64 ",%" PRIu64 ") ",
				event->time_ns, event->cpu, event->lost.since_ns,
				event->lost.count);
		else if (event->type == EV_FD_NAME)
			fprintf(out, "%" PRIu64 ":%d=%s ", event->time_ns, event->fd_name.fd,
				event->fd_name.name);
		else
			fprintf(out, "%" PRIu64 ".%u:%d ", event->time_ns, event->cpu,
				event->irq.nr);
	}
	fclose(out);
	return text;
}

/* Open, read all, compare; returns how many notes of damage there were. */
static size_t reads_as(const struct made_dir *dir, const char *expected)
{
	struct trace *trace = opened(dir);
	char *text = rest_of(trace);
	size_t damage = trace_facts(trace)->damage_count;

	assert_string_equal(text, expected);
	free(text);
	trace_close(trace);
	return damage;
}

/* A page with events at time, time + 10, ... whose value is 'value', 'value' + 1 ... */
static struct made_page run_of(uint64_t time, uint32_t count, uint32_t value)
{
	struct made_page page = page_made(time, 8, false);

	for (uint32_t i = 0; i < count; i++)
		made_event(&page, i ? 10 : 0, 7, 1, value + i);
	return page;
}

static void put_run(const struct made_dir *dir, uint32_t cpu, uint64_t time, uint32_t count,
		    uint32_t value)
{
	struct made_page page = run_of(time, count, value);

	made_append(dir, cpu, &page, MADE_PAGE_BYTES);
}

static void cpus_are_merged_by_time(void **unused)
{
	struct made_dir dir = dir_made("");

	put_run(&dir, 0, 100, 3, 1);
	put_run(&dir, 1, 105, 2, 11);
	put_run(&dir, 12, 110, 1, 21);
	assert_int_equal(reads_as(&dir, "100.0:1 105.1:11 110.0:2 110.12:21 115.1:12 120.0:3 "), 0);
	dir_unmade(&dir);
}

static void a_trace_without_events_is_empty(void **unused)
{
	struct made_dir dir = dir_made("");
	struct trace *trace;

	assert_int_equal(reads_as(&dir, ""), 0);
	trace = opened(&dir);
	assert_int_equal(trace_facts(trace)->first_ns, 50);
	assert_int_equal(source_seek(trace_source(trace), 10, NULL), 0);
	trace_close(trace);
	dir_unmade(&dir);
}

static void facts_come_from_the_manifest(void **unused)
{
	struct made_dir dir = dir_made(",\"end_ns\":900,\"host\":\"a\",\"target_tid\":9,"
				       "\"missing\":[{\"what\":\"w\",\"why\":\"y\"}],"
				       "\"recorder_tids\":[4,5]");
	struct trace *trace;
	const struct facts *facts;

	made_file(&dir, "kernel/kallsyms", "ff20 b\nff10 a [mod]\n", 20);
	put_run(&dir, 1, 100, 3, 1);
	trace = opened(&dir);
	facts = trace_facts(trace);
	assert_int_equal(facts->damage_count, 0);
	assert_string_equal(facts->host, "a");
	assert_int_equal(facts->first_ns, 50);
	assert_int_equal(facts->last_ns, 900);
	assert_int_equal(facts->realtime_offset_ns, 900);
	assert_int_equal(facts->target_tid, 9);
	assert_int_equal(facts->cpu_count, 2);
	assert_int_equal(facts->cpus[1].bytes, MADE_PAGE_BYTES);
	assert_string_equal(facts->missing[0].why, "y");
	assert_int_equal(facts->recorder_tids[1], 5);
	assert_string_equal(facts_symbol(facts, 0xff15), "a");
	assert_string_equal(facts_symbol(facts, 0xff20), "b");
	assert_string_equal(facts_syscall(facts, 0, false), "read");
	trace_close(trace);
	dir_unmade(&dir);
}

/* Two addresses in one function, of which a part is a clone; then one of another function. */
static void functions_of_the_kernel_are_named_before_places_are_compared(void **unused)
{
	static const char symbols[] = "ff10 a.isra.0\nff20 b\n";
	static const char lines[] = "holdup-stacks 5\n"
				    "F\tk\tff11\t0\t\t\t[kernel]\t\t\t\n"
				    "F\tk\tff15\t0\t\t\t[kernel]\t\t\t\n"
				    "F\tk\tff21\t0\t\t\t[kernel]\t\t\t\n"
				    "S\t\t0\nS\t\t1\nS\t\t2\n";
	struct made_dir dir = dir_made("");
	const struct stacks *stacks;
	struct trace *trace;

	made_file(&dir, "kernel/kallsyms", symbols, sizeof(symbols) - 1);
	made_file(&dir, "kernel/stacks", lines, sizeof(lines) - 1);
	put_run(&dir, 1, 100, 3, 1);
	trace = opened(&dir);
	stacks = trace_facts(trace)->stacks;
	assert_non_null(stacks);
	assert_int_equal(stacks->stack_count, 3);
	assert_string_equal(stacks->frames[0].function, "a");
	assert_string_equal(stacks->frames[0].signature, "a.isra.0");
	assert_int_equal(stacks->stacks[1].alike_leaf, 0);
	assert_int_equal(stacks->stacks[2].alike_leaf, 2);
	trace_close(trace);
	dir_unmade(&dir);
}

static void a_flagged_page_is_a_hole_before_it(void **unused)
{
	struct made_dir dir = dir_made("");
	struct made_page page = run_of(500, 1, 5);

	put_run(&dir, 0, 100, 2, 1);
	made_lost(&page, 33);
	made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	page = run_of(600, 1, 6);
	made_lost(&page, 0);
	made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	assert_int_equal(reads_as(&dir, "100.0:1 110.0:2 500.0:lost(110,33) 500.0:5 "
					"600.0:lost(500,0) 600.0:6 "),
			 0);
	dir_unmade(&dir);
}

static void a_hole_before_all_events_begins_with_the_recording(void **unused)
{
	struct made_dir dir = dir_made("");
	struct made_page page = run_of(500, 1, 5);

	made_lost(&page, 2);
	made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	assert_int_equal(reads_as(&dir, "500.0:lost(50,2) 500.0:5 "), 0);
	dir_unmade(&dir);
}

static void losses_that_no_page_tells_come_at_the_end(void **unused)
{
	struct made_dir dir =
		dir_made(",\"end_ns\":900,\"cpus\":[{\"cpu\":0,\"lost\":10,\"dropped\":1}]");
	struct made_page page = run_of(500, 1, 5);

	made_lost(&page, 4);
	made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	assert_int_equal(reads_as(&dir, "500.0:lost(50,4) 500.0:5 900.0:lost(500,7) "), 0);
	/* A page that does not tell how many accounts for all the others. */
	page = run_of(600, 1, 6);
	made_lost(&page, 0);
	made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	assert_int_equal(reads_as(&dir, "500.0:lost(50,4) 500.0:5 600.0:lost(500,0) 600.0:6 "), 0);
	dir_unmade(&dir);
}

static void a_damaged_page_costs_only_itself(void **unused)
{
	struct made_dir dir = dir_made("");
	struct made_page page = run_of(200, 2, 5);

	put_run(&dir, 0, 100, 2, 1);
	made_number(&page, 8, 100000, 8);
	made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	put_run(&dir, 0, 300, 1, 7);
	assert_int_equal(reads_as(&dir, "100.0:1 110.0:2 300.0:lost(110,0) 300.0:7 "), 1);
	dir_unmade(&dir);
}

static void what_is_good_of_a_page_is_kept(void **unused)
{
	struct made_dir dir = dir_made("");
	struct made_page page = run_of(200, 2, 5);

	made_word(&page, 28, 1); /* longer than the page's data */
	made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	put_run(&dir, 0, 300, 1, 7);
	assert_int_equal(reads_as(&dir, "200.0:5 210.0:6 300.0:lost(210,0) 300.0:7 "), 1);
	dir_unmade(&dir);
}

static void a_turned_bit_in_a_page_time_moves_nothing_else(void **unused)
{
	const uint64_t second = 1000000000;

	for (int up = 0; up < 2; up++) {
		struct made_dir dir = dir_made("");

		put_run(&dir, 0, 100 * second, 1, 1);
		put_run(&dir, 0, up ? 100 * second + (UINT64_C(1) << 50) : 3, 1, 2);
		put_run(&dir, 0, 102 * second, 1, 3);
		put_run(&dir, 0, 103 * second, 1, 4);
		assert_int_equal(reads_as(&dir, "100000000000.0:1 "
						"102000000000.0:lost(100000000000,0) "
						"102000000000.0:3 103000000000.0:4 "),
				 1);
		dir_unmade(&dir);
	}
}

static void an_event_later_than_the_next_page_is_damage(void **unused)
{
	struct made_dir dir = dir_made("");
	struct made_page page = run_of(200, 1, 5);

	made_extend(&page, 30, UINT64_C(1) << 45);
	made_event(&page, 0, 7, 1, 6);
	made_append(&dir, 0, &page, MADE_PAGE_BYTES);
	put_run(&dir, 0, 300, 1, 7);
	assert_int_equal(reads_as(&dir, "200.0:5 300.0:lost(200,0) 300.0:7 "), 1);
	dir_unmade(&dir);
}

static void time_that_goes_back_a_little_is_held_and_noted(void **unused)
{
	struct made_dir dir = dir_made("");

	put_run(&dir, 0, 200, 2, 1);
	put_run(&dir, 0, 205, 2, 3);
	assert_int_equal(reads_as(&dir, "200.0:1 210.0:2 210.0:3 215.0:4 "), 1);
	dir_unmade(&dir);
}

static void a_torn_page_is_noted_and_is_a_hole(void **unused)
{
	struct made_dir dir = dir_made(",\"end_ns\":900");
	struct made_page page = run_of(300, 2, 5);
	struct trace *trace;

	put_run(&dir, 0, 100, 1, 1);
	made_append(&dir, 0, &page, 100);
	assert_int_equal(reads_as(&dir, "100.0:1 900.0:lost(100,0) "), 1);
	trace = opened(&dir);
	assert_string_equal(trace_facts(trace)->damage[0],
			    "cpu0.ring: its last page is cut, 100 of 512 bytes are there");
	trace_close(trace);
	dir_unmade(&dir);
}

static void a_file_that_is_shorter_than_recorded_is_a_hole(void **unused)
{
	struct made_dir dir = dir_made(",\"end_ns\":900,\"cpus\":[{\"cpu\":0,\"bytes\":1024},"
				       "{\"cpu\":1,\"bytes\":512}]");

	put_run(&dir, 0, 100, 1, 1);
	assert_int_equal(reads_as(&dir, "100.0:1 900.0:lost(100,0) 900.1:lost(50,0) "), 3);
	dir_unmade(&dir);
}

static void holes_of_zeros_are_stepped_over(void **unused)
{
	struct made_dir dir = dir_made("");
	char path[128];

	put_run(&dir, 0, 100, 1, 1);
	snprintf(path, sizeof(path), "%s/kernel/cpu0.ring", dir.path);
	assert_int_equal(truncate(path, INT64_C(1) << 40), 0); /* sparse */
	put_run(&dir, 0, 300, 1, 2);
	(void)reads_as(&dir, "100.0:1 300.0:lost(100,0) 300.0:2 ");
	dir_unmade(&dir);
}

static void names_are_merged_by_their_time(void **unused)
{
	struct made_dir dir = dir_made("");
	uint8_t bytes[2 * (sizeof(struct wire_name) + 8)] = { 0 };
	struct wire_name name = { WIRE_NAME_MAGIC, 5, 107, 0, 9, 9, 3, FD_ROLE_FILE };

	memcpy(bytes, &name, sizeof(name));
	memcpy(bytes + sizeof(name), "later", 5);
	name.mono_ns = 102;
	name.name_bytes = 3;
	memcpy(bytes + sizeof(name) + 8, &name, sizeof(name));
	memcpy(bytes + 2 * sizeof(name) + 8, "now", 3);
	made_file(&dir, "kernel/names", bytes, sizeof(bytes));
	put_run(&dir, 0, 100, 2, 1);
	assert_int_equal(reads_as(&dir, "100.0:1 102:3=now 107:3=later 110.0:2 "), 0);
	made_file(&dir, "kernel/names", bytes, sizeof(bytes) - 9);
	assert_int_equal(reads_as(&dir, "100.0:1 107:3=later 110.0:2 "), 1);
	dir_unmade(&dir);
}

/* A trace of several hundred pages on three CPUs, with holes. */
static struct made_dir big_dir(uint32_t pages)
{
	struct made_dir dir = dir_made("");

	for (uint32_t i = 0; i < pages; i++) {
		struct made_page page = run_of(1000 + 300 * i, 20, i);

		put_run(&dir, 0, 1000 + 250 * i, 25, 1000 + i);
		if (i % 7 == 3)
			made_lost(&page, i);
		made_append(&dir, 1, &page, MADE_PAGE_BYTES);
		if (i % 5 == 0)
			put_run(&dir, 2, 2000 + 111 * i, 1, i);
	}
	return dir;
}

static void seeking_gives_the_rest_of_reading_through(void **unused)
{
	static const uint64_t times[] = { 0,	 1,	1000,  1001,  2250,   5000,
					  16900, 16901, 30000, 46000, 1000000 };
	struct made_dir dir = big_dir(150);
	struct trace *trace = opened(&dir);
	AUTO_FREE char *all = rest_of(trace);

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		const char *expected = all;
		AUTO_FREE char *rest = NULL;

		while (*expected && strtoull(expected, NULL, 10) < times[i])
			expected = strchr(expected, ' ') + 1;
		assert_int_equal(source_seek(trace_source(trace), times[i], NULL), 0);
		rest = rest_of(trace);
		assert_string_equal(rest, expected);
	}
	trace_close(trace);
	dir_unmade(&dir);
}

static void threads_change_nothing(void **unused)
{
	struct made_dir dir = big_dir(4000);
	AUTO_FREE char *alone = NULL;

	for (uint32_t threads = 0; threads < 4; threads++) {
		struct trace *trace = opened(&dir);
		AUTO_FREE char *text = NULL;

		trace_set_threads(trace, threads);
		text = rest_of(trace);
		if (!alone)
			alone = xstrdup(text);
		assert_true(strcmp(text, alone) == 0);
		assert_int_equal(source_seek(trace_source(trace), 0, NULL), 0);
		free(text);
		text = rest_of(trace);
		assert_true(strcmp(text, alone) == 0);
		trace_close(trace);
	}
	dir_unmade(&dir);
}

static void damage_is_noted_once_however_often_it_is_read(void **unused)
{
	struct made_dir dir = dir_made("");
	struct trace *trace;

	put_run(&dir, 0, 200, 2, 1);
	put_run(&dir, 0, 205, 2, 3);
	trace = opened(&dir);
	for (int i = 0; i < 3; i++) {
		free(rest_of(trace));
		assert_int_equal(source_seek(trace_source(trace), 0, NULL), 0);
	}
	assert_int_equal(trace_facts(trace)->damage_count, 1);
	trace_close(trace);
	dir_unmade(&dir);
}

static void closing_in_the_middle_is_fine(void **unused)
{
	struct made_dir dir = big_dir(4000);
	struct trace *trace = opened(&dir);
	const struct event *event;

	trace_set_threads(trace, 3);
	for (int i = 0; i < 150000; i++)
		(void)source_next(trace_source(trace), &event, NULL);
	trace_close(trace);
	dir_unmade(&dir);
}

static void events_are_found_by_expression(void **unused)
{
	struct made_dir dir = dir_made("");
	struct trace *trace;
	struct err err = { 0 };
	uint64_t ns = 0;

	put_run(&dir, 0, 100, 10, 1);
	put_run(&dir, 1, 105, 10, 1);
	trace = opened(&dir);
	assert_int_equal(trace_find_event(trace, "softirq_raise", false, 0, &ns, &err), 1);
	assert_int_equal(ns, 100);
	assert_int_equal(trace_find_event(trace, "softirq_raise", true, 0, &ns, &err), 1);
	assert_int_equal(ns, 195);
	assert_int_equal(trace_find_event(trace, "softirq_raise:vec == 4", false, 0, &ns, &err), 1);
	assert_int_equal(ns, 130);
	assert_int_equal(trace_find_event(trace, "irq/softirq_raise:vec == 4 || vec == 6", true, 0,
					  &ns, &err),
			 1);
	assert_int_equal(ns, 155);
	assert_int_equal(
		trace_find_event(trace, "irq:softirq_raise:vec > 3", false, 131, &ns, &err), 1);
	assert_int_equal(ns, 135);
	assert_int_equal(trace_find_event(trace, "irq:softirq_raise", false, 191, &ns, &err), 1);
	assert_int_equal(ns, 195);
	ns = 7;
	assert_int_equal(trace_find_event(trace, "softirq_raise:vec == 99", false, 0, &ns, &err),
			 0);
	assert_int_equal(ns, 7);
	assert_true(trace_find_event(trace, "no_such_event", false, 0, &ns, &err) < 0);
	assert_true(trace_find_event(trace, "softirq_raise:nothing == 1", false, 0, &ns, &err) < 0);
	assert_true(trace_find_event(trace, "", false, 0, &ns, &err) < 0);
	/* The source is at its first event again. */
	free(rest_of(trace));
	assert_int_equal(trace_find_event(trace, "softirq_raise", false, 0, &ns, &err), 1);
	{
		const struct event *event;

		assert_int_equal(source_next(trace_source(trace), &event, NULL), 1);
		assert_int_equal(event->time_ns, 100);
	}
	trace_close(trace);
	dir_unmade(&dir);
}

static void what_is_no_trace_is_refused(void **unused)
{
	struct made_dir dir = dir_made("");
	struct trace *trace;
	struct err err = { 0 };
	char path[128];

	assert_int_equal(read_open("/nonexistent", &trace, &err), -ENOENT);
	assert_int_equal(read_open("/etc/passwd", &trace, &err), -EBADMSG);
	assert_int_equal(read_open("/etc", &trace, &err), -EBADMSG);
	put_run(&dir, 0, 100, 10, 1);
	snprintf(path, sizeof(path), "%s/kernel/formats", dir.path);
	unlink(path);
	assert_int_equal(read_open(dir.path, &trace, &err), -EBADMSG);
	made_file(&dir, "trace.json", "{\"version\":4}", 13);
	assert_int_equal(read_open(dir.path, &trace, &err), -ENOTSUP);
	dir_unmade(&dir);
}

static void links_and_pipes_in_place_of_files_are_refused(void **unused)
{
	static const char *const names[] = { "cpu0.ring", "cpu1.ring",	"names",
					     "sync",	  "dump.jsonl", "kallsyms" };
	struct made_dir dir = dir_made("");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_FREE char *path = xasprintf("%s/kernel/%s", dir.path, names[i]);

		unlink(path);
		assert_int_equal(i % 2 ? symlink("/dev/zero", path) : mkfifo(path, 0600), 0);
	}
	put_run(&dir, 3, 100, 1, 1);
	assert_int_equal(reads_as(&dir, "100.0:lost(50,0) 100.1:lost(50,0) 100.3:1 "), 6);
	dir_unmade(&dir);
}

/* ------------------------------------------------------------------ growing */

/* The events of [from, until) of a trace that is open, as text behind what is there. */
static void put_window(FILE *out, struct trace *trace, uint64_t from_ns, uint64_t until_ns)
{
	const struct event *event;

	assert_int_equal(source_seek(trace_source(trace), from_ns, NULL), 0);
	while (source_next(trace_source(trace), &event, NULL) > 0 && event->time_ns < until_ns)
		fprintf(out, "%" PRIu64 ".%u:%d ", event->time_ns, event->cpu,
			event->type == EV_LOST ? -1 : event->irq.nr);
}

static void put_growing(FILE *out, const struct made_dir *dir, uint64_t from_ns, uint64_t until_ns)
{
	struct trace *trace = NULL;
	struct err err = { 0 };

	if (read_open_growing(dir->path, from_ns, until_ns, &trace, &err) < 0)
		fail_msg("%s", err.text);
	put_window(out, trace, from_ns, until_ns);
	trace_close(trace);
}

static void a_trace_that_grows_is_read_on_without_holes(void **unused)
{
	struct made_dir dir = dir_made(",\"complete\":false");
	struct made_page torn = run_of(90000, 3, 5);
	char *steps = NULL, *whole = NULL, path[128];
	size_t bytes;
	FILE *out = open_memstream(&steps, &bytes);
	struct trace *trace;
	uint64_t from_ns = 0;

	snprintf(path, sizeof(path), "%s/kernel/cpu0.ring", dir.path);
	for (uint32_t i = 0; i < 30; i++) {
		/* CPU 1 does nothing for long; a page of CPU 0 is half written each time. */
		put_run(&dir, 0, 1000 + 300 * i, 25, i);
		if (i % 10 == 0)
			put_run(&dir, 1, 1005 + 300 * i, 2, i);
		made_append(&dir, 0, &torn, 100);
		put_growing(out, &dir, from_ns, 1300 + 300 * i - 7);
		assert_int_equal(truncate(path, (off_t)(i + 1) * MADE_PAGE_BYTES), 0);
		from_ns = 1300 + 300 * i - 7;
	}
	fclose(out);
	/* Now it is known to be whole: no hole at its end, either. */
	made_manifest(&dir, "");
	trace = opened(&dir);
	out = open_memstream(&whole, &bytes);
	put_window(out, trace, 0, from_ns);
	fclose(out);
	trace_close(trace);
	assert_string_equal(steps, whole);
	free(steps);
	free(whole);
	dir_unmade(&dir);
}

#define NAMES 20000u

/* A name each millisecond, some written later than younger ones. */
static uint8_t *many_names(size_t *out_bytes)
{
	struct wire_name name = { WIRE_NAME_MAGIC, 8, 0, 0, 9, 9, 3, FD_ROLE_FILE };
	uint8_t *bytes = xcalloc(NAMES, sizeof(name) + 8);

	*out_bytes = NAMES * (sizeof(name) + 8);
	for (uint32_t i = 0; i < NAMES; i++) {
		uint8_t *at = bytes + i * (sizeof(name) + 8);

		name.mono_ns = (i ^ 5) * UINT64_C(1000000) + 1000;
		memcpy(at, &name, sizeof(name));
		snprintf((char *)at + sizeof(name), 8, "%u", i);
		at[sizeof(name) + 7] = '.';
	}
	return bytes;
}

static char *names_from(struct trace *trace, uint64_t from_ns)
{
	assert_int_equal(source_seek(trace_source(trace), from_ns, NULL), 0);
	return rest_of(trace);
}

static void the_end_of_many_names_is_enough(void **unused)
{
	static const uint64_t times[] = { 1, 2500001000, 9999999999, 17000000000, 19999001000 };
	struct made_dir dir = dir_made(",\"end_ns\":21000000000");
	size_t bytes;
	AUTO_FREE uint8_t *names = many_names(&bytes);

	put_run(&dir, 0, 100, 2, 1);
	made_file(&dir, "kernel/names", names, bytes);
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		struct trace *whole = opened(&dir), *end = NULL;
		char *expected = names_from(whole, times[i]), *got;

		assert_int_equal(read_open_growing(dir.path, times[i], UINT64_MAX / 2, &end, NULL),
				 0);
		got = names_from(end, times[i]);
		assert_string_equal(got, expected);
		assert_int_equal(trace_facts(end)->damage_count, 0);
		free(got);
		free(expected);
		trace_close(whole);
		trace_close(end);
	}
	dir_unmade(&dir);
}

static void names_behind_the_end_are_left_out(void **unused)
{
	struct made_dir dir = dir_made(",\"end_ns\":10000001000");
	size_t bytes;
	AUTO_FREE uint8_t *names = many_names(&bytes);
	struct trace *trace;
	char *last;

	put_run(&dir, 0, 100, 2, 1);
	made_file(&dir, "kernel/names", names, bytes);
	trace = opened(&dir);
	last = names_from(trace, 9999500000);
	assert_string_equal(last, "10000001000:3=10005 ");
	free(last);
	trace_close(trace);
	dir_unmade(&dir);
}

/* As fallocate() with a hole would leave it; tmpfs and others differ in what they can. */
static void without_beginning(const struct made_dir *dir, const char *file, off_t bytes)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir->path, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes) < 0)
		skip();
	close(fd);
}

static void what_is_left_of_a_file_without_beginning_is_read(void **unused)
{
	struct made_dir dir = dir_made(""), same = dir_made("");
	const uint32_t pages = 3000, gone = 2500 / 8 * 8;
	const uint64_t from_ns = 1000 + 300 * UINT64_C(2700);
	char *left = NULL, *whole = NULL;
	size_t bytes;
	struct trace *trace;
	FILE *out;

	for (uint32_t i = 0; i < pages; i++) {
		put_run(&dir, 0, 1000 + 300 * i, 20, i % 100);
		put_run(&same, 0, 1000 + 300 * i, 20, i % 100);
	}
	without_beginning(&dir, "kernel/cpu0.ring", (off_t)gone * MADE_PAGE_BYTES);
	out = open_memstream(&left, &bytes);
	put_growing(out, &dir, from_ns, UINT64_MAX / 2);
	fclose(out);
	trace = opened(&same);
	out = open_memstream(&whole, &bytes);
	put_window(out, trace, from_ns, UINT64_MAX / 2);
	fclose(out);
	trace_close(trace);
	assert_string_equal(left, whole);
	free(left);
	trace = opened(&dir);
	left = rest_of(trace);
	assert_non_null(strstr(left, "lost"));
	assert_true(strlen(left) > strlen(whole));
	trace_close(trace);
	free(left);
	free(whole);
	dir_unmade(&dir);
	dir_unmade(&same);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_that_grows_is_read_on_without_holes),
		cmocka_unit_test(the_end_of_many_names_is_enough),
		cmocka_unit_test(names_behind_the_end_are_left_out),
		cmocka_unit_test(what_is_left_of_a_file_without_beginning_is_read),
		cmocka_unit_test(cpus_are_merged_by_time),
		cmocka_unit_test(a_trace_without_events_is_empty),
		cmocka_unit_test(facts_come_from_the_manifest),
		cmocka_unit_test(functions_of_the_kernel_are_named_before_places_are_compared),
		cmocka_unit_test(a_flagged_page_is_a_hole_before_it),
		cmocka_unit_test(a_hole_before_all_events_begins_with_the_recording),
		cmocka_unit_test(losses_that_no_page_tells_come_at_the_end),
		cmocka_unit_test(a_damaged_page_costs_only_itself),
		cmocka_unit_test(what_is_good_of_a_page_is_kept),
		cmocka_unit_test(a_turned_bit_in_a_page_time_moves_nothing_else),
		cmocka_unit_test(an_event_later_than_the_next_page_is_damage),
		cmocka_unit_test(time_that_goes_back_a_little_is_held_and_noted),
		cmocka_unit_test(a_torn_page_is_noted_and_is_a_hole),
		cmocka_unit_test(a_file_that_is_shorter_than_recorded_is_a_hole),
		cmocka_unit_test(holes_of_zeros_are_stepped_over),
		cmocka_unit_test(names_are_merged_by_their_time),
		cmocka_unit_test(seeking_gives_the_rest_of_reading_through),
		cmocka_unit_test(threads_change_nothing),
		cmocka_unit_test(damage_is_noted_once_however_often_it_is_read),
		cmocka_unit_test(closing_in_the_middle_is_fine),
		cmocka_unit_test(events_are_found_by_expression),
		cmocka_unit_test(what_is_no_trace_is_refused),
		cmocka_unit_test(links_and_pipes_in_place_of_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
