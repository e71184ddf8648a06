/* image_maps.c - see image_maps.h. */
#include "record/image_maps.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "record/images.h"

#define FORKS_MAX 16 /* that are followed up */

struct image_maps {
	struct image_event *events; /* owned; by process, then by time */
	size_t count;
	struct image_map maps[IMAGE_MAPS_MAX];
	size_t map_count;
};

/* Of one process, those since it was what it is: a run of events. */
struct image_run {
	size_t from, to; /* indexes */
};

static int compare_events(const void *a, const void *b)
{
	const struct image_event *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->kind == y->kind ? 0 : x->kind > y->kind ? -1 : 1; /* exec before its maps */
}

struct image_maps *image_maps_new(struct images *images)
{
	struct image_maps *maps = xcalloc(1, sizeof(*maps));
	const struct image_event *events = images_events(images, &maps->count);

	maps->events = xcalloc(maps->count + 1, sizeof(*events));
	if (maps->count) {
		memcpy(maps->events, events, maps->count * sizeof(*events));
		qsort(maps->events, maps->count, sizeof(*events), compare_events);
	}
	return maps;
}

/* The first event of the process, or of one behind it. */
static size_t first_of(const struct image_maps *maps, int32_t tgid)
{
	return SEARCH_FROM(maps->events, maps->count, tgid, tgid);
}

/* From the last exec or fork before 'time_ns' to the next one. */
static struct image_run run_at(const struct image_maps *maps, int32_t tgid, uint64_t time_ns)
{
	struct image_run run = { first_of(maps, tgid), 0 };
	size_t i;

	for (i = run.from; i < maps->count && maps->events[i].tgid == tgid; i++) {
		if (maps->events[i].kind == IMAGE_MAP)
			continue;
		if (maps->events[i].time_ns > time_ns)
			break;
		run.from = i;
	}
	run.to = i;
	return run;
}

static bool touches(const struct image_map *map, const struct image_event *event)
{
	return map->start < event->start + event->bytes && event->start < map->start + map->bytes;
}

static bool image_is_same(const struct image_map *map, const struct image_event *event)
{
	return map->file == event->file && map->start - map->offset == event->start - event->offset;
}

/* Would it take the place of another one? */
static bool replaces(const struct image_maps *maps, const struct image_event *event)
{
	for (size_t i = 0; i < maps->map_count; i++) {
		if (touches(&maps->maps[i], event) && !image_is_same(&maps->maps[i], event))
			return true;
	}
	return false;
}

static void add_map(struct image_maps *maps, const struct image_event *event)
{
	size_t kept = 0;

	for (size_t i = 0; i < maps->map_count; i++) {
		if (!touches(&maps->maps[i], event))
			maps->maps[kept++] = maps->maps[i];
		else if (image_is_same(&maps->maps[i], event) &&
			 maps->maps[i].start <= event->start &&
			 event->start + event->bytes <= maps->maps[i].start + maps->maps[i].bytes)
			return; /* it is there: its rights were changed */
	}
	maps->map_count = kept;
	if (kept < IMAGE_MAPS_MAX)
		maps->maps[maps->map_count++] = (struct image_map){ event->start, event->bytes,
								    event->offset, event->file };
}

/* What is certain to have been there at 'time_ns': of a fork, what its parent had. */
static void gather(struct image_maps *maps, int32_t tgid, uint64_t time_ns, int forks)
{
	struct image_run run = run_at(maps, tgid, time_ns);
	const struct image_event *first = &maps->events[run.from];

	if (run.from < run.to && first->kind == IMAGE_FORK && first->time_ns <= time_ns &&
	    forks < FORKS_MAX)
		gather(maps, first->parent, first->time_ns, forks + 1);
	for (size_t i = run.from; i < run.to && maps->events[i].time_ns <= time_ns; i++) {
		if (maps->events[i].kind == IMAGE_MAP)
			add_map(maps, &maps->events[i]);
	}
}

/* And what came later, as long as it took nothing's place. */
static uint64_t gather_later(struct image_maps *maps, int32_t tgid, uint64_t time_ns)
{
	struct image_run run = run_at(maps, tgid, time_ns);

	for (size_t i = run.from; i < run.to; i++) {
		const struct image_event *event = &maps->events[i];

		if (event->kind != IMAGE_MAP || event->time_ns <= time_ns)
			continue;
		if (replaces(maps, event))
			return event->time_ns;
		add_map(maps, event);
	}
	return run.to < maps->count && maps->events[run.to].tgid == tgid
		       ? maps->events[run.to].time_ns
		       : UINT64_MAX;
}

const struct image_map *image_maps_at(struct image_maps *maps, int32_t tgid, uint64_t time_ns,
				      size_t *out_count, uint64_t *out_until_ns)
{
	maps->map_count = 0;
	gather(maps, tgid, time_ns, 0);
	*out_until_ns = gather_later(maps, tgid, time_ns);
	*out_count = maps->map_count;
	return maps->maps;
}

void image_maps_life(const struct image_maps *maps, int32_t tgid, uint64_t time_ns,
		     uint64_t *out_from_ns, uint64_t *out_until_ns)
{
	struct image_run run = run_at(maps, tgid, time_ns);
	const struct image_event *first = &maps->events[run.from];
	bool is_told = run.from < run.to && first->kind != IMAGE_MAP && first->time_ns <= time_ns;

	*out_from_ns = is_told ? first->time_ns : 0;
	*out_until_ns = run.to < maps->count && maps->events[run.to].tgid == tgid
				? maps->events[run.to].time_ns
				: UINT64_MAX;
}
