/* maps.c - see maps.h. */
#include "read/perf/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "read/perf/file.h"
#include "read/perf/scan.h"

#define PATH_BYTES     4096u
#define MISC_MMAP_DATA (1 << 13)
#define MISC_BUILD_ID  (1 << 14)
#define BUILD_ID_BYTES 20u
#define PARENTS	       64u

static void add_happening(struct perf_maps *maps, struct perf_scan *scan,
			  struct perf_happening happening)
{
	if (!perf_scan_may_keep(scan))
		return;
	maps->items = vec_room(maps->items, maps->count, &maps->cap, sizeof(*maps->items));
	happening.number = (uint32_t)maps->count;
	maps->items[maps->count++] = happening;
}

static uint32_t keep_build_id(struct perf_maps *maps, const struct perf_record *record)
{
	uint32_t bytes = record->data[40];
	char digits[2 * BUILD_ID_BYTES + 1] = "";

	if (!(record->misc & MISC_BUILD_ID) || !bytes || bytes > BUILD_ID_BYTES)
		return 0;
	for (uint32_t i = 0; i < bytes; i++)
		snprintf(digits + (size_t)2 * i, 3, "%02x", record->data[44 + i]);
	return names_add(&maps->texts, digits, sizeof(digits));
}

static void take_map(struct perf_maps *maps, struct perf_scan *scan,
		     const struct perf_record *record, const struct perf_attr *attr,
		     uint64_t time_ns)
{
	const bool swap = scan->file->swap, is_two = record->type == PERF_MMAP2;
	const uint32_t path_at = is_two ? 72 : 40;
	const char *path = (const char *)record->data + path_at;
	struct perf_happening map = { .kind = PERF_HAPPENS_MAP, .time_ns = time_ns };

	if (record->bytes <= path_at + attr->tail_bytes ||
	    !memchr(path, '\0', record->bytes - attr->tail_bytes - path_at) ||
	    (record->misc & PERF_MISC_CPUMODE) != 2)
		return;
	if (is_two ? !(perf_u32(record->data + 64, swap) & PROT_EXEC)
		   : record->misc & MISC_MMAP_DATA)
		return;
	map.tgid = (int32_t)perf_u32(record->data + 8, swap);
	map.start = perf_u64(record->data + 16, swap);
	map.bytes = perf_u64(record->data + 24, swap);
	map.offset = perf_u64(record->data + 32, swap);
	map.path = names_add(&maps->texts, path, PATH_BYTES);
	map.build_id = is_two ? keep_build_id(maps, record) : 0;
	add_happening(maps, scan, map);
}

static void take_birth(struct perf_maps *maps, struct perf_scan *scan,
		       const struct perf_record *record, uint64_t time_ns)
{
	const bool swap = scan->file->swap;
	int32_t tgid, parent;

	if (record->bytes < 24)
		return;
	tgid = (int32_t)perf_u32(record->data + 8, swap);
	parent = (int32_t)perf_u32(record->data + 12, swap);
	/* What was there before has its own maps. */
	if (tgid != parent && time_ns)
		add_happening(maps, scan,
			      (struct perf_happening){ .kind = PERF_HAPPENS_FORK,
						       .tgid = tgid,
						       .parent = parent,
						       .time_ns = time_ns });
}

static void take_name(struct perf_maps *maps, struct perf_scan *scan,
		      const struct perf_record *record, uint64_t time_ns)
{
	if (record->bytes >= 16 && record->misc & PERF_MISC_COMM_EXEC && time_ns)
		add_happening(maps, scan,
			      (struct perf_happening){
				      .kind = PERF_HAPPENS_EXEC,
				      .tgid = (int32_t)perf_u32(record->data + 8, scan->file->swap),
				      .time_ns = time_ns,
			      });
}

void perf_maps_take(struct perf_maps *maps, struct perf_scan *scan,
		    const struct perf_record *record, const struct perf_attr *attr,
		    uint64_t time_ns)
{
	if (record->type == PERF_MMAP || record->type == PERF_MMAP2)
		take_map(maps, scan, record, attr, time_ns);
	else if (record->type == PERF_FORK)
		take_birth(maps, scan, record, time_ns);
	else if (record->type == PERF_COMM)
		take_name(maps, scan, record, time_ns);
}

/* ------------------------------------------------------------------ asked for */

ORDER_FUNCTION(compare_happenings, struct perf_happening, ORDER_UP(tgid), ORDER_UP(time_ns),
	       ORDER_UP(number));

void perf_maps_sort(struct perf_maps *maps)
{
	if (maps->count)
		qsort(maps->items, maps->count, sizeof(*maps->items), compare_happenings);
}

size_t perf_maps_until(const struct perf_maps *maps, int32_t tgid, uint64_t time_ns)
{
	return SEARCH_ITEM(maps->items, maps->count, at,
			   at->tgid < tgid || (at->tgid == tgid && at->time_ns <= time_ns));
}

/* A walk back over what happened to a process, and before that to its parents. */
struct past {
	const struct perf_maps *maps;
	int32_t tgid;
	size_t at; /* behind the next one */
	uint32_t left, parents;
};

static struct past past_of(const struct perf_maps *maps, int32_t tgid, uint64_t time_ns)
{
	return (struct past){ maps, tgid, perf_maps_until(maps, tgid, time_ns), PERF_MAPS_MAX,
			      PARENTS };
}

/* The mapping before that; NULL: no more are known, as it ran another program before. */
static const struct perf_happening *past_map(struct past *past)
{
	while (past->at-- > 0 && past->left-- > 0) {
		const struct perf_happening *at = &past->maps->items[past->at];

		if (at->tgid != past->tgid || at->kind == PERF_HAPPENS_EXEC)
			return NULL;
		if (at->kind == PERF_HAPPENS_MAP)
			return at;
		if (!past->parents--)
			return NULL;
		past->tgid = at->parent;
		past->at = perf_maps_until(past->maps, past->tgid, at->time_ns);
	}
	return NULL;
}

const struct perf_happening *perf_maps_find(const struct perf_maps *maps, int32_t tgid,
					    uint64_t time_ns, uint64_t address)
{
	struct past past = past_of(maps, tgid, time_ns);
	const struct perf_happening *map;

	while ((map = past_map(&past))) {
		if (address - map->start < map->bytes)
			return map;
	}
	return NULL;
}

static bool is_free(const struct perf_map_list *list, const struct perf_happening *map)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct perf_happening *other = list->items[i];

		if (map->start - other->start < other->bytes ||
		    other->start - map->start < map->bytes)
			return false;
	}
	return true;
}

/* Is it there already, of the same file in the same place? Its rights were changed then. */
static bool is_there(const struct perf_map_list *list, const struct perf_happening *map)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct perf_happening *other = list->items[i];

		if (other->path == map->path &&
		    other->start - other->offset == map->start - map->offset &&
		    map->start - other->start < other->bytes &&
		    map->bytes <= other->bytes - (map->start - other->start))
			return true;
	}
	return false;
}

void perf_maps_at(const struct perf_maps *maps, int32_t tgid, uint64_t time_ns,
		  struct perf_map_list *out_list)
{
	struct past past = past_of(maps, tgid, time_ns);
	const struct perf_happening *map;

	out_list->count = 0;
	out_list->until_ns = UINT64_MAX;
	while ((map = past_map(&past))) {
		if (is_free(out_list, map))
			out_list->items[out_list->count++] = map;
	}
	for (size_t i = perf_maps_until(maps, tgid, time_ns); i < maps->count; i++) {
		const struct perf_happening *later = &maps->items[i];

		if (later->tgid != tgid)
			return;
		if (later->kind == PERF_HAPPENS_MAP && is_there(out_list, later))
			continue;
		if (later->kind != PERF_HAPPENS_MAP || !is_free(out_list, later) ||
		    out_list->count == PERF_MAPS_MAX) {
			out_list->until_ns = later->time_ns;
			return;
		}
		out_list->items[out_list->count++] = later;
	}
}

int32_t perf_maps_parent(const struct perf_maps *maps, int32_t tgid, uint64_t time_ns)
{
	for (size_t i = perf_maps_until(maps, tgid, time_ns), left = PERF_MAPS_MAX;
	     i-- > 0 && left-- > 0 && maps->items[i].tgid == tgid;) {
		if (maps->items[i].kind == PERF_HAPPENS_FORK)
			return maps->items[i].parent;
	}
	return 0;
}

void perf_maps_fini(struct perf_maps *maps)
{
	free(maps->items);
	names_fini(&maps->texts);
	*maps = (struct perf_maps){ 0 };
}
