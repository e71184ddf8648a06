/*
 * file.h - open and read the files of a trace directory that anybody may have made.
 */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <stddef.h>
#include <stdint.h>

struct err;

/*
 * Open a regular file for reading. A symbolic link, a pipe or a device at 'path' is
 * refused and never waited for. Returns a descriptor that the caller closes and sets
 * *out_bytes to its size, or a negative errno with err filled.
 */
int file_open(const char *path, uint64_t *out_bytes, struct err *err);

/*
 * Read a whole regular file of at most 'max' bytes. Returns 0 and sets *out_text, with
 * a terminator behind the last byte (free with free()), and its length *out_bytes;
 * or a negative errno with err filled: -EFBIG when it is larger, else as open(2) and
 * read(2) report. A file that shrinks meanwhile gives what is there.
 */
int file_read(const char *path, size_t max, char **out_text, size_t *out_bytes, struct err *err);

/*
 * The path under which root opens files of a trace: file_open() as root follows no link that others
 * could have made, so those on the way to the trace, which its user chose, are followed here, once.
 * For others the path as it is. Free it.
 */
char *file_plain_path(const char *path);

#endif
