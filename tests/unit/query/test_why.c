/* test_why.c - what held threads up, asked through the library: sums, and what is refused. */
#include "asking.h"

static struct hr_why *why_of(struct asking *asking, uint32_t thread)
{
	const struct hr_why_options options = { .struct_size = sizeof(options),
						.end_ns = HR_LAST,
						.thread = thread };
	struct hr_why *why;

	return hr_why_new(asking->trace, &options, &why) == 0 ? why : NULL;
}

/* Rows of one thread's answer: in order, with words, and each ns in one of them. */
static void check_causes(struct hr_why *why, const struct hr_why_sum *sum)
{
	struct hr_cause cause = { .struct_size = sizeof(cause) };
	uint64_t ns = 0, before = UINT64_MAX;

	for (uint32_t i = 0; i < hr_cause_count(why); i++) {
		assert_int_equal(hr_cause_get(why, i, &cause), 0);
		assert_int_equal(cause.struct_size, sizeof(cause));
		assert_true(cause.ns <= before);
		assert_true(*hr_cause_kind_name((enum hr_cause_kind)cause.kind));
		assert_true(*hr_wait_class_name((enum hr_wait_class)cause.wait_class));
		assert_non_null(cause.what);
		assert_non_null(cause.told);
		before = cause.ns;
		ns += cause.ns;
	}
	assert_int_equal(ns, sum->causes_ns);
	assert_int_equal(hr_cause_get(why, hr_cause_count(why), &cause), -EINVAL);
}

static void every_ns_of_a_thread_has_one_cause(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		for (uint32_t i = 0; i < hr_thread_count(asking.trace); i++) {
			struct hr_why_sum sum = { .struct_size = sizeof(sum) };
			struct hr_why *why = why_of(&asking, i);

			if (!why)
				continue;
			assert_int_equal(hr_why_sum_get(why, &sum), 0);
			assert_int_equal(sum.target.tid, hr_thread_tid(asking.trace, i));
			assert_int_equal(sum.working_ns + sum.interrupted_ns + sum.blocked_ns +
						 sum.uncertain_ns,
					 sum.end_ns - sum.start_ns);
			assert_int_equal(sum.held_up_ns + sum.asked_ns + sum.idle_ns,
					 sum.blocked_ns);
			assert_int_equal(sum.causes_ns, sum.end_ns - sum.start_ns);
			check_causes(why, &sum);
			hr_why_free(why);
		}
		asking_end(&asking);
	}
}

static void what_makes_no_sense_is_refused(void **unused)
{
	struct asking asking = asking_begin(1);
	const struct hr_why_options good = { .struct_size = sizeof(good), .end_ns = HR_LAST };
	struct hr_why_options bad = good;
	struct {
		struct hr_why_options options;
		uint64_t more;
	} newer = { good, 1 };
	struct hr_why *why = NULL;

	bad.struct_size = 8;
	assert_int_equal(hr_why_new(asking.trace, &bad, &why), -EINVAL);
	bad = good;
	bad.thread = hr_thread_count(asking.trace);
	assert_int_equal(hr_why_new(asking.trace, &bad, &why), -EINVAL);
	bad = good;
	bad.start_ns = bad.end_ns = 5;
	assert_int_equal(hr_why_new(asking.trace, &bad, &why), -EINVAL);
	assert_string_equal(hr_error(asking.trace), "the window ends before it starts");
	bad = good;
	bad.whole_process = 2;
	assert_int_equal(hr_why_new(asking.trace, &bad, &why), -EINVAL);
	newer.options.struct_size = sizeof(newer);
	assert_int_equal(hr_why_new(asking.trace, &newer.options, &why), -E2BIG);
	newer.more = 0;
	assert_true(hr_why_new(asking.trace, &newer.options, &why) != -E2BIG);
	hr_why_free(why);
	assert_string_equal(hr_cause_kind_name((enum hr_cause_kind)99), "");
	assert_string_equal(hr_wait_class_name((enum hr_wait_class)99), "");
	asking_end(&asking);
}

static void without_a_command_a_thread_must_be_named(void **unused)
{
	struct asking asking = asking_begin(1);
	struct hr_why *why;

	asking.text->facts.target_tid = 0;
	assert_int_equal(hr_why_new(asking.trace, NULL, &why), -EINVAL);
	assert_string_equal(hr_error(asking.trace),
			    "this recording is not of a command, and no thread was named");
	asking_end(&asking);
}

static void locks_need_a_recording_on_disk(void **unused)
{
	struct asking asking = asking_begin(1);
	struct hr_locks *locks;

	assert_int_equal(hr_locks_new(asking.trace, &locks), -EINVAL);
	assert_string_equal(hr_lock_kind_name(HR_LOCK_MUTEX), "mutex");
	assert_string_equal(hr_lock_kind_name((enum hr_lock_kind)99), "");
	asking_end(&asking);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_ns_of_a_thread_has_one_cause),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(without_a_command_a_thread_must_be_named),
		cmocka_unit_test(locks_need_a_recording_on_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
