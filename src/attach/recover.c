/*
 * recover.c - find the folders of processes, and copy them.
 *
 * A process that died has left its control file, which names its folder, or at least the
 * folder itself, which ends in its number.
 */
#include "attach/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <holdup/trace_hot.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/tree.h"
#include "guard/drop.h"
#include "guard/give.h"
#include "guard/place.h"
#include "guard/user.h"
#include "attach/control.h"
#include "attach/files.h"
#include "wire/user.h"

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* Where copies go. */
struct target {
	const char *path;
	int fd;
	bool is_new;
	bool is_taken; /* from the user who ran sudo */
	struct user_recovery *recovery;
};

static bool is_empty(int fd)
{
	DIR *dir = file_list(fd);
	struct dirent *entry;
	bool empty = dir != NULL;

	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	return empty;
}

/* With the rights of the user who ran sudo. */
static int find_target(struct target *target, struct err *err)
{
	target->is_new = mkdir(target->path, 0700) == 0;
	if (!target->is_new && errno != EEXIST)
		return err_set(err, -errno, "cannot create %s: %s", target->path, strerror(errno));
	target->fd = open(target->path, OPEN_DIR | O_NOFOLLOW);
	if (target->fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", target->path, strerror(errno));
	return 0;
}

static int open_target(struct target *target, struct err *err)
{
	struct guard_user user = { 0 };
	bool is_lent = guard_user_find(&user);
	struct guard_lent lent;
	int rc = guard_lend(is_lent ? &user : NULL, &lent, err);
	uid_t uid;

	if (rc == 0) {
		rc = find_target(target, err);
		guard_take_back(&lent);
	}
	uid = user.uid;
	guard_user_fini(&user);
	if (rc < 0)
		return rc;
	if (!is_empty(target->fd))
		return err_set(err, -EEXIST, "%s exists and is not empty", target->path);
	rc = is_lent ? guard_take_new(target->fd, uid) : 0;
	target->is_taken = is_lent && rc == 0;
	return rc < 0 ? err_set(err, rc, "cannot use %s: %s", target->path, strerror(-rc)) : 0;
}

static void remove_target(const struct target *target)
{
	struct guard_user user = { 0 };
	bool is_lent = guard_user_find(&user);
	struct guard_lent lent;

	if (guard_lend(is_lent ? &user : NULL, &lent, NULL) == 0) {
		(void)rmdir(target->path); /* it may have been put elsewhere */
		guard_take_back(&lent);
	}
	guard_user_fini(&user);
}

static void close_target(struct target *target)
{
	struct guard_give give;

	if (target->is_taken && guard_user_ids(&give.uid, &give.gid))
		guard_give(target->fd, &give, 2);
	/* A folder in which nothing came is none of the user's wish. */
	if (target->is_new && target->recovery->count == 0)
		remove_target(target);
	mem_close_fd(&target->fd);
}

static void recover(struct target *target, int fd, const char *name)
{
	struct user_recovery *recovery = target->recovery;
	struct user_recovered item = { .name = user_make_folder(target->fd, name) };
	AUTO_CLOSE int to = -1;
	struct err why = { 0 };
	int rc;

	if (item.name)
		to = openat(target->fd, item.name, OPEN_DIR | O_NOFOLLOW);
	rc = to < 0 ? err_set(&why, -errno, "cannot create a directory: %s", strerror(errno))
		    : user_trace_copy(fd, to, NULL, &item.sum, &why);
	if (rc < 0) {
		item.problem = xstrdup(why.text);
		if (item.name)
			(void)tree_remove(target->fd, item.name); /* seen by the user if it stays */
	}
	if (!item.name)
		item.name = xstrdup(name);
	recovery->items = vec_room(recovery->items, recovery->count, &recovery->cap, sizeof(item));
	recovery->items[recovery->count++] = item;
}

struct below {
	struct target *target;
	const char *top; /* the name of the folder that was asked for */
};

static void recover_below(void *context, int parent_fd, const char *name)
{
	struct below *below = context;
	AUTO_CLOSE int fd = openat(parent_fd, name, OPEN_DIR | O_NOFOLLOW);

	if (fd >= 0)
		recover(below->target, fd, strcmp(name, ".") == 0 ? below->top : name);
}

/*
 * With the rights of the user who ran sudo; what that user may not open, only where nobody but root
 * could have put it. Returns a descriptor or a negative errno.
 */
static int open_source(const char *path)
{
	struct guard_user user = { 0 };
	bool is_lent = guard_user_find(&user);
	struct guard_lent lent;
	int fd = -EPERM;

	if (guard_lend(is_lent ? &user : NULL, &lent, NULL) == 0) {
		fd = open(path, OPEN_DIR);
		fd = fd < 0 ? -errno : fd;
		guard_take_back(&lent);
	}
	guard_user_fini(&user);
	if (fd == -EACCES && is_lent && (fd = guard_open_folder(path, NULL)) < 0)
		fd = -EACCES;
	return fd;
}

int user_recover_dir(const char *path, const char *out, struct user_recovery *out_recovery,
		     struct err *err)
{
	AUTO_CLOSE int fd = open_source(path);
	AUTO_FREE char *whole = NULL;
	struct target target = { .path = out, .fd = -1, .recovery = out_recovery };
	struct below below = { .target = &target, .top = "trace" };
	int rc;

	*out_recovery = (struct user_recovery){ 0 };
	if (fd < 0)
		return err_set(err, fd, "cannot open %s: %s", path, strerror(-fd));
	rc = open_target(&target, err);
	if (rc < 0) {
		close_target(&target);
		return rc;
	}
	whole = realpath(path, NULL);
	if (whole && strrchr(whole, '/')[1])
		below.top = strrchr(whole, '/') + 1;
	out_recovery->is_cut = !user_traces_each(fd, recover_below, &below);
	close_target(&target);
	if (out_recovery->count == 0)
		return err_set(err, -ENOENT, "no trace of a process in %s", path);
	return 0;
}

/* ------------------------------------------------------------------ processes */

/* Folders that may be those of a process that died. */
struct candidate {
	char *path; /* owned */
	struct user_owner owner;
};

struct candidates {
	struct candidate *items; /* owned */
	size_t count, cap;
};

/* A runtime folder, which is its owner's alone. */
struct runtime {
	const char *path;
	int fd;
	struct user_owner owner;
};

static void add_candidate(struct candidates *candidates, char *path, const struct user_owner *owner)
{
	candidates->items = vec_room(candidates->items, candidates->count, &candidates->cap,
				     sizeof(*candidates->items));
	candidates->items[candidates->count++] =
		(struct candidate){ .path = path, .owner = *owner };
}

/* What a control file says, if it is still there. */
static void add_by_control(struct candidates *candidates, const struct runtime *runtime,
			   const char *name)
{
	AUTO_FREE struct holdup_control_ *control = xcalloc(1, sizeof(*control));
	AUTO_CLOSE int fd = openat(runtime->fd, name,
				   O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	uint64_t bytes;

	if (fd < 0 || !user_is_plain(fd, &bytes) || fstat(fd, &st) < 0 ||
	    st.st_uid != runtime->owner.uid || (st.st_mode & 022) ||
	    pread(fd, control, sizeof(*control), 0) != (ssize_t)sizeof(*control) ||
	    control->magic != USER_CONTROL_MAGIC || control->abi != HOLDUP_ABI_)
		return;
	control->trace[sizeof(control->trace) - 1] = '\0';
	if (control->trace[0] == '/')
		add_candidate(candidates, xstrdup(control->trace), &runtime->owner);
}

/* "comm-PID", "comm-PID-2" */
static bool is_of_pid(const char *name, int32_t pid)
{
	AUTO_FREE char *number = xasprintf("-%d", pid);
	const char *at = name;

	while ((at = strstr(at, number))) {
		const char *end = at + strlen(number);

		if (!*end || (*end == '-' && strspn(end + 1, "0123456789") == strlen(end + 1)))
			return true;
		at++;
	}
	return false;
}

/* Of 'uid', or of anybody when it is UINT64_MAX. */
static DIR *open_runtime(struct runtime *runtime, uint64_t uid)
{
	int fd = open(runtime->path, OPEN_DIR | O_NOFOLLOW);
	DIR *dir = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && (uid == UINT64_MAX || uid == st.st_uid) &&
	    user_is_own_folder(fd, st.st_uid))
		dir = fdopendir(fd);
	if (!dir) {
		mem_close_fd(&fd);
		return NULL;
	}
	runtime->fd = fd;
	runtime->owner = (struct user_owner){ st.st_uid, st.st_gid };
	return dir;
}

/* What is of that process in a runtime folder: its control file says where it logged, or a name. */
static void add_of_pid(struct candidates *candidates, const char *path, uint64_t uid, int32_t pid)
{
	struct runtime runtime = { .path = path };
	DIR *dir = open_runtime(&runtime, uid);
	struct dirent *entry;
	uint32_t control_pid;

	while (dir && (entry = readdir(dir))) {
		if (user_control_pid(entry->d_name, &control_pid) && control_pid == (uint32_t)pid)
			add_by_control(candidates, &runtime, entry->d_name);
		else if (is_of_pid(entry->d_name, pid))
			add_candidate(candidates, xasprintf("%s/%s", path, entry->d_name),
				      &runtime.owner);
	}
	if (dir)
		closedir(dir);
}

static void find_dead(struct candidates *candidates, int32_t pid)
{
	static const char *const places[] = { "/dev/shm", "/tmp" };
	const char *given = getenv("HOLDUP_RUNTIME_DIR");

	if (given && *given == '/')
		add_of_pid(candidates, given, UINT64_MAX, pid);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		DIR *dir = opendir(places[i]);
		struct dirent *entry;
		uint64_t uid;

		while (dir && (entry = readdir(dir))) {
			AUTO_FREE char *runtime = xasprintf("%s/%s", places[i], entry->d_name);

			if (strncmp(entry->d_name, "holdup-", 7) != 0 ||
			    !text_parse_u64(entry->d_name + 7, &uid) ||
			    (geteuid() != 0 && uid != geteuid()))
				continue;
			add_of_pid(candidates, runtime, uid, pid);
		}
		if (dir)
			closedir(dir);
	}
}

/* Each folder once: the control file and the name may say the same. */
static void recover_dead(struct target *target, int32_t pid)
{
	AUTO_CLOSE int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct candidates candidates = { 0 };

	find_dead(&candidates, pid);
	for (size_t i = 0; i < candidates.count; i++) {
		const struct candidate *item = &candidates.items[i];
		AUTO_CLOSE int fd = user_open_of(root_fd, item->path,
						 O_RDONLY | O_DIRECTORY | O_NOFOLLOW, &item->owner);
		bool again = false;

		for (size_t j = 0; j < i; j++)
			again |= strcmp(item->path, candidates.items[j].path) == 0;
		if (fd >= 0 && !again)
			recover(target, fd, strrchr(item->path, '/') + 1);
	}
	for (size_t i = 0; i < candidates.count; i++)
		free(candidates.items[i].path);
	free(candidates.items);
}

static int recover_living(struct target *target, const struct user_process *process,
			  struct err *err)
{
	const char *failed, *trace = user_process_trace(process, &failed);
	AUTO_CLOSE int fd = -1;

	if (failed) {
		AUTO_FREE char *safe = text_escaped(failed);

		return err_set(err, -ENOENT, "process %d says: %s", process->proc.pid, safe);
	}
	if (trace)
		fd = user_process_open_folder(process, trace);
	if (fd < 0)
		return err_set(err, trace ? fd : -ENOENT, "process %d has no trace",
			       process->proc.pid);
	recover(target, fd, strrchr(trace, '/') + 1);
	return 0;
}

int user_recover_pid(int32_t pid, const char *out, struct user_recovery *out_recovery,
		     struct err *err)
{
	struct target target = { .path = out, .fd = -1, .recovery = out_recovery };
	struct user_process *process = NULL;
	int rc;

	*out_recovery = (struct user_recovery){ 0 };
	rc = user_process_open(pid, &process, err);
	if (rc < 0 && rc != -ESRCH && rc != -ENOENT)
		return rc;
	rc = open_target(&target, err);
	if (rc == 0 && process)
		rc = recover_living(&target, process, err);
	else if (rc == 0)
		recover_dead(&target, pid);
	close_target(&target);
	user_process_close(process);
	if (rc == 0 && out_recovery->count == 0)
		rc = err_set(err, -ENOENT, "process %d has no trace and left none", pid);
	return rc;
}

void user_recovery_fini(struct user_recovery *recovery)
{
	for (size_t i = 0; i < recovery->count; i++) {
		free(recovery->items[i].name);
		free(recovery->items[i].problem);
	}
	free(recovery->items);
	*recovery = (struct user_recovery){ 0 };
}
