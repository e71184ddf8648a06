/*
 * asks_process.c - sleeps between questions, where not the thread that asks sleeps.
 *
 *	thread 1    stat ENOENT                stat ENOENT                 stat 0
 *	thread 2                 ──sleep──                  ──sleep──
 *
 * The runtimes of Go and node have any thread of theirs ask, and any of them sleep until the next timer.
 * So all the calls of a process are looked at together: a sleep belongs to a question that was asked in
 * vain just before it, and is asked again just behind it, where it is most of the time in between.
 */
#include <stdlib.h>

#include "analyse/why/asks_int.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"

#define ASKS_MAX  200000u
#define NEAR_NS	  4000000u
#define NEAR_PART 5u	    /* of the sleep, besides */
#define LATE_NS	  50000000u /* with a sleep: it has no CPU for longer seldom */
#define MOST(ns)  ((ns) / 3 * 2)
#define LEAST	  2u
#define THREADS	  4096u	     /* of one process, looked at */
#define STEPS_MAX 100000000u /* a bound on time, not on meaning */

struct ask {
	uint64_t start_ns, end_ns;
	struct question what;
	uint8_t outcome; /* enum outcome */
};

void process_asks_fini(struct asks_runs *runs)
{
	for (size_t i = 0; i < runs->process_count; i++)
		free(runs->processes[i].asks);
	free(runs->processes);
	map_fini(&runs->by_tgid);
}

ORDER_FUNCTION(by_end, struct ask, ORDER_UP(end_ns), ORDER_UP(start_ns));

void asks_calls_begin(struct asks_calls *calls, struct query *query, uint32_t slot)
{
	calls->call = 0;
	calls->call_ns = 0;
	tl_iter_begin(&calls->iter, query->tl, &query->tl->threads[slot]->track, query->start_ns,
		      query_known_ns(query, slot));
}

bool asks_calls_next(struct asks_calls *calls, struct tl_interval *out_end)
{
	calls->call = 0;
	while (tl_iter_entry(&calls->iter, out_end)) {
		if (word_kind(out_end->word) == WORD_SYSCALL &&
		    calls->call != word_plain(out_end->word)) {
			calls->call = word_plain(out_end->word);
			calls->call_ns = out_end->start_ns;
		}
		if (word_kind(out_end->word) == WORD_USER && calls->call)
			return true;
	}
	return false;
}

static void add_asks(struct query *query, uint32_t slot, struct process_asks *process)
{
	struct asks_calls calls;
	struct tl_interval in;

	asks_calls_begin(&calls, query, slot);
	while (process->count < ASKS_MAX && asks_calls_next(&calls, &in)) {
		uint32_t call = calls.call, error = word_error(in.word);
		enum outcome outcome = asks_outcome(query, call, in.word);

		if (asks_is_watch(query, call) ||
		    (outcome != GOT_IT &&
		     (outcome != IN_VAIN || !asks_has_reason(query, call, error))))
			continue;
		process->asks = vec_room(process->asks, process->count, &process->cap,
					 sizeof(*process->asks));
		process->asks[process->count++] = (struct ask){
			.start_ns = calls.call_ns,
			.end_ns = in.start_ns,
			.what = { call, error, word_was_about(in.word), word_was_channel(in.word) },
			.outcome = (uint8_t)outcome,
		};
	}
}

/* Of calls that succeed only those that failed as well. */
static void keep_asked(struct process_asks *process)
{
	struct map asked = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < process->count; i++) {
		if (process->asks[i].outcome == IN_VAIN)
			map_put(&asked, process->asks[i].what.call, 1);
	}
	for (size_t i = 0; i < process->count; i++) {
		if (map_find(&asked, process->asks[i].what.call))
			process->asks[kept++] = process->asks[i];
	}
	process->count = kept;
	map_fini(&asked);
}

static struct process_asks *asks_of(struct query *query, uint32_t slot)
{
	struct asks_runs *runs = query->asks;
	const struct timeline *tl = query->tl;
	int32_t tgid = tl->threads[slot]->tgid;
	uint64_t *known = map_find(&runs->by_tgid, (uint32_t)tgid);
	struct process_asks process = { 0 };
	uint32_t threads = 0;

	if (known)
		return &runs->processes[*known];
	for (uint32_t i = 0; i < tl->thread_count && threads < THREADS; i++) {
		if (tl->threads[i]->tgid != tgid || tl->threads[i]->tid == 0)
			continue;
		threads++;
		add_asks(query, i, &process);
	}
	/* Of one thread alone all is known already. */
	if (threads < 2 || process.count >= ASKS_MAX)
		process.count = 0;
	keep_asked(&process);
	if (process.count)
		qsort(process.asks, process.count, sizeof(*process.asks), by_end);
	runs->processes = vec_room(runs->processes, runs->process_count, &runs->process_cap,
				   sizeof(*runs->processes));
	map_put(&runs->by_tgid, (uint32_t)tgid, runs->process_count);
	runs->processes[runs->process_count] = process;
	return &runs->processes[runs->process_count++];
}

/* Index behind the last one that had ended by 'time_ns'. */
static size_t ended_by(const struct process_asks *process, uint64_t time_ns)
{
	return SEARCH_BEHIND(process->asks, process->count, end_ns, time_ns);
}

static bool is_same(const struct question *one, const struct question *other)
{
	return one->call == other->call &&
	       (!one->about || !other->about || one->about == other->about) &&
	       (!one->channel || !other->channel || one->channel == other->channel);
}

/* The next time that it is asked behind 'from'; the count = never. */
static size_t next_same(struct asks_runs *runs, const struct process_asks *process, size_t from)
{
	const struct question *what = &process->asks[from].what;

	for (size_t i = from + 1; i < process->count && runs->steps++ < STEPS_MAX; i++) {
		if (is_same(what, &process->asks[i].what))
			return i;
	}
	return process->count;
}

/* For how long the thread had no CPU: that it was late then is not what it did. */
uint64_t asks_without_cpu_ns(const struct query *query, uint32_t slot, uint64_t from_ns,
			     uint64_t to_ns)
{
	struct tl_interval in;
	struct tl_iter iter;
	uint64_t ns = 0;

	if (from_ns >= to_ns)
		return 0;
	tl_iter_thread(&iter, query->tl, slot, from_ns, to_ns);
	while (tl_iter_next(&iter, &in)) {
		if (word_wib(in.word) == WIB_INTERRUPTED)
			ns += in.end_ns - in.start_ns;
	}
	return ns;
}

bool asks_lies_between(const struct query *query, uint32_t slot, const struct wait *nap,
		       uint64_t from_ns, uint64_t to_ns)
{
	uint64_t nap_ns = nap->woken_ns - nap->begin_ns, near = NEAR_NS + nap_ns / NEAR_PART;
	uint64_t before_ns = asks_without_cpu_ns(query, slot, from_ns, nap->begin_ns);
	uint64_t behind_ns = asks_without_cpu_ns(query, slot, nap->woken_ns, to_ns);

	return from_ns + before_ns + near >= nap->begin_ns && to_ns + NEAR_NS >= nap->woken_ns &&
	       to_ns <= nap->woken_ns + behind_ns + near &&
	       nap_ns >= MOST(to_ns - from_ns - before_ns - behind_ns);
}

/* The question in vain that the sleep stands behind; the count = there is none. */
static size_t question_of(struct query *query, uint32_t slot, const struct process_asks *process,
			  const struct wait *nap)
{
	uint64_t nap_ns = nap->woken_ns - nap->begin_ns;
	size_t at = ended_by(process, nap->begin_ns + NEAR_NS);

	for (; at > 0 && process->asks[at - 1].end_ns + LATE_NS + nap_ns >= nap->begin_ns; at--) {
		const struct ask *ask = &process->asks[at - 1];
		size_t next;

		if (ask->outcome != IN_VAIN)
			continue;
		next = next_same(query->asks, process, at - 1);
		if (next < process->count &&
		    asks_lies_between(query, slot, nap, ask->end_ns, process->asks[next].start_ns))
			return at - 1;
	}
	return process->count;
}

static bool has_before(struct asks_runs *runs, const struct process_asks *process, size_t at)
{
	for (size_t i = at; i > 0 && runs->steps++ < STEPS_MAX; i--) {
		if (is_same(&process->asks[i - 1].what, &process->asks[at].what))
			return process->asks[i - 1].outcome == IN_VAIN;
	}
	return false;
}

/* The sleeps of one loop have one answer: it is looked for once. */
static bool is_known(const struct process_asks *process, size_t at)
{
	return at >= process->from && at < process->got &&
	       is_same(&process->asks[at].what, &process->asks[process->got].what);
}

/* What got the answer to the question at 'from'. False when nothing did, or it was asked in vain once. */
static bool find_run(struct query *query, uint32_t slot, struct process_asks *process, size_t from,
		     const struct wait *nap)
{
	struct asks_runs *runs = query->asks;
	size_t vain = 1u + has_before(runs, process, from), last = from, at;
	struct asks_run *run = &process->last;

	while ((at = next_same(runs, process, last)) < process->count &&
	       process->asks[at].outcome == IN_VAIN) {
		last = at;
		vain++;
	}
	if (at == process->count || vain < LEAST)
		return false;
	process->from = from;
	process->got = at;
	*run = (struct asks_run){ .asked = process->asks[last].what,
				  .vain_ns = process->asks[last].start_ns };
	run->asked.channel = process->asks[at].what.channel;
	run->is_answered =
		asks_find_answer(query, slot, run, process->asks[at].end_ns, nap, &run->answer);
	run->answer.naps = LEAST;
	return true;
}

bool asks_of_process(struct query *query, uint32_t slot, uint32_t index, const struct wait *nap,
		     struct asks_run *out_run)
{
	struct process_asks *process = asks_of(query, slot);
	size_t at = question_of(query, slot, process, nap);

	if (at == process->count ||
	    (!is_known(process, at) && !find_run(query, slot, process, at, nap)) ||
	    !process->last.is_answered)
		return false;
	*out_run = process->last;
	out_run->first = out_run->last = index;
	return true;
}
