/* jit_names.c - see jit_names.h. */
#include "symbol/jit_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/sorting.h"
#include "base/search.h"

#define FILE_BYTES_MAX ((size_t)64 << 20)
#define ENTRIES_MAX    1000000u
#define NAME_BYTES     1024u
#define LOOK_BACK      64u /* entries that may begin before and reach over an address */

struct jit_entry {
	uint64_t start, bytes;
	uint32_t name;
	uint32_t number; /* the order in which they were told */
};

struct jit_names {
	struct names texts;
	struct jit_entry *entries; /* owned */
	size_t count, cap;
	bool is_sorted;
	char found[NAME_BYTES + 1]; /* parts of the last name */
};

struct jit_names *jit_names_new(void)
{
	return xcalloc(1, sizeof(struct jit_names));
}

void jit_names_free(struct jit_names *names)
{
	if (!names)
		return;
	names_fini(&names->texts);
	free(names->entries);
	free(names);
}

static void jit_add(struct jit_names *names, uint64_t start, uint64_t bytes, const char *name)
{
	if (!bytes || start + bytes < start || !*name || names->count >= ENTRIES_MAX)
		return;
	names->entries =
		vec_room(names->entries, names->count, &names->cap, sizeof(*names->entries));
	names->entries[names->count] = (struct jit_entry){
		.start = start,
		.bytes = bytes,
		.name = names_add(&names->texts, name, NAME_BYTES),
		.number = (uint32_t)names->count,
	};
	names->count++;
	names->is_sorted = false;
}

/* All of it, terminated; what it grows to meanwhile is left out. NULL = there is nothing. */
static char *jit_read(int fd, size_t *out_bytes)
{
	off_t size = lseek(fd, 0, SEEK_END);
	size_t want = size > (off_t)FILE_BYTES_MAX ? FILE_BYTES_MAX : (size_t)size;
	char *bytes;

	if (size <= 0)
		return NULL;
	bytes = xcalloc(want + 1, 1);
	*out_bytes = file_read_at(fd, 0, bytes, want);
	return bytes;
}

/* ------------------------------------------------------------------ perf-PID.map */

/* A number and the blank behind it; NULL = it is none. */
static char *jit_hex(char *at, uint64_t *out_value)
{
	char *end;

	if (strncmp(at, "0x", 2) == 0)
		at += 2;
	if (!strchr("0123456789abcdefABCDEF", *at) || !*at)
		return NULL;
	*out_value = strtoull(at, &end, 16);
	return *end == ' ' ? end + 1 : NULL;
}

void jit_names_read_map(struct jit_names *names, int fd)
{
	size_t count;
	AUTO_FREE char *bytes = jit_read(fd, &count);
	char *rest = bytes, *line;

	/* The last line may be half of one. */
	while (rest && (line = rest) && (rest = strchr(line, '\n'))) {
		uint64_t start, size;
		char *name;

		*rest++ = '\0';
		name = jit_hex(line, &start);
		name = name ? jit_hex(name, &size) : NULL;
		if (name)
			jit_add(names, start, size, name);
	}
}

/* ------------------------------------------------------------------ jit-PID.dump */

#define DUMP_MAGIC 0x4a695444u
#define DUMP_LOAD  0
#define DUMP_MOVE  1

struct dump_head {
	uint32_t magic, version, bytes, machine, unused, pid;
	uint64_t time_ns, flags;
};

struct dump_record {
	uint32_t id, bytes;
	uint64_t time_ns;
};

struct dump_load {
	uint32_t pid, tid;
	uint64_t vma, address, code_bytes, index;
};

struct dump_move {
	uint32_t pid, tid;
	uint64_t vma, old_address, address, code_bytes, index;
};

/* The name that was told of the code that begins there; NULL = none. */
static const char *jit_name_at(const struct jit_names *names, uint64_t address)
{
	/* It was mostly told of late. */
	for (size_t i = names->count, left = LOOK_BACK; i-- > 0 && left-- > 0;) {
		if (names->entries[i].start == address)
			return names_text(&names->texts, names->entries[i].name);
	}
	return NULL;
}

static void jit_take_load(struct jit_names *names, const char *body, size_t bytes)
{
	struct dump_load load;

	if (bytes <= sizeof(load) || !memchr(body + sizeof(load), '\0', bytes - sizeof(load)))
		return;
	memcpy(&load, body, sizeof(load));
	jit_add(names, load.address, load.code_bytes, body + sizeof(load));
}

static void jit_take_move(struct jit_names *names, const char *body, size_t bytes)
{
	struct dump_move move;
	const char *name;

	if (bytes < sizeof(move))
		return;
	memcpy(&move, body, sizeof(move));
	name = jit_name_at(names, move.old_address);
	if (name)
		jit_add(names, move.address, move.code_bytes, name);
}

void jit_names_read_dump(struct jit_names *names, int fd)
{
	size_t count = 0, at;
	AUTO_FREE char *bytes = jit_read(fd, &count);
	struct dump_record record;
	struct dump_head head;

	if (!bytes || count < sizeof(head))
		return;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != DUMP_MAGIC || head.bytes < sizeof(head) || head.bytes > count)
		return;
	for (at = head.bytes; count - at >= sizeof(record); at += record.bytes) {
		const char *body = bytes + at + sizeof(record);

		memcpy(&record, bytes + at, sizeof(record));
		if (record.bytes < sizeof(record) || record.bytes > count - at)
			return; /* the rest was not written yet, or is damaged */
		if (record.id == DUMP_LOAD)
			jit_take_load(names, body, record.bytes - sizeof(record));
		else if (record.id == DUMP_MOVE)
			jit_take_move(names, body, record.bytes - sizeof(record));
	}
}

/* ------------------------------------------------------------------ finding */

ORDER_FUNCTION(compare_entries, struct jit_entry, ORDER_UP(start), ORDER_UP(number));

static const struct jit_entry *jit_entry_of(struct jit_names *names, uint64_t address)
{
	const struct jit_entry *best = NULL;
	size_t low;

	if (!names->is_sorted && names->count)
		qsort(names->entries, names->count, sizeof(*names->entries), compare_entries);
	names->is_sorted = true;
	low = SEARCH_BEHIND(names->entries, names->count, start, address);
	for (size_t left = LOOK_BACK; low-- > 0 && left-- > 0;) {
		const struct jit_entry *entry = &names->entries[low];

		if (address - entry->start < entry->bytes &&
		    (!best || entry->number > best->number))
			best = entry;
	}
	return best;
}

bool jit_names_has(struct jit_names *names, uint64_t address)
{
	return jit_entry_of(names, address) != NULL;
}

/* "/srv/app.js:12:9" -> the file, and 12; the column is left out. */
static void jit_split_place(char *place, struct jit_name *name)
{
	char *colon = strrchr(place, ':'), *before;

	if (place[0] != '/' && strncmp(place, "file:", 5) != 0 && strncmp(place, "node:", 5) != 0)
		return;
	name->file = place;
	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return;
	*colon = '\0';
	name->line = (uint32_t)strtoul(colon + 1, NULL, 10);
	before = strrchr(place, ':');
	if (!before || !before[1] || before[1 + strspn(before + 1, "0123456789")])
		return;
	*before = '\0';
	name->line = (uint32_t)strtoul(before + 1, NULL, 10);
}

/* V8: "JS:*crunch /srv/app.js:12:9", "LazyCompile:~crunch ..."; * ~ ^ + say how it was compiled. */
static bool jit_split_v8(char *text, struct jit_name *name)
{
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Script:",
					     "Eval:" };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t bytes = strlen(kinds[i]);
		char *function = text + bytes, *place;

		if (strncmp(text, kinds[i], bytes) != 0)
			continue;
		function += *function && strchr("*~^+", *function) ? 1 : 0;
		place = strchr(function, ' ');
		if (place) {
			*place = '\0';
			jit_split_place(place + 1, name);
		}
		name->function = *function ? function : "(anonymous)";
		return true;
	}
	return false;
}

/* CPython 3.12, -X perf: "py::crunch:/srv/app.py" */
static void jit_split_python(char *text, struct jit_name *name)
{
	char *place = strchr(text + 4, ':');

	name->function = text + 4;
	if (!place)
		return;
	*place = '\0';
	name->file = place[1] ? place + 1 : NULL;
}

/*
 * HotSpot: "void shop.Cart.add(int, java.lang.String)" is shop.Cart.add; of perf-map-agent "Lshop/Cart;::add". What else they
 * tell of ("Interpreter", "StubRoutines (1)") has no class.
 */
static void jit_split_java(char *text, struct jit_name *name)
{
	char *arguments = strchr(text, '('), *type = strchr(text, ' '), *end = strstr(text, ";::");

	if (text[0] == 'L' && end && end[3] && !type) {
		for (char *at = text; at < end; at++)
			*at = *at == '/' ? '.' : *at;
		*end = '.';
		memmove(end + 1, end + 3, strlen(end + 3) + 1);
		name->function = text + 1;
		return;
	}
	if (!arguments || !type || type > arguments || !strchr(arguments, ')') ||
	    !memchr(type, '.', (size_t)(arguments - type)) ||
	    memchr(type + 1, ' ', (size_t)(arguments - type - 1)))
		return;
	*arguments = '\0';
	name->function = type + 1;
}

bool jit_names_find(struct jit_names *names, uint64_t address, struct jit_name *out_name)
{
	const struct jit_entry *entry = jit_entry_of(names, address);
	struct jit_name name = { 0 };

	if (!entry)
		return false;
	name.whole = names_text(&names->texts, entry->name);
	(void)snprintf(names->found, sizeof(names->found), "%s", name.whole);
	name.function = names->found;
	if (strncmp(names->found, "py::", 4) == 0)
		jit_split_python(names->found, &name);
	else if (!jit_split_v8(names->found, &name))
		jit_split_java(names->found, &name);
	*out_name = name;
	return true;
}
