/* Chains of a cause: by who ended each wait, longest first. */
#include "view/chain.h"

#include <string.h>

#define verdict_of told_verdict_of /* view/verdict.h has another one */
#include "told.h"
#undef verdict_of

/*
 * 7 waits for 8 from 100 to 500, which waits for 9 from 200 to 400; and for a timer from 600 to 700.
 */
#define TRACE                                 \
	"facts last 1000\n"                   \
	"thread 7 7 1 R a\n"                  \
	"thread 8 8 1 R b\n"                  \
	"thread 9 9 1 R c\n"                  \
	"0 cpu0 switch 0(runnable) 7\n"       \
	"0 cpu1 switch 0(runnable) 8\n"       \
	"0 cpu2 switch 0(runnable) 9\n"       \
	"50 cpu0 enter read 3\n"              \
	"100 cpu0 switch 7(blocked) 0\n"      \
	"150 cpu1 enter read 4\n"             \
	"200 cpu1 switch 8(blocked) 0\n"      \
	"400 cpu2 waking 8 cpu 1\n"           \
	"400 cpu1 switch 0(runnable) 8\n"     \
	"500 cpu1 waking 7 cpu 0\n"           \
	"500 cpu0 switch 0(runnable) 7\n"     \
	"550 cpu0 leave read 1\n"             \
	"600 cpu0 enter nanosleep 0\n"        \
	"610 cpu0 timerstart 5\n"             \
	"650 cpu0 switch 7(blocked) 0\n"      \
	"700 cpu0 vector local_timer\n"       \
	"700 cpu0 hrtimer hrtimer_wakeup 5\n" \
	"700 cpu0 waking 7 cpu 0\n"           \
	"700 cpu0 hrtimerdone\n"              \
	"700 cpu0 vectorexit local_timer\n"   \
	"710 cpu0 switch 0(runnable) 7\n"

static const struct why *explain(struct told *told)
{
	return why_of(told, &(struct why_opts){
				    .slot = slot_of(told, 7), .want_waits = true, .spans_ns = 1 });
}

static const struct why_root *root_of(const struct why *why, enum why_kind kind, int32_t tid)
{
	for (size_t i = 0; i < why->root_count; i++) {
		if (why->roots[i].kind == kind && why->roots[i].who.tid == tid)
			return &why->roots[i];
	}
	fail_msg("no cause of kind %s by %d", why_kind_name(kind), tid);
	return NULL;
}

static void a_chain_goes_through_who_was_waited_for(void **unused)
{
	struct told *told = replayed(TRACE);
	const struct why *why = explain(told);
	const struct why_root *root = root_of(why, WHY_OTHER_THREAD, 9);
	uint32_t waits[4], path[VIEW_CHAIN_HOPS];

	assert_int_equal(view_chains(why, root, waits, ARRAY_LEN(waits)), 1);
	assert_int_equal(view_chain_path(why, waits[0], root, path), 2);
	assert_int_equal(why->waits[path[0]].who.tid, 7);
	assert_int_equal(why->waits[path[0]].start_ns, 100);
	assert_int_equal(why->waits[path[1]].who.tid, 8);
	assert_int_equal(why->waits[path[1]].woken_by.tid, 9);
	assert_true(view_wait_has_actor(&why->waits[path[1]]));
	told_free(told);
}

static void a_wait_that_ended_otherwise_is_in_no_chain_of_it(void **unused)
{
	struct told *told = replayed(TRACE);
	const struct why *why = explain(told);
	const struct why_root *timer = root_of(why, WHY_TIMER, 7);
	uint32_t waits[4], path[VIEW_CHAIN_HOPS];

	assert_int_equal(view_chains(why, timer, waits, ARRAY_LEN(waits)), 1);
	assert_int_equal(why->waits[waits[0]].start_ns, 650);
	assert_int_equal(view_chain_path(why, waits[0], timer, path), 1);
	assert_int_equal(view_chain_path(why, waits[0], root_of(why, WHY_OTHER_THREAD, 9), path),
			 0);
	told_free(told);
}

static void its_own_work_has_none_and_no_more_are_given_than_asked_for(void **unused)
{
	struct told *told = replayed(TRACE);
	const struct why *why = explain(told);
	uint32_t waits[1];

	assert_int_equal(view_chains(why, root_of(why, WHY_WORKING, 7), waits, 1), 0);
	assert_int_equal(view_chains(why, root_of(why, WHY_TIMER, 7), waits, 0), 0);
	told_free(told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_goes_through_who_was_waited_for),
		cmocka_unit_test(a_wait_that_ended_otherwise_is_in_no_chain_of_it),
		cmocka_unit_test(its_own_work_has_none_and_no_more_are_given_than_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
