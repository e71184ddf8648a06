/* check_stats.c - values one by one, then classes of about equal size. */
#include "analyse/check/check_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define STEPS	64
#define OCTAVES 64
#define CLASSES (STEPS * OCTAVES)

/* Below 64 each whole number has its class; above, each octave has 64. */
static uint32_t class_of(double value)
{
	int exponent;
	double part;

	if (!(value >= 1))
		return 0;
	if (value < STEPS)
		return (uint32_t)value;
	part = frexp(value, &exponent); /* 0.5 <= part < 1, exponent >= 7 */
	if (exponent - 6 >= OCTAVES)
		return CLASSES - 1;
	return (uint32_t)((exponent - 6) * STEPS + (int)((part - 0.5) * 2 * STEPS));
}

static double middle_of(uint32_t class)
{
	uint32_t octave = class / STEPS, step = class % STEPS;

	if (octave == 0)
		return step;
	return ldexp(0.5 + (step + 0.5) / (2.0 * STEPS), (int)octave + 6);
}

void check_stats_fini(struct check_stats *stats)
{
	free(stats->values);
	for (uint32_t i = 0; stats->octaves && i < OCTAVES; i++)
		free(stats->octaves[i]);
	free(stats->octaves);
	*stats = (struct check_stats){ 0 };
}

static void count_in_class(struct check_stats *stats, double value)
{
	uint32_t class = class_of(value);
	uint64_t **octave = &stats->octaves[class / STEPS];

	if (!*octave)
		*octave = xcalloc(STEPS, sizeof(**octave));
	(*octave)[class % STEPS]++;
}

static void begin_classes(struct check_stats *stats)
{
	stats->octaves = xcalloc(OCTAVES, sizeof(*stats->octaves));
	for (uint64_t i = 0; i < stats->count; i++)
		count_in_class(stats, stats->values[i]);
	free(stats->values);
	stats->values = NULL;
}

void check_stats_add(struct check_stats *stats, double value)
{
	if (!stats->count || value < stats->min)
		stats->min = value;
	if (!stats->count || value > stats->max)
		stats->max = value;
	if (!stats->octaves &&
	    stats->count == (stats->exact_max ? stats->exact_max : CHECK_STATS_EXACT))
		begin_classes(stats);
	if (stats->octaves) {
		count_in_class(stats, value);
	} else {
		stats->values = vec_room(stats->values, stats->count, &stats->cap, sizeof(double));
		stats->values[stats->count] = value;
	}
	stats->count++;
}

static int by_size(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

double check_stats_quantile(struct check_stats *stats, uint32_t permille)
{
	uint64_t rank = (stats->count * permille + 999) / 1000, seen = 0;
	double value;

	if (!stats->count)
		return 0;
	rank = rank ? rank : 1;
	if (!stats->octaves) {
		qsort(stats->values, stats->count, sizeof(double), by_size);
		return stats->values[rank - 1];
	}
	for (uint32_t i = 0; i < CLASSES; i++) {
		const uint64_t *octave = stats->octaves[i / STEPS];

		seen += octave ? octave[i % STEPS] : 0;
		if (seen >= rank) {
			value = middle_of(i);
			value = value < stats->min ? stats->min : value;
			return value > stats->max ? stats->max : value;
		}
	}
	return stats->max;
}

void check_stats_each(const struct check_stats *stats,
		      void (*see)(void *context, double value, uint64_t count), void *context)
{
	for (uint64_t i = 0; !stats->octaves && i < stats->count; i++)
		see(context, stats->values[i], 1);
	for (uint32_t i = 0; stats->octaves && i < CLASSES; i++) {
		const uint64_t *octave = stats->octaves[i / STEPS];
		double value = middle_of(i);

		if (!octave || !octave[i % STEPS])
			continue;
		value = value < stats->min ? stats->min : value;
		value = value > stats->max ? stats->max : value;
		see(context, value, octave[i % STEPS]);
	}
}

bool check_stats_is_exact(const struct check_stats *stats)
{
	return !stats->octaves;
}
