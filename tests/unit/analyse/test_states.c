/* The intervals of a thread: in order, without gaps, with what ended its waits. */
#include "analyse/stats/states.h"

#include <string.h>

#include "random_trace.h"
#include "told.h"

/* "START-END STATE [OBJECT by WAKER]; ..." of the intervals as they come. */
struct listing {
	struct told *told;
	char *text;
	uint64_t next_ns; /* where the next one must begin */
	uint64_t ns;
	bool touch;
};

static void list(void *context, const struct states_span *span)
{
	struct listing *listing = context;

	told_add(&listing->text, "%s%llu-%llu %s", listing->text ? "; " : "",
		 (unsigned long long)span->start_ns, (unsigned long long)span->end_ns, span->state);
	if (span->is_wait)
		told_add(&listing->text, " by %s %d", why_waker_name(span->wait.waker),
			 span->wait.woken_by.tid);
	listing->touch &= span->start_ns == listing->next_ns;
	listing->next_ns = span->end_ns;
	listing->ns += span->end_ns - span->start_ns;
}

static struct states_sum states_of(struct told *told, int32_t tid, uint64_t start_ns,
				   uint64_t end_ns, uint64_t max, struct listing *out_listing)
{
	struct states_opts opts = {
		.slot = slot_of(told, tid), .start_ns = start_ns, .end_ns = end_ns, .max = max
	};
	struct states_sum sum;
	struct err err = { 0 };

	if (states_window(told->tl, &opts, &err) < 0)
		fail_msg("%s", err.text);
	*out_listing = (struct listing){ .told = told, .touch = true, .next_ns = opts.start_ns };
	states_run(told->tl, &told->trace->facts, &opts, list, out_listing, &sum);
	(void)told_keep(told, out_listing->text);
	return sum;
}

static const char a_thread[] = "facts last 100\n"
			       "thread 7 7 1 R prog\n"
			       "thread 8 8 1 R other\n"
			       "0 cpu0 switch 0(runnable) 7\n"
			       "0 cpu1 switch 0(runnable) 8\n"
			       "5 cpu0 leave write 1\n"
			       "10 cpu0 enter read 3\n"
			       "20 cpu0 switch 7(blocked) 0\n"
			       "50 cpu1 waking 7 cpu 0\n"
			       "60 cpu0 switch 0(runnable) 7\n"
			       "70 cpu0 leave read 4\n"
			       "80 cpu0 switch 7(blocked) 0\n";

static void each_interval_has_its_words_and_a_wait_its_waker(void **unused)
{
	struct told *told = replayed(a_thread);
	struct listing listing;
	struct states_sum sum = states_of(told, 7, 0, 100, 0, &listing);

	assert_string_equal(listing.text, "0-5 running; 5-10 own code; 10-20 read; "
					  "20-50 read by thread 8; 50-60 waiting for a CPU; "
					  "60-70 read; 70-80 own code; "
					  "80-100 return to user mode by none 0");
	assert_int_equal(sum.count, 8);
	assert_int_equal(sum.ns, 100);
	assert_false(sum.more);
	told_free(told);
}

static void a_window_cuts_the_first_and_the_last(void **unused)
{
	struct told *told = replayed(a_thread);
	struct listing listing;
	struct states_sum sum = states_of(told, 7, 30, 65, 0, &listing);

	assert_string_equal(listing.text,
			    "30-50 read by thread 8; 50-60 waiting for a CPU; 60-65 read");
	assert_int_equal(sum.ns, 35);
	told_free(told);
}

static void a_limit_says_that_there_are_more(void **unused)
{
	struct told *told = replayed(a_thread);
	struct listing listing;
	struct states_sum sum = states_of(told, 7, 0, 100, 2, &listing);

	assert_int_equal(sum.count, 2);
	assert_true(sum.more);
	sum = states_of(told, 7, 0, 100, 8, &listing);
	assert_false(sum.more);
	told_free(told);
}

static void outside_of_its_life_is_an_error(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "40 cpu0 newtask 9:child\n"
				     "41 cpu0 wakeupnew 9\n");
	struct states_opts opts = { .slot = slot_of(told, 9), .start_ns = 0, .end_ns = 30 };
	struct err err = { 0 };

	assert_int_equal(states_window(told->tl, &opts, &err), -22);
	assert_non_null(strstr(err.text, "did not exist"));
	told_free(told);
}

static void on_random_traces_intervals_touch_and_cover_the_window(void **unused)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct told *told = told_trace(random_trace(seed, 300, false, seed % 2 == 0));

		for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
			const struct tl_thread *thread = told->tl->threads[slot];
			struct listing listing;
			struct states_sum sum;

			if (thread->tid == 0 || slot_of(told, thread->tid) != slot ||
			    thread->birth_ns == thread->death_ns)
				continue;
			sum = states_of(told, thread->tid, thread->birth_ns, thread->death_ns, 0,
					&listing);
			assert_true(listing.touch);
			assert_int_equal(listing.ns, thread->death_ns - thread->birth_ns);
			assert_int_equal(sum.ns, listing.ns);
		}
		told_free(told);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_interval_has_its_words_and_a_wait_its_waker),
		cmocka_unit_test(a_window_cuts_the_first_and_the_last),
		cmocka_unit_test(a_limit_says_that_there_are_more),
		cmocka_unit_test(outside_of_its_life_is_an_error),
		cmocka_unit_test(on_random_traces_intervals_touch_and_cover_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
