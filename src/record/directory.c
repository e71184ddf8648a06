/*
 * directory.c - make the trace directory, or replace an older one.
 *
 * Names are looked up relative to the open directory and symbolic links are not
 * followed, because a recorder with rights works in a directory of a user without.
 */
#include "record/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/tree.h"
#include "guard/drop.h"
#include "guard/give.h"
#include "guard/place.h"
#include "guard/user.h"
#include "store/manifest.h"

#define RESERVE_FILE  ".reserve"
#define RESERVE_BYTES (256 << 10)
#define DEPTH_MAX     4 /* user/PID-BIRTH/file */

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* All that a trace directory holds at its top; anything else is not ours to remove. */
static const char *const top_names[] = { MANIFEST_FILE, "kernel", "user", "timeline" };

static bool directory_is_ours(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(top_names); i++) {
		if (!strcmp(name, top_names[i]))
			return true;
	}
	return !strncmp(name, MANIFEST_FILE ".", strlen(MANIFEST_FILE ".")); /* half-written */
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Look at what is there. Returns the number of entries, or -EEXIST for a foreign one. */
static int directory_look(int dir_fd, bool *out_trace, struct err *err)
{
	DIR *dir = file_list(dir_fd);
	struct dirent *entry;
	int count = 0;

	*out_trace = false;
	if (!dir)
		return err_set(err, -errno, "cannot list it: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		if (is_dot(entry->d_name))
			continue;
		if (!directory_is_ours(entry->d_name)) {
			count = err_set(err, -EEXIST,
					"the directory contains '%s', which is not part of a trace",
					entry->d_name);
			break;
		}
		*out_trace |= !strcmp(entry->d_name, MANIFEST_FILE);
		count++;
	}
	closedir(dir);
	return count;
}

/* Returns how many entries an existing directory holds that may be removed. */
static int check_existing(int dir_fd, bool replace, struct err *err)
{
	bool is_trace;
	int count = directory_look(dir_fd, &is_trace, err);

	if (count <= 0)
		return count;
	if (!is_trace)
		return err_set(err, -EEXIST, "the directory is not empty and not a trace");
	if (!replace)
		return err_set(err, -EEXIST, "a trace is already there");
	return count;
}

/* Returns a descriptor, or a negative errno; -EEXIST when something else is there. */
static int open_there(int at, const char *path, struct err *err)
{
	int fd = openat(at, path, OPEN_DIR);

	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR || errno == ELOOP)
		return err_set(err, -EEXIST, "the path exists and is not a directory");
	return err_set(err, -errno, "cannot open it: %s", strerror(errno));
}

/* Add what was being done to a failure; keeps 'rc', also when nobody wants the text. */
static int preparing(const char *path, int rc, struct err *err)
{
	if (rc < 0)
		(void)err_wrap(err, "preparing the trace directory %s", path);
	return rc;
}

/* Where the trace is made, and the name it gets there. */
static int open_parent(const char *path, bool is_lent, struct directory *out, struct err *err)
{
	AUTO_FREE char *above = xstrdup(path);
	size_t bytes = strlen(above);
	const char *folder = ".";
	char *slash;

	while (bytes > 1 && above[bytes - 1] == '/')
		above[--bytes] = '\0';
	slash = strrchr(above, '/');
	out->name = xstrdup(slash && slash[1] ? slash + 1 : above);
	if (slash) {
		slash[slash == above] = '\0';
		folder = above;
	}
	if (is_lent || !guard_user_ids(&(uid_t){ 0 }, &(gid_t){ 0 }))
		out->parent_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else
		out->parent_fd = guard_open_folder(folder, err);
	if (out->parent_fd == -1)
		return err_set(err, -errno, "cannot open %s: %s", folder, strerror(errno));
	return out->parent_fd < 0 ? out->parent_fd : 0;
}

static int check(const char *path, bool replace, struct err *err)
{
	AUTO_CLOSE int fd = open_there(AT_FDCWD, path, err);
	int rc;

	if (fd == -ENOENT)
		return 0;
	rc = fd < 0 ? fd : check_existing(fd, replace, err);
	return rc < 0 ? rc : 0;
}

/* As the user who ran sudo: what that user may not look at is not told, but seen to later. */
int directory_check(const char *path, bool replace, struct err *err)
{
	struct guard_user user = { 0 };
	bool is_lent = guard_user_find(&user);
	struct guard_lent lent;
	int rc = guard_lend(is_lent ? &user : NULL, &lent, err);

	guard_user_fini(&user);
	if (rc < 0)
		return rc;
	rc = check(path, replace, err);
	guard_take_back(&lent);
	return preparing(path, is_lent && rc == -EACCES ? 0 : rc, err);
}

static bool is_foreign(const char *name)
{
	return !directory_is_ours(name);
}

/* Remove a trace. trace.json goes first: what is left then never looks like a trace. */
static void remove_trace(int dir_fd)
{
	(void)unlinkat(dir_fd, MANIFEST_FILE, 0); /* may be missing */
	tree_empty(dir_fd, is_foreign);
}

/*
 * Two recorders in one directory would mix their files: the first one keeps it until it ends,
 * however it ends. Not every file system has locks.
 */
static int take_lock(struct directory *directory, struct err *err)
{
	if (flock(directory->dir_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	directory->is_new = false; /* it is the other one's now */
	return err_set(err, -EBUSY, "another recording is using the directory");
}

/* From here on nobody but us can change what is in it; who it was taken from gets it back. */
static int directory_take(struct directory *directory, struct err *err)
{
	struct stat st;

	int rc = fstat(directory->dir_fd, &st) < 0 ? -errno
						   : guard_take(directory->dir_fd, GUARD_ANYBODY);

	if (rc < 0)
		return err_set(err, rc, "cannot make it private: %s", strerror(-rc));
	directory->old_uid = st.st_uid;
	directory->old_gid = st.st_gid;
	return 0;
}

/* A folder of root's that holds no trace has a use of its own; what is in it is not for the user. */
static int check_roots(const struct directory *directory, bool replace, struct err *err)
{
	int rc = check_existing(directory->dir_fd, replace, NULL);

	if (rc > 0 || directory->is_new)
		return rc;
	return err_set(err, -EEXIST, "the directory belongs to root and is not a trace");
}

static int empty(struct directory *directory, bool replace, struct err *err)
{
	bool is_trace;
	int rc = take_lock(directory, err);

	if (rc == 0)
		rc = directory->is_roots ? check_roots(directory, replace, err)
					 : check_existing(directory->dir_fd, replace, err);
	if (rc < 0)
		return rc;
	if (directory_take(directory, err) < 0)
		return err->code;
	if (rc > 0)
		remove_trace(directory->dir_fd);
	if (directory_look(directory->dir_fd, &is_trace, NULL) != 0)
		return err_set(err, -EEXIST, "the old trace cannot be removed");
	return 0;
}

/* Find or make it, with the rights of the moment. */
static int open_or_make(struct directory *directory, const char *path, uid_t owner, struct err *err)
{
	bool is_lent = owner != GUARD_ANYBODY;
	int rc = open_parent(path, is_lent, directory, err);
	struct stat st;

	if (rc < 0)
		return rc;
	directory->is_new = mkdirat(directory->parent_fd, directory->name, 0700) == 0;
	if (!directory->is_new && errno != EEXIST)
		return err_set(err, -errno, "cannot make it: %s", strerror(errno));
	rc = open_there(directory->parent_fd, directory->name, err);
	if (rc < 0)
		return rc;
	directory->dir_fd = rc;
	/* What becomes the user's in the end was the user's, or is root's where root alone may be. */
	if (fstat(rc, &st) < 0 || (is_lent && st.st_uid != owner))
		return err_set(err, -EPERM,
			       "the directory does not belong to the user who ran "
			       "sudo");
	return 0;
}

static void forget_parent(struct directory *directory)
{
	mem_close_fd(&directory->parent_fd);
	directory->parent_fd = -1;
	free(directory->name);
	directory->name = NULL;
}

/* A directory of root's alone that is a trace without its end? */
static bool is_unfinished(int fd)
{
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", fd);
	struct manifest manifest = { 0 };
	struct stat st;
	bool is_complete;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022) ||
	    check_existing(fd, true, NULL) < 0 || manifest_read(path, &manifest, NULL) < 0)
		return false;
	is_complete = manifest.complete;
	manifest_fini(&manifest);
	return !is_complete;
}

/* In a folder of the user's: what a recorder that was killed left, before it became the user's. */
static int open_unfinished(struct directory *directory)
{
	int fd = directory->parent_fd < 0 ? -1
					  : openat(directory->parent_fd, directory->name, OPEN_DIR);

	if (!is_unfinished(fd)) {
		mem_close_fd(&fd);
		return -EPERM;
	}
	mem_close_fd(&directory->dir_fd);
	directory->dir_fd = fd;
	return 0;
}

/* With the rights of the user who ran sudo; else as root, where that is safe. */
static int directory_find(struct directory *directory, const char *path, struct err *err)
{
	struct guard_user user = { 0 };
	bool is_lent = guard_user_find(&user);
	struct guard_lent lent;
	int rc = guard_lend(is_lent ? &user : NULL, &lent, err);

	if (rc < 0) {
		guard_user_fini(&user);
		return rc;
	}
	rc = open_or_make(directory, path, is_lent ? user.uid : GUARD_ANYBODY, err);
	guard_take_back(&lent);
	guard_user_fini(&user);
	if (is_lent && (rc == -EACCES || rc == -EPERM) && open_unfinished(directory) == 0)
		return 0;
	if (is_lent && (rc == -EACCES || rc == -EPERM)) {
		forget_parent(directory);
		mem_close_fd(&directory->dir_fd);
		directory->dir_fd = -1;
		directory->is_roots = open_or_make(directory, path, GUARD_ANYBODY, NULL) == 0;
		rc = directory->is_roots ? 0 : rc;
	}
	return rc;
}

static int make_kernel(struct directory *directory, struct err *err)
{
	if (mkdirat(directory->dir_fd, "kernel", 0700) == 0)
		directory->kernel_fd = openat(directory->dir_fd, "kernel", OPEN_DIR);
	if (directory->kernel_fd < 0)
		return err_set(err, -errno, "cannot make kernel/: %s", strerror(errno));
	return 0;
}

/* Its name goes, if it is still its name. */
static void remove_name(const struct directory *directory)
{
	struct stat ours, named;

	if (fstat(directory->dir_fd, &ours) == 0 &&
	    fstatat(directory->parent_fd, directory->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
		(void)unlinkat(directory->parent_fd, directory->name,
			       AT_REMOVEDIR); /* somebody may have put a file there */
}

int directory_open(const char *path, bool replace, struct directory *out_directory, struct err *err)
{
	struct directory directory = DIRECTORY_NONE;
	struct err local = { 0 };
	int rc = directory_find(&directory, path, &local);

	if (rc == 0)
		rc = empty(&directory, replace, &local);
	if (rc == 0)
		rc = make_kernel(&directory, &local);
	if (rc < 0) {
		if (directory.is_new && directory.dir_fd >= 0)
			remove_name(&directory); /* it is empty */
		directory_close(&directory);
		(void)err_set(err, rc, "%s", local.text);
		return preparing(path, rc, err);
	}
	directory.path = xasprintf("/proc/self/fd/%d", directory.dir_fd);
	*out_directory = directory;
	return 0;
}

void directory_discard(struct directory *directory)
{
	if (directory->dir_fd < 0)
		return;
	remove_trace(directory->dir_fd);
	if (directory->is_new)
		remove_name(directory);
	else
		(void)!fchown(directory->dir_fd, directory->old_uid, directory->old_gid);
	directory_close(directory);
}

void directory_reserve(const struct directory *directory)
{
	AUTO_CLOSE int fd = openat(directory->kernel_fd, RESERVE_FILE,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)posix_fallocate(fd, 0, RESERVE_BYTES); /* a help, no need */
}

void directory_release(const struct directory *directory)
{
	(void)unlinkat(directory->kernel_fd, RESERVE_FILE, 0); /* may be gone already */
}

void directory_give(const struct directory *directory, uid_t uid, gid_t gid)
{
	if (directory->dir_fd >= 0)
		guard_give(directory->dir_fd, &(struct guard_give){ uid, gid }, DEPTH_MAX);
}

void directory_close(struct directory *directory)
{
	mem_close_fd(&directory->kernel_fd);
	mem_close_fd(&directory->dir_fd);
	directory->kernel_fd = directory->dir_fd = -1;
	forget_parent(directory);
	free(directory->path);
	directory->path = NULL;
}
