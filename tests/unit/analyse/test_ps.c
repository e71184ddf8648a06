/* Ticks: found in a trace, and charged to whoever was there at that instant. */
#include "analyse/stats/ps.h"

#include "told.h"

struct charged {
	struct ps_ticks ticks;
	struct ps_charge threads[16];
	struct ps_cpu cpus[4];
};

static struct charged charged(struct told *told)
{
	struct charged result = { 0 };
	struct err err = { 0 };
	uint64_t start_ns = told->tl->origin_ns, end_ns = told->tl->end_ns;

	assert_in_range(told->tl->thread_count, 0, ARRAY_LEN(result.threads));
	if (ps_find_ticks(&told->trace->source, &told->trace->facts, start_ns, end_ns,
			  &result.ticks, &err) < 0)
		fail_msg("%s", err.text);
	ps_charge(told->tl, &result.ticks, start_ns, end_ns, result.threads, result.cpus);
	return result;
}

/* The tick interrupts 7 in own code, then in a call, then nobody; then it is left out. */
static const char four_ticks[] = "facts last 20000000\n"
				 "thread 7 7 1 R prog\n"
				 "0 cpu0 switch 0(runnable) 7\n"
				 "1ms cpu0 leave write 1\n"
				 "4ms cpu0 vector local_timer\n"
				 "4001us cpu0 hrtimer tick_nohz_handler 1\n"
				 "4002us cpu0 hrtimerdone\n"
				 "4003us cpu0 vectorexit local_timer\n"
				 "5ms cpu0 enter read 3\n"
				 "8ms cpu0 vector local_timer\n"
				 "8001us cpu0 hrtimer tick_nohz_handler 1\n"
				 "8002us cpu0 hrtimerdone\n"
				 "8003us cpu0 vectorexit local_timer\n"
				 "9ms cpu0 switch 7(blocked) 0\n"
				 "12ms cpu0 vector local_timer\n"
				 "12001us cpu0 hrtimer tick_nohz_handler 1\n"
				 "12002us cpu0 hrtimerdone\n"
				 "12003us cpu0 vectorexit local_timer\n";

static void a_tick_charges_what_it_interrupts(void **unused)
{
	struct told *told = replayed(four_ticks);
	struct charged result = charged(told);
	const struct ps_charge *charge = &result.threads[slot_of(told, 7)];

	assert_int_equal(result.ticks.source, PS_TICKS);
	assert_int_equal(result.ticks.period_ns, 4000000);
	assert_int_equal(charge->user, 1);
	assert_int_equal(charge->system, 1);
	assert_int_equal(result.cpus[0].user, 1);
	assert_int_equal(result.cpus[0].system, 1);
	assert_int_equal(result.cpus[0].idle, 3); /* one came, two were left out */
	ps_ticks_fini(&result.ticks);
	told_free(told);
}

static void other_timers_are_no_ticks(void **unused)
{
	struct told *told = replayed("facts last 9000000\n"
				     "thread 7 7 1 R prog\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "1ms cpu0 vector local_timer\n"
				     "1001us cpu0 hrtimer hrtimer_wakeup 1\n"
				     "1002us cpu0 hrtimerdone\n"
				     "1003us cpu0 vectorexit local_timer\n"
				     "4ms cpu0 vector local_timer\n"
				     "4001us cpu0 hrtimer tick_sched_timer 2\n"
				     "4002us cpu0 hrtimerdone\n"
				     "4003us cpu0 vectorexit local_timer\n");
	struct charged result = charged(told);

	assert_int_equal(result.ticks.count, 1);
	assert_int_equal(result.ticks.ticks[0].time_ns, 4000000);
	ps_ticks_fini(&result.ticks);
	told_free(told);
}

static void without_timers_recorded_the_interrupts_in_step_are_the_ticks(void **unused)
{
	struct told *told = replayed("facts last 5000000\n"
				     "thread 7 7 1 R prog\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "1ms cpu0 vector local_timer\n"
				     "1010us cpu0 vectorexit local_timer\n"
				     "1500us cpu0 vector local_timer\n"
				     "1510us cpu0 vectorexit local_timer\n"
				     "2ms cpu0 vector local_timer\n"
				     "2010us cpu0 vectorexit local_timer\n"
				     "3ms cpu0 vector local_timer\n"
				     "3010us cpu0 vectorexit local_timer\n"
				     "4ms cpu0 vector local_timer\n"
				     "4010us cpu0 vectorexit local_timer\n");
	struct charged result = charged(told);

	assert_int_equal(result.ticks.source, PS_INTERRUPTS);
	assert_int_equal(result.ticks.period_ns, 1000000);
	assert_int_equal(result.ticks.count, 4);
	ps_ticks_fini(&result.ticks);
	told_free(told);
}

static void without_anything_recorded_250_a_second_are_assumed(void **unused)
{
	struct told *told = replayed("facts last 20000000\n"
				     "thread 7 7 1 R prog\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "1ms cpu0 leave write 1\n"
				     "11ms cpu0 switch 7(blocked) 0\n");
	struct charged result = charged(told);

	assert_int_equal(result.ticks.source, PS_ASSUMED);
	assert_int_equal(result.ticks.period_ns, 4000000);
	assert_int_equal(result.threads[slot_of(told, 7)].user, 2); /* at 4 and 8 ms */
	assert_int_equal(result.cpus[0].idle, 3);
	ps_ticks_fini(&result.ticks);
	told_free(told);
}

/* Runs from just after a tick until just before the next, ten times. */
static void what_runs_between_the_ticks_is_never_seen(void **unused)
{
	struct text_trace *trace = text_trace_of("facts last 41000000\n"
						 "thread 7 7 1 S dodger\n"
						 "1us cpu0 switch 0(runnable) 7\n"
						 "2us cpu0 leave write 1\n");
	struct told *told;
	struct charged result;

	for (int i = 1; i <= 10; i++) {
		AUTO_FREE char *text =
			xasprintf("%dus cpu0 switch 7(blocked) 0\n"
				  "%dus cpu0 vector local_timer\n"
				  "%dus cpu0 hrtimer tick_nohz_handler 1\n"
				  "%dus cpu0 hrtimerdone\n"
				  "%dus cpu0 vectorexit local_timer\n"
				  "%dus cpu0 waking 7\n"
				  "%dus cpu0 switch 0(runnable) 7\n",
				  i * 4000 - 10, i * 4000, i * 4000 + 1, i * 4000 + 2, i * 4000 + 3,
				  i * 4000 + 4, i * 4000 + 5);

		text_trace_add(trace, text);
	}
	told = told_trace(trace);
	result = charged(told);
	assert_int_equal(result.threads[slot_of(told, 7)].user, 0);
	assert_int_equal(result.threads[slot_of(told, 7)].system, 0);
	assert_int_equal(result.cpus[0].idle, 10);
	assert_in_range(spent_ns(told, 7, WIB_WORKING), 39000000, 41000000);
	ps_ticks_fini(&result.ticks);
	told_free(told);
}

/* Twelve days: of assumed ticks, as many as would take gigabytes one by one. */
static void days_of_assumed_ticks_are_counted(void **unused)
{
	const uint64_t day_ns = UINT64_C(86400000000000);
	struct told *told = replayed("facts last 1036800000000000\n"
				     "thread 7 7 1 R prog\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "518400000ms cpu0 switch 7(blocked) 0\n"
				     "1036800000ms cpu0 waking 7\n");
	struct charged result = charged(told);
	const struct ps_charge *charge = &result.threads[slot_of(told, 7)];

	assert_int_equal(result.ticks.source, PS_ASSUMED);
	assert_int_equal(result.ticks.count, 0);
	/* Six days of 250 a second, without the one at the very begin: it was before the window. */
	assert_int_equal(charge->user + charge->system + charge->either, 6 * day_ns / 4000000 - 1);
	assert_int_equal(result.cpus[0].idle + result.cpus[0].system, 6 * day_ns / 4000000 + 1);
	told_free(told);
	ps_ticks_fini(&result.ticks);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_charges_what_it_interrupts),
		cmocka_unit_test(days_of_assumed_ticks_are_counted),
		cmocka_unit_test(other_timers_are_no_ticks),
		cmocka_unit_test(without_timers_recorded_the_interrupts_in_step_are_the_ticks),
		cmocka_unit_test(without_anything_recorded_250_a_second_are_assumed),
		cmocka_unit_test(what_runs_between_the_ticks_is_never_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
