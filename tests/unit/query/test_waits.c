/* Waits and wake-ups through the API, against all waits of all threads one by one. */
#include "asking.h"

#include "analyse/why/why_int.h"

/* A trace in text and what the API says of it. */
static struct asking told(const char *text)
{
	return asking_text(text_trace_of(text), 0);
}

static uint32_t thread_of(const struct asking *asking, int32_t tid)
{
	uint32_t thread = hr_find_thread(asking->trace, tid, HR_LAST);

	if (thread == HR_NONE)
		fail_msg("no thread %d", tid);
	return thread;
}

static void same_actor(struct asking *asking, const struct hr_actor *got, const struct actor *want)
{
	assert_int_equal(got->time_ns, want->time_ns);
	assert_int_equal(got->state, state_of_word(want->word, false));
	assert_int_equal(got->below, state_of_word(want->below, false));
	assert_string_equal(got->name, timeline_name(asking->memory, want->name));
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->thread, want->slot);
	assert_int_equal(got->signal, want->signal);
}

static void same_wait(struct asking *asking, const struct hr_wait *got, const struct wait *want)
{
	assert_int_equal(got->struct_size, sizeof(*got));
	assert_int_equal(got->begin_ns, want->begin_ns);
	assert_int_equal(got->woken_ns, want->woken_ns);
	assert_int_equal(got->in, state_of_word(want->in, false));
	assert_int_equal(got->kind, wait_kind(want));
	assert_int_equal(got->flags, want->flags);
	assert_int_equal(got->fd, want->fd);
	assert_string_equal(got->object, timeline_name(asking->memory, want->object));
	assert_string_equal(got->stack, timeline_name(asking->memory, want->stack));
	same_actor(asking, &got->waker, &want->waker);
	same_actor(asking, &got->origin, &want->origin);
}

static void each_wait_is_what_was_written(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			const struct tl_thread *known = asking.memory->threads[thread];
			struct hr_wait wait = { .struct_size = sizeof(wait) };

			for (uint32_t i = 0; i < known->wait_count; i++) {
				assert_int_equal(hr_wait_get(asking.trace, thread, i, &wait), 0);
				assert_int_equal(wait.thread, thread);
				assert_int_equal(wait.index, i);
				same_wait(&asking, &wait, &known->waits[i]);
			}
			assert_int_equal(hr_wait_get(asking.trace, thread, known->wait_count,
						     &wait),
					 -EINVAL);
			assert_non_null(strstr(hr_error(asking.trace), "no wait"));
		}
		asking_end(&asking);
	}
}

/* Is it blocked in this wait for some time of the window? */
static bool is_in_window(const struct plain *plain, uint32_t wait, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < plain->count; i++) {
		const struct plain_span *span = &plain->spans[i];
		uint64_t from = span->start_ns > start ? span->start_ns : start;
		uint64_t to = span->end_ns < end ? span->end_ns : end;

		if (span->word == word_make(WORD_BLOCKED, wait) && from < to)
			return true;
	}
	return false;
}

static void check_waits(struct asking *asking, uint32_t thread)
{
	const struct plain *plain = &asking->plains[thread];
	struct hr_wait wait = { .struct_size = sizeof(wait) };
	struct hr_waits *waits;
	uint64_t start, end;

	asking_window(asking, plain, &start, &end);
	assert_int_equal(hr_waits_new(asking->trace, thread, start, end, &waits), 0);
	for (uint32_t i = 0; i < plain->wait_count; i++) {
		if (!is_in_window(plain, i, start, end))
			continue;
		assert_int_equal(hr_waits_next(waits, &wait), 1);
		if (wait.index != i)
			fail_msg("seed %d, thread %u, %llu to %llu: wait %u, not %u",
				 (int)asking->seed, thread, (unsigned long long)start,
				 (unsigned long long)end, wait.index, i);
	}
	assert_int_equal(hr_waits_next(waits, &wait), 0);
	hr_waits_free(waits);
}

static void the_waits_of_a_window_are_those_it_was_blocked_in(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			for (int i = 0; i < 5; i++)
				check_waits(&asking, thread);
		}
		asking_end(&asking);
	}
}

/* ---------------------------------------------------------------------------- edges */

static uint32_t from_of(const struct wait *wait)
{
	bool known = wait->waker.kind == ACTOR_THREAD || wait->waker.kind == ACTOR_NETWORK;

	return known ? wait->waker.slot : HR_NONE;
}

static bool ends_in(const struct asking *asking, const struct wait *wait, uint64_t start,
		    uint64_t end)
{
	if (start < asking->memory->origin_ns)
		start = asking->memory->origin_ns;
	if (end > asking->memory->end_ns)
		end = asking->memory->end_ns;
	return wait->woken_ns && wait->woken_ns >= start && wait->woken_ns < end;
}

static void check_edges_in(struct asking *asking, uint32_t thread)
{
	const struct plain *plain = &asking->plains[thread];
	struct hr_edge edge = { .struct_size = sizeof(edge) };
	struct hr_edges *edges;
	uint64_t start, end;

	asking_window(asking, plain, &start, &end);
	assert_int_equal(hr_edges_in_new(asking->trace, thread, start, end, &edges), 0);
	for (uint32_t i = 0; i < plain->wait_count; i++) {
		if (!ends_in(asking, &plain->waits[i], start, end))
			continue;
		if (hr_edges_next(edges, &edge) != 1)
			fail_msg("seed %d, thread %u: wait %u is missing", (int)asking->seed,
				 thread, i);
		assert_int_equal(edge.wait, i);
		assert_int_equal(edge.to, thread);
		assert_int_equal(edge.from, from_of(&plain->waits[i]));
		assert_int_equal(edge.kind, plain->waits[i].waker.kind);
		assert_int_equal(edge.time_ns, plain->waits[i].woken_ns);
	}
	assert_int_equal(hr_edges_next(edges, &edge), 0);
	hr_edges_free(edges);
}

/* How many waits of all threads 'thread' ended in the window; is 'edge' one of them? */
static uint32_t count_out(struct asking *asking, uint32_t thread, uint64_t start, uint64_t end,
			  const struct hr_edge *edge)
{
	uint32_t count = 0;

	for (uint32_t to = 0; to < asking_threads(asking); to++) {
		for (uint32_t i = 0; i < asking->plains[to].wait_count; i++) {
			const struct wait *wait = &asking->plains[to].waits[i];

			if (from_of(wait) != thread || !ends_in(asking, wait, start, end))
				continue;
			if (!edge ||
			    (edge->to == to && edge->wait == i && edge->time_ns == wait->woken_ns &&
			     edge->kind == wait->waker.kind))
				count++;
		}
	}
	return count;
}

static void check_edges_out(struct asking *asking, uint32_t thread)
{
	struct hr_edge edge = { .struct_size = sizeof(edge) };
	uint64_t start, end, before = 0;
	struct hr_edges *edges;
	uint32_t got = 0;

	asking_window(asking, &asking->plains[thread], &start, &end);
	assert_int_equal(hr_edges_out_new(asking->trace, thread, start, end, &edges), 0);
	while (hr_edges_next(edges, &edge) == 1) {
		assert_int_equal(edge.from, thread);
		assert_true(edge.time_ns >= before);
		if (count_out(asking, thread, start, end, &edge) != 1)
			fail_msg("seed %d, thread %u: no wake-up of %u, wait %u at %llu",
				 (int)asking->seed, thread, edge.to, edge.wait,
				 (unsigned long long)edge.time_ns);
		before = edge.time_ns;
		got++;
	}
	assert_int_equal(got, count_out(asking, thread, start, end, NULL));
	hr_edges_free(edges);
}

static void edges_are_the_ends_of_waits(void **unused)
{
	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			for (int i = 0; i < 5; i++) {
				check_edges_in(&asking, thread);
				check_edges_out(&asking, thread);
			}
		}
		asking_end(&asking);
	}
}

/* -------------------------------------------------------------------------- by hand */

static void a_waits_end_is_told_from_both_sides(void **unused)
{
	struct asking asking = told("facts last 100\n"
				    "thread 7 7 1 R reader\n"
				    "thread 8 8 1 R writer\n"
				    "fd 7 3 pipe pipe:[99]\n"
				    "0 cpu0 switch 0(runnable) 7\n"
				    "0 cpu1 switch 0(runnable) 8\n"
				    "10 cpu0 enter read 3\n"
				    "20 cpu0 switch 7(blocked) 0\n"
				    "40 cpu1 enter write 4\n"
				    "50 cpu1 waking 7 cpu 0\n"
				    "55 cpu1 leave write 1\n"
				    "60 cpu0 switch 0(runnable) 7\n"
				    "90 cpu0 leave read 4\n");
	uint32_t reader = thread_of(&asking, 7), writer = thread_of(&asking, 8);
	struct hr_wait wait = { .struct_size = sizeof(wait) };
	struct hr_edge edge = { .struct_size = sizeof(edge) };
	struct hr_edges *edges;
	struct hr_waits *waits;

	assert_int_equal(hr_waits_new(asking.trace, reader, 30, 40, &waits), 0);
	assert_int_equal(hr_waits_next(waits, &wait), 1);
	assert_int_equal(wait.begin_ns, 20);
	assert_int_equal(wait.woken_ns, 50);
	assert_int_equal(wait.kind, HR_WAIT_FOR_THREAD);
	assert_int_equal(wait.fd, 3);
	assert_string_equal(wait.object, "pipe:[99]");
	assert_string_equal(hr_state_text(asking.trace, wait.in), "read");
	assert_int_equal(wait.waker.thread, writer);
	assert_string_equal(hr_actor_text(asking.trace, &wait.waker), "write");
	hr_waits_free(waits);

	assert_int_equal(hr_edges_out_new(asking.trace, writer, 50, 51, &edges), 0);
	assert_int_equal(hr_edges_next(edges, &edge), 1);
	assert_int_equal(edge.to, reader);
	assert_int_equal(edge.wait, wait.index);
	assert_int_equal(edge.time_ns, 50);
	assert_int_equal(hr_edges_next(edges, &edge), 0);
	hr_edges_free(edges);
	assert_int_equal(hr_edges_in_new(asking.trace, reader, 51, 100, &edges), 0);
	assert_int_equal(hr_edges_next(edges, &edge), 0);
	hr_edges_free(edges);
	asking_end(&asking);
}

/* The words are those of why, for every actor of random traces. */
static void actors_are_told_in_the_words_of_why(void **unused)
{
	uint32_t kinds = 0;

	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);
		struct why why = { 0 };
		struct query query = { .tl = asking.memory,
				       .facts = &asking.text->facts,
				       .why = &why };

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			struct hr_wait wait = { .struct_size = sizeof(wait) };

			for (uint32_t i = 0; i < asking.plains[thread].wait_count; i++) {
				const struct wait *want = &asking.plains[thread].waits[i];

				assert_int_equal(hr_wait_get(asking.trace, thread, i, &wait), 0);
				assert_string_equal(hr_actor_text(asking.trace, &wait.waker),
						    describe_actor(&query, &want->waker));
				assert_string_equal(hr_actor_text(asking.trace, &wait.origin),
						    describe_actor(&query, &want->origin));
				kinds |= 1u << wait.waker.kind;
			}
		}
		why_fini(&why);
		asking_end(&asking);
	}
	/* Something of a thread, a timer and hardware was among them. */
	assert_true(kinds & 1u << HR_ACTOR_THREAD);
	assert_true(kinds & 1u << HR_ACTOR_TIMER);
	assert_true(kinds & 1u << HR_ACTOR_NETWORK);
}

static void a_made_up_actor_has_words_too(void **unused)
{
	static const struct {
		struct hr_actor actor;
		const char *text;
	} cases[] = {
		{ { .name = "", .kind = HR_ACTOR_NONE }, "" },
		{ { .name = "", .kind = 99 }, "" },
		{ { .name = "tick", .kind = HR_ACTOR_TIMER }, "timer tick" },
		{ { .name = "", .kind = HR_ACTOR_TIMER }, "timer" },
		{ { .name = "tick", .kind = HR_ACTOR_TIMER, .signal = 14 }, "SIGALRM by a timer" },
		{ { .name = "", .kind = HR_ACTOR_THREAD, .signal = 15 }, "SIGTERM" },
		{ { .name = "", .kind = HR_ACTOR_THREAD, .signal = 200 }, "signal 200" },
		{ { .name = "", .kind = HR_ACTOR_THREAD, .signal = 17 }, "not there" },
		{ { .name = "vda 4096 B read", .kind = HR_ACTOR_DISK }, "vda 4096 B read" },
		{ { .name = "", .kind = HR_ACTOR_DISK }, "disk interrupt" },
		{ { .name = "lo", .kind = HR_ACTOR_NETWORK }, "packet on lo" },
		{ { .name = "", .kind = HR_ACTOR_NETWORK }, "packet on an interface" },
		{ { .name = "24 vda", .kind = HR_ACTOR_IRQ }, "irq 24 vda" },
		{ { .name = "", .kind = HR_ACTOR_IRQ }, "an interrupt" },
		{ { .name = "", .kind = HR_ACTOR_SOFTIRQ }, "a softirq" },
	};
	struct asking asking = asking_begin(2);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(hr_actor_text(asking.trace, &cases[i].actor), cases[i].text);
	assert_string_equal(hr_wait_kind_name(HR_WAIT_FOR_DISK), "disk");
	assert_string_equal(hr_wait_kind_name((enum hr_wait_kind)77), "unknown");
	asking_end(&asking);
}

/* What the state keeps of those is for why alone. */
static void a_wait_that_any_of_several_could_end_has_no_origin(void **unused)
{
	struct asking asking = told("thread 7 7 1 R sh\n"
				    "thread 8 8 7 S one\n"
				    "thread 9 9 7 S two\n"
				    "  0 cpu0 switch 0(runnable) 7\n"
				    "  5 cpu0 enter wait4 -1\n"
				    " 10 cpu0 switch 7(blocked) 0\n"
				    " 90 cpu1 switch 0(runnable) 6\n");
	struct hr_wait wait = { .struct_size = sizeof(wait) };

	assert_int_equal(hr_wait_get(asking.trace, thread_of(&asking, 7), 0, &wait), 0);
	assert_string_equal(wait.object, "any of: child one[8], child two[9]");
	assert_string_equal(wait.origin.name, "");
	assert_int_equal(wait.origin.kind, HR_ACTOR_NONE);
	asking_end(&asking);
}

static void mistakes_are_errors(void **unused)
{
	struct asking asking = asking_begin(4);
	struct hr_wait wait = { .struct_size = 8 };
	struct hr_edge edge = { .struct_size = 8 };
	struct hr_waits *waits;
	struct hr_edges *edges;

	assert_int_equal(hr_wait_get(asking.trace, HR_NONE, 0, &wait), -EINVAL);
	assert_int_equal(hr_wait_get(asking.trace, 0, 0, &wait), -EINVAL);
	assert_int_equal(hr_waits_new(asking.trace, HR_NONE, 0, 1, &waits), -EINVAL);
	assert_int_equal(hr_waits_new(asking.trace, 0, 1, 0, &waits), -EINVAL);
	assert_int_equal(hr_edges_in_new(asking.trace, HR_NONE, 0, 1, &edges), -EINVAL);
	assert_int_equal(hr_edges_out_new(asking.trace, HR_NONE, 0, 1, &edges), -EINVAL);
	assert_int_equal(hr_edges_out_new(asking.trace, 0, 1, 0, &edges), -EINVAL);
	assert_int_equal(hr_waits_new(asking.trace, 0, 0, 1, &waits), 0);
	assert_int_equal(hr_waits_next(waits, &wait), -EINVAL);
	hr_waits_free(waits);
	assert_int_equal(hr_edges_in_new(asking.trace, 0, 0, 1, &edges), 0);
	assert_int_equal(hr_edges_next(edges, &edge), -EINVAL);
	hr_edges_free(edges);
	hr_waits_free(NULL);
	hr_edges_free(NULL);
	asking_end(&asking);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wait_is_what_was_written),
		cmocka_unit_test(the_waits_of_a_window_are_those_it_was_blocked_in),
		cmocka_unit_test(edges_are_the_ends_of_waits),
		cmocka_unit_test(a_waits_end_is_told_from_both_sides),
		cmocka_unit_test(actors_are_told_in_the_words_of_why),
		cmocka_unit_test(a_made_up_actor_has_words_too),
		cmocka_unit_test(a_wait_that_any_of_several_could_end_has_no_origin),
		cmocka_unit_test(mistakes_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
