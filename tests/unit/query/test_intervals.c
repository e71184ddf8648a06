/* States, CPUs and columns through the API, against plain lists of what the engine wrote. */
#include "asking.h"

#define WINDOWS 12

static uint32_t wait_of(uint32_t word)
{
	return word_kind(word) == WORD_BLOCKED ? word_arg(word) : HR_NONE;
}

static void check_state(struct asking *asking, uint32_t thread, uint64_t at_ns)
{
	uint32_t word = asking_word(&asking->plains[thread], at_ns), wait = 77;
	bool recorded = at_ns >= asking->memory->origin_ns && at_ns < asking->memory->end_ns;
	uint64_t state = 77;

	if (!recorded)
		word = word_make(WORD_NONE, 0);
	assert_int_equal(hr_state_at(asking->trace, thread, at_ns, &state, &wait), 0);
	if (state != state_of_word(word, false) || wait != wait_of(word))
		fail_msg("seed %d, thread %u at %llu: state %llx, wait %u, not word %x",
			 (int)asking->seed, thread, (unsigned long long)at_ns,
			 (unsigned long long)state, wait, word);
	assert_int_equal(hr_state_at(asking->trace, thread, at_ns, &state, NULL), 0);
}

static void the_state_at_a_time_is_that_of_the_last_entry(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			for (int i = 0; i < WINDOWS; i++)
				check_state(&asking, thread,
					    asking_moment(&asking, &asking.plains[thread]));
			check_state(&asking, thread, 0);
			check_state(&asking, thread, asking.memory->end_ns);
			check_state(&asking, thread, UINT64_MAX);
		}
		asking_end(&asking);
	}
}

/* The interval that begins with span 'i', cut to the window; false when there is none. */
static bool interval_of(const struct plain_sum *window, size_t i, struct hr_interval *out)
{
	const struct plain_span *span = &window->plain->spans[i];
	uint64_t end = window->plain->spans[plain_last_of(window->plain, i)].end_ns;
	uint32_t word = word_plain(span->word);

	*out = (struct hr_interval){
		.start_ns = span->start_ns > window->start_ns ? span->start_ns : window->start_ns,
		.end_ns = end < window->end_ns ? end : window->end_ns,
		.state = state_of_word(word, false),
		.wait = wait_of(word),
	};
	return plain_begins(window->plain, i) && out->start_ns < out->end_ns;
}

static void check_intervals(struct asking *asking, uint32_t thread, uint64_t start, uint64_t end)
{
	struct plain_sum window = { &asking->plains[thread], start, end, NULL };
	struct hr_interval in = { .struct_size = sizeof(in) }, want;
	struct hr_intervals *intervals;

	if (start < asking->memory->origin_ns)
		window.start_ns = asking->memory->origin_ns;
	if (end > asking->memory->end_ns)
		window.end_ns = asking->memory->end_ns;
	assert_int_equal(hr_intervals_new(asking->trace, thread, start, end, &intervals), 0);
	for (size_t i = 0; i < window.plain->count; i++) {
		if (!interval_of(&window, i, &want))
			continue;
		if (hr_intervals_next(intervals, &in) != 1)
			fail_msg("seed %d, thread %u: nothing at %llu", (int)asking->seed, thread,
				 (unsigned long long)want.start_ns);
		assert_int_equal(in.struct_size, sizeof(in));
		assert_int_equal(in.start_ns, want.start_ns);
		assert_int_equal(in.end_ns, want.end_ns);
		assert_int_equal(in.state, want.state);
		assert_int_equal(in.wait, want.wait);
		window.start_ns = in.end_ns; /* they touch */
	}
	assert_int_equal(hr_intervals_next(intervals, &in), 0);
	assert_true(window.start_ns >= window.end_ns); /* and cover it */
	hr_intervals_free(intervals);
}

static void intervals_touch_and_cover_the_window(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			for (int i = 0; i < 3; i++) {
				uint64_t start, end;

				asking_window(&asking, &asking.plains[thread], &start, &end);
				check_intervals(&asking, thread, start, end);
			}
		}
		asking_end(&asking);
	}
}

static void check_stays(struct asking *asking, const struct plain *plain, uint32_t cpu)
{
	uint64_t start, end, at, last;
	struct hr_stay stay = { .struct_size = sizeof(stay) };
	struct hr_stays *stays;

	asking_window(asking, plain, &start, &end);
	at = start > asking->memory->origin_ns ? start : asking->memory->origin_ns;
	last = end < asking->memory->end_ns ? end : asking->memory->end_ns;
	assert_int_equal(hr_stays_new(asking->trace, cpu, start, end, &stays), 0);
	while (hr_stays_next(stays, &stay) > 0) {
		uint64_t middle = stay.start_ns + (stay.end_ns - stay.start_ns) / 2;
		uint32_t thread;

		assert_int_equal(stay.start_ns, at);
		assert_int_equal(stay.cpu, cpu);
		assert_int_equal(stay.thread, asking_word(plain, stay.start_ns));
		assert_int_equal(stay.thread, asking_word(plain, stay.end_ns - 1));
		assert_int_equal(hr_running_at(asking->trace, cpu, middle, &thread), 0);
		assert_int_equal(thread, asking_word(plain, middle));
		at = stay.end_ns;
	}
	assert_int_equal(at, last > at ? last : at);
	hr_stays_free(stays);
}

static void who_ran_on_a_cpu_is_what_its_track_says(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		assert_int_equal(hr_cpu_count(asking.trace), asking.memory->cpu_count);
		for (uint32_t cpu = 0; cpu < asking.memory->cpu_count; cpu++) {
			struct plain plain = asking_plain(asking.memory, asking.memory->cpus[cpu]);

			for (int i = 0; i < WINDOWS; i++)
				check_stays(&asking, &plain, cpu);
			plain_fini(&plain);
		}
		asking_end(&asking);
	}
}

/* ------------------------------------------------------------------------- columns */

/* The state it was in longest; the smaller of two. Outside the recording: not there. */
static uint64_t longest(const struct asking *asking, const struct plain *plain, uint64_t start,
			uint64_t end)
{
	uint64_t from = start > asking->memory->origin_ns ? start : asking->memory->origin_ns;
	uint64_t to = end < asking->memory->end_ns ? end : asking->memory->end_ns;
	struct plain_rows rows = { 0 };
	struct plain_sum sum = { plain, from, to, &rows };
	uint32_t word = 0;
	uint64_t most = 0;

	for (size_t i = 0; from < to && i < plain->count; i++)
		plain_row(&rows, plain_state(plain->spans[i].word))->ns += plain_ns(&sum, i);
	for (size_t i = 0; i < rows.count; i++) {
		const struct total *row = &rows.rows[i];

		if (row->ns > most || (row->ns && row->ns == most && row->key < word)) {
			most = row->ns;
			word = (uint32_t)row->key;
		}
	}
	free(rows.rows);
	return state_of_word(word, true);
}

static void check_columns(struct asking *asking, uint32_t thread, uint64_t start, uint64_t end)
{
	uint32_t width = 1 + (uint32_t)asking_random(asking, 40);
	uint64_t states[40], from = start;

	assert_int_equal(hr_columns(asking->trace, thread, start, end, width, states), 0);
	for (uint32_t i = 0; i < width; i++) {
		uint64_t to = start + (uint64_t)((__uint128_t)(end - start) * (i + 1) / width);
		uint64_t want = longest(asking, &asking->plains[thread], from, to);

		if (states[i] != want)
			fail_msg("seed %d, thread %u, column %u of %u: %llx, not %llx",
				 (int)asking->seed, thread, i, width, (unsigned long long)states[i],
				 (unsigned long long)want);
		from = to;
	}
}

static void columns_show_the_longest_state(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);
		uint64_t length = asking.memory->end_ns - asking.memory->origin_ns;

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			uint64_t a = asking_moment(&asking, &asking.plains[thread]);
			uint64_t b = asking_moment(&asking, &asking.plains[thread]);

			check_columns(&asking, thread, a < b ? a : b, a < b ? b : a);
			/* Drawn past both ends. */
			check_columns(&asking, thread, asking.memory->origin_ns / 2,
				      asking.memory->end_ns + length / 3);
			check_columns(&asking, thread, 0, UINT64_MAX);
		}
		asking_end(&asking);
	}
}

/* ------------------------------------------------------------------------- mistakes */

static void a_question_that_makes_no_sense_is_an_error_in_words(void **unused)
{
	struct asking asking = asking_begin(4);
	struct hr_trace *trace = asking.trace;
	uint32_t none = asking_threads(&asking), thread = 5;
	struct hr_intervals *intervals = NULL;
	struct hr_stays *stays = NULL;
	uint64_t state = 5;

	assert_string_equal(hr_error(trace), "");
	assert_int_equal(hr_state_at(trace, none, 0, &state, NULL), -EINVAL);
	assert_non_null(strstr(hr_error(trace), "no thread"));
	assert_int_equal(hr_intervals_new(trace, HR_NONE, 0, 1, &intervals), -EINVAL);
	assert_int_equal(hr_intervals_new(trace, 0, 2, 1, &intervals), -EINVAL);
	assert_non_null(strstr(hr_error(trace), "ends before it starts"));
	assert_int_equal(hr_running_at(trace, hr_cpu_count(trace), 0, &thread), -EINVAL);
	assert_non_null(strstr(hr_error(trace), "no CPU"));
	assert_int_equal(hr_stays_new(trace, HR_NONE, 0, 1, &stays), -EINVAL);
	assert_int_equal(hr_stays_new(trace, 0, 2, 1, &stays), -EINVAL);
	assert_int_equal(hr_columns(trace, 0, 2, 1, 1, &state), -EINVAL);
	assert_int_equal(hr_columns(trace, 0, 1, 2, 0, &state), -EINVAL);
	assert_int_equal(hr_columns(trace, 0, 1, 2, HR_COLUMNS_MAX + 1, &state), -EINVAL);
	assert_int_equal(hr_columns(trace, none, 1, 2, 1, &state), -EINVAL);
	/* What was asked for is not written. */
	assert_int_equal(state, 5);
	assert_int_equal(thread, 5);
	assert_null(intervals);
	assert_null(stays);
	asking_end(&asking);
}

static void a_struct_of_another_version_is_filled_as_far_as_it_is_known(void **unused)
{
	struct asking asking = asking_begin(4);
	struct {
		struct hr_interval known;
		uint64_t newer[2];
	} large = { .known.struct_size = sizeof(large), .newer = { 7, 7 } };
	struct hr_interval small = { .struct_size = sizeof(small) - 1 };
	struct hr_intervals *intervals;

	assert_int_equal(hr_intervals_new(asking.trace, 0, 0, UINT64_MAX, &intervals), 0);
	assert_int_equal(hr_intervals_next(intervals, &small), -EINVAL);
	assert_non_null(strstr(hr_error(asking.trace), "struct_size"));
	assert_int_equal(hr_intervals_next(intervals, &large.known), 1);
	assert_int_equal(large.known.struct_size, sizeof(large));
	assert_int_equal(large.known.start_ns, asking.memory->origin_ns);
	assert_int_equal(large.newer[0], 0);
	assert_int_equal(large.newer[1], 0);
	hr_intervals_free(intervals);
	hr_intervals_free(NULL);
	hr_stays_free(NULL);
	asking_end(&asking);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_state_at_a_time_is_that_of_the_last_entry),
		cmocka_unit_test(intervals_touch_and_cover_the_window),
		cmocka_unit_test(who_ran_on_a_cpu_is_what_its_track_says),
		cmocka_unit_test(columns_show_the_longest_state),
		cmocka_unit_test(a_question_that_makes_no_sense_is_an_error_in_words),
		cmocka_unit_test(a_struct_of_another_version_is_filled_as_far_as_it_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
