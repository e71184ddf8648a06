/*
 * check_plan.c - what each transition will have to do, found out once: which transition an event
 * takes, which variables are started and told of, and whether sums are needed at all.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "base/mem.h"

#define EXACT_VALUES (1u << 20) /* of all transitions and variables together */
#define EXACT_LEAST  64u

static void index_transitions(struct check *check)
{
	const struct model *model = check->model;

	check->next = xcalloc((size_t)model->state_count * model->pattern_count + 1,
			      sizeof(*check->next));
	for (uint32_t i = 0; i < model->transition_count; i++) {
		const struct model_transition *transition = &model->transitions[i];
		size_t place =
			(size_t)transition->from * model->pattern_count + transition->pattern;

		check->next[place] = (uint16_t)(i + 1);
	}
}

static void want(const struct model_expr *expr, bool *wanted)
{
	for (uint32_t i = 0; i < expr->count; i++) {
		if (expr->ops[i].kind == OP_VARIABLE)
			wanted[expr->ops[i].index] = true;
	}
}

static void want_checked(const struct model_transition *transition, bool *wanted)
{
	for (uint32_t i = 0; i < transition->constraint_count; i++) {
		want(&transition->constraints[i].left, wanted);
		want(&transition->constraints[i].right, wanted);
	}
}

static void want_set(const struct model_transition *transition, bool *wanted)
{
	for (uint32_t i = 0; i < transition->set_count; i++)
		want(&transition->sets[i].value, wanted);
}

/* Is it more than the difference of two times? */
static bool needs_sums(const struct model *model, uint32_t variable)
{
	const struct model_variable *row = &model->variables[variable];

	return row->is_metric && metric_row(model->metrics[row->metric].kind)->origin != FROM_CLOCK;
}

/* The variables that are reported: what the user named, and what the constraints use. */
static void choose_values(const struct model *model, const struct model_transition *transition,
			  struct check_transition *out)
{
	bool wanted[MODEL_MAX_VARIABLES] = { false };

	for (uint32_t i = 0; i < model->variable_count; i++) {
		const struct model_variable *variable = &model->variables[i];

		wanted[i] = variable->is_metric && !variable->is_auto &&
			    !strstr(variable->name, " since ");
	}
	want_checked(transition, wanted);
	out->values = xcalloc(model->variable_count + 1, sizeof(*out->values));
	for (uint32_t i = 0; i < model->variable_count; i++) {
		if (wanted[i])
			out->values[out->value_count++].variable = i;
	}
}

/* What is started without being told to, on the way to the state: what is used on a way out of it. */
static void choose_autos(struct check *check, uint32_t state, struct check_plan *plan)
{
	const struct model *model = check->model;
	bool wanted[MODEL_MAX_VARIABLES] = { false };

	for (uint32_t i = 0; i < model->transition_count; i++) {
		if (model->transitions[i].from != state)
			continue;
		want_checked(&model->transitions[i], wanted);
		want_set(&model->transitions[i], wanted);
	}
	plan->autos = xcalloc(model->variable_count + 1, sizeof(*plan->autos));
	for (uint32_t i = 0; i < model->variable_count; i++) {
		if (wanted[i] && model->variables[i].is_auto)
			plan->autos[plan->auto_count++] = i;
	}
}

static void plan_transition(struct check *check, uint32_t index)
{
	const struct model *model = check->model;
	const struct model_transition *transition = &model->transitions[index];
	const struct check_transition *result = &check->result.transitions[index];
	struct check_plan *plan = &check->plans[index];
	bool wanted[MODEL_MAX_VARIABLES] = { false };

	want_set(transition, wanted);
	for (uint32_t i = 0; i < model->variable_count; i++)
		plan->asks |= wanted[i] && needs_sums(model, i);
	for (uint32_t i = 0; i < result->value_count; i++)
		plan->asks |= needs_sums(model, result->values[i].variable);
	for (uint32_t i = 0; i < transition->start_count; i++)
		plan->starts |= needs_sums(model, transition->starts[i]);
	choose_autos(check, transition->to, plan);
	for (uint32_t i = 0; i < plan->auto_count; i++)
		plan->starts |= needs_sums(model, plan->autos[i]);
}

/* Values that are kept one by one share a bounded memory. */
static void share_exact(struct check *check)
{
	const struct model *model = check->model;
	uint32_t count = 0, each;

	for (uint32_t i = 0; i < model->transition_count; i++)
		count += check->result.transitions[i].value_count;
	each = count ? EXACT_VALUES / count : 0;
	each = each < EXACT_LEAST ? EXACT_LEAST : each;
	each = each > CHECK_STATS_EXACT ? CHECK_STATS_EXACT : each;
	for (uint32_t i = 0; i < model->transition_count; i++) {
		struct check_transition *transition = &check->result.transitions[i];

		for (uint32_t j = 0; j < transition->value_count; j++)
			transition->values[j].stats.exact_max = each;
	}
}

void check_plan_init(struct check *check)
{
	const struct model *model = check->model;

	index_transitions(check);
	check->plans = xcalloc(model->transition_count + 1, sizeof(*check->plans));
	for (uint32_t i = 0; i < model->transition_count; i++) {
		choose_values(model, &model->transitions[i], &check->result.transitions[i]);
		plan_transition(check, i);
	}
	share_exact(check);
	for (uint32_t i = 0; i < model->variable_count; i++)
		check->has_sums |= needs_sums(model, i);
}

void check_plan_fini(struct check *check)
{
	for (uint32_t i = 0; check->plans && i < check->model->transition_count; i++)
		free(check->plans[i].autos);
	free(check->plans);
	free(check->next);
}
