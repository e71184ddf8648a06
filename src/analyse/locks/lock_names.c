/* lock_names.c - modules of processes, and the symbols of their files, each read once. */
#include "analyse/locks/lock_names.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/text.h"
#include "base/names.h"
#include "base/search.h"
#include "event/event.h"
#include "symbol/elf_file.h"

#define MODULES_MAX 1000000u
#define FILES_MAX   4096u /* that are opened */
#define PATH_MAX_   4096u

struct module {
	uint32_t process;
	uint32_t path; /* id in paths */
	uint64_t start, end, bias;
	size_t order;
};

struct symbol {
	uint64_t address; /* in the file */
	uint64_t bytes;	  /* 0 = not known */
	const char *name; /* view into the file */
};

struct file {
	bool is_tried;
	struct elf_file *elf;	/* owned; NULL = cannot be read */
	struct symbol *symbols; /* owned; those with an address, sorted */
	size_t count;
};

struct lock_names {
	struct names paths;
	struct module *modules; /* owned */
	size_t count, cap;
	bool is_sorted;	    /* by process; later ones first */
	struct file *files; /* owned; index = id of path */
	size_t file_count;
	size_t opened;
};

struct lock_names *lock_names_new(void)
{
	return xcalloc(1, sizeof(struct lock_names));
}

void lock_names_free(struct lock_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->file_count; i++) {
		free(names->files[i].symbols);
		elf_file_close(names->files[i].elf);
	}
	free(names->files);
	free(names->modules);
	names_fini(&names->paths);
	free(names);
}

void lock_names_add(struct lock_names *names, uint32_t process, const struct ev_user_lock *module)
{
	if (names->count == MODULES_MAX)
		return;
	names->modules =
		vec_room(names->modules, names->count, &names->cap, sizeof(*names->modules));
	names->modules[names->count] = (struct module){
		.process = process,
		.path = names_add(&names->paths, module->path, PATH_MAX_),
		.start = module->address,
		.end = module->mutex,
		.bias = module->site,
		.order = names->count,
	};
	names->count++;
	names->is_sorted = false;
}

static int by_process(const void *a, const void *b)
{
	const struct module *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->order > y->order ? -1 : 1;
}

/* Those of the process; *out_count of them, later ones first. */
static const struct module *modules_of(struct lock_names *names, uint32_t process,
				       size_t *out_count)
{
	size_t low, end;

	if (!names->is_sorted && names->count)
		qsort(names->modules, names->count, sizeof(*names->modules), by_process);
	names->is_sorted = true;
	low = SEARCH_FROM(names->modules, names->count, process, process);
	for (end = low; end < names->count && names->modules[end].process == process;)
		end++;
	*out_count = end - low;
	return *out_count ? &names->modules[low] : NULL;
}

ORDER_FUNCTION(by_address, struct symbol, ORDER_UP(address), ORDER_TEXT(name));

/* Marks that the linker sets: no variable begins there. */
static bool is_mark(const char *name)
{
	static const char *const marks[] = { "__TMC_END__", "_edata",	     "edata",
					     "__bss_start", "__bss_start__", "_bss_end__",
					     "__bss_end__", "_end",	     "end",
					     "__end__",	    "data_start",    "__data_start" };

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		if (strcmp(name, marks[i]) == 0)
			return true;
	}
	return !name[0];
}

static void names_open_file(struct lock_names *names, struct file *file, const char *path)
{
	const struct elf_symbol *symbols;
	struct err err = { 0 };
	size_t count;

	file->is_tried = true;
	if (path[0] != '/' || names->opened == FILES_MAX)
		return;
	names->opened++;
	if (elf_file_open(path, &file->elf, &err) < 0) {
		file->elf = NULL;
		return;
	}
	elf_file_add_debug(file->elf, "/usr/lib/debug");
	symbols = elf_file_symbols(file->elf, &count);
	file->symbols = xcalloc(count + 1, sizeof(*file->symbols));
	for (size_t i = 0; i < count; i++) {
		if (!symbols[i].is_imported && symbols[i].address && !is_mark(symbols[i].name))
			file->symbols[file->count++] =
				(struct symbol){ symbols[i].address, symbols[i].bytes,
						 symbols[i].name };
	}
	qsort(file->symbols, file->count, sizeof(*file->symbols), by_address);
}

static const struct file *file_of(struct lock_names *names, uint32_t path)
{
	if (path >= names->file_count) {
		size_t count = names->paths.count > path ? names->paths.count : path + 1u;

		names->files = xrealloc(names->files, count, sizeof(*names->files));
		memset(names->files + names->file_count, 0,
		       (count - names->file_count) * sizeof(*names->files));
		names->file_count = count;
	}
	if (!names->files[path].is_tried)
		names_open_file(names, &names->files[path], names_text(&names->paths, path));
	return &names->files[path];
}

/* How many symbols before an address may begin within one that reaches it. */
#define WITHIN_MAX 16

/*
 * The symbol that reaches the address; NULL = there is none. One whose size is not known reaches to the next; it is no
 * answer when something else begins between.
 */
static const struct symbol *symbol_at(const struct file *file, uint64_t address)
{
	size_t low = SEARCH_BEHIND(file->symbols, file->count, address, address);

	for (size_t i = low; i > 0 && low - i < WITHIN_MAX; i--) {
		const struct symbol *symbol = &file->symbols[i - 1];

		if (symbol->bytes ? address - symbol->address < symbol->bytes : i == low)
			return symbol;
	}
	return NULL;
}

char *lock_names_find(struct lock_names *names, uint32_t process, uint64_t address)
{
	const struct symbol *symbol;
	const struct module *modules;
	size_t count;

	modules = modules_of(names, process, &count);
	for (size_t i = 0; i < count; i++) {
		const struct module *module = &modules[i];
		const char *path = text_base_name(names_text(&names->paths, module->path));
		uint64_t inside = address - module->bias;

		if (address < module->start || address >= module->end)
			continue;
		symbol = symbol_at(file_of(names, module->path), inside);
		if (!symbol)
			return xasprintf("+0x%" PRIx64 " (%s)", inside, path);
		if (symbol->address == inside)
			return xasprintf("%s (%s)", symbol->name, path);
		return xasprintf("%s+0x%" PRIx64 " (%s)", symbol->name, inside - symbol->address,
				 path);
	}
	return NULL;
}

const char *lock_names_program(struct lock_names *names, uint32_t process)
{
	const struct module *modules;
	size_t count;

	modules = modules_of(names, process, &count);
	return count ? text_base_name(names_text(&names->paths, modules[count - 1].path)) : "";
}
