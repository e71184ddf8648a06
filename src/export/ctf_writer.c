/*
 * ctf_writer.c - packets.
 *
 *	packet   u32 magic, u8 uuid[16], u32 stream_id | u64 begin, end, content, size, lost, number,
 *	         u32 cpu, u32 zero | event | event | ...
 *	event    u64 time, u16 id, u16 | u16 record_bytes, u16 tail_count | record | up to 8 bytes
 */
#include "export/ctf_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/order.h"
#include "event/facts.h"
#include "export/ctf_layout.h"
#include "read/ctf/native.h"

#define MAGIC	     0xc1fc1fc1u
#define PACKET_BYTES (128u << 10)
#define HEAD_BYTES   80u
#define OPEN_MAX_FDS 128u

struct packet_head {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream;
	uint64_t begin;
	uint64_t end;
	uint64_t content; /* bits */
	uint64_t size;	  /* bits */
	uint64_t lost;	  /* of the stream so far, before the events of this packet */
	uint64_t number;
	uint32_t cpu;
	uint32_t zero;
};

_Static_assert(sizeof(struct packet_head) == HEAD_BYTES, "as the metadata says");

struct stream {
	enum ctf_stream_kind kind;
	uint32_t cpu;
	uint8_t *packet; /* owned; PACKET_BYTES */
	uint32_t used;
	uint32_t content; /* bytes: without the padding behind the last event */
	bool is_begun;	  /* something is to be written, even without events */
	uint64_t begin, end;
	uint64_t lost;
	uint64_t number;
	uint64_t offset; /* in the file */
	int fd;
};

struct ctf_writer {
	struct ctf_writer_setup setup;
	char *folder;		 /* owned */
	struct stream **streams; /* owned */
	size_t count, cap;
	struct map by_cpu; /* kind << 32 | cpu: index */
	bool used[CTF_STREAM_COUNT];
	int error;
};

struct ctf_writer *ctf_writer_new(const char *folder, const struct ctf_writer_setup *setup)
{
	struct ctf_writer *writer = xcalloc(1, sizeof(*writer));

	writer->setup = *setup;
	writer->folder = xstrdup(folder);
	return writer;
}

void ctf_writer_free(struct ctf_writer *writer)
{
	if (!writer)
		return;
	for (size_t i = 0; i < writer->count; i++) {
		mem_close_fd(&writer->streams[i]->fd);
		free(writer->streams[i]->packet);
		free(writer->streams[i]);
	}
	map_fini(&writer->by_cpu);
	free(writer->streams);
	free(writer->folder);
	free(writer);
}

/* ------------------------------------------------------------------ packets */

static uint64_t in_order_8(const struct ctf_writer *writer, uint64_t number)
{
	bool swap = order_swaps(writer->setup.big_endian);

	return order_u64(number, swap);
}

static uint16_t in_order_2(const struct ctf_writer *writer, uint16_t number)
{
	bool swap = order_swaps(writer->setup.big_endian);

	return order_u16(number, swap);
}

static uint32_t in_order_4(const struct ctf_writer *writer, uint32_t number)
{
	bool swap = order_swaps(writer->setup.big_endian);

	return order_u32(number, swap);
}

static int writer_open_file(struct ctf_writer *writer, struct stream *stream)
{
	static const char *const names[] = { "kernel", "names", "user", "state" };
	AUTO_FREE char *path =
		xasprintf("%s/%s_%05u", writer->folder, names[stream->kind], stream->cpu);
	int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (stream->offset ? 0 : O_CREAT | O_EXCL);

	if (stream->fd < 0)
		stream->fd = open(path, flags, 0600);
	return stream->fd < 0 ? -errno : 0;
}

static void fill_head(const struct ctf_writer *writer, const struct stream *stream)
{
	struct packet_head head = {
		.magic = in_order_4(writer, MAGIC),
		.stream = in_order_4(writer, stream->kind),
		.begin = in_order_8(writer, stream->begin),
		.end = in_order_8(writer, stream->end),
		.content = in_order_8(writer, (uint64_t)stream->content * 8),
		.size = in_order_8(writer, (uint64_t)stream->used * 8),
		.lost = in_order_8(writer, stream->lost),
		.number = in_order_8(writer, stream->number),
		.cpu = in_order_4(writer, stream->cpu),
	};

	memcpy(head.uuid, writer->setup.uuid, sizeof(head.uuid));
	memcpy(stream->packet, &head, sizeof(head));
}

/* Write the packet, if there is one, and begin the next. */
static void ctf_writer_end_packet(struct ctf_writer *writer, struct stream *stream)
{
	if (stream->is_begun && !writer->error) {
		fill_head(writer, stream);
		writer->error = writer_open_file(writer, stream);
		if (!writer->error)
			writer->error = file_write_at(stream->fd, stream->offset, stream->packet,
						      stream->used);
		stream->offset += stream->used;
		stream->number++;
	}
	/* Not more files at once than a process may have. */
	if (writer->count > OPEN_MAX_FDS)
		mem_close_fd(&stream->fd);
	if (writer->count > OPEN_MAX_FDS)
		stream->fd = -1;
	stream->used = stream->content = HEAD_BYTES;
	stream->is_begun = false;
}

static void ctf_writer_begin_packet(struct stream *stream, uint64_t time_ns)
{
	if (!stream->is_begun)
		stream->begin = time_ns;
	stream->is_begun = true;
	stream->end = time_ns;
}

static struct stream *stream_for(struct ctf_writer *writer, enum ctf_stream_kind kind, uint32_t cpu)
{
	bool is_new;
	uint64_t *index = map_add(&writer->by_cpu, (uint64_t)kind << 32 | cpu, &is_new);
	struct stream *stream;

	if (!is_new)
		return writer->streams[*index];
	*index = writer->count;
	stream = xcalloc(1, sizeof(*stream));
	stream->kind = kind;
	stream->cpu = cpu;
	stream->packet = xmalloc(PACKET_BYTES);
	stream->used = stream->content = HEAD_BYTES;
	stream->fd = -1;
	writer->streams =
		vec_room(writer->streams, writer->count, &writer->cap, sizeof(struct stream *));
	writer->streams[writer->count++] = stream;
	writer->used[kind] = true;
	return stream;
}

void ctf_writer_put(struct ctf_writer *writer, enum ctf_stream_kind kind, uint32_t cpu,
		    uint64_t time_ns, const struct ctf_writer_event *event)
{
	struct stream *stream = stream_for(writer, kind, cpu);
	uint32_t bytes = event->bytes + event->told;
	uint32_t whole = (CTF_NATIVE_BEFORE + bytes + 7) & ~7u;
	uint64_t time = in_order_8(writer, time_ns);
	uint16_t length = in_order_2(writer, (uint16_t)event->bytes);
	uint16_t count = in_order_2(writer, (uint16_t)event->tail);
	uint8_t *to;

	if (whole > PACKET_BYTES - stream->used)
		ctf_writer_end_packet(writer, stream);
	ctf_writer_begin_packet(stream, time_ns);
	to = stream->packet + stream->used;
	memcpy(to, &time, 8);
	memcpy(to + 8, event->record, 2); /* the number of its kind begins the record, too */
	memset(to + 10, 0, 2);
	memcpy(to + 12, &length, 2);
	memcpy(to + 14, &count, 2);
	memcpy(to + CTF_NATIVE_BEFORE, event->record, bytes);
	memset(to + CTF_NATIVE_BEFORE + bytes, 0, whole - CTF_NATIVE_BEFORE - bytes);
	stream->content = stream->used + CTF_NATIVE_BEFORE + bytes;
	stream->used += whole;
}

void ctf_writer_lost(struct ctf_writer *writer, enum ctf_stream_kind kind, uint32_t cpu,
		     uint64_t time_ns, uint64_t count)
{
	struct stream *stream = stream_for(writer, kind, cpu);

	/* An unknown number is a gap in the numbers of packets, which the first one cannot show. */
	if (count == 0 && stream->number == 0)
		ctf_writer_begin_packet(stream,
					stream->is_begun ? stream->end : writer->setup.first_ns);
	ctf_writer_end_packet(writer, stream);
	if (count == 0)
		stream->number++;
	stream->lost += count;
	ctf_writer_begin_packet(stream, time_ns);
}

/* ------------------------------------------------------------------ metadata */

void ctf_print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; text && *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else if (c < ' ' || c == 0x7f)
			fprintf(out, "\\%03o", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void print_uuid(FILE *out, const uint8_t *uuid)
{
	for (int i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void ctf_writer_env_text(FILE *out, const char *name, const char *text)
{
	if (!text)
		return;
	fprintf(out, "\t%s = ", name);
	ctf_print_string(out, text);
	fputs(";\n", out);
}

static void ctf_writer_env_number(FILE *out, const char *name, int64_t number)
{
	fprintf(out, "\t%s = %" PRId64 ";\n", name, number);
}

/* What was read was damaged: so is what was made of it. */
static void ctf_writer_print_damage(FILE *out, const struct facts *facts)
{
	char name[48];

	for (size_t i = 0; i < facts->damage_count; i++) {
		snprintf(name, sizeof(name), "source_damage_%zu", i);
		ctf_writer_env_text(out, name, facts->damage[i]);
	}
}

static void print_env(const struct ctf_writer *writer, FILE *out)
{
	const struct facts *facts = writer->setup.facts;

	fputs("env {\n", out);
	ctf_writer_env_text(out, "tracer_name", "holdup");
	ctf_writer_env_text(out, "hostname", facts->host);
	ctf_writer_env_text(out, "kernel_release", facts->kernel);
	ctf_writer_env_text(out, "machine", facts->arch);
	ctf_writer_env_text(out, "recorded_by", facts->tracer);
	ctf_writer_env_text(out, "recorder", facts->recorder);
	ctf_writer_env_text(out, "source_format", facts->format);
	ctf_writer_env_text(out, "target_cmdline", facts->target_cmdline);
	ctf_writer_env_number(out, "holdup_export", CTF_NATIVE_VERSION);
	ctf_writer_env_number(out, "pid_ns", 0xeffffffc); /* thread numbers are the machine's */
	ctf_writer_env_number(out, "first_ns", (int64_t)writer->setup.first_ns);
	ctf_writer_env_number(out, "last_ns", (int64_t)writer->setup.last_ns);
	ctf_writer_env_number(out, "target_tid", facts->target_tid);
	ctf_writer_env_number(out, "target_start_ns", (int64_t)facts->target_start_ns);
	ctf_writer_env_number(out, "target_end_ns", (int64_t)facts->target_end_ns);
	ctf_writer_env_number(out, "target_status", facts->target_status);
	ctf_writer_env_number(out, "omits_idle_switches", facts->omits_idle_switches);
	ctf_writer_env_number(out, "has_syscalls", facts->has_syscalls);
	ctf_writer_env_number(out, "complete", facts->complete);
	ctf_writer_print_damage(out, facts);
	fputs("};\n\n", out);
}

static void print_clock(const struct ctf_writer *writer, FILE *out)
{
	int64_t offset = writer->setup.facts->realtime_offset_ns;
	int64_t seconds = offset / 1000000000, rest = offset % 1000000000;

	if (rest < 0) {
		rest += 1000000000;
		seconds--;
	}
	fprintf(out,
		"clock {\n\tname = %s;\n\tfreq = 1000000000;\n\toffset_s = %" PRId64
		";\n\toffset = %" PRId64 ";\n\tabsolute = %s;\n};\n\n"
		"typealias integer { size = 64; align = 64; signed = false; map = clock.%s.value; } "
		":= holdup_time;\n\n",
		writer->setup.clock, seconds, rest, offset ? "TRUE" : "FALSE", writer->setup.clock);
}

static void print_stream(const struct ctf_writer *writer, enum ctf_stream_kind kind, FILE *out)
{
	fprintf(out,
		"stream {\n\tid = %u;\n"
		"\tpacket.context := struct {\n"
		"\t\tholdup_time timestamp_begin;\n\t\tholdup_time timestamp_end;\n"
		"\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
		"\t\tuint64_t events_discarded;\n\t\tuint64_t packet_seq_num;\n"
		"\t\tuint32_t cpu_id;\n\t\tuint32_t reserved;\n\t};\n"
		"\tevent.header := struct {\n"
		"\t\tholdup_time timestamp;\n\t\tuint16_t id;\n\t};\n"
		"\tevent.context := struct {\n"
		"\t\tuint16_t record_bytes;\n\t\tuint16_t tail_count;\n"
		"\t\tuint16_t common_type;\n\t\tuint8_t common_flags;\n\t\tuint8_t common_preempt_count;\n"
		"\t\tint32_t common_pid;\n\t};\n};\n\n",
		(uint32_t)kind);
	writer->setup.print_events(writer->setup.context, kind, out);
}

static void print_metadata(const struct ctf_writer *writer, FILE *out)
{
	static const char *const integers[] = { "8", "16", "32", "64" };

	fputs("/* CTF 1.8 */\n\n", out);
	for (size_t i = 0; i < ARRAY_LEN(integers); i++)
		fprintf(out,
			"typealias integer { size = %s; align = %s; signed = false; } := uint%s_t;\n",
			integers[i], integers[i], integers[i]);
	fputs("typealias integer { size = 32; align = 32; signed = true; } := int32_t;\n\n", out);
	fprintf(out, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	print_uuid(out, writer->setup.uuid);
	fprintf(out,
		"\";\n\tbyte_order = %s;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n"
		"\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n\n",
		writer->setup.big_endian ? "be" : "le");
	print_env(writer, out);
	print_clock(writer, out);
	for (uint32_t kind = 0; kind < CTF_STREAM_COUNT; kind++) {
		if (writer->used[kind])
			print_stream(writer, kind, out);
	}
}

static int ctf_writer_put_metadata(const struct ctf_writer *writer)
{
	AUTO_FREE char *path = xasprintf("%s/metadata", writer->folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	int rc;

	if (!out)
		return -errno;
	print_metadata(writer, out);
	rc = ferror(out) ? -EIO : 0;
	errno = 0;
	if (fclose(out) != 0 && rc == 0)
		rc = errno ? -errno : -EIO;
	return rc;
}

int ctf_writer_end(struct ctf_writer *writer, struct err *err)
{
	for (size_t i = 0; i < writer->count; i++)
		ctf_writer_end_packet(writer, writer->streams[i]);
	if (!writer->error)
		writer->error = ctf_writer_put_metadata(writer);
	return writer->error ? err_set(err, writer->error, "cannot write %s: %s", writer->folder,
				       strerror(-writer->error))
			     : 0;
}
