/*
 * check_eval.c - expressions over ranges: what is known of a value is where it lies.
 */
#include <math.h>

#include "analyse/check/check_int.h"
#include "event/event.h"
#include "timeline/totals.h"

static const struct eval_range anything = { -INFINITY, INFINITY };

static struct eval_range exactly(long double value)
{
	return (struct eval_range){ value, value };
}

/* The first reason stays. */
static void because(struct check_eval *eval, enum check_reason_kind kind, uint32_t index)
{
	if (!eval->reason.kind)
		eval->reason = (struct check_reason){ .kind = kind, .index = index };
}

/* A time or a count of a span of which 'unsure_ns' are not known. */
static struct eval_range bounded(struct check_eval *eval, const struct metric_row *row,
				 uint64_t value, uint64_t unsure_ns)
{
	if (!eval->reason.kind)
		eval->reason = (struct check_reason){ .kind = REASON_UNSURE, .ns = unsure_ns };
	return (struct eval_range){ value, row->unit == UNIT_TIME ? (long double)value + unsure_ns
								  : INFINITY };
}

/* From 0 on, and nothing more is known. */
static struct eval_range at_least_0(struct check_eval *eval, enum check_reason_kind kind,
				    uint32_t index)
{
	because(eval, kind, index);
	return (struct eval_range){ 0, INFINITY };
}

bool check_eval_lost_way(const struct check_eval *eval, uint64_t start_ns, uint64_t *out_until_ns)
{
	const struct check_metrics *metrics = eval->metrics;
	bool is_lost = false;

	*out_until_ns = 0;
	for (int is_user = 0; is_user < 2 && metrics->has_holes; is_user++) {
		uint64_t until_ns;

		if (!metrics->took[is_user] ||
		    !check_holes_between(&metrics->holes[is_user], start_ns, eval->time_ns,
					 &until_ns))
			continue;
		is_lost = true;
		if (until_ns > *out_until_ns)
			*out_until_ns = until_ns;
	}
	return is_lost;
}

static struct eval_range counted(struct check_eval *eval, uint64_t value, uint64_t start_ns)
{
	const struct check_holes *holes = &eval->metrics->holes[0];
	uint64_t until_ns;

	if (!check_holes_between(holes, start_ns, eval->time_ns, &until_ns))
		return exactly(value);
	because(eval, REASON_HOLE, 0);
	return (struct eval_range){ value, INFINITY };
}

/* Without these events a wait of the one kind is taken for one of the other. */
static bool is_told_apart(const struct check_metrics *metrics, int32_t kind)
{
	switch (kind) {
	case WAIT_FOR_LOCK:
	case WAIT_FOR_IDLE:
	case WAIT_FOR_THREAD:
		return !metrics->missing || !metrics->missing[METRIC_IN_SYSCALLS];
	case WAIT_FOR_DISK:
	case WAIT_FOR_IO:
	case WAIT_FOR_OTHER:
		return !metrics->missing || !metrics->missing[METRIC_BLOCK_REQUESTS];
	default:
		return true;
	}
}

/*
 * Time asleep of one kind. Where events of the kernel were lost it may have been of another one,
 * unless it is known by what no other one has.
 */
static struct eval_range asleep(struct check_eval *eval, struct eval_range known, uint32_t metric,
				uint32_t index)
{
	static const bool is_sure[WAIT_KIND_COUNT] = {
		[WAIT_FOR_STOP] = true, [WAIT_FOR_LOCK] = true, [WAIT_FOR_DISK] = true,
		[WAIT_FOR_IDLE] = true, [WAIT_FOR_TIME] = true, [WAIT_FOR_NETWORK] = true,
	};
	const struct check_metrics *metrics = eval->metrics;
	uint64_t start_ns = eval->variables[index].start_ns;
	int32_t kind = metrics->numbers[metric].number;
	bool is_told = is_told_apart(metrics, kind);
	uint64_t until_ns, untold_ns = eval->now->untold_ns - eval->variables[index].base_untold_ns;

	if (metrics->is_live && untold_ns) {
		because(eval, REASON_UNENDED, 0);
		if (kind == WAIT_FOR_UNKNOWN)
			known.low = 0;
		else
			known.high += untold_ns;
	}
	if (is_told && !check_holes_between(&metrics->holes[0], start_ns, eval->time_ns, &until_ns))
		return known;
	because(eval, is_told ? REASON_HOLE : REASON_KIND, 0);
	return (struct eval_range){ is_sure[kind] ? known.low : 0, eval->time_ns - start_ns };
}

/* What tells user mode from the kernel's. */
static inline bool is_mode(enum metric_kind kind)
{
	return kind == METRIC_USER || kind == METRIC_SYSTEM || kind == METRIC_IN_SYSCALLS;
}

/* Some of the time in which only the CPU is known may be of this metric, too. */
static struct eval_range in_mode(struct check_eval *eval, struct eval_range known,
				 enum metric_kind kind, const struct check_variable *state)
{
	uint64_t blurred_ns = check_sums_blurred(eval->now, kind) - state->base_blurred_ns;
	uint64_t until_ns;

	if (blurred_ns && !eval->reason.kind)
		eval->reason = (struct check_reason){ .kind = REASON_BLURRED, .ns = blurred_ns };
	known.high += blurred_ns;
	/* Interrupts and waits on the way may lie within a call that is not known of. */
	if (blurred_ns && kind == METRIC_IN_SYSCALLS)
		known.high = eval->time_ns - state->start_ns;
	if (!check_holes_between(&eval->metrics->holes[0], state->start_ns, eval->time_ns,
				 &until_ns))
		return known;
	because(eval, REASON_HOLE, 0);
	known.high = eval->time_ns - state->start_ns;
	return known;
}

/* blocked(KIND) */
static inline bool is_one_wait(const struct check_metrics *metrics, uint32_t metric)
{
	return metrics->rows[metric]->argument == ARG_WAIT && metrics->numbers[metric].number >= 0;
}

/* A metric that is known exactly, without more ado: as nearly all are. */
static inline bool is_exact(const struct check_eval *eval, uint32_t index, uint64_t *out_value)
{
	const struct check_metrics *metrics = eval->metrics;
	const struct check_variable *state = &eval->variables[index];
	const struct model_variable *variable = &metrics->model->variables[index];
	const struct model_metric *metric;

	if (!variable->is_metric || !state->is_set || metrics->has_holes)
		return false;
	metric = &metrics->model->metrics[variable->metric];
	if (metrics->rows[variable->metric]->origin == FROM_CLOCK) {
		*out_value = eval->time_ns - state->start_ns;
		return true;
	}
	if (metrics->rows[variable->metric]->origin != FROM_TIMELINE ||
	    is_one_wait(metrics, variable->metric) ||
	    (is_mode(metric->kind) &&
	     check_sums_blurred(eval->now, metric->kind) != state->base_blurred_ns) ||
	    (metrics->missing && metrics->missing[metric->kind]) || !metrics->timeline ||
	    eval->slot == SLOT_NONE || eval->now->unsure_ns != state->base_unsure_ns)
		return false;
	*out_value = eval->now->values[variable->metric] - state->base;
	return true;
}

static struct eval_range from_timeline(struct check_eval *eval, uint32_t index, uint64_t value)
{
	const struct check_metrics *metrics = eval->metrics;
	const struct check_variable *state = &eval->variables[index];
	uint32_t metric = metrics->model->variables[index].metric;
	uint64_t unsure_ns = eval->now->unsure_ns - state->base_unsure_ns;
	struct eval_range range = exactly(value);
	uint64_t until_ns;

	if (!metrics->timeline)
		return at_least_0(eval, REASON_DEAF, index);
	if (eval->slot == SLOT_NONE)
		return at_least_0(eval, REASON_STRANGER, index);
	if (unsure_ns && metrics->model->metrics[metric].kind != METRIC_UNCERTAIN)
		range = bounded(eval, metrics->rows[metric], value, unsure_ns);
	if (is_mode(metrics->model->metrics[metric].kind))
		return in_mode(eval, range, metrics->model->metrics[metric].kind, state);
	if (is_one_wait(metrics, metric))
		return asleep(eval, range, metric, index);
	/* That it could run is known sooner than how it came to that. */
	if (metrics->model->metrics[metric].kind == METRIC_PREEMPTED &&
	    check_holes_between(&metrics->holes[0], state->start_ns, eval->time_ns, &until_ns)) {
		because(eval, REASON_HOLE, 0);
		range.high = eval->time_ns - state->start_ns;
	}
	return range;
}

/* Who held what when events were lost is not known after that. */
static struct eval_range from_locks(struct check_eval *eval, uint64_t value, uint64_t start_ns,
				    bool is_held)
{
	const struct check_metrics *metrics = eval->metrics;
	const struct timeline *timeline = metrics->timeline;
	int32_t tgid = timeline && eval->slot < timeline->thread_count
			       ? timeline->threads[eval->slot]->tgid
			       : -1;
	uint64_t until_ns;

	if (!check_locks_tell(metrics->locks, tgid, is_held))
		return at_least_0(eval, REASON_SILENT, 0);
	if (!check_holes_between(&metrics->holes[1], 0, eval->time_ns, &until_ns))
		return exactly(value);
	because(eval, REASON_LOCKS, 0);
	return (struct eval_range){ 0, eval->time_ns - start_ns };
}

/* It may have shrunk. */
static struct eval_range from_rss(struct check_eval *eval, const struct check_variable *state,
				  uint64_t value)
{
	const struct check_holes *holes = &eval->metrics->holes[0];
	uint64_t until_ns;

	if (check_holes_between(holes, state->start_ns, eval->time_ns, &until_ns))
		because(eval, REASON_HOLE, 0);
	else if (!eval->now->has_rss || eval->now->rss_jump != state->base_rss_jump)
		because(eval, REASON_RSS, 0);
	else
		return exactly((int64_t)value);
	return anything;
}

/* As if the instance had taken all of its events. */
static struct eval_range measured(struct check_eval *eval, uint32_t index)
{
	const struct check_metrics *metrics = eval->metrics;
	const struct check_variable *state = &eval->variables[index];
	uint32_t metric = metrics->model->variables[index].metric;
	enum metric_kind kind = metrics->model->metrics[metric].kind;
	uint64_t value;

	if (metrics->rows[metric]->origin == FROM_CLOCK)
		return exactly(eval->time_ns - state->start_ns);
	if (metrics->missing && metrics->missing[kind]) {
		bool is_first = !eval->reason.kind;
		struct eval_range range = at_least_0(eval, REASON_MISSING, index);

		if (is_first)
			eval->reason.text = metrics->missing[kind];
		return metrics->rows[metric]->origin == FROM_RSS ? anything : range;
	}
	value = eval->now->values[metric] - state->base;
	if (metrics->rows[metric]->origin == FROM_EVENTS)
		return counted(eval, value, state->start_ns);
	if (metrics->rows[metric]->origin == FROM_RSS)
		return from_rss(eval, state, value);
	if (metrics->rows[metric]->origin == FROM_LOCKS)
		return from_locks(eval, value, state->start_ns, kind == METRIC_LOCK_HELD);
	return from_timeline(eval, index, value);
}

/*
 * It may have been started once more where its events were lost; and what was in another thread
 * meanwhile is not known.
 */
static struct eval_range started_later(struct check_eval *eval, uint32_t index, uint64_t until_ns)
{
	uint32_t metric = eval->metrics->model->variables[index].metric;
	const struct metric_row *row = eval->metrics->rows[metric];
	struct eval_range range = measured(eval, index);

	because(eval, REASON_WAY, 0);
	if (row->origin == FROM_RSS)
		return anything;
	range.low = row->origin == FROM_CLOCK ? eval->time_ns - until_ns : 0;
	if (!eval->metrics->is_one_thread && row->unit == UNIT_TIME)
		range.high = eval->time_ns - eval->variables[index].start_ns;
	else if (!eval->metrics->is_one_thread)
		range.high = INFINITY;
	return range;
}

struct eval_range check_eval_variable(struct check_eval *eval, uint32_t index)
{
	bool is_metric = eval->metrics->model->variables[index].is_metric;
	const struct check_variable *state = &eval->variables[index];
	uint64_t until_ns;

	if (!state->is_set) {
		because(eval, is_metric ? REASON_NOT_STARTED : REASON_NOT_SET, index);
		return anything;
	}
	if (check_eval_lost_way(eval, state->start_ns, &until_ns)) {
		if (is_metric)
			return started_later(eval, index, until_ns);
		because(eval, REASON_WAY, 0);
		return anything;
	}
	if (is_metric)
		return measured(eval, index);
	if (!state->is_known) {
		because(eval, REASON_VALUE, index);
		return anything;
	}
	return exactly(state->value);
}

static struct eval_range field(struct check_eval *eval, uint32_t index)
{
	struct check_field value;

	if (!eval->reader || !eval->reader->field(eval->reader->context, index, &value)) {
		because(eval, REASON_NO_FIELD, index);
		return anything;
	}
	if (value.is_text) {
		because(eval, REASON_TEXT_FIELD, index);
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
		because(eval, REASON_BY_ZERO, 0);
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

static enum check_status eval_compare(enum model_compare compare, struct eval_range a,
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
	eval->reason.kind = REASON_NONE;
	eval->constraint = constraint;
	if (is_kept_plainly(eval, constraint))
		return CHECK_VALID;
	*out_left = check_eval_expr(eval, &constraint->left);
	*out_right = check_eval_expr(eval, &constraint->right);
	return eval_compare(constraint->compare, *out_left, *out_right);
}
