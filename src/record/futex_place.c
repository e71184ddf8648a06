/* futex_place.c - see futex_place.h. */
#include "record/futex_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/bpf/raw_futex.h"

/* "7f00-7f10 rw-p 00001000 00:01 1234   /usr/lib/libc.so.6" */
int futex_place_line(const char *line, struct futex_map *before, struct raw_futex *futex)
{
	struct futex_map map;
	uint64_t inode;
	char shared;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%*c%c %" SCNx64 " %*s %" SCNu64, &map.start,
		   &map.end, &shared, &map.offset, &inode) != 5)
		return 0;
	map.is_file = inode != 0;
	map.is_shared = shared == 's';
	if (futex->address < map.start || futex->address >= map.end) {
		*before = map;
		return 0;
	}
	futex->kind = RAW_FUTEX_OTHER;
	if (map.is_shared)
		return 1;
	if (!map.is_file && before->end == map.start)
		map = *before;
	if (map.is_file && !map.is_shared) {
		futex->kind = RAW_FUTEX_FILE;
		futex->start = map.start;
		futex->page = map.offset / (uint64_t)sysconf(_SC_PAGESIZE);
	}
	return 1;
}

void futex_place_read(int32_t tgid, struct raw_futex *futex)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/maps", tgid);
	AUTO_FREE char *line = NULL;
	AUTO_FILE FILE *maps = futex->address ? fopen(path, "re") : NULL;
	struct futex_map before = { 0 };
	size_t room = 0;

	while (maps && getline(&line, &room, maps) > 0) {
		if (futex_place_line(line, &before, futex))
			return;
	}
}
