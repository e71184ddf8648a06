/* packets.c - go through the heads of packets. */
#include "read/ctf/packets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "store/file.h"

#define HEAD_BYTES     4096u	   /* what is read of a packet to begin with */
#define HEAD_MAX_BYTES (16u << 20) /* a head is not longer */
#define MAX_PACKETS    (64u << 20) /* of a stream */
#define SECOND_NS      1000000000ll

int64_t ctf_clock_origin(const struct ctf_clock *clock)
{
	__int128 ns;

	if (!clock)
		return 0;
	ns = (__int128)clock->offset * SECOND_NS / clock->freq;
	ns += (__int128)clock->offset_s * SECOND_NS;
	return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

struct ctf_time ctf_time_of(const struct ctf_clock *clock, int64_t origin_ns)
{
	struct ctf_time time = { .freq = clock ? clock->freq : SECOND_NS };

	time.add_ns = (int64_t)((uint64_t)ctf_clock_origin(clock) - (uint64_t)origin_ns);
	if (clock && clock->line)
		time = (struct ctf_time){ .line = clock->line };
	return time;
}

uint32_t ctf_slots_needed(const struct ctf_meta *meta)
{
	uint32_t most = meta->slot_count;

	for (size_t i = 0; i < meta->stream_count; i++) {
		if (meta->streams[i]->slot_count > most)
			most = meta->streams[i]->slot_count;
	}
	return most + 1;
}

/* ------------------------------------------------------------------ one head */

static int bad_head(struct ctf_walk *walk, const char *wrong)
{
	walk->cursor.wrong = wrong;
	return CTF_BAD;
}

int ctf_packet_head(struct ctf_walk *walk, const struct ctf_meta *meta,
		    const struct ctf_stream **out_stream)
{
	uint64_t start = walk->cursor.at, id = 0;
	int rc = 0;

	walk->has = 0;
	walk->idle = 0;
	if (meta->packet_header)
		rc = ctf_walk(walk, meta->packet_header);
	if (rc < 0)
		return rc;
	if (ctf_walk_has(walk, CTF_ROLE_MAGIC) && walk->roles[CTF_ROLE_MAGIC] != CTF_MAGIC)
		return bad_head(walk, "its magic number is wrong");
	if (ctf_walk_has(walk, CTF_ROLE_STREAM_ID))
		id = walk->roles[CTF_ROLE_STREAM_ID];
	else if (meta->stream_count == 1)
		id = meta->streams[0]->id;
	*out_stream = ctf_meta_stream(meta, id);
	if (!*out_stream)
		return bad_head(walk, "the metadata has no stream with its stream_id");
	walk->cursor.at = start;
	walk->has = 0;
	if ((*out_stream)->packet_header)
		rc = ctf_walk(walk, (*out_stream)->packet_header);
	if (rc == 0 && (*out_stream)->packet_context)
		rc = ctf_walk(walk, (*out_stream)->packet_context);
	return rc;
}

/* A file that is being gone through. */
struct reading {
	struct ctf_file *file;
	int fd;
	uint8_t *buffer; /* owned */
	size_t room;
	uint64_t *slots; /* owned */
	struct ctf_walk walk;
};

/* Read the head at 'offset', with as many bytes as it needs. */
static int ctf_packets_read_head(struct reading *reading, uint64_t offset,
				 const struct ctf_stream **out_stream)
{
	uint64_t left = reading->file->bytes - offset;
	size_t want = HEAD_BYTES;
	int rc = CTF_MORE;

	while (rc == CTF_MORE) {
		size_t got;

		want = want < left ? want : (size_t)left;
		if (want > reading->room) {
			reading->buffer =
				xrealloc(reading->buffer, want + CTF_WINDOW_SLACK, sizeof(uint8_t));
			memset(reading->buffer, 0, want + CTF_WINDOW_SLACK);
			reading->room = want;
		}
		got = file_read_at(reading->fd, offset, reading->buffer, want);
		reading->walk.cursor = (struct ctf_cursor){
			.bytes = reading->buffer,
			.window_end = (uint64_t)got * 8,
			.end = left > UINT64_MAX / 8 ? UINT64_MAX : left * 8,
		};
		rc = ctf_packet_head(&reading->walk, reading->file->meta, out_stream);
		if (rc == CTF_MORE && (got < want || want >= HEAD_MAX_BYTES || want == left))
			return bad_head(&reading->walk, "its head is cut, or far too long");
		want *= 4;
	}
	return rc;
}

/* Sizes in bits, as told or as far as the file goes. */
static int take_sizes(struct reading *reading, uint64_t left_bits, uint64_t *out_packet_bits,
		      struct ctf_packet *packet)
{
	struct ctf_walk *walk = &reading->walk;
	bool has_packet = ctf_walk_has(walk, CTF_ROLE_PACKET_SIZE);
	bool has_content = ctf_walk_has(walk, CTF_ROLE_CONTENT_SIZE);
	uint64_t content = has_content	? walk->roles[CTF_ROLE_CONTENT_SIZE]
			   : has_packet ? walk->roles[CTF_ROLE_PACKET_SIZE]
					: left_bits;
	uint64_t bits = has_packet ? walk->roles[CTF_ROLE_PACKET_SIZE] : content;

	if (bits % 8)
		return bad_head(walk, "its size is no whole number of bytes");
	if (bits == 0)
		return bad_head(walk, "its size is 0");
	if (content > bits)
		return bad_head(walk, "its content is larger than itself");
	if (content < walk->cursor.at)
		return bad_head(walk, "its content is shorter than its head");
	packet->cut = bits > left_bits;
	packet->content_bits = content > left_bits ? left_bits : content;
	*out_packet_bits = bits < left_bits ? bits : left_bits;
	return 0;
}

static void take_roles(const struct ctf_walk *walk, struct ctf_packet *packet)
{
	packet->has_begin = ctf_walk_has(walk, CTF_ROLE_BEGIN);
	packet->has_end = ctf_walk_has(walk, CTF_ROLE_END);
	packet->has_counted = ctf_walk_has(walk, CTF_ROLE_DISCARDED);
	packet->has_number = ctf_walk_has(walk, CTF_ROLE_SEQUENCE_NUMBER);
	packet->has_cpu = ctf_walk_has(walk, CTF_ROLE_CPU);
	packet->begin_ticks = packet->has_begin ? walk->roles[CTF_ROLE_BEGIN] : 0;
	packet->end_ns = packet->has_end ? walk->roles[CTF_ROLE_END] : 0; /* ticks, for now */
	packet->counted = packet->has_counted ? walk->roles[CTF_ROLE_DISCARDED] : 0;
	packet->number = packet->has_number ? walk->roles[CTF_ROLE_SEQUENCE_NUMBER] : 0;
	packet->cpu = packet->has_cpu ? (uint16_t)walk->roles[CTF_ROLE_CPU] : 0;
}

/* ------------------------------------------------------------------ streams */

static bool ctf_packets_is_of(const struct ctf_packets *stream, const struct ctf_packets *wanted)
{
	return stream->has_instance && stream->stream_id == wanted->stream_id &&
	       stream->instance_id == wanted->instance_id &&
	       (stream->meta == wanted->meta ||
		(stream->meta->has_uuid && wanted->meta->has_uuid &&
		 memcmp(stream->uuid, wanted->uuid, sizeof(stream->uuid)) == 0));
}

/* The stream that the packet belongs to. 'last': that of the packet before it in the file. */
static size_t ctf_packets_stream_of(struct ctf_index *index, const struct reading *reading,
				    const struct ctf_stream *kind, size_t last)
{
	const struct ctf_walk *walk = &reading->walk;
	struct ctf_packets wanted = {
		.meta = reading->file->meta,
		.stream_id = kind->id,
		.has_instance = ctf_walk_has(walk, CTF_ROLE_INSTANCE_ID),
	};

	memcpy(wanted.uuid, wanted.meta->uuid, sizeof(wanted.uuid));
	if (wanted.has_instance)
		wanted.instance_id = walk->roles[CTF_ROLE_INSTANCE_ID];
	else if (last != SIZE_MAX && index->streams[last].stream_id == kind->id)
		return last;
	if (wanted.has_instance && last != SIZE_MAX &&
	    ctf_packets_is_of(&index->streams[last], &wanted))
		return last;
	for (size_t i = 0; wanted.has_instance && i < index->count; i++) {
		if (ctf_packets_is_of(&index->streams[i], &wanted))
			return i;
	}
	index->streams =
		vec_room(index->streams, index->count, &index->cap, sizeof(*index->streams));
	index->streams[index->count] = wanted;
	return index->count++;
}

static void ctf_packets_add_packet(struct ctf_packets *stream, const struct ctf_packet *packet)
{
	stream->items =
		vec_room(stream->items, stream->count, &stream->cap, sizeof(*stream->items));
	stream->items[stream->count] = *packet;
	stream->items[stream->count].order = (uint32_t)stream->count;
	stream->count++;
	if (packet->content_bits / 8 + 1 > stream->max_bytes)
		stream->max_bytes = packet->content_bits / 8 + 1;
}

static size_t add_packets(struct ctf_index *index, struct reading *reading, struct facts *facts)
{
	const struct ctf_file *file = reading->file;
	size_t count = 0, last = SIZE_MAX;
	uint64_t offset = 0, bits = 0;

	while (offset < file->bytes) {
		struct ctf_packet packet = { .file = file, .offset = offset };
		int rc = ctf_packets_read_head(reading, offset, &packet.stream);

		if (rc == 0)
			rc = take_sizes(reading, (file->bytes - offset) * 8, &bits, &packet);
		if (rc < 0 || count == MAX_PACKETS) {
			facts_note_damage(facts, "%s: packet %zu at byte %llu: %s", file->name,
					  count, (unsigned long long)offset,
					  rc < 0 ? reading->walk.cursor.wrong
						 : "there are too many");
			break;
		}
		if (packet.cut)
			facts_note_damage(facts, "%s: packet %zu at byte %llu is cut", file->name,
					  count, (unsigned long long)offset);
		take_roles(&reading->walk, &packet);
		last = ctf_packets_stream_of(index, reading, packet.stream, last);
		ctf_packets_add_packet(&index->streams[last], &packet);
		offset += (bits + 7) / 8;
		count++;
	}
	return count;
}

static bool drops_behind(const struct ctf_meta *meta)
{
	const struct ctf_env *tracer = ctf_meta_env(meta, "tracer_name");

	return tracer && tracer->text && strncmp(tracer->text, "lttng", 5) == 0;
}

static struct ctf_file *new_file(struct ctf_index *index, const char *path,
				 const struct ctf_meta *meta)
{
	struct ctf_file *file = xcalloc(1, sizeof(*file));
	const char *slash;

	file->path = xstrdup(path);
	slash = strrchr(file->path, '/');
	file->name = slash ? slash + 1 : file->path;
	file->meta = meta;
	file->lost_behind = drops_behind(meta);
	index->files = vec_room(index->files, index->file_count, &index->file_cap,
				sizeof(struct ctf_file *));
	index->files[index->file_count++] = file;
	return file;
}

size_t ctf_index_add(struct ctf_index *index, const char *path, const struct ctf_meta *meta,
		     struct facts *facts)
{
	struct reading reading = { .file = new_file(index, path, meta) };
	struct err err = { 0 };
	size_t count = 0;

	reading.fd = file_open(path, &reading.file->bytes, &err);
	if (reading.fd < 0) {
		facts_note_damage(facts, "%s: %s", reading.file->name, err.text);
		return 0;
	}
	reading.slots = xcalloc(ctf_slots_needed(meta), sizeof(uint64_t));
	reading.walk.slots = reading.slots;
	count = add_packets(index, &reading, facts);
	mem_close_fd(&reading.fd);
	free(reading.slots);
	free(reading.buffer);
	return count;
}

/* ------------------------------------------------------------------ order */

ORDER_FUNCTION(ctf_packets_by_begin, struct ctf_packet, ORDER_UP(begin_ns), ORDER_UP(order));

/* How many events were dropped since the packet before; a counter may wrap. */
static uint64_t dropped(const struct ctf_packet *before, const struct ctf_packet *packet)
{
	if (!packet->has_counted)
		return 0;
	if (!before || !before->has_counted)
		return packet->counted;
	return packet->counted >= before->counted ? packet->counted - before->counted
						  : packet->counted;
}

/* By their numbers. One that is no higher than the one before began anew. */
static uint64_t missing(const struct ctf_packet *before, const struct ctf_packet *packet)
{
	if (!before || !before->has_number || !packet->has_number ||
	    packet->number <= before->number)
		return 0;
	return packet->number - before->number - 1;
}

static void finish_stream(struct ctf_packets *stream, int64_t origin_ns)
{
	bool timed = true;
	uint64_t place = 0;

	for (size_t i = 0; i < stream->count; i++) {
		struct ctf_packet *packet = &stream->items[i];
		struct ctf_time time = ctf_time_of(packet->stream->clock, origin_ns);

		packet->begin_ns = packet->has_begin ? ctf_ns(&time, packet->begin_ticks) : 0;
		packet->end_ns = packet->has_end ? ctf_ns(&time, packet->end_ns) : 0;
		timed &= packet->has_begin;
	}
	if (timed)
		qsort(stream->items, stream->count, sizeof(*stream->items), ctf_packets_by_begin);
	for (size_t i = 0; i < stream->count; i++) {
		struct ctf_packet *packet = &stream->items[i];
		const struct ctf_packet *before = i ? packet - 1 : NULL;

		packet->lost = dropped(before, packet);
		packet->gap = missing(before, packet);
		packet->place = place;
		place += packet->content_bits / 8 + 1;
	}
}

void ctf_index_finish(struct ctf_index *index, int64_t origin_ns)
{
	for (size_t i = 0; i < index->count; i++)
		finish_stream(&index->streams[i], origin_ns);
}

void ctf_index_fini(struct ctf_index *index)
{
	for (size_t i = 0; i < index->count; i++)
		free(index->streams[i].items);
	for (size_t i = 0; i < index->file_count; i++) {
		free(index->files[i]->path);
		free(index->files[i]);
	}
	free(index->streams);
	free(index->files);
	*index = (struct ctf_index){ 0 };
}
