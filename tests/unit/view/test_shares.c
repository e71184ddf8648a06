/* Lanes: each column's shares are the sums of the timeline between its ends, and of nothing else. */
#include "view/shares.h"

#include <string.h>

#include "lane_sums.h"
#include "random_trace.h"
#include "told.h"

#define WIDTH_MAX 64

/* What was given, column by column. */
struct seen {
	const struct lane_window *window;
	struct lane_shares columns[WIDTH_MAX];
	uint32_t count;
};

static void see(void *context, uint32_t first, uint32_t count, const struct lane_shares *shares)
{
	struct seen *seen = context;
	enum lane_state state = 0;

	assert_int_equal(first, seen->count);
	for (uint32_t i = 0; i < LANE_STATE_COUNT; i++) {
		state = shares->ns[i] ? (enum lane_state)i : state;
		assert_true(!shares->ns[i] || (shares->states & 1u << i));
	}
	seen->columns[first] = *shares;
	for (uint32_t i = 1; i < count;
	     i++) { /* all of them are in that state, whatever their length */
		seen->columns[first + i] = (struct lane_shares){ 0 };
		seen->columns[first + i].ns[state] = lane_column_ns(seen->window, first + i + 1) -
						     lane_column_ns(seen->window, first + i);
	}
	seen->count += count;
}

static void look(struct seen *seen, struct lane_window *window, uint64_t start_ns, uint64_t end_ns,
		 uint32_t width)
{
	*window = (struct lane_window){ start_ns, end_ns, width, see, seen };
	*seen = (struct seen){ .window = window };
}

static uint64_t sum_of(const struct lane_shares *shares)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < LANE_STATE_COUNT; i++)
		sum += shares->ns[i];
	return sum;
}

static void a_column_has_the_share_of_each_state(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "thread 7 7 1 R prog\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "10 cpu0 enter read 3\n"
				     "20 cpu0 switch 7(blocked) 8\n"
				     "50 cpu0 waking 7 cpu 0\n"
				     "60 cpu0 switch 8(blocked) 7\n");
	struct lane_window window;
	struct lane_shares sum;
	struct seen seen;

	look(&seen, &window, 0, 100, 4);
	lane_of_thread(told->tl, slot_of(told, 7), &window, &sum);
	assert_int_equal(seen.count, 4);
	/* 0-25: running 10, read 10, blocked by another thread 5 */
	assert_int_equal(seen.columns[0].ns[LANE_OWN] + seen.columns[0].ns[LANE_KERNEL], 20);
	assert_int_equal(seen.columns[0].ns[LANE_THREAD], 5);
	assert_int_equal(seen.columns[1].ns[LANE_THREAD], 25);
	/* 50-75: woken and waiting for a CPU 10, then read again 15 */
	assert_int_equal(seen.columns[2].ns[LANE_QUEUE], 10);
	assert_int_equal(seen.columns[2].ns[LANE_KERNEL], 15);
	assert_int_equal(sum.ns[LANE_THREAD], 30);
	assert_int_equal(sum_of(&sum), 100);
	told_free(told);
}

static void check_thread(const struct timeline *tl, uint32_t slot, uint64_t start_ns,
			 uint64_t end_ns, uint32_t width, uint64_t seed)
{
	struct lane_window window;
	struct lane_shares sum;
	struct seen seen;

	look(&seen, &window, start_ns, end_ns, width);
	lane_of_thread(tl, slot, &window, &sum);
	assert_int_equal(seen.count, width);
	assert_int_equal(sum_of(&sum), end_ns - start_ns);
	for (uint32_t i = 0; i < width; i++) {
		uint64_t from = lane_column_ns(&window, i), to = lane_column_ns(&window, i + 1);
		struct lane_shares want = lane_sums(tl, slot, from, to);

		if (from < to && memcmp(want.ns, seen.columns[i].ns, sizeof(want.ns)) != 0)
			fail_msg("seed %" PRIu64 ", thread %u, column %u of %u, %" PRIu64
				 " to %" PRIu64,
				 seed, slot, i, width, from, to);
	}
}

static void on_random_traces_columns_are_the_sums_between_their_ends(void **unused)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct told *told = told_trace(random_trace(seed, 300, false, seed % 2 == 0));
		const struct timeline *tl = told->tl;
		uint64_t ns = tl->end_ns - tl->origin_ns;

		for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
			check_thread(tl, slot, tl->origin_ns, tl->end_ns, WIDTH_MAX, seed);
			check_thread(tl, slot, tl->origin_ns + ns / 3, tl->end_ns - ns / 4, 7,
				     seed);
		}
		told_free(told);
	}
}

static void check_cpu(const struct timeline *tl, uint32_t cpu, uint64_t seed)
{
	struct lane_window window;
	struct lane_shares sum;
	struct seen seen;

	look(&seen, &window, tl->origin_ns, tl->end_ns, 31);
	lane_of_cpu(tl, cpu, 0, UINT32_MAX, &window, &sum);
	assert_int_equal(seen.count, 31);
	assert_int_equal(sum_of(&sum), tl->end_ns - tl->origin_ns);
	for (uint32_t i = 0; i < 31; i++) {
		uint64_t from = lane_column_ns(&window, i), to = lane_column_ns(&window, i + 1);

		if (sum_of(&seen.columns[i]) != to - from)
			fail_msg("seed %" PRIu64 ", CPU %u, column %u: %" PRIu64 " of %" PRIu64,
				 seed, cpu, i, sum_of(&seen.columns[i]), to - from);
	}
}

static void a_cpu_is_told_by_who_ran(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "thread 7 7 1 R prog\n"
				     "thread 8 8 1 R other\n"
				     "thread 2 2 0 R kthread kernel\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "40 cpu0 switch 7(blocked) 8\n"
				     "60 cpu0 switch 8(blocked) 2\n"
				     "70 cpu0 switch 2(blocked) 0\n");
	struct lane_window window;
	struct lane_shares sum;
	struct seen seen;

	look(&seen, &window, 0, 100, 10);
	lane_of_cpu(told->tl, 0, 7, UINT32_MAX, &window, &sum);
	assert_int_equal(sum.ns[LANE_TARGET], 40);
	assert_int_equal(sum.ns[LANE_PROGRAM], 20);
	assert_int_equal(sum.ns[LANE_SYSTEM], 10);
	assert_int_equal(sum.ns[LANE_FREE], 30);
	assert_int_equal(seen.columns[6].ns[LANE_SYSTEM], 10);
	told_free(told);
}

static void who_waits_to_the_end_still_waits(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "thread 7 7 1 R prog\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "10 cpu0 enter read 3\n"
				     "20 cpu0 switch 7(blocked) 0\n");
	struct lane_window window;
	struct lane_shares sum;
	struct seen seen;

	look(&seen, &window, 0, 100, 4);
	lane_of_thread(told->tl, slot_of(told, 7), &window, &sum);
	assert_int_equal(sum.ns[LANE_STILL], 80);
	assert_int_equal(sum.ns[LANE_UNENDED], 0);
	assert_int_equal(seen.columns[0].ns[LANE_STILL], 5);
	assert_int_equal(seen.columns[3].ns[LANE_STILL], 25);
	told_free(told);
}

static void check_busy(const struct told *told, uint32_t cpu, uint64_t from_ns, uint64_t to_ns)
{
	struct lane_shares walked, summed;
	struct lane_window window;
	struct seen seen;

	look(&seen, &window, from_ns, to_ns, 16);
	lane_of_cpu(told->tl, cpu, 0, UINT32_MAX, &window, &walked);
	look(&seen, &window, from_ns, to_ns, 16);
	lane_of_cpu(told->tl, cpu, 0, 0, &window, &summed);
	assert_int_equal(sum_of(&summed), sum_of(&walked));
	/* The idle task may be uncertain where another thread is known to have run. */
	assert_true(summed.ns[LANE_FREE] <= walked.ns[LANE_FREE]);
	/* But what nobody knows is not called busy. */
	assert_true(summed.ns[LANE_UNCERTAIN] >= walked.ns[LANE_UNCERTAIN]);
}

static void with_many_changes_busy_and_idle_are_those_of_the_walk(void **unused)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct text_trace *trace = random_trace(seed, 300, false, seed % 2 == 0);
		struct told *told;
		uint64_t from_ns, part_ns;

		for (uint32_t hole = 0; hole < seed % 4; hole++)
			rt_lose(trace, hole % 2, 20 + 30 * hole, 5);
		told = told_trace(trace);
		from_ns = told->tl->origin_ns;
		part_ns = (told->tl->end_ns - from_ns) / 23;
		for (uint32_t cpu = 0; cpu < told->tl->cpu_count; cpu++) {
			check_cpu(told->tl, cpu, seed);
			check_busy(told, cpu, from_ns, told->tl->end_ns);
			/* Also in, and behind, a hole from before the window. */
			for (uint32_t part = 0; part < 23; part++)
				check_busy(told, cpu, from_ns + part * part_ns,
					   from_ns + (part + 1) * part_ns);
		}
		told_free(told);
	}
}

static void with_many_changes_a_cpu_is_busy_while_another_thread_runs(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "thread 7 7 1 R prog\n"
				     "10 cpu0 switch 0(runnable) 7\n"
				     "40 cpu0 switch 7(blocked) 0\n"
				     "60 cpu0 switch 0(runnable) 7\n"
				     "90 cpu0 lost 70 3\n");
	struct lane_window window;
	struct lane_shares sum;
	struct seen seen;

	(void)unused;
	look(&seen, &window, told->tl->origin_ns, told->tl->end_ns, 10);
	lane_of_cpu(told->tl, 0, 0, 0, &window, &sum);
	assert_int_equal(sum.ns[LANE_FREE], 30);
	assert_int_equal(sum.ns[LANE_BUSY], 40);
	assert_int_equal(sum.ns[LANE_UNCERTAIN], 30); /* until 10, in the hole, and behind it */
	assert_int_equal(seen.columns[2].ns[LANE_BUSY], 10);
	assert_int_equal(seen.columns[8].ns[LANE_UNCERTAIN], 10);
	look(&seen, &window, told->tl->end_ns - 7, told->tl->end_ns, 7);
	lane_of_cpu(told->tl, 0, 0, 0, &window, &sum);
	assert_int_equal(sum.ns[LANE_UNCERTAIN], 7); /* behind a hole that was over before */
	told_free(told);
}

static void columns_shorter_than_a_nanosecond_are_all_given(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "thread 7 7 1 R prog\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "50 cpu0 switch 7(blocked) 0\n");
	struct lane_window window;
	struct lane_shares sum;
	struct seen seen;

	look(&seen, &window, 48, 52, 50);
	lane_of_thread(told->tl, slot_of(told, 7), &window, &sum);
	assert_int_equal(seen.count, 50);
	assert_int_equal(sum_of(&sum), 4);
	look(&seen, &window, 48, 52, 50);
	lane_of_cpu(told->tl, 0, 0, UINT32_MAX, &window, &sum);
	assert_int_equal(seen.count, 50);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_column_has_the_share_of_each_state),
		cmocka_unit_test(on_random_traces_columns_are_the_sums_between_their_ends),
		cmocka_unit_test(a_cpu_is_told_by_who_ran),
		cmocka_unit_test(who_waits_to_the_end_still_waits),
		cmocka_unit_test(with_many_changes_busy_and_idle_are_those_of_the_walk),
		cmocka_unit_test(with_many_changes_a_cpu_is_busy_while_another_thread_runs),
		cmocka_unit_test(columns_shorter_than_a_nanosecond_are_all_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
