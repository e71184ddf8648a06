/* children.c - which children could end a wait4(), waitid() or vfork(), or by SIGCHLD another wait. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/snap_int.h"

#define CHILDREN_BYTES 32768
#define THREADS_MAX    256 /* whose children are read */

struct children {
	int32_t *pids; /* owned */
	size_t count;
	size_t cap;
};

/* In the order in which they were made. False when not all are there. */
static bool read_children(struct asleep *asleep, int32_t tid, struct children *children)
{
	AUTO_FREE char *text = xmalloc(CHILDREN_BYTES);
	const char *at = text;
	char name[64];
	int32_t pid;
	int got;

	snprintf(name, sizeof(name), "task/%d/children", tid);
	got = look_file(&asleep->snap->look, asleep->process, name, text, CHILDREN_BYTES);
	if (got < 0)
		return false;
	while ((pid = proc_next_child(&at))) {
		children->pids = vec_room(children->pids, children->count, &children->cap,
					  sizeof(*children->pids));
		children->pids[children->count++] = pid;
	}
	return got < CHILDREN_BYTES - 1;
}

/* Of all threads of the process. */
static bool all_children(struct asleep *asleep, struct children *children)
{
	size_t count = asleep->process->count;
	bool is_all = count <= THREADS_MAX;

	for (size_t i = 0; i < count && i < THREADS_MAX; i++) {
		int32_t tid = asleep->snap->look.tasks[asleep->process->first + i].tid;

		is_all = read_children(asleep, tid, children) && is_all;
	}
	return is_all;
}

static void add_child(struct asleep *asleep, int32_t pid, enum stuck_how how)
{
	const struct stuck_edge edge = { .tid = pid, .is_process = true, .how = how };

	wait_edge(asleep->wait, &edge);
}

int32_t pidfd_pid(struct asleep *asleep, int32_t fd)
{
	char name[64], text[1024];
	const char *at;

	snprintf(name, sizeof(name), "task/%d/fdinfo/%d", asleep->task.tid, fd);
	if (look_file(&asleep->snap->look, asleep->process, name, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nPid:");
	return at ? (int32_t)strtol(at + 5, NULL, 10) : 0;
}

static void add_chosen(struct asleep *asleep, int32_t pid)
{
	struct wait *wait = asleep->wait;

	if (pid <= 0) {
		wait->has_unknown = true;
		return;
	}
	wait_object(wait, "child %d", pid);
	add_child(asleep, pid, STUCK_HOW_CHILD);
}

static void add_any(struct asleep *asleep, const struct children *children, bool is_all)
{
	struct wait *wait = asleep->wait;

	wait_object(wait, "any child");
	for (size_t i = 0; i < children->count; i++)
		add_child(asleep, children->pids[i], STUCK_HOW_CHILD);
	wait->waits_any_child = true;
	wait->has_hole |= !is_all;
	wait->has_unknown |= !children->count;
}

/* The process group, as the waiter's PID namespace has it: 'depth' namespaces below ours. 0 = not known. */
static int32_t group_of(struct asleep *asleep, int32_t pid, int depth)
{
	struct process process = { .tgid = pid };
	char text[4096], *at;
	int32_t group = 0;

	if (look_file(&asleep->snap->look, &process, "status", text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nNSpgid:");
	at = at ? at + 8 : NULL;
	for (int i = 0; at && *at == '\t' && i <= depth; i++)
		group = (int32_t)strtol(at, &at, 10);
	return group;
}

static int depth_of(struct asleep *asleep)
{
	struct process process = { .tgid = asleep->task.tgid };
	char text[4096];
	const char *at;
	int depth = -1;

	if (look_file(&asleep->snap->look, &process, "status", text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nNSpgid:");
	for (at = at ? at + 8 : ""; *at && *at != '\n'; at++)
		depth += *at == '\t';
	return depth < 0 ? 0 : depth;
}

/* 'group' 0 = that of the waiter. Children may change theirs: one whose group is not known is not left out. */
static void add_group(struct asleep *asleep, int32_t group, const struct children *children,
		      bool is_all)
{
	struct wait *wait = asleep->wait;
	int depth = depth_of(asleep);

	if (!group)
		group = group_of(asleep, asleep->task.tgid, depth);
	wait_object(wait, "any child of process group %d", group);
	for (size_t i = 0; i < children->count; i++) {
		int32_t its = group_of(asleep, children->pids[i], depth);

		if (!its || its == group)
			add_child(asleep, children->pids[i], STUCK_HOW_CHILD);
	}
	wait->waits_any_child = true;
	wait->has_hole |= !is_all;
	wait->has_unknown |= !wait->count;
}

void sigchld_wait(struct asleep *asleep)
{
	struct wait *wait = asleep->wait;
	struct children children = { 0 };
	bool is_all = all_children(asleep, &children);

	add_any(asleep, &children, is_all);
	wait_object(wait, "SIGCHLD, a signal");
	for (size_t i = 0; i < wait->count; i++)
		wait->edges[i].is_inferred = true;
	free(children.pids);
}

void child_wait(struct asleep *asleep)
{
	const uint64_t *args = asleep->task.args;
	bool is_waitid = asleep->wait->in[4] == 'i';
	int32_t which = (int32_t)args[is_waitid ? 1 : 0];
	idtype_t type = is_waitid     ? (idtype_t)args[0]
			: which > 0   ? P_PID
			: which == -1 ? P_ALL
				      : P_PGID;
	struct children children = { 0 };
	bool is_all = all_children(asleep, &children);

	if (type == P_PIDFD)
		add_chosen(asleep, pidfd_pid(asleep, which));
	else if (type == P_PID)
		add_chosen(asleep,
			   look_number(&asleep->snap->look, asleep->process, which,
				       children.pids ? children.pids : &which, children.count));
	else if (type == P_PGID)
		add_group(asleep, is_waitid ? which : -which, &children, is_all);
	else
		add_any(asleep, &children, is_all);
	free(children.pids);
}

/* Whether all that is known to end the wait is the process itself: it writes to a pipe of its own. */
static bool waits_for_itself(const struct asleep *asleep)
{
	const struct wait *wait = asleep->wait;

	for (size_t i = 0; i < wait->count; i++) {
		if (!wait->edges[i].is_process || wait->edges[i].tid != asleep->task.tgid)
			return false;
	}
	return wait->count && !wait->has_outside;
}

void child_signal_wait(struct asleep *asleep)
{
	struct stuck_edge edge = { .is_process = true,
				   .is_inferred = true,
				   .how = STUCK_HOW_CHILD_SIGNAL };
	struct children children = { 0 };
	uint64_t caught;

	if (asleep->task.tid != asleep->task.tgid || !waits_for_itself(asleep))
		return;
	caught = snap_caught_signals(asleep);
	if (caught == UINT64_MAX || !(caught & 1ull << (SIGCHLD - 1)))
		return;
	(void)all_children(asleep, &children);
	for (size_t i = 0; i < children.count; i++) {
		edge.tid = children.pids[i];
		wait_edge(asleep->wait, &edge);
	}
	free(children.pids);
}

/* The one that was made last: since then its parent waits. */
void vfork_wait(struct asleep *asleep)
{
	struct children children = { 0 };
	bool is_all = read_children(asleep, asleep->task.tid, &children);

	wait_object(asleep->wait, "execve() or exit of a child made by vfork()");
	if (is_all && children.count)
		add_child(asleep, children.pids[children.count - 1], STUCK_HOW_VFORK_CHILD);
	else
		asleep->wait->has_unknown = true;
	free(children.pids);
}
