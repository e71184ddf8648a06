/* test_why_idle.c - what an idle CPU that takes no thread is put down to. */
#include "told.h"

/* The child 8 of 7 is kept off its CPU for 80 ms, in which another thread runs for a moment. */
static const char kept_off[] = "thread 7 7 1 R prog\n"
			       "        0 cpu0 switch 0(runnable) 7\n"
			       "       10 cpu0 fork 8\n"
			       "       20 cpu0 switch 7(blocked) 8\n"
			       " 20000000 cpu0 switch 8(runnable) 0\n"
			       " 98000000 cpu0 switch 0(runnable) 9\n"
			       " 98000500 cpu0 switch 9(blocked) 0\n"
			       "100000000 cpu0 switch 0(runnable) 8\n"
			       "100001000 cpu0 switch 8(blocked) 0\n";

/* A trace with the cgroup that 7 was seen in, and the quotas of 'count' cgroups. */
static struct told *with_quotas(const char *text, const char *seen_in,
				const struct fact_throttle *throttles, size_t count)
{
	struct told *told = replayed(text);
	struct facts *facts = &told->trace->facts;

	facts->threads[0].cgroup = seen_in;
	facts->throttles = xcalloc(count + 1, sizeof(*facts->throttles));
	facts->throttle_count = count;
	for (size_t i = 0; i < count; i++)
		facts->throttles[i] = throttles[i];
	return told;
}

static struct told *throttled(const char *seen_in, const struct fact_throttle *throttles,
			      size_t count)
{
	return with_quotas(kept_off, seen_in, throttles, count);
}

static struct fact_throttle quota(const char *cgroup, uint64_t times, uint64_t ns)
{
	return (struct fact_throttle){ cgroup, 20000000, 100000000, 10, times, ns };
}

static void says(struct told *told, const char *words)
{
	AUTO_FREE char *both = xasprintf("cpu_queue 0 79999500 %s; working 8 ", words);

	if (strncmp(verdict_of(told, 8), both, strlen(both)) != 0)
		assert_string_equal(verdict_of(told, 8), both);
	told_free(told);
}

static void a_quota_of_its_own_cgroup_did_it(void **unused)
{
	const struct fact_throttle both[] = { quota("/other", 9, 900000000),
					      quota("/box", 1, 80000000) };
	static const char words[] =
		"held back by the CPU quota of cgroup /box, 20.0 ms in each 100 ms";

	says(throttled("/box", both, 2), words);
	says(throttled("/box/inner", both, 2), words);
}

static void a_quota_of_the_root_holds_for_all(void **unused)
{
	const struct fact_throttle root = quota("/", 1, 80000000);

	says(throttled("/box", &root, 1),
	     "held back by the CPU quota of cgroup /, 20.0 ms in each 100 ms");
}

static void it_may_have_moved_into_another(void **unused)
{
	const struct fact_throttle other = quota("/box", 1, 80000000);
	static const char words[] = "no thread ran on that CPU: probably the CPU quota of cgroup "
				    "/box, 20.0 ms in each 100 ms";

	says(throttled("/", &other, 1), words);
	says(throttled("", &other, 1), words);
	says(throttled("/boxer", &other, 1), words);
}

static void a_quota_that_held_back_for_less_did_not(void **unused)
{
	const struct fact_throttle unlike[] = { quota("/box", 1, 70000000), quota("/", 0, 0),
						quota(NULL, 9, 900000000) };
	static const char words[] =
		"no thread ran on that CPU: throttled, or the machine stood still";

	says(throttled("/other", unlike, 3), words);
	says(throttled("/other", NULL, 0), words);
}

/* The first 7 was seen in /box; the second is a child of 5, which is not in it. */
static void a_tid_that_is_used_again_is_in_the_cgroup_of_its_maker(void **unused)
{
	static const char text[] = "thread 7 7 1 R prog\nthread 5 5 1 R shell\n"
				   "        0 cpu0 switch 0(runnable) 7\n"
				   "        5 cpu0 exit 7\n"
				   "       10 cpu0 switch 7(dead) 5\n"
				   "       15 cpu0 fork 7\n"
				   "       20 cpu0 switch 5(blocked) 7\n"
				   " 20000000 cpu0 switch 7(runnable) 0\n"
				   "100000000 cpu0 switch 0(runnable) 7\n"
				   "100001000 cpu0 switch 7(blocked) 0\n";
	const struct fact_throttle box = quota("/box", 1, 70000000);
	struct told *told = with_quotas(text, "/box", &box, 1);

	told->trace->facts.threads[1].cgroup = "/";
	assert_non_null(strstr(verdict_of(told, 7), "cpu_queue 0 80000000 no thread ran on that "
						    "CPU: throttled, or the machine stood still"));
	told_free(told);
}

/* 80 ms without a CPU, but an idle one was there for the last of them only. */
static void a_wait_for_others_ends_with_a_wake_up(void **unused)
{
	static const char text[] = "thread 7 7 1 R prog\n"
				   "        0 cpu0 switch 0(runnable) 7\n"
				   " 20000000 cpu0 switch 7(runnable) 9\n"
				   " 99995000 cpu0 switch 9(blocked) 0\n"
				   "100000000 cpu0 switch 0(runnable) 7\n"
				   "100001000 cpu0 switch 7(blocked) 0\n";
	const struct fact_throttle box = quota("/box", 1, 80000000);
	struct told *told = with_quotas(text, "/box", &box, 1);

	assert_string_equal(verdict_of(told, 7),
			    "preempted 9 79995000 ran instead; working 7 20001000 running; "
			    "cpu_queue 0 5000 wake-up of an idle CPU");
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_of_its_own_cgroup_did_it),
		cmocka_unit_test(a_quota_of_the_root_holds_for_all),
		cmocka_unit_test(it_may_have_moved_into_another),
		cmocka_unit_test(a_quota_that_held_back_for_less_did_not),
		cmocka_unit_test(a_tid_that_is_used_again_is_in_the_cgroup_of_its_maker),
		cmocka_unit_test(a_wait_for_others_ends_with_a_wake_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
