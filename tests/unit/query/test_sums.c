/* Totals through the API, against the slow twin of the sums. */
#include "asking.h"

#include "read/read.h"

/* A row of the API as a row of the twin, to compare them. */
static struct total row_of(const struct hr_total *total)
{
	uint32_t word = (uint32_t)total->state, a = word, b = 0;

	switch ((enum hr_total_kind)total->kind) {
	case HR_TOTAL_WAIT:
		b = total->wait_kind;
		break;
	case HR_TOTAL_ERROR:
		b = total->error;
		a = word_call(word);
		break;
	case HR_TOTAL_CALL:
		a = word_call(word);
		break;
	case HR_TOTAL_CPU:
		a = total->cpu;
		b = total->mode;
		break;
	case HR_TOTAL_COUNTER:
		a = total->counter;
		break;
	case HR_TOTAL_STATE:
		break;
	}
	return (struct total){ .key = total_key((enum total_kind)total->kind, a, b),
			       .ns = total->ns,
			       .count = total->count,
			       .max_ns = total->max_ns };
}

static void compare(const struct asking *asking, const struct plain_rows *want,
		    struct hr_totals *totals)
{
	struct hr_total total = { .struct_size = sizeof(total) };

	hr_totals_rewind(totals);
	for (size_t i = 0; i < want->count; i++) {
		const struct total *row = &want->rows[i];
		struct total got;

		if (hr_totals_next(totals, &total) != 1)
			fail_msg("seed %d: a row is missing", (int)asking->seed);
		got = row_of(&total);
		if (got.key != row->key || got.ns != row->ns || got.max_ns != row->max_ns ||
		    (got.count != row->count && total.kind != HR_TOTAL_CPU))
			fail_msg("seed %d: kind %u a %x b %u is %llu ns, %llu x, not %llu ns, "
				 "%llu x (a %x)",
				 (int)asking->seed, total_kind(row->key), total_a(row->key),
				 total_b(row->key), (unsigned long long)got.ns,
				 (unsigned long long)got.count, (unsigned long long)row->ns,
				 (unsigned long long)row->count, total_a(got.key));
	}
	assert_int_equal(hr_totals_next(totals, &total), 0);
}

/* The window as the API cuts it. */
static void cut(const struct asking *asking, uint64_t *start, uint64_t *end)
{
	if (*start < asking->memory->origin_ns)
		*start = asking->memory->origin_ns;
	if (*end > asking->memory->end_ns)
		*end = asking->memory->end_ns;
}

static void check_helpers(const struct plain_rows *rows, const struct hr_totals *totals)
{
	uint64_t groups[5] = { 0 }, modes[6] = { 0 }, counters[5] = { 0 };

	for (size_t i = 0; i < rows->count; i++) {
		const struct total *row = &rows->rows[i];

		if (total_kind(row->key) == TOTAL_STATE)
			groups[word_wib(total_a(row->key))] += row->ns;
		if (total_kind(row->key) == TOTAL_CPU)
			modes[total_b(row->key)] += row->ns;
		if (total_kind(row->key) == TOTAL_COUNTER)
			counters[total_a(row->key)] += row->count;
	}
	for (int i = 0; i < 5; i++) {
		assert_int_equal(hr_totals_group_ns(totals, (enum hr_group)i), groups[i]);
		assert_int_equal(hr_totals_counter(totals, (enum hr_counter)i), counters[i]);
	}
	for (int i = 0; i < 6; i++)
		assert_int_equal(hr_totals_mode_ns(totals, (enum hr_mode)i), modes[i]);
	assert_int_equal(hr_totals_group_ns(totals, (enum hr_group)99), 0);
	assert_int_equal(hr_totals_counter(totals, (enum hr_counter)99), 0);
	assert_int_equal(hr_totals_mode_ns(totals, (enum hr_mode)99), 0);
}

static void check_thread(struct asking *asking, uint32_t thread)
{
	struct hr_totals *totals;
	struct plain_rows want;
	uint64_t start, end, sum = 0;

	asking_window(asking, &asking->plains[thread], &start, &end);
	assert_int_equal(hr_thread_totals(asking->trace, thread, start, end, &totals), 0);
	cut(asking, &start, &end);
	plain_totals(&asking->plains[thread], start, end, &want);
	compare(asking, &want, totals);
	check_helpers(&want, totals);
	for (int group = 0; group < 5; group++)
		sum += hr_totals_group_ns(totals, (enum hr_group)group);
	assert_int_equal(sum, end - start);
	hr_totals_free(totals);
	free(want.rows);
}

static void totals_of_a_thread_are_those_of_the_twin(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			for (int i = 0; i < 3; i++)
				check_thread(&asking, thread);
		}
		asking_end(&asking);
	}
}

/* Add the rows of a thread for which 'kind' and 'a' fit; UINT32_MAX = any. */
static void add_rows(struct plain_rows *sum, const struct plain_rows *rows, uint32_t kind,
		     uint32_t a)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct total *from = &rows->rows[i];
		struct total *row;

		if ((kind != UINT32_MAX && (uint32_t)total_kind(from->key) != kind) ||
		    (a != UINT32_MAX && total_a(from->key) != a))
			continue;
		row = plain_row(sum, from->key);
		row->ns += from->ns;
		row->count += from->count;
		if (from->max_ns > row->max_ns)
			row->max_ns = from->max_ns;
	}
}

/* Random threads become one process, in both timelines. */
static void make_processes(struct asking *asking)
{
	for (uint32_t thread = 0; thread < asking_threads(asking); thread++) {
		int32_t leader = RT_FIRST + (int32_t)asking_random(asking, 3);

		if (asking->memory->threads[thread]->tid == 0)
			continue;
		if (asking->memory->threads[thread]->tid <= RT_FIRST + 2)
			leader = asking->memory->threads[thread]->tid;
		asking->memory->threads[thread]->tgid = leader;
		asking->trace->loaded.timeline->threads[thread]->tgid = leader;
	}
}

/* The main thread of its process: the last one of that number born before it. */
static uint32_t leader_of(const struct asking *asking, uint32_t thread)
{
	const struct tl_thread *known = asking->memory->threads[thread];
	uint32_t found = SLOT_NONE;

	for (uint32_t i = 0; i < asking_threads(asking); i++) {
		if (asking->memory->threads[i]->tid == known->tgid &&
		    asking->memory->threads[i]->birth_ns <= known->birth_ns)
			found = i;
	}
	return found;
}

static void check_process(struct asking *asking, uint32_t thread)
{
	const struct tl_thread *known = asking->memory->threads[thread];
	struct plain_rows want = { 0 };
	struct hr_totals *totals;
	uint64_t start, end;

	asking_window(asking, &asking->plains[thread], &start, &end);
	assert_int_equal(hr_process_totals(asking->trace, thread, start, end, &totals), 0);
	cut(asking, &start, &end);
	for (uint32_t i = 0; i < asking_threads(asking); i++) {
		struct plain_rows rows;

		if (i != thread &&
		    (!known->tid || asking->memory->threads[i]->tgid != known->tgid ||
		     leader_of(asking, i) != leader_of(asking, thread)))
			continue;
		plain_totals(&asking->plains[i], start, end, &rows);
		add_rows(&want, &rows, UINT32_MAX, UINT32_MAX);
		free(rows.rows);
	}
	plain_row(&want, total_key(TOTAL_STATE, word_make(WORD_NONE, 0), 0))->ns = 0;
	plain_row(&want, total_key(TOTAL_STATE, word_make(WORD_NONE, 0), 0))->count = 0;
	plain_rows_sort(&want);
	compare(asking, &want, totals);
	hr_totals_free(totals);
	free(want.rows);
}

static void totals_of_a_process_are_those_of_its_threads(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		make_processes(&asking);
		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++)
			check_process(&asking, thread);
		asking_end(&asking);
	}
}

static void check_cpu(struct asking *asking, uint32_t cpu)
{
	struct plain_rows want = { 0 };
	struct hr_totals *totals;
	uint64_t start, end;

	asking_window(asking, &asking->plains[0], &start, &end);
	assert_int_equal(hr_cpu_totals(asking->trace, cpu, start, end, &totals), 0);
	cut(asking, &start, &end);
	for (uint32_t i = 0; i < asking_threads(asking); i++) {
		struct plain_rows rows;

		plain_totals(&asking->plains[i], start, end, &rows);
		add_rows(&want, &rows, TOTAL_CPU, cpu);
		free(rows.rows);
	}
	plain_rows_sort(&want);
	compare(asking, &want, totals);
	hr_totals_free(totals);
	free(want.rows);
}

static void totals_of_a_cpu_are_those_of_all_threads_on_it(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		for (uint32_t cpu = 0; cpu < asking.memory->cpu_count; cpu++) {
			for (int i = 0; i < 5; i++)
				check_cpu(&asking, cpu);
		}
		asking_end(&asking);
	}
}

/* When the first threads have left their CPUs: where those ran before their first event is not told. */
static uint64_t settled_ns(struct asking *asking)
{
	struct hr_stay stay = { .struct_size = sizeof(stay) };
	uint64_t settled = 0;

	for (uint32_t cpu = 0; cpu < asking->memory->cpu_count; cpu++) {
		struct hr_stays *stays;

		assert_int_equal(hr_stays_new(asking->trace, cpu, 0, UINT64_MAX, &stays), 0);
		while (hr_stays_next(stays, &stay) > 0 && stay.thread == HR_NONE)
			;
		settled = stay.end_ns > settled ? stay.end_ns : settled;
		hr_stays_free(stays);
	}
	return settled;
}

/* The time in which it is known who ran on a CPU. */
static uint64_t known_ns(struct asking *asking, uint32_t cpu, uint64_t start, uint64_t end)
{
	struct hr_stay stay = { .struct_size = sizeof(stay) };
	struct hr_stays *stays;
	uint64_t known = 0;

	assert_int_equal(hr_stays_new(asking->trace, cpu, start, end, &stays), 0);
	while (hr_stays_next(stays, &stay) > 0)
		known += stay.thread == HR_NONE ? 0 : stay.end_ns - stay.start_ns;
	hr_stays_free(stays);
	return known;
}

/* Another way to the same sum, in traces without holes. */
static void a_cpus_time_is_that_of_the_threads_that_ran_there(void **unused)
{
	for (uint64_t seed = 2; seed <= 4 * ASKING_SEEDS; seed += 2) {
		struct asking asking = asking_begin(seed);
		uint64_t settled = settled_ns(&asking);

		for (uint32_t cpu = 0; cpu < asking.memory->cpu_count; cpu++) {
			uint64_t start, end, sum = 0, known;
			struct hr_totals *totals;

			asking_window(&asking, &asking.plains[0], &start, &end);
			start = start > settled ? start : settled;
			end = end > start ? end : start;
			known = known_ns(&asking, cpu, start, end);
			assert_int_equal(hr_cpu_totals(asking.trace, cpu, start, end, &totals), 0);
			for (int mode = 0; mode < 6; mode++)
				sum += hr_totals_mode_ns(totals, (enum hr_mode)mode);
			hr_totals_free(totals);
			if (sum != known)
				fail_msg("seed %d, CPU %u: %llu ns, not %llu", (int)seed, cpu,
					 (unsigned long long)sum, (unsigned long long)known);
		}
		asking_end(&asking);
	}
}

static void rows_say_what_they_are_of(void **unused)
{
	struct text_trace *text = text_trace_of("facts last 100\n"
						"thread 7 7 1 R prog\n"
						"0 cpu0 switch 0(runnable) 7\n"
						"10 cpu0 enter read 3\n"
						"20 cpu0 switch 7(blocked) 0\n"
						"50 cpu0 waking 7 cpu 0\n"
						"60 cpu0 switch 0(runnable) 7\n"
						"70 cpu0 leave read -11\n");
	struct asking asking = asking_text(text, 0);
	struct hr_total total = { .struct_size = sizeof(total) };
	struct hr_totals *totals;
	uint32_t seen = 0, thread = hr_find_thread(asking.trace, 7, HR_LAST);

	assert_int_equal(hr_thread_totals(asking.trace, thread, 0, UINT64_MAX, &totals), 0);
	while (hr_totals_next(totals, &total) > 0) {
		const char *of = hr_state_text(asking.trace, total.state);

		seen |= 1u << total.kind;
		if (total.kind == HR_TOTAL_WAIT) {
			assert_string_equal(of, "read");
			assert_int_equal(total.ns, 30);
			assert_int_equal(total.max_ns, 30);
			assert_int_equal(total.count, 1);
		} else if (total.kind == HR_TOTAL_CALL) {
			assert_string_equal(of, "read");
			assert_int_equal(total.ns, 60);
			assert_int_equal(total.max_ns, 60);
			assert_int_equal(total.wait_kind, HR_NONE);
		} else if (total.kind == HR_TOTAL_ERROR) {
			assert_string_equal(of, "read");
			assert_int_equal(total.error, 11);
			assert_int_equal(total.cpu, HR_NONE);
		}
	}
	assert_int_equal(seen, 0x3f); /* each kind */
	assert_int_equal(hr_totals_counter(totals, HR_COUNTER_WAITS), 1);
	assert_int_equal(hr_totals_group_ns(totals, HR_GROUP_BLOCKED), 30);
	assert_int_equal(hr_totals_group_ns(totals, HR_GROUP_INTERRUPTED), 10);
	hr_totals_free(totals);
	asking_end(&asking);
}

static void mistakes_are_errors(void **unused)
{
	struct asking asking = asking_begin(4);
	struct hr_total total = { .struct_size = 8 };
	struct hr_totals *totals = NULL;

	assert_int_equal(hr_thread_totals(asking.trace, HR_NONE, 0, 1, &totals), -EINVAL);
	assert_int_equal(hr_thread_totals(asking.trace, 0, 1, 0, &totals), -EINVAL);
	assert_int_equal(hr_process_totals(asking.trace, HR_NONE, 0, 1, &totals), -EINVAL);
	assert_int_equal(hr_process_totals(asking.trace, 0, 1, 0, &totals), -EINVAL);
	assert_int_equal(hr_cpu_totals(asking.trace, HR_NONE, 0, 1, &totals), -EINVAL);
	assert_int_equal(hr_cpu_totals(asking.trace, 0, 1, 0, &totals), -EINVAL);
	assert_null(totals);
	assert_int_equal(hr_thread_totals(asking.trace, 0, 0, UINT64_MAX, &totals), 0);
	assert_int_equal(hr_totals_next(totals, &total), -EINVAL);
	hr_totals_free(totals);
	assert_int_equal(hr_thread_totals(asking.trace, 0, 0, 0, &totals), 0); /* empty */
	total.struct_size = sizeof(total);
	assert_int_equal(hr_totals_next(totals, &total), 0);
	hr_totals_free(totals);
	hr_totals_free(NULL);
	asking_end(&asking);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_of_a_thread_are_those_of_the_twin),
		cmocka_unit_test(totals_of_a_process_are_those_of_its_threads),
		cmocka_unit_test(totals_of_a_cpu_are_those_of_all_threads_on_it),
		cmocka_unit_test(a_cpus_time_is_that_of_the_threads_that_ran_there),
		cmocka_unit_test(rows_say_what_they_are_of),
		cmocka_unit_test(mistakes_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
