/*
 * check_rss.c - resident memory of processes, as the kernel tells of each change of it.
 *
 * An event says of an address space how large one of its counters is now (pages of files, its
 * own, shared ones), and whether it is that of the thread it came in. So the address space of a
 * process is the last one that one of its threads called its own, also where others change it:
 * who reclaims, a fork, an exec.
 *
 * A thread of it that tells of the same one as of a foreign one tears it down, for an exec or at the
 * end: from then on the process has none that is known, until a thread calls one its own.
 *
 * What a counter was before its first event is not known, nor where events were lost: that is a
 * jump, and what is measured across one is not known, as where the process gets another space.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "base/map.h"
#include "base/mem.h"

#define CHECK_RSS_COUNTERS 4u
#define SWAPPED		   2u /* not resident */
#define NO_SPACE	   UINT32_MAX

/* An address space. */
struct space {
	uint64_t bytes[CHECK_RSS_COUNTERS];
	uint64_t told_ns[CHECK_RSS_COUNTERS];
	bool is_told[CHECK_RSS_COUNTERS];
	uint64_t jump; /* number of the last one */
};

struct process {
	uint32_t space; /* index, or NO_SPACE */
	uint64_t jump;	/* it was given another one */
};

struct check_rss {
	struct map by_id, by_process; /* -> index into the next two */
	struct space *spaces;	      /* owned */
	size_t space_count, space_cap;
	struct process *processes; /* owned */
	size_t process_count, process_cap;
	uint64_t jumps; /* of all */
};

struct check_rss *check_rss_new(void)
{
	return xcalloc(1, sizeof(struct check_rss));
}

void check_rss_free(struct check_rss *rss)
{
	if (!rss)
		return;
	map_fini(&rss->by_id);
	map_fini(&rss->by_process);
	free(rss->spaces);
	free(rss->processes);
	free(rss);
}

static uint32_t space_of(struct check_rss *rss, uint32_t id)
{
	bool is_new;
	uint64_t *place = map_add(&rss->by_id, id, &is_new);

	if (is_new) {
		rss->spaces = vec_room(rss->spaces, rss->space_count, &rss->space_cap,
				       sizeof(*rss->spaces));
		memset(&rss->spaces[rss->space_count], 0, sizeof(*rss->spaces));
		*place = rss->space_count++;
	}
	return (uint32_t)*place;
}

static struct process *rss_process(struct check_rss *rss, int32_t tgid)
{
	bool is_new;
	uint64_t *place = map_add(&rss->by_process, (uint32_t)tgid, &is_new);

	if (is_new) {
		rss->processes = vec_room(rss->processes, rss->process_count, &rss->process_cap,
					  sizeof(*rss->processes));
		rss->processes[rss->process_count] = (struct process){ .space = NO_SPACE };
		*place = rss->process_count++;
	}
	return &rss->processes[*place];
}

/* One of its threads told of the space 'index'. */
static void give_space(struct check_rss *rss, struct process *process, uint32_t index, bool is_own)
{
	bool was_own = process->space == index;

	if (was_own == is_own)
		return;
	process->space = is_own ? index : NO_SPACE;
	process->jump = ++rss->jumps;
}

void check_rss_feed(struct check_rss *rss, const struct check_resident *resident, int32_t tgid,
		    uint64_t time_ns, const struct check_holes *holes)
{
	uint32_t index = space_of(rss, resident->space), counter = resident->counter;
	struct space *space = &rss->spaces[index];
	uint64_t until_ns;

	if (counter < CHECK_RSS_COUNTERS && counter != SWAPPED) {
		if (!space->is_told[counter] ||
		    check_holes_between(holes, space->told_ns[counter], time_ns, &until_ns))
			space->jump = ++rss->jumps;
		space->is_told[counter] = true;
		space->told_ns[counter] = time_ns;
		space->bytes[counter] = resident->bytes;
	}
	if (tgid >= 0)
		give_space(rss, rss_process(rss, tgid), index, resident->is_own);
}

bool check_rss_at(const struct check_rss *rss, int32_t tgid, uint64_t *out_bytes,
		  uint64_t *out_jump)
{
	const uint64_t *place = tgid < 0 ? NULL : map_find(&rss->by_process, (uint32_t)tgid);
	const struct process *process;
	const struct space *space;

	*out_bytes = *out_jump = 0;
	if (!place)
		return false;
	process = &rss->processes[*place];
	*out_jump = process->jump;
	if (process->space == NO_SPACE)
		return false;
	space = &rss->spaces[process->space];
	for (uint32_t i = 0; i < CHECK_RSS_COUNTERS; i++)
		*out_bytes += space->bytes[i];
	*out_jump = process->jump > space->jump ? process->jump : space->jump;
	return true;
}
