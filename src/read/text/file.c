/* file.c - lines out of a buffer that moves over the file. */
#include "read/text/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "read/text/kinds.h"
#include "store/file.h"

#define BUFFER_BYTES (256u << 10)

int text_file_open(struct text_file *file, const char *path, struct err *err)
{
	*file = (struct text_file){ .fd = -1 };
	file->fd = file_open(path, &file->bytes, err);
	if (file->fd < 0)
		return file->fd;
	file->buffer = xmalloc(BUFFER_BYTES);
	return 0;
}

void text_file_close(struct text_file *file)
{
	mem_close_fd(&file->fd);
	free(file->buffer);
	*file = (struct text_file){ .fd = -1 };
}

/* More bytes behind those that are left. False when there are none. */
static bool text_file_refill(struct text_file *file)
{
	size_t left = file->end - file->at, got;

	memmove(file->buffer, file->buffer + file->at, left);
	file->offset += file->at;
	file->at = 0;
	file->end = left;
	if (left == BUFFER_BYTES)
		return false;
	got = file_read_at(file->fd, file->offset + left, file->buffer + left, BUFFER_BYTES - left);
	file->end += got;
	return got > 0;
}

/* Systrace within a script: each line of the trace ends with "\n\". */
static size_t trim(const char *line, size_t bytes)
{
	if (bytes && line[bytes - 1] == '\r')
		bytes--;
	if (bytes >= 3 && memcmp(line + bytes - 3, "\\n\\", 3) == 0)
		bytes -= 3;
	return bytes;
}

/* Up to the next line break, or as much as there is. */
static bool text_file_next_part(struct text_file *file, struct text_piece *piece, bool *out_ended)
{
	const char *start, *end;
	size_t searched = 0;

	for (;;) {
		size_t left = file->end - file->at;

		start = file->buffer + file->at;
		end = left > searched ? memchr(start + searched, '\n', left - searched) : NULL;
		if (end || left > TEXT_MAX_LINE)
			break;
		searched = left;
		if (!text_file_refill(file)) {
			start = file->buffer + file->at;
			break;
		}
	}
	piece->at = start;
	piece->offset = file->offset + file->at;
	piece->bytes = end ? (size_t)(end - start) : file->end - file->at;
	file->at += piece->bytes + (end != NULL);
	*out_ended = end != NULL;
	return piece->bytes || end;
}

bool text_file_next(struct text_file *file, struct text_piece *out_piece)
{
	bool ended, rest;

	do {
		rest = file->passing;
		if (!text_file_next_part(file, out_piece, &ended))
			return false;
		file->passing = !ended;
	} while (rest);
	out_piece->is_cut = out_piece->bytes > TEXT_MAX_LINE;
	if (out_piece->is_cut)
		out_piece->bytes = TEXT_MAX_LINE;
	out_piece->bytes = trim(out_piece->at, out_piece->bytes);
	return true;
}

void text_file_seek(struct text_file *file, uint64_t offset)
{
	file->offset = offset ? offset - 1 : 0;
	file->at = file->end = 0;
	/* What comes before the first line break belongs to a line that began before. */
	file->passing = offset > 0;
}
