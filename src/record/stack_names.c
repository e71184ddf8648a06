/* stack_names.c - see stack_names.h. */
#include "record/stack_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/stacks.h"
#include "guard/user.h"
#include "record/bpf/raw_stack.h"
#include "record/futex_names.h"
#include "record/image_maps.h"
#include "record/images.h"
#include "record/jit_files.h"
#include "record/name_child.h"
#include "record/python_codes.h"
#include "record/pythons.h"
#include "record/regs_386.h"
#include "record/share.h"
#include "record/stack_keep.h"
#include "store/stack_file.h"
#include "symbol/jit_names.h"
#include "symbol/unwind.h"

#define WALKING_NS	UINT64_C(20000000000) /* on a CPU */
#define WAIT_MS		60000
#define FEW_STACKS	256		 /* each is written at once */
#define FILE_KERNEL	(UINT32_MAX - 1) /* instead of the number of a file */
#define FILES_JIT	0x80000000u	 /* and the process: code in no file */
#define FILE_PYTHON	(UINT32_MAX - 2)
#define USER_FRAMES_MAX (2 * UNWIND_FRAMES_MAX + RAW_PYTHON_FRAMES)
#define FRAMES_MAX	(RAW_STACK_KERNEL + USER_FRAMES_MAX)

/* What is done in the child. */
struct namer {
	const struct stack_sampling *sampling;
	struct stack_keep *keep;
	uint64_t since_ns;
	bool names_later;
	struct images *images;
	const struct jit_files *jit_files;
	const struct pythons *pythons;
	const struct python_codes *codes;
	struct image_maps *maps;
	FILE *out;
	const uint32_t *by_stack; /* waits, those of one stack side by side */
	size_t wait_count;
	struct map frames; /* file and address -> number of the frame */
	struct map names;  /* number of a file -> struct unwind_names *, 0 = it has none */
	struct map later;  /* number of a file -> 1 = its names are left to later */
	struct map stacks; /* hash of frames and end -> number of the stack */
	uint32_t frame_count, stack_count;
	struct map
		libc_frames; /* number of a frame -> its file << 1, and 1 = it is malloc's; of glibc alone */
	struct futex_names *futexes;

	/* Of the process that is being looked at, from a time to a time. */
	struct unwinder *unwinder;
	int32_t tgid;
	uint64_t until_ns;
	struct unwind_map unwind_maps[IMAGE_MAPS_MAX];
	uint32_t map_files[IMAGE_MAPS_MAX];
	size_t map_count;
	struct jit_names *jit; /* of its code that is in no file; NULL = nothing is known */
	int32_t jit_tgid;

	struct raw_stack raw;
};

/* ------------------------------------------------------------------ frames */

/*
 * Frames of an address: one, and those that were inlined there, with numbers one after the other. The
 * value is the first number, and how many more there are above FRAME_BITS.
 */
#define FRAME_BITS 32

static uint64_t *frames_of(struct namer *namer, uint32_t file, uint64_t address, bool *out_new)
{
	uint64_t key = address * 0x9e3779b97f4a7c15u ^ (uint64_t)file << 32 ^ file;
	uint64_t *frames = map_add(&namer->frames, key, out_new);

	if (*out_new)
		*frames = namer->frame_count++;
	return frames;
}

/* The number of a frame by itself, and whether it is new: then it is to be written. */
static uint32_t frame_number(struct namer *namer, uint32_t file, uint64_t address, bool *out_new)
{
	return (uint32_t)*frames_of(namer, file, address, out_new);
}

static uint32_t kernel_frame(struct namer *namer, uint64_t address)
{
	bool is_new;
	uint32_t number = frame_number(namer, FILE_KERNEL, address, &is_new);
	const struct stack_frame frame = { .module = "[kernel]",
					   .offset = address,
					   .is_kernel = true };

	if (is_new)
		stack_file_frame(namer->out, &frame);
	return number;
}

/* What is kept of each file; NULL = it has no names. */
static struct unwind_names *names_of_file(void *context, uint32_t file)
{
	struct namer *namer = context;
	const struct image_file *from = images_file(namer->images, file);
	bool is_new;
	uint64_t *names = map_add(&namer->names, file, &is_new);

	if (is_new)
		*names = (uintptr_t)unwind_names_new(from->fd, from->path);
	return (struct unwind_names *)(uintptr_t)*names;
}

/* As owner or as anybody; groups are left out of account. */
static bool user_has_right(uid_t user, const char *path, bool is_folder)
{
	mode_t owners = is_folder ? S_IXUSR : S_IRUSR, others = is_folder ? S_IXOTH : S_IROTH;
	struct stat st;

	return stat(path, &st) == 0 && st.st_mode & (st.st_uid == user ? owners : others);
}

/* Under sudo the trace becomes the user's, who must be able to read the file then. */
static bool user_may_read(const char *path)
{
	AUTO_FREE char *part = xstrdup(path);
	uid_t user;
	gid_t group;

	if (!guard_user_ids(&user, &group))
		return true;
	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		part[i] = '\0';
		if (!user_has_right(user, part, true))
			return false;
		part[i] = '/';
	}
	return user_has_right(user, path, false);
}

/* Does its path lead to it for who comes later, too? Not in another container, and not when it was replaced. */
static bool is_at_its_path(const struct image_file *file)
{
	struct stat open_stat, path_stat;

	return file->path[0] == '/' && file->fd >= 0 && fstat(file->fd, &open_stat) == 0 &&
	       lstat(file->path, &path_stat) == 0 && S_ISREG(path_stat.st_mode) &&
	       open_stat.st_dev == path_stat.st_dev && open_stat.st_ino == path_stat.st_ino &&
	       user_may_read(file->path);
}

/* The names of glibc are needed at once: what waits in malloc is told by them. */
static bool is_named_later(struct namer *namer, uint32_t file)
{
	const struct image_file *from = images_file(namer->images, file);
	bool is_new;
	uint64_t *later;

	if (!namer->names_later)
		return false;
	later = map_add(&namer->later, file, &is_new);
	if (is_new)
		*later = !futex_is_libc(from->path) && is_at_its_path(from) &&
			 names_of_file(namer, file) &&
			 unwind_names_build_id(names_of_file(namer, file));
	return *later;
}

/* Returns how many names there are, at least 1. */
static size_t name_address(struct namer *namer, uint32_t file, uint64_t address,
			   struct unwind_name *out_names)
{
	struct unwind_names *names = names_of_file(namer, file);

	if (!names || !address)
		return 1;
	if (!is_named_later(namer, file))
		return unwind_names_find(names, address, out_names);
	out_names[0].build_id = unwind_names_build_id(names);
	return 1;
}

/* Of what a runtime made; each process has its own at an address. */
static uint32_t jit_frame(struct namer *namer, uint64_t pc)
{
	bool is_new;
	uint32_t number = frame_number(namer, FILES_JIT | (uint32_t)namer->tgid, pc, &is_new);
	struct stack_frame frame = { .module = "[jit]", .offset = pc };
	struct jit_name name = { 0 };

	if (!is_new)
		return number;
	if (namer->jit && jit_names_find(namer->jit, pc, &name)) {
		frame.function = name.function;
		frame.signature = name.whole;
		frame.path = frame.file = name.file;
		frame.line = name.line;
		frame.is_script = name.file != NULL;
		if (name.file)
			frame.module = text_base_name(name.file);
	}
	stack_file_frame(namer->out, &frame);
	return number;
}

static void write_frame(struct namer *namer, uint32_t number, uint64_t address,
			const struct unwind_name *name)
{
	const struct image_file *file = images_file(namer->images, number);
	bool is_unnamed = address && is_named_later(namer, number);

	stack_file_frame(namer->out, &(struct stack_frame){
					     .function = name->function,
					     .signature = name->signature,
					     .module = text_base_name(file->path),
					     .path = file->path,
					     .build_id = name->build_id,
					     .file = name->file,
					     .line = name->line,
					     .offset = address,
					     .start = name->start,
					     .is_inlined = name->is_inlined,
					     .is_unnamed = is_unnamed,
				     });
}

/* Of frames of glibc: malloc and its like, and what may lie below them. */
static void note_libc(struct namer *namer, uint32_t frame, uint32_t file,
		      const struct unwind_name *name)
{
	static const char *const entries[] = { "malloc",	 "free",	   "calloc",
					       "realloc",	 "memalign",	   "aligned_alloc",
					       "posix_memalign", "reallocarray",   "valloc",
					       "pvalloc",	 "malloc_trim",	   "__libc_malloc",
					       "mallinfo",	 "mallinfo2",	   "malloc_stats",
					       "malloc_info",	 "__libc_free",	   "__libc_calloc",
					       "__libc_realloc", "__libc_memalign" };
	/* Where debug information names them; and what waits for a lock. */
	static const char *const inner[] = { "__lll_lock_wait", "futex_",  "__futex_",	"_int_",
					     "arena_",		"tcache_", "ptmalloc_", "int_m",
					     "sysmalloc",	"systrim", "heap_trim" };
	bool is_entry = false, is_inner = false;

	if (!futex_is_libc(images_file(namer->images, file)->path))
		return;
	for (size_t i = 0; i < ARRAY_LEN(entries) && name->function; i++)
		is_entry |= strcmp(name->function, entries[i]) == 0;
	for (size_t i = 0; i < ARRAY_LEN(inner) && name->function; i++)
		is_inner |= strncmp(name->function, inner[i], strlen(inner[i])) == 0;
	if (is_entry || is_inner || !name->function)
		map_put(&namer->libc_frames, frame, (uint64_t)file << 1 | is_entry);
}

/* Returns how many frames they are; there is room for UNWIND_INLINED_MAX + 1. */
static size_t user_frames(struct namer *namer, const struct unwind_frame *from,
			  uint32_t *out_frames)
{
	struct unwind_name names[UNWIND_INLINED_MAX + 1] = { 0 };
	size_t count;
	uint64_t *frames, first;
	uint32_t file;
	bool is_new;

	if (from->map == UNWIND_NO_MAP) {
		out_frames[0] = jit_frame(namer, from->pc);
		return 1;
	}
	file = namer->map_files[from->map];
	frames = frames_of(namer, file, from->address, &is_new);
	if (is_new) {
		count = name_address(namer, file, from->address, names);
		for (size_t i = 0; i < count; i++)
			write_frame(namer, file, from->address, &names[i]);
		for (size_t i = 0; i < count; i++)
			note_libc(namer, (uint32_t)(*frames + i), file, &names[i]);
		*frames |= (count - 1) << FRAME_BITS;
		namer->frame_count += count - 1;
	}
	first = *frames & UINT32_MAX;
	count = 1 + (*frames >> FRAME_BITS);
	for (size_t i = 0; i < count; i++)
		out_frames[i] = (uint32_t)(first + i);
	return count;
}

/* ------------------------------------------------------------------ frames of Python */

/*
 * Each call of the interpreter from C has one frame of C, and a run of frames of Python: the last of them is
 * its entry. The run takes the place of the frame. From the innermost outward both are in the same order.
 *
 * Since 3.12 the chain of frames has one for each such call, which is a variable of the function of C. Its address
 * tells which frame of C that is. Else the function must have a name, and calls and runs are counted.
 */
struct python_merge {
	bool is_placed; /* where the calls' frames of C lie is known: the following two are 0 */
	size_t next;	/* frame of raw->python */
	size_t runs;	/* that are left */
	size_t skip;	/* calls that have no run yet: they have just begun */
	size_t more;	/* runs whose call was not found: they come with the first one */
};

static bool is_eval(const struct namer *namer, const struct unwind_frame *frame)
{
	return frame->map != UNWIND_NO_MAP && frame->address &&
	       pythons_is_eval(namer->pythons, namer->map_files[frame->map], frame->address);
}

static size_t count_runs(const struct raw_stack *raw)
{
	size_t count = 0;

	for (size_t i = 0; i < raw->python_count; i++)
		count += i + 1 == raw->python_count || raw->python[i].flags & RAW_PYTHON_ENTRY;
	return count;
}

/* Where the next run's frame of C has that variable; 0 = not known. */
static uint64_t next_call(const struct raw_stack *raw, const struct python_merge *merge)
{
	for (size_t i = merge->next; i < raw->python_count; i++) {
		uint64_t above = raw_python_call(raw->python[i].flags);

		if (raw->python[i].flags & RAW_PYTHON_ENTRY)
			return above ? raw->regs[RAW_STACK_SP] + above : 0;
	}
	return 0;
}

/* Where both go to the beginning of the thread, calls and runs are as many, but for what is under way. */
static struct python_merge merge_begin(const struct namer *namer, const struct unwind_frame *found,
				       size_t count, bool is_whole)
{
	struct python_merge merge = { .runs = count_runs(&namer->raw) };
	size_t evals = 0;

	merge.is_placed = count && found[count - 1].sp && next_call(&namer->raw, &merge);
	if (!is_whole || namer->raw.flags & RAW_STACK_PYTHON_CUT || merge.is_placed)
		return merge;
	for (size_t i = 0; i < count; i++)
		evals += is_eval(namer, &found[i]);
	merge.skip = evals > merge.runs ? evals - merge.runs : 0;
	merge.more = evals && merge.runs > evals ? merge.runs - evals : 0;
	return merge;
}

static uint32_t python_frame(struct namer *namer, const struct python_place *place)
{
	uint64_t key = hash_bytes(place->function, strlen(place->function), place->line);
	const char *file = place->file ? place->file : "";
	uint32_t number;
	bool is_new;

	key = hash_bytes(file, strlen(file), key);
	number = frame_number(namer, FILE_PYTHON, key, &is_new);
	if (is_new)
		stack_file_frame(namer->out,
				 &(struct stack_frame){
					 .function = place->function,
					 .signature = place->function,
					 .module = place->file ? text_base_name(place->file)
							       : "[python]",
					 .path = place->file,
					 .file = place->file,
					 .line = place->line,
					 .is_script = true,
				 });
	return number;
}

/* The next run. Returns how many of its frames are known. */
static size_t python_run(struct namer *namer, struct python_merge *merge, uint32_t *out_frames)
{
	const struct raw_stack *raw = &namer->raw;
	size_t count = 0;

	if (!merge->runs)
		return 0;
	merge->runs--;
	while (merge->next < raw->python_count) {
		const struct raw_python_frame *frame = &raw->python[merge->next++];
		struct python_place place;

		if (python_codes_find(namer->codes, frame, &place))
			out_frames[count++] = python_frame(namer, &place);
		if (frame->flags & RAW_PYTHON_ENTRY)
			break;
	}
	return count;
}

/* Those that take the place of a call of the interpreter; 0 = it stays what it is. */
static size_t python_frames(struct namer *namer, struct python_merge *merge, uint32_t *out_frames)
{
	size_t count = 0;

	if (merge->skip) {
		merge->skip--;
		return 0;
	}
	for (; merge->more; merge->more--)
		count += python_run(namer, merge, out_frames + count);
	return count + python_run(namer, merge, out_frames + count);
}

/* What takes the place of this frame, whose part of the stack ends at 'end'; 0 = it stays. */
static size_t python_here(struct namer *namer, struct python_merge *merge,
			  const struct unwind_frame *frame, uint64_t end, uint32_t *out_frames)
{
	size_t count = 0;
	uint64_t call = 0;

	if (!merge->is_placed)
		return is_eval(namer, frame) ? python_frames(namer, merge, out_frames) : 0;
	while (merge->runs && (call = next_call(&namer->raw, merge)) && call < end)
		count += python_run(namer, merge, out_frames + count);
	if (!count && merge->runs && !call && is_eval(namer, frame))
		count = python_run(namer, merge, out_frames);
	return count;
}

/* ------------------------------------------------------------------ processes */

static bool is_jit_dump(const char *path)
{
	const char *name = text_base_name(path);
	size_t bytes = strlen(name);

	return strncmp(name, "jit-", 4) == 0 && bytes > 5 && strcmp(name + bytes - 5, ".dump") == 0;
}

/* What its runtime wrote, when it is another process than before. Dumps are mapped as if they were code. */
static void take_jit(struct namer *namer, int32_t tgid)
{
	int fd = jit_files_map(namer->jit_files, tgid);

	if (namer->jit_tgid == tgid)
		return;
	namer->jit_tgid = tgid;
	jit_names_free(namer->jit);
	namer->jit = jit_names_new();
	if (fd >= 0)
		jit_names_read_map(namer->jit, fd);
	for (size_t i = 0; i < namer->map_count; i++) {
		const struct image_file *file = images_file(namer->images, namer->map_files[i]);

		if (file->fd >= 0 && is_jit_dump(file->path))
			jit_names_read_dump(namer->jit, file->fd);
	}
}

static bool is_jit_code(void *context, uint64_t pc)
{
	const struct namer *namer = context;

	return jit_names_has(namer->jit, pc);
}

static void take_process(struct namer *namer, int32_t tgid, uint64_t time_ns)
{
	const struct image_map *maps =
		image_maps_at(namer->maps, tgid, time_ns, &namer->map_count, &namer->until_ns);

	unwinder_free(namer->unwinder);
	for (size_t i = 0; i < namer->map_count; i++) {
		const struct image_file *file = images_file(namer->images, maps[i].file);

		namer->map_files[i] = maps[i].file;
		namer->unwind_maps[i] = (struct unwind_map){ .start = maps[i].start,
							     .bytes = maps[i].bytes,
							     .offset = maps[i].offset,
							     .fd = file->fd,
							     .path = file->path };
	}
	namer->tgid = tgid;
	namer->unwinder = unwinder_new(namer->unwind_maps, namer->map_count);
	take_jit(namer, tgid);
	if (namer->unwinder)
		unwinder_knows(namer->unwinder, is_jit_code, namer);
}

/* Why a stack of this kind ends with its first frame; NULL = it is walked up. */
static const char *why_no_walk(const struct raw_stack *raw)
{
	if (raw->flags & RAW_STACK_FAULT && !raw->bytes)
		return "a page-fault wait ended before its stack could be copied";
	if (raw->flags & RAW_STACK_LEAN)
		return "lean events: stacks of long waits only";
	if (raw->flags & RAW_STACK_CUT)
		return "no room for its stack";
	return raw->flags & RAW_STACK_UNREAD ? "its program is a 32-bit program" : NULL;
}

/* There are too many to have time for all: of samples the place alone is told then. */
static const char *why_no_time(const struct namer *namer)
{
	if (!(namer->raw.flags & RAW_STACK_SAMPLE))
		return NULL;
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) >= WALKING_NS ? "no time to unwind its stack"
								     : NULL;
}

/* Frames of C, and those of Python in their places. What of these is left belongs further out. */
static size_t put_frames(struct namer *namer, const struct unwind_frame *found, size_t count,
			 bool is_whole, uint32_t *frames)
{
	struct python_merge merge = merge_begin(namer, found, count, is_whole);
	size_t put = 0, room = USER_FRAMES_MAX - RAW_PYTHON_FRAMES - UNWIND_INLINED_MAX - 1;

	for (size_t i = 0; i < count && put <= room; i++) {
		uint64_t end = i + 1 < count ? found[i + 1].sp : is_whole ? UINT64_MAX : 0;
		size_t python = python_here(namer, &merge, &found[i], end, frames + put);

		put += python ? python : user_frames(namer, &found[i], frames + put);
	}
	while (!is_whole && merge.runs)
		put += python_run(namer, &merge, frames + put);
	return put;
}

/* Where that is not known, it is as the files of the program are. */
static bool was_32(const struct namer *namer, const struct raw_stack *raw)
{
	if (!(raw->flags & RAW_STACK_TWO))
		return raw->flags & RAW_STACK_COMPAT;
	return unwinder_reg_count(namer->unwinder) == UNWIND_REGS_32 &&
	       raw->regs[RAW_STACK_SP] <= UINT32_MAX && raw->regs[RAW_STACK_PC] <= UINT32_MAX;
}

/* By the numbers that DWARF has for this kind of code. Returns how many; 0 = they are of no use. */
static size_t put_regs(const struct namer *namer, const struct raw_stack *raw,
		       uint64_t values[RAW_STACK_REGS])
{
	memcpy(values, raw->regs, sizeof(raw->regs));
	if (!was_32(namer, raw))
		return unwind_reg_count();
	if (RAW_STACK_UNREAD)
		return 0;
	regs_386(raw->regs, values);
	return UNWIND_REGS_32;
}

/* All but the stack pointer and the program counter, which is the last. */
static uint64_t absent_regs(size_t count)
{
	size_t sp = count == UNWIND_REGS_32 ? UNWIND_SP_32 : RAW_STACK_SP;

	return ((UINT64_C(1) << (count - 1)) - 1) & ~(UINT64_C(1) << sp);
}

/* It is no code as that of the program's files. */
static const char *other_code(const struct raw_stack *raw)
{
	return raw->flags & RAW_STACK_COMPAT
		       ? "it was in 32-bit code, but its files are not known to be a 32-bit program's"
		       : "its files are those of a 32-bit program";
}

static size_t walk_user(struct namer *namer, uint32_t *frames, const char **out_end)
{
	struct unwind_frame found[UNWIND_FRAMES_MAX];
	const struct raw_stack *raw = &namer->raw;
	size_t count;
	const char *no_walk = why_no_walk(raw);
	uint64_t values[RAW_STACK_REGS];
	struct unwind_start start = {
		.regs = values,
		.stack = raw->stack,
		.stack_at = raw->regs[RAW_STACK_SP],
		.stack_bytes = raw->bytes,
	};

	if (!no_walk)
		no_walk = why_no_time(namer);
	*out_end = no_walk;
	if (!namer->unwinder || raw->flags & RAW_STACK_NO_USER)
		return 0;
	if (!namer->map_count) { /* it had ended when it was to be asked */
		*out_end = "it is not known which files its process had mapped";
		return 0;
	}
	start.reg_count = put_regs(namer, raw, values);
	if (start.reg_count != unwinder_reg_count(namer->unwinder)) {
		*out_end = no_walk ? no_walk : other_code(raw);
		return 0;
	}
	if (raw->flags & RAW_STACK_TWO)
		start.absent = absent_regs(start.reg_count);
	count = unwinder_walk(namer->unwinder, &start, found, no_walk ? 1 : UNWIND_FRAMES_MAX,
			      out_end);
	if (no_walk)
		*out_end = no_walk;
	/* The registers are those of one program, and the files may be those of the other. */
	if (raw->flags & RAW_STACK_EXEC && *out_end) {
		*out_end = "one program took the place of another";
		return 0;
	}
	return put_frames(namer, found, count, !*out_end, frames);
}

/* The number of a stack of these frames, which is written when it is new. */
static uint32_t stack_number(struct namer *namer, const uint32_t *frames, size_t count,
			     const char *end)
{
	uint64_t hash = hash_bytes(frames, count * sizeof(*frames), end ? strlen(end) : 0);
	bool is_new;
	uint64_t *number = map_add(&namer->stacks, hash, &is_new);

	if (is_new) {
		*number = namer->stack_count++;
		stack_file_stack(namer->out, frames, count, end);
	}
	return (uint32_t)*number;
}

static void write_wait(struct namer *namer, const struct kept_wait *wait, uint32_t stack)
{
	if (wait->flags & RAW_STACK_SAMPLE) {
		stack_file_sample(namer->out, &(struct stack_sample){ .tid = wait->tid,
								      .time_ns = wait->end_ns,
								      .stack = stack });
		return;
	}
	stack_file_wait(namer->out, &(struct stack_wait){
					    .tid = wait->tid,
					    .stack = stack,
					    .begin_ns = wait->begin_ns,
					    .end_ns = wait->end_ns,
					    .slept_ns = wait->slept_ns,
					    .is_short = wait->flags & RAW_STACK_SHORT,
					    .is_open = wait->flags & RAW_STACK_OPEN,
				    });
}

/* Those of the kept stack 'index', which is 'number' in the file. */
static void write_waits(struct namer *namer, uint32_t index, uint32_t number, size_t *next_wait)
{
	const struct kept_wait *waits = stack_keep_waits(namer->keep, &(size_t){ 0 });

	for (; *next_wait < namer->wait_count; (*next_wait)++) {
		const struct kept_wait *wait = &waits[namer->by_stack[*next_wait]];

		if (wait->stack != index)
			break;
		if (wait->end_ns >= namer->since_ns)
			write_wait(namer, wait, number);
	}
}

/* The file of the malloc that waits for a lock of its own; 'frames' are the user's. */
static uint32_t malloc_file(struct namer *namer, const uint32_t *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t *found = map_find(&namer->libc_frames, frames[i]);

		if (!found)
			break;
		if (*found & 1)
			return (uint32_t)(*found >> 1);
	}
	return FUTEX_NO_FILE;
}

/* The words that were waited for with the kept stack, which is 'number' in the file. */
static void name_futexes(struct namer *namer, const struct kept_stack *stack, uint32_t number,
			 uint32_t malloc_file)
{
	const struct kept_futex *futexes = stack_keep_futexes(namer->keep, &(size_t){ 0 });
	const struct futex_files files = { namer->unwind_maps, namer->map_files, namer->map_count,
					   names_of_file, namer };

	for (uint32_t next = stack->futex; next; next = futexes[next - 1].next) {
		const struct kept_futex *futex = &futexes[next - 1];
		struct futex_seen seen = { .raw = futex->raw,
					   .tgid = stack->tgid,
					   .stack = number,
					   .malloc_file = malloc_file };

		image_maps_life(namer->maps, stack->tgid, futex->time_ns, &seen.from_ns,
				&seen.until_ns);
		futex_names_add(namer->futexes, &files, &seen);
	}
}

/* Is one of its waits? */
static bool is_wanted(const struct namer *namer, uint32_t index, size_t next_wait)
{
	const struct kept_wait *waits = stack_keep_waits(namer->keep, &(size_t){ 0 });

	for (; next_wait < namer->wait_count; next_wait++) {
		const struct kept_wait *wait = &waits[namer->by_stack[next_wait]];

		if (wait->stack != index)
			return false;
		if (wait->end_ns >= namer->since_ns)
			return true;
	}
	return false;
}

static void name_stack(struct namer *namer, const struct kept_stack *stack, uint32_t index,
		       size_t *next_wait)
{
	uint32_t frames[FRAMES_MAX];
	const char *end = NULL;
	size_t count = 0, kernel_count;
	uint32_t number;

	if ((namer->since_ns && !is_wanted(namer, index, *next_wait)) ||
	    !stack_keep_read(namer->keep, stack, &namer->raw))
		return;
	if (namer->tgid != stack->tgid || stack->time_ns >= namer->until_ns)
		take_process(namer, stack->tgid, stack->time_ns);
	for (; count < namer->raw.kernel_count && count < RAW_STACK_KERNEL; count++)
		frames[count] = kernel_frame(namer, namer->raw.kernel[count]);
	kernel_count = count;
	count += walk_user(namer, frames + count, &end);
	number = stack_number(namer, frames, count, end);
	if (stack->futex)
		name_futexes(namer, stack, number,
			     malloc_file(namer, frames + kernel_count, count - kernel_count));
	write_waits(namer, index, number, next_wait);
}

/* ------------------------------------------------------------------ in order */

struct order {
	const struct kept_stack *stacks;
	const struct kept_wait *waits;
};

/* The youngest process first: those that were started for the recording. */
static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct kept_stack *x = &order->stacks[*(const uint32_t *)a];
	const struct kept_stack *y = &order->stacks[*(const uint32_t *)b];

	if (x->tgid != y->tgid)
		return x->tgid > y->tgid ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int compare_waits(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct kept_wait *x = &order->waits[*(const uint32_t *)a];
	const struct kept_wait *y = &order->waits[*(const uint32_t *)b];

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x < y ? -1 : x > y;
}

static uint32_t *sorted(size_t count, int (*compare)(const void *, const void *, void *),
			struct order *order)
{
	uint32_t *indexes = xcalloc(count + 1, sizeof(*indexes));

	for (size_t i = 0; i < count; i++)
		indexes[i] = (uint32_t)i;
	qsort_r(indexes, count, sizeof(*indexes), compare, order);
	return indexes;
}

/* Where in 'by_stack' the waits of each stack begin. */
static size_t *first_waits(const struct kept_wait *waits, const uint32_t *by_stack,
			   size_t wait_count, size_t stack_count)
{
	size_t *first = xcalloc(stack_count + 1, sizeof(*first));

	for (size_t i = wait_count; i-- > 0;)
		first[waits[by_stack[i]].stack] = i;
	return first;
}

static int name_all(struct namer *namer)
{
	size_t stack_count;
	struct order order = {
		.stacks = stack_keep_stacks(namer->keep, &stack_count),
		.waits = stack_keep_waits(namer->keep, &namer->wait_count),
	};
	AUTO_FREE uint32_t *by_process = sorted(stack_count, compare_stacks, &order);
	AUTO_FREE uint32_t *by_stack = sorted(namer->wait_count, compare_waits, &order);
	AUTO_FREE size_t *first =
		first_waits(order.waits, by_stack, namer->wait_count, stack_count);

	namer->by_stack = by_stack;
	stack_file_begin(namer->out);
	if (namer->sampling->period_ns)
		stack_file_sampling(namer->out, namer->sampling);
	for (size_t i = 0; i < stack_count; i++) {
		const struct kept_stack *stack = &order.stacks[by_process[i]];

		/* What is written is whole, whatever the next process's files do to us. */
		if (stack->tgid != namer->tgid)
			futex_names_write(namer->futexes);
		if (stack->tgid != namer->tgid || stack_count <= FEW_STACKS)
			(void)fflush(namer->out);
		name_stack(namer, stack, by_process[i], &first[by_process[i]]);
	}
	futex_names_write(namer->futexes);
	return fflush(namer->out) == 0 && !ferror(namer->out) ? 0 : -errno;
}

/* ------------------------------------------------------------------ the child */

void stack_names_run(const struct stack_names_from *from, const struct stack_sampling *sampling,
		     int fd)
{
	struct namer *namer = xcalloc(1, sizeof(*namer));

	namer->sampling = sampling;
	namer->keep = from->keep;
	namer->since_ns = from->since_ns;
	namer->names_later = from->names_later;
	if (from->since_ns) /* the flight recorder goes on meanwhile */
		share_lower();
	namer->images = from->images;
	namer->jit_files = from->jit_files;
	namer->pythons = from->pythons;
	namer->codes = from->codes;
	namer->tgid = namer->jit_tgid = -1;
	namer->out = fdopen(fd, "w");
	name_child_give_up();
	namer->maps = image_maps_new(namer->images);
	namer->futexes = futex_names_new(namer->images, namer->pythons, namer->out);
	_exit(namer->out && name_all(namer) == 0 ? 0 : 1);
}

/* A child that was ended left a part of a line. */
static void keep_whole_lines(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char block[BUFSIZ];

	while (size > 0) {
		const size_t bytes =
			(size_t)size % sizeof(block) ? (size_t)size % sizeof(block) : sizeof(block);
		const char *end;

		if (pread(fd, block, bytes, size - (off_t)bytes) != (ssize_t)bytes)
			return;
		size -= (off_t)bytes;
		end = memrchr(block, '\n', bytes);
		if (end) {
			size += end + 1 - block;
			break;
		}
	}
	/* Else the reader says that a line is damaged. */
	if (ftruncate(fd, size) < 0)
		return;
}

int stack_names_begin(const struct stack_names_from *from, const struct stack_sampling *sampling,
		      int kernel_fd, struct stack_naming *out_naming, struct err *err)
{
	int fd = openat(kernel_fd, "stacks", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	pid_t pid;

	if (fd < 0)
		return err_set(err, -errno, "kernel/stacks: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		stack_names_run(from, sampling, fd);
	if (pid < 0) {
		int rc = err_set(err, -errno, "cannot start a process to unwind stacks: %s",
				 strerror(errno));

		mem_close_fd(&fd);
		return rc;
	}
	(void)flock(fd, LOCK_EX | LOCK_NB); /* name_trace() waits for nobody, and sees it */
	*out_naming = (struct stack_naming){ pid, fd, pidfd_open(pid, 0) };
	return 0;
}

int stack_names_end(struct stack_naming *naming, struct err *err)
{
	int rc = 0;

	if (naming->pid)
		rc = name_child_await(naming->pid, WAIT_MS, err);
	if (rc < 0)
		keep_whole_lines(naming->fd);
	mem_close_fd(&naming->fd);
	mem_close_fd(&naming->end_fd);
	*naming = STACK_NAMING_NONE;
	return rc;
}

int stack_names_write(const struct stack_names_from *from, const struct stack_sampling *sampling,
		      int kernel_fd, struct err *err)
{
	struct stack_naming naming = STACK_NAMING_NONE;
	int rc = stack_names_begin(from, sampling, kernel_fd, &naming, err);

	return rc < 0 ? rc : stack_names_end(&naming, err);
}
