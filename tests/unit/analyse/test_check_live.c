/*
 * A check that runs some time behind the state engine, while that writes: it finds what a check
 * over the finished timeline finds, and goes on with another engine's timeline.
 */
#include "analyse/check/check_live.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/check/check.h"
#include "event/facts.h"
#include "model/model.h"
#include "report/check.h"
#include "told.h"

#define BEHIND_NS 25u

struct live {
	const char *key; /* of the model; NULL = thread */
	struct text_trace *trace;
	struct model *model;
	struct check *check;
	struct state *state, *next; /* 'next' begins with what 'state' knows */
	struct facts next_facts, moved;
	uint64_t begin_ns, renew_ns; /* of the next one; 0 = never */
	uint64_t doubtful;
	size_t fed;
	const char *missing[METRIC_KIND_COUNT];
};

static bool no_field(void *context, uint32_t index, struct check_field *out_field)
{
	return false;
}

static struct model *model_of(const char *key, const char *checks)
{
	AUTO_FREE char *text =
		xasprintf("model: work\nkey: %s\ninitial: out\nstates:\n  out:\n    transitions:\n"
			  "      - { event: begin, to: in }\n  in:\n    transitions:\n"
			  "      - event: end\n        to: out\n        check: [ %s ]\n",
			  key ? key : "thread", checks);
	struct model_errors errors = { 0 };
	struct model *model = NULL;

	if (model_parse(text, strlen(text), &model, &errors) < 0)
		fail_msg("%s", errors.items[0].text);
	model_errors_fini(&errors);
	return model;
}

static void begin_next(struct live *live)
{
	state_snapshot(live->state, &live->moved);
	live->next_facts = live->trace->facts;
	live->next_facts.first_ns = live->begin_ns;
	live->next_facts.threads = live->moved.threads;
	live->next_facts.thread_count = live->moved.thread_count;
	live->next_facts.fds = live->moved.fds;
	live->next_facts.fd_count = live->moved.fd_count;
	live->next = state_new(&live->next_facts);
}

/* All before 'until_ns'. */
static void feed_states(struct live *live, uint64_t until_ns)
{
	const struct text_trace *trace = live->trace;

	for (; live->fed < trace->count && trace->events[live->fed].time_ns < until_ns;
	     live->fed++) {
		if (live->begin_ns && !live->next &&
		    trace->events[live->fed].time_ns >= live->begin_ns)
			begin_next(live);
		state_feed(live->state, &trace->events[live->fed]);
		if (live->next)
			state_feed(live->next, &trace->events[live->fed]);
	}
	state_timeline(live->state)->end_ns = until_ns;
	if (live->next)
		state_timeline(live->next)->end_ns = until_ns;
	check_live_advance(live->check, live->missing);
}

static void renew(struct live *live)
{
	struct state *old = live->state;

	live->doubtful = check_live_renew(live->check, state_timeline(live->next), live->renew_ns);
	live->state = live->next;
	live->next = NULL;
	live->begin_ns = 0;
	timeline_free(state_finish(old));
}

static void check_event(struct live *live, const struct event *event)
{
	uint32_t patterns[4], count = 0;

	for (uint32_t p = 0; event->type == EV_OTHER && p < live->model->pattern_count; p++) {
		if (strcmp(event->other.name, live->model->patterns[p].name) == 0)
			patterns[count++] = p;
	}
	check_feed(live->check, event, patterns, count);
}

static void run_live(struct live *live, const char *trace, const char *checks)
{
	live->trace = text_trace_of(trace);
	live->model = model_of(live->key, checks);
	live->state = state_new(&live->trace->facts);
	live->check = check_new(live->model,
				&(struct check_opts){ .reader = { .field = no_field },
						      .timeline = state_timeline(live->state),
						      .facts = &live->trace->facts,
						      .missing = live->missing });
	for (size_t i = 0; i < live->trace->count; i++) {
		const struct event *event = &live->trace->events[i];

		feed_states(live, event->time_ns + BEHIND_NS);
		if (live->next && event->time_ns >= live->renew_ns)
			renew(live);
		check_event(live, event);
	}
}

static void live_fini(struct live *live)
{
	struct timeline *timeline = state_finish(live->state);

	check_live_advance(live->check, live->missing);
	check_end(live->check, timeline->end_ns);
	check_free(live->check);
	timeline_free(timeline);
	if (live->next)
		timeline_free(state_finish(live->next));
	facts_fini(&live->moved);
	model_free(live->model);
	text_trace_free(live->trace);
}

/* 7 works 10, waits 20..50 for 8, gets a CPU at 60, works to 80. */
static const char a_wait[] = "facts last 200\n"
			     "thread 7 7 1 R prog\n"
			     "thread 8 8 1 R other\n"
			     "0 cpu0 switch 0(runnable) 7\n"
			     "0 cpu1 switch 0(runnable) 8\n"
			     "5 cpu0 leave write 1\n"
			     "8 cpu0 other begin\n"
			     "10 cpu0 enter read 3\n"
			     "20 cpu0 switch 7(blocked) 0\n"
			     "50 cpu1 waking 7 cpu 0\n"
			     "60 cpu0 switch 0(runnable) 7\n"
			     "70 cpu0 leave read 4\n"
			     "80 cpu0 other end\n"
			     "90 cpu0 enter read 3\n"
			     "100 cpu0 leave read 3\n";

#define EXACT                                                                                 \
	"elapsed == 72ns, on_cpu == 32ns, blocked == 30ns, blocked(thread) == 30ns, "         \
	"wait_cpu == 10ns, in_syscalls == 60ns, syscalls == 1, switches == 1, wakeups == 1, " \
	"in_syscalls(read) == 60ns, user == 12ns, system == 20ns, uncertain == 0ns"

static void assert_exact(struct live *live)
{
	const struct check_result *result = check_result(live->check);

	if (result->finding_count)
		fail_msg("%s: it is %g..%g: %s",
			 live->model->transitions[1]
				 .constraints[result->findings[0].constraint]
				 .text,
			 result->findings[0].left.low, result->findings[0].left.high,
			 report_check_reason(result, &result->findings[0]));
	assert_int_equal(result->count[CHECK_VALID], 1);
}

static void behind_an_engine_that_writes_values_are_exact(void **unused)
{
	struct live live = { 0 };

	run_live(&live, a_wait, EXACT);
	assert_exact(&live);
	live_fini(&live);
}

static void another_timeline_takes_over_at_any_time(void **unused)
{
	for (uint64_t renew_ns = 12; renew_ns <= 79; renew_ns++) {
		struct live live = { .begin_ns = 9, .renew_ns = renew_ns };

		run_live(&live, a_wait, EXACT);
		assert_int_equal(live.doubtful, 0);
		assert_exact(&live);
		live_fini(&live);
	}
}

static void what_the_other_one_does_not_know_is_uncertain(void **unused)
{
	struct live live = { .begin_ns = 30, .renew_ns = 40 };
	const struct check_result *result;

	run_live(&live, a_wait, "elapsed <= 72ns, 'blocked(lock) == 0ns'");
	result = check_result(live.check);
	assert_int_equal(live.doubtful, 1);
	assert_int_equal(result->count[CHECK_UNCERTAIN], 1);
	assert_int_equal(result->count[CHECK_VALID], 0);
	live_fini(&live);
}

/* 8 ends what 7 began, which waits for 8 until long after that. */
static const char left_waiting[] = "facts last 200\n"
				   "thread 7 7 1 R prog\n"
				   "thread 8 8 1 R other\n"
				   "0 cpu0 switch 0(runnable) 7\n"
				   "0 cpu1 switch 0(runnable) 8\n"
				   "8 cpu0 other begin\n"
				   "10 cpu0 enter read 3\n"
				   "20 cpu0 switch 7(blocked) 0\n"
				   "50 cpu1 other end\n"
				   "150 cpu1 waking 7 cpu 0\n"
				   "160 cpu0 switch 0(runnable) 7\n";

static void what_a_wait_is_for_is_uncertain_until_it_is_over(void **unused)
{
	static const char *const uncertain[] = { "blocked(thread) == 0ns",
						 "blocked(thread) == 30ns", "blocked(time) == 0ns",
						 "blocked(unknown) == 30ns" };
	struct live sure = { .key = "all" };

	for (size_t i = 0; i < ARRAY_LEN(uncertain); i++) {
		struct live live = { .key = "all" };

		run_live(&live, left_waiting, uncertain[i]);
		assert_int_equal(check_result(live.check)->count[CHECK_UNCERTAIN], 1);
		live_fini(&live);
	}
	run_live(&sure, left_waiting, "blocked == 30ns, blocked(time) <= 30ns, elapsed == 42ns");
	assert_exact(&sure);
	live_fini(&sure);
}

static void see_late(void *context, const struct check_finding *finding)
{
	uint64_t *key = context;

	*key = *key * 10 + strtoull(finding->key, NULL, 10);
	assert_true(finding->left.low > finding->right.low);
}

static void a_deadline_is_missed_before_the_end_comes(void **unused)
{
	struct live live = { 0 };
	uint64_t keys = 0;

	run_live(&live,
		 "facts last 500\n"
		 "thread 7 7 1 R prog\n"
		 "0 cpu0 switch 0(runnable) 7\n"
		 "8 cpu0 other begin\n",
		 "elapsed <= 50ns");
	check_live_late(live.check, 58, 10, see_late, &keys);
	assert_int_equal(keys, 0);
	check_live_late(live.check, 59, 10, see_late, &keys);
	assert_int_equal(keys, 7);
	check_live_late(live.check, 59, 0, see_late, &keys);
	assert_int_equal(keys, 7);
	assert_int_equal(check_result(live.check)->finding_count, 0);
	live_fini(&live);
}

static void findings_that_were_used_are_forgotten_and_counted(void **unused)
{
	struct live live = { 0 };
	struct check_finding *findings;

	run_live(&live, a_wait, "elapsed <= 10ns, on_cpu <= 1ns, blocked <= 1ns");
	assert_int_equal(check_live_findings(live.check, &findings), 3);
	check_live_forget(live.check, 1);
	assert_int_equal(check_live_findings(live.check, &findings), 1);
	assert_int_equal(check_result(live.check)->findings_left_out[CHECK_INVALID], 2);
	live_fini(&live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_an_engine_that_writes_values_are_exact),
		cmocka_unit_test(another_timeline_takes_over_at_any_time),
		cmocka_unit_test(what_the_other_one_does_not_know_is_uncertain),
		cmocka_unit_test(what_a_wait_is_for_is_uncertain_until_it_is_over),
		cmocka_unit_test(a_deadline_is_missed_before_the_end_comes),
		cmocka_unit_test(findings_that_were_used_are_forgotten_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
