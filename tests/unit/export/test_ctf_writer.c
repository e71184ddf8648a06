/*
 * test_ctf_writer.c - packets of CTF as written, walked through by their layout and nothing of ours.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "export/ctf_writer.h"

#define PACKET_MOST (128u << 10)
#define HEAD	    80u
#define EVENT_HEAD  16u /* time, id, 2 bytes, length of the record, elements of its end */

static const uint8_t uuid[16] = "0123456789abcdef";

/* A packet as read. */
struct packet {
	uint64_t begin, end, content, size, lost, number;
	uint32_t stream, cpu;
	uint32_t events;
	uint64_t first_ns, last_ns;
};

static uint64_t load(const uint8_t *at, unsigned bytes, bool big_endian)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[big_endian ? bytes - 1 - i : i] << 8 * i;
	return value;
}

static uint8_t *file_of(const char *folder, const char *name, size_t *out_bytes)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);
	FILE *file = fopen(path, "r");
	uint8_t *data = xcalloc(1, 8 << 20);

	assert_non_null(file);
	*out_bytes = fread(data, 1, (8 << 20) - 1, file);
	(void)fclose(file);
	(void)unlink(path);
	return data;
}

/* Records hold the number of their event in the file. Returns the number of packets. */
static size_t walk(const uint8_t *data, size_t bytes, bool be, struct packet *out, size_t room)
{
	size_t count = 0;
	uint64_t event = 0;

	for (size_t at = 0; at < bytes; count++) {
		struct packet packet = { 0 };
		const uint8_t *head = data + at;
		size_t in = HEAD, end = HEAD;

		assert_true(count < room && bytes - at >= HEAD);
		assert_int_equal(load(head, 4, be), 0xc1fc1fc1);
		assert_memory_equal(head + 4, uuid, 16);
		packet.stream = (uint32_t)load(head + 20, 4, be);
		packet.begin = load(head + 24, 8, be);
		packet.end = load(head + 32, 8, be);
		packet.content = load(head + 40, 8, be) / 8;
		packet.size = load(head + 48, 8, be) / 8;
		packet.lost = load(head + 56, 8, be);
		packet.number = load(head + 64, 8, be);
		packet.cpu = (uint32_t)load(head + 72, 4, be);
		assert_true(packet.size <= PACKET_MOST && packet.size <= bytes - at);
		assert_true(packet.content <= packet.size && packet.size - packet.content < 8);
		while (in < packet.content) {
			const uint8_t *here = head + in;
			uint64_t length = load(here + 12, 2, be);

			packet.last_ns = load(here, 8, be);
			packet.first_ns = packet.events ? packet.first_ns : packet.last_ns;
			assert_memory_equal(here + 8, here + EVENT_HEAD, 2);
			assert_int_equal(load(here + EVENT_HEAD + 8, 4, be), event++);
			end = in + EVENT_HEAD + length;
			in += (EVENT_HEAD + length + 7) & ~7u;
			packet.events++;
		}
		assert_int_equal(in, packet.size);
		assert_int_equal(end, packet.content);
		out[count] = packet;
		at += packet.size;
	}
	return count;
}

static void print_events(void *context, enum ctf_stream_kind kind, FILE *out)
{
	*(unsigned *)context |= 1u << kind;
	fprintf(out, "event { kind = %d; };\n", kind);
}

static char folder[64];
static unsigned printed;
static const struct facts facts = { .host = "a \"host\"\n", .realtime_offset_ns = -1 };

static struct ctf_writer *writer_in(const char *where, bool be)
{
	const struct ctf_writer_setup setup = { .facts = &facts,
						.big_endian = be,
						.clock = "mono",
						.print_events = print_events,
						.context = &printed,
						.first_ns = 5,
						.last_ns = 1000000,
						.uuid = uuid };

	return ctf_writer_new(where, &setup);
}

static void put(struct ctf_writer *writer, bool be, uint64_t time_ns, uint32_t number,
		uint32_t bytes)
{
	uint8_t record[4096] = { 0 };

	record[be] = 77; /* its kind */
	for (unsigned i = 0; i < 4; i++)
		record[8 + (be ? 3 - i : i)] = (uint8_t)(number >> 8 * i);
	ctf_writer_put(writer, CTF_STREAM_KERNEL, 3, time_ns,
		       &(struct ctf_writer_event){ .record = record, .bytes = bytes });
}

static void finish(struct ctf_writer *writer)
{
	struct err err = { 0 };

	assert_int_equal(ctf_writer_end(writer, &err), 0);
	ctf_writer_free(writer);
}

static void drop_metadata(void)
{
	size_t bytes;

	free(file_of(folder, "metadata", &bytes));
}

/* End the writer, and walk through what it wrote of CPU 3's kernel. Returns the number of packets. */
static size_t finish_and_walk(struct ctf_writer *writer, bool be, struct packet *out, size_t room)
{
	size_t bytes, count;
	uint8_t *data;

	finish(writer);
	data = file_of(folder, "kernel_00003", &bytes);
	count = walk(data, bytes, be, out, room);
	free(data);
	drop_metadata();
	return count;
}

/* All events once, in order, whatever their length; packets follow each other. */
static void packets(bool be)
{
	struct ctf_writer *writer = writer_in(folder, be);
	struct packet all[64];
	size_t count;
	uint32_t events = 0;

	for (uint32_t i = 0; i < 20000; i++)
		put(writer, be, 1000 + i, i, 12 + i * 7 % 90);
	count = finish_and_walk(writer, be, all, 64);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(all[i].number, i);
		assert_int_equal(all[i].cpu, 3);
		assert_int_equal(all[i].stream, CTF_STREAM_KERNEL);
		assert_int_equal(all[i].lost, 0);
		assert_int_equal(all[i].begin, all[i].first_ns);
		assert_int_equal(all[i].end, all[i].last_ns);
		assert_int_equal(all[i].begin, 1000 + events);
		events += all[i].events;
	}
	assert_int_equal(events, 20000);
	assert_true(count > 8);
}

static void every_event_is_in_one_packet(void **unused)
{
	packets(false);
	packets(true);
}

static void what_is_lost_is_counted_before_what_follows(void **unused)
{
	struct ctf_writer *writer = writer_in(folder, false);
	struct packet all[8];

	put(writer, false, 10, 0, 16);
	ctf_writer_lost(writer, CTF_STREAM_KERNEL, 3, 20, 40);
	put(writer, false, 21, 1, 16);
	ctf_writer_lost(writer, CTF_STREAM_KERNEL, 3, 30, 2);
	assert_int_equal(finish_and_walk(writer, false, all, 8), 3);
	assert_int_equal(all[0].lost, 0);
	assert_int_equal(all[1].lost, 40);
	assert_true(all[1].begin <= 20 && all[1].number == 1 && all[1].events == 1);
	assert_int_equal(all[2].lost, 42); /* nothing follows, and still it is told */
	assert_int_equal(all[2].events, 0);
}

static void a_loss_of_unknown_size_is_a_gap_in_the_numbers(void **unused)
{
	struct ctf_writer *writer = writer_in(folder, false);
	struct packet all[8];

	ctf_writer_lost(writer, CTF_STREAM_KERNEL, 3, 20, 0); /* before any event */
	put(writer, false, 21, 0, 16);
	assert_int_equal(finish_and_walk(writer, false, all, 8), 2);
	assert_int_equal(all[0].number, 0);
	assert_int_equal(all[0].begin, 5);
	assert_int_equal(all[1].number, 2);
	assert_int_equal(all[1].lost, 0);
}

/* More streams than files are open at once. */
static void there_may_be_many_streams(void **unused)
{
	enum {
		CPUS = 400
	};
	struct ctf_writer *writer = writer_in(folder, false);
	uint8_t record[512] = { 1 };

	for (uint32_t round = 0; round < 600; round++) {
		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			record[8] = (uint8_t)round;
			record[9] = (uint8_t)(round >> 8);
			ctf_writer_put(writer, CTF_STREAM_USER, cpu, round,
				       &(struct ctf_writer_event){ .record = record,
								   .bytes = sizeof(record) });
		}
	}
	finish(writer);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		AUTO_FREE char *name = xasprintf("user_%05u", cpu);
		struct packet all[8];
		uint32_t events = 0;
		size_t bytes, count;
		uint8_t *data = file_of(folder, name, &bytes);

		count = walk(data, bytes, false, all, 8);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(all[i].cpu, cpu);
			assert_int_equal(all[i].stream, CTF_STREAM_USER);
			events += all[i].events;
		}
		assert_int_equal(events, 600);
		free(data);
	}
	drop_metadata();
}

static void the_metadata_has_what_was_used(void **unused)
{
	struct ctf_writer *writer = writer_in(folder, true);
	size_t bytes;
	char *text;

	printed = 0;
	put(writer, true, 10, 0, 16);
	finish(writer);
	free(file_of(folder, "kernel_00003", &bytes));
	text = (char *)file_of(folder, "metadata", &bytes);
	assert_int_equal(printed, 1u << CTF_STREAM_KERNEL);
	assert_int_equal(strncmp(text, "/* CTF 1.8 */\n", 14), 0);
	assert_non_null(strstr(text, "uuid = \"30313233-3435-3637-3839-616263646566\""));
	assert_non_null(strstr(text, "byte_order = be"));
	assert_non_null(strstr(text, "hostname = \"a \\\"host\\\"\\n\";"));
	/* A clock that began before 1970 by a nanosecond. */
	assert_non_null(strstr(text, "offset_s = -1;\n\toffset = 999999999;"));
	assert_null(strstr(text, "kernel_release"));
	free(text);
}

static void a_failure_to_write_is_told_at_the_end(void **unused)
{
	struct ctf_writer *writer = writer_in("/nowhere/at/all", false);
	struct err err = { 0 };

	put(writer, false, 10, 0, 16);
	assert_int_equal(ctf_writer_end(writer, &err), -2); /* ENOENT */
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
	ctf_writer_free(writer);
	/* What is there already is not written over. */
	writer = writer_in(folder, false);
	put(writer, false, 10, 0, 16);
	finish(writer);
	drop_metadata();
	writer = writer_in(folder, false);
	put(writer, false, 10, 0, 16);
	assert_int_equal(ctf_writer_end(writer, &err), -17); /* EEXIST */
	ctf_writer_free(writer);
}

static int make_folder(void **unused)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/holdup-ctf-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
	static const char *const names[] = { "kernel_00003", "metadata" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", folder, names[i]);

		(void)unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_is_in_one_packet),
		cmocka_unit_test(what_is_lost_is_counted_before_what_follows),
		cmocka_unit_test(a_loss_of_unknown_size_is_a_gap_in_the_numbers),
		cmocka_unit_test(there_may_be_many_streams),
		cmocka_unit_test(the_metadata_has_what_was_used),
		cmocka_unit_test(a_failure_to_write_is_told_at_the_end),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
