/*
 * asks_process_looks.c - sleeps between looks at a file, where not the thread that looks sleeps.
 *
 *	thread 1    read F                read F                 read F
 *	thread 2            ──sleep──             ──sleep──             goes on
 *	                              |<--- W: write F --->|
 *
 * As in asks_process.c all threads of a process are looked at together: Go's, node's with its helpers. What one
 * thread does between its sleeps says nothing there, so a loop is what the looks at one file make:
 *
 *	- looks that lie closer than a TURN_PART of the sleep are one turn, and a turn follows the other by
 *	  AGAIN sleeps at most,
 *	- most of the time from one turn to the next lies in a sleep,
 *	- all threads together work little in between,
 *	- and behind the last one the process does not look again.
 *
 * Who alone changed the file between the last two turns is who it was for, as in asks_content.c.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"

#define LOOKS_MAX 400000u /* of a process */
#define THREADS	  4096u	  /* of one process, looked at */
#define LEAST	  3u	  /* turns: two sleeps, for one may be chance */
#define TURNS	  65536u
#define TURN_PART 3u
#define AGAIN	  3u
#define NEAR_NS	  4000000u
#define LATE_NS	  50000000u /* with a sleep: it has no CPU for longer seldom */
#define WORK_NS	  4000000u  /* of all threads, in a turn; and a WORK_PART of the sleep */
#define WORK_PART 10u
#define STEPS_MAX 100000000u /* a bound on time, not on meaning */

struct process_look {
	uint64_t start_ns, end_ns;
	uint32_t about, call;
};

/* The turns that the sleep stands between. */
struct turns {
	struct query *query;
	const struct process_looks *process;
	uint32_t about;
	uint64_t nap_ns;
	struct asks_file file; /* in the last two of them */
	uint64_t *begins;      /* owned; when each turn began */
	size_t count, cap;
	uint64_t from_ns, to_ns, /* of all of them */
		turn_ns;	 /* the last look of the turn under way began */
};

void process_looks_fini(struct asks_runs *runs)
{
	for (size_t i = 0; i < runs->looks_count; i++)
		free(runs->looks_of[i].looks);
	free(runs->looks_of);
	map_fini(&runs->looks_by_tgid);
}

ORDER_FUNCTION(by_end, struct process_look, ORDER_UP(end_ns), ORDER_UP(start_ns), ORDER_UP(about));

static void add_looks(struct query *query, uint32_t slot, struct process_looks *process)
{
	struct asks_calls calls;
	struct tl_interval in;

	asks_calls_begin(&calls, query, slot);
	while (process->count < LOOKS_MAX && asks_calls_next(&calls, &in)) {
		uint32_t about = word_error(in.word) ? 0 : asks_seen(query, calls.call, in.word);

		if (!about)
			continue;
		process->looks = vec_room(process->looks, process->count, &process->cap,
					  sizeof(*process->looks));
		process->looks[process->count++] =
			(struct process_look){ calls.call_ns, in.start_ns, about, calls.call };
	}
}

static struct process_looks *looks_of(struct query *query, uint32_t slot)
{
	struct asks_runs *runs = query->asks;
	const struct timeline *tl = query->tl;
	int32_t tgid = tl->threads[slot]->tgid;
	uint64_t *known = map_find(&runs->looks_by_tgid, (uint32_t)tgid);
	struct process_looks process = { 0 };
	uint32_t threads = 0;

	if (known)
		return &runs->looks_of[*known];
	for (uint32_t i = 0; i < tl->thread_count && threads < THREADS; i++) {
		if (tl->threads[i]->tgid != tgid || tl->threads[i]->tid == 0)
			continue;
		threads++;
		add_looks(query, i, &process);
	}
	/* Of one thread alone all is known already. */
	if (threads < 2 || process.count >= LOOKS_MAX)
		process.count = 0;
	if (process.count)
		qsort(process.looks, process.count, sizeof(*process.looks), by_end);
	runs->looks_of = vec_room(runs->looks_of, runs->looks_count, &runs->looks_cap,
				  sizeof(*runs->looks_of));
	map_put(&runs->looks_by_tgid, (uint32_t)tgid, runs->looks_count);
	runs->looks_of[runs->looks_count] = process;
	return &runs->looks_of[runs->looks_count++];
}

/* Index behind the last one that had ended by 'time_ns'. */
static size_t ended_by(const struct process_looks *process, uint64_t time_ns)
{
	return SEARCH_BEHIND(process->looks, process->count, end_ns, time_ns);
}

/* The next look at the same file; the count = there is none. */
static size_t next_look(struct asks_runs *runs, const struct process_looks *process, size_t from)
{
	for (size_t i = from + 1; i < process->count && runs->steps++ < STEPS_MAX; i++) {
		if (process->looks[i].about == process->looks[from].about)
			return i;
	}
	return process->count;
}

/* The first look of the loop: as long as one turn comes soon behind the other. */
static size_t first_look(const struct turns *turns, size_t at)
{
	const struct process_looks *process = turns->process;
	size_t first = at;

	for (size_t i = at; i > 0 && turns->query->asks->steps++ < STEPS_MAX; i--) {
		const struct process_look *look = &process->looks[i - 1];

		if (process->looks[first].start_ns > look->end_ns + AGAIN * turns->nap_ns + LATE_NS)
			break;
		if (look->about == turns->about)
			first = i - 1;
	}
	return first;
}

/* A turn begins with that look. */
static void turn_begins(struct turns *turns, const struct process_look *look)
{
	turns->begins = vec_room(turns->begins, turns->count, &turns->cap, sizeof(*turns->begins));
	turns->begins[turns->count++] = look->start_ns;
	turns->file.vain_ns = turns->turn_ns;
}

/* All turns from that look on. False when there are too many, or too few. */
static bool take_turns(struct turns *turns, size_t at)
{
	const struct process_looks *process = turns->process;
	uint64_t end_ns;

	turns->from_ns = process->looks[at].start_ns;
	turn_begins(turns, &process->looks[at]);
	end_ns = process->looks[at].end_ns;
	for (; at < process->count; at = next_look(turns->query->asks, process, at)) {
		const struct process_look *look = &process->looks[at];
		uint64_t gap_ns = look->start_ns > end_ns ? look->start_ns - end_ns : 0;

		if (gap_ns > AGAIN * turns->nap_ns + LATE_NS)
			break;
		if (gap_ns > turns->nap_ns / TURN_PART)
			turn_begins(turns, look);
		if (turns->count > TURNS)
			return false;
		turns->turn_ns = look->start_ns;
		turns->file.call = look->call;
		turns->file.got_ns = turns->to_ns = end_ns = look->end_ns;
	}
	return turns->count >= LEAST;
}

/* Would it have looked again by now, as far as it is known what the process did? */
static bool looks_no_more(const struct turns *turns, uint32_t slot)
{
	const struct query *query = turns->query;
	int32_t tgid = query->tl->threads[slot]->tgid;

	for (uint32_t i = 0; i < query->tl->thread_count; i++) {
		const struct tl_thread *thread = query->tl->threads[i];

		if (thread->tgid == tgid && thread->tid == tgid)
			return (thread->died && thread->death_ns <= query->end_ns) ||
			       query->end_ns > turns->to_ns + AGAIN * turns->nap_ns + LATE_NS;
	}
	return false;
}

/* For how long all threads of the process worked meanwhile. */
static uint64_t worked_ns(const struct turns *turns, uint32_t slot)
{
	const struct timeline *tl = turns->query->tl;
	uint64_t ns = 0;

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		struct tl_interval in;
		struct tl_iter iter;

		if (tl->threads[i]->tgid != tl->threads[slot]->tgid || tl->threads[i]->tid == 0)
			continue;
		tl_iter_thread(&iter, tl, i, turns->begins[1], turns->to_ns);
		while (tl_iter_next(&iter, &in)) {
			if (word_wib(in.word) == WIB_WORKING)
				ns += in.end_ns - in.start_ns;
		}
	}
	return ns;
}

static bool is_loop(struct turns *turns, size_t at, uint32_t slot)
{
	return take_turns(turns, first_look(turns, at)) && looks_no_more(turns, slot) &&
	       worked_ns(turns, slot) / (turns->count - 1) <= WORK_NS + turns->nap_ns / WORK_PART;
}

/* The last look of those up to 'until' that the sleep stands behind; the count = there is none. */
static size_t look_before(struct query *query, uint32_t slot, const struct process_looks *process,
			  const struct wait *nap, size_t until)
{
	uint64_t nap_ns = nap->woken_ns - nap->begin_ns;

	for (size_t at = until;
	     at > 0 && process->looks[at - 1].end_ns + LATE_NS + nap_ns >= nap->begin_ns; at--) {
		size_t next = next_look(query->asks, process, at - 1);

		if (next < process->count &&
		    asks_lies_between(query, slot, nap, process->looks[at - 1].end_ns,
				      process->looks[next].start_ns))
			return at - 1;
	}
	return process->count;
}

/* Who alone changed it between the last two turns? */
static bool judge_loop(struct query *query, uint32_t slot, uint32_t index, struct turns *turns,
		       struct answer *out_answer)
{
	struct asks_looks looks = {
		.query = query,
		.slot = slot,
		.index = index,
		.asker = SLOT_NONE,
		.naps = (uint32_t)turns->count - 1,
		.files = { turns->file },
		.file_count = 1,
		.from_ns = turns->from_ns,
		.turns = turns->begins,
		.turn_count = turns->count - 1,
	};

	return asks_find_changer(&looks, out_answer);
}

/* The first file whose loop has an answer; else the first loop, which has none. */
static void find_answer(struct query *query, uint32_t slot, uint32_t index, const struct wait *nap,
			struct process_looks *process)
{
	size_t until = ended_by(process, nap->begin_ns + NEAR_NS), at;

	process->to_ns = 0;
	process->is_answered = false;
	for (; !process->is_answered; until = at) {
		struct turns turns = { .query = query,
				       .process = process,
				       .nap_ns = nap->woken_ns - nap->begin_ns };

		at = look_before(query, slot, process, nap, until);
		if (at == process->count)
			return;
		turns.about = turns.file.about = process->looks[at].about;
		process->is_answered = is_loop(&turns, at, slot) &&
				       judge_loop(query, slot, index, &turns, &process->answer);
		if (process->is_answered || !process->to_ns) {
			process->about = turns.about;
			process->from_ns = turns.from_ns;
			process->to_ns = turns.to_ns;
		}
		free(turns.begins);
	}
}

/* Is it one of the sleeps of the loop that was judged last? */
static bool is_known(struct query *query, uint32_t slot, const struct process_looks *process,
		     const struct wait *nap)
{
	size_t at = ended_by(process, nap->begin_ns + NEAR_NS);

	if (!process->to_ns || nap->begin_ns < process->from_ns || nap->woken_ns > process->to_ns)
		return false;
	while ((at = look_before(query, slot, process, nap, at)) != process->count) {
		if (process->looks[at].about == process->about)
			return true;
	}
	return false;
}

bool asks_of_process_looks(struct query *query, uint32_t slot, uint32_t index,
			   const struct wait *nap, struct asks_run *out_run)
{
	struct process_looks *process = looks_of(query, slot);

	if (!process->count)
		return false;
	if (!is_known(query, slot, process, nap))
		find_answer(query, slot, index, nap, process);
	if (!process->is_answered)
		return false;
	*out_run = (struct asks_run){
		.first = index, .last = index, .is_answered = true, .answer = process->answer
	};
	return true;
}
