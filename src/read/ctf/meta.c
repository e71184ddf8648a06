/* meta.c - metadata: from the file to its text, and from the text to declarations. */
#include "read/ctf/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/search.h"
#include "read/ctf/ctf2_meta.h"
#include "read/ctf/parse_int.h"

#define PACKET_MAGIC	    0x75d11d57u
#define PACKET_HEADER_BYTES 37u
#define BYTES_OF_A_TYPE	    4u /* that is written at its place takes more */

/* struct packet_header: magic, uuid[16], checksum, content_size, packet_size, 5 bytes. */
struct packet {
	uint32_t content_bits, packet_bits;
	uint8_t compression, encryption, checksum, major, minor;
};

static uint32_t load_4(const uint8_t *at, bool swap)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return order_u32(number, swap);
}

static int open_packet(const uint8_t *at, size_t left, uint64_t place, struct packet *out_packet,
		       struct err *err)
{
	bool swap;

	if (left < PACKET_HEADER_BYTES)
		return err_set(err, -EBADMSG, "metadata: its packet at byte %llu is cut",
			       (unsigned long long)place);
	swap = load_4(at, false) != PACKET_MAGIC;
	if (load_4(at, swap) != PACKET_MAGIC)
		return err_set(err, -EBADMSG, "metadata: at byte %llu is no packet",
			       (unsigned long long)place);
	out_packet->content_bits = load_4(at + 24, swap);
	out_packet->packet_bits = load_4(at + 28, swap);
	memcpy(&out_packet->compression, at + 32, 5);
	if (out_packet->major != 1 || out_packet->minor != 8)
		return err_set(err, -ENOTSUP, "metadata: its packets have version %u.%u, not 1.8",
			       out_packet->major, out_packet->minor);
	if (out_packet->compression || out_packet->encryption || out_packet->checksum)
		return err_set(err, -ENOTSUP, "metadata: compressed, encrypted or with a checksum");
	if (out_packet->content_bits % 8 || out_packet->packet_bits % 8 ||
	    out_packet->content_bits > out_packet->packet_bits ||
	    out_packet->content_bits / 8 < PACKET_HEADER_BYTES ||
	    out_packet->packet_bits / 8 > left)
		return err_set(err, -EBADMSG,
			       "metadata: its packet at byte %llu has an impossible size",
			       (unsigned long long)place);
	return 0;
}

static bool is_packets(const uint8_t *file, size_t bytes)
{
	return bytes >= 4 &&
	       (load_4(file, false) == PACKET_MAGIC || load_4(file, true) == PACKET_MAGIC);
}

static int ctf_meta_unpack(const uint8_t *file, size_t bytes, char *text, size_t *out_bytes,
			   struct err *err)
{
	struct packet packet;

	*out_bytes = 0;
	for (size_t at = 0; at < bytes; at += packet.packet_bits / 8) {
		int rc = open_packet(file + at, bytes - at, at, &packet, err);
		size_t content;

		if (rc < 0)
			return rc;
		content = packet.content_bits / 8 - PACKET_HEADER_BYTES;
		memcpy(text + *out_bytes, file + at + PACKET_HEADER_BYTES, content);
		*out_bytes += content;
	}
	return 0;
}

int ctf_metadata_text(const uint8_t *file, size_t bytes, char **out_text, size_t *out_bytes,
		      struct err *err)
{
	char *text;
	int rc = 0;

	if (bytes == 0)
		return err_set(err, -EBADMSG, "metadata: it is empty");
	text = xmalloc(bytes + 1);
	if (is_packets(file, bytes)) {
		rc = ctf_meta_unpack(file, bytes, text, out_bytes, err);
	} else {
		memcpy(text, file, bytes);
		*out_bytes = bytes;
	}
	if (rc == 0 && memchr(text, '\0', *out_bytes))
		rc = err_set(err, -EBADMSG, "metadata: there is a zero byte in it");
	if (rc < 0) {
		free(text);
		return rc;
	}
	text[*out_bytes] = '\0';
	*out_text = text;
	return 0;
}

const struct ctf_env *ctf_meta_env(const struct ctf_meta *meta, const char *name)
{
	/* The last one counts. */
	for (size_t i = meta->env_count; i > 0; i--) {
		if (strcmp(meta->envs[i - 1].name, name) == 0)
			return &meta->envs[i - 1];
	}
	return NULL;
}

struct ctf_stream *ctf_meta_stream(const struct ctf_meta *meta, uint64_t id)
{
	for (size_t i = 0; i < meta->stream_count; i++) {
		if (meta->streams[i]->id == id)
			return meta->streams[i];
	}
	return NULL;
}

struct ctf_event *ctf_stream_event(const struct ctf_stream *stream, uint64_t id)
{
	size_t low;

	/* Nearly always they are numbered from 0 on. */
	if (id < stream->event_count && stream->events[id]->id == id)
		return stream->events[id];
	low = SEARCH_WHERE(stream->events, stream->event_count, ->id < id);
	return low < stream->event_count && stream->events[low]->id == id ? stream->events[low]
									  : NULL;
}

static bool parse_tsdl(struct ctf_meta *meta, const char *text, size_t bytes, struct err *err)
{
	struct ctf_parser parser = { .meta = meta, .err = err };
	bool done;

	parser.lexer = (struct ctf_lexer){ text, text + bytes, 1, &meta->arena };
	ctf_names_init(&parser);
	done = ctf_advance(&parser) && ctf_parse_blocks(&parser);
	ctf_names_fini(&parser);
	return done;
}

int ctf_meta_new_of(const char *text, size_t bytes, size_t *types_left, struct ctf_meta **out_meta,
		    struct err *err)
{
	struct ctf_meta *meta = xcalloc(1, sizeof(*meta));
	int rc = -EBADMSG;

	meta->is_ctf2 = ctf2_is_metadata(text, bytes);
	if (meta->is_ctf2)
		rc = ctf2_parse(meta, text, bytes, err);
	else if (parse_tsdl(meta, text, bytes, err))
		rc = 0;
	*types_left += bytes / BYTES_OF_A_TYPE;
	if (rc == 0)
		rc = ctf_resolve(meta, types_left, err);
	if (rc < 0) {
		ctf_meta_free(meta);
		return rc;
	}
	*out_meta = meta;
	return 0;
}

int ctf_meta_new(const char *text, size_t bytes, struct ctf_meta **out_meta, struct err *err)
{
	size_t types_left = CTF_MAX_TYPES;

	return ctf_meta_new_of(text, bytes, &types_left, out_meta, err);
}

void ctf_meta_free(struct ctf_meta *meta)
{
	if (!meta)
		return;
	free(meta->envs);
	free(meta->clocks);
	free(meta->streams);
	free(meta->events);
	ctf_arena_fini(&meta->arena);
	free(meta);
}
