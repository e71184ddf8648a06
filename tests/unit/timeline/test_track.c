/* test_track.c - tracks against an array of (time, word) that is searched end to end. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "timeline/timeline.h"
#include "timeline/track.h"

#define TWIN_MAX 400
#define EPOCH	 (UINT64_C(1) << 32)

struct pair {
	uint64_t time;
	uint32_t word;
};

struct twin {
	struct pair pairs[TWIN_MAX];
	uint32_t count;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 7;
}

/* The index of the last pair that begins at or before 'time', or UINT32_MAX. */
static uint32_t twin_find(const struct twin *twin, uint64_t time)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < twin->count; i++) {
		if (twin->pairs[i].time <= time)
			found = i;
	}
	return found;
}

static void compare(struct timeline *tl, const struct twin *twin, uint64_t time)
{
	struct track *track = &tl->threads[0]->track;
	uint32_t want = twin_find(twin, time);
	struct tl_iter iter;
	struct tl_interval in;

	assert_int_equal(track->count, twin->count);
	assert_int_equal(timeline_state_at(tl, 0, time),
			 want == UINT32_MAX ? word_make(WORD_NONE, 0) : twin->pairs[want].word);
	tl_iter_begin(&iter, tl, track, time, UINT64_MAX);
	for (uint32_t i = 0; i < twin->count; i++) {
		if (twin->pairs[i].time < time)
			continue;
		assert_true(tl_iter_entry(&iter, &in));
		assert_int_equal(in.start_ns, twin->pairs[i].time);
		assert_int_equal(in.word, twin->pairs[i].word);
		assert_int_equal(track_time(track, i), twin->pairs[i].time);
	}
	assert_false(tl_iter_entry(&iter, &in));
	assert_int_equal(track_last_time(track), twin->pairs[twin->count - 1].time);
}

/* A step in time: none, a little, about an epoch, or many. */
static uint64_t step(uint64_t *random)
{
	switch (next_random(random) % 8) {
	case 0:
		return 0;
	case 1:
		return EPOCH - 2 + next_random(random) % 4;
	case 2:
		return next_random(random) % (5 * EPOCH);
	default:
		return next_random(random) % 1000;
	}
}

static void append(struct track *track, struct twin *twin, uint64_t *random)
{
	uint64_t time = (twin->count ? twin->pairs[twin->count - 1].time : 0) + step(random);
	uint32_t word = word_make(WORD_WORK, (uint32_t)next_random(random));

	track_append(track, time, word);
	twin->pairs[twin->count++] = (struct pair){ time, word };
}

/* A time between those of entries 'index' - 1 and 'next', either end included. */
static uint64_t between(const struct twin *twin, uint32_t index, uint32_t next, uint64_t *random)
{
	uint64_t low = index ? twin->pairs[index - 1].time : 0;
	uint64_t high = next < twin->count ? twin->pairs[next].time
					   : twin->pairs[twin->count - 1].time + 3 * EPOCH;

	return low + next_random(random) % (high - low + 1);
}

static void amend(struct track *track, struct twin *twin, uint64_t *random)
{
	uint32_t index = twin->count - 1 - (uint32_t)(next_random(random) % twin->count) % 4;
	uint64_t time = between(twin, index, index + 1, random);
	uint32_t word = word_make(WORD_WORK, (uint32_t)next_random(random));

	track_amend(track, index, time, word);
	twin->pairs[index] = (struct pair){ time, word };
}

static void insert(struct track *track, struct twin *twin, uint64_t *random)
{
	uint32_t index = twin->count - 1 - (uint32_t)(next_random(random) % twin->count) % 4;
	uint64_t time = between(twin, index, index, random);
	uint32_t word = word_make(WORD_WORK, (uint32_t)next_random(random));

	track_insert(track, index, time, word);
	memmove(twin->pairs + index + 1, twin->pairs + index,
		(twin->count - index) * sizeof(twin->pairs[0]));
	twin->pairs[index] = (struct pair){ time, word };
	twin->count++;
}

static struct track *new_track(struct timeline *tl)
{
	uint32_t slot = timeline_add_thread(tl, 7);

	return &tl->threads[slot]->track;
}

static void a_track_holds_what_an_array_would(void **unused)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15u;
		struct timeline *tl = timeline_new(0);
		struct track *track = new_track(tl);
		struct twin *twin = xcalloc(1, sizeof(*twin));

		append(track, twin, &random);
		while (twin->count < 150) {
			uint32_t what = next_random(&random) % 8;

			if (what == 0)
				amend(track, twin, &random);
			else if (what == 1)
				insert(track, twin, &random);
			else
				append(track, twin, &random);
			compare(tl, twin,
				next_random(&random) %
					(twin->pairs[twin->count - 1].time + 2 * EPOCH));
		}
		for (uint32_t i = 0; i < twin->count; i++) {
			compare(tl, twin, twin->pairs[i].time);
			compare(tl, twin, twin->pairs[i].time + 1);
			if (twin->pairs[i].time)
				compare(tl, twin, twin->pairs[i].time - 1);
		}
		timeline_free(tl);
		free(twin);
	}
}

static void an_empty_track_has_nothing(void **unused)
{
	struct timeline *tl = timeline_new(0);

	(void)new_track(tl);
	assert_int_equal(timeline_state_at(tl, 0, 0), word_make(WORD_NONE, 0));
	assert_int_equal(timeline_state_at(tl, 0, UINT64_MAX), word_make(WORD_NONE, 0));
	assert_int_equal(track_last_time(&tl->threads[0]->track), 0);
	timeline_free(tl);
}

/* A thread that is born late has its first entry moved there. */
static void the_only_entry_may_move(void **unused)
{
	struct timeline *tl = timeline_new(0);
	struct track *track = new_track(tl);

	track_append(track, 5, word_make(WORD_WORK, 1));
	track_amend(track, 0, 7 * EPOCH + 3, word_make(WORD_WORK, 2));
	assert_int_equal(timeline_state_at(tl, 0, 7 * EPOCH + 2), word_make(WORD_NONE, 0));
	assert_int_equal(timeline_state_at(tl, 0, 7 * EPOCH + 3), word_make(WORD_WORK, 2));
	timeline_free(tl);
}

/* -------------------------------------------------------------- the walk over it */

static void a_walk_covers_its_window_without_empty_intervals(void **unused)
{
	struct timeline *tl = timeline_new(1000);
	struct track *track = new_track(tl);
	struct tl_iter iter;
	struct tl_interval in;

	track_append(track, 10, 1);
	track_append(track, 20, 2);
	track_append(track, 20, 3);
	track_append(track, 30, 4);
	tl_iter_begin(&iter, tl, track, 1005, 1040);
	assert_true(tl_iter_next(&iter, &in));
	assert_true(in.start_ns == 1005 && in.end_ns == 1010 && word_kind(in.word) == WORD_NONE);
	assert_true(tl_iter_next(&iter, &in));
	assert_true(in.start_ns == 1010 && in.end_ns == 1020 && in.word == 1);
	assert_true(tl_iter_next(&iter, &in));
	assert_true(in.start_ns == 1020 && in.end_ns == 1030 && in.word == 3);
	assert_true(tl_iter_next(&iter, &in));
	assert_true(in.start_ns == 1030 && in.end_ns == 1040 && in.word == 4);
	assert_false(tl_iter_next(&iter, &in));
	timeline_free(tl);
}

static void a_walk_of_an_empty_window_gives_nothing(void **unused)
{
	struct timeline *tl = timeline_new(0);
	struct track *track = new_track(tl);
	struct tl_iter iter;
	struct tl_interval in;

	track_append(track, 10, 1);
	tl_iter_begin(&iter, tl, track, 10, 10);
	assert_false(tl_iter_next(&iter, &in));
	timeline_free(tl);
}

static void a_cpu_is_of_nobody_before_its_first_entry(void **unused)
{
	struct timeline *tl = timeline_new(0);
	struct track *track = timeline_cpu(tl, 1);
	struct tl_iter iter;
	struct tl_interval in;

	track_append(track, 10, 3);
	tl_iter_begin(&iter, tl, track, 0, 20);
	assert_true(tl_iter_next(&iter, &in));
	assert_int_equal(in.word, SLOT_NONE);
	assert_true(tl_iter_next(&iter, &in));
	assert_int_equal(in.word, 3);
	timeline_free(tl);
}

/* Any window of a random track: the words of the array, instant by instant. */
static void walks_over_random_windows_say_what_the_array_says(void **unused)
{
	uint64_t random = 42;

	for (int round = 0; round < 300; round++) {
		struct timeline *tl = timeline_new(500);
		struct track *track = new_track(tl);
		struct twin *twin = xcalloc(1, sizeof(*twin));
		uint64_t start, end, at;
		struct tl_iter iter;
		struct tl_interval in;

		while (twin->count < 30)
			append(track, twin, &random);
		start = 500 + next_random(&random) % (twin->pairs[29].time + 10);
		end = start + step(&random);
		at = start;
		tl_iter_begin(&iter, tl, track, start, end);
		while (tl_iter_next(&iter, &in)) {
			uint32_t first = twin_find(twin, in.start_ns - 500);
			uint32_t last = twin_find(twin, in.end_ns - 1 - 500);

			assert_int_equal(in.start_ns, at);
			assert_int_equal(first, last);
			assert_int_equal(in.word, first == UINT32_MAX ? word_make(WORD_NONE, 0)
								      : twin->pairs[first].word);
			at = in.end_ns;
		}
		assert_int_equal(at, end);
		free(twin);
		timeline_free(tl);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_track_holds_what_an_array_would),
		cmocka_unit_test(an_empty_track_has_nothing),
		cmocka_unit_test(the_only_entry_may_move),
		cmocka_unit_test(a_walk_covers_its_window_without_empty_intervals),
		cmocka_unit_test(a_walk_of_an_empty_window_gives_nothing),
		cmocka_unit_test(a_cpu_is_of_nobody_before_its_first_entry),
		cmocka_unit_test(walks_over_random_windows_say_what_the_array_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
