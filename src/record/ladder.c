/* ladder.c - see ladder.h. */
#include "record/ladder.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "record/budget.h"
#include "record/buffer.h"
#include "record/clock.h"
#include "record/events.h"
#include "record/ftrace.h"
#include "record/meter.h"
#include "record/names.h"
#include "record/record.h"
#include "record/session.h"
#include "record/wait_stacks.h"
#include "store/manifest.h"

bool ladder_has_calls(const struct event_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		if (events_last_step(set->names[i]) == STEP_ALL)
			return true;
	}
	return false;
}

static void note_step(struct manifest *manifest, uint32_t step, uint32_t cost_ppm)
{
	const struct manifest_step line = { clock_mono_ns(), step, cost_ppm };

	manifest_add_step(manifest, &line);
}

/* Those events that one of the two steps has and the other has not. */
static void switch_events(int instance_fd, const struct event_set *set, uint32_t from, uint32_t to)
{
	struct err err = { 0 };

	for (size_t i = 0; i < set->count; i++) {
		uint32_t last = events_last_step(set->names[i]);

		if ((from <= last) != (to <= last))
			(void)events_switch(instance_fd, set->names[i], to <= last, &err);
	}
}

void ladder_go(int instance_fd, const struct event_set *set, struct manifest *manifest,
	       uint32_t step, uint32_t cost_ppm)
{
	size_t count = manifest->step_count;
	uint32_t from = count ? manifest->steps[count - 1].step : STEP_ALL;

	if (step > from)
		note_step(manifest, step, cost_ppm);
	if (step == STEP_NONE)
		(void)ftrace_write(instance_fd, "tracing_on", "0", NULL);
	switch_events(instance_fd, set, from, step);
	if (from == STEP_NONE)
		(void)ftrace_write(instance_fd, "tracing_on", "1", NULL);
	if (step < from)
		note_step(manifest, step, cost_ppm);
}

/* Names of descriptors are told by who waits for them from now on; where that cannot be, by nobody. */
static void turn_lean(struct session *session)
{
	if (names_turn_lean(session->names)) {
		session->manifest->has_lean_steps = true;
		return;
	}
	names_stop(session->names);
	session->names = NULL;
	manifest_add_missing(session->manifest,
			     "names of files and sockets opened after the first step",
			     "the budget");
}

/* They look at the end of each call, or take samples. Lean events are what the switches tell. */
static void end_programs(struct session *session)
{
	if (session->names && !session->manifest->is_lean)
		turn_lean(session);
	if (!session->names)
		meter_bpf_ends(&session->meter);
	if (session->stacks) {
		wait_stacks_end(session->stacks);
		manifest_add_missing(session->manifest,
				     "code of running and waiting threads, after the first step",
				     "the budget");
	}
}

static void note_no_more(struct session *session, const char *what, int rc, const struct err *why)
{
	if (rc < 0)
		manifest_add_missing(session->manifest, what, why->text);
}

/* A program that looks at each switch costs as much where it tells nothing: it is detached. */
static void rest_programs(struct session *session, uint32_t step)
{
	struct err why = { 0 };

	if (session->names)
		note_no_more(session, "calls that threads wait in, after a step",
			     names_rest(session->names, step == STEP_NONE, &why), &why);
	note_no_more(session, "code of waiting threads, after a step",
		     wait_stacks_rest(session->kept_stacks, step != STEP_ALL, &why), &why);
}

void ladder_count(struct session *session, uint32_t cpu, uint64_t events)
{
	meter_count(&session->meter, cpu, events,
		    session->manifest->has_syscalls && session->budget.step == STEP_ALL);
}

void ladder_count_all(struct session *session)
{
	struct manifest *manifest = session->manifest;

	buffer_read_stats(session->instance.dir_fd, manifest);
	for (size_t i = 0; i < manifest->cpu_count; i++)
		ladder_count(session, manifest->cpus[i].cpu,
			     manifest->cpus[i].events + manifest->cpus[i].lost);
}

bool ladder_judge(struct session *session)
{
	struct budget *budget = &session->budget;
	const struct budget_spent spent = { meter_spent_ns(&session->meter),
					    meter_events_ns(&session->meter) };

	if (!budget->share_ppm || !budget_look(budget, clock_now_ns(), &spent))
		return false;
	if (session->manifest->step_count == 0)
		end_programs(session);
	ladder_go(session->instance.dir_fd, &session->events, session->manifest, budget->step,
		  budget->cost_ppm);
	rest_programs(session, budget->step);
	meter_bpf_changed(&session->meter);
	budget_changed(budget, clock_now_ns());
	return true;
}

void ladder_tell(const struct session *session, struct manifest *manifest)
{
	const struct budget *budget = &session->budget;

	if (!budget->begun_ns)
		return;
	manifest->cost.budget_ns = clock_now_ns() - budget->begun_ns;
	manifest->cost.budget_cost_ns = meter_spent_ns(&session->meter) - budget->begun_spent_ns;
}

void ladder_look(struct session *session)
{
	const struct budget *budget = &session->budget;

	if (!session->is_on ||
	    (budget->share_ppm && clock_now_ns() - budget->looked_ns < BUDGET_LOOK_NS / 2))
		return;
	ladder_count_all(session);
	/* Who reads the trace now, or what is left when we are killed, is to know it. */
	if (ladder_judge(session))
		(void)session_write(session, NULL);
}
