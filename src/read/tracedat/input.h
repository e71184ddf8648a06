/*
 * input.h - take numbers and texts out of a trace.dat, from the file or from a section
 * that was unpacked.
 *
 * A cursor never leaves its range: what does not fit is not taken, and the caller says what
 * was missing and where, with dat_cut().
 */
#ifndef READ_TRACEDAT_INPUT_H
#define READ_TRACEDAT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/tracedat/zip.h"

struct err;

/* Above this a section of formats, symbols, options ... is refused. */
#define DAT_SECTION_MAX_BYTES ((uint64_t)48 << 20)

/* The same of all that are unpacked: sections may overlap. */
#define DAT_UNPACKED_MAX_BYTES ((uint64_t)256 << 20)

struct dat_file {
	int fd;
	uint64_t unpacked; /* bytes of sections so far */
	uint64_t bytes;
	bool big_endian;
	enum dat_zip_kind zip;
	uint64_t cut_place; /* of the first section that ends too early; 0 = there is none */
};

/* The section at 'place' ends before what it should have. */
static inline void dat_file_cut(struct dat_file *file, uint64_t place)
{
	if (!file->cut_place)
		file->cut_place = place;
}

struct dat_input {
	const struct dat_file *file;
	const uint8_t *memory; /* NULL = the file itself */
	uint64_t at, end;      /* in the file, or in memory */
	uint64_t place;	       /* in the file: of the block that was unpacked */
};

/* All of the file from 'at' to 'end', which is cut to the file. */
struct dat_input dat_input_file(const struct dat_file *file, uint64_t at, uint64_t end);

/* A part of memory that came from 'place' of the file. */
struct dat_input dat_input_memory(const struct dat_file *file, const void *memory, uint64_t bytes,
				  uint64_t place);

static inline uint64_t dat_left(const struct dat_input *input)
{
	return input->end - input->at;
}

/* The place in the file, for messages. */
static inline uint64_t dat_place(const struct dat_input *input)
{
	return input->memory ? input->place : input->at;
}

/* Take 'bytes'. False when so many are not there: nothing is taken. */
bool dat_take(struct dat_input *input, void *to, size_t bytes);

bool dat_take_number(struct dat_input *input, uint32_t bytes, uint64_t *out_number);

/*
 * Up to a zero byte, which is taken, too; control characters become '?', since messages name
 * what is in a file. False when there is none within 'max' bytes. Free it.
 */
bool dat_take_string(struct dat_input *input, size_t max, char **out_text);

/* 'bytes' of text, with a terminator behind it. False when they are not there. Free it. */
bool dat_take_text(struct dat_input *input, uint64_t bytes, char **out_text);

bool dat_skip(struct dat_input *input, uint64_t bytes);

/* "WHAT is cut at byte N", and -EBADMSG. */
int dat_cut(const struct dat_input *input, const char *what, struct err *err);

/* A number of the file at 'from'. */
uint64_t dat_number(const struct dat_file *file, const void *from, uint32_t bytes);

/* "\x17\x08Dtracing": what every trace.dat begins with. */
#define DAT_MAGIC_BYTES 10
extern const uint8_t dat_magic[DAT_MAGIC_BYTES];

#endif
