/*
 * file.h - the lines of a file of any size, one after the other.
 */
#ifndef READ_TEXT_FILE_H
#define READ_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct text_file {
	int fd;
	uint64_t bytes;
	char *buffer;	 /* owned */
	uint64_t offset; /* in the file, of the buffer's start */
	size_t at, end;	 /* in the buffer */
	bool passing;	 /* within a line that was too long */
};

/* A view, valid until the next call. Its line break is not in it. */
struct text_piece {
	const char *at;
	size_t bytes;
	uint64_t offset;
	bool is_cut; /* the line is longer than TEXT_MAX_LINE: this is its start */
};

int text_file_open(struct text_file *file, const char *path, struct err *err);
void text_file_close(struct text_file *file);

/* Go to the first line that begins at or after 'offset'. */
void text_file_seek(struct text_file *file, uint64_t offset);

/* The next line. False at the end. */
bool text_file_next(struct text_file *file, struct text_piece *out_piece);

#endif
