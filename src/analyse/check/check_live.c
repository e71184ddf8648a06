/* check_live.c - what the check keeps of a timeline follows it while it grows. */
#include "analyse/check/check_live.h"

#include <math.h>
#include <stdlib.h>

#include "analyse/check/check_int.h"
#include "analyse/why/why.h"
#include "base/mem.h"

void check_live_advance(struct check *check, const char *const *missing)
{
	struct check_metrics *metrics = &check->metrics;
	const struct timeline *timeline = metrics->timeline;

	check->opts.missing = metrics->missing = missing;
	metrics->is_live = true;
	if (!timeline)
		return;
	if (timeline->thread_count > metrics->sum_count) {
		metrics->sums = xrealloc(metrics->sums, (size_t)timeline->thread_count + 1,
					 sizeof(struct tl_sums *));
		for (; metrics->sum_count < timeline->thread_count; metrics->sum_count++)
			metrics->sums[metrics->sum_count] = NULL;
	}
	for (uint32_t slot = 0; slot < metrics->sum_count; slot++) {
		if (metrics->sums[slot])
			tl_sums_renew(metrics->sums[slot]);
	}
}

void check_live_settle(struct check *check)
{
	check->metrics.is_live = false;
}

void check_live_hole(struct check *check, const struct check_hole *hole)
{
	check_holes_add(&check->metrics.holes[hole->is_user], hole);
	check->metrics.has_holes = true;
}

size_t check_live_findings(struct check *check, struct check_finding **out_findings)
{
	*out_findings = check->result.findings;
	return check->result.finding_count;
}

void check_live_forget(struct check *check, size_t keep)
{
	struct check_result *result = &check->result;

	while (result->finding_count > keep) {
		struct check_finding *finding = &result->findings[--result->finding_count];

		check->found[finding->status]--;
		result->findings_left_out[finding->status]++;
		free(finding->key);
		if (finding->why)
			why_fini(finding->why);
		free(finding->why);
	}
}

static struct check_finding late_finding(const struct check *check, const struct instance *instance,
					 uint64_t time_ns, uint32_t transition, uint32_t constraint)
{
	const struct model_transition *row = &check->model->transitions[transition];
	uint32_t variable = row->constraints[constraint].left.ops[0].index;
	uint64_t start_ns = instance->variables[variable].start_ns;
	double limit = row->constraints[constraint].right.ops[0].number;

	return (struct check_finding){
		.status = CHECK_INVALID,
		.instance = instance->number,
		.transition = transition,
		.constraint = constraint,
		.state = instance->state,
		.left = { (double)(time_ns - start_ns), INFINITY },
		.right = { limit, limit },
		.start_ns = start_ns,
		.end_ns = time_ns,
		.slot = instance->slot,
		.tid = instance->tid,
		.grown = NONE,
	};
}

/* Where events were lost, its own may be among them. */
static bool may_have_ended(const struct check *check, const struct instance *instance,
			   uint64_t time_ns)
{
	struct check_eval eval = { .metrics = &check->metrics, .time_ns = time_ns };
	uint64_t until_ns;

	return check_eval_lost_way(&eval, instance->entered_ns, &until_ns);
}

void check_live_late(struct check *check, uint64_t time_ns, size_t most,
		     void (*late)(void *context, const struct check_finding *finding),
		     void *context)
{
	const struct instance *instance = check->oldest;
	uint32_t transition, constraint;

	for (; instance && most && instance->entered_ns < time_ns; instance = instance->newer) {
		struct check_finding finding;

		most--;
		if (may_have_ended(check, instance, time_ns) ||
		    !check_is_late(check, instance, time_ns, &transition, &constraint))
			continue;
		finding = late_finding(check, instance, time_ns, transition, constraint);
		finding.key = check_instance_key(instance);
		finding.reason.kind = REASON_STILL;
		late(context, &finding);
		free(finding.key);
	}
}

/* ------------------------------------------------------- another timeline */

/* Would the new timeline tell the same of what the thread is in? */
static bool slot_is_known(const struct timeline *timeline, uint32_t slot, uint64_t time_ns)
{
	uint32_t word = timeline_state_at(timeline, slot, time_ns);
	struct wait wait;

	switch (word_kind(word)) {
	case WORD_NONE:
	case WORD_UNCERTAIN:
		return false;
	case WORD_BLOCKED:
		timeline_wait(timeline, slot, word_arg(word), &wait);
		return !(wait.flags & WAIT_START_UNKNOWN) && word_kind(wait.in) != WORD_NONE;
	default:
		return true;
	}
}

/* Returns whether it goes on with all that it knows. */
static bool move_instance(struct check *check, struct check_metrics *fresh,
			  struct instance *instance, uint64_t time_ns)
{
	struct check_metrics *metrics = &check->metrics;
	uint32_t slot = timeline_find_thread(fresh->timeline, instance->tid, time_ns);

	check_metrics_at(metrics, instance->slot, instance->tid, time_ns, &check->now);
	/* Events are counted once for both. */
	fresh->counters = metrics->counters;
	fresh->counts = metrics->counts;
	fresh->count_count = metrics->count_count;
	fresh->count_cap = metrics->count_cap;
	check_metrics_at(fresh, slot, instance->tid, time_ns, &check->other);
	check_move_variables(check, instance, &check->now, &check->other);
	if (instance->slot == SLOT_NONE)
		return true;
	instance->slot = slot;
	if (slot != SLOT_NONE && slot_is_known(fresh->timeline, slot, time_ns))
		return true;
	if (instance->status == CHECK_VALID)
		instance->status = CHECK_UNCERTAIN;
	return false;
}

/* Spans of before cannot be explained any more: the numbers of threads are others. */
static void forget_slots(struct check_result *result)
{
	for (size_t i = 0; i < result->finding_count; i++)
		result->findings[i].slot = SLOT_NONE;
	for (uint32_t i = 0; i < result->model->transition_count; i++) {
		for (uint32_t j = 0; j < result->transitions[i].sample_count; j++)
			result->transitions[i].samples[j].slot = SLOT_NONE;
	}
}

uint64_t check_live_renew(struct check *check, const struct timeline *timeline, uint64_t time_ns)
{
	struct check_metrics *metrics = &check->metrics, fresh = *metrics;
	uint64_t doubtful = 0;

	fresh.timeline = timeline;
	fresh.sum_count = timeline->thread_count;
	fresh.sums = xcalloc((size_t)timeline->thread_count + 1, sizeof(struct tl_sums *));
	for (struct instance *instance = check->oldest; instance; instance = instance->newer)
		doubtful += !move_instance(check, &fresh, instance, time_ns);
	for (uint32_t slot = 0; slot < metrics->sum_count; slot++)
		tl_sums_free(metrics->sums[slot]);
	free(metrics->sums);
	metrics->sums = fresh.sums;
	metrics->sum_count = fresh.sum_count;
	check_metrics_forget(metrics);
	metrics->timeline = check->opts.timeline = timeline;
	check->now.known = check->other.known = false;
	forget_slots(&check->result);
	return doubtful;
}
