/* known.c - see known.h. */
#include "attach/known.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "attach/control.h"
#include "base/clock.h"
#include "base/mem.h"

#define ONE_USER_MOST (KNOWN_MOST / 2)
#define ASK_NS	      UINT64_C(300000)

struct user_known_one {
	int32_t pid;
	uint32_t uid;
	int pidfd;
	struct user_process *process; /* NULL = it has ended */
	int folder_fd;		      /* -1 = it does not keep events now */
	char *trace;	   /* owned; the folder, as the process names it; NULL = as above */
	uint64_t ended_ns; /* when that was seen, CLOCK_MONOTONIC; 0 = it was not */
};

static bool is_over(const struct user_known_one *one)
{
	struct pollfd end = { .fd = one->pidfd, .events = POLLIN };

	return poll(&end, 1, 0) > 0;
}

static void one_fini(struct user_known_one *one)
{
	user_process_close(one->process);
	mem_close_fd(&one->pidfd);
	mem_close_fd(&one->folder_fd);
	free(one->trace);
}

/* Where it logs to now. What it reads may be anything: then it keeps nothing. */
static void look_after(struct user_known_one *one)
{
	const char *failed, *trace = NULL;

	if (!user_process_read(one->process))
		return; /* it is ending: its folder is the last one */
	if (user_process_logs(one->process))
		trace = user_process_trace(one->process, &failed);
	if (one->trace && trace && strcmp(one->trace, trace) == 0)
		return;
	if (one->folder_fd >= 0)
		mem_close_fd(&one->folder_fd);
	free(one->trace);
	one->trace = trace ? xstrdup(trace) : NULL;
	one->folder_fd = trace ? user_process_open_folder(one->process, trace) : -1;
}

static void note_ends(struct user_known *known)
{
	uint64_t now_ns = clock_now_ns();
	size_t kept = 0;

	for (size_t i = 0; i < known->count; i++) {
		struct user_known_one *one = &known->items[i];

		if (!one->ended_ns && is_over(one)) {
			one->ended_ns = now_ns;
			user_process_close(one->process);
			one->process = NULL;
		}
		if (one->ended_ns &&
		    (one->folder_fd < 0 || now_ns - one->ended_ns > KNOWN_AFTER_NS)) {
			one_fini(one);
			continue;
		}
		known->items[kept++] = *one;
	}
	known->count = kept;
}

static bool knows(void *context, int32_t pid)
{
	struct user_known *known = context;

	for (size_t i = 0; i < known->count; i++) {
		struct user_known_one *one = &known->items[i];

		if (one->pid != pid || one->ended_ns)
			continue;
		look_after(one);
		return true;
	}
	return false;
}

/* The room of those that have ended is taken first. */
static bool has_room(struct user_known *known, uint32_t uid)
{
	size_t same = 0, oldest = known->count;

	for (size_t i = 0; i < known->count; i++) {
		const struct user_known_one *one = &known->items[i];

		same += one->uid == uid;
		if (one->ended_ns && one->uid == uid &&
		    (oldest == known->count || one->ended_ns < known->items[oldest].ended_ns))
			oldest = i;
	}
	if (same < ONE_USER_MOST && known->count < KNOWN_MOST)
		return true;
	if (oldest == known->count)
		return false;
	one_fini(&known->items[oldest]);
	known->items[oldest] = known->items[--known->count];
	return true;
}

static bool asks(void *context, int32_t pid, bool is_new)
{
	struct user_known *known = context;
	struct user_known_one one = { .pid = pid, .folder_fd = -1 };

	(void)is_new;
	if (user_process_open(pid, &one.process, NULL) < 0)
		return false;
	one.uid = one.process->proc.uid;
	one.pidfd = pidfd_open(pid, 0);
	if (one.pidfd < 0 || !has_room(known, one.uid)) {
		one_fini(&one);
		return false;
	}
	look_after(&one);
	known->items = vec_room(known->items, known->count, &known->cap, sizeof(one));
	known->items[known->count++] = one;
	return true;
}

static uint64_t cpu_ns(void *context)
{
	(void)context;
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void user_known_scan(struct user_known *known)
{
	static const struct user_scan_ops ops = { knows, asks, cpu_ns, ASK_NS };

	note_ends(known);
	user_scan_take(&known->scan, &ops, known);
}

int user_known_folder(const struct user_known *known, size_t index, const char **out_name,
		      bool *out_has_ended)
{
	const struct user_known_one *one = index < known->count ? &known->items[index] : NULL;

	if (!one || one->folder_fd < 0)
		return -1;
	*out_name = strrchr(one->trace, '/') + 1;
	*out_has_ended = one->ended_ns || is_over(one);
	return one->folder_fd;
}

void user_known_fini(struct user_known *known)
{
	for (size_t i = 0; i < known->count; i++)
		one_fini(&known->items[i]);
	free(known->items);
	user_scan_fini(&known->scan);
	*known = (struct user_known){ 0 };
}
