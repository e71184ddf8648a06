/* Sequences of events become a machine that a person would have drawn. */
#include "analyse/check/learn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

/* "1a 1b 2a | 1c": key and letter of each event; '|' ends a trace, '!' is a hole, "1." ends a key. */
static struct learn *seen(const char *text)
{
	struct learn *learn = learn_new();

	for (const char *at = text; *at; at++) {
		char name[] = { 's', ':', at[1], '\0' };

		if (*at == ' ')
			continue;
		if (*at == '|') {
			learn_end_trace(learn);
		} else if (*at == '!') {
			learn_hole(learn);
		} else if (at[1] == '.') {
			learn_end_key(learn, (uint64_t)*at++);
		} else {
			learn_feed(learn, (uint64_t)*at, learn_symbol(learn, name, LEARN_EVENT));
			at++;
		}
	}
	learn_end_trace(learn);
	return learn;
}

/* "start -a-> after_a x2\n..." */
static char *machine(struct learn *learn)
{
	const struct learned *result;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(learn_finish(learn, NULL, 0, NULL), 0);
	result = learn_result(learn);
	for (uint32_t i = 0; i < result->transition_count; i++) {
		const struct learn_transition *transition = &result->transitions[i];

		fprintf(out, "%s -%s-> %s x%d\n", result->states[transition->from].name,
			learn_symbol_name(learn, transition->symbol) + 2,
			result->states[transition->to].name, (int)transition->taken);
	}
	for (uint32_t i = 0; i < result->state_count; i++) {
		if (result->states[i].may_end)
			fprintf(out, "%s may end\n", result->states[i].name);
	}
	fclose(out);
	return text;
}

static void expect(const char *events, const char *wanted)
{
	struct learn *learn = seen(events);
	AUTO_FREE char *got = machine(learn);

	assert_string_equal(got, wanted);
	learn_free(learn);
}

static void what_follows_what_is_a_transition(void **unused)
{
	expect("1a 1b 1c", "start -a-> after_a x1\n"
			   "after_a -b-> after_b x1\n"
			   "after_b -c-> start x1\n");
}

static void what_comes_again_begins_the_next_instance(void **unused)
{
	expect("1a 1b 1a 1b 1a 1b", "start -a-> after_a x3\n"
				    "after_a -b-> start x3\n");
}

static void keys_do_not_mix(void **unused)
{
	expect("1a 2a 1b 2b", "start -a-> after_a x2\n"
			      "after_a -b-> start x2\n");
}

static void another_way_is_another_transition(void **unused)
{
	expect("1a 1b 1c 1a 1c 1a 1b 1b 1c", "start -a-> after_a x3\n"
					     "after_a -b-> after_b x2\n"
					     "after_a -c-> start x1\n"
					     "after_b -b-> after_b x1\n"
					     "after_b -c-> start x2\n");
}

static void what_only_repeats_goes_on_and_may_end(void **unused)
{
	expect("1a 1a 1a", "start -a-> after_a x1\n"
			   "after_a -a-> after_a x2\n"
			   "after_a may end\n");
}

static void runs_that_end_early_may_end_there(void **unused)
{
	expect("1a 1b 1c | 1a 1b", "start -a-> after_a x2\n"
				   "after_a -b-> after_b x2\n"
				   "after_b -c-> start x1\n"
				   "after_b may end\n");
}

static void threads_of_two_kinds_begin_in_two_ways(void **unused)
{
	expect("1a 1b 2c 2d", "start -a-> after_a x1\n"
			      "start -c-> after_c x1\n"
			      "after_a -b-> start x1\n"
			      "after_c -d-> start x1\n");
}

static void nothing_is_learned_across_a_hole(void **unused)
{
	struct learn *learn = seen("1a 1b 1c 2a 2b 2c 3a ! 3c");
	AUTO_FREE char *got = machine(learn);

	assert_null(strstr(got, "after_a -c->"));
	assert_int_equal(learn_result(learn)->holes, 1);
	learn_free(learn);
}

static void a_number_that_is_used_again_is_another_thread(void **unused)
{
	expect("1a 1b 1. 1a 1b", "start -a-> after_a x2\n"
				 "after_a -b-> start x2\n");
}

static void a_sequence_that_was_cut_off_does_not_begin_one(void **unused)
{
	char text[400] = "0c 0d | ";
	struct learn *learn;
	AUTO_FREE char *got = NULL;

	for (int i = 0; i < 20; i++)
		strcat(text, "1a 1c 1d | ");
	learn = seen(text);
	got = machine(learn);
	assert_null(strstr(got, "start -c->"));
	assert_int_equal(learn_result(learn)->cut, 1);
	learn_free(learn);
}

static void the_user_may_say_what_begins(void **unused)
{
	const char *begins[] = { "b" }, *wrong[] = { "nothing" };
	struct learn *learn = seen("1a 1b 1c 1b 1c");
	struct err err = { 0 };

	assert_int_equal(learn_finish(learn, wrong, 1, &err), -22);
	assert_non_null(strstr(err.text, "no event \"nothing\""));
	assert_int_equal(learn_finish(learn, begins, 1, &err), 0);
	assert_int_equal(learn_result(learn)->transitions[0].taken, 2);
	assert_string_equal(learn_symbol_name(learn, learn_result(learn)->transitions[0].symbol),
			    "s:b");
	learn_free(learn);
}

static void states_have_names_that_say_where_one_is(void **unused)
{
	struct learn *learn = learn_new();

	learn_feed(learn, 1, learn_symbol(learn, "shop:request_begin", LEARN_EVENT));
	learn_feed(learn, 1, learn_symbol(learn, "shop:paid", LEARN_EVENT));
	learn_feed(learn, 1, learn_symbol(learn, "bank:paid", LEARN_EVENT));
	learn_feed(learn, 1, learn_symbol(learn, "shop:request_end", LEARN_EVENT));
	learn_end_trace(learn);
	assert_int_equal(learn_finish(learn, NULL, 0, NULL), 0);
	assert_string_equal(learn_result(learn)->states[1].name, "request");
	assert_string_equal(learn_result(learn)->states[2].name, "after_paid");
	assert_string_equal(learn_result(learn)->states[3].name, "after_bank:paid");
	learn_free(learn);
}

static void wholes_are_measured_where_they_are_more_than_one_span(void **unused)
{
	struct learn *two = seen("1a 1b 1a 1b"), *three = seen("1a 1b 1c");

	free(machine(two));
	free(machine(three));
	for (uint32_t i = 0; i < learn_result(two)->transition_count; i++)
		assert_null(learn_result(two)->transitions[i].whole);
	assert_non_null(learn_result(three)->transitions[2].whole);
	assert_null(learn_result(three)->transitions[0].values);
	learn_free(two);
	learn_free(three);
}

static void too_many_kinds_of_events_are_refused(void **unused)
{
	struct learn *learn = learn_new();
	char name[20];

	for (uint32_t i = 0; i < LEARN_MAX_SYMBOLS; i++) {
		(void)snprintf(name, sizeof(name), "e%u", i);
		assert_int_equal(learn_symbol(learn, name, LEARN_EVENT), i);
	}
	assert_int_equal(learn_symbol(learn, "one more", LEARN_EVENT), LEARN_NONE);
	assert_int_equal(learn_symbol(learn, "e7", LEARN_EVENT), 7);
	learn_free(learn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_follows_what_is_a_transition),
		cmocka_unit_test(what_comes_again_begins_the_next_instance),
		cmocka_unit_test(keys_do_not_mix),
		cmocka_unit_test(another_way_is_another_transition),
		cmocka_unit_test(what_only_repeats_goes_on_and_may_end),
		cmocka_unit_test(runs_that_end_early_may_end_there),
		cmocka_unit_test(threads_of_two_kinds_begin_in_two_ways),
		cmocka_unit_test(nothing_is_learned_across_a_hole),
		cmocka_unit_test(a_number_that_is_used_again_is_another_thread),
		cmocka_unit_test(a_sequence_that_was_cut_off_does_not_begin_one),
		cmocka_unit_test(the_user_may_say_what_begins),
		cmocka_unit_test(states_have_names_that_say_where_one_is),
		cmocka_unit_test(wholes_are_measured_where_they_are_more_than_one_span),
		cmocka_unit_test(too_many_kinds_of_events_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
