/*
 * helper.c - waits that a part of the kernel ended which acts for others.
 *
 *	a terminal	what is written to one side is passed on by a kworker, which also sends the signals
 *			of keys: Ctrl-C is not the kworker's doing
 *	RCU		who waits for a grace period is woken by a softirq, by threads of RCU or by a kworker;
 *			none of them holds it up: it waits until every CPU has let go of what it read
 *	io_uring	a thread that polls for a process (SQPOLL) completes what others made ready; that it is on
 *			a CPU all the time is no work for anybody
 *
 * Which it is, is known by the work that a kworker does, by the softirq, and by the name of a thread
 * of the kernel.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/mem.h"

#define SOFTIRQ_RCU 9 /* include/linux/interrupt.h */

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* The thread of the kernel that ended the wait, or NULL when it was none. */
static const char *kernel_waker(struct query *query, const struct wait *wait)
{
	uint32_t slot = wait->waker.slot;

	if (!wait->woken_ns || wait->waker.kind != ACTOR_THREAD ||
	    slot >= query->tl->thread_count || !query->tl->threads[slot]->kernel)
		return NULL;
	return timeline_comm(query->tl, slot);
}

/* The work function that ended the wait; "" = none, or not recorded. */
static const char *work_of(struct query *query, const struct wait *wait)
{
	if (wait->waker.kind != ACTOR_THREAD)
		return "";
	if (word_kind(wait->waker.word) == WORD_WORK)
		return timeline_name(query->tl, word_arg(wait->waker.word));
	return word_kind(wait->waker.below) == WORD_WORK
		       ? timeline_name(query->tl, word_arg(wait->waker.below))
		       : "";
}

/* ------------------------------------------------------------------------ RCU */

/* "srcu" is also in what readers that may sleep are waited for with. */
static enum why_reason_kind grace_by_name(const char *name)
{
	if (strstr(name, "srcu"))
		return WHY_REASON_SRCU;
	return starts_with(name, "rcu_tasks") ? WHY_REASON_RCU_TASKS : WHY_REASON_RCU;
}

enum why_reason_kind query_grace(struct query *query, const struct wait *wait)
{
	const char *comm = kernel_waker(query, wait);
	const char *work = comm ? work_of(query, wait) : "";

	if (wait->waker.signal)
		return WHY_REASON_NONE;
	if (wait->woken_ns && wait->waker.kind == ACTOR_SOFTIRQ &&
	    wait->waker.word == word_make(WORD_SOFTIRQ, SOFTIRQ_RCU))
		return grace_by_name("");
	if (!comm)
		return WHY_REASON_NONE;
	/* Memory that is freed after a grace period wakes nobody who waits for one. */
	if (starts_with(comm, "kworker/"))
		return strstr(work, "rcu") && !strstr(work, "kfree") && !strstr(work, "kvfree")
			       ? grace_by_name(work)
			       : WHY_REASON_NONE;
	/* rcu_preempt, rcu_sched, rcu_exp_gp_kthread_worker; rcuc/0, rcuog/0, rcuop/0, rcuos/0 */
	if (starts_with(comm, "rcu_") || (starts_with(comm, "rcu") && strchr(comm, '/')))
		return grace_by_name(comm);
	return WHY_REASON_NONE;
}

/* ------------------------------------------------------------------- terminals */

static const char *terminal_key_of(uint8_t signal)
{
	switch (signal) {
	case SIGINT:
		return "Ctrl-C";
	case SIGQUIT:
		return "Ctrl-\\";
	case SIGTSTP:
		return "Ctrl-Z";
	default:
		return NULL;
	}
}

/* Without its 'who'; no kind: it was no terminal. */
static struct why_reason terminal_did(struct query *query, const struct wait *wait)
{
	const char *comm = kernel_waker(query, wait);
	const char *work = work_of(query, wait);
	const char *key = wait->waker.signal ? terminal_key_of(wait->waker.signal) : NULL;
	struct why_reason did = { .kind = WHY_REASON_NONE };

	if (!comm || !starts_with(comm, "kworker/"))
		return did;
	if (strcmp(work, "do_tty_hangup") == 0)
		did.kind = WHY_REASON_TERMINAL_HUNG_UP;
	else if (strcmp(work, "flush_to_ldisc") == 0 && !wait->waker.signal)
		did.kind = WHY_REASON_TERMINAL_WRITTEN;
	else if (strcmp(work, "flush_to_ldisc") == 0 && key)
		did = (struct why_reason){ .kind = WHY_REASON_TERMINAL_KEY, .name = key };
	return did;
}

/* Who wrote to it; tid 0: a keyboard, a line, or not known. */
static struct why_thread who_wrote(struct query *query, const struct wait *wait)
{
	const struct actor *origin = &wait->origin;
	bool is_thread = origin->time_ns && origin->kind == ACTOR_THREAD;

	return why_thread(query, is_thread ? origin->slot : SLOT_NONE);
}

const struct why_reason *query_terminal(struct query *query, const struct wait *wait)
{
	struct why_reason did = terminal_did(query, wait);

	if (did.kind)
		did.who = who_wrote(query, wait);
	return why_reason_keep(query->why, &did);
}

/* -------------------------------------------------------------------- io_uring */

bool query_polls_ring(struct query *query, uint32_t slot, uint32_t word)
{
	return slot < query->tl->thread_count && word_kind(word) == WORD_SYSCALL &&
	       starts_with(timeline_comm(query->tl, slot), "iou-sqp-") &&
	       strcmp(describe_word(query, word), "io_uring_setup") == 0;
}

/* It completed what had become ready before: 'origin' says through whom. */
static const struct why_reason *ring_poller(struct query *query, const struct wait *wait)
{
	if (!wait->woken_ns || wait->waker.kind != ACTOR_THREAD || !wait->origin.time_ns ||
	    !query_polls_ring(query, wait->waker.slot, wait->waker.word))
		return NULL;
	return why_reason_keep(query->why,
			       &(struct why_reason){ .kind = WHY_REASON_RING_POLLER,
						     .who = why_thread(query, wait->waker.slot) });
}

const struct why_reason *query_helper(struct query *query, const struct wait *wait)
{
	const struct why_reason grace = { .kind = query_grace(query, wait) };
	const struct why_reason *ring = grace.kind ? NULL : ring_poller(query, wait);

	if (ring)
		return ring;
	return grace.kind ? why_reason_keep(query->why,
					    &(struct why_reason){ .kind = WHY_REASON_GRACE_ENDED,
								  .inner = &grace })
			  : query_terminal(query, wait);
}
