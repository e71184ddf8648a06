/*
 * place.h - folders in which nobody but us (and root) can change anything.
 *
 * Who writes by a path believes all who may rename a folder on the way. For a user these are those
 * to whom the user gave that right. Root believes root alone: each folder from / on must belong to
 * root and be writable by root only, or be sticky, as /tmp is.
 */
#ifndef GUARD_PLACE_H
#define GUARD_PLACE_H

#include <stdbool.h>

struct err;

/*
 * Open the folder at 'path' for writing into it by its descriptor. As root: when all on the way is
 * root's own. Else: when it is ours. Returns a descriptor, or a negative errno with err filled;
 * -EPERM = somebody else could change it.
 */
int guard_open_folder(const char *path, struct err *err);

/*
 * guard_open_folder() of a folder that is made when it is missing, with those above it, in one that
 * is ours as well. It is made 'mode', and write rights of others are taken from one that is there.
 */
int guard_make_folder(const char *path, unsigned int mode, struct err *err);

/* Is the open file a regular one of ours, with no other name? */
bool guard_is_own_file(int fd);

#endif
