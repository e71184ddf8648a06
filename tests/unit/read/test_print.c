/*
 * test_print.c - print formats: each conversion with an answer known by hand, recordings
 * against the kernel's own text, and records of any content against libtraceevent.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event-parse.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fields/print.h"
#include "read/read.h"
#include "store/formats.h"

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* A record with one field of each kind. */
#define FIELDS                                                              \
	"\tfield:int i;\toffset:8;\tsize:4;\tsigned:1;\n"                   \
	"\tfield:unsigned int u;\toffset:12;\tsize:4;\tsigned:0;\n"         \
	"\tfield:long l;\toffset:16;\tsize:8;\tsigned:1;\n"                 \
	"\tfield:u64 q;\toffset:24;\tsize:8;\tsigned:0;\n"                  \
	"\tfield:short h;\toffset:32;\tsize:2;\tsigned:1;\n"                \
	"\tfield:unsigned char b;\toffset:34;\tsize:1;\tsigned:0;\n"        \
	"\tfield:char c;\toffset:35;\tsize:1;\tsigned:1;\n"                 \
	"\tfield:char comm[16];\toffset:36;\tsize:16;\tsigned:0;\n"         \
	"\tfield:__data_loc char[] s;\toffset:52;\tsize:4;\tsigned:0;\n"    \
	"\tfield:u8 a[16];\toffset:56;\tsize:16;\tsigned:0;\n"              \
	"\tfield:__data_loc u32[] d;\toffset:72;\tsize:4;\tsigned:0;\n"     \
	"\tfield:void * p;\toffset:76;\tsize:8;\tsigned:0;\n"               \
	"\tfield:unsigned long args[3];\toffset:84;\tsize:24;\tsigned:0;\n" \
	"\tfield:__rel_loc char[] r;\toffset:108;\tsize:4;\tsigned:0;\n\n"

static const struct {
	int32_t i;
	uint32_t u;
	int64_t l;
	uint64_t q;
} values = { -5, 4000000000u, -6000000000, UINT64_C(18000000000000000000) };

/* The record that goes with FIELDS. */
static struct trace_record make_record(uint8_t *bytes, uint32_t size)
{
	static const uint8_t address[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
	const uint32_t where_s = 6u << 16 | 112, where_d = 8u << 16 | 120;
	const uint32_t where_r = 4u << 16 | 16; /* counted from the end of the field: 128 */
	const uint32_t d[2] = { 7, 0xabcdef };
	const uint64_t pointer = UINT64_C(0xffff888012345678), args[3] = { 0, 10, 0xff };
	const int16_t h = -2;

	memset(bytes, 0, size);
	bytes[0] = 9;
	memcpy(bytes + 8, &values.i, 4);
	memcpy(bytes + 12, &values.u, 4);
	memcpy(bytes + 16, &values.l, 8);
	memcpy(bytes + 24, &values.q, 8);
	memcpy(bytes + 32, &h, 2);
	bytes[34] = 200;
	bytes[35] = 'x';
	memcpy(bytes + 36, "kworker/0:1", 12);
	memcpy(bytes + 52, &where_s, 4);
	memcpy(bytes + 56, address, 16);
	memcpy(bytes + 72, &where_d, 4);
	memcpy(bytes + 76, &pointer, 8);
	memcpy(bytes + 84, args, 24);
	memcpy(bytes + 108, &where_r, 4);
	memcpy(bytes + 112, "hello", 6);
	memcpy(bytes + 120, d, 8);
	memcpy(bytes + 128, "rel", 4);
	return (struct trace_record){ bytes, 132, 0 };
}

static struct fact_symbol symbols[] = {
	{ UINT64_C(0xffffffff81000000), "start_here" },
	{ UINT64_C(0xffffffff81000100), "do_it" },
	{ UINT64_C(0xffffffff81000100), "do_it_alias" },
	{ UINT64_C(0xffffffff81000200), "the_end" },
};
static const struct facts facts = { .symbols = symbols, .symbol_count = ARRAY_LEN(symbols) };

/* The format file of an event with this print format. Free it. */
static char *format_of(const char *fmt)
{
	return xasprintf("name: e\nID: 9\nformat:\n" COMMON FIELDS "print fmt: %s\n", fmt);
}

/* A printer of that one event. */
static struct printer *printer_of(const char *fmt)
{
	AUTO_FREE char *text = format_of(fmt);
	struct format_section section = { (char *)"sys/e", text, strlen(text) };
	struct formats formats = { &section, 1, 1 };
	struct print_setup setup = { &formats, &facts, false, 8 };

	return printer_new(&setup);
}

/* What 'fmt' makes of the record; why it cannot, in parentheses. */
static void expect(const char *fmt, const char *expected)
{
	struct printer *printer = printer_of(fmt);
	struct print_memory *memory = print_memory_new(printer);
	const struct print_event *event = printer_event(printer, 9);
	_Alignas(8) uint8_t bytes[192];
	struct trace_record record = make_record(bytes, sizeof(bytes));
	struct outbuf out;

	outbuf_to_memory(&out);
	if (event->why_not)
		fail_msg("%s: %s", fmt, event->why_not);
	for (int again = 0; again < 2; again++) { /* the second time, texts may be kept */
		outbuf_reset(&out);
		print_text(printer, memory, event, &record, &out);
		outbuf_char(&out, '\0');
		assert_string_equal(out.start, expected);
	}
	outbuf_fini(&out);
	print_memory_free(memory);
	printer_free(printer);
}

static void numbers_are_printed_as_c_does(void **unused)
{
	expect("\"i=%d u=%u l=%ld q=%llu\", REC->i, REC->u, REC->l, REC->q",
	       "i=-5 u=4000000000 l=-6000000000 q=18000000000000000000");
	expect("\"%x %lx %llX %o %#x %#o\", REC->i, REC->l, REC->q, REC->b, REC->b, REC->b",
	       "fffffffb fffffffe9a5f4400 F9CCD8A1C5080000 310 0xc8 0310");
	expect("\"%5d|%-5d|%05d|%+d|% d\", REC->i, REC->i, REC->i, REC->b, REC->b",
	       "   -5|-5   |-0005|+200| 200");
	expect("\"%02x %3u %.4d %8.3d\", REC->b, REC->b, REC->i, REC->i", "c8 200 -0005     -005");
	expect("\"%hd %hu %hhd %hhu %c\", REC->h, REC->h, REC->b, REC->b, REC->c",
	       "-2 65534 -56 200 x");
	expect("\"%d %ld %u\", REC->h, (long)REC->h, REC->h", "-2 -2 4294967294");
	expect("\"%zu %zx %ju %Lu\", REC->q, REC->q, REC->q, REC->q",
	       "18000000000000000000 f9ccd8a1c5080000 18000000000000000000 18000000000000000000");
	expect("\"100%% of %d%%\", REC->b", "100% of 200%");
}

static void expressions_follow_the_types_of_c(void **unused)
{
	expect("\"%d %d %d\", REC->i / 2, REC->i % 2, REC->i >> 1", "-2 -1 -3");
	expect("\"%u %u\", REC->u / 2, REC->u >> 1", "2000000000 2000000000");
	expect("\"%d %d\", REC->i < 0, REC->u < 0", "1 0");
	expect("\"%d\", REC->i < REC->u", "0"); /* compared as unsigned */
	expect("\"%ld\", REC->i + REC->l", "-6000000005");
	expect("\"%d,%d\", ((unsigned int) ((REC->u) >> 20)), ((unsigned int) ((REC->u) & "
	       "((1U << 20) - 1)))",
	       "3814,731136");
	expect("\"%d %d %d\", !REC->i, ~REC->i, -REC->i", "0 4 5");
	expect("\"%s %s\", REC->i ? \"yes\" : \"no\", REC->b == 200 && REC->h ? \"y\" : \"n\"",
	       "yes y");
	expect("\"%d %u\", (u8)REC->u, (unsigned short)REC->i", "0 65531");
	expect("\"%d\", REC->i / 0", "0");
	expect("\"%d %lu\", (int)sizeof(u64), sizeof(REC->comm)", "8 16");
	expect("\"%lx %lu\", REC->args[2], REC->args[1]", "ff 10");
	expect("\"%d\", ({ int x = (REC->b); int y = (128); x < y ? x : y; })", "128");
	expect("\"%d %d\", 'a', 1 ? 2 : 3", "97 2");
	expect("\"%llu\", (((u64)(REC)->u << 32) | (REC)->b)", "17179869184000000200");
}

static void texts_come_from_where_the_record_says(void **unused)
{
	expect("\"%s|%s|%s\", REC->comm, __get_str(s), __get_rel_str(r)", "kworker/0:1|hello|rel");
	expect("\"%8s|%-8s|%.3s|%.*s\", __get_str(s), __get_str(s), __get_str(s), 2, __get_str(s)",
	       "   hello|hello   |hel|he");
	expect("\"%s\", (char *)REC->comm", "kworker/0:1");
	expect("\"%s\", REC->p", "ffff888012345678");
	expect("\"%s\", ((void *)0)", "(null)");
	expect("\"a\\nb\\t%d\\n\", REC->b", "a b 200");
}

static void names_of_values_are_found(void **unused)
{
	expect("\"%s\", __print_symbolic(REC->b, { 100, \"C\" }, { 200, \"CC\" })", "CC");
	expect("\"%s\", __print_symbolic(REC->b, { 1, \"A\" })", "0xc8");
	expect("\"%s\", __print_symbolic(REC->i, { -5, \"minus five\" })", "minus five");
	expect("\"%s\", __print_flags(REC->b, \"|\", { 0x80, \"HIGH\" }, { 0x08, \"EIGHT\" })",
	       "HIGH|EIGHT|0x40");
	expect("\"%s\", __print_flags(REC->b, \"|\", { 0xc8, \"ALL\" }, { 0x08, \"EIGHT\" })",
	       "ALL");
	expect("\"%s\", __print_flags(REC->b & 0, \"|\", { 1, \"A\" })", "");
	expect("\"[%s]\", __print_flags(REC->b, \"\", { 1 << 7, \"a\" \"b\" }, { 0, 0 })",
	       "[ab0x48]");
	expect("\"%s\", __print_symbolic(REC->b, { SOME_ENUM, \"X\" })", "0xc8");
	expect("\"%-6s|\", __print_symbolic(REC->b, { 200, \"CC\" })", "CC    |");
}

static void bytes_and_arrays_are_printed(void **unused)
{
	expect("\"%s\", __print_hex(REC->a, 4)", "20 01 0d b8");
	expect("\"%s\", __print_hex_str(REC->a, 4)", "20010db8");
	expect("\"%s\", __print_hex(REC->a, 400)",
	       "20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01");
	expect("\"%s\", __print_array(__get_dynamic_array(d), "
	       "__get_dynamic_array_len(d) / sizeof(u32), sizeof(u32))",
	       "{0x7,0xabcdef}");
	expect("\"%d\", __get_dynamic_array_len(d)", "8");
	expect("\"%02x:%02x\", REC->a[0], REC->a[3]", "20:b8");
}

static void pointers_and_addresses_are_printed(void **unused)
{
	expect("\"%p %p\", REC->p, (void *)REC->args[0]", "0xffff888012345678 (nil)");
	expect("\"%px\", REC->p", "ffff888012345678");
	expect("\"%pI6c %pI6 %pI4\", REC->a, REC->a, REC->a",
	       "2001:db8::1 2001:0db8:0000:0000:0000:0000:0000:0001 32.1.13.184");
	expect("\"%pM %pm\", REC->a, REC->a", "20:01:0d:b8:00:00 20010db80000");
	expect("\"%pU %pUl\", REC->a, REC->a",
	       "20010db8-0000-0000-0000-000000000001 b80d0120-0000-0000-0000-000000000001");
	expect("\"%pI4\", REC->comm", "107.119.111.114");
	expect("\"%*pbl\", 16, REC->a", "5,8");
	expect("\"%*ph\", 3, __get_dynamic_array(d)", "07 00 00");
}

static void functions_have_names(void **unused)
{
	static const struct {
		const char *address;
		const char *expected;
	} cases[] = {
		{ "0xffffffff81000100", "do_it do_it+0x0" },
		{ "0xffffffff8100011a", "do_it do_it+0x1a" },
		{ "0x7f0000001000", "0x7f0000001000 0x7f0000001000" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *fmt = xasprintf("\"%%ps %%pS\", (void *)(REC->args[1] * 0 + %s), "
						"(void *)(REC->args[1] * 0 + %s)",
						cases[i].address, cases[i].address);

		expect(fmt, cases[i].expected);
	}
}

static void what_could_harm_a_terminal_is_escaped(void **unused)
{
	struct printer *printer = printer_of("\"%s|\", REC->comm");
	struct print_memory *memory = print_memory_new(printer);
	uint8_t bytes[192];
	struct trace_record record = make_record(bytes, sizeof(bytes));
	struct outbuf out;

	memcpy(bytes + 36, "a\x1b[2J\xff\xc3\xa9z\0", 10);
	outbuf_to_memory(&out);
	print_text(printer, memory, printer_event(printer, 9), &record, &out);
	outbuf_char(&out, '\0');
	assert_string_equal(out.start, "a\\x1b[2J\\xff\xc3\xa9z|");
	outbuf_fini(&out);
	print_memory_free(memory);
	printer_free(printer);
}

static void a_format_that_is_not_understood_gives_names_and_values(void **unused)
{
	static const char *const formats[] = {
		"\"%s\", some_function(REC->i)",
		"\"%d\", REC->nothing_like_it",
		"\"%d %d\", REC->i",
		"\"%d\", REC->i, REC->u",
		"\"%y\", REC->i",
		"\"%d",
		"REC->i",
		"\"%d\", REC->p->x",
		"\"%d\", *REC->p",
		"\"%d\", (((((",
		"\"%s\", __print_flags(REC->i, \"|\", { 1, \"A\" }",
		"\"%d\", REC->i ? 1",
		"\"%d\", 1 +",
		"",
	};
	uint8_t bytes[192];
	struct trace_record record = make_record(bytes, sizeof(bytes));
	struct outbuf out;

	outbuf_to_memory(&out);
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		struct printer *printer = printer_of(formats[i]);
		struct print_memory *memory = print_memory_new(printer);

		assert_non_null(printer_event(printer, 9)->why_not);
		outbuf_reset(&out);
		print_text(printer, memory, printer_event(printer, 9), &record, &out);
		outbuf_char(&out, '\0');
		assert_string_equal(
			out.start,
			"i=-5 u=4000000000 l=-6000000000 q=18000000000000000000 h=-2 b=200 c=120 "
			"comm=kworker/0:1 s=hello "
			"a={0x20,0x1,0xd,0xb8,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x0,0x1} "
			"d={0x7,0xabcdef} p=0xffff888012345678 args={0x0,0xa,0xff} r=rel");
		print_memory_free(memory);
		printer_free(printer);
	}
	outbuf_fini(&out);
}

static void formats_that_would_take_for_ever_are_refused(void **unused)
{
	AUTO_FREE char *deep = xcalloc(1, 100000), *wide = xcalloc(1, 200100),
		       *twice = xcalloc(1, 4000);
	struct printer *printer;
	size_t at;

	memset(deep, '(', 90000);
	memcpy(deep, "\"%d\", ", 6);
	printer = printer_of(deep);
	assert_non_null(printer_event(printer, 9)->why_not);
	printer_free(printer);

	at = (size_t)sprintf(wide, "\"%%d\", REC->i");
	while (at < 200000)
		at += (size_t)sprintf(wide + at, "+REC->i");
	printer = printer_of(wide);
	assert_non_null(printer_event(printer, 9)->why_not);
	printer_free(printer);

	/* Each variable is twice the one before. */
	at = (size_t)sprintf(twice, "\"%%d\", ({ int a0 = (REC->i);");
	for (int i = 1; i < 15; i++)
		at += (size_t)sprintf(twice + at, " int a%d = (a%d + a%d);", i, i - 1, i - 1);
	sprintf(twice + at, " a14; })");
	printer = printer_of(twice);
	assert_non_null(printer_event(printer, 9)->why_not);
	printer_free(printer);
}

static void a_record_cut_anywhere_is_no_accident(void **unused)
{
	static const char *const formats[] = {
		"\"%s %s %s\", REC->comm, __get_str(s), __print_hex(__get_dynamic_array(d), 100)",
		"\"%pI6c %pISpc %d\", REC->a, REC->a, REC->args[2]",
		"\"%s\", some_function()",
		"\"%s\", __print_symbolic(REC->args[2], { 1, \"x\" })",
	};
	uint8_t whole[192];
	uint32_t bytes = make_record(whole, sizeof(whole)).bytes;
	struct outbuf out;

	outbuf_to_memory(&out);
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		struct printer *printer = printer_of(formats[i]);
		struct print_memory *memory = print_memory_new(printer);
		const struct print_event *event = printer_event(printer, 9);

		for (uint32_t cut = 8; cut <= bytes; cut++) {
			/* A block of its own, so that a sanitizer sees what is read too far. */
			AUTO_FREE uint8_t *copy = xmalloc(cut);
			struct trace_record record = { copy, cut, 0 };

			memcpy(copy, whole, cut);
			outbuf_reset(&out);
			print_text(printer, memory, event, &record, &out);
			print_plain(printer, event, &record, &out);
			for (uint32_t f = 0; f < event->field_count; f++) {
				print_field_text(printer, &event->fields[f], &record, &out);
				print_field_json(printer, &event->fields[f], &record, &out);
			}
		}
		print_memory_free(memory);
		printer_free(printer);
	}
	outbuf_fini(&out);
}

static void fields_have_words(void **unused)
{
	struct printer *printer = printer_of(
		"\"%d state=%s%s\", REC->b, REC->b & 8 ? \"S\" : \"R\", REC->u ? \"+\" : \"\"");
	const struct print_event *event = printer_event(printer, 9);
	uint8_t bytes[192];
	struct trace_record record = make_record(bytes, sizeof(bytes));
	struct outbuf out;

	outbuf_to_memory(&out);
	assert_true(print_field_has_words(event, print_event_field(event, "b")));
	assert_false(print_field_has_words(event, print_event_field(event, "i")));
	assert_true(
		print_field_words(printer, event, print_event_field(event, "b"), &record, &out));
	outbuf_char(&out, '\0');
	assert_string_equal(out.start, "S");
	outbuf_fini(&out);
	printer_free(printer);
}

/* ------------------------------------------------------------- the kernel's own text */

struct recording {
	struct trace *trace;
	struct printer *printer;
	struct print_memory *memory;
};

static struct recording open_recording(const char *name)
{
	AUTO_FREE char *dir = xasprintf("%s/data/read/%s", getenv("HOLDUP_TESTS"), name);
	struct recording recording = { 0 };
	struct trace_meaning meaning;
	struct print_setup setup;
	struct err err = { 0 };

	if (read_open(dir, &recording.trace, &err) < 0)
		fail_msg("%s", err.text);
	trace_keep_records(recording.trace, true);
	assert_int_equal(source_seek(trace_source(recording.trace), 0, &err), 0);
	assert_true(trace_meaning(recording.trace, &meaning));
	setup = (struct print_setup){ meaning.formats, trace_facts(recording.trace),
				      meaning.big_endian, meaning.long_bytes };
	recording.printer = printer_new(&setup);
	recording.memory = print_memory_new(recording.printer);
	return recording;
}

static void close_recording(struct recording *recording)
{
	print_memory_free(recording->memory);
	printer_free(recording->printer);
	trace_close(recording->trace);
}

/* "  sh-14220   [001] d..2.  5715.137: sched_waking: comm=sh ...": what follows "[001] ". */
static char *next_line(FILE *file, unsigned int cpu, char *text, size_t bytes)
{
	while (fgets(text, (int)bytes, file)) {
		char *bracket = strstr(text, " [00");

		if (text[0] == '#' || !bracket || (unsigned int)atoi(bracket + 2) != cpu)
			continue;
		text[strcspn(text, "\n")] = '\0';
		return bracket + 7;
	}
	return NULL;
}

static size_t compare_with_kernel(const char *name)
{
	AUTO_FREE char *path =
		xasprintf("%s/data/read/%s/kernel.txt", getenv("HOLDUP_TESTS"), name);
	struct recording recording = open_recording(name);
	FILE *files[2] = { fopen(path, "r"), fopen(path, "r") };
	char text[1024], flags[6] = "", ours[1100];
	const struct event *event;
	struct trace_record record;
	struct err err = { 0 };
	struct outbuf out;
	size_t count = 0;

	outbuf_to_memory(&out);
	while (source_next(trace_source(recording.trace), &event, &err) > 0) {
		const struct print_event *kind;
		const char *line = next_line(files[event->cpu], event->cpu, text, sizeof(text));

		assert_non_null(line);
		assert_true(trace_record(recording.trace, &record));
		kind = printer_event_of(recording.printer, &record);
		print_flags(recording.printer, kind, &record, flags);
		outbuf_reset(&out);
		print_text(recording.printer, recording.memory, kind, &record, &out);
		outbuf_char(&out, '\0');
		snprintf(ours, sizeof(ours), "%s: %s", kind->name, out.start);
		assert_memory_equal(line, flags, 5);
		assert_string_equal(strstr(line, ": ") + 2, ours);
		count++;
	}
	for (int cpu = 0; cpu < 2; cpu++)
		fclose(files[cpu]);
	outbuf_fini(&out);
	close_recording(&recording);
	return count;
}

static void the_text_of_every_recorded_event_is_the_kernels(void **unused)
{
	assert_int_equal(compare_with_kernel("mono-4k"), 1170);
	assert_int_equal(compare_with_kernel("tsc-64k"), 1158);
}

static void a_place_leads_back_to_its_record(void **unused)
{
	struct recording recording = open_recording("mono-4k");
	const struct event *event;
	struct trace_record record;
	struct err err = { 0 };
	uint64_t ns;

	for (int i = 0; i < 200; i++) {
		assert_int_equal(source_next(trace_source(recording.trace), &event, &err), 1);
		assert_true(trace_record(recording.trace, &record));
		assert_int_equal(
			trace_find_place(recording.trace, event->cpu, record.place, &ns, &err), 0);
		assert_int_equal(ns, event->time_ns);
	}
	assert_int_equal(trace_find_place(recording.trace, 0, 3, &ns, &err), -ENOENT);
	assert_int_equal(trace_find_place(recording.trace, 0, UINT64_C(1) << 60, &ns, &err),
			 -ENOENT);
	assert_int_equal(trace_find_place(recording.trace, 77, 0, &ns, &err), -ENOENT);
	close_recording(&recording);
}

/* --------------------------------------------------------------------- libtraceevent */

static uint64_t random_state = 1;

static uint32_t any(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below;
}

/* A record of the event with values of any size, and printable texts. */
static uint32_t random_record(const struct print_event *event, uint8_t *bytes)
{
	memset(bytes, 0, 512);
	for (uint32_t i = event->common_count; i < event->field_count; i++) {
		const struct print_field *field = &event->fields[i];
		uint32_t small = any(3);

		for (uint32_t b = 0; b < field->bytes; b++) {
			if (field->is_text)
				bytes[field->offset + b] = b + 1 < field->bytes && b < 12
								   ? (uint8_t)('a' + any(26))
								   : 0;
			else if (small == 0 || b == 0)
				bytes[field->offset + b] = (uint8_t)(any(small == 1 ? 16 : 256));
		}
		if (field->is_array && field->bytes == 4 && field->count == 1) { /* located */
			uint32_t where = 8u << 16 | (event->need_bytes + 8);

			memcpy(bytes + field->offset, &where, 4);
			memcpy(bytes + event->need_bytes + 8, "located", 8);
		}
	}
	memcpy(bytes, &event->id, 2);
	return event->need_bytes + 16;
}

static void compare_with_library(struct recording *recording, struct tep_handle *tep,
				 const struct print_event *kind)
{
	struct tep_event *event = tep_find_event(tep, (int)kind->id);
	uint8_t bytes[600];
	struct outbuf out;
	struct trace_seq seq;

	assert_non_null(event);
	outbuf_to_memory(&out);
	trace_seq_init(&seq);
	for (int i = 0; i < 500; i++) {
		struct trace_record record = { bytes, random_record(kind, bytes), 0 };
		struct tep_record other = { .data = bytes, .size = (int)record.bytes };

		outbuf_reset(&out);
		print_text(recording->printer, recording->memory, kind, &record, &out);
		outbuf_char(&out, '\0');
		trace_seq_reset(&seq);
		tep_print_event(tep, &seq, &other, "%s", TEP_PRINT_INFO);
		trace_seq_terminate(&seq);
		assert_string_equal(out.start, seq.buffer);
	}
	trace_seq_destroy(&seq);
	outbuf_fini(&out);
}

/* Events of which the library says less than the kernel: names of an enum it cannot see. */
static void any_record_is_printed_as_libtraceevent_does(void **unused)
{
	struct recording recording = open_recording("mono-4k");
	struct tep_handle *tep = tep_alloc();
	const struct print_event *kind = NULL;
	struct trace_meaning meaning;
	size_t count = 0;

	assert_true(trace_meaning(recording.trace, &meaning));
	tep_set_long_size(tep, 8);
	for (size_t i = 0; i < meaning.formats->count; i++) {
		const struct format_section *section = &meaning.formats->sections[i];

		if (strchr(section->name, '/'))
			assert_int_equal(tep_parse_event(tep, section->text, section->bytes, "x"),
					 0);
	}
	while ((kind = printer_next(recording.printer, kind))) {
		assert_null(kind->why_not);
		compare_with_library(&recording, tep, kind);
		count++;
	}
	assert_true(count >= 15);
	tep_free(tep);
	close_recording(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_printed_as_c_does),
		cmocka_unit_test(expressions_follow_the_types_of_c),
		cmocka_unit_test(texts_come_from_where_the_record_says),
		cmocka_unit_test(names_of_values_are_found),
		cmocka_unit_test(bytes_and_arrays_are_printed),
		cmocka_unit_test(pointers_and_addresses_are_printed),
		cmocka_unit_test(functions_have_names),
		cmocka_unit_test(what_could_harm_a_terminal_is_escaped),
		cmocka_unit_test(a_format_that_is_not_understood_gives_names_and_values),
		cmocka_unit_test(formats_that_would_take_for_ever_are_refused),
		cmocka_unit_test(a_record_cut_anywhere_is_no_accident),
		cmocka_unit_test(fields_have_words),
		cmocka_unit_test(the_text_of_every_recorded_event_is_the_kernels),
		cmocka_unit_test(a_place_leads_back_to_its_record),
		cmocka_unit_test(any_record_is_printed_as_libtraceevent_does),
	};

	return getenv("HOLDUP_TESTS") ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
