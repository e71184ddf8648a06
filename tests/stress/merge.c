/*
 * merge.c - threads that decode ahead against a reader that stops, seeks and leaves.
 *
 * The lanes are made up: lane L has an event at L + k * LANES for every k, and hands them out
 * in runs of random length. So the merged events are 0, 1, 2 ..., wherever reading begins. What
 * an event points to is its number once more, which shows when a chunk is used again too early.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/lane.h"
#include "read/merge.h"

#define LANES	  5u
#define EVENTS	  60000u /* of each lane: threads start after 65536 of all */
#define SEEK_BACK 40u	 /* a lane may begin so much too early */
#define ROUNDS	  60
#define READERS	  4

struct made_up {
	struct lane lane;
	uint32_t number;
	uint32_t next;
	unsigned int random;
};

static bool made_up_fill(struct lane *lane, struct batch *batch)
{
	struct made_up *made_up = (struct made_up *)lane;
	size_t wanted = 1 + (size_t)rand_r(&made_up->random) % batch->max;

	batch_clear(batch, lane);
	batch->chunk = chunk_get(lane);
	while (batch->count < wanted && made_up->next < EVENTS) {
		uint32_t index = made_up->next++;
		uint8_t *bytes = batch->chunk->bytes + batch->count * sizeof(index);

		memcpy(bytes, &index, sizeof(index));
		batch->cells[batch->count++].event = (struct event){
			.time_ns = made_up->number + (uint64_t)index * LANES,
			.tid = (int32_t)index,
			.cpu = (uint16_t)made_up->number,
			.wake.comm = (const char *)bytes,
		};
	}
	if (made_up->next == EVENTS)
		batch_note(batch, EVENTS, "lane %u ends", made_up->number);
	return batch->count > 0;
}

static void made_up_seek(struct lane *lane, uint64_t time_ns)
{
	struct made_up *made_up = (struct made_up *)lane;
	uint64_t index = time_ns / LANES;
	uint64_t back = (uint64_t)rand_r(&made_up->random) % SEEK_BACK;

	index = index > back ? index - back : 0;
	made_up->next = index < EVENTS ? (uint32_t)index : EVENTS;
}

static void made_up_close(struct lane *lane)
{
	lane_fini(lane);
	free(lane);
}

static const struct lane_ops made_up_ops = {
	.fill = made_up_fill,
	.seek = made_up_seek,
	.close = made_up_close,
};

static struct merge *merge_of(struct facts *facts, uint32_t threads, unsigned int seed)
{
	struct lane *lanes[LANES];
	struct merge *merge;

	for (uint32_t i = 0; i < LANES; i++) {
		struct made_up *made_up = xcalloc(1, sizeof(*made_up));

		made_up->lane.ops = &made_up_ops;
		made_up->lane.chunk_bytes = BATCH_EVENTS * sizeof(uint32_t);
		made_up->number = i;
		made_up->random = seed + i;
		lanes[i] = &made_up->lane;
	}
	merge = merge_new(lanes, LANES, facts);
	merge_set_threads(merge, threads);
	return merge;
}

/* Read up to 'count' events, of which the first must be 'at'. Returns how many there were. */
static uint64_t read_some(struct merge *merge, uint64_t at, uint64_t count)
{
	const struct event *event;
	uint64_t done = 0;
	int rc = 1;

	while (done < count && (rc = source_next(merge_source(merge), &event, NULL)) > 0) {
		uint64_t time_ns = at + done;
		uint32_t index;

		memcpy(&index, event->wake.comm, sizeof(index));
		if (index != time_ns / LANES || event->time_ns != time_ns ||
		    event->cpu != time_ns % LANES || event->tid != (int32_t)(time_ns / LANES))
			return UINT64_MAX;
		done++;
	}
	return rc < 0 ? UINT64_MAX : done;
}

static void all_events_come_in_order_with_any_number_of_threads(void **unused)
{
	static const uint32_t threads[] = { 0, 1, 2, 8 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		struct facts facts = { 0 };
		struct merge *merge = merge_of(&facts, threads[i], 1);

		assert_int_equal(read_some(merge, 0, UINT64_MAX), (uint64_t)LANES * EVENTS);
		assert_int_equal(read_some(merge, 0, 1), 0);
		assert_int_equal(facts.damage_count, LANES); /* each told once */
		source_close(merge_source(merge));
		facts_fini(&facts);
	}
}

/* Seek, read for a while, pause, again; and leave while threads work. */
static bool wander(unsigned int seed)
{
	struct facts facts = { 0 };
	struct merge *merge = merge_of(&facts, 1 + seed % 4, seed);
	uint64_t all = (uint64_t)LANES * EVENTS;
	bool good = true;

	for (int i = 0; i < 4 && good; i++) {
		uint64_t at = (uint64_t)rand_r(&seed) % all;
		uint64_t count = (uint64_t)rand_r(&seed) % all;
		uint64_t left = all - at;

		good = source_seek(merge_source(merge), at, NULL) == 0 &&
		       read_some(merge, at, count) == (count < left ? count : left);
		if (rand_r(&seed) % 3 == 0)
			merge_keep_records(merge, false, false); /* ends what decodes ahead */
	}
	source_close(merge_source(merge));
	facts_fini(&facts);
	return good;
}

static void a_reader_may_seek_pause_and_leave_at_any_moment(void **unused)
{
	(void)unused;
	for (unsigned int seed = 0; seed < ROUNDS; seed++) {
		if (!wander(seed))
			fail_msg("seed %u", seed);
	}
}

static void *wander_alone(void *context)
{
	unsigned int *seed = context;
	bool good = true;

	for (int i = 0; i < ROUNDS / READERS && good; i++)
		good = wander(*seed + 1000 * (unsigned int)i);
	return good ? NULL : context;
}

static void traces_are_independent_of_each_other(void **unused)
{
	pthread_t threads[READERS];
	unsigned int seeds[READERS];
	void *bad;

	(void)unused;
	for (unsigned int i = 0; i < READERS; i++) {
		seeds[i] = 7 * i;
		assert_int_equal(pthread_create(&threads[i], NULL, wander_alone, &seeds[i]), 0);
	}
	for (unsigned int i = 0; i < READERS; i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_events_come_in_order_with_any_number_of_threads),
		cmocka_unit_test(a_reader_may_seek_pause_and_leave_at_any_moment),
		cmocka_unit_test(traces_are_independent_of_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
