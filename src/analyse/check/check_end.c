/* check_end.c - the trace ends: what is open then, and the deadlines that it cannot keep. */
#include "analyse/check/check_int.h"
#include "base/mem.h"

/* "elapsed <= 10ms" and the like: once it is not kept, it never will be. */
static bool is_deadline(const struct model *model, const struct model_constraint *constraint)
{
	const struct model_expr *left = &constraint->left, *right = &constraint->right;
	const struct model_variable *variable;

	if (constraint->compare != CMP_BELOW && constraint->compare != CMP_AT_MOST)
		return false;
	if (left->count != 1 || left->ops[0].kind != OP_VARIABLE || right->count != 1 ||
	    right->ops[0].kind != OP_NUMBER)
		return false;
	variable = &model->variables[left->ops[0].index];
	return variable->is_metric && model->metrics[variable->metric].kind == METRIC_ELAPSED;
}

/* The deadline of a transition that is missed already at the end; NONE when there is none. */
static uint32_t missed_of(struct check *check, struct check_eval *eval, uint32_t index)
{
	const struct model_transition *transition = &check->model->transitions[index];
	struct eval_range left, right;

	for (uint32_t i = 0; i < transition->constraint_count; i++) {
		if (is_deadline(check->model, &transition->constraints[i]) &&
		    check_eval_constraint(eval, &transition->constraints[i], &left, &right) ==
			    CHECK_INVALID)
			return i;
	}
	return NONE;
}

bool check_is_late(struct check *check, const struct instance *instance, uint64_t time_ns,
		   uint32_t *out_transition, uint32_t *out_constraint)
{
	struct check_eval eval = { .metrics = &check->metrics,
				   .variables = instance->variables,
				   .now = &check->now,
				   .time_ns = time_ns,
				   .slot = instance->slot,
				   .entered_ns = instance->entered_ns };

	*out_transition = *out_constraint = NONE;
	if (instance->is_guess || check->model->states[instance->state].may_end ||
	    check_has_lost_way(check, instance, time_ns))
		return false;
	for (uint32_t i = 0; i < check->model->transition_count; i++) {
		uint32_t missed;

		if (check->model->transitions[i].from != instance->state)
			continue;
		missed = missed_of(check, &eval, i);
		if (missed == NONE)
			return false;
		if (*out_transition != NONE)
			continue;
		*out_transition = i;
		*out_constraint = missed;
	}
	return *out_transition != NONE;
}

/* Whatever way it would have gone on, a deadline is missed. */
static void check_open(struct check *check, struct instance *instance, uint64_t end_ns)
{
	uint32_t transition, constraint;

	/* It may have ended where its events were lost. */
	if (check_has_lost_way(check, instance, end_ns)) {
		check_find_lost_way(check, instance, end_ns);
		return;
	}
	check_sums_at(check, instance->slot, instance->tid, end_ns, &check->now);
	if (!check_is_late(check, instance, end_ns, &transition, &constraint))
		return;
	check_find(check, instance, CHECK_INVALID, end_ns,
		   (struct check_reason){ REASON_TRACE_ENDED });
}

void check_end(struct check *check, uint64_t end_ns)
{
	check->now.known = false;
	while (check->oldest) {
		struct instance *instance = check->oldest;
		uint64_t until_ns = end_ns > instance->entered_ns ? end_ns : instance->entered_ns;

		check->now.known = false;
		check_open(check, instance, until_ns);
		check_instance_end(check, instance, CHECK_OPEN, until_ns);
	}
	check->result.took_kernel = check->metrics.took[0];
	check->result.took_user = check->metrics.took[1];
	check_finish_result(check);
}
