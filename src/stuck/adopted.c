/* adopted.c - see adopted.h. The tree is gone through below those who wait, as far as all in it are stuck. */
#include "stuck/adopted.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "stuck/look.h"
#include "stuck/stuck.h"
#include "stuck/timer_signal.h"

#define CHILDREN_BYTES 32768
#define BELOW_MAX      4096 /* processes that are looked at, for each wait */

/* Processes below one, level by level. */
struct below {
	int32_t *tgids; /* owned */
	size_t count;
	size_t cap;
	bool is_cut; /* there are more */
};

static void below_add(struct below *below, int32_t tgid)
{
	if (below->count == BELOW_MAX) {
		below->is_cut = true;
		return;
	}
	below->tgids = vec_room(below->tgids, below->count, &below->cap, sizeof(*below->tgids));
	below->tgids[below->count++] = tgid;
}

/* Of all its threads. One that is gone has none. */
static void below_add_children(struct below *below, struct look *look, int32_t tgid)
{
	AUTO_FREE char *text = xmalloc(CHILDREN_BYTES);
	AUTO_FREE int32_t *tids = NULL;
	struct process process = { .tgid = tgid };
	char name[64];
	int count;

	snprintf(name, sizeof(name), "%d/task", tgid);
	count = proc_numbers(look->proc_fd, name, &tids);
	for (int i = 0; i < count; i++) {
		const char *at = text;
		int32_t pid;
		int got;

		snprintf(name, sizeof(name), "task/%d/children", tids[i]);
		got = look_file(look, &process, name, text, CHILDREN_BYTES);
		below->is_cut |= got == -ETIME || got >= CHILDREN_BYTES - 1;
		while (got > 0 && (pid = proc_next_child(&at)))
			below_add(below, pid);
	}
}

/* It begins no process any more. */
static bool has_ended(struct look *look, int32_t tgid)
{
	struct process process = { .tgid = tgid };
	struct proc_stat stat;
	char text[1024] = "";
	int got = look_file(look, &process, "stat", text, sizeof(text));

	if (got <= 0)
		return got != -ETIME;
	return stat_parse(text, &stat) && (stat.state == 'Z' || stat.state == 'X');
}

/* Whether none of its threads could go on; one that was not looked at could. */
static bool is_stuck(const struct stuck *stuck, int32_t tgid)
{
	const struct stuck_thread *thread = stuck_find(stuck, tgid);
	bool is_any = false;

	for (; thread && thread < stuck->threads + stuck->count && thread->tgid == tgid; thread++) {
		if (thread->kind == STUCK_EXITED)
			continue;
		if (thread->root != STUCK_ROOT_DEADLOCK && thread->root != STUCK_ROOT_VICTIM)
			return false;
		is_any = true;
	}
	return is_any;
}

/* Whether it may go on, and end or begin another one. */
static bool may_go_on(const struct stuck *stuck, struct look *look, int32_t tgid)
{
	return !is_stuck(stuck, tgid) && !has_ended(look, tgid);
}

static bool may_signal(const struct stuck *stuck, struct look *look,
		       const struct stuck_thread *thread)
{
	struct below below = { 0 };
	bool is_found = false;

	if (!(timer_signal_handled(look, thread) & UINT64_C(1) << (SIGCHLD - 1)))
		return false;
	below_add_children(&below, look, thread->tgid);
	for (size_t i = 0; i < below.count && !is_found; i++)
		is_found = may_go_on(stuck, look, below.tgids[i]);
	is_found |= below.is_cut;
	free(below.tgids);
	return is_found;
}

/* Children end its wait in any case, and are known to be stuck: those below them count. */
static bool may_adopt(const struct stuck *stuck, struct look *look,
		      const struct stuck_thread *thread)
{
	struct below below = { 0 };
	bool is_found = false;
	size_t children;

	if (!thread->waits_any_child)
		return false;
	below_add_children(&below, look, thread->tgid);
	children = below.count;
	for (size_t i = 0; i < below.count && !is_found && !below.is_cut; i++) {
		is_found = i >= children && may_go_on(stuck, look, below.tgids[i]);
		if (!is_found)
			below_add_children(&below, look, below.tgids[i]);
	}
	is_found |= below.is_cut;
	free(below.tgids);
	return is_found;
}

bool adopted_find(struct stuck *stuck, struct look *look)
{
	bool is_found = false;

	for (size_t i = 0; i < stuck->count; i++) {
		struct stuck_thread *thread = &stuck->threads[i];

		if ((thread->root != STUCK_ROOT_DEADLOCK && thread->root != STUCK_ROOT_VICTIM) ||
		    (!thread->is_complete && !thread->needs_all) ||
		    (!may_adopt(stuck, look, thread) && !may_signal(stuck, look, thread)))
			continue;
		thread->is_complete = thread->needs_all = false;
		is_found = true;
	}
	return is_found;
}
