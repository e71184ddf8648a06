/* vocabulary.c - objects that all JSON reports share. */
#include "report/vocabulary.h"

#include "analyse/why/why.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "event/steps.h"
#include "report/why_reason.h"

void report_json_begin(struct json *json, const char *key, const char *name)
{
	json_begin_object(json, key);
	json_print_u64(json, "holdup", VOCABULARY_VERSION);
	json_print_string(json, "report", name);
}

void report_json_thread(struct json *json, const char *key, const struct why_thread *thread)
{
	if (!thread->tid) {
		json_print_null(json, key);
		return;
	}
	json_begin_object(json, key);
	report_json_thread_keys(json, thread);
	json_end_object(json);
}

void report_json_thread_keys(struct json *json, const struct why_thread *thread)
{
	json_print_i64(json, "tid", thread->tid);
	json_print_i64(json, "tgid", thread->tgid);
	json_print_string(json, "comm", thread->comm);
}

void report_json_begin_waker(struct json *json, const struct why_wait *wait)
{
	json_begin_object(json, "woken_by");
	json_print_string(json, "kind", why_waker_name(wait->waker));
	report_json_thread_keys(json, &wait->woken_by);
	report_json_named(json, "name", wait->waker_name, wait->waker_data);
	json_print_string(json, "state", wait->waker_state);
}

void report_json_window(struct json *json, uint64_t start_ns, uint64_t end_ns)
{
	json_begin_object(json, "window");
	json_print_u64(json, "start_ns", start_ns);
	json_print_u64(json, "end_ns", end_ns);
	json_end_object(json);
}

void report_json_wib(struct json *json, uint64_t working_ns, uint64_t interrupted_ns,
		     uint64_t blocked_ns, uint64_t uncertain_ns)
{
	json_print_u64(json, "working_ns", working_ns);
	json_print_u64(json, "interrupted_ns", interrupted_ns);
	json_print_u64(json, "blocked_ns", blocked_ns);
	json_print_u64(json, "uncertain_ns", uncertain_ns);
}

const char *report_wib_name(enum wib wib)
{
	static const char *const names[WIB_COUNT] = {
		[WIB_NONE] = "",
		[WIB_WORKING] = "working",
		[WIB_INTERRUPTED] = "interrupted",
		[WIB_BLOCKED] = "blocked",
		[WIB_UNCERTAIN] = "uncertain",
	};

	return (unsigned int)wib < WIB_COUNT ? names[wib] : "";
}

void report_json_span(struct json *json, const struct states_span *span)
{
	json_print_u64(json, "start_ns", span->start_ns);
	json_print_u64(json, "end_ns", span->end_ns);
	json_print_u64(json, "ns", span->end_ns - span->start_ns);
	json_print_string(json, "wib", report_wib_name(span->wib));
	json_print_string(json, "state", span->state);
	if (span->cpu >= 0)
		json_print_i64(json, "cpu", span->cpu);
	if (span->is_wait) {
		json_print_string(json, "object", span->wait.object);
		json_print_string(json, "stack", span->wait.stack);
		report_json_begin_waker(json, &span->wait);
		json_end_object(json);
	}
}

void report_json_repairs(struct json *json, uint64_t count, uint64_t exact)
{
	json_begin_object(json, "repairs");
	json_print_u64(json, "count", count);
	json_print_u64(json, "exact", exact);
	json_end_object(json);
}

char *report_unnamed_words(const struct facts *facts)
{
	size_t count = facts->stacks ? stacks_unnamed(facts->stacks) : 0;

	if (!count)
		return NULL;
	return xasprintf("%s of %s frames have no names yet: holdup names TRACE adds those whose "
			 "files are still there",
			 text_count(count).s, text_count(facts->stacks->frame_count).s);
}

/* The names that were left to later. */
static void json_put_unnamed(struct json *json, const struct facts *facts)
{
	size_t count = facts->stacks ? stacks_unnamed(facts->stacks) : 0;
	AUTO_FREE char *what = NULL;

	if (!count)
		return;
	what = xasprintf("names of %zu of %zu frames", count, facts->stacks->frame_count);
	json_begin_object(json, NULL);
	json_print_string(json, "what", what);
	json_print_string(
		json, "why",
		"not read yet: holdup names TRACE adds those whose files are still there");
	json_end_object(json);
}

void report_json_missing(struct json *json, const struct facts *facts)
{
	json_begin_array(json, "missing");
	for (size_t i = 0; i < facts->missing_count; i++) {
		json_begin_object(json, NULL);
		json_print_string(json, "what", facts->missing[i].what);
		json_print_string(json, "why", facts->missing[i].why);
		json_end_object(json);
	}
	json_put_unnamed(json, facts);
	json_end_array(json);
}

void report_json_damage(struct json *json, const struct facts *facts, const char *more)
{
	json_begin_array(json, "damage");
	for (size_t i = 0; i < facts->damage_count; i++)
		json_print_string(json, NULL, facts->damage[i]);
	if (more)
		json_print_string(json, NULL, more);
	json_end_array(json);
}

static const struct {
	const char *records, *lacks;
} step_words[STEP_COUNT] = {
	[STEP_ALL] = { "all events asked for", "" },
	[STEP_NO_CALLS] = { "no system calls and no page faults",
			    "in which call a thread worked or waited, and on which file; own code "
			    "and calls are not distinguished" },
	[STEP_SWITCHES] = { "only who runs, who waits and who woke whom",
			    "also which interrupt, timer, packet or disk request woke a thread, and "
			    "kernel locks" },
	[STEP_NONE] = { "nothing", "all: that time is uncertain" },
};

/* Where the calls that threads wait in are told at the steps without the others. */
static const struct {
	const char *records, *lacks;
} lean_words[STEP_COUNT] = {
	[STEP_NO_CALLS] = { "of system calls only those that threads wait in, and no page faults",
			    "in which call a thread worked, and on which file; own code and calls "
			    "are not distinguished" },
	[STEP_SWITCHES] = { "only who runs, who waits, in which call, and who woke whom",
			    "also which interrupt, timer, packet or disk request woke a thread, and "
			    "kernel locks" },
};

void report_json_steps(struct json *json, const struct facts *facts)
{
	json_begin_array(json, "steps");
	for (size_t i = 0; i < facts->step_count; i++) {
		const struct fact_step *step = &facts->steps[i];

		json_begin_object(json, NULL);
		json_print_u64(json, "since_ns", step->since_ns);
		json_print_u64(json, "step", step->step);
		json_print_u64(json, "cost_ppm", step->cost_ppm);
		json_print_string(json, "records",
				  report_step_words(step->step, facts->has_lean_steps));
		json_print_string(json, "lacks",
				  report_step_lacks(step->step, facts->has_lean_steps));
		json_end_object(json);
	}
	json_end_array(json);
}

const char *report_step_words(uint32_t step, bool has_lean_steps)
{
	if (step >= STEP_COUNT)
		return "?";
	return has_lean_steps && lean_words[step].records ? lean_words[step].records
							  : step_words[step].records;
}

const char *report_step_lacks(uint32_t step, bool has_lean_steps)
{
	if (step >= STEP_COUNT)
		return "?";
	return has_lean_steps && lean_words[step].lacks ? lean_words[step].lacks
							: step_words[step].lacks;
}
