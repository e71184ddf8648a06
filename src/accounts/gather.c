/* gather.c - differences of samples, added to the sums they belong to. */
#include "accounts/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "accounts/proc.h"

#define PATH_BYTES 4096
#define UNKNOWN	   "unknown" /* to who reads metrics, an empty label is no label */

void delays_gather_init(struct delays_gather *gather, size_t limit)
{
	*gather = (struct delays_gather){ .limit = limit, .cgroup_of = delays_proc_cgroup };
	for (size_t by = 0; by < DELAYS_GATHER_BYS; by++)
		gather->sets[by].series = xcalloc(limit, sizeof(*gather->sets[by].series));
}

void delays_gather_fini(struct delays_gather *gather)
{
	for (size_t by = 0; by < DELAYS_GATHER_BYS; by++) {
		for (size_t i = 0; i < gather->sets[by].count; i++)
			free(gather->sets[by].series[i].name);
		free(gather->sets[by].series);
	}
	if (gather->has_before)
		delays_sample_fini(&gather->before);
	*gather = (struct delays_gather){ 0 };
}

/* Make room by forgetting who has had no process for long. Returns whether there is room. */
static bool gather_make_room(struct delays_series_set *set, size_t limit, uint64_t now_ns)
{
	size_t kept = 0;

	if (set->count < limit)
		return true;
	for (size_t i = 0; i < set->count; i++) {
		struct delays_series *series = &set->series[i];

		if (series->processes || now_ns - series->seen_ns < DELAYS_GATHER_FORGET_NS) {
			set->series[kept++] = *series;
			continue;
		}
		delays_stats_add(&set->other.stats, &series->stats);
		free(series->name);
	}
	set->count = kept;
	return kept < limit;
}

static struct delays_series *series_of(struct delays_series_set *set, size_t limit,
				       const char *name, uint64_t now_ns)
{
	for (size_t i = 0; i < set->count; i++) {
		if (strcmp(set->series[i].name, name) == 0)
			return &set->series[i];
	}
	if (!gather_make_room(set, limit, now_ns))
		return &set->other;
	set->series[set->count] = (struct delays_series){ .name = xstrdup(name) };
	return &set->series[set->count++];
}

/* What is not counted is left out, whatever stands there. */
static struct delays_stats only_counted(const struct delays_stats *stats)
{
	struct delays_stats counted = *stats;

	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		if (!delays_has_class(stats, class))
			counted.delay[class] = (struct delays_delay){ 0 };
	}
	return counted;
}

static void gather_add(struct delays_gather *gather, const struct delays_task *task,
		       const struct delays_stats *stats, uint64_t now_ns)
{
	struct delays_stats counted = only_counted(stats);
	char cgroup[PATH_BYTES];

	gather->cgroup_of(task->tgid, cgroup, sizeof(cgroup));
	for (size_t by = 0; by < DELAYS_GATHER_BYS; by++) {
		const char *name = by == DELAYS_BY_COMMAND ? task->stats.name : cgroup;
		struct delays_series *series = series_of(&gather->sets[by], gather->limit,
							 name[0] ? name : UNKNOWN, now_ns);

		delays_stats_add(&series->stats, &counted);
		series->processes++;
		series->threads += task->threads ? task->threads : 1;
		series->uncounted += task->coverage != DELAYS_COVERED;
		series->seen_ns = now_ns;
	}
}

static void forget_living(struct delays_series *series)
{
	series->processes = 0;
	series->threads = 0;
	series->uncounted = 0;
}

static void add_changes(struct delays_gather *gather, const struct delays_sample *sample)
{
	struct delays_delta delta;

	delays_delta_make(&gather->before, sample, &delta);
	for (size_t i = 0; i < delta.count; i++) {
		if (!delta.tasks[i].ended)
			gather_add(gather, delta.tasks[i].task, &delta.tasks[i].stats,
				   sample->time_ns);
	}
	gather->ended += delta.ended;
	delays_delta_fini(&delta);
}

void delays_gather_feed(struct delays_gather *gather, struct delays_sample *sample)
{
	for (size_t by = 0; by < DELAYS_GATHER_BYS; by++) {
		for (size_t i = 0; i < gather->sets[by].count; i++)
			forget_living(&gather->sets[by].series[i]);
		forget_living(&gather->sets[by].other);
	}
	if (gather->has_before) {
		add_changes(gather, sample);
		delays_sample_fini(&gather->before);
	} else {
		for (size_t i = 0; i < sample->count; i++)
			gather_add(gather, &sample->tasks[i], &sample->tasks[i].stats,
				   sample->time_ns);
	}
	gather->before = *sample;
	gather->has_before = true;
	gather->samples++;
	*sample = (struct delays_sample){ 0 };
}
