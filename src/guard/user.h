/*
 * user.h - the user for whom root works: who ran sudo, run0, pkexec or doas.
 */
#ifndef GUARD_USER_H
#define GUARD_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct guard_user {
	uid_t uid; /* never 0 */
	gid_t gid;
	gid_t *groups; /* owned; what the user's log-in would have */
	size_t group_count;
	char *name; /* owned; NULL = no such user in the system's list */
	char *home; /* owned; NULL = as above */
	char *shell;
};

/*
 * The user who ran sudo or its like, when we are root because of it: SUDO_UID and SUDO_GID, else
 * PKEXEC_UID, else DOAS_USER. Returns false when we are not root, or when nobody else is named. On true, free it with guard_user_fini().
 */
bool guard_user_find(struct guard_user *out_user);

/* The same, ids only. */
bool guard_user_ids(uid_t *out_uid, gid_t *out_gid);

/* From now on we are root for root: in a child, before it executes something. */
void guard_user_forget(void);

void guard_user_fini(struct guard_user *user);

#endif
