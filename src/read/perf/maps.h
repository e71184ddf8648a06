/*
 * maps.h - which files the processes of a recording had mapped as code, and when.
 *
 * Of MMAP, MMAP2, FORK and COMM with its exec flag. What a process's parent had it has, too.
 */
#ifndef READ_PERF_MAPS_H
#define READ_PERF_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/names.h"

struct perf_attr;
struct perf_record;
struct perf_scan;

enum perf_happening_kind {
	PERF_HAPPENS_MAP,
	PERF_HAPPENS_EXEC,
	PERF_HAPPENS_FORK
};

/* What became of the code of a process. */
struct perf_happening {
	int32_t tgid, parent;
	uint64_t time_ns;
	uint32_t number; /* in the order of the file */
	enum perf_happening_kind kind;
	uint64_t start, bytes, offset;
	uint32_t path, build_id; /* of 'texts' */
};

struct perf_maps {
	struct perf_happening *items; /* owned */
	size_t count, cap;
	struct names texts;
};

/* A record, with a time or without one. Memory is bound by perf_scan_may_keep(). */
void perf_maps_take(struct perf_maps *maps, struct perf_scan *scan,
		    const struct perf_record *record, const struct perf_attr *attr,
		    uint64_t time_ns);

/* All records were there. */
void perf_maps_sort(struct perf_maps *maps);

/* Behind the last happening of the process up to that time. */
size_t perf_maps_until(const struct perf_maps *maps, int32_t tgid, uint64_t time_ns);

/* The mapping that has the address then; NULL = it is not known. */
const struct perf_happening *perf_maps_find(const struct perf_maps *maps, int32_t tgid,
					    uint64_t time_ns, uint64_t address);

#define PERF_MAPS_MAX 2048u /* of one process; what is older is not known */

/* What a process had mapped, none of it in another one's place. */
struct perf_map_list {
	const struct perf_happening *items[PERF_MAPS_MAX];
	size_t count;
	uint64_t until_ns; /* it holds from the time that was asked for to this */
};

/* What came after 'time_ns' is in it already, where it took nothing's place. */
void perf_maps_at(const struct perf_maps *maps, int32_t tgid, uint64_t time_ns,
		  struct perf_map_list *out_list);

/* Who made the process, if it was born in the recording; 0 = not known. */
int32_t perf_maps_parent(const struct perf_maps *maps, int32_t tgid, uint64_t time_ns);

void perf_maps_fini(struct perf_maps *maps);

#endif
