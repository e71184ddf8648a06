/* unit_failures.c - see unit_failures.h. */
#include "record/unit_failures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* Those with a Result have an interface that is called like them. */
static const struct {
	const char *suffix, *interface;
} types[] = {
	{ ".service", "Service" },
	{ ".socket", "Socket" },
	{ ".mount", "Mount" },
	{ ".swap", "Swap" },
	{ ".automount", "Automount" },
	{ ".path", "Path" },
	{ ".timer", "Timer" },
	{ ".scope", "Scope" },
	{ ".target", NULL },
	{ ".device", NULL },
	{ ".slice", NULL },
};

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

enum unit_level unit_level_of(const char *active, const char *sub, const char *result)
{
	static const char *const retries[] = { "auto-restart", "auto-restart-queued",
					       "failed-before-auto-restart" };

	if (is_one_of(sub, retries, ARRAY_LEN(retries)))
		return *result && strcmp(result, "success") != 0 ? UNIT_RETRIES : UNIT_GOOD;
	return strcmp(active, "failed") == 0 ? UNIT_FAILED : UNIT_GOOD;
}

static struct unit_failure *find(const struct unit_failures *failures, const char *name)
{
	for (size_t i = 0; i < failures->count; i++) {
		if (strcmp(failures->items[i].name, name) == 0)
			return &failures->items[i];
	}
	return NULL;
}

static void drop(struct unit_failures *failures, size_t i)
{
	failures->count--;
	memmove(failures->items + i, failures->items + i + 1,
		(failures->count - i) * sizeof(*failures->items));
}

static void add(struct unit_failures *failures, const char *name, enum unit_level level)
{
	struct unit_failure *item;

	if (failures->count == UNIT_FAILURES_MAX)
		drop(failures, 0);
	failures->items = vec_room(failures->items, failures->count, &failures->cap, sizeof(*item));
	item = &failures->items[failures->count++];
	*item = (struct unit_failure){ .level = level, .is_listed = true };
	memcpy(item->name, name, strlen(name) + 1);
}

bool unit_failures_note(struct unit_failures *failures, const char *name, enum unit_level level,
			const uint8_t *run)
{
	struct unit_failure *item = find(failures, name);
	bool is_new;

	if (level == UNIT_GOOD || strlen(name) >= UNIT_NAME_BYTES) {
		if (item)
			drop(failures, (size_t)(item - failures->items));
		return false;
	}
	is_new = !item || level > item->level ||
		 (run && item->has_run && memcmp(run, item->run, UNIT_RUN_BYTES) != 0);
	if (!item) {
		add(failures, name, level);
		item = &failures->items[failures->count - 1];
	}
	item->level = level;
	item->is_listed = true;
	if (run) {
		item->has_run = true;
		memcpy(item->run, run, UNIT_RUN_BYTES);
	}
	return is_new;
}

enum unit_level unit_failures_level(const struct unit_failures *failures, const char *name)
{
	const struct unit_failure *item = find(failures, name);

	return item ? item->level : UNIT_GOOD;
}

void unit_failures_begin(struct unit_failures *failures)
{
	for (size_t i = 0; i < failures->count; i++)
		failures->items[i].is_listed = false;
}

void unit_failures_list(struct unit_failures *failures, const char *name)
{
	struct unit_failure *item = find(failures, name);

	if (item)
		item->is_listed = true;
}

void unit_failures_end(struct unit_failures *failures)
{
	for (size_t i = failures->count; i-- > 0;) {
		if (!failures->items[i].is_listed)
			drop(failures, i);
	}
}

void unit_failures_fini(struct unit_failures *failures)
{
	free(failures->items);
	*failures = (struct unit_failures){ 0 };
}

/* --------------------------------------------------------------------- names */

static bool is_word(const char *text, const char *more)
{
	size_t length = strlen(text);

	for (const char *c = text; *c; c++) {
		if (!isascii((unsigned char)*c) ||
		    (!isalnum((unsigned char)*c) && !strchr(more, *c)))
			return false;
	}
	return length > 0 && length < UNIT_NAME_BYTES;
}

bool unit_name_is_valid(const char *name)
{
	return is_word(name, ":-_.\\@");
}

static bool has_suffix(const char *text)
{
	const char *dot = strrchr(text, '.');

	if (!dot)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (strcmp(dot, types[i].suffix) == 0)
			return true;
	}
	return strpbrk(dot, "*?") != NULL;
}

char *unit_pattern(const char *text)
{
	AUTO_FREE char *pattern = NULL;

	if (!is_word(text, ":-_.\\@*?"))
		return NULL;
	pattern = has_suffix(text) ? xstrdup(text) : xasprintf("%s.service", text);
	return strlen(pattern) < UNIT_NAME_BYTES ? xstrdup(pattern) : NULL;
}

bool unit_pattern_is_name(const char *pattern)
{
	return !strpbrk(pattern, "*?");
}

/* What a star took is one more each time that the rest does not match: text times pattern at worst. */
bool unit_pattern_matches(const char *pattern, const char *name)
{
	return text_glob(pattern, name, strlen(name));
}

char *unit_interface(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_LEN(types); i++) {
		if (strcmp(dot, types[i].suffix) == 0 && types[i].interface)
			return xasprintf("org.freedesktop.systemd1.%s", types[i].interface);
	}
	return NULL;
}

bool unit_address_is_local(const char *address)
{
	for (const char *at = address;; at++) {
		if (strncmp(at, "unix:", strlen("unix:")) != 0)
			return false;
		at = strchr(at, ';');
		if (!at)
			return true;
	}
}
