/* user.c - who sudo, run0, pkexec or doas say that called, with what the system knows of that user. */
#include "guard/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

#define GROUPS_MAX 65536

static bool read_id(const char *variable, unsigned long *out_id)
{
	const char *text = getenv(variable);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*out_id = strtoul(text, &end, 10);
	return !errno && !*end && *out_id < UINT32_MAX;
}

/* run0 of systemd sets the same. */
static bool named_by_sudo(uid_t *out_uid, gid_t *out_gid)
{
	unsigned long uid, gid;

	if (!read_id("SUDO_UID", &uid) || !read_id("SUDO_GID", &gid))
		return false;
	*out_uid = (uid_t)uid;
	*out_gid = (gid_t)gid;
	return true;
}

/* These two name the user alone; whom the system does not know, they do not let in. */
static bool named_by_others(uid_t *out_uid, gid_t *out_gid)
{
	const char *name = getenv("DOAS_USER");
	const struct passwd *entry = NULL;
	unsigned long uid;

	if (read_id("PKEXEC_UID", &uid))
		entry = getpwuid((uid_t)uid);
	else if (name)
		entry = getpwnam(name);
	if (!entry)
		return false;
	*out_uid = entry->pw_uid;
	*out_gid = entry->pw_gid;
	return true;
}

bool guard_user_ids(uid_t *out_uid, gid_t *out_gid)
{
	uid_t uid = 0;
	gid_t gid = 0;

	if (geteuid() != 0 || (!named_by_sudo(&uid, &gid) && !named_by_others(&uid, &gid)) ||
	    uid == 0)
		return false;
	*out_uid = uid;
	*out_gid = gid;
	return true;
}

void guard_user_forget(void)
{
	static const char *const names[] = { "SUDO_UID", "PKEXEC_UID", "DOAS_USER" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unsetenv(names[i]); /* it fails for odd names alone */
}

static void find_groups(struct guard_user *user)
{
	int count = 64;

	user->groups = xcalloc((size_t)count, sizeof(*user->groups));
	while (getgrouplist(user->name, user->gid, user->groups, &count) < 0 && count <= GROUPS_MAX)
		user->groups = xrealloc(user->groups, (size_t)count, sizeof(*user->groups));
	user->group_count = count <= GROUPS_MAX ? (size_t)count : 0;
}

bool guard_user_find(struct guard_user *out_user)
{
	struct guard_user user = { 0 };
	const struct passwd *entry;

	if (!guard_user_ids(&user.uid, &user.gid))
		return false;
	entry = getpwuid(user.uid);
	if (entry) {
		user.name = xstrdup(entry->pw_name);
		user.home = xstrdup(entry->pw_dir);
		user.shell = xstrdup(entry->pw_shell);
		find_groups(&user);
	}
	if (!user.group_count) {
		free(user.groups);
		user.groups = xcalloc(1, sizeof(*user.groups));
		user.groups[0] = user.gid;
		user.group_count = 1;
	}
	*out_user = user;
	return true;
}

void guard_user_fini(struct guard_user *user)
{
	free(user->groups);
	free(user->name);
	free(user->home);
	free(user->shell);
	*user = (struct guard_user){ 0 };
}
