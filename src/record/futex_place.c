/* futex_place.c - see futex_place.h. */
#include "record/futex_place.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/bpf/raw_futex.h"

#define REMOVED " (deleted)"

/* "7f00-7f10 rw-p 00001000 00:01 1234   /usr/lib/libc.so.6" */
static bool futex_map_read(const char *line, struct futex_map *out_map)
{
	uint64_t inode;
	char shared;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%*c%c %" SCNx64 " %*s %" SCNu64 " %n",
		   &out_map->start, &out_map->end, &shared, &out_map->offset, &inode, &path) != 5)
		return false;
	out_map->is_file = inode != 0;
	out_map->is_shared = shared == 's';
	out_map->path = path ? line + path : "";
	return true;
}

/* As the kernel tells it, but for its end of line, and that it was removed meanwhile; "" when it is too long. */
static void futex_put_path(struct raw_futex *futex, const char *path)
{
	size_t bytes = strcspn(path, "\n"), removed = sizeof(REMOVED) - 1;

	if (bytes > removed && memcmp(path + bytes - removed, REMOVED, removed) == 0)
		bytes -= removed;
	memset(futex->path, 0, sizeof(futex->path));
	if (bytes < sizeof(futex->path))
		memcpy(futex->path, path, bytes);
}

int futex_place_line(const char *line, struct futex_map *before, struct raw_futex *futex)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct futex_map map;

	if (!futex_map_read(line, &map))
		return 0;
	if (futex->address < map.start || futex->address >= map.end) {
		*before = map;
		before->path = "";
		return 0;
	}
	futex->kind = RAW_FUTEX_OTHER;
	if (map.is_shared && !map.is_file)
		return 1;
	if (!map.is_file && before->end == map.start && !before->is_shared)
		map = *before;
	if (map.is_file) {
		futex->kind = map.is_shared ? RAW_FUTEX_SHARED : RAW_FUTEX_FILE;
		futex->start = map.start;
		futex->page = map.offset / page;
	}
	if (futex->kind == RAW_FUTEX_SHARED)
		futex_put_path(futex, map.path);
	return 1;
}

void futex_place_path(int32_t tgid, struct raw_futex *futex)
{
	struct raw_futex now = { .address = futex->address };
	size_t tail = strnlen(futex->path, sizeof(futex->path)), bytes;

	if (futex->kind != RAW_FUTEX_SHARED || !tail)
		return;
	futex_place_read(tgid, &now);
	bytes = strnlen(now.path, sizeof(now.path));
	if (now.kind == RAW_FUTEX_SHARED && now.start == futex->start && now.page == futex->page &&
	    bytes > tail && now.path[bytes - tail - 1] == '/' &&
	    memcmp(now.path + bytes - tail, futex->path, tail) == 0)
		memcpy(futex->path, now.path, sizeof(futex->path));
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
