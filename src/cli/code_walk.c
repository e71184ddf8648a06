/* code_walk.c - see code_walk.h. */
#include "cli/code_walk.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "read/read.h"
#include "read/stack_walk.h"
#include "record/image_vdso.h"
#include "symbol/unwind.h"

#define OPEN_MAX  256u /* files that are kept open from one process to the next */
#define VDSO	  "[vdso]"
#define END_BUILD "the build of its file was not recorded (perf record --buildid-mmap)"
#define END_OTHER "its file here is another build than the recorded one"
#define END_GONE  "its file is missing"
#define END_MAPS  "it is not known which files its process had mapped"
#define END_KIND  "it was copied on another kind of machine"
#define END_32	  "its code and its program's files are not of the same kind, 32 or 64 bits"

/* A file that was asked for; fd -1: it is of no use, and why. */
struct walk_file {
	int fd;
	const char *why;
};

struct code_walk {
	struct map files; /* hash of path and build-id: struct walk_file *, owned */
	size_t open_count;
	const struct walk_map *maps; /* a view */
	size_t map_count;
	struct unwind_map *unwind_maps; /* owned; of the same numbers */
	const char **whys;		/* owned; the same */
	bool has_files;			/* at least one */
	struct unwinder *unwinder;	/* owned */
};

#if defined(__x86_64__)
#define OWN_MACHINE WALK_X86_64
#define OWN_32	    WALK_I386
#elif defined(__aarch64__)
#define OWN_MACHINE WALK_AARCH64
#define OWN_32	    WALK_AARCH64
#else
#define OWN_MACHINE WALK_OTHER
#define OWN_32	    WALK_OTHER
#endif

/* ------------------------------------------------------------------ files */

static bool is_build(int fd, const struct walk_map *map)
{
	struct unwind_names *names = unwind_names_new(fd, map->path);
	const char *build_id = names ? unwind_names_build_id(names) : NULL;
	bool is_it = build_id && strcmp(build_id, map->build_id) == 0;

	unwind_names_free(names);
	return is_it;
}

static struct walk_file open_file(const struct walk_map *map)
{
	int fd;

	if (!map->build_id)
		return (struct walk_file){ -1, END_BUILD };
	fd = strcmp(map->path, VDSO) == 0 ? image_vdso() : file_open_plain(map->path);
	if (fd < 0)
		return (struct walk_file){ -1, END_GONE };
	if (is_build(fd, map))
		return (struct walk_file){ fd, NULL };
	mem_close_fd(&fd);
	return (struct walk_file){ -1, END_OTHER };
}

static void close_files(struct code_walk *walk)
{
	for (size_t i = 0; i < walk->files.cap; i++) {
		struct walk_file *file =
			walk->files.used[i] ? (void *)(uintptr_t)walk->files.slots[i].value : NULL;

		if (file)
			mem_close_fd(&file->fd);
		free(file);
	}
	map_fini(&walk->files);
	walk->open_count = 0;
}

static const struct walk_file *file_of(struct code_walk *walk, const struct walk_map *map)
{
	const char *id = map->build_id ? map->build_id : "";
	uint64_t hash =
		hash_bytes(map->path, strlen(map->path), hash_bytes(id, strlen(id), strlen(id)));
	struct walk_file *file;
	bool is_new;
	uint64_t *kept = map_add(&walk->files, hash, &is_new);

	if (is_new) {
		file = xcalloc(1, sizeof(*file));
		*kept = (uintptr_t)file;
		*file = open_file(map);
		walk->open_count += file->fd >= 0;
	}
	return (const struct walk_file *)(uintptr_t)*kept;
}

/* "//anon", "[heap]" ... are none. */
static bool is_file(const char *path)
{
	return (path[0] == '/' && path[1] != '/') || strcmp(path, VDSO) == 0;
}

/* ------------------------------------------------------------------ processes */

static void leave(struct code_walk *walk)
{
	unwinder_free(walk->unwinder);
	walk->unwinder = NULL;
	if (walk->open_count > OPEN_MAX)
		close_files(walk);
}

static void enter(void *context, const struct walk_map *maps, size_t count)
{
	struct code_walk *walk = context;

	leave(walk);
	walk->maps = maps;
	walk->map_count = count;
	walk->has_files = false;
	walk->unwind_maps = xrealloc(walk->unwind_maps, count + 1, sizeof(*walk->unwind_maps));
	walk->whys = xrealloc(walk->whys, count + 1, sizeof(*walk->whys));
	for (size_t i = 0; i < count; i++) {
		const struct walk_file none = { -1, NULL }, *file = &none;
		/* Where there is no file, there is no map. */
		uint64_t bytes = is_file(maps[i].path) ? maps[i].bytes : 0;

		if (bytes)
			file = file_of(walk, &maps[i]);
		walk->whys[i] = file->why;
		walk->has_files |= file->fd >= 0;
		walk->unwind_maps[i] = (struct unwind_map){ .start = maps[i].start,
							    .bytes = bytes,
							    .offset = maps[i].offset,
							    .fd = file->fd,
							    .path = maps[i].path };
	}
	walk->unwinder = unwinder_new(walk->unwind_maps, count);
}

/* ------------------------------------------------------------------ copies */

/* Of the map that has the address: why its file is of no use. */
static const char *why_at(const struct code_walk *walk, uint64_t pc)
{
	for (size_t i = 0; i < walk->map_count; i++) {
		if (pc - walk->maps[i].start < walk->maps[i].bytes && walk->whys[i])
			return walk->whys[i];
	}
	return END_GONE;
}

/* Why it cannot be walked; NULL = it can. */
static const char *why_no_walk(const struct code_walk *walk, const struct walk_dump *dump)
{
	if (!walk->unwinder || (dump->machine != OWN_MACHINE && dump->machine != OWN_32))
		return END_KIND;
	if (!walk->map_count)
		return END_MAPS;
	if (!walk->has_files)
		return why_at(walk, dump->regs[dump->reg_count - 1]);
	if (dump->reg_count != unwinder_reg_count(walk->unwinder))
		return END_32;
	return NULL;
}

static size_t walk_copy(void *context, const struct walk_dump *dump, struct walk_frame *out_frames,
			const char **out_end)
{
	struct code_walk *walk = context;
	struct unwind_frame found[WALK_FRAMES_MAX];
	const struct unwind_start start = { .regs = dump->regs,
					    .reg_count = dump->reg_count,
					    .absent = dump->absent,
					    .stack = dump->stack,
					    .stack_at = dump->stack_at,
					    .stack_bytes = dump->stack_bytes };
	size_t count;
	uint32_t last;

	*out_end = why_no_walk(walk, dump);
	if (*out_end)
		return 0;
	count = unwinder_walk(walk->unwinder, &start, found, WALK_FRAMES_MAX, out_end);
	for (size_t i = 0; i < count; i++)
		out_frames[i] = (struct walk_frame){ .pc = found[i].pc - found[i].is_call,
						     .map = found[i].map };
	last = count ? found[count - 1].map : WALK_NO_MAP;
	if (*out_end && last < walk->map_count && walk->whys[last])
		*out_end = walk->whys[last];
	return count;
}

_Static_assert(WALK_NO_MAP == UNWIND_NO_MAP && WALK_FRAMES_MAX == UNWIND_FRAMES_MAX,
	       "numbers of maps are the same");

void code_walk(struct trace *trace)
{
	struct code_walk walk = { 0 };
	const struct stack_walker walker = { enter, walk_copy, &walk };

	trace_walk_stacks(trace, &walker);
	unwinder_free(walk.unwinder);
	close_files(&walk);
	free(walk.unwind_maps);
	free(walk.whys);
}
