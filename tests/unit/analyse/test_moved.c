/* Which moves of threads are those of sleepers. */
#include "analyse/why/sleeper_moves.h"

#include "event/event.h"
#include "told.h"

static void feed(struct moved *moved, enum event_type type, uint64_t time_ns, int32_t tid)
{
	struct event event = { .type = type, .time_ns = time_ns };

	if (type == EV_SCHED_SWITCH) {
		event.sched_switch.prev_tid = tid;
		event.sched_switch.prev_state = TASK_STATE_SLEEPING;
	} else if (type == EV_SCHED_WAKING) {
		event.wake.tid = tid;
	} else if (type == EV_SCHED_MIGRATE) {
		event.migrate.tid = tid;
	}
	moved_feed(moved, &event);
}

static void the_first_move_of_each_sleep_counts(void **unused)
{
	struct moved moved = { 0 };
	const struct move *moves;
	size_t count;

	feed(&moved, EV_SCHED_MIGRATE, 1, 8); /* it did not sleep, as far as is known */
	feed(&moved, EV_SCHED_SWITCH, 10, 8);
	feed(&moved, EV_SCHED_SWITCH, 11, 7);
	feed(&moved, EV_SCHED_MIGRATE, 20, 8);
	feed(&moved, EV_SCHED_MIGRATE, 30, 8);
	feed(&moved, EV_SCHED_WAKING, 40, 7);
	feed(&moved, EV_SCHED_MIGRATE, 41, 7); /* to where it is to run */
	feed(&moved, EV_SCHED_SWITCH, 50, 7);
	feed(&moved, EV_SCHED_MIGRATE, 60, 7);
	feed(&moved, EV_SCHED_SWITCH, 70, 8);
	feed(&moved, EV_LOST, 71, 0); /* it may have been woken */
	feed(&moved, EV_SCHED_MIGRATE, 80, 8);
	moved_end(&moved);
	moves = moved_find(&moved, 8, &count);
	assert_int_equal(count, 1);
	assert_int_equal(moves[0].time_ns, 20);
	moves = moved_find(&moved, 7, &count);
	assert_int_equal(count, 1);
	assert_int_equal(moves[0].time_ns, 60);
	(void)moved_find(&moved, 9, &count);
	assert_int_equal(count, 0);
	moved_fini(&moved);
}

static void of_nothing_there_is_nothing(void **unused)
{
	const struct moved none = { 0 };
	size_t count = 1;

	assert_null(moved_find(&none, 7, &count)); /* no place beside NULL */
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_move_of_each_sleep_counts),
		cmocka_unit_test(of_nothing_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
