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
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/manifest.h"

#define RESERVE_FILE  ".reserve"
#define RESERVE_BYTES (256 << 10)
#define DEPTH_MAX     4 /* user/PID-BIRTH/file */

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* All that a trace directory holds at its top; anything else is not ours to remove. */
static const char *const top_names[] = { MANIFEST_FILE, "kernel", "user", "timeline" };

static bool is_ours(const char *name)
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
static int look(int dir_fd, bool *out_trace, struct err *err)
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
		if (!is_ours(entry->d_name)) {
			count = err_set(err, -EEXIST,
					"it is not empty and holds '%s', "
					"which is not part of a trace",
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
	int count = look(dir_fd, &is_trace, err);

	if (count <= 0)
		return count;
	if (!is_trace)
		return err_set(err, -EEXIST, "it is not empty and not a trace");
	if (!replace)
		return err_set(err, -EEXIST, "a trace is already there");
	return count;
}

/* Returns a descriptor, or a negative errno; -EEXIST when something else is there. */
static int open_there(const char *path, struct err *err)
{
	int fd = open(path, OPEN_DIR);

	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR || errno == ELOOP)
		return err_set(err, -EEXIST, "it is there and is not a directory");
	return err_set(err, -errno, "cannot open it: %s", strerror(errno));
}

/* Add what was being done to a failure; keeps 'rc', also when nobody wants the text. */
static int preparing(const char *path, int rc, struct err *err)
{
	if (rc < 0)
		(void)err_wrap(err, "preparing the trace directory %s", path);
	return rc;
}

int directory_check(const char *path, bool replace, struct err *err)
{
	AUTO_CLOSE int fd = open_there(path, err);
	int rc;

	if (fd == -ENOENT)
		return 0;
	rc = fd < 0 ? fd : check_existing(fd, replace, err);
	return preparing(path, rc < 0 ? rc : 0, err);
}

static void remove_tree(int dir_fd, const char *name, int depth)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, OPEN_DIR);
	DIR *dir = fd < 0 || depth == 0 ? NULL : file_list(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (is_dot(entry->d_name))
			continue;
		if (unlinkat(fd, entry->d_name, 0) < 0)
			remove_tree(fd, entry->d_name, depth - 1);
	}
	if (dir)
		closedir(dir);
	(void)unlinkat(dir_fd, name, AT_REMOVEDIR); /* what stays is seen by the caller */
}

/* Remove a trace. trace.json goes first: what is left then never looks like a trace. */
static void remove_trace(int dir_fd)
{
	DIR *dir;
	struct dirent *entry;

	(void)unlinkat(dir_fd, MANIFEST_FILE, 0); /* may be missing */
	dir = file_list(dir_fd);
	while (dir && (entry = readdir(dir))) {
		if (is_dot(entry->d_name) || !is_ours(entry->d_name))
			continue;
		if (unlinkat(dir_fd, entry->d_name, 0) < 0)
			remove_tree(dir_fd, entry->d_name, DEPTH_MAX);
	}
	if (dir)
		closedir(dir);
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
	return err_set(err, -EBUSY, "another recording into it is under way");
}

static int open_existing(struct directory *directory, bool replace, struct err *err)
{
	struct stat st;
	bool is_trace;
	int rc;

	rc = open_there(directory->path, err);
	if (rc < 0)
		return rc;
	directory->dir_fd = rc;
	rc = take_lock(directory, err);
	if (rc < 0)
		return rc;
	rc = check_existing(directory->dir_fd, replace, err);
	if (rc < 0)
		return rc;
	if (fstat(directory->dir_fd, &st) < 0 || fchmod(directory->dir_fd, 0700) < 0)
		return err_set(err, -errno, "cannot make it private: %s", strerror(errno));
	directory->old_uid = st.st_uid;
	directory->old_gid = st.st_gid;
	/* So that all we give away later was made by us. Not every file system has owners. */
	if (geteuid() == 0)
		(void)fchown(directory->dir_fd, 0, 0);
	if (rc > 0)
		remove_trace(directory->dir_fd);
	if (look(directory->dir_fd, &is_trace, NULL) != 0)
		return err_set(err, -EEXIST, "the old trace cannot be removed");
	return 0;
}

static int make_kernel(struct directory *directory, struct err *err)
{
	if (mkdirat(directory->dir_fd, "kernel", 0700) == 0)
		directory->kernel_fd = openat(directory->dir_fd, "kernel", OPEN_DIR);
	if (directory->kernel_fd < 0)
		return err_set(err, -errno, "cannot make kernel/: %s", strerror(errno));
	return 0;
}

int directory_open(const char *path, bool replace, struct directory *out_directory, struct err *err)
{
	struct directory directory = DIRECTORY_NONE;
	int rc = 0;

	directory.path = path;
	directory.is_new = mkdir(path, 0700) == 0;
	if (!directory.is_new && errno != EEXIST)
		rc = err_set(err, -errno, "cannot make it: %s", strerror(errno));
	if (rc == 0)
		rc = open_existing(&directory, replace, err);
	if (rc == 0)
		rc = make_kernel(&directory, err);
	if (rc < 0) {
		if (directory.is_new)
			(void)rmdir(path); /* it is empty */
		directory_close(&directory);
		return preparing(path, rc, err);
	}
	*out_directory = directory;
	return 0;
}

void directory_discard(struct directory *directory)
{
	if (directory->dir_fd < 0)
		return;
	remove_trace(directory->dir_fd);
	if (directory->is_new)
		(void)rmdir(directory->path); /* somebody may have put a file there */
	else
		(void)fchown(directory->dir_fd, directory->old_uid, directory->old_gid);
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

static void give_file(int dir_fd, const char *name, uid_t uid, gid_t gid)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return;
	(void)fchownat(fd, "", uid, gid, AT_EMPTY_PATH); /* not every file system has owners */
}

static void give_tree(int dir_fd, uid_t uid, gid_t gid, int depth)
{
	DIR *dir = file_list(dir_fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		AUTO_CLOSE int fd =
			is_dot(entry->d_name) ? -1 : openat(dir_fd, entry->d_name, OPEN_DIR);

		if (fd >= 0 && depth > 0)
			give_tree(fd, uid, gid, depth - 1);
		else if (!is_dot(entry->d_name))
			give_file(dir_fd, entry->d_name, uid, gid);
	}
	if (dir)
		closedir(dir);
	(void)fchown(dir_fd, uid, gid); /* last: until then the user cannot change it */
}

void directory_give(const struct directory *directory, uid_t uid, gid_t gid)
{
	if (directory->dir_fd >= 0)
		give_tree(directory->dir_fd, uid, gid, DEPTH_MAX);
}

void directory_close(struct directory *directory)
{
	mem_close_fd(&directory->kernel_fd);
	mem_close_fd(&directory->dir_fd);
	directory->kernel_fd = directory->dir_fd = -1;
}
