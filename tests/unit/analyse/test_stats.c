/*
 * Statistics: traces with sums that a reader adds up by hand, and on random traces the same
 * sums as a walk over all intervals.
 */
#include "analyse/stats/stats.h"

#include <string.h>

#include "random_trace.h"
#include "told.h"

static struct stats stats_of(struct told *told, enum stats_by by, uint64_t start_ns,
			     uint64_t end_ns)
{
	struct stats_opts opts = { .by = by, .start_ns = start_ns, .end_ns = end_ns };
	struct stats stats;
	struct err err = { 0 };

	if (stats_run(told->tl, &told->trace->facts, &opts, &stats, &err) < 0)
		fail_msg("%s", err.text);
	return stats;
}

static const struct stats_row *row_named(const struct stats *stats, const char *name)
{
	for (size_t i = 0; i < stats->row_count; i++) {
		if (strcmp(stats->rows[i].name, name) == 0)
			return &stats->rows[i];
	}
	fail_msg("no row is named %s", name);
	return NULL;
}

static const struct stats_call *call_named(const struct stats_row *row, const char *name)
{
	for (size_t i = 0; i < row->call_count; i++) {
		if (strcmp(row->calls[i].name, name) == 0)
			return &row->calls[i];
	}
	fail_msg("%s has no call %s", row->name, name);
	return NULL;
}

/*
 *	7 prog	 0 runs  10 read  20 blocked  50 woken by 8  60 in read  70 own code
 *		80 irq	83 own code  90 preempted  95 on
 *	8 other	 0 runs on cpu1, in calls from 30 to 40
 */
static const char two_threads[] = "facts last 100\n"
				  "thread 7 7 1 R prog\n"
				  "thread 8 8 1 R other\n"
				  "0 cpu0 switch 0(runnable) 7\n"
				  "0 cpu1 switch 0(runnable) 8\n"
				  "5 cpu0 leave write 1\n"
				  "10 cpu0 enter read 3\n"
				  "20 cpu0 switch 7(blocked) 0\n"
				  "25 cpu1 leave write 1\n"
				  "30 cpu1 enter openat\n"
				  "40 cpu1 leave openat -2\n"
				  "50 cpu1 waking 7 cpu 0\n"
				  "60 cpu0 switch 0(runnable) 7\n"
				  "70 cpu0 leave read -4\n"
				  "80 cpu0 irq 24 vda\n"
				  "83 cpu0 irqexit 24\n"
				  "90 cpu0 switch 7(runnable) 9:third\n"
				  "95 cpu0 switch 9(runnable) 7\n";

static void the_times_of_a_process_are_those_of_its_states(void **unused)
{
	struct told *told = replayed(two_threads);
	struct stats stats = stats_of(told, STATS_PROCESS, 0, 100);
	const struct stats_sums *sums = &row_named(&stats, "prog")->sums;

	assert_int_equal(sums->life_ns, 100);
	assert_int_equal(sums->either_ns, 5);
	assert_int_equal(sums->own_ns, 5 + 10 + 7 + 5);
	assert_int_equal(sums->call_ns, 10 + 10);
	assert_int_equal(sums->irq_ns, 3);
	assert_int_equal(sums->on_cpu_ns, 55);
	assert_int_equal(sums->queued_ns, 10);
	assert_int_equal(sums->preempted_ns, 5);
	assert_int_equal(sums->waiting_ns, 15);
	assert_int_equal(sums->blocked_ns, 30);
	assert_int_equal(sums->waits[WAIT_FOR_THREAD].ns, 30);
	assert_int_equal(sums->waits[WAIT_FOR_THREAD].count, 1);
	assert_int_equal(sums->waits[WAIT_FOR_THREAD].max_ns, 30);
	assert_int_equal(sums->uncertain_ns, 0);
	assert_int_equal(sums->counts[COUNT_SWITCH_IN], 3);
	assert_int_equal(sums->counts[COUNT_PREEMPTED], 1);
	assert_int_equal(sums->counts[COUNT_WAITS], 1);
	stats_fini(&stats);
	told_free(told);
}

static void a_call_lasts_from_enter_to_exit_and_errors_have_names(void **unused)
{
	struct told *told = replayed(two_threads);
	struct stats stats = stats_of(told, STATS_PROCESS, 0, 100);
	const struct stats_call *read = call_named(row_named(&stats, "prog"), "read");
	const struct stats_call *open = call_named(row_named(&stats, "other"), "openat");

	assert_int_equal(read->count, 1);
	assert_int_equal(read->ns, 60);
	assert_int_equal(read->working_ns, 20);
	assert_int_equal(read->blocked_ns, 30);
	assert_int_equal(read->max_ns, 60);
	assert_int_equal(read->error_kinds, 1);
	assert_string_equal(read->errors[0].name, "EINTR");
	assert_string_equal(open->errors[0].name, "ENOENT");
	assert_int_equal(open->errors[0].count, 1);
	assert_int_equal(open->ns, 10);
	stats_fini(&stats);
	told_free(told);
}

static void a_window_cuts_what_lies_across_its_ends(void **unused)
{
	struct told *told = replayed(two_threads);
	struct stats stats = stats_of(told, STATS_PROCESS, 30, 65);
	const struct stats_row *row = row_named(&stats, "prog");

	assert_int_equal(row->sums.life_ns, 35);
	assert_int_equal(row->sums.blocked_ns, 20);
	assert_int_equal(row->sums.queued_ns, 10);
	assert_int_equal(row->sums.call_ns, 5);
	assert_int_equal(call_named(row, "read")->ns, 35);
	assert_int_equal(call_named(row, "read")->count, 0);
	stats_fini(&stats);
	told_free(told);
}

static void each_cpu_tells_what_it_did_and_what_is_not_known(void **unused)
{
	struct told *told = replayed(two_threads);
	struct stats stats = stats_of(told, STATS_PROCESS, 0, 100);
	const struct stats_cpu *cpu = &stats.cpus[0];

	assert_int_equal(stats.cpu_count, 2);
	assert_int_equal(cpu->mode_ns[MODE_IDLE], 40);
	assert_int_equal(cpu->mode_ns[MODE_USER], 27);
	assert_int_equal(cpu->mode_ns[MODE_KERNEL], 20);
	assert_int_equal(cpu->mode_ns[MODE_RUN], 5 + 5);
	assert_int_equal(cpu->mode_ns[MODE_IRQ], 3);
	assert_int_equal(cpu->unknown_ns, 0);
	assert_int_equal(stats.cpus[1].mode_ns[MODE_IDLE], 0);
	stats_fini(&stats);
	told_free(told);
}

static void lost_events_leave_uncertain_time_with_its_reason(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "thread 7 7 1 R prog\n"
				     "0 cpu0 switch 0(runnable) 7\n"
				     "5 cpu0 leave write 1\n"
				     "60 cpu0 lost 40 3\n"
				     "60 cpu0 by 7 enter read 3\n"
				     "100 cpu0 leave read 0\n");
	struct stats stats = stats_of(told, STATS_PROCESS, 0, 100);
	const struct stats_sums *sums = &row_named(&stats, "prog")->sums;

	assert_int_equal(sums->uncertain_ns, 20);
	assert_int_equal(sums->reasons_ns[UNSURE_LOST], 20);
	assert_int_equal(sums->life_ns, 100);
	assert_int_equal(stats.coverage.lost_events, 3);
	assert_int_equal(stats.coverage.lost_span_ns, 20);
	stats_fini(&stats);
	told_free(told);
}

/* -------------------------------------------------------------------- groups */

static struct told *families(void)
{
	struct text_trace *trace = text_trace_of("facts last 100\n"
						 "thread 7 7 1 R prog\n"
						 "thread 8 7 1 S prog-2\n"
						 "thread 9 9 1 R other\n"
						 "0 cpu0 switch 0(runnable) 7\n"
						 "0 cpu1 switch 0(runnable) 9\n"
						 "10 cpu0 newtask 20:prog\n"
						 "12 cpu0 wakeupnew 20\n"
						 "20 cpu0 switch 7(blocked) 20\n"
						 "30 cpu0 newtask 21:prog\n"
						 "32 cpu0 wakeupnew 21\n"
						 "40 cpu0 switch 20(dead) 21\n");

	trace->facts.threads[0].cgroup = "/user.slice/a";
	trace->facts.threads[0].uid = 1000;
	trace->facts.threads[1].cgroup = "/user.slice/a";
	trace->facts.threads[1].uid = 1000;
	trace->facts.threads[2].cgroup = "/system.slice";
	return told_trace(trace);
}

static void children_inherit_cgroup_and_user(void **unused)
{
	struct told *told = families();
	struct stats stats = stats_of(told, STATS_CGROUP, 0, 100);

	assert_int_equal(stats.row_count, 2);
	assert_int_equal(row_named(&stats, "/user.slice/a")->threads, 4);
	assert_int_equal(row_named(&stats, "/user.slice/a")->sums.life_ns, 100 + 100 + 30 + 70);
	assert_int_equal(row_named(&stats, "/system.slice")->threads, 1);
	stats_fini(&stats);
	stats = stats_of(told, STATS_USER, 0, 100);
	assert_int_equal(row_named(&stats, "uid 1000")->threads, 4);
	assert_int_equal(row_named(&stats, "root")->threads, 1);
	stats_fini(&stats);
	told_free(told);
}

static void threads_of_a_process_are_one_row(void **unused)
{
	struct told *told = families();
	struct stats stats = stats_of(told, STATS_PROCESS, 0, 100);

	assert_int_equal(stats.row_count, 4);
	for (size_t i = 0; i < stats.row_count; i++)
		assert_int_equal(stats.rows[i].threads, stats.rows[i].tid == 7 ? 2 : 1);
	stats_fini(&stats);
	stats = stats_of(told, STATS_THREAD, 0, 100);
	assert_int_equal(stats.row_count, 5);
	stats_fini(&stats);
	stats = stats_of(told, STATS_COMM, 0, 100);
	assert_int_equal(row_named(&stats, "prog")->threads, 3);
	stats_fini(&stats);
	told_free(told);
}

static void who_was_not_seen_to_begin_is_of_no_known_cgroup(void **unused)
{
	struct told *told = replayed("facts last 100\n"
				     "10 cpu0 switch 0(runnable) 7:prog\n");
	struct stats stats = stats_of(told, STATS_CGROUP, 0, 100);

	assert_int_equal(stats.row_count, 1);
	assert_false(stats.rows[0].known);
	stats_fini(&stats);
	told_free(told);
}

static void a_window_outside_the_recording_is_an_error(void **unused)
{
	struct told *told = replayed(two_threads);
	struct stats_opts opts = { .start_ns = 200, .end_ns = 300 };
	struct stats stats;
	struct err err = { 0 };

	assert_int_equal(stats_run(told->tl, &told->trace->facts, &opts, &stats, &err), -22);
	assert_non_null(strstr(err.text, "empty"));
	told_free(told);
}

static void events_of_the_window_are_counted_by_type(void **unused)
{
	struct told *told = replayed(two_threads);
	struct stats stats = stats_of(told, STATS_PROCESS, 20, 80);
	struct err err = { 0 };

	assert_int_equal(stats_count_events(&stats, &told->trace->source, &err), 0);
	assert_int_equal(stats.event_sum, 7);
	assert_int_equal(stats.event_count, 4);
	assert_string_equal(stats.events[0].name, "sys_exit");
	assert_int_equal(stats.events[0].count, 3);
	assert_string_equal(stats.events[1].name, "sched_switch");
	assert_int_equal(stats.events[1].count, 2);
	stats_fini(&stats);
	told_free(told);
}

/* ------------------------------------------------------------- random traces */

/* The sums of a row again, interval by interval. */
static void add_slowly(const struct timeline *tl, uint32_t slot, uint64_t start_ns, uint64_t end_ns,
		       struct stats_sums *sums)
{
	struct tl_iter iter;
	struct tl_interval in;

	tl_iter_begin(&iter, tl, &tl->threads[slot]->track, start_ns, end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t ns = in.end_ns - in.start_ns;
		struct wait wait;

		if (word_kind(in.word) == WORD_NONE)
			continue;
		sums->life_ns += ns;
		switch (word_kind(in.word)) {
		case WORD_BLOCKED:
			timeline_wait(tl, slot, word_arg(in.word), &wait);
			sums->blocked_ns += ns;
			sums->waits[wait_kind(&wait)].ns += ns;
			break;
		case WORD_PREEMPTED:
		case WORD_WAIT_CPU:
			sums->waiting_ns += ns;
			break;
		case WORD_UNCERTAIN:
			sums->uncertain_ns += ns;
			break;
		case WORD_USER:
			sums->own_ns += ns;
			sums->on_cpu_ns += ns;
			break;
		default:
			sums->on_cpu_ns += ns;
			break;
		}
	}
}

static void same(uint64_t seed, const char *what, uint64_t ours, uint64_t slow)
{
	if (ours != slow)
		fail_msg("seed %llu: %s is %llu, not %llu", (unsigned long long)seed, what,
			 (unsigned long long)ours, (unsigned long long)slow);
}

static void compare_sums(uint64_t seed, const struct stats_sums *ours,
			 const struct stats_sums *slow)
{
	uint64_t waits = 0, reasons = 0;

	same(seed, "life", ours->life_ns, slow->life_ns);
	same(seed, "on cpu", ours->on_cpu_ns, slow->on_cpu_ns);
	same(seed, "own", ours->own_ns, slow->own_ns);
	same(seed, "waiting", ours->waiting_ns, slow->waiting_ns);
	same(seed, "blocked", ours->blocked_ns, slow->blocked_ns);
	same(seed, "uncertain", ours->uncertain_ns, slow->uncertain_ns);
	for (uint32_t i = 0; i < WAIT_KIND_COUNT; i++) {
		same(seed, wait_kind_name((enum wait_kind)i), ours->waits[i].ns, slow->waits[i].ns);
		waits += ours->waits[i].ns;
	}
	for (uint32_t i = 0; i < STATS_REASONS; i++)
		reasons += ours->reasons_ns[i];
	same(seed, "life of parts",
	     ours->on_cpu_ns + ours->waiting_ns + ours->blocked_ns + ours->uncertain_ns,
	     ours->life_ns);
	same(seed, "on cpu of parts",
	     ours->own_ns + ours->either_ns + ours->call_ns + ours->fault_ns + ours->thread_ns +
		     ours->work_ns + ours->irq_ns + ours->softirq_ns,
	     ours->on_cpu_ns);
	same(seed, "waiting of parts", ours->preempted_ns + ours->queued_ns, ours->waiting_ns);
	same(seed, "blocked of kinds", waits, ours->blocked_ns);
	same(seed, "uncertain of reasons", reasons, ours->uncertain_ns);
}

/* After a hole a thread may count for the CPU that it was on before: then one CPU has too much. */
static void check_cpus(uint64_t seed, const struct stats *stats, bool holes)
{
	for (size_t i = 0; i < stats->cpu_count; i++) {
		uint64_t sum = stats->cpus[i].unknown_ns;

		for (size_t k = 0; k < MODE_COUNT; k++)
			sum += stats->cpus[i].mode_ns[k];
		if (!holes || sum < stats->end_ns - stats->start_ns)
			same(seed, "a CPU", sum, stats->end_ns - stats->start_ns);
	}
}

static void check_window(uint64_t seed, struct told *told, uint64_t start_ns, uint64_t end_ns)
{
	struct stats_sums all = { 0 };

	for (uint32_t by = 0; by < STATS_BY_COUNT; by++) {
		struct stats stats = stats_of(told, (enum stats_by)by, start_ns, end_ns);
		uint64_t life = 0;

		for (size_t i = 0; i < stats.row_count; i++)
			life += stats.rows[i].sums.life_ns;
		same(seed, "rows together", life, stats.all.sums.life_ns);
		check_cpus(seed, &stats, told->tl->gap_count > 0);
		if (by == STATS_THREAD) {
			for (uint32_t slot = 0; slot < told->tl->thread_count; slot++) {
				if (told->tl->threads[slot]->tid)
					add_slowly(told->tl, slot, start_ns, end_ns, &all);
			}
			compare_sums(seed, &stats.all.sums, &all);
		}
		for (size_t i = 0; i < stats.row_count && by == STATS_THREAD; i++) {
			struct stats_sums slow = { 0 };
			uint32_t slot =
				timeline_find_thread(told->tl, stats.rows[i].tid, end_ns - 1);

			if (slot == SLOT_NONE || told->tl->threads[slot]->birth_ns > start_ns)
				continue; /* its tid may have been another's before */
			add_slowly(told->tl, slot, start_ns, end_ns, &slow);
			compare_sums(seed, &stats.rows[i].sums, &slow);
		}
		stats_fini(&stats);
	}
}

static void on_random_traces_every_sum_is_that_of_its_intervals(void **unused)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct told *told =
			told_trace(random_trace(seed, 400, seed % 3 == 0, seed % 2 == 0));
		uint64_t origin = told->tl->origin_ns, whole = told->tl->end_ns - origin;

		check_window(seed, told, origin, told->tl->end_ns);
		check_window(seed, told, origin + seed * 7919 % (whole / 2),
			     origin + whole / 2 + seed * 104729 % (whole / 2) + 1);
		told_free(told);
	}
}

/* Some events become holes. */
static struct text_trace *with_holes(struct text_trace *trace, uint64_t seed)
{
	uint64_t last_ns[TT_CPUS];

	for (size_t i = 0; i < TT_CPUS; i++)
		last_ns[i] = trace->facts.first_ns;
	for (size_t i = 0; i < trace->count; i++) {
		struct event *ev = &trace->events[i];

		if ((i + seed) % 37 == 0) {
			*ev = (struct event){
				.time_ns = ev->time_ns, .cpu = ev->cpu, .tid = -1, .type = EV_LOST
			};
			ev->lost.since_ns = last_ns[ev->cpu];
			ev->lost.count = 1;
		}
		last_ns[ev->cpu] = ev->time_ns;
	}
	return trace;
}

static void with_holes_every_sum_is_still_that_of_its_intervals(void **unused)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct told *told =
			told_trace(with_holes(random_trace(seed, 400, seed % 3 == 0, false), seed));
		uint64_t origin = told->tl->origin_ns, whole = told->tl->end_ns - origin;

		check_window(seed, told, origin, told->tl->end_ns);
		check_window(seed, told, origin + seed * 7919 % (whole / 2),
			     origin + whole / 2 + seed * 104729 % (whole / 2) + 1);
		told_free(told);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_times_of_a_process_are_those_of_its_states),
		cmocka_unit_test(a_call_lasts_from_enter_to_exit_and_errors_have_names),
		cmocka_unit_test(a_window_cuts_what_lies_across_its_ends),
		cmocka_unit_test(each_cpu_tells_what_it_did_and_what_is_not_known),
		cmocka_unit_test(lost_events_leave_uncertain_time_with_its_reason),
		cmocka_unit_test(children_inherit_cgroup_and_user),
		cmocka_unit_test(threads_of_a_process_are_one_row),
		cmocka_unit_test(who_was_not_seen_to_begin_is_of_no_known_cgroup),
		cmocka_unit_test(a_window_outside_the_recording_is_an_error),
		cmocka_unit_test(events_of_the_window_are_counted_by_type),
		cmocka_unit_test(on_random_traces_every_sum_is_that_of_its_intervals),
		cmocka_unit_test(with_holes_every_sum_is_still_that_of_its_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
