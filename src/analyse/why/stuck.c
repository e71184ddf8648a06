/*
 * stuck.c - waits that what was awaited never ended.
 *
 * They last to the end of the recording, or somebody ended the thread in them, or asked it to end:
 * the signal, or whoever sent it, is not what the thread was held up by, however long it took to
 * come. Who waits for a signal got what it waited for.
 *
 * A call that a signal interrupts says so in what it returns. If its handler ran, the thread's next
 * call follows; a thread that dies without one was ended right there.
 */
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/mem.h"
#include "event/facts.h"

/* Waits that the end of a thread may bring, after the one that it was ended in. */
#define WAITS_AT_END 8

/* Did the thread end without another system call after it was woken out of 'wait'? */
static bool ended_in(const struct query *query, const struct tl_thread *thread,
		     const struct wait *wait, uint32_t index)
{
	bool out = false, interrupted = wait->waker.signal != 0;
	struct tl_interval in;
	struct tl_iter iter;

	if (!thread->died || index + WAITS_AT_END < thread->wait_count)
		return false;
	tl_iter_begin(&iter, query->tl, &thread->track, wait->woken_ns, thread->death_ns);
	while (tl_iter_entry(&iter, &in)) {
		enum word_kind kind = word_kind(in.word);

		if (kind == WORD_UNCERTAIN || (kind == WORD_BLOCKED && !out) ||
		    (kind == WORD_SYSCALL && (out || word_plain(in.word) != wait->in)))
			return false;
		if (kind == WORD_USER && !out)
			interrupted |= error_is_interrupted(word_error(in.word));
		out |= kind == WORD_USER;
	}
	return interrupted;
}

static char *signal_words(const struct actor *waker)
{
	const char *name = sigabbrev_np(waker->signal);

	return name ? xasprintf("SIG%s", name) : xasprintf("signal %u", waker->signal);
}

/* "SIGTERM of timeout[12] ended it"; 'did' is "ended" or "interrupted" */
static char *ended_words(struct query *query, const struct tl_thread *thread,
			 const struct wait *wait, const char *did)
{
	const struct actor *waker = &wait->waker;
	const char *terminal = query_terminal(query, wait);
	AUTO_FREE char *signal = waker->signal ? signal_words(waker) : NULL;
	struct why_thread by = why_thread(query, waker->slot);

	if (signal && terminal)
		return xasprintf("%s of %s %s it", signal, terminal, did);
	if (signal && waker->kind == ACTOR_TIMER)
		return xasprintf("%s by a timer %s it", signal, did);
	if (signal && waker->kind == ACTOR_THREAD && by.tid && by.tid != thread->tid)
		return xasprintf("%s of %s[%d] %s it", signal, by.comm, by.tid, did);
	if (signal)
		return xasprintf("%s %s it", signal, did);
	if (waker->kind == ACTOR_THREAD && by.tid && by.tgid != thread->tgid)
		return xasprintf("%s[%d] ended it", by.comm, by.tid);
	return xstrdup("its process ended");
}

/* Who waits for a signal got what it waited for. */
static bool asks_to_end(struct query *query, const struct wait *wait)
{
	return signal_asks_to_end(wait->waker.signal) &&
	       strcmp(timeline_name(query->tl, wait->object), "a signal") != 0;
}

const char *query_stuck(struct query *query, uint32_t slot, const struct wait *wait,
			const struct tl_interval *in)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	bool ended;

	if (wait->woken_ns == 0)
		return wait_lasts(query, slot, in->word, wait) ? "the recording ended" : NULL;
	if ((!query->facts->has_syscalls && !query->facts->is_lean) ||
	    word_kind(wait->in) != WORD_SYSCALL)
		return NULL;
	/* With lean events it is not known whether it made another call. */
	ended = query->facts->has_syscalls && ended_in(query, thread, wait, word_arg(in->word));
	if (!ended && !asks_to_end(query, wait) && !wait_gave_up(wait))
		return NULL;
	return why_keep(query->why,
			ended_words(query, thread, wait, ended ? "ended" : "interrupted"));
}

const char *query_stopped(struct query *query, uint32_t slot, const struct wait *wait,
			  const struct tl_interval *in)
{
	struct why_thread by = why_thread(query, wait->waker.slot);
	AUTO_FREE char *signal = wait->waker.signal ? signal_words(&wait->waker) : NULL;

	if (!(wait->flags & WAIT_STOPPED) || wait->flags & WAIT_EXPECTS) /* by its tracer */
		return NULL;
	if (wait->woken_ns == 0)
		return query_stuck(query, slot, wait, in);
	if (!signal && !wait_frozen(wait))
		return NULL;
	if (wait->waker.kind != ACTOR_THREAD || !by.tid)
		return why_keep(query->why, xstrdup(signal ? signal : "it was thawed"));
	return why_keep(query->why,
			xasprintf("%s%s%s[%d]%s", signal ? signal : "", signal ? " of " : "",
				  by.comm, by.tid, signal ? "" : " thawed it"));
}

static bool awaits_children(struct query *query, const struct wait *wait)
{
	static const char *const calls[] = { "wait4", "waitid", "waitpid" };

	if (word_kind(wait->in) != WORD_SYSCALL)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (strcmp(describe_word(query, wait->in), calls[i]) == 0)
			return true;
	}
	return false;
}

static uint32_t awaited_child(struct query *query, uint32_t slot, const struct wait *wait,
			      const struct tl_interval *in)
{
	const struct timeline *tl = query->tl;
	uint32_t child = SLOT_NONE;

	if (!awaits_children(query, wait))
		return SLOT_NONE;
	for (uint32_t i = 0; i < tl->thread_count; i++) {
		const struct tl_thread *thread = tl->threads[i];

		if (thread->parent != slot || thread->tid != thread->tgid ||
		    thread->death_ns <= in->start_ns || thread->birth_ns > in->start_ns)
			continue;
		if (child != SLOT_NONE)
			return SLOT_NONE;
		child = i;
	}
	return child;
}

static bool wait_expects(const struct wait *wait)
{
	return wait->flags & WAIT_EXPECTS && !(wait->flags & WAIT_ASKED);
}

uint32_t query_awaited(struct query *query, uint32_t slot, const struct wait *wait,
		       const struct tl_interval *in)
{
	if (wait_expects(wait) && wait->origin.slot < query->tl->thread_count)
		return wait->origin.slot;
	return awaited_child(query, slot, wait, in);
}

const char *query_awaited_by(const struct query *query, const struct wait *wait)
{
	const char *by = wait_expects(wait) && !(wait->flags & WAIT_OWNED)
				 ? timeline_name(query->tl, wait->origin.name)
				 : "";

	return *by ? by : NULL;
}
