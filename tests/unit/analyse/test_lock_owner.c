/* test_lock_owner.c - which lock a thread waited for and who owned it, from small traces. */
#include "analyse/locks/lock_owner.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/locks/lock_track.h"
#include "analyse/locks/locks.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/source.h"

#define L    0x1000 /* a lock */
#define C    0x2000 /* a condition */
#define SITE 0x40

/* Events of an array. */
struct listed {
	struct source source;
	const struct event *events;
	size_t count, at;
};

static int listed_next(struct source *source, const struct event **out_event, struct err *err)
{
	struct listed *listed = (struct listed *)source;

	if (listed->at == listed->count)
		return 0;
	*out_event = &listed->events[listed->at++];
	return 1;
}

static const struct source_ops listed_ops = { .next = listed_next };

#define EVENT_AT(lock, time, thread, operation, ...)                                     \
	{                                                                                \
		.time_ns = (time), .tid = (thread), .type = EV_USER_LOCK, .user_lock = { \
			.op = USER_LOCK_##operation,                                     \
			.pid = 1,                                                        \
			.address = lock,                                                 \
			.site = SITE,                                                    \
			.path = "",                                                      \
			.kind = LOCK_KIND_MUTEX,                                         \
			__VA_ARGS__                                                      \
		}                                                                        \
	}
#define EVENT(...) EVENT_AT(L, __VA_ARGS__)
#define LOST(time)                                                                   \
	{                                                                            \
		.time_ns = (time), .tid = -1, .type = EV_LOST, .lost = {.count = 3 } \
	}

static struct lock_owners *owners_of(const struct event *events, size_t count)
{
	struct listed listed = { { &listed_ops }, events, count, 0 };
	struct lock_owners *owners;
	struct err err = { 0 };

	assert_int_equal(lock_owners_new(&listed.source, 0, &owners, &err), 0);
	return owners;
}

#define OWNERS(...)                                      \
	owners_of((const struct event[]){ __VA_ARGS__ }, \
		  sizeof((const struct event[]){ __VA_ARGS__ }) / sizeof(struct event))

static void assert_span(const struct lock_owner_wait *wait, size_t i, uint64_t start_ns,
			uint64_t end_ns, int32_t owner_tid)
{
	assert_true(i < wait->span_count);
	assert_int_equal(wait->spans[i].start_ns, start_ns);
	assert_int_equal(wait->spans[i].end_ns, end_ns);
	assert_int_equal(wait->spans[i].owner_tid, owner_tid);
}

static void a_lock_that_goes_from_hand_to_hand_has_each_owner_in_turn(void **unused)
{
	struct lock_owner_wait wait;
	struct lock_owners *owners =
		OWNERS(EVENT(10, 7, ACQUIRED), EVENT(20, 8, WAIT_BEGIN, .owner = 7),
		       EVENT(25, 9, WAIT_BEGIN, .owner = 7), EVENT(50, 7, RELEASED),
		       EVENT(53, 9, WAIT_END), EVENT(80, 9, RELEASED), EVENT(81, 8, WAIT_END),
		       EVENT(90, 8, RELEASED));

	assert_true(lock_owners_find(owners, 8, 22, 79, &wait));
	assert_int_equal(wait.address, L);
	assert_int_equal(wait.site, SITE);
	assert_int_equal(wait.begin_ns, 20);
	assert_int_equal(wait.end_ns, 81);
	assert_int_equal(wait.span_count, 3);
	assert_span(&wait, 0, 20, 50, 7);
	assert_span(&wait, 1, 50, 53, LOCK_OWNER_NOBODY);
	assert_span(&wait, 2, 53, 80, 9);
	assert_int_equal(lock_owner_span(&wait, 0, 22, 79).start_ns, 22);
	assert_int_equal(lock_owner_span(&wait, 2, 22, 79).end_ns, 79);
	assert_true(lock_owners_find(owners, 9, 25, 53, &wait));
	assert_int_equal(wait.span_count, 2);
	assert_false(lock_owners_find(owners, 8, 81, 200, &wait));
	assert_false(lock_owners_find(owners, 7, 0, 200, &wait));
	lock_owners_free(owners);
}

static void where_waits_alone_are_told_the_lock_names_its_owner(void **unused)
{
	struct lock_owner_wait wait;
	struct lock_owners *owners =
		OWNERS(EVENT(20, 8, WAIT_BEGIN, .owner = 7), EVENT(40, 8, WAIT_END),
		       EVENT(60, 9, WAIT_BEGIN, .owner = 5), EVENT(70, 9, WAIT_END));

	assert_true(lock_owners_find(owners, 8, 20, 40, &wait));
	assert_int_equal(wait.span_count, 1);
	assert_span(&wait, 0, 20, 40, 7);
	/* 8 let it go at some time, untold: it is not the owner any more. */
	assert_true(lock_owners_find(owners, 9, 60, 70, &wait));
	assert_span(&wait, 0, 60, 70, 5);
	lock_owners_free(owners);
}

static void a_wait_on_a_condition_lets_the_mutex_go(void **unused)
{
	struct lock_owner_wait wait;
	struct lock_owners *owners =
		OWNERS(EVENT(10, 7, ACQUIRED), EVENT(15, 8, WAIT_BEGIN, .owner = 7),
		       EVENT_AT(C, 20, 7, COND_BEGIN, .mutex = L), EVENT(22, 8, WAIT_END),
		       EVENT_AT(C, 30, 8, SIGNAL), EVENT(31, 9, WAIT_BEGIN), EVENT(35, 8, RELEASED),
		       EVENT_AT(C, 36, 7, COND_END, .mutex = L), EVENT(50, 7, RELEASED),
		       EVENT(51, 9, WAIT_END));

	assert_true(lock_owners_find(owners, 8, 15, 22, &wait));
	assert_int_equal(wait.span_count, 2);
	assert_span(&wait, 0, 15, 20, 7);
	assert_span(&wait, 1, 20, 22, LOCK_OWNER_NOBODY);
	assert_true(lock_owners_find(owners, 7, 21, 30, &wait));
	assert_int_equal(wait.kind, LOCK_KIND_COND);
	assert_int_equal(wait.address, C);
	assert_int_equal(wait.span_count, 0);
	assert_true(lock_owners_find(owners, 9, 31, 51, &wait));
	assert_int_equal(wait.span_count, 4);
	assert_span(&wait, 0, 31, 35, 8);
	assert_span(&wait, 2, 36, 50, 7);
	lock_owners_free(owners);
}

static void after_a_hole_nobody_knows_the_owner_until_it_is_told(void **unused)
{
	struct lock_owner_wait wait;
	struct lock_owners *owners =
		OWNERS(EVENT(10, 7, ACQUIRED), EVENT(20, 8, WAIT_BEGIN, .owner = 7), LOST(30),
		       EVENT(40, 9, ACQUIRED), EVENT(50, 9, RELEASED), EVENT(50, 8, WAIT_END));

	assert_true(lock_owners_find(owners, 8, 20, 50, &wait));
	assert_int_equal(wait.span_count, 3);
	assert_span(&wait, 0, 20, 30, 7);
	assert_span(&wait, 1, 30, 40, LOCK_OWNER_UNKNOWN);
	assert_span(&wait, 2, 40, 50, 9);
	lock_owners_free(owners);
}

static void a_wait_that_does_not_end_is_open(void **unused)
{
	struct lock_owner_wait wait;
	struct lock_owners *owners = OWNERS(EVENT(10, 7, ACQUIRED), EVENT(20, 8, WAIT_BEGIN),
					    EVENT_AT(C, 90, 7, SIGNAL));

	assert_true(lock_owners_find(owners, 8, 50, 60, &wait));
	assert_true(wait.is_open);
	assert_int_equal(wait.end_ns, 90);
	assert_span(&wait, 0, 20, 90, 7);
	lock_owners_free(owners);
}

static void the_table_adds_up_holds_and_waits(void **unused)
{
	static const struct event events[] = {
		EVENT(10, 7, ACQUIRED),	  EVENT(20, 8, WAIT_BEGIN, .owner = 7),
		EVENT(50, 7, RELEASED),	  EVENT(53, 8, WAIT_END),
		EVENT(60, 8, RELEASED),	  EVENT(70, 9, ACQUIRED),
		EVENT(75, 8, WAIT_BEGIN), EVENT(85, 8, WAIT_END, .result = ETIMEDOUT),
		EVENT(95, 9, RELEASED),
	};
	struct listed listed = { { &listed_ops }, events, 9, 0 };
	const struct locks_row *row;
	struct locks locks;
	struct err err = { 0 };

	assert_int_equal(locks_run(&listed.source, LOCKS_BY_WAIT, 0, &locks, &err), 0);
	assert_int_equal(locks.count, 1);
	row = &locks.rows[0];
	assert_int_equal(row->taken, 3);
	assert_int_equal(row->contended, 2);
	assert_int_equal(row->failed, 1);
	assert_int_equal(row->wait_ns, 33 + 10);
	assert_int_equal(row->wait_max_ns, 33);
	assert_int_equal(row->holds, 3);
	assert_int_equal(row->hold_ns, 40 + 7 + 25);
	assert_int_equal(row->hold_max_ns, 40);
	assert_int_equal(row->owner_count, 2);
	assert_int_equal(row->owners[0].tid, 7);
	assert_int_equal(row->owners[0].ns, 30);
	assert_int_equal(row->owners[1].ns, 10);
	assert_int_equal(row->nobody_ns, 3);
	assert_int_equal(row->unknown_ns, 0);
	locks_fini(&locks);
}

/* 9 dies while it waits, 8 waits to the end of the recording. */
static void open_waits_last_to_the_end_of_their_threads(void **unused)
{
	const struct event events[] = {
		EVENT(10, 7, ACQUIRED),
		EVENT(20, 8, WAIT_BEGIN, .owner = 7),
		EVENT(30, 9, WAIT_BEGIN, .owner = 7),
		{ .type = EV_SCHED_EXIT, .time_ns = 50, .tid = 9, .task.tid = 9 },
		{ .type = EV_SCHED_EXIT, .time_ns = 60, .tid = 6, .task.tid = 6 },
	};
	struct listed listed = { { &listed_ops }, events, ARRAY_LEN(events), 0 };
	const struct locks_row *row;
	struct locks locks;
	struct err err = { 0 };

	assert_int_equal(locks_run(&listed.source, LOCKS_BY_WAIT, 1000, &locks, &err), 0);
	assert_int_equal(locks.count, 1);
	row = &locks.rows[0];
	assert_int_equal(row->contended, 2);
	assert_int_equal(row->waiting, 2);
	assert_int_equal(row->wait_ns, 980 + 20);
	assert_int_equal(row->wait_max_ns, 980);
	assert_int_equal(row->owner_count, 1);
	assert_int_equal(row->owners[0].tid, 7);
	assert_int_equal(row->owners[0].ns, 980 + 20);
	locks_fini(&locks);
}

/* Any events in any order: nothing but sums that add up. */
static void what_makes_no_sense_does_no_harm(void **unused)
{
	enum {
		COUNT = 20000
	};
	struct event *events = calloc(COUNT, sizeof(*events));
	struct listed listed = { { &listed_ops }, events, COUNT, 0 };
	struct locks locks;
	struct err err = { 0 };
	uint64_t random = 42;

	for (size_t i = 0; i < COUNT; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		events[i] = (struct event)EVENT(i * 3, (int32_t)(random >> 60), ACQUIRED);
		events[i].user_lock.op = (random >> 40) % (USER_LOCK_OP_COUNT + 2);
		events[i].user_lock.kind = (random >> 33) % (LOCK_KIND_COUNT + 1);
		events[i].user_lock.address = (random >> 50) % 4;
		events[i].user_lock.mutex = (random >> 30) % 4;
		events[i].user_lock.pid = (int32_t)(random >> 20) % 3;
		events[i].user_lock.result = (int32_t)(random >> 25) % 2;
		if (random >> 55 == 3)
			events[i] = (struct event)LOST(i * 3);
	}
	assert_int_equal(locks_run(&listed.source, LOCKS_BY_WAIT, 0, &locks, &err), 0);
	assert_true(locks.count > 0);
	for (size_t i = 0; i < locks.count; i++) {
		const struct locks_row *row = &locks.rows[i];
		uint64_t owned = row->nobody_ns + row->unknown_ns;

		for (size_t j = 0; j < row->owner_count; j++)
			owned += row->owners[j].ns;
		assert_true(owned <= row->wait_ns);
	}
	locks_fini(&locks);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_that_goes_from_hand_to_hand_has_each_owner_in_turn),
		cmocka_unit_test(where_waits_alone_are_told_the_lock_names_its_owner),
		cmocka_unit_test(a_wait_on_a_condition_lets_the_mutex_go),
		cmocka_unit_test(after_a_hole_nobody_knows_the_owner_until_it_is_told),
		cmocka_unit_test(a_wait_that_does_not_end_is_open),
		cmocka_unit_test(the_table_adds_up_holds_and_waits),
		cmocka_unit_test(open_waits_last_to_the_end_of_their_threads),
		cmocka_unit_test(what_makes_no_sense_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
