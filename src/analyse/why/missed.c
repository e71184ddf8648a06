/*
 * missed.c - time-outs behind which a thread went on, for what it waited for had come.
 *
 *	futex ──timer── futex ──timer── futex ──timer──| look: it has come
 *	W: sleeps ───────────────────────────────|  sets it, wakes nobody
 *	                                            |<->|
 *
 * What comes between a time-out and the next look wakes nobody, so nothing tells of it: it looks as if
 * the thread had given up. Time-outs and sleeps are often multiples of each other; then that is no
 * rare case. Whoever did it ran just then, so it is inferred, and told as such, where
 *
 *	- the call found something, though its time was up, or the next one did without a sleep: the only one did
 *	  it that did what ends such a wait between the time-out and the end of the call, as why_doers.c knows
 *	  them; of a pipe or a socket, only to that one, where it is told which one it was,
 *	- or the wait is in slices, two at least, as in why_slices.c, of a futex, which stands for something in
 *	  memory, and it is the only relative that woke one up at it between the time-out and when the waiter
 *	  went on,
 *	- or the waiter slept, or waited for a futex, for as long each time: see why_naps.c,
 *	- or, where that leads to nobody, exactly one other thread of the process had slept since before the last two
 *	  slices, was woken in the last one or behind it, not by the waiter, and ran between its time-out and when
 *	  the waiter went on.
 *
 * The last does not hold of a slice that is shorter than the one before: it is the rest of a longer time, and that
 * was up, or another sleep. Threads with which a runtime serves itself set nothing that a program waits for.
 */
#include <string.h>

#include "analyse/why/asks_int.h"
#include "analyse/why/process.h"
#include "base/mem.h"

#define THREADS_MAX 512u
#define LEAST	    2u	     /* sleeps: one may be chance */
#define REST_NS	    5000000u /* shorter by more than that, and by a REST_PART */
#define REST_PART   4u

/* One that slept, and ran when the waiter looked. */
static bool may_have_done_it(struct query *query, uint32_t waiter, uint32_t slot,
			     const struct missed *missed, uint64_t *out_woken_ns)
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
			slept = wait.begin_ns < missed->before_ns && wait.woken_ns &&
				!(wait.waker.kind == ACTOR_THREAD && wait.waker.slot == waiter);
			*out_woken_ns = wait.woken_ns;
		}
		ran |= slept && in.end_ns > looked_ns && word_wib(in.word) == WIB_WORKING;
	}
	return ran;
}

static bool is_rest(const struct missed *missed)
{
	uint64_t last_ns = missed->last.woken_ns - missed->last.begin_ns;

	return missed->last.begin_ns - missed->before_ns > last_ns + last_ns / REST_PART + REST_NS;
}

/* The only other thread of the process that woke up and ran just then. */
static bool find_sleeper(struct query *query, uint32_t slot, const struct missed *missed,
			 struct answer *out_answer)
{
	const struct timeline *tl = query->tl;
	int32_t tgid = tl->threads[slot]->tgid;
	uint32_t looked = 0, found = SLOT_NONE;
	uint64_t woken_ns;

	if (is_rest(missed))
		return false;
	for (uint32_t i = 0; i < tl->thread_count; i++) {
		if (i == slot || tl->threads[i]->tgid != tgid || tgid <= 0 ||
		    why_serves_runtime(timeline_name(tl, tl->threads[i]->comm)) ||
		    tl->threads[i]->death_ns <= missed->last.begin_ns ||
		    tl->threads[i]->birth_ns >= missed->last.begin_ns)
			continue;
		if (looked++ >= THREADS_MAX)
			return false;
		if (!may_have_done_it(query, slot, i, missed, &woken_ns))
			continue;
		if (found != SLOT_NONE)
			return false;
		found = i;
		*out_answer = (struct answer){ .slot = i, .time_ns = woken_ns };
	}
	if (found == SLOT_NONE)
		return false;
	out_answer->reason = why_reason_keep(
		query->why, &(struct why_reason){ .kind = WHY_REASON_WOKE_ALONE,
						  .call = describe_in(query, &missed->last) });
	return true;
}

/* Who did what ends such a wait, behind the time-out and up to 'until_ns'. */
static bool find_doer(struct query *query, uint32_t slot, const struct missed *missed,
		      uint64_t until_ns, struct answer *out_answer)
{
	uint64_t address = 0;
	bool is_futex = query_futex(query, &missed->last, &address);
	struct doing doing = { .query = query,
			       .slot = slot,
			       .asker = SLOT_NONE,
			       .asked = { .call = missed->last.in,
					  .about = is_futex ? word_about_futex(address) : 0 },
			       .exact = is_futex,
			       .timed_out = true,
			       .from_ns = missed->last.woken_ns,
			       .to_ns = until_ns };

	if (missed->found_ns && !is_futex)
		asks_found(query, slot, missed->found_ns, &doing.asked);
	if (!asks_find_doer(&doing, out_answer))
		return false;
	out_answer->reason = why_reason_keep(
		query->why, &(struct why_reason){ .kind = missed->by_next    ? WHY_REASON_FOUND_NEXT
							  : missed->found_ns ? WHY_REASON_FOUND_LATE
									     : WHY_REASON_TIMED_OUT,
						  .call = describe_in(query, &missed->last),
						  .by = out_answer->by });
	return true;
}

/* Who alone wrote into the memory of the process between the last look in vain and when it went on. */
static bool find_writer(struct query *query, uint32_t slot, const struct missed *missed,
			struct answer *out_answer)
{
	const struct doing doing = {
		.query = query,
		.slot = slot,
		.asker = SLOT_NONE,
		.as = "memory",
		.asked = { .about = word_about((uint64_t)query->tl->threads[slot]->tgid) },
		.others = true,
		.from_ns = missed->last.begin_ns,
		.to_ns = missed->went_on_ns,
	};

	if (!missed->went_on_ns || missed->count < LEAST || !asks_find_doer(&doing, out_answer))
		return false;
	out_answer->reason = why_reason_keep(
		query->why, &(struct why_reason){ .kind = WHY_REASON_WROTE_MEMORY,
						  .call = describe_in(query, &missed->last),
						  .number = missed->count,
						  .by = out_answer->by });
	return true;
}

/* The same of another process: it wrote there by a call, or shares the memory. */
static bool find_other_setter(struct query *query, uint32_t slot, const struct missed *missed,
			      struct answer *out_answer)
{
	uint32_t found;

	if (find_writer(query, slot, missed, out_answer))
		return true;
	found = query_naps(query, slot, missed, NAP_OF_FILE, out_answer);
	if (!found)
		found = query_naps(query, slot, missed, NAP_OF_RELATIVES, out_answer);
	return found == 1;
}

/* Who set what is in memory, behind which a thread of the process may have slept. */
static bool find_setter(struct query *query, uint32_t slot, const struct missed *missed,
			struct answer *out_answer)
{
	uint32_t found = query_naps(query, slot, missed, NAP_OF_PROCESS, out_answer);

	if (found)
		return found == 1;
	return find_sleeper(query, slot, missed, out_answer) ||
	       find_other_setter(query, slot, missed, out_answer);
}

bool query_missed(struct query *query, uint32_t slot, const struct missed *missed,
		  struct answer *out_answer)
{
	/* As the program asked, in another call: for nothing that comes through that one. */
	if (wait_sleeps_there(query, slot, &missed->last))
		return query_naps(query, slot, missed, NAP_OF_PROCESS, out_answer) == 1;
	if (query_is_nap(query, &missed->last)) {
		uint32_t found;

		if (find_writer(query, slot, missed, out_answer))
			return true;
		found = query_naps(query, slot, missed, NAP_OF_PROCESS, out_answer);
		return found ? found == 1 : find_other_setter(query, slot, missed, out_answer);
	}
	if (missed->found_ns)
		return find_doer(query, slot, missed, missed->found_ns, out_answer);
	if (!missed->before_ns || !missed->went_on_ns)
		return false;
	/* That the time was up may be all that was asked for. */
	if (asks_is_ring(query, missed->last.in))
		return find_setter(query, slot, missed, out_answer);
	/* Of others the kernel would have told that it was there. */
	if (strncmp(describe_in(query, &missed->last), "futex", strlen("futex")) != 0)
		return find_sleeper(query, slot, missed, out_answer) ||
		       (asks_is_watch(query, missed->last.in) &&
			query_naps(query, slot, missed, NAP_OF_PROCESS, out_answer) == 1);
	return find_doer(query, slot, missed, missed->went_on_ns, out_answer) ||
	       find_setter(query, slot, missed, out_answer);
}
