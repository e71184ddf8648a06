/*
 * gave_up.c - a wait for a child with a limit, as timeout(1) does it: the limit ran out, and the child was killed for that.
 *
 *	wait for a signal ──SIGALRM── kill(child) ── the child has ended
 *
 * What was awaited is the end of the child, and did not come: the wait is charged to what the child did. That the thread then killed it
 * is all that shows this, so it is inferred. Who only sleeps, and kills a child then, did not wait for it.
 */
#include "analyse/why/asks_int.h"
#include "base/mem.h"

#define ENDS_NS 1000000000u /* a child that was killed ends that soon */

/* It waits for signals or children, and its own timer ended that. */
static bool is_limit(struct query *query, const struct wait *wait)
{
	static const char calls[] = " pause rt_sigsuspend rt_sigtimedwait wait4 waitid waitpid ";

	return wait->woken_ns && word_kind(wait->in) == WORD_SYSCALL &&
	       (wait->flags & WAIT_TIMED_OUT || wait->waker.kind == ACTOR_TIMER) &&
	       asks_is_among(calls, asks_name(query, wait->in));
}

/* When it began to kill somebody behind the wait, before it waited again; 0 = it did not. */
static uint64_t kills_ns(struct query *query, uint32_t slot, const struct wait *wait)
{
	static const char calls[] = " kill tgkill tkill pidfd_send_signal ";
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_thread(&iter, query->tl, slot, wait->woken_ns, query_known_ns(query, slot));
	while (tl_iter_entry(&iter, &in) && word_kind(in.word) != WORD_NONE) {
		if (word_kind(in.word) == WORD_BLOCKED && in.start_ns > wait->woken_ns)
			return 0;
		if (word_kind(in.word) == WORD_SYSCALL &&
		    asks_is_among(calls, asks_name(query, word_plain(in.word))))
			return in.start_ns;
	}
	return 0;
}

/* Its only child that was there all the time, and ended for that; SLOT_NONE = none, or several. */
static uint32_t killed_child(const struct query *query, uint32_t slot, const struct wait *wait,
			     uint64_t killed_ns)
{
	const struct timeline *tl = query->tl;
	uint32_t found = SLOT_NONE;

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		const struct tl_thread *child = tl->threads[i];

		if (child->parent >= tl->thread_count || child->tid != thread_process(child) ||
		    thread_process(child) == thread_process(tl->threads[slot]) ||
		    thread_process(tl->threads[child->parent]) !=
			    thread_process(tl->threads[slot]) ||
		    child->birth_ns > wait->begin_ns || child->death_ns < wait->woken_ns)
			continue;
		if (found != SLOT_NONE || !child->died || child->death_ns < killed_ns ||
		    child->death_ns > killed_ns + ENDS_NS)
			return SLOT_NONE;
		found = i;
	}
	return found;
}

bool query_gave_up(struct query *query, uint32_t slot, const struct wait *wait,
		   struct answer *out_answer)
{
	struct why_reason reason = { .kind = WHY_REASON_GAVE_UP };
	uint64_t killed_ns;
	uint32_t child;

	if (!is_limit(query, wait))
		return false;
	killed_ns = kills_ns(query, slot, wait);
	child = killed_ns ? killed_child(query, slot, wait, killed_ns) : SLOT_NONE;
	if (child == SLOT_NONE)
		return false;
	*out_answer = (struct answer){
		.slot = child,
		.time_ns = wait->woken_ns,
		.call = asks_name(query, wait->in),
		.about = "",
		.by = "",
		.reason = why_reason_keep(query->why, &reason),
	};
	return true;
}
