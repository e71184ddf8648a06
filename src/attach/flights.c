/* flights.c - see flights.h. */
#include "attach/flights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/control.h"
#include "attach/files.h"
#include "attach/known.h"
#include "attach/proc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/tree.h"

#define UNFINISHED ".unfinished"
#define OPEN_DIR   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Give a whole one its name. */
static int finish_copy(int to_fd, const char *name)
{
	AUTO_FREE char *folder = user_make_folder(to_fd, name);

	if (!folder)
		return -errno;
	return renameat(to_fd, UNFINISHED, to_fd, folder) < 0 ? -errno : 0;
}

static int copy_folder(int fd, int to_fd, const char *name, const struct user_part *part,
		       struct user_sum *out_sum)
{
	AUTO_CLOSE int copy_fd = -1;
	int rc = mkdirat(to_fd, UNFINISHED, 0700) < 0 ? -errno : 0;

	if (rc == 0)
		copy_fd = openat(to_fd, UNFINISHED, OPEN_DIR);
	if (copy_fd >= 0)
		rc = user_trace_copy(fd, copy_fd, part, out_sum, NULL);
	if (rc == 0 && copy_fd >= 0 && out_sum->packets)
		rc = finish_copy(to_fd, name);
	(void)tree_remove(to_fd, UNFINISHED); /* of one that was not finished, or is empty */
	return rc;
}

/* What was copied while it lived. */
struct copied {
	struct stat *folders; /* owned */
	size_t count, cap;
};

static bool was_copied(const struct copied *copied, const struct stat *folder)
{
	for (size_t i = 0; i < copied->count; i++) {
		if (copied->folders[i].st_dev == folder->st_dev &&
		    copied->folders[i].st_ino == folder->st_ino)
			return true;
	}
	return false;
}

static void note_copied(struct copied *copied, int fd)
{
	copied->folders =
		vec_room(copied->folders, copied->count, &copied->cap, sizeof(*copied->folders));
	copied->count += fstat(fd, &copied->folders[copied->count]) == 0;
}

/* Returns whether something of it is there now. */
static bool copy_open(int to_fd, int fd, const char *name, const struct user_part *part,
		      struct user_flights *flights)
{
	struct user_part left = *part;
	struct user_sum sum = { 0 };
	int rc;

	left.most_bytes -= flights->bytes < left.most_bytes ? flights->bytes : left.most_bytes;
	rc = copy_folder(fd, to_fd, name, &left, &sum);
	flights->no_room += rc == -EFBIG;
	flights->failed += rc < 0 && rc != -EFBIG;
	if (rc < 0 || !sum.packets)
		return false;
	flights->processes++;
	flights->bytes += sum.bytes;
	flights->lost += sum.lost;
	return true;
}

static void copy_process(int to_fd, const struct user_process *process, const char *trace,
			 const struct user_part *part, struct copied *copied,
			 struct user_flights *flights)
{
	struct user_sum sum = { 0 };
	AUTO_CLOSE int fd = user_process_open_folder(process, trace);

	if (fd < 0) {
		flights->failed++;
		return;
	}
	user_trace_describe(fd, &sum);
	if (!sum.is_flight) {
		flights->streaming++;
		return;
	}
	note_copied(copied, fd);
	(void)copy_open(to_fd, fd, strrchr(trace, '/') + 1, part, flights);
}

static void copy_ended(int to_fd, const struct user_known *known, const struct user_part *part,
		       const struct copied *copied, struct user_flights *flights)
{
	for (size_t i = 0; i < known->count; i++) {
		const char *name;
		bool has_ended;
		int fd = user_known_folder(known, i, &name, &has_ended);
		struct user_sum sum = { 0 };
		struct stat folder;

		if (fd < 0 || !has_ended || fstat(fd, &folder) < 0 || was_copied(copied, &folder))
			continue;
		user_trace_describe(fd, &sum);
		if (sum.is_flight)
			flights->ended += copy_open(to_fd, fd, name, part, flights);
	}
}

void user_flights_copy(int to_fd, const struct user_part *part, const struct user_known *known,
		       struct user_flights *out)
{
	struct copied copied = { 0 };
	int32_t *pids;
	size_t count = user_proc_all(&pids);

	for (size_t i = 0; i < count; i++) {
		struct user_process *process;
		const char *failed, *trace;

		if (user_process_open(pids[i], &process, NULL) < 0)
			continue;
		trace = user_process_trace(process, &failed);
		if (trace && user_process_logs(process))
			copy_process(to_fd, process, trace, part, &copied, out);
		user_process_close(process);
	}
	copy_ended(to_fd, known, part, &copied, out);
	free(copied.folders);
	free(pids);
}
