/*
 * asks_open.c - sleeps between questions for a process that never got their answer.
 *
 *	wait4 0 ──sleep── wait4 0 ──sleep── wait4 0 ──sleep── the recording ends
 *	child: works ─────────────────────────────────────────────────────────────
 *	|<---------------- held up by the child, as we infer -------------------->|
 *
 * Whether a child has ended, or whether a process is there, is answered by the end of that process alone: so it is known
 * for whom it sleeps before that has come. It must be told which one it is, by a few bits of its number: a
 * child of who asks, or for signals a relative, that lived all the time and alone has these. Of any child, it
 * is the only one.
 */
#include "analyse/why/asks_int.h"
#include "base/mem.h"

static bool is_of_process(const struct query *query, uint32_t slot, uint32_t of)
{
	return slot < query->tl->thread_count && query_is_one_process(query, slot, of);
}

static bool may_be_meant(const struct query *query, uint32_t slot, uint32_t asker,
			 const struct question *asked, bool by_signal)
{
	const struct tl_thread *thread = query->tl->threads[slot];

	if (thread->tid != thread->tgid || thread->kernel ||
	    query_is_one_process(query, slot, asker))
		return false;
	if (asked->about && asked->about != word_about((uint64_t)thread->tid))
		return false;
	return by_signal ? asked->about && asks_is_kin(query, slot, asker)
			 : is_of_process(query, thread->parent, asker);
}

/* SLOT_NONE = none, or several. */
static uint32_t find_process(const struct query *query, uint32_t slot, const struct asks_run *run,
			     uint64_t since_ns, bool by_signal)
{
	uint32_t found = SLOT_NONE;

	for (uint32_t i = 0; i < query->tl->thread_count; i++) {
		const struct tl_thread *thread = query->tl->threads[i];

		if (thread->birth_ns > since_ns || thread->death_ns < run->vain_ns ||
		    !may_be_meant(query, i, slot, &run->asked, by_signal))
			continue;
		if (found != SLOT_NONE)
			return SLOT_NONE;
		found = i;
	}
	return found;
}

bool asks_still(struct query *query, uint32_t slot, struct asks_run *run, const struct wait *first,
		const struct wait *last)
{
	const char *call = asks_name(query, run->asked.call);
	struct why_reason reason = { .kind = WHY_REASON_ASKS_STILL,
				     .call = call,
				     .object = describe_asked(query, last),
				     .found_alive = asks_for_process(call) };
	uint32_t found;

	if (run->asked.error ||
	    !(reason.found_alive || asks_is_among(" wait4 waitid waitpid ", call)))
		return false;
	found = find_process(query, slot, run, first->begin_ns, reason.found_alive);
	if (found == SLOT_NONE)
		return false;
	run->answer = (struct answer){ .slot = found,
				       .time_ns = query_known_ns(query, slot),
				       .call = call,
				       .about = reason.object,
				       .by = "",
				       .reason = why_reason_keep(query->why, &reason) };
	return true;
}
