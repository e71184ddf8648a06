/*
 * ctf_maker.h - a trace of CTF in a folder of its own, written bit by bit.
 *
 * Numbers are put as TSDL says, in either byte order, by code that shares nothing with the
 * reader: one bit after the other.
 */
#ifndef UNIT_CTF_MAKER_H
#define UNIT_CTF_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ctf_bits {
	uint8_t bytes[65536];
	uint64_t at;
	bool big_endian;
};

static inline void ctf_put_bit(struct ctf_bits *bits, uint64_t value)
{
	uint64_t place = bits->at % 8;

	if (bits->big_endian)
		place = 7 - place;
	bits->bytes[bits->at / 8] |= (uint8_t)((value & 1) << place);
	bits->at++;
}

/* The first bit of a big-endian number is its highest. */
static inline void ctf_put(struct ctf_bits *bits, uint64_t value, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ctf_put_bit(bits, value >> (bits->big_endian ? count - 1 - i : i));
}

static inline void ctf_put_align(struct ctf_bits *bits, uint32_t count)
{
	while (bits->at % count)
		bits->at++;
}

static inline void ctf_put_text(struct ctf_bits *bits, const char *text)
{
	ctf_put_align(bits, 8);
	for (size_t i = 0; i <= strlen(text); i++)
		bits->bytes[bits->at / 8 + i] = (uint8_t)text[i];
	bits->at += (strlen(text) + 1) * 8;
}

struct ctf_made {
	char path[64];
};

static inline void ctf_make_file(const struct ctf_made *made, const char *name, const void *bytes,
				 size_t count)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", made->path, name);
	out = fopen(path, "we");
	if (!out || fwrite(bytes, 1, count, out) != count)
		abort();
	fclose(out);
}

static inline void ctf_make(struct ctf_made *made, const char *metadata)
{
	strcpy(made->path, "/tmp/holdup-ctf-XXXXXX");
	if (!mkdtemp(made->path))
		abort();
	ctf_make_file(made, "metadata", metadata, strlen(metadata));
}

static inline void ctf_unmake(const struct ctf_made *made)
{
	static const char *const names[] = { "metadata", "stream", "second", "third" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", made->path, names[i]);
		(void)unlink(path); /* most tests have some of them */
	}
	(void)rmdir(made->path);
}

#endif
