/* input.c - cursors in a trace.dat. */
#include "read/tracedat/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define STRING_STEP 256u

const uint8_t dat_magic[DAT_MAGIC_BYTES] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

struct dat_input dat_input_file(const struct dat_file *file, uint64_t at, uint64_t end)
{
	end = end < file->bytes ? end : file->bytes;
	return (struct dat_input){ .file = file, .at = at < end ? at : end, .end = end };
}

struct dat_input dat_input_memory(const struct dat_file *file, const void *memory, uint64_t bytes,
				  uint64_t place)
{
	return (struct dat_input){ .file = file, .memory = memory, .end = bytes, .place = place };
}

/* Look at up to 'bytes' without taking them; returns how many there are. */
static size_t input_look(const struct dat_input *input, void *to, size_t bytes)
{
	if (bytes > dat_left(input))
		bytes = (size_t)dat_left(input);
	if (!input->memory)
		return file_read_at(input->file->fd, input->at, to, bytes);
	memcpy(to, input->memory + input->at, bytes);
	return bytes;
}

bool dat_take(struct dat_input *input, void *to, size_t bytes)
{
	if (bytes > dat_left(input) || input_look(input, to, bytes) < bytes)
		return false;
	input->at += bytes;
	return true;
}

uint64_t dat_number(const struct dat_file *file, const void *from, uint32_t bytes)
{
	const uint8_t *at = from;
	uint64_t number = 0;

	for (uint32_t i = 0; i < bytes; i++)
		number = number << 8 | at[file->big_endian ? i : bytes - 1 - i];
	return number;
}

bool dat_take_number(struct dat_input *input, uint32_t bytes, uint64_t *out_number)
{
	uint8_t raw[8];

	if (bytes > sizeof(raw) || !dat_take(input, raw, bytes))
		return false;
	*out_number = dat_number(input->file, raw, bytes);
	return true;
}

bool dat_take_text(struct dat_input *input, uint64_t bytes, char **out_text)
{
	char *text;

	if (bytes > dat_left(input) || bytes > DAT_SECTION_MAX_BYTES)
		return false;
	text = xmalloc((size_t)bytes + 1);
	if (!dat_take(input, text, (size_t)bytes)) {
		free(text);
		return false;
	}
	text[bytes] = '\0';
	*out_text = text;
	return true;
}

bool dat_skip(struct dat_input *input, uint64_t bytes)
{
	if (bytes > dat_left(input))
		return false;
	input->at += bytes;
	return true;
}

static bool take_words(struct dat_input *input, size_t bytes, char **out_text)
{
	if (!dat_take_text(input, bytes, out_text))
		return false;
	for (char *c = *out_text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	}
	return dat_skip(input, 1);
}

bool dat_take_string(struct dat_input *input, size_t max, char **out_text)
{
	struct dat_input ahead = *input;
	size_t bytes = 0;

	while (bytes < max) {
		char step[STRING_STEP];
		size_t got = input_look(&ahead, step, sizeof(step));
		const char *end = got ? memchr(step, '\0', got) : NULL;

		if (got == 0)
			return false;
		bytes += end ? (size_t)(end - step) : got;
		if (end)
			return bytes <= max && take_words(input, bytes, out_text);
		ahead.at += got;
	}
	return false;
}

int dat_cut(const struct dat_input *input, const char *what, struct err *err)
{
	return err_set(err, -EBADMSG, "%s is cut at byte %llu", what,
		       (unsigned long long)dat_place(input));
}
