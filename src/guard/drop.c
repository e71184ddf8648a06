/* drop.c - rights given up, and proof that they are gone. */
#include "guard/drop.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/user.h"

#define CAPS_MAX      64
#define EXIT_PAUSE_NS 1000000
#define EXIT_TRIES    1000 /* 1 s at least */

/* --------------------------------------------------------------- descriptors */

static bool is_privileged(int fd, const char *target)
{
	static const char *const prefixes[] = { "anon_inode:bpf", "anon_inode:[perf_event]" };
	int domain = 0, type = 0;
	socklen_t bytes = sizeof(domain);
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (!strncmp(target, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0) {
		bytes = sizeof(type);
		(void)getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes); /* it worked just now */
		return domain == AF_NETLINK || domain == AF_PACKET || type == SOCK_RAW;
	}
	return fstatfs(fd, &fs) == 0 && (fs.f_type == TRACEFS_MAGIC || fs.f_type == DEBUGFS_MAGIC);
}

bool guard_has_root_descriptor(char *out_what, size_t bytes)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		char target[256] = { 0 };

		if (entry->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) > 0)
			found = is_privileged(fd, target);
		if (found)
			snprintf(out_what, bytes, "%s", target);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* ------------------------------------------------------------------- for good */

/* Best effort: what these leave cannot be used without the sets that are emptied below. */
static void empty_outer_sets(void)
{
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int cap = 0; cap < CAPS_MAX; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static int empty_sets(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

/* Does "Name:\t..." of a thread's status say what must be? */
static bool line_is_dropped(const char *line, const struct guard_user *user)
{
	static const char *const sets[] = { "CapInh:", "CapPrm:", "CapEff:", "CapAmb:" };
	unsigned int id[4];

	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		if (!strncmp(line, sets[i], 7))
			return strtoull(line + 7, NULL, 16) == 0;
	}
	if (sscanf(line, "Uid: %u %u %u %u", &id[0], &id[1], &id[2], &id[3]) == 4)
		return id[0] == user->uid && id[1] == id[0] && id[2] == id[0] && id[3] == id[0];
	if (sscanf(line, "Gid: %u %u %u %u", &id[0], &id[1], &id[2], &id[3]) == 4)
		return id[0] == user->gid && id[1] == id[0] && id[2] == id[0] && id[3] == id[0];
	return true;
}

static bool thread_is_dropped(const char *tid, const struct guard_user *user)
{
	AUTO_FREE char *path = xasprintf("/proc/self/task/%s/status", tid);
	AUTO_FILE FILE *in = fopen(path, "re");
	char line[4096];

	if (!in)
		return errno == ENOENT || errno == ESRCH; /* it has ended */
	while (fgets(line, sizeof(line), in)) {
		if (!line_is_dropped(line, user))
			return false;
	}
	return true;
}

static bool look_at_threads(const struct guard_user *user)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	bool all = dir != NULL;

	while (dir && all && (entry = readdir(dir)))
		all = entry->d_name[0] == '.' || thread_is_dropped(entry->d_name, user);
	if (dir)
		closedir(dir);
	return all;
}

/*
 * The C library changes the ids of all threads, and the kernel empties their sets with that. One that
 * was joined is none for the C library, but may still be on its way out in the kernel, as root.
 */
static bool threads_are_dropped(const struct guard_user *user)
{
	const struct timespec pause = { .tv_nsec = EXIT_PAUSE_NS };

	for (int i = 0; i < EXIT_TRIES; i++) {
		if (look_at_threads(user))
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

/* The way back must be shut. */
static bool is_shut(void)
{
	return setresuid((uid_t)-1, 0, (uid_t)-1) < 0 && setresgid((gid_t)-1, 0, (gid_t)-1) < 0 &&
	       setgroups(0, NULL) < 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
	       prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
}

static void set_or_unset(const char *name, const char *value)
{
	if (value)
		(void)setenv(name, value, 1); /* out of memory: a cache is looked for elsewhere */
	else
		(void)unsetenv(name);
}

static void set_names(const struct guard_user *user)
{
	set_or_unset("HOME", user->home);
	set_or_unset("USER", user->name);
	set_or_unset("LOGNAME", user->name);
}

static int change_ids(const struct guard_user *user)
{
	if (setgroups(user->group_count, user->groups) < 0 ||
	    setresgid(user->gid, user->gid, user->gid) < 0 ||
	    setresuid(user->uid, user->uid, user->uid) < 0)
		return -errno;
	return 0;
}

static int change(const struct guard_user *user)
{
	int rc;

	empty_outer_sets();
	rc = change_ids(user);
	if (rc < 0)
		return rc;
	rc = empty_sets();
	if (rc == 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0))
		rc = -errno;
	return rc;
}

int guard_drop(const struct guard_user *user, struct err *err)
{
	char what[256];
	int rc;

	if (guard_has_root_descriptor(what, sizeof(what)))
		return err_set(err, -EBADF, "cannot drop privileges: %s is still open", what);
	rc = change(user);
	if (rc < 0)
		return err_set(err, rc, "cannot become user %u: %s", user->uid, strerror(-rc));
	if (!threads_are_dropped(user) || !is_shut())
		return err_set(err, -EPERM, "cannot become user %u: some privileges remain",
			       user->uid);
	set_names(user);
	return 0;
}

int guard_become(const struct guard_user *user, struct err *err)
{
	int rc = change_ids(user);

	if (rc < 0)
		return err_set(err, rc, "cannot become user %u: %s", user->uid, strerror(-rc));
	if (!threads_are_dropped(user))
		return err_set(err, -EPERM, "cannot become user %u: some privileges remain",
			       user->uid);
	set_names(user);
	set_or_unset("SHELL", user->shell);
	return 0;
}

int guard_become_sudo_user(struct err *err)
{
	struct guard_user user;
	int rc;

	if (!guard_user_find(&user))
		return 0;
	rc = guard_become(&user, err);
	guard_user_fini(&user);
	return rc;
}

int guard_drop_to_sudo_user(struct err *err)
{
	struct guard_user user;
	int rc;

	if (!guard_user_find(&user))
		return 0;
	rc = guard_drop(&user, err);
	guard_user_fini(&user);
	return rc;
}

/* --------------------------------------------------------------- for a moment */

/* The C library's would change all threads. */
static int set_thread_groups(size_t count, const gid_t *groups)
{
	return syscall(SYS_setgroups, count, groups) < 0 ? -errno : 0;
}

static int keep_groups(struct guard_lent *lent)
{
	int count = getgroups(0, NULL);

	if (count < 0)
		return -errno;
	lent->groups = xcalloc((size_t)count + 1, sizeof(*lent->groups));
	count = getgroups(count, lent->groups);
	lent->group_count = count < 0 ? 0 : (size_t)count;
	return count < 0 ? -errno : 0;
}

/* setfsuid() does not tell whether it worked; asking for an invalid one tells what is. */
static bool set_ids(uid_t uid, gid_t gid)
{
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

int guard_lend(const struct guard_user *user, struct guard_lent *out_lent, struct err *err)
{
	struct guard_lent lent = { .is_lent = user != NULL, .uid = geteuid(), .gid = getegid() };
	int rc = 0;

	if (user)
		rc = keep_groups(&lent);
	if (user && rc == 0)
		rc = set_thread_groups(user->group_count, user->groups);
	if (user && rc == 0 && !set_ids(user->uid, user->gid)) {
		rc = -EPERM;
		guard_take_back(&lent);
	}
	if (rc < 0) {
		free(lent.groups);
		return err_set(err, rc, "cannot open files as user %u: %s", user->uid,
			       strerror(-rc));
	}
	*out_lent = lent;
	return 0;
}

void guard_take_back(struct guard_lent *lent)
{
	int saved = errno;

	if (lent->is_lent && (!set_ids(lent->uid, lent->gid) ||
			      set_thread_groups(lent->group_count, lent->groups) < 0))
		abort();
	free(lent->groups);
	*lent = (struct guard_lent){ 0 };
	errno = saved;
}
