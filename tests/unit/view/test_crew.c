/*
 * Lanes and their spans out of a stored timeline, with a helper and without, are those of the same timeline in
 * memory; and spans are all that a walk along the track finds.
 */
#include "view/crew.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ask/loaded.h"
#include "base/mem.h"
#include "random_trace.h"
#include "stored.h"
#include "view/answer.h"

#define PARTS 1000u

static const struct index_key key = { "a key, 16 bytes" };

/* The same trace three times: in memory, stored, and stored with a helper. */
enum {
	MEMORY,
	STORED,
	HELPED,
	WAYS
};

struct ways {
	struct text_trace *trace;
	struct loaded loaded[WAYS];
	struct view views[WAYS];
};

static void begin(struct ways *ways, uint64_t seed)
{
	struct err err = { 0 };

	ways->trace = random_trace(seed, 600, false, seed % 2 == 0);
	assert_int_equal(state_run(&ways->trace->source, &ways->trace->facts, NULL, NULL,
				   &ways->loaded[MEMORY].timeline, &err),
			 0);
	for (int way = 0; way < WAYS; way++) {
		if (way != MEMORY)
			ways->loaded[way].timeline =
				stored_timeline(ways->trace, NULL, &key, 4 + (uint32_t)seed % 29);
		ways->loaded[way].facts = &ways->trace->facts;
		ways->views[way] =
			(struct view){ .path = "a.holdup", .loaded = &ways->loaded[way] };
	}
	ways->views[HELPED].crew = view_crew_new(&ways->views[HELPED]);
}

static void end(struct ways *ways)
{
	view_crew_free(ways->views[HELPED].crew);
	for (int way = 0; way < WAYS; way++)
		timeline_free(ways->loaded[way].timeline);
	text_trace_free(ways->trace);
}

/* All of them answer alike; what they do is the caller's. */
static struct view_answer same_answer(const struct ways *ways, const char *route, const char *query)
{
	struct view_answer answers[WAYS];

	for (int way = 0; way < WAYS; way++) {
		view_answer_route(&ways->views[way], route, query, &answers[way]);
		if (answers[way].status != 200 || answers[way].count != answers[0].count ||
		    memcmp(answers[way].bytes, answers[0].bytes, answers[0].count) != 0)
			fail_msg("%s?%s: %d is not as in memory: %d", route, query, way,
				 answers[way].status);
	}
	for (int way = 1; way < WAYS; way++)
		view_answer_fini(&answers[way]);
	return answers[0];
}

/* The next "start_ns":..,"end_ns":.. of a text, of spans, that moves on; false at the end of the lane. */
static bool next_span(const char **at, const char *lane_end, struct tl_interval *out_span)
{
	const char *found = strstr(*at, "\"start_ns\":");

	if (!found || found > lane_end)
		return false;
	assert_int_equal(sscanf(found, "\"start_ns\":%" SCNu64 ",\"end_ns\":%" SCNu64,
				&out_span->start_ns, &out_span->end_ns),
			 2);
	*at = found + 1;
	return true;
}

/* 'at': the array of one thread's spans. */
static const char *check_spans(const struct timeline *tl, uint32_t slot, uint64_t from, uint64_t to,
			       uint64_t least, const char *at)
{
	const char *lane_end = strstr(at, "],[");
	struct tl_interval in, told;
	struct tl_iter iter;

	lane_end = lane_end ? lane_end : at + strlen(at);
	tl_iter_thread(&iter, tl, slot, from, to);
	while (tl_iter_next(&iter, &in)) {
		if (in.end_ns - in.start_ns < least || word_kind(in.word) == WORD_NONE)
			continue;
		assert_true(next_span(&at, lane_end, &told));
		assert_int_equal(told.start_ns, in.start_ns - tl->origin_ns);
		assert_int_equal(told.end_ns, in.end_ns - tl->origin_ns);
	}
	assert_false(next_span(&at, lane_end, &told));
	return *lane_end ? lane_end + 2 : lane_end;
}

static void check_window(const struct ways *ways, const char *rows, uint64_t from, uint64_t to,
			 uint64_t least)
{
	const struct timeline *tl = ways->loaded[MEMORY].timeline;
	AUTO_FREE char *lanes =
		xasprintf("from=%" PRIu64 "&to=%" PRIu64 "&width=37&rows=%s", from, to, rows);
	AUTO_FREE char *spans = xasprintf(
		"from=%" PRIu64 "&to=%" PRIu64 "&least=%" PRIu64 "&rows=%s", from, to, least, rows);
	struct view_answer answer = same_answer(ways, "lanes", lanes);
	AUTO_FREE char *text = NULL;
	const char *at;

	view_answer_fini(&answer);
	answer = same_answer(ways, "spans", spans);
	text = xstrndup(answer.bytes, answer.count);
	at = strstr(text, "[[");
	for (uint32_t slot = 0; slot < tl->thread_count; slot++)
		at = check_spans(tl, slot, from, to, least, at);
	view_answer_fini(&answer);
}

static void lanes_and_spans_are_those_in_memory(void **unused)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct ways ways = { 0 };
		const struct timeline *tl;
		uint64_t ns;
		AUTO_FREE char *rows = xstrdup("t0");

		begin(&ways, seed);
		tl = ways.loaded[MEMORY].timeline;
		for (uint32_t slot = 1; slot < tl->thread_count; slot++) {
			char *longer = xasprintf("%s,t%u", rows, slot);

			free(rows);
			rows = longer;
		}
		ns = tl->end_ns - tl->origin_ns;
		for (uint64_t part = 2; part < 40; part = part * 3 / 2) {
			check_window(&ways, rows, tl->origin_ns, tl->end_ns, ns / 2 / part);
			check_window(&ways, rows, tl->origin_ns + ns / 7 * part / 10,
				     tl->origin_ns + ns / 7 * part / 10 + 1 + ns / 3,
				     ns / 5 / part);
		}
		end(&ways);
	}
}

static void count_part(const struct view *view, uint32_t index, void *context)
{
	_Atomic uint32_t *counts = context;

	if (!view->loaded->timeline)
		abort(); /* not in the thread of the test, maybe */
	atomic_fetch_add(&counts[index], 1);
}

static void every_part_is_made_once(void **unused)
{
	static _Atomic uint32_t counts[PARTS];
	struct ways ways = { 0 };

	begin(&ways, 3);
	for (uint32_t round = 1; round <= 200; round++) {
		view_crew_each(&ways.views[HELPED], PARTS, count_part, counts);
		for (uint32_t i = 0; i < PARTS; i++)
			assert_int_equal(counts[i], round);
	}
	end(&ways);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_and_spans_are_those_in_memory),
		cmocka_unit_test(every_part_is_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
