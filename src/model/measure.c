/* measure.c - let a model measure the time in each state, whatever its constraints ask for. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/model.h"

static uint32_t elapsed_metric(struct model *model)
{
	for (uint32_t i = 0; i < model->metric_count; i++) {
		if (model->metrics[i].kind == METRIC_ELAPSED)
			return i;
	}
	model->metrics = vec_room(model->metrics, model->metric_count, &model->metric_cap,
				  sizeof(*model->metrics));
	model->metrics[model->metric_count] = (struct model_metric){ .kind = METRIC_ELAPSED };
	return model->metric_count++;
}

/* The variable that runs since the state was entered; UINT32_MAX: there is no room for one. */
static uint32_t elapsed_variable(struct model *model)
{
	for (uint32_t i = 0; i < model->variable_count; i++) {
		const struct model_variable *variable = &model->variables[i];

		if (variable->is_auto && model->metrics[variable->metric].kind == METRIC_ELAPSED)
			return i;
	}
	if (model->variable_count >= MODEL_MAX_VARIABLES)
		return UINT32_MAX;
	model->variables = vec_room(model->variables, model->variable_count, &model->variable_cap,
				    sizeof(*model->variables));
	model->variables[model->variable_count] = (struct model_variable){
		.name = xstrdup("elapsed"),
		.is_metric = true,
		.is_auto = true,
		.metric = elapsed_metric(model),
		.unit = UNIT_TIME,
	};
	return model->variable_count++;
}

static struct model_expr one(enum model_op_kind kind, uint32_t index)
{
	struct model_expr expr = { .count = 1, .unit = UNIT_TIME };

	expr.ops = xcalloc(1, sizeof(*expr.ops));
	expr.ops[0] = (struct model_op){ .kind = kind, .index = index };
	return expr;
}

uint32_t model_measure_elapsed(struct model *model)
{
	uint32_t variable = elapsed_variable(model);

	for (uint32_t i = 0; variable != UINT32_MAX && i < model->transition_count; i++) {
		struct model_transition *transition = &model->transitions[i];
		struct model_constraint *constraint;

		/* An instance begins when the initial state is left: nothing is measured in it. */
		if (transition->from == model->initial)
			continue;
		transition->constraints =
			xrealloc(transition->constraints, transition->constraint_count + 1u,
				 sizeof(*transition->constraints));
		constraint = &transition->constraints[transition->constraint_count++];
		*constraint = (struct model_constraint){
			.text = xstrdup("elapsed >= 0"),
			.place = transition->place,
			.left = one(OP_VARIABLE, variable),
			.right = one(OP_NUMBER, 0),
			.compare = CMP_AT_LEAST,
			.subject = variable,
		};
	}
	return variable;
}
