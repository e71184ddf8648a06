/* test_ctf_dir.c - traces of CTF, written bit by bit, as events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "ctf_maker.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fields/find.h"
#include "fields/print.h"
#include "read/read.h"

#define INTEGERS                                                                            \
	"typealias integer { size = 3; } := u3; typealias integer { size = 5; } := u5;"     \
	"typealias integer { size = 8; } := u8; typealias integer { size = 16; } := u16;"   \
	"typealias integer { size = 32; } := u32; typealias integer { size = 64; } := u64;" \
	"typealias integer { size = 16; map = clock.c.value; } := t16;"                     \
	"typealias integer { size = 64; map = clock.c.value; } := t64;\n"
#define CLOCK "clock { name = c; freq = 1000000000; offset = 5000000000; };\n"
#define PACKETS                                                                       \
	"stream { packet.context := struct { u32 content_size; u32 packet_size; t64 " \
	"timestamp_begin; u16 cpu_id; u16 events_discarded; u16 packet_seq_num; };"   \
	" event.header := struct { u8 id; t16 timestamp; }; };\n"
#define EVENTS                                                                                    \
	"event { name = one; id = 0; fields := struct { u8 a; u3 b; u5 c; string s; }; };\n"      \
	"event { name = \"p:two\"; id = 7; fields := struct { u8 n; u16 list[n]; enum : u8 { X, " \
	"Y = 5 ... 9 } e; variant <e> { string X; u32 Y; } v; floating_point { exp_dig = 8; "     \
	"mant_dig = 24; } f; }; };\n"

static char *metadata(bool big_endian)
{
	return xasprintf("/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = %s; };\n%s",
			 big_endian ? "be" : "le", INTEGERS CLOCK PACKETS EVENTS);
}

struct packet {
	uint64_t begin;
	uint16_t cpu, discarded, number;
};

static uint64_t begin_packet(struct ctf_bits *bits, const struct packet *packet)
{
	uint64_t start = bits->at;

	ctf_put(bits, 0, 32);
	ctf_put(bits, 0, 32);
	ctf_put(bits, packet->begin, 64);
	ctf_put(bits, packet->cpu, 16);
	ctf_put(bits, packet->discarded, 16);
	ctf_put(bits, packet->number, 16);
	return start;
}

/* Sizes are known at the end; 'padding' bytes follow the content. */
static void end_packet(struct ctf_bits *bits, uint64_t start, uint64_t padding)
{
	uint64_t end = bits->at, content = end - start;

	bits->at = start;
	ctf_put(bits, content, 32);
	ctf_put(bits, content + padding * 8, 32);
	bits->at = end + padding * 8;
}

static void put_one(struct ctf_bits *bits, uint16_t time, const char *text)
{
	ctf_put(bits, 0, 8);
	ctf_put(bits, time, 16);
	ctf_put(bits, 200, 8);
	ctf_put(bits, 5, 3);
	ctf_put(bits, 17, 5);
	ctf_put_text(bits, text);
}

static void put_two(struct ctf_bits *bits, uint16_t time)
{
	ctf_put(bits, 7, 8);
	ctf_put(bits, time, 16);
	ctf_put(bits, 2, 8);
	ctf_put(bits, 1000, 16);
	ctf_put(bits, 65535, 16);
	ctf_put(bits, 7, 8);
	ctf_put(bits, 123456, 32);
	ctf_put(bits, 0x3fc00000, 32); /* 1.5 */
}

static struct trace *opened(const struct ctf_made *made)
{
	struct trace *trace = NULL;
	struct err err = { 0 };

	if (read_open(made->path, &trace, &err) < 0)
		fail_msg("%s", err.text);
	return trace;
}

static void expect(struct trace *trace, uint8_t type, uint64_t time_ns, uint16_t cpu)
{
	const struct event *event;
	struct err err = { 0 };

	assert_int_equal(source_next(trace_source(trace), &event, &err), 1);
	assert_int_equal(event->type, type);
	assert_int_equal(event->time_ns, time_ns);
	assert_int_equal(event->cpu, cpu);
}

static void expect_end(struct trace *trace)
{
	const struct event *event;
	struct err err = { 0 };

	assert_int_equal(source_next(trace_source(trace), &event, &err), 0);
}

static void expect_text(struct trace *trace, const char *text)
{
	struct trace_meaning meaning;
	struct trace_record record;
	struct print_setup setup;
	struct printer *printer;
	struct print_memory *memory;
	struct outbuf out;

	assert_true(trace_meaning(trace, &meaning));
	assert_true(trace_record(trace, &record));
	setup = (struct print_setup){ meaning.formats, trace_facts(trace), meaning.big_endian,
				      meaning.long_bytes };
	printer = printer_new(&setup);
	memory = print_memory_new(printer);
	outbuf_to_memory(&out);
	print_text(printer, memory, printer_event_of(printer, &record), &record, &out);
	outbuf_char(&out, '\0');
	assert_string_equal(out.start, text);
	outbuf_fini(&out);
	print_memory_free(memory);
	printer_free(printer);
}

/* The same trace in both byte orders; the clock has 16 bits and wraps. */
static void write_trace(struct ctf_made *made, bool big_endian)
{
	AUTO_FREE char *text = metadata(big_endian);
	struct ctf_bits *bits = xcalloc(1, sizeof(*bits));
	uint64_t start;

	bits->big_endian = big_endian;
	ctf_make(made, text);
	start = begin_packet(bits, &(struct packet){ 0x1fff0, 3, 0, 0 });
	put_one(bits, 0xfff1, "hello");
	put_two(bits, 0x0002);
	end_packet(bits, start, 9);
	start = begin_packet(bits, &(struct packet){ 0x30000, 3, 4, 1 });
	put_one(bits, 0x0001, "");
	end_packet(bits, start, 0);
	ctf_make_file(made, "stream", bits->bytes, bits->at / 8);
	free(bits);
}

static void both_byte_orders_give_the_same_events(void **unused)
{
	for (int big_endian = 0; big_endian < 2; big_endian++) {
		struct ctf_made made;
		struct trace *trace;
		struct err err = { 0 };

		write_trace(&made, big_endian);
		trace = opened(&made);
		assert_int_equal(trace_facts(trace)->damage_count, 0);
		assert_int_equal(trace_facts(trace)->realtime_offset_ns, 5000000000);
		assert_int_equal(trace_facts(trace)->first_ns, 0x1fff1);
		assert_int_equal(trace_facts(trace)->last_ns, 0x30001);
		for (int records = 0; records < 2; records++) {
			expect(trace, EV_OTHER, 0x1fff1, 3);
			if (records)
				expect_text(trace, "a=200 b=5 c=17 s=hello");
			expect(trace, EV_OTHER, 0x20002, 3);
			if (records)
				expect_text(trace,
					    "n=2 list={0x3e8,0xffff} e=Y v={ Y = 123456 } f=1.5");
			expect(trace, EV_LOST, 0x30001, 3);
			expect(trace, EV_OTHER, 0x30001, 3);
			if (records)
				expect_text(trace, "a=200 b=5 c=17 s=");
			expect_end(trace);
			trace_keep_records(trace, true);
			assert_int_equal(source_seek(trace_source(trace), 0, &err), 0);
		}
		trace_close(trace);
		ctf_unmake(&made);
	}
}

static void dropped_events_are_a_hole_before_the_packet_that_counts_them(void **unused)
{
	const struct event *event;
	struct ctf_made made;
	struct trace *trace;
	struct err err = { 0 };

	write_trace(&made, false);
	trace = opened(&made);
	for (int i = 0; i < 3; i++)
		assert_int_equal(source_next(trace_source(trace), &event, &err), 1);
	assert_int_equal(event->type, EV_LOST);
	assert_int_equal(event->lost.count, 4);
	assert_int_equal(event->lost.since_ns, 0x20002);
	assert_int_equal(trace_facts(trace)->cpus[3].lost, 4);
	trace_close(trace);
	ctf_unmake(&made);
}

static void packets_are_read_in_order_of_time_and_gaps_are_holes(void **unused)
{
	AUTO_FREE char *text = metadata(false);
	struct ctf_bits *bits = xcalloc(1, sizeof(*bits));
	struct ctf_made made;
	struct trace *trace;
	uint64_t start;

	ctf_make(&made, text);
	start = begin_packet(bits, &(struct packet){ 3000, 1, 0, 5 });
	put_one(bits, 3001, "later");
	end_packet(bits, start, 0);
	start = begin_packet(bits, &(struct packet){ 1000, 1, 0, 2 });
	put_one(bits, 1001, "first");
	end_packet(bits, start, 0);
	start = begin_packet(bits, &(struct packet){ 2000, 1, 0, 3 }); /* an empty one */
	end_packet(bits, start, 100);
	ctf_make_file(&made, "stream", bits->bytes, bits->at / 8);
	trace = opened(&made);
	expect(trace, EV_OTHER, 1001, 1);
	expect(trace, EV_LOST, 3001, 1);
	expect(trace, EV_OTHER, 3001, 1);
	expect_end(trace);
	assert_int_equal(trace_facts(trace)->damage_count, 0);
	trace_close(trace);
	ctf_unmake(&made);
	free(bits);
}

static void a_seek_finds_the_first_event_at_or_after_the_time(void **unused)
{
	AUTO_FREE char *text = metadata(false);
	struct ctf_bits *bits = xcalloc(1, sizeof(*bits));
	struct ctf_made made;
	struct trace *trace;
	struct err err = { 0 };

	ctf_make(&made, text);
	for (uint16_t i = 0; i < 50; i++) {
		uint64_t start = begin_packet(bits, &(struct packet){ (uint64_t)i * 100,
								      (uint16_t)0, 0, i });

		for (uint16_t n = 1; n < 5; n++)
			put_one(bits, (uint16_t)(i * 100 + n * 10), "x");
		end_packet(bits, start, 3);
	}
	ctf_make_file(&made, "stream", bits->bytes, bits->at / 8);
	trace = opened(&made);
	for (uint64_t time_ns = 0; time_ns < 4940; time_ns += 7) {
		uint64_t within = time_ns % 100, next = time_ns - within;

		/* Events stand at 10, 20, 30 and 40 of each 100. */
		next += within <= 10 ? 10 : within > 40 ? 110 : (within + 9) / 10 * 10;
		assert_int_equal(source_seek(trace_source(trace), time_ns, &err), 0);
		expect(trace, EV_OTHER, next, 0);
	}
	trace_close(trace);
	ctf_unmake(&made);
	free(bits);
}

static void an_event_finds_the_time_of_a_filter(void **unused)
{
	struct ctf_made made;
	struct trace *trace;
	struct err err = { 0 };
	uint64_t ns = 0;

	write_trace(&made, true);
	trace = opened(&made);
	assert_int_equal(trace_find_event(trace, "two", false, 0, &ns, &err), 1);
	assert_int_equal(ns, 0x20002);
	assert_int_equal(trace_find_event(trace, "one: a == 200", true, 0, &ns, &err), 1);
	assert_int_equal(ns, 0x30001);
	assert_int_equal(trace_find_event(trace, "one: a == 201", true, 0, &ns, &err), 0);
	assert_int_equal(trace_find_event(trace, "one: a == -1", true, 0, &ns, &err), 0);
	assert_int_equal(trace_find_event(trace, "one and not a < 200", false, 0, &ns, &err), 1);
	assert_int_equal(ns, 0x1fff1);
	trace_close(trace);
	ctf_unmake(&made);
}

static void a_place_leads_back_to_its_event(void **unused)
{
	struct trace_record record;
	const struct event *event;
	struct ctf_made made;
	struct trace *trace;
	struct err err = { 0 };
	uint64_t ns = 0;

	write_trace(&made, false);
	trace = opened(&made);
	trace_keep_records(trace, true);
	assert_int_equal(source_seek(trace_source(trace), 0, &err), 0);
	while (source_next(trace_source(trace), &event, &err) > 0) {
		if (!trace_record(trace, &record))
			continue;
		assert_int_equal(trace_find_place(trace, 3, record.place, &ns, &err), 0);
		assert_int_equal(ns, event->time_ns);
		assert_int_equal(trace_find_place(trace, 3, record.place + 1, &ns, &err), -ENOENT);
	}
	trace_close(trace);
	ctf_unmake(&made);
}

static void files_of_one_stream_are_one(void **unused)
{
	static const char text[] =
		"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size "
		"= 32; } magic; integer { size = 8; } stream_instance_id; }; };\n" INTEGERS CLOCK
		"stream { packet.context := struct { u32 content_size; u32 packet_size; t64 "
		"timestamp_begin; }; event.header := struct { t16 timestamp; }; event.context := struct "
		"{ integer { size = 32; signed = true; } tid; }; };\n"
		"event { name = e; fields := struct { u8 a; }; };\n";
	static const uint64_t begins[] = { 300, 100, 200 };
	static const char *const names[] = { "stream", "second", "third" };
	struct ctf_made made;
	struct trace *trace;
	struct err err = { 0 };
	const struct event *event;

	ctf_make(&made, text);
	for (int i = 0; i < 3; i++) {
		struct ctf_bits *bits = xcalloc(1, sizeof(*bits));

		ctf_put(bits, 0xc1fc1fc1, 32);
		ctf_put(bits, 9, 8);
		ctf_put(bits, 8 * (5 + 16 + 7), 32);
		ctf_put(bits, 8 * 64, 32);
		ctf_put(bits, begins[i], 64);
		ctf_put(bits, begins[i] + 1, 16);
		ctf_put(bits, (uint64_t)-2 + (uint64_t)i * 100, 32);
		ctf_put(bits, 1, 8);
		ctf_make_file(&made, names[i], bits->bytes, 64);
		free(bits);
	}
	trace = opened(&made);
	assert_int_equal(trace_facts(trace)->cpu_count, 1);
	for (uint64_t time_ns = 101; time_ns < 400; time_ns += 100) {
		assert_int_equal(source_next(trace_source(trace), &event, &err), 1);
		assert_int_equal(event->time_ns, time_ns);
		assert_int_equal(event->tid, time_ns == 301 ? -2 : (int32_t)time_ns - 3);
	}
	expect_end(trace);
	trace_close(trace);
	ctf_unmake(&made);
}

/* Cut after any byte, and with any bit turned: what is left is read, and it ends. */
static void damaged_streams_do_no_harm(void **unused)
{
	struct ctf_made made;
	uint8_t good[4096], bad[4096];
	char path[128];
	size_t bytes;
	FILE *in;

	write_trace(&made, false);
	snprintf(path, sizeof(path), "%s/stream", made.path);
	in = fopen(path, "re");
	assert_non_null(in);
	bytes = fread(good, 1, sizeof(good), in);
	fclose(in);
	for (size_t i = 0; i < bytes * 9; i++) {
		size_t cut = i < bytes ? i : bytes;
		const struct event *event;
		struct trace *trace;
		struct err err = { 0 };
		uint64_t last_ns = 0, count = 0;

		memcpy(bad, good, bytes);
		if (i >= bytes)
			bad[(i - bytes) / 8] ^= (uint8_t)(1 << (i - bytes) % 8);
		ctf_make_file(&made, "stream", bad, cut);
		if (read_open(made.path, &trace, &err) < 0)
			continue;
		trace_keep_records(trace, true);
		assert_int_equal(source_seek(trace_source(trace), 0, &err), 0);
		while (source_next(trace_source(trace), &event, &err) > 0) {
			assert_true(event->time_ns >= last_ns);
			last_ns = event->time_ns;
			assert_true(++count < 1000);
		}
		trace_close(trace);
	}
	ctf_unmake(&made);
}

static void damage_says_where_it_is(void **unused)
{
	AUTO_FREE char *text = metadata(false);
	struct ctf_bits *bits = xcalloc(1, sizeof(*bits));
	struct ctf_made made;
	struct trace *trace;
	uint64_t start;

	ctf_make(&made, text);
	start = begin_packet(bits, &(struct packet){ 100, 0, 0, 0 });
	put_one(bits, 101, "good");
	ctf_put(bits, 99, 8); /* an id that nobody declared */
	ctf_put(bits, 102, 16);
	end_packet(bits, start, 0);
	start = begin_packet(bits, &(struct packet){ 200, 0, 0, 1 });
	put_one(bits, 201, "good again");
	end_packet(bits, start, 0);
	ctf_make_file(&made, "stream", bits->bytes, bits->at / 8);
	trace = opened(&made);
	expect(trace, EV_OTHER, 101, 0);
	expect(trace, EV_LOST, 201, 0);
	expect(trace, EV_OTHER, 201, 0);
	expect_end(trace);
	assert_int_equal(trace_facts(trace)->damage_count, 1);
	assert_non_null(strstr(trace_facts(trace)->damage[0], "no event with its id"));
	trace_close(trace);
	ctf_unmake(&made);
	free(bits);
}

/* The fields before and behind it are not. */
static void a_text_too_long_for_a_record_is_cut(void **unused)
{
	const size_t cut = 65535 - 1 - (8 + 4 * 8);
	AUTO_FREE char *text = metadata(false), *shown = NULL;
	struct ctf_bits *bits = xcalloc(1, sizeof(*bits));
	char *long_text = xcalloc(65501, 1);
	struct ctf_made made;
	struct trace *trace;
	uint64_t start;

	ctf_make(&made, text);
	memset(long_text, 'x', 65500);
	start = begin_packet(bits, &(struct packet){ 0, 0, 0, 0 });
	put_one(bits, 1, long_text);
	end_packet(bits, start, 0);
	ctf_make_file(&made, "stream", bits->bytes, bits->at / 8);
	trace = opened(&made);
	trace_keep_records(trace, true);
	long_text[cut] = '\0';
	shown = xasprintf("a=200 b=5 c=17 s=%s", long_text);
	expect(trace, EV_OTHER, 1, 0);
	expect_text(trace, shown);
	trace_close(trace);
	ctf_unmake(&made);
	free(long_text);
	free(bits);
}

/* In JSON a number is a number; text has the base, the bits of the number, and words. */
static void a_signed_number_of_base_16_is_negative_in_json(void **unused)
{
	static const uint8_t bytes[] = { 0x88, 0x88, 8 };
	struct trace_meaning meaning;
	struct trace_record record;
	const struct print_event *event;
	struct print_setup setup;
	struct print_memory *memory;
	struct printer *printer;
	struct outbuf out;
	struct ctf_made made;
	struct trace *trace;

	ctf_make(&made, "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };"
			"event { name = e; fields := struct {"
			" integer { size = 8; signed = true; base = 16; } x;"
			" integer { size = 8; base = 16; } y;"
			" enum : integer { size = 8; } { X, \"a b\" = 7 ... 9 } z; }; };");
	ctf_make_file(&made, "stream", bytes, sizeof(bytes));
	trace = opened(&made);
	trace_keep_records(trace, true);
	expect(trace, EV_OTHER, 0, 0);
	assert_true(trace_meaning(trace, &meaning));
	assert_true(trace_record(trace, &record));
	setup = (struct print_setup){ meaning.formats, trace_facts(trace), meaning.big_endian,
				      meaning.long_bytes };
	printer = printer_new(&setup);
	event = printer_event_of(printer, &record);
	outbuf_to_memory(&out);
	for (uint32_t i = event->common_count; i < event->field_count; i++) {
		print_field_json(printer, &event->fields[i], &record, &out);
		outbuf_char(&out, i + 1 < event->field_count ? ' ' : '\0');
	}
	assert_string_equal(out.start, "-120 136 8");
	outbuf_fini(&out);
	outbuf_to_memory(&out);
	memory = print_memory_new(printer);
	print_text(printer, memory, event, &record, &out);
	print_memory_free(memory);
	outbuf_char(&out, '\0');
	assert_string_equal(out.start, "x=0x88 y=0x88 z=a b");
	outbuf_fini(&out);
	printer_free(printer);
	trace_close(trace);
	ctf_unmake(&made);
}

/* Those of a packet's context that tell about the packet are read. */
static void fields_that_are_in_no_event_are_counted(void **unused)
{
	static const uint8_t bytes[1 + 1 + 482] = { 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	const struct facts *facts;
	struct ctf_made made;
	struct trace *trace;

	fputs("/* CTF 1.8 */ typealias integer { size = 8; } := u8;"
	      "trace { major = 1; minor = 8; byte_order = le; };"
	      "stream { packet.context := struct { u8 cpu_id; struct { u8 name; } of; }; };"
	      "event { name = e; fields := struct {",
	      out);
	for (int i = 0; i < 482; i++)
		fprintf(out, " u8 f%d;", i);
	fputs(" }; };", out);
	fclose(out);
	ctf_make(&made, text);
	ctf_make_file(&made, "stream", bytes, sizeof(bytes));
	trace = opened(&made);
	facts = trace_facts(trace);
	assert_int_equal(facts->unshown_count, 2);
	assert_string_equal(facts->unshown[0], "2 fields of ctf:e");
	assert_string_equal(facts->unshown[1], "1 field of the packets of stream 0");
	expect(trace, EV_OTHER, 0, 0);
	expect_end(trace);
	trace_close(trace);
	ctf_unmake(&made);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_byte_orders_give_the_same_events),
		cmocka_unit_test(dropped_events_are_a_hole_before_the_packet_that_counts_them),
		cmocka_unit_test(packets_are_read_in_order_of_time_and_gaps_are_holes),
		cmocka_unit_test(a_seek_finds_the_first_event_at_or_after_the_time),
		cmocka_unit_test(an_event_finds_the_time_of_a_filter),
		cmocka_unit_test(a_place_leads_back_to_its_event),
		cmocka_unit_test(files_of_one_stream_are_one),
		cmocka_unit_test(damaged_streams_do_no_harm),
		cmocka_unit_test(damage_says_where_it_is),
		cmocka_unit_test(a_text_too_long_for_a_record_is_cut),
		cmocka_unit_test(a_signed_number_of_base_16_is_negative_in_json),
		cmocka_unit_test(fields_that_are_in_no_event_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
