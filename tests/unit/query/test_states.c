/* States as numbers and in words. */
#include "asking.h"

#include "analyse/why/why_int.h"

struct known {
	uint32_t word;
	enum hr_kind kind;
	enum hr_group group;
	uint32_t number;
	const char *name;
	const char *text;
};

#define W(kind, arg) (WORD_##kind << WORD_ARG_BITS | (arg))

static const struct known known[] = {
	{ W(NONE, 0), HR_KIND_NOT_THERE, HR_GROUP_NONE, HR_NONE, "", "not there" },
	{ W(UNCERTAIN, UNSURE_LOST), HR_KIND_UNCERTAIN, HR_GROUP_UNCERTAIN, HR_UNSURE_LOST, "",
	  "events were lost" },
	{ W(UNCERTAIN, UNSURE_SWITCH), HR_KIND_UNCERTAIN, HR_GROUP_UNCERTAIN, HR_UNSURE_SWITCH, "",
	  "a switch was not recorded" },
	{ W(RUN, 0), HR_KIND_RUNNING, HR_GROUP_WORKING, HR_NONE, "", "running" },
	{ W(USER, 11), HR_KIND_USER, HR_GROUP_WORKING, HR_NONE, "", "own code" },
	{ W(SYSCALL, 1), HR_KIND_SYSCALL, HR_GROUP_WORKING, 1, "write", "write" },
	{ W(SYSCALL, WORD_COMPAT | 4), HR_KIND_SYSCALL, HR_GROUP_WORKING, 4, "write", "write" },
	{ W(SYSCALL, WORD_FAULT | 1), HR_KIND_SYSCALL, HR_GROUP_WORKING, 1, "write", "write" },
	{ W(SYSCALL, 9999), HR_KIND_SYSCALL, HR_GROUP_WORKING, 9999, "system call 9999",
	  "system call 9999" },
	{ W(TRAP, TRAP_FAULT_KERNEL), HR_KIND_FAULT, HR_GROUP_WORKING, HR_NONE, "", "page fault" },
	{ W(KERNEL, 0), HR_KIND_KERNEL, HR_GROUP_WORKING, HR_NONE, "", "kernel thread" },
	{ W(IDLE, 0), HR_KIND_IDLE, HR_GROUP_WORKING, HR_NONE, "", "idle" },
	{ W(VECTOR, VECTOR_LOCAL_TIMER), HR_KIND_VECTOR, HR_GROUP_INTERRUPTED,
	  HR_VECTOR_LOCAL_TIMER, "local timer", "local timer interrupt" },
	{ W(VECTOR, 99), HR_KIND_VECTOR, HR_GROUP_INTERRUPTED, 99, "?", "? interrupt" },
	{ W(SOFTIRQ, 9), HR_KIND_SOFTIRQ, HR_GROUP_INTERRUPTED, 9, "RCU", "softirq RCU" },
	{ W(SOFTIRQ, 77), HR_KIND_SOFTIRQ, HR_GROUP_INTERRUPTED, 77, "77", "softirq 77" },
	{ W(PREEMPTED, 3), HR_KIND_PREEMPTED, HR_GROUP_INTERRUPTED, 3, "", "preempted" },
	{ W(WAIT_CPU, 0), HR_KIND_WAIT_CPU, HR_GROUP_INTERRUPTED, 0, "", "waiting for a CPU" },
	{ W(BLOCKED, 7), HR_KIND_BLOCKED, HR_GROUP_BLOCKED, HR_NONE, "", "blocked" },
	{ W(CPU, 1), HR_KIND_NOT_THERE, HR_GROUP_NONE, HR_NONE, "", "not there" },
};

static void a_state_is_told_in_parts_and_in_words(void **unused)
{
	struct asking asking = asking_begin(2);

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		uint64_t state = state_of_word(known[i].word, false);

		if (hr_state_kind(state) != known[i].kind)
			fail_msg("word %x is of kind %d", known[i].word, hr_state_kind(state));
		assert_int_equal(hr_state_group(state), known[i].group);
		assert_int_equal(hr_state_number(state), known[i].number);
		assert_string_equal(hr_state_name(asking.trace, state), known[i].name);
		assert_string_equal(hr_state_text(asking.trace, state), known[i].text);
	}
	assert_true(hr_state_is_compat(state_of_word(W(SYSCALL, WORD_COMPAT | 4), false)));
	assert_false(hr_state_is_compat(state_of_word(W(SYSCALL, 4), false)));
	assert_false(hr_state_is_compat(state_of_word(W(SOFTIRQ, WORD_COMPAT), false)));
	asking_end(&asking);
}

static void what_is_the_same_state_is_the_same_number(void **unused)
{
	/* The error of a call, a fault on the way in and the wait itself are no part of it. */
	assert_true(state_of_word(W(USER, 11), false) == state_of_word(W(USER, 0), true));
	assert_true(state_of_word(W(SYSCALL, WORD_FAULT | 1), false) ==
		    state_of_word(W(SYSCALL, 1), true));
	assert_true(state_of_word(W(BLOCKED, 7), false) == state_of_word(W(BLOCKED, 8), true));
	assert_true(state_of_word(W(TRAP, 0), false) == state_of_word(W(TRAP, 1), true));
	/* The CPU is, but not in sums. */
	assert_false(state_of_word(W(WAIT_CPU, 0), false) == state_of_word(W(WAIT_CPU, 1), false));
	assert_true(state_of_word(W(WAIT_CPU, 0), true) == state_of_word(W(WAIT_CPU, 1), true));
	assert_int_equal(hr_state_number(state_of_word(W(PREEMPTED, 1), true)), HR_NONE);
	assert_int_equal(hr_state_kind(state_of_word(W(PREEMPTED, 1), true)), HR_KIND_PREEMPTED);
}

/* describe.c has the words of why: every word of random traces is told in the same ones. */
static void the_words_are_those_of_why(void **unused)
{
	uint32_t kinds = 0;

	for (uint64_t seed = 1; seed <= ASKING_SEEDS; seed++) {
		struct asking asking = asking_begin(seed);
		struct why why = { 0 };
		struct query query = { .tl = asking.memory,
				       .facts = &asking.text->facts,
				       .why = &why };

		for (uint32_t thread = 0; thread < asking_threads(&asking); thread++) {
			const struct plain *plain = &asking.plains[thread];

			for (size_t i = 0; i < plain->count; i++) {
				uint32_t word = plain->spans[i].word;

				kinds |= 1u << word_kind(word);
				assert_string_equal(hr_state_text(asking.trace,
								  state_of_word(word, false)),
						    describe_word(&query, word));
			}
		}
		why_fini(&why);
		asking_end(&asking);
	}
	assert_true(kinds & 1u << WORD_IRQ && kinds & 1u << WORD_WORK && kinds & 1u << WORD_VECTOR);
}

static void any_number_can_be_asked_about(void **unused)
{
	struct asking asking = asking_begin(2);

	for (int i = 0; i < 20000; i++) {
		uint64_t state = asking_random(&asking, UINT64_MAX);

		if (i % 2)
			state = (uint32_t)state;
		assert_in_range(hr_state_kind(state), 0, HR_KIND_BLOCKED);
		assert_in_range(hr_state_group(state), 0, HR_GROUP_UNCERTAIN);
		(void)hr_state_number(state);
		assert_non_null(hr_state_name(asking.trace, state));
		assert_non_null(hr_state_text(asking.trace, state));
	}
	asking_end(&asking);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_is_told_in_parts_and_in_words),
		cmocka_unit_test(what_is_the_same_state_is_the_same_number),
		cmocka_unit_test(the_words_are_those_of_why),
		cmocka_unit_test(any_number_can_be_asked_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
