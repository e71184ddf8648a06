/*
 * packet_maker.h - folders of libholdup's files, packet by packet.
 */
#ifndef UNIT_USER_PACKET_MAKER_H
#define UNIT_USER_PACKET_MAKER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/user.h"

/* Events of one kind, "shop:paid", with a 64-bit field. 'clock' is the block's content. */
#define MADE_METADATA(clock, env, more)                                                          \
	"/* CTF 1.8 */\n\n"                                                                      \
	"typealias integer { size = 16; align = 8; } := uint16_t;\n"                             \
	"typealias integer { size = 32; align = 8; } := uint32_t;\n"                             \
	"typealias integer { size = 64; align = 8; } := uint64_t;\n"                             \
	"trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n"                              \
	"\tpacket.header := struct { uint32_t magic; integer { size = 8; align = 8; } uuid[16];" \
	" uint32_t stream_id; uint64_t stream_instance_id; };\n};\n\n"                           \
	"env {\n\ttracer_name = \"holdup\";\n\tprocname = \"a \\\"shop\\\"\";\n\tvpid = 7;\n"    \
	"\tmode = \"flight\";\n" env "};\n\n"                                                    \
	"clock {\n" clock "};\n\n"                                                               \
	"stream {\n\tid = 0;\n\tpacket.context := struct {"                                      \
	" integer { size = 64; align = 512; } content_size; uint64_t packet_size;"               \
	" integer { size = 64; align = 8; map = clock.counter.value; } timestamp_begin;"         \
	" uint64_t events_discarded; uint64_t packet_seq_num; uint32_t cpu_id; };\n"             \
	"\tevent.header := struct { integer { size = 16; align = 64; } id;"                      \
	" integer { size = 48; align = 8; map = clock.counter.value; } timestamp; };\n"          \
	"\tevent.context := struct { integer { size = 32; align = 8; signed = true; } _vtid;"    \
	" };\n};\n\n"                                                                            \
	"event {\n\tid = 1;\n\tname = \"shop:paid\";\n\tfields := struct { uint64_t order; };"   \
	"\n};\n\n" more

#define MADE_COUNTER "\tname = counter;\n\tfreq = 1000000000;\n"

struct made_packet {
	struct user_packet head;
	uint8_t events[USER_PACKET - sizeof(struct user_packet)];
};

static inline void packet_init(struct made_packet *packet, uint32_t cpu, uint64_t number)
{
	memset(packet, 0, sizeof(*packet));
	packet->head = (struct user_packet){
		.magic = USER_MAGIC,
		.instance = cpu,
		.reserved = USER_HEAD,
		.committed = USER_HEAD,
		.content_bits = USER_HEAD * 8,
		.packet_bits = (uint64_t)USER_PACKET * 8,
		.begin = USER_NOT_BEGUN,
		.number = number,
		.cpu = cpu,
	};
}

/* An event, as the library writes it: 24 bytes with its padding. */
static inline void packet_event(struct made_packet *packet, uint64_t time, int32_t tid,
				uint64_t order)
{
	uint64_t at = (packet->head.content_bits / 8 + 7) / 8 * 8, head = time << 16 | 1;
	uint8_t *bytes = (uint8_t *)packet + at;

	if (packet->head.begin == USER_NOT_BEGUN)
		packet->head.begin = time;
	memcpy(bytes, &head, 8);
	memcpy(bytes + 8, &tid, 4);
	memcpy(bytes + 12, &order, 8);
	packet->head.content_bits = (at + 20) * 8;
}

static inline void packets_write(const char *dir, const char *name,
				 const struct made_packet *packets, size_t count)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wb");
	if (!file || fwrite(packets, sizeof(*packets), count, file) != count || fclose(file) != 0)
		abort();
}

static inline void text_write(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wb");
	if (!file || fwrite(text, 1, strlen(text), file) != strlen(text) || fclose(file) != 0)
		abort();
}

static inline int64_t size_of(const char *dir, const char *name)
{
	char path[256];
	struct stat stat;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return lstat(path, &stat) < 0 ? -1 : (int64_t)stat.st_size;
}

#endif
