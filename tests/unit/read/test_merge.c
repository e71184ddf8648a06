/* test_merge.c - lanes merged in blocks, against a sort of all their events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/lane.h"
#include "read/merge.h"

#define MAX_LANES  9u
#define MAX_EVENTS 3000u

/* An event of the test: 'lane' is its CPU, 'index' its tid. */
struct item {
	uint64_t time_ns;
	uint32_t lane, index;
};

/* A lane over some items, handed out in runs of any length, each with bytes of its own. */
struct made_up {
	struct lane lane;
	const struct item *items;
	uint32_t count, next;
	unsigned int random;
};

static bool made_up_fill(struct lane *lane, struct batch *batch)
{
	struct made_up *made_up = (struct made_up *)lane;
	size_t wanted = 1 + (size_t)rand_r(&made_up->random) % batch->max;

	batch_clear(batch, lane);
	batch->chunk = chunk_get(lane);
	batch->chunk->bytes[0] = (uint8_t)made_up->next;
	while (batch->count < wanted && made_up->next < made_up->count) {
		const struct item *item = &made_up->items[made_up->next++];

		batch->cells[batch->count++].event = (struct event){
			.time_ns = item->time_ns,
			.cpu = (uint16_t)item->lane,
			.tid = (int32_t)item->index,
		};
	}
	return batch->count > 0;
}

static void made_up_seek(struct lane *lane, uint64_t time_ns)
{
	struct made_up *made_up = (struct made_up *)lane;

	made_up->next = 0;
	while (made_up->next < made_up->count && made_up->items[made_up->next].time_ns < time_ns)
		made_up->next++;
	made_up->next -= made_up->next > 0; /* one too early, as real ones may be */
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

struct fixture {
	struct item items[MAX_LANES][MAX_EVENTS];
	uint32_t counts[MAX_LANES];
	struct item sorted[MAX_LANES * MAX_EVENTS];
	size_t count;
	uint32_t lanes;
	struct facts facts;
	struct merge *merge;
};

static int by_time_and_lane(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Lanes of very different lengths and rates; many events at the same time. */
static struct fixture *made(unsigned int seed)
{
	struct fixture *fix = xcalloc(1, sizeof(*fix));
	struct lane *lanes[MAX_LANES];

	fix->lanes = 1 + (uint32_t)rand_r(&seed) % MAX_LANES;
	for (uint32_t i = 0; i < fix->lanes; i++) {
		struct made_up *made_up = xcalloc(1, sizeof(*made_up));
		uint64_t time_ns = (uint64_t)rand_r(&seed) % 1000;
		uint32_t step = 1 + (uint32_t)rand_r(&seed) % (rand_r(&seed) % 3 ? 4 : 4000);

		fix->counts[i] = (uint32_t)rand_r(&seed) % (rand_r(&seed) % 4 ? MAX_EVENTS : 3);
		for (uint32_t j = 0; j < fix->counts[i]; j++) {
			time_ns += (uint64_t)rand_r(&seed) % step;
			fix->items[i][j] = (struct item){ time_ns, i, j };
			fix->sorted[fix->count++] = fix->items[i][j];
		}
		made_up->lane.ops = &made_up_ops;
		made_up->lane.chunk_bytes = 1;
		made_up->items = fix->items[i];
		made_up->count = fix->counts[i];
		made_up->random = seed + i;
		lanes[i] = &made_up->lane;
	}
	qsort(fix->sorted, fix->count, sizeof(fix->sorted[0]), by_time_and_lane);
	fix->merge = merge_new(lanes, fix->lanes, &fix->facts);
	merge_set_threads(fix->merge, 0);
	return fix;
}

static void unmade(struct fixture *fix)
{
	source_close(merge_source(fix->merge));
	facts_fini(&fix->facts);
	free(fix);
}

static void check(const struct event *event, const struct item *item)
{
	assert_int_equal(event->time_ns, item->time_ns);
	assert_int_equal(event->cpu, item->lane);
	assert_int_equal(event->tid, item->index);
}

/* Read to the end from sorted[at] on, by single events and by runs in turn. */
static void check_from(struct fixture *fix, size_t at, unsigned int random)
{
	struct source *source = merge_source(fix->merge);
	const struct event *event;
	struct event_run run;

	while (at < fix->count) {
		if (rand_r(&random) % 2) {
			assert_int_equal(source_next(source, &event, NULL), 1);
			check(event, &fix->sorted[at++]);
			continue;
		}
		assert_int_equal(source_next_run(source, &run, NULL), 1);
		assert_in_range(run.count, 1, fix->count - at);
		for (size_t i = 0; i < run.count; i++)
			check(run.events[i], &fix->sorted[at++]);
	}
	assert_int_equal(source_next(source, &event, NULL), 0);
	assert_int_equal(source_next_run(source, &run, NULL), 0);
}

static void events_come_in_order_of_time_then_of_lanes(void **unused)
{
	for (unsigned int seed = 0; seed < 60; seed++) {
		struct fixture *fix = made(seed);

		check_from(fix, 0, seed);
		unmade(fix);
	}
}

static void a_seek_goes_to_the_first_event_at_its_time(void **unused)
{
	for (unsigned int seed = 0; seed < 60; seed++) {
		struct fixture *fix = made(seed);
		unsigned int random = seed;

		for (int i = 0; i < 6 && fix->count; i++) {
			size_t at = (size_t)rand_r(&random) % fix->count;

			while (at && fix->sorted[at - 1].time_ns == fix->sorted[at].time_ns)
				at--;
			assert_int_equal(source_seek(merge_source(fix->merge),
						     fix->sorted[at].time_ns, NULL),
					 0);
			check_from(fix, at, random);
		}
		unmade(fix);
	}
}

static void without_lanes_there_are_no_events(void **unused)
{
	struct facts facts = { 0 };
	struct merge *merge = merge_new(NULL, 0, &facts);
	const struct event *event;
	struct event_run run;

	assert_int_equal(source_next(merge_source(merge), &event, NULL), 0);
	assert_int_equal(source_next_run(merge_source(merge), &run, NULL), 0);
	assert_int_equal(source_seek(merge_source(merge), 5, NULL), 0);
	assert_int_equal(source_next(merge_source(merge), &event, NULL), 0);
	source_close(merge_source(merge));
	facts_fini(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_in_order_of_time_then_of_lanes),
		cmocka_unit_test(a_seek_goes_to_the_first_event_at_its_time),
		cmocka_unit_test(without_lanes_there_are_no_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
