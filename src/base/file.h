/*
 * file.h - what reading files and folders needs everywhere.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

/* Read up to 'bytes' at 'offset' of 'fd'; returns how many there were. */
size_t file_read_at(int fd, uint64_t offset, void *buffer, size_t bytes);

/* The first byte at or behind 'offset' that is no hole in a sparse file; UINT64_MAX = only holes. */
uint64_t file_behind_hole(int fd, uint64_t offset);

/*
 * Open 'path' below the folder 'dir_fd' without ever leaving it: no symbolic link anywhere, no "..",
 * nothing that is mounted. Close-on-exec, and never waiting for the other end of a pipe. Returns a
 * descriptor, or a negative errno: -ELOOP, -EXDEV when something would have led out.
 */
int file_open_beneath(int dir_fd, const char *path, int flags);

/* The entries of folder 'fd', from its beginning; 'fd' stays open. NULL on failure; closedir() it. */
DIR *file_list(int fd);

#endif
