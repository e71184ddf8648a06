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
/* At threads of the trace: a bound on time, not on meaning. */
#define STOP_LOOKS_MAX 200000000u
#define SIGNAL_NS      1000000u /* in which one signal wakes all threads of a process */

bool query_ended_in(const struct query *query, uint32_t slot, uint32_t index,
		    const struct wait *wait)
{
	const struct tl_thread *thread = query->tl->threads[slot];
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

static char *signal_name(const struct actor *waker)
{
	const char *name = sigabbrev_np(waker->signal);

	if (waker->signal == SIGNAL_FREEZER)
		return xstrdup("the freezer");
	return name ? xasprintf("SIG%s", name) : xasprintf("signal %u", waker->signal);
}

/* It ended in the wait, or was interrupted: by what, or by whom. */
static const struct why_reason *ended_by(struct query *query, const struct tl_thread *thread,
					 const struct wait *wait, enum why_reason_kind kind)
{
	const struct actor *waker = &wait->waker;
	AUTO_FREE char *signal = waker->signal ? signal_name(waker) : NULL;
	struct why_reason reason = { .kind = kind, .name = signal };
	struct why_thread by = why_thread(query, waker->slot);

	reason.inner = signal ? query_terminal(query, wait) : NULL;
	reason.by_timer = signal && !reason.inner && waker->kind == ACTOR_TIMER;
	if (!reason.inner && waker->kind == ACTOR_THREAD && by.tid &&
	    (signal ? by.tid != thread->tid : by.tgid != thread->tgid))
		reason.who = by;
	return why_reason_keep(query->why, &reason);
}

/*
 * A call, or a page fault that a signal ended, as of memory that a userfaultfd serves: where the fault was not
 * recorded, no stop.
 */
static bool is_interruptible(const struct wait *wait)
{
	enum word_kind kind = word_kind(wait->in);

	return kind == WORD_SYSCALL || (wait->waker.signal && !(wait->flags & WAIT_STOPPED) &&
					(kind == WORD_TRAP || kind == WORD_USER));
}

/* Who waits for a signal got what it waited for. */
static bool asks_to_end(struct query *query, const struct wait *wait)
{
	return signal_asks_to_end(wait->waker.signal) &&
	       strcmp(timeline_name(query->tl, wait->object), "a signal") != 0;
}

/* To stop it, or to freeze it: who did that brought nothing of what was awaited. */
static bool is_broken_off_to_stop(const struct wait *wait)
{
	switch (wait->waker.signal) {
	case SIGNAL_FREEZER:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return true;
	default:
		return false;
	}
}

/*
 * Another thread ended the process: the first one, by whose life that of the process is told, was there for that long
 * because of what the other one did. Runtimes that pass tasks between threads (Go) end in any of them.
 */
static bool ended_by_sibling(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	uint32_t by = wait->waker.slot;

	return thread->tid == thread->tgid && wait->waker.kind == ACTOR_THREAD &&
	       by < query->tl->thread_count && by != slot &&
	       query_is_one_process(query, by, slot) &&
	       word_kind(wait->waker.word) == WORD_SYSCALL &&
	       strcmp(describe_word(query, wait->waker.word), "exit_group") == 0;
}

const struct why_reason *query_stuck(struct query *query, uint32_t slot, const struct wait *wait,
				     const struct tl_interval *in)
{
	static const struct why_reason at_end = { .kind = WHY_REASON_RECORDING_ENDED };
	static const struct why_reason gave_up = { .kind = WHY_REASON_KERNEL_GAVE_UP };
	const struct tl_thread *thread = query->tl->threads[slot];
	bool ended;

	if (wait->woken_ns == 0 && wait_lasts(query, slot, in->word, wait))
		return why_reason_keep(query->why, &at_end);
	if (wait->woken_ns == 0)
		return wait_is_cut_off(wait) ? ended_by(query, thread, wait, WHY_REASON_ENDED)
					     : NULL;
	if ((!query->facts->has_syscalls && !query->facts->is_lean) || !is_interruptible(wait))
		return NULL;
	/* With lean events it is not known whether it made another call. */
	ended = query->facts->has_syscalls && query_ended_in(query, slot, word_arg(in->word), wait);
	if (ended && ended_by_sibling(query, slot, wait))
		return NULL;
	if (!ended && !asks_to_end(query, wait) && !is_broken_off_to_stop(wait) &&
	    !wait_gave_up(wait))
		return NULL;
	if (!ended && wait_kernel_gave_up(wait))
		return why_reason_keep(query->why, &gave_up);
	return ended_by(query, thread, wait, ended ? WHY_REASON_ENDED : WHY_REASON_INTERRUPTED);
}

/* A signal goes to one thread of a process, by its event, and lets all of them go on. False = that was none of them. */
static bool same_signal(struct query *query, uint32_t slot, const struct wait *wait,
			struct actor *out_waker)
{
	uint64_t woken_ns = wait->woken_ns;
	struct tl_interval in;
	struct tl_iter iter;
	struct wait other;

	tl_iter_thread(&iter, query->tl, slot, woken_ns > SIGNAL_NS ? woken_ns - SIGNAL_NS : 0,
		       woken_ns + SIGNAL_NS);
	while (tl_iter_next(&iter, &in)) {
		if (word_kind(in.word) != WORD_BLOCKED)
			continue;
		query_wait(query, slot, in.word, &other);
		if (other.flags & WAIT_STOPPED && other.waker.signal &&
		    other.waker.kind == ACTOR_THREAD && other.waker.slot == wait->waker.slot &&
		    other.woken_ns + SIGNAL_NS > woken_ns &&
		    woken_ns + SIGNAL_NS > other.woken_ns) {
			*out_waker = other.waker;
			return true;
		}
	}
	return false;
}

/* What let a stopped thread go on: the signal that its process got, be it told of another thread. */
static struct actor let_go_on(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct timeline *tl = query->tl;
	struct actor waker = wait->waker;

	if (!wait->woken_ns || waker.signal || waker.kind != ACTOR_THREAD || wait_frozen(wait) ||
	    query->stop_looks > STOP_LOOKS_MAX)
		return waker;
	query->stop_looks += tl->thread_count;
	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (i != slot && query_is_one_process(query, i, slot) &&
		    same_signal(query, i, wait, &waker))
			break;
	}
	return waker;
}

const struct why_reason *query_stopped(struct query *query, uint32_t slot, const struct wait *wait,
				       const struct tl_interval *in)
{
	const struct actor waker =
		wait->flags & WAIT_STOPPED ? let_go_on(query, slot, wait) : wait->waker;
	AUTO_FREE char *signal = waker.signal ? signal_name(&waker) : NULL;
	struct why_reason reason = { .kind = signal ? WHY_REASON_CONTINUED : WHY_REASON_THAWED,
				     .name = signal };

	if (!(wait->flags & WAIT_STOPPED) || wait->flags & WAIT_EXPECTS) /* by its tracer */
		return NULL;
	if (wait->woken_ns == 0)
		return query_stuck(query, slot, wait, in);
	if (!signal && !wait_frozen(wait))
		return NULL;
	if (wait->waker.kind == ACTOR_THREAD)
		reason.who = why_thread(query, wait->waker.slot);
	return why_reason_keep(query->why, &reason);
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

/* From what it is inferred that it waits for that one; NULL = it is known. 'of_group': it is one of a group. */
static const struct why_reason *awaited_by(struct query *query, const struct wait *wait,
					   enum why_reason_kind of_group)
{
	const char *by = wait_expects(wait) && !(wait->flags & WAIT_OWNED)
				 ? timeline_name(query->tl, wait->origin.name)
				 : "";
	struct why_reason reason = { .kind = *by ? WHY_REASON_EXPECTED : of_group };

	for (enum why_reason_kind kind = WHY_REASON_END_USED_LATELY;
	     *by && kind <= WHY_REASON_CHILD_SIGNAL; kind++) {
		if (strcmp(by, why_reason_name(kind)) == 0)
			reason.kind = kind;
	}
	if (reason.kind == WHY_REASON_EXPECTED && strncmp(by, BY_SEEN, sizeof(BY_SEEN) - 1) == 0)
		reason = (struct why_reason){ .kind = WHY_REASON_SEEN,
					      .name = by + sizeof(BY_SEEN) - 1 };
	else if (reason.kind == WHY_REASON_EXPECTED)
		reason.object = by;
	return why_reason_keep(query->why, &reason);
}

uint32_t query_awaited(struct query *query, uint32_t slot, const struct wait *wait,
		       const struct tl_interval *in, const struct why_reason **out_by)
{
	enum why_reason_kind of_group = WHY_REASON_NONE;
	uint32_t child, any = SLOT_NONE;
	bool others_wait;

	*out_by = NULL;
	if (wait_expects(wait) && wait->origin.slot < query->tl->thread_count)
		any = wait->origin.slot;
	else if (wait->flags & WAIT_GROUP) {
		any = group_leads_to(query, slot, wait, in, &others_wait);
		of_group = others_wait ? WHY_REASON_OTHERS_WAIT : WHY_REASON_ALL_LEAD;
	}
	if (any != SLOT_NONE) {
		*out_by = awaited_by(query, wait, of_group);
		return any;
	}
	child = awaited_child(query, slot, wait, in);
	return child != SLOT_NONE ? child : query_worker(query, slot, wait, in, out_by);
}
