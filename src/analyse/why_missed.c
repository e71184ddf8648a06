/*
 * why_missed.c - time-outs behind which a thread went on, for what it waited for had come.
 *
 *	futex ──timer── futex ──timer── futex ──timer──| look: it has come
 *	W: sleeps ───────────────────────────────|  sets it, wakes nobody
 *	                                            |<->|
 *
 * What comes between a time-out and the next look wakes nobody, so nothing tells of it: it looks as if
 * the thread had given up. Time-outs and sleeps are often multiples of each other; then that is no
 * rare case. Whoever did it ran just then, so it is inferred, and told as such, where
 *
 *	- the wait is in slices, two at least, as in why_slices.c,
 *	- exactly one other thread of the process had slept since before the last two slices, was woken
 *	  in the last one or behind it, and ran between its time-out and when the waiter went on.
 */
#include "analyse/why_int.h"
#include "base/mem.h"

#define THREADS_MAX 512u

/* One that slept, and ran when the waiter looked. */
static bool may_have_done_it(struct query *query, uint32_t slot, const struct missed *missed,
			     uint64_t *out_woken_ns)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	uint64_t begin_ns = missed->last.begin_ns, looked_ns = missed->last.woken_ns;
	bool slept = false, ran = false;
	struct tl_interval in;
	struct tl_iter iter;
	struct wait wait;

	tl_iter_begin(&iter, query->tl, &thread->track, begin_ns, missed->went_on_ns);
	while (tl_iter_next(&iter, &in)) {
		enum word_kind kind = word_kind(in.word);

		if (kind == WORD_UNCERTAIN)
			return false;
		if (in.start_ns == begin_ns && kind == WORD_BLOCKED) {
			timeline_wait(query->tl, slot, word_arg(in.word), &wait);
			slept = wait.begin_ns < missed->before_ns && wait.woken_ns;
			*out_woken_ns = wait.woken_ns;
		}
		ran |= slept && in.end_ns > looked_ns && word_wib(in.word) == WIB_WORKING;
	}
	return ran;
}

bool query_missed(struct query *query, uint32_t slot, const struct missed *missed,
		  struct answer *out_answer)
{
	const struct timeline *tl = query->tl;
	int32_t tgid = tl->threads[slot]->tgid;
	uint32_t looked = 0, found = SLOT_NONE;
	uint64_t woken_ns;

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (i == slot || tl->threads[i]->tgid != tgid || tgid <= 0 ||
		    tl->threads[i]->death_ns <= missed->last.begin_ns ||
		    tl->threads[i]->birth_ns >= missed->last.begin_ns)
			continue;
		if (looked++ >= THREADS_MAX)
			return false;
		if (!may_have_done_it(query, i, missed, &woken_ns))
			continue;
		if (found != SLOT_NONE)
			return false;
		found = i;
		*out_answer = (struct answer){ .slot = i, .time_ns = woken_ns };
	}
	if (found == SLOT_NONE)
		return false;
	out_answer->words = why_keep(query->why, xasprintf("it alone woke up and ran when %s() had "
							   "timed out and was not called again",
							   describe_in(query, &missed->last)));
	return true;
}
