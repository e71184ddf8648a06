/*
 * files.h - open the files of processes that belong to other users, and ask who has them.
 */
#ifndef ATTACH_FILES_H
#define ATTACH_FILES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Open 'path' as a process sees it whose root folder is 'root_fd': no link leads out of it, and
 * neither a pipe nor a device is waited for. Returns a descriptor or a negative errno.
 */
int user_open_in(int root_fd, const char *path, int flags);

/* Whose word a path is. */
struct user_owner {
	uint32_t uid, gid;
};

/*
 * user_open_in() of what that user owns, in a folder that is that user's alone. Root opens it with
 * the user's rights: so the path leads where the user could have gone. -EPERM: it is not the user's.
 */
int user_open_of(int root_fd, const char *path, int flags, const struct user_owner *owner);

enum user_use {
	USER_UNUSED,
	USER_IN_USE, /* somebody has it open or mapped, to write */
	USER_USE_UNKNOWN,
};

/*
 * Does anybody write to the open file? Asks for a lease (fcntl(2)), which the kernel refuses
 * while any process, in whatever container, has it open or mapped for writing: so 'fd' must be
 * open for reading only. Unknown where there are no leases, on overlayfs, and of
 * another user's file.
 */
enum user_use user_file_use(int fd);

/*
 * Has the file of packets at 'path' an event? Files that a program has ready for the events to come
 * have none: while all newer ones are so, a file is the one that is written to.
 */
bool user_file_has_events(int folder_fd, const char *name);

/* Does the folder at 'fd' belong to that user, and may nobody else change what is in it? */
bool user_is_own_folder(int fd, uint32_t uid);

/*
 * Make a folder of the name that a process gave its own, made plain, and of another one where that is taken.
 * Returns its name, to be freed, or NULL with errno set.
 */
char *user_make_folder(int at_fd, const char *name);

/* A regular file with one name, open at 'fd'? Its size. */
bool user_is_plain(int fd, uint64_t *out_bytes);

#endif
