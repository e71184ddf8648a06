/* perfetto_out.c - lengths in front of packets, and names that are written once. */
#include "export/perfetto_out.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "export/perfetto.pb-c.h"

#define NAMES_MAX  65536u
#define NAME_BYTES 4096u

#define SEQUENCE      1u    /* any number but 0 */
#define STATE_CLEARED 1u    /* SEQ_INCREMENTAL_STATE_CLEARED */
#define NEEDS_STATE   2u    /* SEQ_NEEDS_INCREMENTAL_STATE */
#define PACKET_TAG    0x0au /* field 1, with a length */

struct perfetto_out {
	FILE *out;
	uint8_t *buffer; /* owned */
	size_t cap;
	struct names names[PERFETTO_TABLES];
	Holdup__Perfetto__Interned fresh[PERFETTO_TABLES][PERFETTO_NEW_NAMES];
	Holdup__Perfetto__Interned *fresh_list[PERFETTO_TABLES][PERFETTO_NEW_NAMES];
	size_t fresh_count[PERFETTO_TABLES];
	bool is_begun; /* a packet has said that the tables are new */
};

struct perfetto_out *perfetto_out_new(FILE *file)
{
	struct perfetto_out *out = xcalloc(1, sizeof(*out));

	out->out = file;
	for (size_t table = 0; table < PERFETTO_TABLES; table++) {
		for (size_t i = 0; i < PERFETTO_NEW_NAMES; i++)
			out->fresh_list[table][i] = &out->fresh[table][i];
	}
	return out;
}

void perfetto_out_free(struct perfetto_out *out)
{
	for (size_t table = 0; table < PERFETTO_TABLES; table++)
		names_fini(&out->names[table]);
	free(out->buffer);
	free(out);
}

void perfetto_out_begin(struct perfetto_out *out)
{
	for (size_t table = 0; table < PERFETTO_TABLES; table++) {
		out->fresh_count[table] = 0;
		if (out->names[table].count > NAMES_MAX)
			out->is_begun = false;
	}
	for (size_t table = 0; table < PERFETTO_TABLES && !out->is_begun; table++) {
		names_fini(&out->names[table]);
		out->names[table] = (struct names){ 0 };
	}
}

uint64_t perfetto_out_name(struct perfetto_out *out, enum perfetto_table table, const char *name)
{
	uint32_t before = out->names[table].count;
	uint32_t id;
	Holdup__Perfetto__Interned *fresh;

	if (!*name)
		name = " "; /* 0, the number of the empty name, is none in Perfetto */
	id = names_add(&out->names[table], name, NAME_BYTES);
	if (out->names[table].count == before || out->fresh_count[table] == PERFETTO_NEW_NAMES)
		return id;
	fresh = &out->fresh[table][out->fresh_count[table]++];
	holdup__perfetto__interned__init(fresh);
	fresh->has_iid = 1;
	fresh->iid = id;
	fresh->name = (char *)(uintptr_t)names_text(&out->names[table], id);
	return id;
}

void perfetto_out_bytes(struct perfetto_out *out, const Holdup__Perfetto__TracePacket *packet)
{
	size_t bytes = holdup__perfetto__trace_packet__get_packed_size(packet);
	uint8_t head[11] = { PACKET_TAG };
	size_t head_bytes = 1;

	if (bytes > out->cap) {
		out->cap = 2 * bytes;
		out->buffer = xrealloc(out->buffer, out->cap, 1);
	}
	(void)holdup__perfetto__trace_packet__pack(packet, out->buffer);
	for (uint64_t left = bytes; head_bytes == 1 || left; left >>= 7)
		head[head_bytes++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
	(void)fwrite(head, 1, head_bytes, out->out); /* the stream keeps the error */
	(void)fwrite(out->buffer, 1, bytes, out->out);
}

void perfetto_out_put(struct perfetto_out *out, Holdup__Perfetto__TracePacket *packet)
{
	Holdup__Perfetto__InternedData names = HOLDUP__PERFETTO__INTERNED_DATA__INIT;

	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->has_sequence_flags = 1;
	packet->sequence_flags = out->is_begun ? NEEDS_STATE : NEEDS_STATE | STATE_CLEARED;
	out->is_begun = true;
	if (out->fresh_count[PERFETTO_EVENTS] || out->fresh_count[PERFETTO_ARGS]) {
		names.n_event_names = out->fresh_count[PERFETTO_EVENTS];
		names.event_names = out->fresh_list[PERFETTO_EVENTS];
		names.n_debug_annotation_names = out->fresh_count[PERFETTO_ARGS];
		names.debug_annotation_names = out->fresh_list[PERFETTO_ARGS];
		packet->interned_data = &names;
	}
	perfetto_out_bytes(out, packet);
	packet->interned_data = NULL;
	out->fresh_count[PERFETTO_EVENTS] = out->fresh_count[PERFETTO_ARGS] = 0;
}
