/*
 * watch_tree.c - members by number and start time; the proof of a living process.
 *
 * The kernel tells in /proc when a process began, in ticks since boot; its event of the fork
 * came at most START_SLACK_NS later. A number that was given to somebody else since has a later
 * start. What is read in /proc is of the process behind the descriptor when that one has not
 * ended afterwards: its number is not given again while it lives.
 */
#include "cli/watch_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/event.h"
#include "proc/proc.h"
#include "proc/stat.h"

#define START_SLACK_NS 100000000u /* from the start of a process to the event of its fork */

struct watch_tree {
	enum watch_tree_kind kind;
	int32_t root; /* the command; 0 = not known yet */
	uint64_t tick_ns;
	struct map members; /* thread id: when it began at the latest, in ns since boot */
	struct map older;   /* the processes of --pid: their threads may be older than all events */
	struct map forked;  /* of WATCH_COMMAND until the root is known: as 'members' */
};

/* Of /proc/.../stat. */
struct life {
	uint64_t start; /* ticks since boot */
	bool is_kernel;
};

static bool watch_tree_life_of(int32_t pid, int32_t tid, struct life *out_life)
{
	char path[64], line[STAT_BYTES_MAX];
	struct proc_stat stat;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (!stat_read(AT_FDCWD, path, line, &stat) || stat.last < STAT_BIRTH)
		return false;
	*out_life = (struct life){ .start = stat.field[STAT_BIRTH],
				   .is_kernel = stat.field[STAT_FLAGS] & STAT_KERNEL_THREAD };
	return true;
}

/* On the clock of /proc: with the time that the machine slept so far. */
static uint64_t since_boot_ns(uint64_t time_ns)
{
	return time_ns + (uint64_t)((int64_t)clock_read_ns(CLOCK_BOOTTIME) -
				    (int64_t)clock_read_ns(CLOCK_MONOTONIC));
}

struct watch_tree *watch_tree_new(enum watch_tree_kind kind, const int32_t *pids, size_t count)
{
	struct watch_tree *tree = xcalloc(1, sizeof(*tree));
	long ticks = sysconf(_SC_CLK_TCK);

	tree->kind = kind;
	tree->tick_ns = 1000000000u / (uint64_t)(ticks > 0 ? ticks : 100);
	for (size_t i = 0; kind == WATCH_PIDS && i < count; i++) {
		struct life life;

		if (!watch_tree_life_of(pids[i], pids[i], &life))
			continue;
		map_put(&tree->members, (uint32_t)pids[i], life.start * tree->tick_ns);
		map_put(&tree->older, (uint32_t)pids[i], 1);
	}
	return tree;
}

void watch_tree_free(struct watch_tree *tree)
{
	if (!tree)
		return;
	map_fini(&tree->members);
	map_fini(&tree->older);
	map_fini(&tree->forked);
	free(tree);
}

/* ------------------------------------------------------------------ members */

void watch_tree_root(struct watch_tree *tree, int32_t pid)
{
	const uint64_t *start_ns;

	if (tree->kind != WATCH_COMMAND || tree->root || pid <= 0)
		return;
	tree->root = pid;
	start_ns = map_find(&tree->forked, (uint32_t)pid);
	if (start_ns)
		map_put(&tree->members, (uint32_t)pid, *start_ns);
	map_fini(&tree->forked);
	tree->forked = (struct map){ 0 };
}

static void watch_tree_on_fork(struct watch_tree *tree, int32_t parent, int32_t child,
			       uint64_t time_ns)
{
	uint64_t start_ns = since_boot_ns(time_ns);
	bool is_root = tree->kind == WATCH_COMMAND && child == tree->root &&
		       !map_find(&tree->members, (uint32_t)child);

	if (is_root || map_find(&tree->members, (uint32_t)parent)) {
		map_put(&tree->members, (uint32_t)child, start_ns);
		return;
	}
	/* Its number belongs to somebody else now. */
	(void)map_remove(&tree->members, (uint32_t)child);
	(void)map_remove(&tree->older, (uint32_t)child);
	if (tree->kind == WATCH_COMMAND && !tree->root)
		map_put(&tree->forked, (uint32_t)child, start_ns);
}

void watch_tree_feed(struct watch_tree *tree, const struct event *event)
{
	if (event->context & (EV_CTX_USER | EV_CTX_VTID))
		return;
	/*
	 * Who makes it is the thread that the kernel recorded the event of. A thread that executes
	 * takes the number and the start of its process, which is known.
	 */
	if (event->type == EV_SCHED_FORK)
		watch_tree_on_fork(tree, event->tid, event->task.tid, event->time_ns);
}

/* -------------------------------------------------------------------- proof */

/* Did it begin when the kernel's event says so? */
static bool began_then(const struct watch_tree *tree, int32_t tid, const struct life *life)
{
	const uint64_t *fork_ns = map_find(&tree->members, (uint32_t)tid);
	uint64_t start_ns = life->start * tree->tick_ns;

	return fork_ns && start_ns <= *fork_ns && *fork_ns - start_ns <= START_SLACK_NS;
}

/* "Tgid:\t123" of /proc/TID/status; -1 = no such thread. */
static int32_t tree_process(int32_t tid)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/status", tid);
	AUTO_FILE FILE *in = tid > 0 ? fopen(path, "re") : NULL;
	char line[256];
	int32_t tgid = -1;

	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	}
	return tgid;
}

static bool has_ended(int pid_fd)
{
	struct pollfd wait = { .fd = pid_fd, .events = POLLIN };

	return poll(&wait, 1, 0) != 0;
}

static bool is_member(const struct watch_tree *tree, int32_t pid, int32_t tid,
		      const struct life *process, const struct life *thread)
{
	if (tree->kind == WATCH_ALL)
		return true;
	if (!began_then(tree, pid, process))
		return false;
	return tid == pid || map_find(&tree->older, (uint32_t)pid) || began_then(tree, tid, thread);
}

/* NULL = it is proven. */
static const char *watch_tree_doubt(const struct watch_tree *tree, int32_t pid, int32_t tid,
				    uint64_t time_ns)
{
	struct life process, thread;

	if (!watch_tree_life_of(pid, pid, &process) || !watch_tree_life_of(pid, tid, &thread))
		return "has exited";
	if (process.is_kernel)
		return "is a kernel thread";
	if (!is_member(tree, pid, tid, &process, &thread))
		return "is not in the recorded process tree";
	if (thread.start * tree->tick_ns > since_boot_ns(time_ns))
		return "started later, with a reused ID";
	return NULL;
}

static const char *open_process(const struct watch_tree *tree, int32_t tid, uint64_t time_ns,
				struct watch_proven *proven)
{
	const char *why;

	if (!proc_is_outermost())
		return "cannot be identified: this container has its own PID namespace";
	proven->pid = tree_process(tid);
	if (proven->pid <= 0)
		return "has exited";
	if (proven->pid == 1 || proven->pid == getpid())
		return "must not be signalled";
	proven->pid_fd = pidfd_open(proven->pid, 0);
	if (proven->pid_fd < 0)
		return errno == ESRCH ? "has exited" : "cannot be opened as a pidfd";
	why = watch_tree_doubt(tree, proven->pid, tid, time_ns);
	return why ? why : has_ended(proven->pid_fd) ? "has exited" : NULL;
}

void watch_tree_open(const struct watch_tree *tree, int32_t tid, uint64_t time_ns,
		     struct watch_proven *out_proven)
{
	*out_proven = (struct watch_proven){ .pid_fd = -1, .pid = -1 };
	out_proven->why_not = open_process(tree, tid, time_ns, out_proven);
	if (!out_proven->why_not)
		return;
	mem_close_fd(&out_proven->pid_fd);
	out_proven->pid_fd = -1;
	out_proven->pid = -1;
}
