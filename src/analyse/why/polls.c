/*
 * polls.c - what a thread asks for in vain before each of its sleeps.
 *
 * Who waits for a file lock, a port or another's file without a call that blocks asks, sleeps, and
 * asks again. The kernel sees sleeps alone; the calls that failed in between tell what they are for.
 * Where there are none, and it does not work either, it can have looked at memory only: how often, and how
 * long it sleeps, is told.
 */
#include <string.h>

#include "analyse/why/asks_int.h"
#include "analyse/why/why_int.h"

#define CALLS	  16	  /* different ones; more are one-offs */
#define LEAST	  3	  /* sleeps: fewer may be chance */
#define LOOK_NS	  200000u /* of work: little more than to look, with a LOOK_PART of the sleep */
#define LOOK_PART 50u

struct failed {
	uint32_t word, error; /* 0 = it found nothing */
	uint64_t count;	      /* of sleeps, before which it was the last to fail */
	const char *object;   /* what it was about; "" = not known, or several things */
	bool several;
};

struct tally {
	struct failed calls[CALLS];
	uint32_t used;
	uint64_t sleeps;
	uint64_t bare,
		bare_ns; /* of these, behind another one, with nothing in between; their time */
};

/* Since the last sleep. */
struct between {
	uint64_t worked_ns;
	bool did; /* more than to look at memory; or there was none */
};

static void add_bare(struct tally *tally, const struct between *between, const struct wait *wait)
{
	uint64_t ns = wait->woken_ns - wait->begin_ns;

	if (between->did || !wait->woken_ns || between->worked_ns > LOOK_NS + ns / LOOK_PART)
		return;
	tally->bare++;
	tally->bare_ns += ns;
}

static void add(struct tally *tally, const struct failed *last)
{
	struct failed *call = tally->calls, *end = call + tally->used;

	tally->sleeps++;
	if (!last->word)
		return;
	while (call < end && (call->word != last->word || call->error != last->error))
		call++;
	if (call == tally->calls + CALLS)
		return;
	if (call == end) {
		*call = *last;
		tally->used++;
	} else if (!call->several && !*call->object) {
		call->object = last->object; /* not each of them is told */
	} else if (*last->object && strcmp(call->object, last->object) != 0) {
		call->object = "";
		call->several = true;
	}
	call->count++;
}

static void walk(struct query *query, uint32_t slot, struct tally *tally)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	uint32_t call = 0, sleeping = 0, wait_word = 0;
	struct failed last = { 0 };
	struct between between = { .did = true };
	struct tl_interval in;
	struct tl_iter iter;
	struct wait wait;

	tl_iter_begin(&iter, query->tl, &thread->track, query->start_ns, query->end_ns);
	while (tl_iter_entry(&iter, &in)) {
		enum word_kind kind = word_kind(in.word);

		if (word_wib(in.word) == WIB_WORKING)
			between.worked_ns += in.end_ns - in.start_ns;
		if (kind == WORD_SYSCALL) {
			call = word_plain(in.word);
		} else if (kind == WORD_USER) {
			between.did |= call && call != sleeping && !call_is(query, call, CALL_MUTE);
			/* A sleep that a signal ends is no question. */
			if (call && call != sleeping &&
			    (word_error(in.word) || word_found_nothing(in.word)))
				last = (struct failed){ call, word_error(in.word), 0, "", false };
			call = 0;
		} else if (kind == WORD_UNCERTAIN) {
			call = 0;
			between.did = true;
			last = (struct failed){ 0 };
		} else if (kind == WORD_BLOCKED && in.word != wait_word) {
			wait_word = in.word;
			if (!wait_sleeps(query, query_wait(query, slot, in.word, &wait)))
				continue;
			last.object = describe_asked(query, &wait);
			add(tally, &last);
			add_bare(tally, &between, &wait);
			between = (struct between){ 0 };
			last = (struct failed){ 0 };
			sleeping = word_plain(wait.in);
		}
	}
}

struct why_polls query_polls(struct query *query, uint32_t slot)
{
	struct tally tally = { 0 };
	const struct failed *most = tally.calls;

	walk(query, slot, &tally);
	for (uint32_t i = 1; i < tally.used; i++) {
		if (tally.calls[i].count > most->count)
			most = &tally.calls[i];
	}
	if (query->facts->has_syscalls && tally.bare >= LEAST && tally.bare * 2 >= tally.sleeps)
		return (struct why_polls){ .bare = tally.bare,
					   .bare_ns = tally.bare_ns / tally.bare,
					   .sleeps = tally.sleeps };
	if (most->count < LEAST || most->count * 2 < tally.sleeps)
		return (struct why_polls){ 0 };
	return (struct why_polls){
		.call = describe_word(query, most->word),
		.found_alive = !most->error && asks_for_process(describe_word(query, most->word)),
		.error = most->error ? describe_error(query->why, most->error) : "",
		.object = most->object,
		.count = most->count,
		.sleeps = tally.sleeps
	};
}
