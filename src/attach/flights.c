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

static void copy_process(int to_fd, const struct user_process *process, const char *trace,
			 const struct user_part *part, struct user_flights *flights)
{
	struct user_part left = *part;
	struct user_sum sum = { 0 };
	AUTO_CLOSE int fd = user_process_open_folder(process, trace);
	int rc = fd < 0 ? fd : 0;

	if (fd >= 0)
		user_trace_describe(fd, &sum);
	if (fd >= 0 && !sum.is_flight) {
		flights->streaming++;
		return;
	}
	left.most_bytes -= flights->bytes < left.most_bytes ? flights->bytes : left.most_bytes;
	if (rc == 0)
		rc = copy_folder(fd, to_fd, strrchr(trace, '/') + 1, &left, &sum);
	flights->no_room += rc == -EFBIG;
	flights->failed += rc < 0 && rc != -EFBIG;
	if (rc < 0 || !sum.packets)
		return;
	flights->processes++;
	flights->bytes += sum.bytes;
	flights->lost += sum.lost;
}

void user_flights_copy(int to_fd, const struct user_part *part, struct user_flights *out)
{
	int32_t *pids;
	size_t count = user_proc_all(&pids);

	for (size_t i = 0; i < count; i++) {
		struct user_process *process;
		const char *failed, *trace;

		if (user_process_open(pids[i], &process, NULL) < 0)
			continue;
		trace = user_process_trace(process, &failed);
		if (trace && user_process_logs(process))
			copy_process(to_fd, process, trace, part, out);
		user_process_close(process);
	}
	free(pids);
}
