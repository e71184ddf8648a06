/* flight_memory.c - see flight_memory.h. */
#include "record/flight_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/buffer.h"
#include "record/ftrace.h"

#define SPARE_BYTES (UINT64_C(512) << 10) /* our own grows by at most so much */
#define HEAD_BYTES  16u			  /* of a sub-buffer: no room for events */

uint64_t flight_memory_own(void)
{
	AUTO_FREE char *text = ftrace_read(AT_FDCWD, "/proc/self/statm", NULL);
	uint64_t all, resident, shared;
	long page = sysconf(_SC_PAGESIZE);

	if (!text || page <= 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &all, &resident, &shared) != 3 ||
	    resident < shared)
		return 0;
	return (resident - shared) * (uint64_t)page;
}

/* All but the rings, and of each CPU what a reader holds. */
static uint64_t fixed_bytes(const struct flight_memory *memory)
{
	return memory->own_bytes + SPARE_BYTES + memory->bpf_bytes + memory->kept_bytes +
	       memory->cpus * memory->page_bytes;
}

uint64_t flight_memory_ring(const struct flight_memory *memory, uint64_t wish_bytes,
			    uint64_t *out_least_bytes)
{
	uint64_t pages = (BUFFER_MIN_BYTES + memory->page_bytes - 1) / memory->page_bytes;
	uint64_t least = pages < BUFFER_PAGES_MIN ? BUFFER_PAGES_MIN : pages;
	uint64_t fixed = fixed_bytes(memory), room;

	*out_least_bytes = fixed + memory->cpus * least * memory->page_bytes;
	if (memory->most_bytes < *out_least_bytes)
		return 0;
	room = (memory->most_bytes - fixed) / memory->cpus;
	room = room < wish_bytes ? room : wish_bytes;
	pages = room / memory->page_bytes;
	/* The kernel gives as many sub-buffers as the events of that size take. */
	return (pages < least ? least : pages) * (memory->page_bytes - HEAD_BYTES);
}

uint64_t flight_memory_all(const struct flight_memory *memory, uint64_t ring_bytes)
{
	uint64_t pages = ring_bytes / (memory->page_bytes - HEAD_BYTES);

	return fixed_bytes(memory) + memory->cpus * pages * memory->page_bytes;
}
