/*
 * futex_names.c - see futex_names.h.
 *
 *	a variable      its symbol covers the word; which member, by debug information
 *	a shared file   a shared mapping of it has the word
 *	Python's GIL    in _PyRuntime of a CPython that is known: mutexes and conditions of the GIL are the only
 *	                ones that lie there (Include/internal/pycore_gil.h, pycore_condvar.h)
 *	malloc arena    glibc's main_arena; where that has no symbol, what malloc waits for in the C library's
 *	                initialised data: its other locks begin as 0. Or behind the head of a heap, which is
 *	                aligned (malloc/arena.c: HEAP_MAX_SIZE, struct heap_info)
 */
#include "record/futex_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/text.h"
#include "event/stacks.h"
#include "record/images.h"
#include "record/pythons.h"
#include "store/stack_file.h"
#include "symbol/unwind.h"
#include "symbol/variables.h"

#define HEAP_BYTES (UINT64_C(64) << 20) /* that heaps of malloc are aligned to */
#define HEAP_HEAD  0x30			/* of struct heap_info; before glibc 2.35: */
#define HEAP_OLD   0x20

struct futex_name {
	struct stack_futex told;
	uint32_t kind; /* enum raw_futex_kind */
};

struct futex_names {
	const struct images *images;
	const struct pythons *pythons;
	FILE *out;
	struct futex_name *names; /* owned; of the process that is being looked at */
	size_t count, cap;
	struct map index; /* hash of what was seen -> 1 */
};

struct futex_names *futex_names_new(const struct images *images, const struct pythons *pythons,
				    FILE *out)
{
	struct futex_names *names = xcalloc(1, sizeof(*names));

	names->images = images;
	names->pythons = pythons;
	names->out = out;
	return names;
}

static void names_clear(struct futex_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free((char *)names->names[i].told.name);
	names->count = 0;
	map_fini(&names->index);
	names->index = (struct map){ 0 };
}

int futex_is_libc(const char *path)
{
	const char *name = text_base_name(path);

	return strcmp(name, "libc.so.6") == 0 || strncmp(name, "libc-2.", 7) == 0;
}

/* ------------------------------------------------------------------ one word */

/* In which file's data it lies; FUTEX_NO_FILE = in none. */
static uint32_t find_file(const struct futex_files *files, const struct raw_futex *raw,
			  struct variable *out_variable)
{
	struct variable_at at = { .address = raw->address,
				  .start = raw->start,
				  .offset = raw->page * (uint64_t)sysconf(_SC_PAGESIZE) };

	if (raw->kind != RAW_FUTEX_FILE)
		return FUTEX_NO_FILE;
	for (size_t i = 0; i < files->count; i++) {
		struct unwind_names *names =
			files->maps[i].fd < 0 ? NULL
					      : files->names(files->context, files->numbers[i]);

		at.code_start = files->maps[i].start;
		at.code_offset = files->maps[i].offset;
		at.code_bytes = files->maps[i].bytes;
		if (names && variables_find(names, &at, out_variable))
			return files->numbers[i];
	}
	return FUTEX_NO_FILE;
}

static bool is_arena(const struct futex_names *names, const struct futex_seen *seen, uint32_t file,
		     const struct variable *variable)
{
	uint64_t behind = seen->raw.address & (HEAP_BYTES - 1);

	if (file == FUTEX_NO_FILE)
		return seen->raw.kind == RAW_FUTEX_OTHER && seen->malloc_file != FUTEX_NO_FILE &&
		       (behind == HEAP_HEAD || behind == HEAP_OLD);
	if (variable->name)
		return strcmp(variable->name, "main_arena") == 0 && variable->offset == 0 &&
		       futex_is_libc(images_file(names->images, file)->path);
	return seen->malloc_file == file && variable->is_initialised;
}

/* "bank.lock"; without debug information "bank+0x28". */
static char *variable_text(const struct variable *variable)
{
	const char *member = variable->member ? variable->member : "";
	uint64_t offset = variable->member ? variable->member_offset : variable->offset;

	return offset ? xasprintf("%s%s+0x%llx", variable->name, member, (unsigned long long)offset)
		      : xasprintf("%s%s", variable->name, member);
}

/* Of shared memory that has no file the kernel makes one up. */
static char *shared_text(const struct raw_futex *raw)
{
	uint64_t offset = raw->address - raw->start + raw->page * (uint64_t)sysconf(_SC_PAGESIZE);
	AUTO_FREE char *path = xstrndup(raw->path, strnlen(raw->path, sizeof(raw->path)));

	if (!*path || strcmp(path, "dev/zero") == 0 || strcmp(path, "/dev/zero") == 0)
		return NULL;
	return xasprintf("%s+0x%llx", path, (unsigned long long)offset);
}

static void name_word(const struct futex_names *names, const struct futex_files *files,
		      const struct futex_seen *seen, struct stack_futex *told)
{
	struct variable variable = { 0 };
	uint32_t file = find_file(files, &seen->raw, &variable);

	if (seen->raw.kind == RAW_FUTEX_SHARED) {
		told->name = shared_text(&seen->raw);
		told->kind = told->name ? STACK_FUTEX_SHARED : STACK_FUTEX_PLACE;
		return;
	}
	if (is_arena(names, seen, file, &variable)) {
		told->kind = STACK_FUTEX_ARENA;
		return;
	}
	if (file == FUTEX_NO_FILE || !variable.name)
		return;
	if (strcmp(variable.name, "_PyRuntime") == 0 && pythons_has_file(names->pythons, file)) {
		told->kind = STACK_FUTEX_GIL;
		return;
	}
	told->kind = STACK_FUTEX_VARIABLE;
	told->name = variable_text(&variable);
	told->module = text_base_name(images_file(names->images, file)->path);
}

void futex_names_add(struct futex_names *names, const struct futex_files *files,
		     const struct futex_seen *seen)
{
	struct futex_name name = { .told = { .tgid = seen->tgid,
					     .address = seen->raw.address,
					     .from_ns = seen->from_ns,
					     .until_ns = seen->until_ns,
					     .stack = seen->stack },
				   .kind = seen->raw.kind };
	uint64_t hash = hash_bytes(&seen->raw, sizeof(seen->raw), seen->from_ns);
	bool is_new;

	/* Alike but for the stack: the first one tells, and whether malloc waited. */
	(void)map_add(&names->index, hash ^ (seen->malloc_file != FUTEX_NO_FILE), &is_new);
	if (!is_new)
		return;
	name_word(names, files, seen, &name.told);
	names->names = vec_room(names->names, names->count, &names->cap, sizeof(*names->names));
	names->names[names->count++] = name;
}

/* ------------------------------------------------------------------ all of a process */

ORDER_FUNCTION(compare_names, struct futex_name, ORDER_UP(told.address), ORDER_UP(told.from_ns),
	       ORDER_UP(told.stack));

/* A path, and the last part of it, as one of them has only that. */
static bool is_tail(const char *path, const char *tail)
{
	size_t bytes = strlen(path), end = strlen(tail);

	return bytes > end && path[bytes - end - 1] == '/' && strcmp(path + bytes - end, tail) == 0;
}

static bool is_same_name(const struct futex_name *name, const struct futex_name *other)
{
	const char *one = name->told.name, *two = other->told.name;

	return !one || !two || strcmp(one, two) == 0 ||
	       (name->kind == RAW_FUTEX_SHARED && (is_tail(one, two) || is_tail(two, one)));
}

/* Can both be true of one word? What was not looked at contradicts nothing. */
static bool fits(const struct futex_name *name, const struct futex_name *other)
{
	if (name->kind == RAW_FUTEX_UNKNOWN || other->kind == RAW_FUTEX_UNKNOWN)
		return true;
	return name->kind == other->kind && is_same_name(name, other);
}

/* Of what was seen of one word, by stack, the first with the most in it. */
static void write_word(const struct futex_names *names, size_t from, size_t to)
{
	struct stack_futex told = names->names[from].told;

	for (size_t i = from + 1; i < to; i++) {
		const struct stack_futex *other = &names->names[i].told;

		if (other->kind < told.kind ||
		    (other->kind == told.kind &&
		     !(told.kind == STACK_FUTEX_SHARED && is_tail(other->name, told.name))))
			continue;
		told.kind = other->kind;
		told.name = other->name;
		told.module = other->module;
	}
	for (size_t i = from; i + 1 < to; i++) {
		for (size_t k = i + 1; k < to && k < i + 8; k++) {
			if (!fits(&names->names[i], &names->names[k]))
				told.kind = STACK_FUTEX_PLACE;
		}
	}
	if (told.kind != STACK_FUTEX_VARIABLE && told.kind != STACK_FUTEX_SHARED)
		told.name = told.module = NULL;
	stack_file_futex(names->out, &told);
}

void futex_names_write(struct futex_names *names)
{
	size_t from = 0;

	if (names->count)
		qsort(names->names, names->count, sizeof(*names->names), compare_names);
	for (size_t i = 1; i <= names->count; i++) {
		const struct stack_futex *first = &names->names[from].told;

		if (i < names->count && names->names[i].told.address == first->address &&
		    names->names[i].told.from_ns == first->from_ns)
			continue;
		write_word(names, from, i);
		from = i;
	}
	names_clear(names);
}
