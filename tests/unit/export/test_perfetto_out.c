/* test_perfetto_out.c - lengths in front of packets, and numbers instead of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "export/perfetto.pb-c.h"
#include "export/perfetto_out.h"

struct outing {
	struct perfetto_out *out;
	FILE *file;
	char *bytes;
	size_t count;
};

static struct outing *outing_new(void)
{
	struct outing *outing = xcalloc(1, sizeof(*outing));

	outing->file = open_memstream(&outing->bytes, &outing->count);
	assert_non_null(outing->file);
	outing->out = perfetto_out_new(outing->file);
	return outing;
}

static void outing_free(struct outing *outing)
{
	perfetto_out_free(outing->out);
	fclose(outing->file);
	free(outing->bytes);
	free(outing);
}

/* Write a packet with this name, and read it back. Free with ..._free_unpacked(). */
static Holdup__Perfetto__TracePacket *put(struct outing *outing, const char *name, uint64_t *out_id)
{
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;
	size_t before = outing->count, length = 0, at;
	unsigned int shift = 0;

	perfetto_out_begin(outing->out);
	*out_id = name ? perfetto_out_name(outing->out, PERFETTO_EVENTS, name) : 0;
	perfetto_out_put(outing->out, &packet);
	fflush(outing->file);
	at = before;
	assert_int_equal(outing->bytes[at++], 0x0a);
	do {
		length |= (size_t)(outing->bytes[at] & 0x7f) << shift;
		shift += 7;
	} while (outing->bytes[at++] & 0x80);
	assert_int_equal(at + length, outing->count);
	return holdup__perfetto__trace_packet__unpack(NULL, length, (uint8_t *)outing->bytes + at);
}

static void a_name_is_written_once(void **unused)
{
	struct outing *outing = outing_new();
	uint64_t first, again, other;
	Holdup__Perfetto__TracePacket *packet = put(outing, "read", &first);

	assert_int_equal(packet->interned_data->n_event_names, 1);
	assert_string_equal(packet->interned_data->event_names[0]->name, "read");
	assert_int_equal(packet->interned_data->event_names[0]->iid, first);
	holdup__perfetto__trace_packet__free_unpacked(packet, NULL);
	packet = put(outing, "read", &again);
	assert_null(packet->interned_data);
	assert_int_equal(first, again);
	holdup__perfetto__trace_packet__free_unpacked(packet, NULL);
	packet = put(outing, "write", &other);
	assert_int_not_equal(first, other);
	assert_int_equal(packet->interned_data->n_event_names, 1);
	holdup__perfetto__trace_packet__free_unpacked(packet, NULL);
	outing_free(outing);
}

static void an_empty_name_has_a_number_too(void **unused)
{
	struct outing *outing = outing_new();
	uint64_t id;

	holdup__perfetto__trace_packet__free_unpacked(put(outing, "", &id), NULL);
	assert_int_not_equal(id, 0);
	outing_free(outing);
}

/* The length takes two bytes from 128 on, three from 16384 on: none may be wrong. */
static void packets_of_any_length_are_framed(void **unused)
{
	struct outing *outing = outing_new();
	AUTO_FREE char *name = xmalloc(4096);
	uint64_t id;

	for (size_t bytes = 1; bytes < 4000; bytes += bytes < 200 ? 1 : 97) {
		Holdup__Perfetto__TracePacket *packet;

		memset(name, 'a' + (int)(bytes % 26), bytes);
		name[bytes] = '\0';
		packet = put(outing, name, &id);
		assert_string_equal(packet->interned_data->event_names[0]->name, name);
		holdup__perfetto__trace_packet__free_unpacked(packet, NULL);
	}
	outing_free(outing);
}

/* When there are too many names the table begins anew: said, and all of it told again. */
static void a_full_table_begins_anew(void **unused)
{
	struct outing *outing = outing_new();
	uint64_t id, cleared = 0, first;
	Holdup__Perfetto__TracePacket *packet;

	for (uint32_t i = 0; i < 70000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name %u", i);
		packet = put(outing, name, &id);
		cleared += packet->sequence_flags & 1;
		holdup__perfetto__trace_packet__free_unpacked(packet, NULL);
	}
	assert_int_equal(cleared, 2); /* the first packet, and once more */
	packet = put(outing, "name 1", &first);
	assert_int_equal(packet->interned_data->event_names[0]->iid, first);
	holdup__perfetto__trace_packet__free_unpacked(packet, NULL);
	outing_free(outing);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_written_once),
		cmocka_unit_test(an_empty_name_has_a_number_too),
		cmocka_unit_test(packets_of_any_length_are_framed),
		cmocka_unit_test(a_full_table_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
