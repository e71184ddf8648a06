/*
 * learn_tail.c - limits: a value that good runs will not exceed, from those that were seen.
 *
 * The largest of n values is exceeded soon: by one in n further ones. So the tail is carried on
 * beyond it. Above a high value u, most distributions of times look exponential (the domain of
 * attraction of Gumbel; Embrechts, Klueppelberg, Mikosch: Modelling Extremal Events, ch. 6): with the
 * k + 1 largest of n values x(1) >= x(2) ..., u = x(k+1) and m the mean of x(i) - u, the chance of
 * a value above u + y is k/n exp(-y/m). All values of H n further ones in each of C constraints
 * are to stay below with a chance of 1 - A:
 *
 *	H n C  k/n  exp(-y/m) = A        y = m ln(k H C / A)
 *
 * n has gone: more values make m better known, not the limit smaller. k m follows a gamma
 * distribution; the upper bound of m at 95 % is taken (Wilson and Hilferty, 1931). k = sqrt(n).
 *
 * Values of one run resemble each other, so the largest of each run are looked at in the same way,
 * as if nothing else was known; the larger limit counts. The margin is for tails that are heavier than
 * exponential, and for machines that are not quite the same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check.h"
#include "analyse/check/learn.h"
#include "base/mem.h"
#include "model/model.h"

#define FALSE_ALARMS   0.1 /* A: chance that any of all constraints fails in all those runs */
#define UPPER_95       1.645
#define CONSTANT_SPANS 20 /* as often the same value: it is always the same */

#define NEVER	    0.1 /* part of the floor for a wait of a kind that was never seen */
#define FLOOR_COUNT 2	/* counts that differ may be so much larger */

const struct learn_metric learn_metrics[] = {
	{ "elapsed", LEARN_TIME_TOTAL, true },	   { "on_cpu", LEARN_TIME, true },
	{ "wait_cpu", LEARN_TIME, true },	   { "blocked(lock)", LEARN_TIME, false },
	{ "blocked(disk)", LEARN_TIME, false },	   { "blocked(time)", LEARN_TIME, false },
	{ "blocked(network)", LEARN_TIME, false }, { "blocked(thread)", LEARN_TIME, false },
	{ "blocked(io)", LEARN_TIME, false },	   { "blocked(idle)", LEARN_TIME, false },
	{ "syscalls", LEARN_COUNT, true },	   { "preemptions", LEARN_CHANCE, false },
};
const uint32_t learn_metric_count = ARRAY_LEN(learn_metrics);

/* ------------------------------------------------------------------- values */

void learn_value_add(struct learn_value *value, double number)
{
	uint32_t i = value->top_count;

	check_stats_add(&value->stats, number);
	if (i == LEARN_TOP && number <= value->top[i - 1])
		return;
	if (i < LEARN_TOP)
		value->top_count++;
	else
		i--;
	for (; i > 0 && value->top[i - 1] < number; i--)
		value->top[i] = value->top[i - 1];
	value->top[i] = number;
}

void learn_value_fini(struct learn_value *value)
{
	check_stats_fini(&value->stats);
	free(value->run_max);
	value->run_max = NULL;
}

static void see(void *context, double number, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		learn_value_add(context, number);
}

static void learn_take_value(struct learn_value *value, const struct check_value *measured)
{
	value->uncertain += measured->uncertain;
	if (!measured->stats.count)
		return;
	check_stats_each(&measured->stats, see, value);
	value->run_max =
		vec_room(value->run_max, value->run_count, &value->run_cap, sizeof(double));
	value->run_max[value->run_count++] = measured->stats.max;
}

/* "on_cpu" and "on_cpu since whole" */
static struct learn_value *value_named(struct learn_transition *transition, const char *name)
{
	const char *since = strstr(name, " since ");
	size_t bytes = since ? (size_t)(since - name) : strlen(name);
	struct learn_value *values = since ? transition->whole : transition->values;

	for (uint32_t i = 0; values && i < learn_metric_count; i++) {
		if (strncmp(learn_metrics[i].name, name, bytes) == 0 &&
		    !learn_metrics[i].name[bytes])
			return &values[i];
	}
	return NULL;
}

void learn_take_values(struct learn *learn, const struct check_result *result)
{
	struct learned *learned = learn_result(learn);

	for (uint32_t i = 0; i < learned->transition_count; i++) {
		const struct check_transition *measured = &result->transitions[i];

		for (uint32_t j = 0; j < measured->value_count; j++) {
			const struct check_value *value = &measured->values[j];
			const char *name = result->model->variables[value->variable].name;
			struct learn_value *into = value_named(&learned->transitions[i], name);

			if (into)
				learn_take_value(into, value);
		}
	}
}

/* ------------------------------------------------------------------- limits */

/* The mean of an exponential distribution is below so many times the mean of k values. */
static double upper_mean(size_t k)
{
	double cube_root = 1 - 1 / (9 * (double)k) - UPPER_95 / (3 * sqrt((double)k));

	return 1 / (cube_root * cube_root * cube_root);
}

double learn_tail(const double *top, size_t top_count, uint64_t count, uint32_t constraints)
{
	size_t k = (size_t)ceil(sqrt((double)count));
	double excess = 0, threshold;

	if (!top_count)
		return 0;
	k = k < top_count ? k : top_count - 1;
	if (!k) /* one value tells nothing of the others: as if they began at 0 */
		return top[0] * log(LEARN_HORIZON * constraints / FALSE_ALARMS);
	threshold = top[k];
	for (size_t i = 0; i < k; i++)
		excess += top[i] - threshold;
	excess = excess / (double)k * upper_mean(k);
	return threshold + excess * log((double)k * LEARN_HORIZON * constraints / FALSE_ALARMS);
}

static int by_size_down(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left < *right) - (*left > *right);
}

/* Two digits, never below: a limit is no measurement. */
static double round_up(double number)
{
	double unit = 1;

	while (number / unit > 99)
		unit *= 10;
	return ceil(number / unit - 1e-9) * unit;
}

static double floor_of(const struct learn_metric *metric, double largest,
		       const struct learn_slack *slack)
{
	if (metric->class == LEARN_CHANCE || metric->class == LEARN_COUNT)
		return FLOOR_COUNT;
	return slack->floor_ns * (largest > 0 || !strchr(metric->name, '(') ? 1 : NEVER);
}

static void limit_value(struct learn_value *value, const struct learn_metric *metric,
			uint32_t constraints, const struct learn_slack *slack)
{
	struct check_stats *stats = &value->stats;
	double tail, runs;

	value->is_used = stats->count > 0;
	if (!value->is_used)
		return;
	if (metric->class == LEARN_COUNT && stats->min == stats->max &&
	    stats->count >= CONSTANT_SPANS) {
		value->limit = stats->max;
		return;
	}
	tail = learn_tail(value->top, value->top_count, stats->count, constraints);
	qsort(value->run_max, value->run_count, sizeof(double), by_size_down);
	/* A few runs tell less of their largest values than all values do. */
	runs = value->run_count >= 5
		       ? learn_tail(value->run_max, value->run_count, value->run_count, constraints)
		       : 0;
	tail = tail > runs ? tail : runs;
	tail = tail > stats->max ? tail : stats->max;
	tail = tail * (1 + slack->margin);
	if (tail < stats->max + floor_of(metric, stats->max, slack))
		tail = stats->max + floor_of(metric, stats->max, slack);
	value->limit = round_up(tail);
}

/* A part of the whole time says nothing above the limit of all of it. */
static void limit_values(struct learn_value *values, uint32_t constraints,
			 const struct learn_slack *slack)
{
	double elapsed = INFINITY;

	for (uint32_t i = 0; i < learn_metric_count; i++) {
		const struct learn_metric *metric = &learn_metrics[i];

		limit_value(&values[i], metric, constraints, slack);
		if (metric->class == LEARN_TIME_TOTAL && values[i].is_used)
			elapsed = values[i].limit;
		if (metric->class == LEARN_TIME && values[i].limit >= elapsed)
			values[i].is_used = false;
	}
}

void learn_limits(struct learn *learn, const struct learn_slack *slack)
{
	struct learned *learned = learn_result(learn);
	uint32_t constraints = 0;

	for (uint32_t i = 0; i < learned->transition_count; i++) {
		const struct learn_transition *transition = &learned->transitions[i];

		constraints += (transition->values ? learn_metric_count : 0) +
			       (transition->whole ? learn_metric_count : 0);
	}
	for (uint32_t i = 0; i < learned->transition_count; i++) {
		struct learn_transition *transition = &learned->transitions[i];

		if (transition->values)
			limit_values(transition->values, constraints, slack);
		if (transition->whole)
			limit_values(transition->whole, constraints, slack);
	}
}
