/*
 * file.h - what reading files and folders needs everywhere.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read up to 'bytes' at 'offset' of 'fd'; returns how many there were. */
size_t file_read_at(int fd, uint64_t offset, void *buffer, size_t bytes);

/*
 * The next bytes of 'fd', up to 'bytes' or to its end. Returns how many there were; a negative errno when
 * there was none before it failed.
 */
ssize_t file_read_next(int fd, void *buffer, size_t bytes);

/* All of it. Returns 0, or a negative errno: -EIO where nothing more is taken. */
int file_write(int fd, const void *bytes, size_t count);
int file_write_at(int fd, uint64_t offset, const void *bytes, size_t count);

/* The first byte at or behind 'offset' that is no hole in a sparse file; UINT64_MAX = only holes. */
uint64_t file_behind_hole(int fd, uint64_t offset);

/*
 * Open 'path' below the folder 'dir_fd' without ever leaving it: no symbolic link anywhere, no "..",
 * nothing that is mounted. Close-on-exec, and never waiting for the other end of a pipe. Returns a
 * descriptor, or a negative errno: -ELOOP, -EXDEV when something would have led out.
 */
int file_open_beneath(int dir_fd, const char *path, int flags);

/*
 * Open a regular file at an absolute path for reading, which is no symbolic link: what opening another thing could do is
 * not done. Returns a descriptor, or a negative errno: -EBADMSG = it is another thing.
 */
int file_open_plain(const char *path);

/* The entries of folder 'fd', from its beginning; 'fd' stays open. NULL on failure; closedir() it. */
DIR *file_list(int fd);

#endif
