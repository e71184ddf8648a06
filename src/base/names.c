/* names.c - a string table with a hash index. */
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
	return hash ^ (hash >> 29);
}

void names_fini(struct names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->texts[i]);
	free(names->texts);
	free(names->buckets);
	*names = (struct names){ 0 };
}

/* The bucket that holds 'text', or the free one where it would go. */
static size_t bucket_of(const struct names *names, const char *text, size_t len)
{
	size_t i = hash_of(text, len) & (names->bucket_cap - 1);

	while (names->buckets[i]) {
		const char *there = names->texts[names->buckets[i]];

		if (strncmp(there, text, len) == 0 && there[len] == '\0')
			break;
		i = (i + 1) & (names->bucket_cap - 1);
	}
	return i;
}

static void names_grow(struct names *names)
{
	names->bucket_cap = names->bucket_cap ? names->bucket_cap * 2 : 64;
	free(names->buckets);
	names->buckets = xcalloc(names->bucket_cap, sizeof(*names->buckets));
	for (uint32_t id = 1; id < names->count; id++) {
		const char *text = names->texts[id];

		names->buckets[bucket_of(names, text, strlen(text))] = id;
	}
}

static uint32_t names_append_text(struct names *names, char *text)
{
	names->texts = vec_room(names->texts, names->count, &names->cap, sizeof(*names->texts));
	names->texts[names->count] = text;
	return names->count++;
}

uint32_t names_add(struct names *names, const char *text, size_t max)
{
	size_t len = strnlen(text, max);
	size_t bucket;

	if (len == 0)
		return 0;
	if (names->count == 0)
		(void)names_append_text(names, xstrdup(""));
	if (names->count * 2u >= names->bucket_cap)
		names_grow(names);
	bucket = bucket_of(names, text, len);
	if (!names->buckets[bucket])
		names->buckets[bucket] = names_append_text(names, xstrndup(text, len));
	return names->buckets[bucket];
}

const char *names_text(const struct names *names, uint32_t id)
{
	return id < names->count ? names->texts[id] : "";
}
