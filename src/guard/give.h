/*
 * give.h - a folder is taken from a user, filled by root, and given back.
 *
 * Between guard_take() and guard_give() nobody but root changes what is in it, whoever owns the
 * folders above: their owner may rename it, no more, and who fills it does so by its descriptor.
 */
#ifndef GUARD_GIVE_H
#define GUARD_GIVE_H

#include <sys/types.h>

struct guard_give {
	uid_t uid;
	gid_t gid;
};

/*
 * Make the folder at 'fd', which must belong to 'owner' (GUARD_ANYBODY: to whom it may), ours alone.
 * As root it becomes root's. What is in it already is the owner's work: see that it is empty before
 * anything is made in it. Returns 0 or a negative errno; -EPERM = it is another one's.
 */
int guard_take(int fd, uid_t owner);

#define GUARD_ANYBODY ((uid_t)-1)

/* guard_take() of a folder that was just made: -EEXIST when something is in it. */
int guard_take_new(int fd, uid_t owner);

/*
 * Make the folder and what is in it the user's, 'depth' folders deep. What somebody else could have
 * put there meanwhile is left alone: links, files that have another name elsewhere, files of
 * others than the owner of their folder.
 */
void guard_give(int dir_fd, const struct guard_give *give, int depth);

#endif
