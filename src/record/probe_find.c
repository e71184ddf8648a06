/*
 * probe_find.c - from what the user wrote to places in files.
 *
 * The kernel counts in bytes of the file, symbols and notes in addresses; the file's
 * segments tie the two.
 */
#include "record/probe_find.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/drop.h"
#include "record/events.h"
#include "record/ftrace.h"
#include "record/probe_args.h"
#include "record/probe_spec.h"
#include "record/probes.h"
#include "store/manifest.h"
#include "symbol/binary.h"
#include "symbol/elf_file.h"
#include "symbol/near.h"
#include "attach/files.h"

#define DEBUG_ROOT	"/usr/lib/debug"
#define FILES_MAX	512
#define FUNCTION_SYSTEM "probe"

#if defined(__x86_64__)
#define MACHINE ELF_MACHINE_X86_64
#elif defined(__aarch64__)
#define MACHINE ELF_MACHINE_AARCH64
#else
#define MACHINE ELF_MACHINE_OTHER
#endif

/* A program or library that is looked into. */
struct looked {
	const char *path;
	struct elf_file *file;
};

/*
 * The file is opened once: the kernel gets this one by its descriptor, whatever has its name by
 * then. It is opened with the rights of the user who named it.
 */
int probe_open_named(const struct probe_finder *finder, const char *path,
		     struct elf_file **out_file, struct err *err)
{
	struct guard_lent lent;
	int rc = guard_lend(finder->user, &lent, err);

	if (rc < 0)
		return rc;
	rc = elf_file_open(path, out_file, err);
	guard_take_back(&lent);
	return rc;
}

/* What a process executes: no link that it made leads out of what it sees itself. */
int probe_open_mapped(const char *path, int32_t pid, struct elf_file **out_file, struct err *err)
{
	AUTO_FREE char *top = xasprintf("/proc/%d/root", (int)pid);
	AUTO_CLOSE int root_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (root_fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", top, strerror(errno));
	fd = user_open_in(root_fd, path + strlen(top), O_RDONLY);
	if (fd < 0)
		return err_set(err, fd, "cannot open %s: %s", path, strerror(-fd));
	return elf_file_take(fd, path, out_file, err);
}

/* 'pid': of which process it is mapped; 0 = the user named it. */
static int open_binary(const struct probe_finder *finder, const char *path, int32_t pid,
		       struct looked *out_looked, struct err *err)
{
	int rc = pid ? probe_open_mapped(path, pid, &out_looked->file, err)
		     : probe_open_named(finder, path, &out_looked->file, err);

	if (rc < 0)
		return rc;
	out_looked->path = path;
	if (elf_file_machine(out_looked->file) == MACHINE && MACHINE != ELF_MACHINE_OTHER)
		return 0;
	elf_file_close(out_looked->file);
	out_looked->file = NULL;
	return err_set(err, -ENOEXEC, "%s is not for this machine's 64-bit processors", path);
}

/* binary_find() with the user's rights: what is there is told to those only who may see it. */
static int find_named(const struct probe_finder *finder, const char *name, char **out_path,
		      struct err *err)
{
	struct guard_lent lent;
	int rc = guard_lend(finder->user, &lent, err);

	if (rc < 0)
		return rc;
	rc = binary_find(name, out_path, err);
	guard_take_back(&lent);
	return rc;
}

/* Text that grows by words with blanks between. */
static void add_word(char **text, char *word)
{
	char *longer = **text ? xasprintf("%s %s", *text, word) : xstrdup(word);

	free(*text);
	free(word);
	*text = longer;
}

/* ------------------------------------------------------------------ functions */

/*
 * What is fetched, in the kernel's words: "@SYMBOL", memory of the program, is told by how far it is
 * from the point, which is the only way to say so.
 */
static int fetch_text(const struct looked *looked, uint64_t address, uint64_t offset,
		      const char *fetch, char **out_text, struct err *err)
{
	char *text = xstrdup("");

	*out_text = text;
	while (*fetch) {
		const char *at = strchr(fetch, '@');
		size_t before = at ? (size_t)(at - fetch) + 1 : strlen(fetch);
		size_t bytes = at ? strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_0123456789"
						   "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
				  : 0;
		AUTO_FREE char *name = bytes ? xstrndup(at + 1, bytes) : NULL;
		uint64_t found;

		if (!name || isdigit((unsigned char)*name)) {
			*out_text = xasprintf("%s%.*s", text, (int)before, fetch);
			bytes = 0;
		} else if (!elf_file_find(looked->file, name, &found)) {
			return err_set(err, -ENOENT, "%s has no %s in its tables", looked->path,
				       name);
		} else {
			*out_text = xasprintf("%s%.*s+0x%" PRIx64, text, (int)before, fetch,
					      found - address + offset);
		}
		free(text);
		text = *out_text;
		fetch += before + bytes;
	}
	return 0;
}

/* Add an argument that says itself what it is fetched from. */
static int add_fetch(const struct looked *looked, uint64_t address, uint64_t offset,
		     const struct probe_arg *arg, char **args, char **shape, struct err *err)
{
	char *text = NULL;
	int rc = fetch_text(looked, address, offset, arg->fetch, &text, err);

	if (rc < 0) {
		free(text);
		return rc;
	}
	add_word(args, text);
	add_word(shape, xstrdup(arg->fetch));
	return 0;
}

/* Where the arguments of a function are, and their shape; the point is at 'address' and 'offset'. */
static int function_args(const struct looked *looked, uint64_t address, uint64_t offset,
			 const struct probe_spec *spec, char **args, char **shape, struct err *err)
{
	for (size_t i = 0; i < spec->arg_count; i++) {
		const struct probe_arg *arg = &spec->args[i];
		struct probe_fetch fetch = { "$retval" };
		const char *type = arg->type ? arg->type : spec->is_return ? "s64" : "u64";

		if (!arg->name[0])
			continue;
		if (arg->fetch) {
			int rc = add_fetch(looked, address, offset, arg, args, shape, err);

			if (rc < 0)
				return rc;
			continue;
		}
		if (!spec->is_return && (spec->offset || !spec->name))
			return err_set(err, -ENOTSUP,
				       "arguments are known only at the start of a function; at an "
				       "address give their location: %s=%%ax:u64",
				       arg->name);
		if (!spec->is_return)
			fetch = probe_abi_arg(MACHINE, i);
		add_word(args, probe_arg_text(arg->name, fetch.text, type));
		add_word(shape, xasprintf("%s:%s", arg->name, type));
	}
	return 0;
}

static int add_function(struct probe_finder *finder, const struct looked *looked,
			const struct probe_spec *spec, const char *name, uint64_t address,
			struct err *err)
{
	AUTO_FREE char *args = xstrdup(""), *shape = xstrdup(spec->is_return ? "r" : "p");
	AUTO_FREE char *event = NULL;
	struct probe_found found = { .system = FUNCTION_SYSTEM,
				     .path = looked->path,
				     .file_fd = elf_file_fd(looked->file),
				     .kind = spec->is_return ? 'r' : 'p',
				     .wish = finder->index,
				     .is_known = finder->is_known };
	int rc;

	if (!elf_file_offset(looked->file, address, true, &found.offset))
		return err_set(err, -ENOENT, "0x%" PRIx64 " is not in the code of %s", address,
			       looked->path);
	rc = function_args(looked, address, found.offset, spec, &args, &shape, err);
	if (rc < 0)
		return rc;
	if (!spec->name)
		event = xasprintf("at_0x%" PRIx64, address);
	else if (spec->offset)
		event = xasprintf("%s_0x%" PRIx64, name, spec->offset);
	else
		event = xasprintf("%s%s", name, spec->is_return ? "__return" : "");
	found.event = event;
	found.args = args;
	found.shape = shape;
	return probes_add(finder->probes, &found, err);
}

/* Does the symbol have the name and version? Names of .symtab may carry their version. */
static bool symbol_is_wanted(const struct probe_spec *spec, const struct elf_symbol *symbol)
{
	size_t bytes = strcspn(symbol->name, "@");
	const char *version = symbol->name + bytes;
	AUTO_FREE char *name = NULL;

	version += strspn(version, "@");
	version = *version ? version : symbol->version;
	if (spec->version && (!version || strcmp(version, spec->version) != 0))
		return false;
	if (!probe_spec_has_wildcards(spec->name))
		return strlen(spec->name) == bytes && !strncmp(spec->name, symbol->name, bytes);
	if (symbol->kind != ELF_SYMBOL_FUNCTION || symbol->is_imported)
		return false;
	name = xstrndup(symbol->name, bytes);
	return fnmatch(spec->name, name, 0) == 0;
}

/* Has another name of the same place been taken? Then a pattern takes it once. */
static bool is_alias(const struct elf_symbol *const *taken, size_t count,
		     const struct elf_symbol *symbol)
{
	for (size_t i = 0; i < count; i++) {
		if (taken[i]->address == symbol->address)
			return true;
	}
	return false;
}

static int no_function(const struct looked *looked, const struct probe_spec *spec, bool is_imported,
		       struct err *err)
{
	size_t count, needed_count;
	const struct elf_symbol *symbols = elf_file_symbols(looked->file, &count);
	const char *const *needed = elf_file_needed(looked->file, &needed_count);
	AUTO_FREE char *safe = text_escaped(spec->name);
	struct near near = { .wanted = spec->name };

	if (is_imported)
		return err_set(err, -ENOENT,
			       "%s has no function %s; the function may be in a library, perhaps "
			       "%s:%s",
			       looked->path, safe, needed_count ? needed[0] : "libc.so.6", safe);
	for (size_t i = 0; i < count; i++) {
		if (symbols[i].kind == ELF_SYMBOL_FUNCTION && !symbols[i].is_imported)
			near_offer(&near, symbols[i].name);
	}
	if (near.count)
		return err_set(err, -ENOENT, "%s has no function %s%s%s; close to it: %s",
			       looked->path, safe, spec->version ? "@" : "",
			       spec->version ? spec->version : "", near_text(&near).s);
	return err_set(
		err, -ENOENT, "%s has no function %s%s%s%s", looked->path, safe,
		spec->version ? "@" : "", spec->version ? spec->version : "",
		elf_file_has_symtab(looked->file)
			? ""
			: "; it is stripped, so only what it exports has a name: install its "
			  "debug symbols, or write an address (PROGRAM:0x1139)");
}

static int indirect_function(const struct looked *looked, const struct elf_symbol *symbol,
			     struct err *err)
{
	return err_set(
		err, -ENOTSUP,
		"%s of %s is an indirect function (IFUNC), resolved when a program starts; name "
		"the resolved function instead",
		symbol->name, looked->path);
}

static int find_symbols(struct probe_finder *finder, const struct looked *looked,
			const struct probe_spec *spec, struct err *err)
{
	bool is_pattern = probe_spec_has_wildcards(spec->name), is_imported = false;
	const struct elf_symbol *taken[PROBES_MAX];
	size_t count, taken_count = 0;
	const struct elf_symbol *symbols = elf_file_symbols(looked->file, &count);

	for (size_t i = 0; i < count; i++) {
		const struct elf_symbol *symbol = &symbols[i];

		if (!symbol_is_wanted(spec, symbol))
			continue;
		is_imported |= symbol->is_imported;
		if (symbol->is_imported || symbol->kind == ELF_SYMBOL_DATA)
			continue;
		if (symbol->kind == ELF_SYMBOL_INDIRECT)
			return indirect_function(looked, symbol, err);
		if (is_alias(taken, taken_count, symbol))
			continue;
		if (taken_count == PROBES_MAX)
			return err_set(err, -E2BIG,
				       "more than %d functions of %s match %s; that is too many",
				       PROBES_MAX, looked->path, spec->name);
		taken[taken_count++] = symbol;
	}
	if (!taken_count)
		return no_function(looked, spec, is_imported, err);
	for (size_t i = 0; i < taken_count; i++) {
		AUTO_FREE char *name = xstrndup(taken[i]->name, strcspn(taken[i]->name, "@"));
		int rc = add_function(finder, looked, spec, is_pattern ? name : spec->name,
				      taken[i]->address + spec->offset, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

int probe_find_function(struct probe_finder *finder, const struct probe_spec *spec, struct err *err)
{
	AUTO_FREE char *path = NULL;
	struct looked looked = { 0 };
	int rc = find_named(finder, spec->binary, &path, err);

	if (rc == 0)
		rc = open_binary(finder, path, 0, &looked, err);
	if (rc < 0)
		return rc;
	elf_file_add_debug(looked.file, DEBUG_ROOT);
	if (spec->name)
		rc = find_symbols(finder, &looked, spec, err);
	else
		rc = add_function(finder, &looked, spec, NULL, spec->offset, err);
	elf_file_close(looked.file);
	return rc;
}

/* ----------------------------------------------------------------------- USDT */

/* Nothing of a program may pass for an event of the kernel. */
static char *system_of(const struct probe_finder *finder, const char *provider)
{
	AUTO_FREE char *path = xasprintf("events/%s", provider);
	bool is_taken = strchr(provider, '/') || !strcmp(provider, FUNCTION_SYSTEM) ||
			!strcmp(provider, "holdup") || events_has_system(provider) ||
			ftrace_has(finder->tracing_fd, path);

	return xasprintf("%s%s", is_taken ? "usdt_" : "", provider);
}

static void note_operand(struct probe_finder *finder, const struct elf_usdt *point, size_t index,
			 const char *why)
{
	AUTO_FREE char *what =
		xasprintf("argument %zu of %s:%s", index + 1, point->provider, point->name);

	for (size_t i = 0; i < finder->manifest->missing_count; i++) {
		if (!strcmp(finder->manifest->missing[i].what, what))
			return;
	}
	manifest_add_missing(finder->manifest, what, why);
}

/* How many arguments stand in the places of the point's; those that say what they are come behind. */
static size_t placed_args(const struct probe_spec *spec)
{
	size_t count = spec->arg_count;

	while (count && spec->args[count - 1].fetch)
		count--;
	return count;
}

/* One argument of a point: its name and type are the user's, or "arg1" and the point's. */
static int usdt_arg(struct probe_finder *finder, const struct probe_spec *spec,
		    const struct elf_usdt *point, size_t index, const struct usdt_operand *operand,
		    char *texts[2], struct err *err)
{
	const struct probe_arg *arg = index < placed_args(spec) ? &spec->args[index] : NULL;
	const char *type = arg && arg->type ? arg->type : operand->type;
	char name[PROBE_ARG_NAME_MAX + 1];

	if (spec->has_args && (!arg || !arg->name[0]))
		return 0;
	snprintf(name, sizeof(name), "arg%zu", index + 1);
	if (arg)
		strcpy(name, arg->name);
	if (!operand->fetch[0] && arg)
		return err_set(err, -ENOTSUP, "argument %zu of %s:%s cannot be recorded: %s",
			       index + 1, point->provider, point->name, operand->why);
	if (!operand->fetch[0]) {
		if (!finder->is_known)
			note_operand(finder, point, index, operand->why);
		return 0;
	}
	add_word(&texts[0], probe_arg_text(name, operand->fetch, type));
	add_word(&texts[1], xasprintf("%s:%s", name, type));
	return 0;
}

static int usdt_args(struct probe_finder *finder, const struct looked *looked,
		     const struct probe_spec *spec, const struct elf_usdt *point,
		     const struct probe_place *place, char *texts[2], struct err *err)
{
	const char *text = point->args;
	size_t placed = placed_args(spec);
	struct usdt_operand operand;
	size_t index = 0;
	int rc = 0;

	for (; rc == 0 && usdt_next_operand(MACHINE, place, &text, &operand); index++) {
		if (index < PROBE_ARGS_MAX)
			rc = usdt_arg(finder, spec, point, index, &operand, texts, err);
	}
	if (rc == 0 && index < placed)
		return err_set(err, -EINVAL, "%s:%s has %zu %s, not %zu", point->provider,
			       point->name, index, index == 1 ? "argument" : "arguments", placed);
	for (size_t i = placed; rc == 0 && i < spec->arg_count; i++)
		rc = add_fetch(looked, place->address, place->offset, &spec->args[i], &texts[0],
			       &texts[1], err);
	return rc;
}

static int add_point(struct probe_finder *finder, const struct looked *looked,
		     const struct probe_spec *spec, const struct elf_usdt *point, struct err *err)
{
	AUTO_FREE char *system = system_of(finder, point->provider);
	char *texts[2] = { xstrdup(""), xstrdup("p") };
	struct probe_place place = { looked->file, point->address, 0 };
	struct probe_found found = { .system = system,
				     .event = point->name,
				     .path = looked->path,
				     .file_fd = elf_file_fd(looked->file),
				     .kind = 'p',
				     .wish = finder->index,
				     .is_known = finder->is_known };
	int rc = 0;

	if (!elf_file_offset(looked->file, point->address, true, &found.offset) ||
	    (point->semaphore &&
	     !elf_file_offset(looked->file, point->semaphore, false, &found.counter_offset)))
		rc = err_set(err, -ENOENT, "%s:%s of %s is not in a loaded segment",
			     point->provider, point->name, looked->path);
	place.offset = found.offset;
	if (rc == 0)
		rc = usdt_args(finder, looked, spec, point, &place, texts, err);
	found.args = texts[0];
	found.shape = texts[1];
	if (rc == 0)
		rc = probes_add(finder->probes, &found, err);
	free(texts[0]);
	free(texts[1]);
	return rc;
}

/* Add the points of a file that match. Returns how many did, or a negative errno. */
static int find_points(struct probe_finder *finder, const struct looked *looked,
		       const struct probe_spec *spec, struct err *err)
{
	size_t count;
	const struct elf_usdt *points = elf_file_usdt(looked->file, &count);
	int matches = 0;

	for (size_t i = 0; i < count; i++) {
		int rc;

		if (fnmatch(spec->provider, points[i].provider, 0) ||
		    fnmatch(spec->name, points[i].name, 0))
			continue;
		rc = add_point(finder, looked, spec, &points[i], err);
		if (rc < 0)
			return rc;
		matches++;
	}
	return matches;
}

static void offer_points(const struct looked *looked, struct near *near)
{
	size_t count;
	const struct elf_usdt *points = elf_file_usdt(looked->file, &count);

	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *name = xasprintf("%s:%s", points[i].provider, points[i].name);

		near_offer(near, name);
	}
}

/* Paths of files, each once. */
struct file_path {
	char *path;
	int32_t pid; /* of which process it is mapped; 0 = none */
};

struct paths {
	struct file_path *items;
	size_t count;
	size_t cap;
};

static void paths_add(struct paths *paths, char *path, int32_t pid)
{
	for (size_t i = 0; i < paths->count; i++) {
		if (!strcmp(paths->items[i].path, path)) {
			free(path);
			return;
		}
	}
	if (paths->count >= FILES_MAX) {
		free(path);
		return;
	}
	paths->items = vec_room(paths->items, paths->count, &paths->cap, sizeof(*paths->items));
	paths->items[paths->count++] = (struct file_path){ path, pid };
}

static void paths_fini(struct paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->items[i].path);
	free(paths->items);
}

/* The libraries that a file needs, as far as the loader's cache has them. */
static void add_needed(struct paths *paths, const struct elf_file *file)
{
	size_t count;
	const char *const *needed = elf_file_needed(file, &count);

	for (size_t i = 0; i < count; i++) {
		char *path = strchr(needed[i], '/')
				     ? xstrdup(needed[i])
				     : binary_find_library(needed[i], BINARY_LOADER_CACHE);

		if (path)
			paths_add(paths, path, 0);
	}
}

/* "5580-5590 r-xp 00001000 fe:00 123    /usr/bin/x" */
void probe_each_mapped(int32_t pid, probe_mapped_fn *each, void *context)
{
	AUTO_FREE char *name = xasprintf("/proc/%d/maps", (int)pid);
	AUTO_FREE char *maps = ftrace_read(-1, name, NULL);
	char *rest = maps, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		char flags[5] = "", *path = strchr(line, '/');

		if (sscanf(line, "%*s %4s", flags) == 1 && flags[2] == 'x' && path)
			each(context, pid, path);
	}
}

/* A probe_mapped_fn. */
static void add_mapped(void *context, int32_t pid, const char *path)
{
	paths_add(context, xasprintf("/proc/%d/root%s", (int)pid, path), pid);
}

/* Where points without a program are looked for. */
static int fill_paths(struct probe_finder *finder, const struct probe_spec *spec,
		      struct paths *paths, struct err *err)
{
	const char *name = spec->binary ? spec->binary : finder->wish->command;
	char *path;
	int rc;

	if (!name && !finder->wish->pid_count)
		return err_set(err, -EINVAL,
			       "%s:%s needs a command or --pid to search; or write PROGRAM:%s:%s",
			       spec->provider, spec->name, spec->provider, spec->name);
	if (name) {
		rc = find_named(finder, name, &path, err);
		if (rc < 0)
			return rc;
		paths_add(paths, path, 0);
	}
	for (size_t i = 0; !spec->binary && i < finder->wish->pid_count; i++)
		probe_each_mapped(finder->wish->pids[i], add_mapped, paths);
	return 0;
}

/* Look into each file, and into what those need. Returns how many points matched. */
static int find_in(struct probe_finder *finder, const struct probe_spec *spec, struct paths *paths,
		   struct near *near, struct err *err)
{
	int matches = 0;

	for (size_t i = 0; i < paths->count; i++) {
		struct looked looked = { 0 };
		struct err why = { 0 };
		int rc = open_binary(finder, paths->items[i].path, paths->items[i].pid, &looked,
				     &why);

		if (rc < 0 && i == 0)
			return err_set(err, rc, "%s", why.text);
		if (rc < 0)
			continue; /* a library that went away meanwhile */
		rc = find_points(finder, &looked, spec, err);
		if (!spec->binary)
			add_needed(paths, looked.file);
		offer_points(&looked, near);
		elf_file_close(looked.file);
		if (rc < 0)
			return rc;
		matches += rc;
	}
	return matches;
}

int probe_find_usdt(struct probe_finder *finder, const struct probe_spec *spec, struct err *err)
{
	AUTO_FREE char *wanted = xasprintf("%s:%s", spec->provider, spec->name);
	AUTO_FREE char *safe = text_escaped(wanted);
	struct near near = { .wanted = wanted, .takes_any = true };
	struct paths paths = { 0 };
	int rc = fill_paths(finder, spec, &paths, err);

	if (rc == 0)
		rc = find_in(finder, spec, &paths, &near, err);
	if (rc == 0 && near.count)
		rc = err_set(err, -ENOENT, "%s has no USDT point %s; it has %s",
			     paths.items[0].path, safe, near_text(&near).s);
	else if (rc == 0)
		rc = err_set(err, -ENOENT, "%s has no USDT points%s", paths.items[0].path,
			     spec->binary ? "" : ", nor has a library that it needs");
	paths_fini(&paths);
	return rc < 0 ? rc : 0;
}

/* ----------------------------------------------------------------- known points */

static bool has_symbol(const struct looked *looked, const struct probe_spec *spec)
{
	size_t count;
	const struct elf_symbol *symbols = elf_file_symbols(looked->file, &count);

	for (size_t i = 0; i < count; i++) {
		if (symbols[i].kind == ELF_SYMBOL_FUNCTION && !symbols[i].is_imported &&
		    symbol_is_wanted(spec, &symbols[i]))
			return true;
	}
	return false;
}

int probe_find_here(struct probe_finder *finder, struct elf_file *file, const char *path,
		    const struct probe_spec *spec, struct err *err)
{
	const struct looked looked = { path, file };
	int rc;

	if (elf_file_machine(file) != MACHINE || MACHINE == ELF_MACHINE_OTHER)
		return 0;
	if (spec->is_usdt) {
		rc = find_points(finder, &looked, spec, err);
		return rc < 0 ? rc : 0;
	}
	return spec->name && has_symbol(&looked, spec) ? find_symbols(finder, &looked, spec, err)
						       : 0;
}
