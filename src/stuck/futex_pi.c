/*
 * futex_pi.c - who has the PI mutex that the kernel refused to wait for.
 *
 * Of the waiter nothing tells which mutex that was. But the circle leads through somebody who waits for a PI mutex
 * of the waiter's, and has the one that was refused: with the mark that somebody waits for it, and
 * nobody does. It is looked for near the one that is waited for; where it is not found, that somebody is
 * only inferred, since a thread that locked its own mutex again hangs in the same way.
 */
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>

#include "stuck/snap_int.h"

#define STACK_WITHIN   1024 /* bytes from the stack pointer to the word */
#define PAGE_BYTES     4096u
#define CHAIN_MAX      16 /* threads of a circle that are followed */
#define PAGES	       9  /* that are searched, with the one in the middle */
#define GLIBC_KIND_PI  0x20
#define GLIBC_KIND_ALL 0x3ff
#define MUSL_TYPE_PI   8
#define MUSL_TYPE_ALL  0x8f

static bool waits_for_pi(const struct task *task)
{
	uint32_t op = (uint32_t)task->args[1] & (uint32_t)FUTEX_CMD_MASK;

	return task->has_window && task->state == 'S' &&
	       (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2);
}

/* Of the word that it waits for, in our numbers. */
static int32_t futex_pi_owner_of(struct asleep *asleep, const struct task *task)
{
	uint32_t word;

	memcpy(&word, task->window + TASK_WINDOW_BEFORE, sizeof(word));
	return look_thread(&asleep->snap->look, asleep->process, (int32_t)(word & FUTEX_TID_MASK));
}

static const struct task *own_task(const struct asleep *asleep, size_t index)
{
	return &asleep->snap->look.tasks[asleep->process->first + index];
}

/* The only thread that waits for a PI mutex of that one; NULL = there is none, or several. */
static const struct task *only_waiter(struct asleep *asleep, int32_t owner)
{
	const struct task *found = NULL;

	for (size_t i = 0; i < asleep->process->count; i++) {
		const struct task *task = own_task(asleep, i);

		if (!waits_for_pi(task) || futex_pi_owner_of(asleep, task) != owner)
			continue;
		if (found)
			return NULL;
		found = task;
	}
	return found;
}

static bool is_waited_for(const struct asleep *asleep, uint64_t address)
{
	for (size_t i = 0; i < asleep->process->count; i++) {
		if (waits_for_pi(own_task(asleep, i)) && own_task(asleep, i)->args[0] == address)
			return true;
	}
	return false;
}

/* Whether words[0] is a lock word: of glibc with the owner and the kind behind it, of musl with the type before. */
static bool is_pi_mutex(const uint32_t *words)
{
	uint32_t tid = words[0] & FUTEX_TID_MASK;

	if (!(words[0] & FUTEX_WAITERS) || !tid)
		return false;
	return (words[2] == tid && words[4] & GLIBC_KIND_PI && words[4] <= GLIBC_KIND_ALL) ||
	       (words[-1] & MUSL_TYPE_PI && words[-1] <= MUSL_TYPE_ALL);
}

/* In one page: a PI mutex that 'owner' has, marked as waited for, and nobody waits. 0 = none. */
static uint64_t orphan_in_page(struct asleep *asleep, uint64_t page, int32_t owner)
{
	uint32_t words[PAGE_BYTES / sizeof(uint32_t)];
	struct look *look = &asleep->snap->look;

	if (!look_memory(look, asleep->process, page, words, sizeof(words)))
		return 0;
	for (size_t i = 1; i + 4 < PAGE_BYTES / sizeof(uint32_t); i++) {
		uint64_t address = page + i * sizeof(uint32_t);

		if (is_pi_mutex(&words[i]) &&
		    look_thread(look, asleep->process, (int32_t)(words[i] & FUTEX_TID_MASK)) ==
			    owner &&
		    !is_waited_for(asleep, address))
			return address;
	}
	return 0;
}

static uint64_t orphan_near(struct asleep *asleep, uint64_t near, int32_t owner)
{
	uint64_t first = near / PAGE_BYTES * PAGE_BYTES - PAGES / 2 * PAGE_BYTES, found = 0;

	for (unsigned int i = 0; i < PAGES && !found; i++)
		found = orphan_in_page(asleep, first + i * PAGE_BYTES, owner);
	return found;
}

/* The circle may be longer: whoever waits for the waiter may be the owner, and so on. *owner is the first waiter. */
static uint64_t find_orphan(struct asleep *asleep, const struct task *waiter, int32_t *owner)
{
	uint64_t mutex = 0;

	for (int i = 0; i < CHAIN_MAX && waiter && waiter->args[0] >= PAGES * PAGE_BYTES; i++) {
		int32_t tid = waiter->tid;

		mutex = orphan_near(asleep, waiter->args[0], tid);
		if (mutex) {
			*owner = tid;
			break;
		}
		waiter = only_waiter(asleep, tid);
	}
	return mutex;
}

bool refused_pi_wait(struct asleep *asleep)
{
	uint64_t word = asleep->task.args[0], sp = asleep->task.sp, mutex;
	const struct task *waiter;
	struct stuck_edge edge = { 0 };

	if (asleep->wait->is_timed || word < sp || word - sp >= STACK_WITHIN)
		return false;
	waiter = only_waiter(asleep, asleep->task.tid);
	if (!waiter || waiter->args[0] < PAGES * PAGE_BYTES)
		return false;
	edge.tid = waiter->tid;
	mutex = find_orphan(asleep, waiter, &edge.tid);
	edge.is_inferred = !mutex;
	edge.how = mutex ? STUCK_HOW_PI_MUTEX : STUCK_HOW_PI_WAITER;
	if (mutex)
		wait_object_at(asleep->wait, "PI mutex", mutex,
			       ", refused by the kernel as a deadlock");
	else
		wait_object_at(asleep->wait, "futex", word, "");
	wait_edge(asleep->wait, &edge);
	return true;
}
