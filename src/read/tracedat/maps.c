/* maps.c - see maps.h. */
#include "read/tracedat/maps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/sorting.h"
#include "base/text.h"
#include "event/event.h"
#include "event/stacks.h"

#define MAPS_MAX   (1u << 20) /* of all processes */
#define PATH_BYTES 4096u

/* A hexadecimal number and the blank behind it. */
static bool take_hex(const char **at, uint64_t *out_number)
{
	char *end;

	if (!isxdigit((unsigned char)**at))
		return false;
	*out_number = strtoull(*at, &end, 16);
	if (*end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static uint32_t take_path(struct dat_maps *maps, const char **at)
{
	size_t bytes = strcspn(*at, "\n");
	AUTO_FREE char *path = xstrndup(*at, bytes);

	*at += bytes + ((*at)[bytes] == '\n');
	return names_add(&maps->paths, path, PATH_BYTES);
}

bool dat_maps_add(struct dat_maps *maps, const char *text)
{
	uint64_t tgid, count;

	while (*text) {
		if (!take_hex(&text, &tgid) || tgid > INT32_MAX || !take_hex(&text, &count))
			return false;
		text += strcspn(text, "\n");
		text += *text == '\n';
		for (uint64_t i = 0; i < count; i++) {
			struct dat_map map = { .tgid = (int32_t)tgid };

			if (!take_hex(&text, &map.start) || !take_hex(&text, &map.end) ||
			    map.end < map.start || maps->count == MAPS_MAX)
				return false;
			map.path = take_path(maps, &text);
			maps->items = vec_room(maps->items, maps->count, &maps->cap,
					       sizeof(*maps->items));
			maps->items[maps->count++] = map;
		}
	}
	return true;
}

ORDER_FUNCTION(compare_maps, struct dat_map, ORDER_UP(tgid), ORDER_UP(start), ORDER_UP(end));

void dat_maps_finish(struct dat_maps *maps)
{
	if (maps->count)
		qsort(maps->items, maps->count, sizeof(*maps->items), compare_maps);
	for (size_t i = 0; i < maps->count; i++) {
		struct dat_map *map = &maps->items[i];
		const struct dat_map *before = i ? map - 1 : NULL;

		map->base = before && before->tgid == map->tgid && before->path == map->path
				    ? before->base
				    : map->start;
	}
}

void dat_maps_learn(struct dat_maps *maps, const struct event *event)
{
	if (event->type == EV_SCHED_EXEC && event->tid > 0)
		map_put(&maps->execs, (uint32_t)event->task.tid, event->time_ns);
}

void dat_maps_follow(void *context, const struct event *event, const struct trace_record *record)
{
	struct dat_maps *maps = context;

	(void)record;
	maps->changes += event->type == EV_SCHED_EXEC;
}

bool dat_maps_find(void *context, int32_t tgid, uint64_t time_ns, uint64_t address,
		   struct stack_frame *out_frame)
{
	const struct dat_maps *maps = context;
	const uint64_t *exec_ns = map_find(&maps->execs, (uint32_t)tgid);
	size_t at = SEARCH_ITEM(maps->items, maps->count, map,
				map->tgid < tgid || (map->tgid == tgid && map->start <= address));
	const struct dat_map *map = at ? &maps->items[at - 1] : NULL;

	if (!map || map->tgid != tgid || address >= map->end || (exec_ns && time_ns < *exec_ns))
		return false;
	out_frame->path = names_text(&maps->paths, map->path);
	out_frame->module = text_base_name(out_frame->path);
	out_frame->offset = address - map->base;
	return true;
}

void dat_maps_fini(struct dat_maps *maps)
{
	free(maps->items);
	names_fini(&maps->paths);
	map_fini(&maps->execs);
	*maps = (struct dat_maps){ 0 };
}
