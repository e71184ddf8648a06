/*
 * tree.h - remove a folder with all that is in it, whatever others do to it meanwhile.
 *
 * Everything is by descriptor: a symbolic link is removed, never followed, and what is mounted
 * below is not entered. So nothing outside of the folder can be lost, also when its owner, who is
 * not trusted, changes it at the same time.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Remove 'name' of the folder at 'dir_fd': a file, or a folder with what is in it. Returns 0 when
 * it is gone, else a negative errno: something is left (too deep, a mount, no right).
 */
int tree_remove(int dir_fd, const char *name);

/* The same, but no longer than until 'end_ns' of CLOCK_MONOTONIC: what is in it may be any number. */
int tree_remove_until(int dir_fd, const char *name, uint64_t end_ns);

/* Remove what is in the folder at 'fd', of which 'keep' (may be NULL) says what stays. */
void tree_empty(int fd, bool (*keep)(const char *name));

#endif
