/* stalls.c - see stalls.h. */
#include "stuck/stalls.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/stuck.h"
#include "stuck/asked.h"

#define SPARE_FILES 256u	/* descriptors that stay free for the whole look */
#define MOST_FILES  16384u	/* of threads, kept open; the others are opened each time */
#define MANY	    500		/* threads from which on they are listed anew more seldom */
#define LIST_NS	    5000000000u /* so seldom */

struct stall {
	int32_t tgid, tid;
	int fd;		   /* owned: its schedstat; -1 = opened each time */
	uint64_t runs;	   /* 0 = not known */
	uint64_t since_ns; /* it had as many runs since then */
	uint64_t done_ns;  /* how long it had slept when it was looked at; 0 = never */
	bool is_due;	   /* it was there before: it may have slept for long */
};

struct stalls {
	const struct stuck_select *select;
	int proc_fd;
	size_t files, most_files;
	struct stall *items; /* owned, by tgid and tid */
	size_t count;
	uint64_t now_ns, listed_ns;
	bool is_stale; /* a thread is gone: list them anew */
};

/* As many files as may be open, without those that others need. */
static size_t file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < 2 * SPARE_FILES)
		return 0;
	return limit.rlim_cur - SPARE_FILES < MOST_FILES ? limit.rlim_cur - SPARE_FILES
							 : MOST_FILES;
}

struct stalls *stalls_new(const struct stuck_select *select, struct err *err)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stalls *stalls;

	if (proc_fd < 0) {
		err_set(err, -errno, "cannot open /proc: %s", strerror(errno));
		return NULL;
	}
	stalls = xcalloc(1, sizeof(*stalls));
	stalls->select = select;
	stalls->proc_fd = proc_fd;
	stalls->most_files = file_limit();
	return stalls;
}

/* Adds the threads of a process; those that were known keep what is known of them. */
struct listing {
	struct stall *items; /* owned */
	size_t count, cap;
	size_t next; /* of the old ones */
};

static bool is_before(const struct stall *stall, int32_t tgid, int32_t tid)
{
	return stall->tgid != tgid ? stall->tgid < tgid : stall->tid < tid;
}

static void drop(struct stalls *stalls, struct stall *stall)
{
	if (stall->fd >= 0)
		stalls->files--;
	mem_close_fd(&stall->fd);
	stall->fd = -1;
}

static void stalls_add_thread(struct stalls *stalls, struct listing *listing, int32_t tgid,
			      int32_t tid)
{
	struct stall *old = NULL, *item;

	while (listing->next < stalls->count && is_before(&stalls->items[listing->next], tgid, tid))
		drop(stalls, &stalls->items[listing->next++]);
	if (listing->next < stalls->count && stalls->items[listing->next].tgid == tgid &&
	    stalls->items[listing->next].tid == tid)
		old = &stalls->items[listing->next++];
	listing->items =
		vec_room(listing->items, listing->count, &listing->cap, sizeof(*listing->items));
	item = &listing->items[listing->count++];
	*item = old ? *old
		    : (struct stall){
			      .tgid = tgid, .tid = tid, .fd = -1, .is_due = !stalls->listed_ns
		      };
}

static int list_threads(struct stalls *stalls, struct err *err)
{
	struct asked targets = { 0 };
	struct listing listing = { 0 };
	int rc = asked_find(&targets, stalls->proc_fd, stalls->select, err);

	for (size_t i = 0; i < targets.count; i++) {
		AUTO_FREE int32_t *tids = NULL;
		char path[32];
		int count;

		snprintf(path, sizeof(path), "%d/task", targets.tgids[i]);
		count = proc_numbers(stalls->proc_fd, path, &tids);
		for (int k = 0; k < count; k++)
			stalls_add_thread(stalls, &listing, targets.tgids[i], tids[k]);
	}
	asked_fini(&targets);
	while (listing.next < stalls->count)
		drop(stalls, &stalls->items[listing.next++]);
	free(stalls->items);
	stalls->items = listing.items;
	stalls->count = listing.count;
	stalls->listed_ns = stalls->now_ns;
	stalls->is_stale = false;
	if (!stalls->select->count)
		return 0; /* processes of that name may come */
	return rc == 0 && !stalls->count ? err_set(err, -ESRCH, "the process exited") : rc;
}

static void stall_open_file(struct stalls *stalls, struct stall *stall)
{
	char path[64];

	if (stalls->files >= stalls->most_files)
		return;
	snprintf(path, sizeof(path), "%d/task/%d/schedstat", stall->tgid, stall->tid);
	stall->fd = openat(stalls->proc_fd, path, O_RDONLY | O_CLOEXEC);
	stalls->files += stall->fd >= 0;
}

/* 0 = not known: a kernel without schedstat, or the thread is gone. */
static uint64_t read_runs(struct stalls *stalls, struct stall *stall)
{
	char text[96];
	uint64_t runs = 0;
	ssize_t got;

	if (stall->fd < 0)
		stall_open_file(stalls, stall);
	if (stall->fd < 0)
		return proc_runs(stalls->proc_fd, stall->tgid, stall->tid);
	got = pread(stall->fd, text, sizeof(text) - 1, 0);
	if (got <= 0) {
		stalls->is_stale = true;
		return 0;
	}
	text[got] = '\0';
	if (sscanf(text, "%*u %*u %" SCNu64, &runs) == 1 && runs)
		return runs;
	return proc_runs(stalls->proc_fd, stall->tgid, stall->tid);
}

int stalls_look(struct stalls *stalls, struct err *err)
{
	int rc = 0;

	stalls->now_ns = clock_now_ns();
	if (!stalls->listed_ns || stalls->is_stale || stalls->count < MANY ||
	    stalls->now_ns - stalls->listed_ns >= LIST_NS)
		rc = list_threads(stalls, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < stalls->count; i++) {
		struct stall *stall = &stalls->items[i];
		uint64_t runs = read_runs(stalls, stall);

		if (runs && runs == stall->runs)
			continue;
		stall->runs = runs;
		stall->since_ns = stalls->now_ns;
		stall->done_ns = 0;
	}
	return 0;
}

static bool is_due(const struct stalls *stalls, const struct stall *stall, const uint64_t *leasts,
		   size_t least_count)
{
	uint64_t slept_ns = stalls->now_ns - stall->since_ns;

	if (!stall->runs || stall->is_due)
		return true;
	for (size_t i = 0; i < least_count; i++) {
		if (slept_ns > leasts[i] && stall->done_ns <= leasts[i])
			return true;
	}
	return false;
}

size_t stalls_due(const struct stalls *stalls, const uint64_t *leasts, size_t least_count,
		  int32_t **out_tgids)
{
	int32_t *tgids = NULL;
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < stalls->count; i++) {
		const struct stall *stall = &stalls->items[i];

		if (count && tgids[count - 1] == stall->tgid)
			continue;
		if (!is_due(stalls, stall, leasts, least_count))
			continue;
		tgids = vec_room(tgids, count, &cap, sizeof(*tgids));
		tgids[count++] = stall->tgid;
	}
	*out_tgids = tgids;
	return count;
}

bool stalls_is_still(const struct stalls *stalls, int32_t tgid)
{
	bool is_there = false;

	for (size_t i = 0; i < stalls->count; i++) {
		const struct stall *stall = &stalls->items[i];

		if (stall->tgid != tgid)
			continue;
		if (!stall->runs || stall->since_ns == stalls->now_ns)
			return false;
		is_there = true;
	}
	return is_there;
}

void stalls_done(struct stalls *stalls, const int32_t *tgids, size_t count)
{
	size_t next = 0;

	for (size_t i = 0; i < stalls->count; i++) {
		struct stall *stall = &stalls->items[i];

		while (next < count && tgids[next] < stall->tgid)
			next++;
		if (next == count || tgids[next] != stall->tgid)
			continue;
		stall->done_ns = stalls->now_ns - stall->since_ns;
		stall->is_due = false;
	}
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	for (size_t i = 0; i < stalls->count; i++)
		drop(stalls, &stalls->items[i]);
	close(stalls->proc_fd);
	free(stalls->items);
	free(stalls);
}
