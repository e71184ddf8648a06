/*
 * drop.h - become the user who ran sudo: for good, or for a moment where files are opened.
 *
 * For good: nothing of root is left in any thread, and no program that is executed gets it back.
 * For a moment: the kernel looks up names with the user's rights, in the calling thread alone.
 *
 * Both need CAP_SETUID and CAP_SETGID, and dropping the bounding set CAP_SETPCAP: who gives rights
 * up before keeps these until then.
 */
#ifndef GUARD_DROP_H
#define GUARD_DROP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct guard_user;

/*
 * Become 'user' for good: ids and groups, no capability in any set, no new privileges by execve(),
 * not to be traced by the user's other processes, $HOME, $USER and $LOGNAME the user's. All that
 * was checked afterwards, for every thread. Descriptors that only root can have (tracefs, BPF,
 * perf, netlink, raw sockets) must be closed before. Returns 0, or a negative errno with err
 * filled: then the process must end without another step, as its rights are unknown.
 */
int guard_drop(const struct guard_user *user, struct err *err);

/*
 * Become 'user' for good with the rights that "sudo -u" gives, for a program that is the user's own
 * business: ids, groups, $HOME, $USER, $LOGNAME and $SHELL; setuid programs still work. For who has
 * one thread, and made nothing yet. Returns as guard_drop().
 */
int guard_become(const struct guard_user *user, struct err *err);

/* guard_become() the user who ran sudo; 0 when there is none, too. */
int guard_become_sudo_user(struct err *err);

/* guard_drop() to the user who ran sudo; 0 when there is none, too. */
int guard_drop_to_sudo_user(struct err *err);

/* What the kernel takes for looking up names in this thread, to be given back. */
struct guard_lent {
	bool is_lent;
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned */
	size_t group_count;
};

/*
 * Look up, make and open files as 'user' from here on, in this thread; NULL changes nothing.
 * Returns 0, or a negative errno with err filled and nothing changed.
 */
int guard_lend(const struct guard_user *user, struct guard_lent *out_lent, struct err *err);

/* End of that. Ends the process when the kernel refuses: its rights would be unknown. Keeps errno. */
void guard_take_back(struct guard_lent *lent);

/* Is there a descriptor that only root can have? Writes what it is. For tests, and for drop. */
bool guard_has_root_descriptor(char *out_what, size_t bytes);

#endif
