/*
 * ftrace.h - the kernel's tracing directory and the small files in it.
 *
 * Paths are relative to an open directory: the tracing directory itself or one
 * instance. The library for this mounts tracefs when it is missing, which would
 * change the system behind the user's back; so this room only looks.
 */
#ifndef RECORD_FTRACE_H
#define RECORD_FTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/*
 * Find the mounted tracing directory that this process may use. Returns 0 and a
 * string to free, or
 *   -ENOENT          none is mounted, or the kernel has none,
 *   -EACCES, -EPERM  it is there and we may not use it.
 * err says which command helps.
 */
int ftrace_find(char **out_path, struct err *err);

/* Write 'text' to a file in one go. Returns 0 or a negative errno with err filled. */
int ftrace_write(int dir_fd, const char *path, const char *text, struct err *err);

/* The whole content of a file, to be freed; NULL when it cannot be read. */
char *ftrace_read(int dir_fd, const char *path, size_t *out_bytes);

bool ftrace_has(int dir_fd, const char *path);

/* The number in a file that holds only a number; 'missing' when there is none. */
uint64_t ftrace_read_u64(int dir_fd, const char *path, uint64_t missing);

#endif
