/*
 * check_eval.c - expressions over ranges: what is known of a value is where it lies.
 */
#include <math.h>

#include "analyse/check_int.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/event.h"

static const struct eval_range anything = { -INFINITY, INFINITY };

static struct eval_range exactly(long double value)
{
	return (struct eval_range){ value, value };
}

/* The first reason stays. */
static void because(struct check_eval *eval, enum check_doubt doubt, uint32_t index)
{
	if (!eval->reason.doubt)
		eval->reason = (struct check_reason){ .doubt = doubt, .index = index };
}

static const char *name_of(const struct check_eval *eval)
{
	const struct model *model = eval->metrics->model;

	if (eval->reason.doubt == DOUBT_NO_FIELD || eval->reason.doubt == DOUBT_TEXT_FIELD)
		return model->fields[eval->reason.index].name;
	return model->variables[eval->reason.index].name;
}

char *check_eval_reason(const struct check_eval *eval)
{
	static const struct {
		const char *before, *after; /* the name of the variable or field between them */
	} texts[] = {
		[DOUBT_MISSING] = { "", " cannot be told: " },
		[DOUBT_DEAF] = { "", " cannot be told: the trace has no events of the kernel" },
		[DOUBT_NOT_STARTED] = { "", " was not started on this way" },
		[DOUBT_NOT_SET] = { "", " was not set on this way" },
		[DOUBT_VALUE] = { "the value of ", " is not known" },
		[DOUBT_NO_FIELD] = { "the event has no field \"", "\"" },
		[DOUBT_TEXT_FIELD] = { "the field \"", "\" is a text: a filter compares it" },
	};
	const struct check_reason *reason = &eval->reason;

	switch (reason->doubt) {
	case DOUBT_NONE:
		return xstrdup("");
	case DOUBT_UNSURE:
		return xasprintf("it is not known what the thread did for %s of the span",
				 text_duration(reason->ns).s);
	case DOUBT_HOLE:
		return xstrdup("events of the kernel were lost in the span");
	case DOUBT_STRANGER:
		return xstrdup("the events of the kernel do not know this thread");
	case DOUBT_BY_ZERO:
		return xstrdup("it is divided by 0");
	default:
		return xasprintf("%s%s%s%s", texts[reason->doubt].before, name_of(eval),
				 texts[reason->doubt].after, reason->text ? reason->text : "");
	}
}

/* A time or a count of a span of which 'unsure_ns' are not known. */
static struct eval_range bounded(struct check_eval *eval, const struct metric_row *row,
				 uint64_t value, uint64_t unsure_ns)
{
	if (!eval->reason.doubt)
		eval->reason = (struct check_reason){ .doubt = DOUBT_UNSURE, .ns = unsure_ns };
	return (struct eval_range){ value, row->unit == UNIT_TIME ? (long double)value + unsure_ns
								  : INFINITY };
}

/* From 0 on, and nothing more is known. */
static struct eval_range at_least_0(struct check_eval *eval, enum check_doubt doubt, uint32_t index)
{
	because(eval, doubt, index);
	return (struct eval_range){ 0, INFINITY };
}

static struct eval_range counted(struct check_eval *eval, uint64_t value, uint64_t start_ns)
{
	if (eval->metrics->hole_ns <= start_ns)
		return exactly(value);
	because(eval, DOUBT_HOLE, 0);
	return (struct eval_range){ value, INFINITY };
}

/* A metric that is known exactly, without more ado: as nearly all are. */
static inline bool is_exact(const struct check_eval *eval, uint32_t index, uint64_t *out_value)
{
	const struct check_metrics *metrics = eval->metrics;
	const struct check_variable *state = &eval->variables[index];
	const struct model_variable *variable = &metrics->model->variables[index];
	const struct model_metric *metric;

	if (!variable->is_metric || !state->is_set)
		return false;
	metric = &metrics->model->metrics[variable->metric];
	if (metrics->rows[variable->metric]->origin == FROM_CLOCK) {
		*out_value = eval->time_ns - state->start_ns;
		return true;
	}
	if (metrics->rows[variable->metric]->origin != FROM_TIMELINE ||
	    (metrics->missing && metrics->missing[metric->kind]) || !metrics->timeline ||
	    eval->slot == SLOT_NONE || eval->now->unsure_ns != state->base_unsure_ns)
		return false;
	*out_value = eval->now->values[variable->metric] - state->base;
	return true;
}

static struct eval_range measured(struct check_eval *eval, uint32_t index)
{
	const struct check_metrics *metrics = eval->metrics;
	const struct check_variable *state = &eval->variables[index];
	uint32_t metric = metrics->model->variables[index].metric;
	const struct metric_row *row = metrics->rows[metric];
	enum metric_kind kind = metrics->model->metrics[metric].kind;
	uint64_t value, unsure_ns;

	if (row->origin == FROM_CLOCK)
		return exactly(eval->time_ns - state->start_ns);
	if (metrics->missing && metrics->missing[kind]) {
		bool is_first = !eval->reason.doubt;
		struct eval_range range = at_least_0(eval, DOUBT_MISSING, index);

		if (is_first)
			eval->reason.text = metrics->missing[kind];
		return range;
	}
	value = eval->now->values[metric] - state->base;
	if (row->origin == FROM_EVENTS)
		return counted(eval, value, state->start_ns);
	if (!metrics->timeline)
		return at_least_0(eval, DOUBT_DEAF, index);
	if (eval->slot == SLOT_NONE)
		return at_least_0(eval, DOUBT_STRANGER, index);
	unsure_ns = eval->now->unsure_ns - state->base_unsure_ns;
	if (!unsure_ns || kind == METRIC_UNCERTAIN)
		return exactly(value);
	return bounded(eval, row, value, unsure_ns);
}

struct eval_range check_eval_variable(struct check_eval *eval, uint32_t index)
{
	bool is_metric = eval->metrics->model->variables[index].is_metric;
	const struct check_variable *state = &eval->variables[index];

	if (!state->is_set) {
		because(eval, is_metric ? DOUBT_NOT_STARTED : DOUBT_NOT_SET, index);
		return anything;
	}
	if (is_metric)
		return measured(eval, index);
	if (!state->is_known) {
		because(eval, DOUBT_VALUE, index);
		return anything;
	}
	return exactly(state->value);
}

static struct eval_range field(struct check_eval *eval, uint32_t index)
{
	struct check_field value;

	if (!eval->reader || !eval->reader->field(eval->reader->context, index, &value)) {
		because(eval, DOUBT_NO_FIELD, index);
		return anything;
	}
	if (value.is_text) {
		because(eval, DOUBT_TEXT_FIELD, index);
		return anything;
	}
	return exactly(value.number);
}

static struct eval_range product(struct eval_range a, struct eval_range b)
{
	long double all[4] = { a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high };
	struct eval_range range = exactly(all[0]);

	for (int i = 0; i < 4; i++) {
		if (isnan(all[i])) /* nothing times anything */
			all[i] = 0;
		range.low = i == 0 || all[i] < range.low ? all[i] : range.low;
		range.high = i == 0 || all[i] > range.high ? all[i] : range.high;
	}
	return range;
}

static struct eval_range quotient(struct check_eval *eval, struct eval_range a, struct eval_range b)
{
	if (b.low <= 0 && b.high >= 0) {
		because(eval, DOUBT_BY_ZERO, 0);
		return anything;
	}
	return product(a, (struct eval_range){ 1 / b.high, 1 / b.low });
}

static struct eval_range combine(struct check_eval *eval, enum model_op_kind kind,
				 struct eval_range a, struct eval_range b)
{
	struct eval_range range;

	switch (kind) {
	case OP_ADD:
		range = (struct eval_range){ a.low + b.low, a.high + b.high };
		break;
	case OP_SUBTRACT:
		range = (struct eval_range){ a.low - b.high, a.high - b.low };
		break;
	case OP_MULTIPLY:
		range = product(a, b);
		break;
	default:
		range = quotient(eval, a, b);
		break;
	}
	return isnan(range.low) || isnan(range.high) ? anything : range;
}

uint64_t check_eval_start(const struct check_eval *eval, const struct model_constraint *constraint)
{
	const struct model_expr *const sides[] = { &constraint->left, &constraint->right };
	uint64_t start_ns = UINT64_MAX;

	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < sides[side]->count; i++) {
			const struct model_op *op = &sides[side]->ops[i];
			const struct check_variable *state;

			if (op->kind != OP_VARIABLE ||
			    !eval->metrics->model->variables[op->index].is_metric)
				continue;
			state = &eval->variables[op->index];
			if (state->is_set && state->start_ns < start_ns)
				start_ns = state->start_ns;
		}
	}
	return start_ns == UINT64_MAX ? eval->entered_ns : start_ns;
}

/* Shares are of the time since the first variable of the constraint was started. */
static uint64_t span_of(const struct check_eval *eval)
{
	uint64_t start_ns =
		eval->constraint ? check_eval_start(eval, eval->constraint) : eval->entered_ns;

	return eval->time_ns - start_ns;
}

static struct eval_range operand(struct check_eval *eval, const struct model_op *op)
{
	switch (op->kind) {
	case OP_NUMBER:
		return exactly(op->number);
	case OP_SHARE:
		return exactly((long double)op->number * span_of(eval));
	case OP_VARIABLE:
		return check_eval_variable(eval, op->index);
	case OP_FIELD:
		return field(eval, op->index);
	case OP_TIME:
		return exactly(eval->time_ns);
	case OP_CPU:
		return eval->event ? exactly(eval->event->cpu) : anything;
	default:
		return eval->event ? exactly(eval->event->tid) : anything;
	}
}

struct eval_range check_eval_expr(struct check_eval *eval, const struct model_expr *expr)
{
	struct eval_range stack[MODEL_MAX_OPS + 1];
	uint32_t top = 0;

	if (expr->count == 1)
		return operand(eval, &expr->ops[0]);
	stack[0] = exactly(0);
	for (uint32_t i = 0; i < expr->count; i++) {
		const struct model_op *op = &expr->ops[i];

		if (op->kind == OP_NEGATE) {
			struct eval_range value = stack[top - 1];

			stack[top - 1] = (struct eval_range){ -value.high, -value.low };
		} else if (op->kind >= OP_ADD) {
			top--;
			stack[top - 1] = combine(eval, op->kind, stack[top - 1], stack[top]);
		} else {
			stack[top++] = operand(eval, op);
		}
	}
	return stack[0];
}

/* a < b, or with 'equal' a <= b. */
static enum check_status below(struct eval_range a, struct eval_range b, bool equal)
{
	if (equal ? a.high <= b.low : a.high < b.low)
		return CHECK_VALID;
	if (equal ? a.low > b.high : a.low >= b.high)
		return CHECK_INVALID;
	return CHECK_UNCERTAIN;
}

static enum check_status same(struct eval_range a, struct eval_range b)
{
	if (a.low > b.high || a.high < b.low)
		return CHECK_INVALID;
	if (a.low == a.high && b.low == b.high && isfinite(a.low))
		return CHECK_VALID;
	return CHECK_UNCERTAIN;
}

static enum check_status opposite(enum check_status status)
{
	if (status == CHECK_UNCERTAIN)
		return status;
	return status == CHECK_VALID ? CHECK_INVALID : CHECK_VALID;
}

static enum check_status compare(enum model_compare compare, struct eval_range a,
				 struct eval_range b)
{
	switch (compare) {
	case CMP_EQUAL:
		return same(a, b);
	case CMP_DIFFERS:
		return opposite(same(a, b));
	case CMP_BELOW:
		return below(a, b, false);
	case CMP_AT_MOST:
		return below(a, b, true);
	case CMP_ABOVE:
		return below(b, a, false);
	default:
		return below(b, a, true);
	}
}

/* An exact metric against a number or a share. False: it takes more to tell. */
static bool is_kept_plainly(const struct check_eval *eval,
			    const struct model_constraint *constraint)
{
	const struct model_op *left = constraint->left.ops, *right = constraint->right.ops;
	long double limit;
	uint64_t value;

	if (constraint->left.count != 1 || constraint->right.count != 1 ||
	    left->kind != OP_VARIABLE || right->kind > OP_SHARE ||
	    !is_exact(eval, left->index, &value))
		return false;
	limit = right->number;
	if (right->kind == OP_SHARE)
		limit *= span_of(eval);
	switch (constraint->compare) {
	case CMP_EQUAL:
		return value == limit;
	case CMP_DIFFERS:
		return value != limit;
	case CMP_BELOW:
		return value < limit;
	case CMP_AT_MOST:
		return value <= limit;
	case CMP_ABOVE:
		return value > limit;
	default:
		return value >= limit;
	}
}

bool check_eval_exact(const struct check_eval *eval, uint32_t variable, uint64_t *out_value)
{
	return is_exact(eval, variable, out_value);
}

enum check_status check_eval_constraint(struct check_eval *eval,
					const struct model_constraint *constraint,
					struct eval_range *out_left, struct eval_range *out_right)
{
	eval->reason.doubt = DOUBT_NONE;
	eval->constraint = constraint;
	if (is_kept_plainly(eval, constraint))
		return CHECK_VALID;
	*out_left = check_eval_expr(eval, &constraint->left);
	*out_right = check_eval_expr(eval, &constraint->right);
	return compare(constraint->compare, *out_left, *out_right);
}
