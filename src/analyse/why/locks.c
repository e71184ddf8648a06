/*
 * locks.c - the lock that a thread waited for, and who had it: of the kernel's, and in futex calls.
 *
 * A kernel lock tells its owner itself, where the recorder asked it.
 *
 * The kernel sees one futex and who woke the thread in the end. What the program told of its
 * locks says who had the lock all along. A program may write what it likes: an owner counts only
 * if it is another thread of the same process that lived then.
 */
#include <string.h>

#include "analyse/locks/lock_track.h"
#include "analyse/why/why_int.h"
#include "event/facts.h"

uint32_t query_holder(struct query *query, const struct wait *wait, const char **out_holding)
{
	const struct wait in = { .in = wait->origin.word };

	*out_holding = "";
	if (!(wait->flags & WAIT_OWNED) || wait->origin.slot >= query->tl->thread_count)
		return SLOT_NONE;
	if (word_kind(wait->origin.word) != WORD_NONE)
		*out_holding = describe_in(query, &in);
	return wait->origin.slot;
}

/* Where system calls are not recorded, a sleep may be one in a futex call. */
static bool may_be_futex(struct query *query, const struct wait *wait)
{
	if (word_kind(wait->in) == WORD_SYSCALL)
		return strcmp(describe_word(query, wait->in), "futex") == 0;
	return word_kind(wait->in) == WORD_RUN && !query->facts->has_syscalls;
}

bool query_lock(struct query *query, uint32_t slot, const struct wait *wait,
		const struct tl_interval *in, struct lock_owner_wait *out_lock)
{
	const struct lock_owners *owners = query->opts->lock_owners;
	struct lock_owner_wait lock;
	uint64_t begin_ns, end_ns;

	if (!owners || !may_be_futex(query, wait) ||
	    !lock_owners_find(owners, query->tl->threads[slot]->tid, in->start_ns, in->end_ns,
			      &lock))
		return false;
	/* It lies within what was told, but for two clocks that differ; less is another wait. */
	begin_ns = lock.begin_ns > in->start_ns ? lock.begin_ns : in->start_ns;
	end_ns = lock.end_ns < in->end_ns ? lock.end_ns : in->end_ns;
	if (end_ns - begin_ns < (in->end_ns - in->start_ns) / 2)
		return false;
	*out_lock = lock;
	return true;
}

/* The thread that a span of 'waiter' names; SLOT_NONE when it cannot have had the lock. */
static uint32_t owner_slot(const struct timeline *tl, uint32_t waiter, const struct lock_span *span)
{
	uint32_t slot;

	if (span->owner_tid <= 0)
		return SLOT_NONE;
	slot = timeline_find_thread(tl, span->owner_tid, span->start_ns);
	if (slot == SLOT_NONE || slot == waiter || tl->threads[slot]->death_ns <= span->start_ns ||
	    tl->threads[slot]->tgid != tl->threads[waiter]->tgid)
		return SLOT_NONE;
	return slot;
}

void owned_begin(struct owned_iter *iter, struct query *query, uint32_t waiter,
		 const struct lock_owner_wait *lock, const struct tl_interval *in)
{
	*iter = (struct owned_iter){ .tl = query->tl,
				     .lock = lock,
				     .waiter = waiter,
				     .at_ns = in->start_ns,
				     .end_ns = in->end_ns };
}

/* What lies at iter->at_ns: a span of the lock's, or the time until the next one. */
static struct owned_span span_at(struct owned_iter *iter)
{
	struct owned_span out = { iter->at_ns, iter->end_ns, SLOT_NONE };
	struct lock_span span;
	uint64_t death_ns;

	while (iter->index < iter->lock->span_count &&
	       iter->lock->spans[iter->index].end_ns <= iter->at_ns)
		iter->index++;
	if (iter->index >= iter->lock->span_count)
		return out;
	span = lock_owner_span(iter->lock, iter->index, iter->at_ns, iter->end_ns);
	if (span.start_ns > iter->at_ns) {
		out.end_ns = span.start_ns < iter->end_ns ? span.start_ns : iter->end_ns;
		return out;
	}
	out.end_ns = span.end_ns;
	out.slot = owner_slot(iter->tl, iter->waiter, &span);
	if (out.slot == SLOT_NONE)
		return out;
	death_ns = iter->tl->threads[out.slot]->death_ns;
	if (death_ns < out.end_ns)
		out.end_ns = death_ns;
	return out;
}

bool owned_next(struct owned_iter *iter, struct owned_span *out_span)
{
	if (iter->at_ns >= iter->end_ns)
		return false;
	*out_span = span_at(iter);
	iter->at_ns = out_span->end_ns;
	/* Spans in a row of the same owner are one. */
	while (iter->at_ns < iter->end_ns) {
		struct owned_span more = span_at(iter);

		if (more.slot != out_span->slot)
			break;
		out_span->end_ns = iter->at_ns = more.end_ns;
	}
	return true;
}
