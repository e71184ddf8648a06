/* A model file becomes tables; every mistake in it is told with its place. */
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static struct model *parsed(const char *text)
{
	struct model_errors errors = { 0 };
	struct model *model = NULL;

	if (model_parse(text, strlen(text), &model, &errors) < 0)
		fail_msg("%u:%u: %s", errors.items[0].place.line, errors.items[0].place.column,
			 errors.items[0].text);
	model_errors_fini(&errors);
	return model;
}

static const char good[] = "model: requests\n"
			   "description: as fast as it must be\n"
			   "key: flow\n"
			   "strict: true\n"
			   "initial: idle\n"
			   "variables: { cpu_time: on_cpu, locked: blocked(lock) }\n"
			   "states:\n"
			   "  idle:\n"
			   "    transitions:\n"
			   "      - event: shop:begin\n"
			   "        filter: request > 3\n"
			   "        to: busy\n"
			   "        start: [cpu_time, locked]\n"
			   "        set: { limit: .ms * 1ms + 5us }\n"
			   "  busy:\n"
			   "    transitions:\n"
			   "      - syscall: futex\n"
			   "        to: busy\n"
			   "      - function: work\n"
			   "        to: busy\n"
			   "      - event: shop:end\n"
			   "        to: done\n"
			   "        check:\n"
			   "          - elapsed <= limit\n"
			   "          - { that: preemptions == 0, since: cpu_time, name: calm }\n"
			   "          - deadline: 10ms\n"
			   "          - wait: { disk: 2ms, lock: none }\n"
			   "          - usage: { cpu: 50%, io: 1MiB }\n"
			   "          - syscalls: { futex: 3 }\n"
			   "  done: { final: true }\n";

static void a_model_becomes_tables(void **unused)
{
	struct model *model = parsed(good);
	const struct model_transition *last = &model->transitions[3];

	assert_string_equal(model->name, "requests");
	assert_true(model->is_strict);
	assert_int_equal(model->state_count, 3);
	assert_int_equal(model->transition_count, 4);
	assert_true(model->states[2].is_final);
	assert_int_equal(model->patterns[0].key, KEY_FIELD);
	assert_string_equal(model->fields[model->patterns[0].field].name, "flow");
	assert_string_equal(model->patterns[0].filter, "request > 3");
	assert_int_equal(model->patterns[1].take, TAKE_SYSCALL);
	assert_string_equal(model->patterns[2].name, "probe:work");
	assert_int_equal(last->constraint_count, 8);
	assert_string_equal(last->constraints[1].text, "calm: preemptions == 0");
	assert_string_equal(last->constraints[3].text, "blocked(disk) <= 2ms");
	assert_string_equal(last->constraints[4].text, "blocked(lock) <= 0");
	assert_string_equal(last->constraints[5].text, "on_cpu <= 50%");
	model_free(model);
}

static void what_runs_since_a_variable_starts_with_it(void **unused)
{
	struct model *model = parsed(good);
	const struct model_transition *first = &model->transitions[0];
	const struct model_variable *since = NULL;

	for (uint32_t i = 0; i < first->start_count; i++) {
		const struct model_variable *variable = &model->variables[first->starts[i]];

		if (strcmp(variable->name, "preemptions since cpu_time") == 0)
			since = variable;
	}
	assert_int_equal(first->start_count, 3);
	assert_non_null(since);
	assert_false(since->is_auto);
	model_free(model);
}

static void units_are_turned_into_ns_and_bytes(void **unused)
{
	static const struct {
		const char *text;
		double number;
		enum model_op_kind kind;
	} cases[] = {
		{ "elapsed <= 10ms", 10e6, OP_NUMBER },
		{ "elapsed <= 1.5 s", 1.5e9, OP_NUMBER },
		{ "elapsed <= 7us", 7e3, OP_NUMBER },
		{ "elapsed <= 2min", 120e9, OP_NUMBER },
		{ "elapsed <= 10%", 0.1, OP_SHARE },
		{ "bytes_read <= 64K", 65536, OP_NUMBER },
		{ "bytes_read < 1MiB", 1048576, OP_NUMBER },
		{ "faults != 3", 3, OP_NUMBER },
		{ "elapsed > 0", 0, OP_NUMBER },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *text =
			xasprintf("model: m\ninitial: a\nstates:\n  a:\n    transitions:\n"
				  "      - { event: e, to: b, check: [ %s ] }\n  b:\n",
				  cases[i].text);
		struct model *model = parsed(text);
		const struct model_op *op = &model->transitions[0].constraints[0].right.ops[0];

		assert_int_equal(op->kind, cases[i].kind);
		assert_true(op->number > cases[i].number * 0.999999999 - 1e-12 &&
			    op->number < cases[i].number * 1.000000001 + 1e-12);
		model_free(model);
	}
}

#define HEAD  "model: m\ninitial: a\nstates:\n"
#define STATE HEAD "  b: { final: true }\n  a:\n    transitions:\n      - "

/* Each rule of the schema broken once. */
static const struct {
	const char *text;
	uint32_t line;
	const char *told;
} broken[] = {
	{ "", 1, "the file is empty" },
	{ "[1, 2]", 1, "a mapping is expected" },
	{ "just words", 1, "a mapping is expected" },
	{ "model: [", 2, "not YAML" },
	{ "model: &x m\ninitial: a\n", 1, "anchors and tags" },
	{ "model: m\ninitial: *x\n", 2, "aliases" },
	{ "model: !!str m\n", 1, "anchors and tags" },
	{ "model: m\n---\nmodel: n\n", 2, "holds one model" },
	{ "model: m\nmodel: n\n", 2, "duplicate \"model\"" },
	{ "? [a]\n: b\n", 1, "expected a name" },
	{ "model: m\ninitial: a\n", 1, "a model has states" },
	{ "model: m\nstates: { a: , b: }\n", 1, "in which it begins" },
	{ "initial: a\nstates: { a: }\n", 1, "a model has a name" },
	{ "model: m\ninitial: a\nstates: [a]\n", 3, "\"states\" takes a mapping" },
	{ "model: m\ninitial: a\nstats: { a: }\n", 3, "did you mean \"states\"" },
	{ "model: m\ninitial: x\nstates: { abc: , xy: }\n", 2, "did you mean \"xy\"" },
	{ "model: m\ninitial: a\nstates: { a: }\n", 3, "no state has a transition" },
	{ "model: m\ninitial: a\nstrict: maybe\nstates: { a: }\n", 3, "true or false" },
	{ "model: m\ninitial: a\ninstances: two\nstates: { a: }\n", 3, "one (at a time" },
	{ HEAD "  a: 7\n", 4, "a mapping is expected" },
	{ HEAD "  a: { transition: [] }\n", 4, "did you mean \"transitions\"" },
	{ HEAD "  a: { final: yes }\n", 4, "true or false" },
	{ HEAD "  a: { transitions: [ x ] }\n", 4, "a mapping is expected" },
	{ STATE "{ to: b }\n", 7, "needs an event" },
	{ STATE "{ event: e }\n", 7, "needs the state it leads to" },
	{ STATE "{ event: e, to: c }\n", 7, "there is no state \"c\"" },
	{ STATE "{ event: e, usdt: f, to: b }\n", 7, "taken by one event" },
	{ STATE "{ event: '', to: b }\n", 7, "the name of an event is missing" },
	{ STATE "{ event: e, to: b, filters: x }\n", 7, "did you mean \"filter\"" },
	{ STATE "{ event: e, to: b, start: [x] }\n", 7, "names variables" },
	{ STATE "{ event: e, to: b, start: x }\n", 7, "\"start\" takes a list" },
	{ "model: m\ninitial: a\nvariables: { work: on_cpu }\nstates:\n  a:\n    transitions:\n"
	  "      - { event: e, to: a, start: [wrok] }\n",
	  7, "\"variables\"; did you mean \"work\"?" },
	{ "model: m\ninitial: a\nvariables: { work: on_cpu }\nstates:\n  a:\n    transitions:\n"
	  "      - { event: e, to: a, check: [ { deadline: 1ms, since: wor } ] }\n",
	  7, "\"variables\"; did you mean \"work\"?" },
	{ HEAD "  a: { may_end: perhaps }\n", 4, "true or false" },
	{ "model: ''\ninitial: a\nstates: { a: }\n", 1, "a model has a name" },
	{ "model: m\ninitial: a\nstates: {}\n", 3, "a model has states" },
	{ STATE "{ event: e, to: b, check: [ { deadline: 1ms, name: [x] } ] }\n", 7,
	  "the name of a constraint is a text" },
	{ STATE "{ event: e, to: b, set: { time: 1 } }\n", 7, "a meaning of its own" },
	{ STATE "{ event: e, to: b, set: { 'a b': 1 } }\n", 7, "no name of a variable" },
	{ STATE "{ event: e, to: b, set: { x: [1] } }\n", 7, "gives a variable an expression" },
	{ STATE "{ event: e, to: b, check: elapsed }\n", 7, "\"check\" takes a list" },
	{ STATE "{ event: e, to: b, check: [ [] ] }\n", 7, "a text or a mapping" },
	{ STATE "{ event: e, to: b, check: [ elapsed ] }\n", 7, "one of == != < <= > >=" },
	{ STATE "{ event: e, to: b, check: [ 'elapsed <= 5' ] }\n", 7, "a time has a unit" },
	{ STATE "{ event: e, to: b, check: [ 'elapsed <= 5parsec' ] }\n", 7, "no unit \"parsec\"" },
	{ STATE "{ event: e, to: b, check: [ 'faults <= 10%' ] }\n", 7, "compared with" },
	{ STATE "{ event: e, to: b, check: [ 'elapsed + faults < 1ms' ] }\n", 7,
	  "cannot be added" },
	{ STATE "{ event: e, to: b, check: [ 'elapsd(x) < 1ms' ] }\n", 7, "did you mean elapsed" },
	{ STATE "{ event: e, to: b, check: [ 'blocked(tea) < 1ms' ] }\n", 7, "no kind of wait" },
	{ STATE "{ event: e, to: b, check: [ 'faults(x) < 1' ] }\n", 7, "nothing in parentheses" },
	{ STATE "{ event: e, to: b, check: [ '(elapsed < 1ms' ] }\n", 7, "\")\" is expected" },
	{ STATE "{ event: e, to: b, check: [ 'elapsed < 1ms 2' ] }\n", 7, "should end here" },
	{ STATE "{ event: e, to: b, check: [ 'elapsed < ' ] }\n", 7, "a name or a number" },
	{ STATE "{ event: e, to: b, check: [ { deadlin: 1ms } ] }\n", 7, "a constraint is that" },
	{ STATE "{ event: e, to: b, check: [ { deadline: [1] } ] }\n", 7, "a limit is expected" },
	{ STATE "{ event: e, to: b, check: [ { usage: 5 } ] }\n", 7, "takes a mapping" },
	{ STATE "{ event: e, to: b, check: [ { usage: { tea: 5 } } ] }\n", 7, "usage knows" },
	{ STATE "{ event: e, to: b, check: [ { deadline: 1ms, since: x } ] }\n", 7,
	  "\"since\" names" },
	{ STATE "{ event: e, to: a }\n      - { event: e, to: b }\n", 8, "once per state" },
	{ HEAD "  a: { final: true, transitions: [ { event: e, to: a } ] }\n", 4, "a final state" },
	{ "model: m\ninitial: a\nvariables: { x: on_cup }\nstates: { a: }\n", 3,
	  "did you mean on_cpu" },
	{ "model: m\ninitial: a\nvariables: { x: [] }\nstates: { a: }\n", 3, "is a metric" },
	{ "model: m\ninitial: a\nvariables: { elapsed: on_cpu }\nstates: { a: }\n", 3,
	  "of its own" },
	{ "model: m\ninitial: a\nvariables: { x: on_cpu }\nstates:\n  a: { transitions: [ { event: e, to: a } ] }\n",
	  3, "no transition starts" },
};

static void each_mistake_is_told_with_its_line(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct model_errors errors = { 0 };
		struct model *model = NULL;
		bool is_told = false;

		assert_int_equal(
			model_parse(broken[i].text, strlen(broken[i].text), &model, &errors), -22);
		for (uint32_t j = 0; j < errors.count; j++)
			is_told |= errors.items[j].place.line == broken[i].line &&
				   strstr(errors.items[j].text, broken[i].told);
		if (!is_told)
			fail_msg("case %zu \"%s\" wants \"%s\" in line %u, got %u:%u: %s", i,
				 broken[i].text, broken[i].told, broken[i].line,
				 errors.items[0].place.line, errors.items[0].place.column,
				 errors.items[0].text);
		model_errors_fini(&errors);
	}
}

static void all_mistakes_are_told_at_once(void **unused)
{
	static const char text[] = STATE "{ event: e, to: c, check: [ 'elapsed < 5' ] }\n"
					 "      - { to: b, check: [ 'bloked(disk) < 5ms' ] }\n";
	struct model_errors errors = { 0 };
	struct model *model;

	assert_int_equal(model_parse(text, strlen(text), &model, &errors), -22);
	assert_int_equal(errors.count, 4);
	model_errors_fini(&errors);
}

static void the_column_of_a_mistake_in_a_formula_is_its_own(void **unused)
{
	static const char text[] = HEAD "  a:\n    transitions:\n      - event: e\n        to: a\n"
					"        check:\n          - elapsed <= 5furlong\n";
	struct model_errors errors = { 0 };
	struct model *model;

	assert_int_equal(model_parse(text, strlen(text), &model, &errors), -22);
	assert_int_equal(errors.items[0].place.line, 9);
	assert_int_equal(errors.items[0].place.column, 25); /* "furlong" */
	model_errors_fini(&errors);
}

static void too_much_of_anything_is_refused(void **unused)
{
	struct model_errors errors = { 0 };
	struct model *model;
	size_t bytes = 60000;
	char *text = xmalloc(bytes + 1);

	memset(text, '[', bytes);
	assert_int_equal(model_parse(text, bytes, &model, &errors), -22);
	model_errors_fini(&errors);
	memcpy(text, "a: [", 4);
	for (size_t i = 4; i < bytes; i++)
		text[i] = i % 2 ? ',' : 'x';
	assert_int_equal(model_parse(text, bytes, &model, &errors), -22);
	assert_non_null(strstr(errors.items[0].text, "too many parts"));
	model_errors_fini(&errors);
	memcpy(text, STATE "{ event: e, to: b, check: [ '", strlen(STATE) + 29);
	memset(text + strlen(STATE) + 29, '(', bytes - strlen(STATE) - 29);
	memcpy(text + bytes - 5, "' ] }", 5);
	assert_int_equal(model_parse(text, bytes, &model, &errors), -22);
	assert_non_null(strstr(errors.items[0].text, "nested too deep"));
	model_errors_fini(&errors);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_becomes_tables),
		cmocka_unit_test(what_runs_since_a_variable_starts_with_it),
		cmocka_unit_test(units_are_turned_into_ns_and_bytes),
		cmocka_unit_test(each_mistake_is_told_with_its_line),
		cmocka_unit_test(all_mistakes_are_told_at_once),
		cmocka_unit_test(the_column_of_a_mistake_in_a_formula_is_its_own),
		cmocka_unit_test(too_much_of_anything_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
