/*
 * watch_keep.c - give up what is older than some seconds.
 *
 * Once a second it is noted how long the files of the CPUs are, and which files of programs
 * have newer ones behind them: all in those happened before. When that moment is old
 * enough, it goes.
 */
#include "cli/watch_keep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "attach/files.h"

#define NOTE_NS	  1000000000u
#define BLOCK	  4096u
#define DEPTH_MAX 2

/* All in this file up to 'bytes' (0 = the whole file, it goes) is older than 'time_ns'. */
struct old {
	char *path; /* owned; below the folder of the recording */
	uint64_t bytes;
	uint64_t time_ns;
};

struct watch_keep {
	char *dir;  /* owned */
	int dir_fd; /* nothing is opened or removed but below it; -1 = it is not there yet */
	uint64_t keep_ns, noted_ns;
	struct old *olds; /* owned; by time */
	size_t count, cap;
};

struct watch_keep *watch_keep_new(const char *dir, uint64_t keep_ns)
{
	struct watch_keep *keep = xcalloc(1, sizeof(*keep));

	keep->dir = xstrdup(dir);
	keep->keep_ns = keep_ns;
	keep->dir_fd = -1;
	return keep;
}

void watch_keep_free(struct watch_keep *keep)
{
	if (!keep)
		return;
	for (size_t i = 0; i < keep->count; i++)
		free(keep->olds[i].path);
	free(keep->olds);
	mem_close_fd(&keep->dir_fd);
	free(keep->dir);
	free(keep);
}

static bool watch_keep_is_noted(const struct watch_keep *keep, const char *path)
{
	for (size_t i = 0; i < keep->count; i++) {
		if (!keep->olds[i].bytes && strcmp(keep->olds[i].path, path) == 0)
			return true;
	}
	return false;
}

/* Takes 'path'. */
static void kept_note(struct watch_keep *keep, char *path, uint64_t bytes, uint64_t time_ns)
{
	keep->olds = vec_room(keep->olds, keep->count, &keep->cap, sizeof(*keep->olds));
	keep->olds[keep->count++] =
		(struct old){ .path = path, .bytes = bytes, .time_ns = time_ns };
}

/* --------------------------------------------------------------------- note */

static void note_growing(struct watch_keep *keep, int folder, const char *name, uint64_t time_ns)
{
	struct stat st;
	unsigned int cpu;

	if ((sscanf(name, "cpu%4u.ring", &cpu) != 1 && strcmp(name, "names") != 0) ||
	    fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	if (st.st_size >= BLOCK)
		kept_note(keep, xasprintf("kernel/%s", name),
			  (uint64_t)st.st_size - (uint64_t)st.st_size % BLOCK, time_ns);
}

/* "cpu3-000012" */
static bool is_stream(const char *name, unsigned int *out_cpu, unsigned int *out_number)
{
	int used = 0;

	return sscanf(name, "cpu%5u-%9u%n", out_cpu, out_number, &used) == 2 && used > 0 &&
	       name[used] == '\0';
}

/* Does the program write to a newer one of that CPU? */
static bool watch_keep_is_over(int folder, struct dirent *const *entries, int count,
			       unsigned int cpu, unsigned int number)
{
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		unsigned int other_cpu, other;

		if (is_stream(name, &other_cpu, &other) && other_cpu == cpu && other > number &&
		    user_file_has_events(folder, name))
			return true;
	}
	return false;
}

static void watch_keep_note_folder(struct watch_keep *keep, const char *path, int depth,
				   uint64_t time_ns)
{
	struct dirent **entries;
	AUTO_CLOSE int fd = file_open_beneath(keep->dir_fd, path, O_RDONLY | O_DIRECTORY);
	int count = fd < 0 ? -1 : scandirat(fd, ".", &entries, NULL, NULL);

	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		AUTO_FREE char *below = xasprintf("%s/%s", path, name);
		unsigned int cpu, number;

		if (is_stream(name, &cpu, &number)) {
			if (!watch_keep_is_noted(keep, below) &&
			    watch_keep_is_over(fd, entries, count, cpu, number))
				kept_note(keep, xstrdup(below), 0, time_ns);
		} else if (name[0] != '.' && entries[i]->d_type == DT_DIR && depth < DEPTH_MAX) {
			watch_keep_note_folder(keep, below, depth + 1, time_ns);
		}
	}
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
}

static void note_all(struct watch_keep *keep, uint64_t time_ns)
{
	AUTO_CLOSE int kernel = -1;
	struct dirent *entry;
	DIR *dir;

	if (keep->dir_fd < 0)
		keep->dir_fd = open(keep->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (keep->dir_fd < 0)
		return;
	kernel = file_open_beneath(keep->dir_fd, "kernel", O_RDONLY | O_DIRECTORY);
	dir = kernel < 0 ? NULL : file_list(kernel);
	while (dir && (entry = readdir(dir)))
		note_growing(keep, kernel, entry->d_name, time_ns);
	if (dir)
		closedir(dir);
	watch_keep_note_folder(keep, "user", 0, time_ns);
}

/* ---------------------------------------------------------------------- go */

/* The folder of a file below the recording; programs change theirs as they like. */
static int watch_keep_open_folder(const struct watch_keep *keep, const char *path,
				  const char **out_name)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *folder = xstrndup(path, (size_t)(slash - path));

	*out_name = slash + 1;
	return file_open_beneath(keep->dir_fd, folder, O_RDONLY | O_DIRECTORY);
}

/* Best effort, all of it: what stays costs room only. */
static void kept_give_up(const struct watch_keep *keep, const struct old *old)
{
	const char *name;
	AUTO_CLOSE int folder = watch_keep_open_folder(keep, old->path, &name);
	AUTO_CLOSE int fd = -1;

	if (folder < 0)
		return;
	if (!old->bytes) {
		(void)unlinkat(folder, name, 0);
		return;
	}
	fd = file_open_beneath(folder, name, O_WRONLY);
	if (fd >= 0)
		(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				(off_t)old->bytes);
}

void watch_keep_step(struct watch_keep *keep, uint64_t needed_ns)
{
	uint64_t time_ns = clock_now_ns();
	size_t gone = 0;

	if (time_ns - keep->noted_ns >= NOTE_NS) {
		note_all(keep, time_ns);
		keep->noted_ns = time_ns;
	}
	while (gone < keep->count && keep->olds[gone].time_ns + keep->keep_ns < needed_ns) {
		kept_give_up(keep, &keep->olds[gone]);
		free(keep->olds[gone++].path);
	}
	if (!gone)
		return;
	keep->count -= gone;
	memmove(keep->olds, keep->olds + gone, keep->count * sizeof(*keep->olds));
}
