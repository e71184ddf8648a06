/* Spans of reclaim and compaction from their events. */
#include "analyse/accounts/memory_spans.h"

#include "analyse/accounts/delays_trace.h"
#include "told.h"

static const char reclaims[] = "0 cpu0 switch 0(runnable) 7\n"
			       "0 cpu1 switch 0(runnable) 8\n"
			       "10 cpu0 other mm_vmscan_direct_reclaim_begin\n"
			       "12 cpu1 other mm_compaction_begin\n"
			       "20 cpu0 switch 7(disk) 0\n"
			       "40 cpu1 waking 7 cpu 0\n"
			       "44 cpu0 switch 0(runnable) 7\n"
			       "50 cpu0 other mm_vmscan_direct_reclaim_end\n"
			       "55 cpu1 other mm_compaction_end\n"
			       "60 cpu0 other mm_vmscan_memcg_reclaim_begin\n"
			       "63 cpu0 other mm_vmscan_memcg_reclaim_end\n"
			       "90 cpu0 switch 7(blocked) 0\n";

static struct memory_spans spans_of(const struct text_trace *trace)
{
	struct memory_spans spans = { 0 };

	for (size_t i = 0; i < trace->count; i++)
		memory_spans_feed(&spans, &trace->events[i]);
	memory_spans_end(&spans);
	return spans;
}

static void spans_are_those_of_their_threads(void **unused)
{
	struct told *told = replayed(reclaims);
	struct memory_spans spans = spans_of(told->trace);
	const struct memory_span *found;
	size_t count;

	assert_int_equal(spans.classes, 1u << DELAYS_RECLAIM | 1u << DELAYS_COMPACTION);
	assert_int_equal(spans.cut, 0);
	found = memory_spans_find(&spans, 7, DELAYS_RECLAIM, &count);
	assert_int_equal(count, 2);
	assert_int_equal(found[0].start_ns, 10);
	assert_int_equal(found[0].end_ns, 50);
	assert_int_equal(found[1].start_ns, 60);
	(void)memory_spans_find(&spans, 7, DELAYS_COMPACTION, &count);
	assert_int_equal(count, 0);
	(void)memory_spans_find(&spans, 8, DELAYS_COMPACTION, &count);
	assert_int_equal(count, 1);
	(void)memory_spans_find(&spans, 9, DELAYS_RECLAIM, &count);
	assert_int_equal(count, 0);
	memory_spans_fini(&spans);
	told_free(told);
}

static void they_are_counted_as_far_as_they_lie_in_the_window(void **unused)
{
	const struct tl_interval window = { 30, 62, 0 };
	struct told *told = replayed(reclaims);
	struct memory_spans spans = spans_of(told->trace);
	struct delays_trace_account account;

	delays_trace_account(told->tl, &spans, timeline_find_thread(told->tl, 7, UINT64_MAX),
			     &window, &account);
	assert_int_equal(account.stats.delay[DELAYS_RECLAIM].count, 2);
	assert_int_equal(account.stats.delay[DELAYS_RECLAIM].total_ns, 20 + 2);
	assert_int_equal(account.stats.delay[DELAYS_COMPACTION].count, 0);
	assert_true(delays_has_class(&account.stats, DELAYS_COMPACTION));
	assert_int_equal(account.stats.delay[DELAYS_CPU].total_ns, 4);
	delays_trace_account(told->tl, NULL, timeline_find_thread(told->tl, 7, UINT64_MAX), &window,
			     &account);
	assert_false(delays_has_class(&account.stats, DELAYS_RECLAIM));
	memory_spans_fini(&spans);
	told_free(told);
}

static void a_hole_cuts_what_is_open(void **unused)
{
	struct told *told = replayed("0 cpu0 switch 0(runnable) 7\n"
				     "10 cpu0 other mm_vmscan_direct_reclaim_begin\n"
				     "20 cpu0 lost 12 3\n"
				     "30 cpu0 by 7 other mm_vmscan_direct_reclaim_end\n"
				     "40 cpu0 other mm_vmscan_direct_reclaim_begin\n");
	struct memory_spans spans = spans_of(told->trace);

	assert_int_equal(spans.count, 0);
	assert_int_equal(spans.cut, 3);
	memory_spans_fini(&spans);
	told_free(told);
}

static void of_nothing_there_is_nothing(void **unused)
{
	const struct memory_spans none = { 0 };
	size_t count = 1;

	assert_null(memory_spans_find(&none, 7, DELAYS_RECLAIM, &count)); /* no place beside NULL */
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_those_of_their_threads),
		cmocka_unit_test(they_are_counted_as_far_as_they_lie_in_the_window),
		cmocka_unit_test(a_hole_cuts_what_is_open),
		cmocka_unit_test(of_nothing_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
