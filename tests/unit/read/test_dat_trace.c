/* test_dat_trace.c - files of trace-cmd, made by hand: all variants, clocks, holes, damage. */
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
#include "event/stacks.h"
#include "read/dat_maker.h"
#include "read/read.h"

/* Pages of two CPUs: events at 100, 110, 400 of CPU 0, at 105 and 300 of CPU 1. */
struct made_pages {
	struct made_page cpu0[3];
	struct made_page cpu1[1];
};

static struct made_pages pages_of(const struct dat_made *made)
{
	struct made_pages pages;

	pages.cpu0[0] = page_made(100, made->long_bytes, made->big_endian);
	made_event(&pages.cpu0[0], 0, 7, 11, 1);
	made_event(&pages.cpu0[0], 10, 7, 11, 2);
	pages.cpu0[1] = page_made(390, made->long_bytes, made->big_endian);
	made_event(&pages.cpu0[1], 10, 7, 12, 3);
	pages.cpu0[2] = page_made(500, made->long_bytes, made->big_endian);
	made_event(&pages.cpu0[2], 0, 7, 12, 4);
	pages.cpu1[0] = page_made(105, made->long_bytes, made->big_endian);
	made_event(&pages.cpu1[0], 0, 7, 13, 5);
	made_event(&pages.cpu1[0], 195, 7, 13, 6);
	return pages;
}

#define USUAL "100.0:1 105.1:5 110.0:2 300.1:6 400.0:3 500.0:4 "

static void set_top(struct dat_made *made, const struct made_pages *pages)
{
	made->instances[0] = (struct dat_made_instance){
		.name = "",
		.page_bytes = MADE_PAGE_BYTES,
		.cpus = { { 0, pages->cpu0, 3 }, { 1, pages->cpu1, 1 } },
		.cpu_count = 2,
	};
	made->instance_count = 1;
}

static struct dat_made usual(void)
{
	return (struct dat_made){ .version = 7, .long_bytes = 8, .zip = "none" };
}

/* A file in a folder of its own. */
static struct made_dir file_made(const void *bytes, size_t count)
{
	struct made_dir dir = { "/tmp/holdup-dat-XXXXXX" };

	if (!mkdtemp(dir.path))
		abort();
	made_file(&dir, "trace.dat", bytes, count);
	return dir;
}

static int open_bytes(const void *bytes, size_t count, struct trace **out_trace, struct err *err)
{
	struct made_dir dir = file_made(bytes, count);
	AUTO_FREE char *path = xasprintf("%s/trace.dat", dir.path);
	int rc;

	*out_trace = NULL;
	rc = read_open(path, out_trace, err);
	/* The descriptor stays open. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir.path), 0);
	return rc;
}

static struct trace *opened(struct dat_made *made)
{
	struct dat_bytes bytes = dat_make(made);
	struct trace *trace;
	struct err err = { 0 };

	if (open_bytes(bytes.data, bytes.count, &trace, &err) < 0)
		fail_msg("%s", err.text);
	free(bytes.data);
	return trace;
}

/* The rest of the events as text: "TIME.CPU:VEC ", "TIME.CPU:lost(SINCE,COUNT) ". */
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
		else if (event->type == EV_OTHER)
			fprintf(out, "%" PRIu64 ".%u:%s ", event->time_ns, event->cpu,
				event->other.name);
		else
			fprintf(out, "%" PRIu64 ".%u:%d ", event->time_ns, event->cpu,
				event->irq.nr);
	}
	fclose(out);
	return text;
}

/* Open, read all, compare; returns how many notes of damage there were. */
static size_t reads_as(struct dat_made *made, const char *expected)
{
	struct trace *trace = opened(made);
	AUTO_FREE char *text = rest_of(trace);
	size_t damage = trace_facts(trace)->damage_count;

	if (damage && strcmp(expected, text) != 0)
		print_message("damage: %s\n", trace_facts(trace)->damage[0]);
	assert_string_equal(text, expected);
	trace_close(trace);
	return damage;
}

/* ------------------------------------------------------------------ variants */

/* Or it is not opened at all. Nothing tells of the titles of sections, where just they are missing. */
static void a_file_that_is_cut_anywhere_is_not_called_whole(void **unused)
{
	static const char *const zips[] = { NULL, "none", "zlib", "zstd" };

	for (size_t i = 0; i < ARRAY_LEN(zips); i++) {
		struct dat_made made = { .version = zips[i] ? 7 : 6,
					 .zip = zips[i],
					 .long_bytes = 8 };
		struct made_pages pages = pages_of(&made);
		struct dat_bytes bytes;
		int whole = 0;

		set_top(&made, &pages);
		dat_option(&made.options, 9, "trace-cmd 3.1.6 of a long name", 31);
		bytes = dat_make(&made);
		for (size_t cut = bytes.count > 4096 ? bytes.count - 4096 : 0; cut < bytes.count;
		     cut++) {
			struct trace *trace;
			struct err err = { 0 };

			if (open_bytes(bytes.data, cut, &trace, &err) < 0)
				continue;
			whole += trace_facts(trace)->complete || !trace_facts(trace)->damage_count;
			if (whole > (made.version == 7))
				fail_msg("%s cut at byte %zu of %zu is called whole",
					 zips[i] ? zips[i] : "version 6", cut, bytes.count);
			trace_close(trace);
		}
		free(bytes.data);
	}
}

static void every_variant_gives_the_same_events(void **unused)
{
	static const char *const zips[] = { NULL, "none", "zlib", "zstd" };

	for (int i = 0; i < 16; i++) {
		struct dat_made made = {
			.version = zips[i / 4] ? 7 : 6,
			.zip = zips[i / 4],
			.big_endian = i & 1,
			.long_bytes = i & 2 ? 8 : 4,
		};
		struct made_pages pages = pages_of(&made);

		set_top(&made, &pages);
		assert_int_equal(reads_as(&made, USUAL), 0);
	}
}

static void instances_are_merged_and_named(void **unused)
{
	static const char *const zips[] = { NULL, "none", "zstd" };

	for (int i = 0; i < 3; i++) {
		struct dat_made made = { .version = zips[i] ? 7 : 6,
					 .zip = zips[i],
					 .long_bytes = 8 };
		struct made_page other = page_made(200, 8, false);
		struct made_pages pages = pages_of(&made);
		struct trace_record record;
		const struct event *event;
		struct trace *trace;
		size_t named = 0, count = 0;

		made_event(&other, 0, 7, 14, 9);
		set_top(&made, &pages);
		made.instances[1] = (struct dat_made_instance){
			.name = "foo",
			.page_bytes = zips[i] ? 2 * MADE_PAGE_BYTES : MADE_PAGE_BYTES,
			.cpus = { { 1, &other, 1 } },
			.cpu_count = 1,
		};
		made.instance_count = 2;
		trace = opened(&made);
		trace_keep_records(trace, true);
		assert_int_equal(source_seek(trace_source(trace), 0, NULL), 0);
		while (source_next(trace_source(trace), &event, NULL) > 0) {
			uint64_t ns;

			assert_true(trace_record(trace, &record));
			assert_int_equal(
				trace_find_place(trace, event->cpu, record.place, &ns, NULL), 0);
			assert_int_equal(ns, event->time_ns);
			assert_true(!record.origin == (event->time_ns != 200));
			if (record.origin)
				assert_string_equal(record.origin, "foo");
			named += record.origin != NULL;
			count++;
		}
		assert_int_equal(named, 1);
		assert_int_equal(count, 7);
		trace_close(trace);
	}
}

/* The top one tells of softirqs: those of another one are its echo, and only listed. */
static void what_two_instances_tell_happened_once(void **unused)
{
	struct dat_made made = usual();
	struct made_page other = page_made(106, 8, false);
	struct made_pages pages = pages_of(&made);

	made_event(&other, 0, 7, 13, 5);
	set_top(&made, &pages);
	made.instances[1] = (struct dat_made_instance){ .name = "foo",
							.page_bytes = MADE_PAGE_BYTES,
							.cpus = { { 1, &other, 1 } },
							.cpu_count = 1 };
	made.instance_count = 2;
	assert_int_equal(reads_as(&made, "100.0:1 105.1:5 106.1:softirq_raise 110.0:2 300.1:6 "
					 "400.0:3 500.0:4 "),
			 0);
}

static void a_seek_leaves_out_what_is_before(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);
	struct trace *trace;
	AUTO_FREE char *text = NULL;

	made.zip = "zstd";
	set_top(&made, &pages);
	trace = opened(&made);
	assert_int_equal(source_seek(trace_source(trace), 300, NULL), 0);
	text = rest_of(trace);
	assert_string_equal(text, "300.1:6 400.0:3 500.0:4 ");
	trace_close(trace);
}

/* -------------------------------------------------------------------- clocks */

static void put_offset(struct dat_made *made, const char *text)
{
	dat_option(&made->options, 7, text, strlen(text) + 1);
}

static void an_offset_is_added(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);

	set_top(&made, &pages);
	put_offset(&made, "1000");
	assert_int_equal(reads_as(&made, "1100.0:1 1105.1:5 1110.0:2 1300.1:6 1400.0:3 1500.0:4 "),
			 0);
	set_top(&made, &pages);
	put_offset(&made, "-90");
	assert_int_equal(reads_as(&made, "10.0:1 15.1:5 20.0:2 210.1:6 310.0:3 410.0:4 "), 0);
}

static void a_counter_becomes_nanoseconds(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);
	struct dat_bytes tsc = { 0 };

	/* 3 / 4 */
	dat_num(&tsc, 3, 4);
	dat_num(&tsc, 2, 4);
	dat_num(&tsc, 0, 8);
	set_top(&made, &pages);
	dat_option(&made.options, 14, tsc.data, tsc.count);
	free(tsc.data);
	assert_int_equal(reads_as(&made, "75.0:1 78.1:5 82.0:2 225.1:6 300.0:3 375.0:4 "), 0);
}

/* CPU 0 is late by 1000 at 100 and by 1100 at 500; CPU 1 always by 2000. */
static void put_time_shift(struct dat_made *made, uint32_t flags)
{
	struct dat_bytes to = { 0 };

	dat_num(&to, 1, 8);
	dat_num(&to, flags, 4);
	dat_num(&to, 2, 4);
	dat_num(&to, 2, 4);
	dat_num(&to, 100, 8);
	dat_num(&to, 500, 8);
	dat_num(&to, 1000, 8);
	dat_num(&to, 1100, 8);
	dat_num(&to, 1, 8);
	dat_num(&to, 1, 8);
	dat_num(&to, 1, 4);
	dat_num(&to, 0, 8);
	dat_num(&to, 2000, 8);
	dat_num(&to, 1, 8);
	dat_option(&made->options, 12, to.data, to.count);
	free(to.data);
}

static void a_guest_has_the_time_of_its_host(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);

	set_top(&made, &pages);
	put_time_shift(&made, 1);
	assert_int_equal(reads_as(&made, "1100.0:1 1112.0:2 1475.0:3 1600.0:4 2105.1:5 2300.1:6 "),
			 0);
	set_top(&made, &pages);
	put_time_shift(&made, 0);
	/* As trace-cmd does it: behind the last sample the one before it holds. */
	assert_int_equal(reads_as(&made, "1100.0:1 1110.0:2 1400.0:3 1500.0:4 2105.1:5 2300.1:6 "),
			 0);
}

static void the_time_of_day_is_a_fact(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);
	struct trace *trace;

	set_top(&made, &pages);
	dat_option(&made.options, 1, "0x10", 5);
	trace = opened(&made);
	assert_int_equal(trace_facts(trace)->realtime_offset_ns, 16000);
	trace_close(trace);
}

/* --------------------------------------------------------------------- facts */

static void facts_come_from_options_and_texts(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);
	const struct facts *facts;
	struct trace *trace;

	set_top(&made, &pages);
	made.symbols = "ffff000000000100 T second\nffff000000000000 t first\t[mod]\n"
		       "ffff000000000200 d data\n0000000000000000 T none\n";
	made.printk = "0xffff000000001000 : \"n=%d\\n\"\nnonsense\n";
	made.names = "11 one\n12 two words\n";
	dat_option(&made.options, 5, "Linux host 6.1.0 x86_64", 24);
	trace = opened(&made);
	facts = trace_facts(trace);
	assert_string_equal(facts->host, "host");
	assert_string_equal(facts->kernel, "6.1.0");
	assert_string_equal(facts->arch, "x86_64");
	assert_int_equal(facts->symbol_count, 2);
	assert_string_equal(facts_symbol(facts, 0xffff000000000010), "first");
	assert_string_equal(facts_symbol(facts, 0xffff000000000110), "second");
	assert_string_equal(facts_printk(facts, 0xffff000000001000), "n=%d\n");
	assert_null(facts_printk(facts, 0xffff000000001001));
	assert_int_equal(facts->comm_count, 2);
	assert_string_equal(facts->comms[1].name, "two words");
	assert_int_equal(facts->thread_count, 0);
	assert_int_equal(facts->first_ns, 100);
	assert_int_equal(facts->last_ns, 500);
	trace_close(trace);
}

static void lost_events_are_events(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);
	static const char stats[] = "CPU: 0\nentries: 0\noverrun: 6\ndropped events: 2\n"
				    "read events: 4\n";
	struct trace *trace;
	AUTO_FREE char *text = NULL;

	made_lost(&pages.cpu0[1], 6);
	set_top(&made, &pages);
	dat_option(&made.options, 2, stats, sizeof(stats));
	trace = opened(&made);
	text = rest_of(trace);
	assert_string_equal(text, "100.0:1 105.1:5 110.0:2 300.1:6 400.0:lost(110,6) 400.0:3 "
				  "500.0:4 500.0:lost(500,2) ");
	assert_int_equal(trace_facts(trace)->cpus[0].lost, 8);
	assert_int_equal(trace_facts(trace)->cpus[0].events, 4);
	trace_close(trace);
}

/* What the kernel had still in its buffer as it counted was written after that. */
static void recorded_are_the_events_that_were_read_and_those_that_waited(void **unused)
{
	static const char *const stats[] = {
		"CPU: 0\nentries: 3\noverrun: 0\nread events: 1\n",
		"CPU: 0\nentries: 3\noverrun: 0\n", /* old kernels do not say how many were read */
		"CPU: 0\nread events: 4\n",
	};
	static const uint64_t recorded[] = { 4, 0, 0 };

	for (size_t i = 0; i < 2 * ARRAY_LEN(stats); i++) {
		struct dat_made made = usual();
		struct made_pages pages = pages_of(&made);
		struct trace *trace;

		set_top(&made, &pages);
		if (i >= ARRAY_LEN(stats)) { /* another instance, of which nothing is told */
			made.instances[1] = made.instances[0];
			made.instances[1].name = "other";
			made.instance_count = 2;
		}
		dat_option(&made.options, 2, stats[i % 3], strlen(stats[i % 3]) + 1);
		trace = opened(&made);
		assert_int_equal(trace_facts(trace)->cpus[0].events, i < 3 ? recorded[i] : 0);
		assert_int_equal(trace_facts(trace)->cpus[1].events, 0);
		trace_close(trace);
	}
}

/* -------------------------------------------------------------------- damage */

/* Opens or not, reads to the end, and does not say nothing. */
static void survives(const uint8_t *bytes, size_t count)
{
	struct trace *trace;
	struct err err = { 0 };

	if (open_bytes(bytes, count, &trace, &err) < 0) {
		assert_true(err.text[0] != '\0');
		return;
	}
	free(rest_of(trace));
	trace_close(trace);
}

static void a_file_cut_anywhere_is_read_as_far_as_it_goes(void **unused)
{
	static const char *const zips[] = { NULL, "none", "zstd" };

	for (int i = 0; i < 3; i++) {
		struct dat_made made = { .version = zips[i] ? 7 : 6,
					 .zip = zips[i],
					 .long_bytes = 8 };
		struct made_pages pages = pages_of(&made);
		struct dat_bytes bytes;

		set_top(&made, &pages);
		bytes = dat_make(&made);
		for (size_t cut = 0; cut < bytes.count; cut += 11)
			survives(bytes.data, cut);
		free(bytes.data);
	}
}

static void what_a_cut_took_is_said(void **unused)
{
	struct dat_made made = { .version = 6, .long_bytes = 8 };
	struct made_pages pages = pages_of(&made);
	struct dat_bytes bytes;
	struct trace *trace;
	AUTO_FREE char *text = NULL;

	made.instances[0] = (struct dat_made_instance){ .name = "",
							.page_bytes = MADE_PAGE_BYTES,
							.cpus = { { 0, pages.cpu0, 3 } },
							.cpu_count = 1 };
	made.instance_count = 1;
	bytes = dat_make(&made);
	assert_int_equal(open_bytes(bytes.data, bytes.count - 100, &trace, NULL), 0);
	free(bytes.data);
	text = rest_of(trace);
	assert_string_equal(text, "100.0:1 110.0:2 400.0:3 400.0:lost(400,0) ");
	assert_non_null(strstr(trace_facts(trace)->damage[0], "CPU 0"));
	trace_close(trace);
}

static void turned_bytes_do_no_harm(void **unused)
{
	static const char *const zips[] = { NULL, "none", "zlib", "zstd" };

	for (int i = 0; i < 4; i++) {
		struct dat_made made = { .version = zips[i] ? 7 : 6,
					 .zip = zips[i],
					 .long_bytes = 8 };
		struct made_pages pages = pages_of(&made);
		struct dat_bytes bytes;

		set_top(&made, &pages);
		bytes = dat_make(&made);
		for (size_t at = 10; at < bytes.count; at += 7) {
			uint8_t was = bytes.data[at];

			bytes.data[at] = at & 1 ? 0xff : (uint8_t)(was ^ 0x41);
			survives(bytes.data, bytes.count);
			bytes.data[at] = was;
		}
		free(bytes.data);
	}
}

static void options_that_lead_back_are_refused(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);
	struct dat_bytes bytes;
	struct trace *trace;
	struct err err = { 0 };
	uint64_t place = 0;

	set_top(&made, &pages);
	bytes = dat_make(&made);
	/* Behind the first section of options, which ends with its link, are the titles: 24 bytes. */
	for (int i = 0; i < 8; i++)
		place |= (uint64_t)bytes.data[10 + 2 + 6 + 5 + 2 + i] << (8 * i);
	dat_at(&bytes, bytes.count - 24 - 8, place, 8);
	assert_int_equal(open_bytes(bytes.data, bytes.count, &trace, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "lead back"));
	free(bytes.data);
}

static void a_chunk_that_would_fill_the_memory_is_left_out(void **unused)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);

	made.zip = "zstd";
	made.chunk_lies = true;
	set_top(&made, &pages);
	assert_true(reads_as(&made, "") > 0);
}

static void data_that_overlaps_is_read_once(void **unused)
{
	struct dat_made made = { .version = 6, .long_bytes = 8 };
	struct made_pages pages = pages_of(&made);
	struct dat_bytes bytes;
	struct trace *trace;
	AUTO_FREE char *text = NULL;
	uint8_t *mark;
	size_t table;

	set_top(&made, &pages);
	bytes = dat_make(&made);
	mark = memmem(bytes.data, bytes.count, "flyrecord", 10);
	assert_non_null(mark);
	table = (size_t)(mark - bytes.data) + 10;
	memcpy(bytes.data + table + 16, bytes.data + table, 16);
	assert_int_equal(open_bytes(bytes.data, bytes.count, &trace, NULL), 0);
	free(bytes.data);
	text = rest_of(trace);
	assert_string_equal(text, "100.0:1 110.0:2 400.0:3 500.0:4 ");
	assert_non_null(strstr(trace_facts(trace)->damage[0], "overlaps"));
	trace_close(trace);
}

/* What the head says, and the error that it gives. */
static void refuses(size_t at, uint8_t value, int code)
{
	struct dat_made made = usual();
	struct made_pages pages = pages_of(&made);
	struct dat_bytes bytes;
	struct trace *trace;
	struct err err = { 0 };

	set_top(&made, &pages);
	bytes = dat_make(&made);
	bytes.data[at] = value;
	assert_int_equal(open_bytes(bytes.data, bytes.count, &trace, &err), code);
	free(bytes.data);
}

static void what_is_not_known_is_refused(void **unused)
{
	refuses(3, 'x', -EBADMSG);  /* no file of trace-cmd */
	refuses(10, '8', -ENOTSUP); /* version */
	refuses(12, 2, -EBADMSG);   /* byte order */
	refuses(13, 5, -EBADMSG);   /* bytes of a long */
	refuses(18, 'l', -ENOTSUP); /* compression "lone" */
}

/* ------------------------------------------------------------------ stacks */

#define SWITCH                                                                  \
	MADE_FORMAT("sched_switch", "8",                                        \
		    "\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n"  \
		    "\tfield:pid_t next_pid;\toffset:12;\tsize:4;\tsigned:1;\n" \
		    "\tfield:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n")
#define STACK                                                            \
	MADE_FORMAT("kernel_stack", "9",                                 \
		    "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n" \
		    "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n")

static void made_head(struct made_page *page, uint32_t delta, uint32_t words, uint16_t id,
		      int32_t tid)
{
	made_word(page, words, delta);
	made_body(page, id, 4);
	made_body(page, (uint32_t)tid, 4);
}

static void made_switch(struct made_page *page, uint32_t delta, int32_t prev, int32_t next)
{
	made_head(page, delta, 6, 8, prev);
	made_body(page, (uint32_t)prev, 4);
	made_body(page, (uint32_t)next, 4);
	made_body(page, 1, 8);
}

static void made_stack(struct made_page *page, uint32_t delta, int32_t tid, uint64_t address)
{
	made_head(page, delta, 6, 9, tid);
	made_body(page, 1, 8);
	made_body(page, address, 8);
}

/* 7 sleeps from 100 on; another instance has an event of the same CPU before the stack is written. */
static void a_stack_is_of_the_event_before_it_in_its_instance(void **unused)
{
	for (int between = 0; between < 2; between++) {
		struct made_page one = page_made(100, 8, false), two = page_made(110, 8, false);
		struct dat_made made = usual();
		const struct stacks *stacks;
		struct trace *trace;

		made_switch(&one, 0, 7, 8);
		if (between)
			made_event(&one, 5, 7, 7, 1);
		made_stack(&one, 20, 7, 0x1010);
		made_switch(&one, 100, 8, 7);
		made_event(&two, 0, 7, 8, 2);
		made.instances[0] = (struct dat_made_instance){ .page_bytes = MADE_PAGE_BYTES,
								.name = "",
								.cpus = { { 0, &one, 1 } },
								.cpu_count = 1 };
		made.instances[1] = made.instances[0];
		made.instances[1].name = "other";
		made.instances[1].cpus[0].pages = &two;
		made.instance_count = 2;
		made.formats[0] = STACK;
		made.formats[1] = SWITCH;
		made.symbols = "1000 T do_wait\n2000 T end\n";
		trace = opened(&made);
		stacks = trace_facts(trace)->stacks;
		if (between) {
			assert_null(stacks);
		} else {
			assert_int_equal(stacks->wait_count, 1);
			assert_int_equal(stacks->waits[0].tid, 7);
			assert_int_equal(stacks->waits[0].begin_ns, 100);
			assert_int_equal(stacks->waits[0].end_ns, 220);
			assert_string_equal(stacks_frame(stacks, 0, 0)->function, "do_wait");
			assert_int_equal(stacks->stacks[0].place, 0);
		}
		trace_close(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_cut_anywhere_is_not_called_whole),
		cmocka_unit_test(every_variant_gives_the_same_events),
		cmocka_unit_test(instances_are_merged_and_named),
		cmocka_unit_test(what_two_instances_tell_happened_once),
		cmocka_unit_test(a_stack_is_of_the_event_before_it_in_its_instance),
		cmocka_unit_test(a_seek_leaves_out_what_is_before),
		cmocka_unit_test(an_offset_is_added),
		cmocka_unit_test(a_counter_becomes_nanoseconds),
		cmocka_unit_test(a_guest_has_the_time_of_its_host),
		cmocka_unit_test(the_time_of_day_is_a_fact),
		cmocka_unit_test(facts_come_from_options_and_texts),
		cmocka_unit_test(lost_events_are_events),
		cmocka_unit_test(recorded_are_the_events_that_were_read_and_those_that_waited),
		cmocka_unit_test(a_file_cut_anywhere_is_read_as_far_as_it_goes),
		cmocka_unit_test(what_a_cut_took_is_said),
		cmocka_unit_test(turned_bytes_do_no_harm),
		cmocka_unit_test(options_that_lead_back_are_refused),
		cmocka_unit_test(a_chunk_that_would_fill_the_memory_is_left_out),
		cmocka_unit_test(data_that_overlaps_is_read_once),
		cmocka_unit_test(what_is_not_known_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
