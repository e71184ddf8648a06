/* perf_features.c - features, one function for each kind. */
#include "read/perf_features.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "read/perf_file.h"

#define MAX_WORDS 4096u

struct cursor {
	struct perf_file *file;
	const uint8_t *at, *end;
	bool bad;
};

static const uint8_t *take(struct cursor *cursor, uint64_t bytes)
{
	const uint8_t *at = cursor->at;

	if (cursor->bad || bytes > (uint64_t)(cursor->end - at)) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}

static uint32_t take_u32(struct cursor *cursor)
{
	const uint8_t *at = take(cursor, 4);

	return at ? perf_u32(at, cursor->file->swap) : 0;
}

static uint64_t take_u64(struct cursor *cursor)
{
	const uint8_t *at = take(cursor, 8);

	return at ? perf_u64(at, cursor->file->swap) : 0;
}

/* u32 length, bytes that end with a zero and are filled up with more. NULL = damaged. Free it. */
static char *take_string(struct cursor *cursor)
{
	uint32_t bytes = take_u32(cursor);
	const uint8_t *at = take(cursor, bytes);

	return at ? xstrndup((const char *)at, bytes) : NULL;
}

static const char *keep_string(struct cursor *cursor)
{
	char *text = take_string(cursor);

	return text ? facts_take(cursor->file->facts, text) : NULL;
}

static void read_tracing(struct cursor *cursor)
{
	struct perf_file *file = cursor->file;
	struct err why = { 0 };

	if (file->has_tracing)
		return;
	file->has_tracing = true;
	if (perf_tracing_read(cursor->at, (size_t)(cursor->end - cursor->at), &file->formats,
			      file->facts, &file->tracing, &why) < 0)
		facts_note_damage(file->facts, "its section TRACING_DATA: %s", why.text);
}

static void read_host(struct cursor *cursor)
{
	if (!cursor->file->facts->host)
		cursor->file->facts->host = keep_string(cursor);
}

static void read_version(struct cursor *cursor)
{
	AUTO_FREE char *version = take_string(cursor);
	struct facts *facts = cursor->file->facts;

	if (version && *version)
		facts->tracer = facts_take(facts, xasprintf("perf %s", version));
}

static void read_release(struct cursor *cursor)
{
	if (!cursor->file->facts->kernel)
		cursor->file->facts->kernel = keep_string(cursor);
}

/* A name without a table of system calls tells nothing. */
static void read_arch(struct cursor *cursor)
{
	const char *arch = cursor->file->facts->arch ? NULL : keep_string(cursor);

	if (arch && facts_syscall(&(struct facts){ .arch = arch }, 0, false))
		cursor->file->facts->arch = arch;
}

/* perf's own command line: the command that it ran is part of it. */
static void read_command(struct cursor *cursor)
{
	struct perf_file *file = cursor->file;
	uint32_t count = take_u32(cursor);
	size_t cap = file->word_count;

	for (uint32_t i = 0; i < count && file->word_count < MAX_WORDS && !cursor->bad; i++) {
		char *word = take_string(cursor);

		if (!word)
			break;
		file->words = vec_room(file->words, file->word_count, &cap, sizeof(*file->words));
		file->words[file->word_count++] = word;
		if (!file->command && strcmp(word, "--") == 0)
			file->command = file->word_count;
	}
}

/* Names of the events, in the order of the attributes, with their ids again. */
static void read_names(struct cursor *cursor)
{
	uint32_t count = take_u32(cursor), bytes = take_u32(cursor);
	struct perf_attrs *attrs = &cursor->file->attrs;

	for (uint32_t i = 0; i < count && i < attrs->count && !cursor->bad; i++) {
		const uint8_t *attr = take(cursor, bytes);
		uint32_t ids = take_u32(cursor);
		char *name = take_string(cursor);

		for (uint32_t j = 0; j < ids && !cursor->bad; j++) {
			uint64_t id = take_u64(cursor);

			if (!cursor->bad && !perf_attrs_find(attrs, id))
				perf_attrs_add_id(attrs, id, i);
		}
		if (!attr || !name || cursor->bad) {
			free(name);
			break;
		}
		free(attrs->items[i]->name);
		attrs->items[i]->name = name;
	}
}

static void read_pmus(struct cursor *cursor)
{
	struct formats *pmus = &cursor->file->pmus;
	uint32_t count = take_u32(cursor);

	for (uint32_t i = 0; i < count && pmus->count < MAX_WORDS && !cursor->bad; i++) {
		uint32_t type = take_u32(cursor);
		char *name = take_string(cursor);

		if (!name)
			break;
		pmus->sections =
			vec_room(pmus->sections, pmus->count, &pmus->cap, sizeof(*pmus->sections));
		pmus->sections[pmus->count++] =
			(struct format_section){ xasprintf("%u", type), name, strlen(name) };
	}
}

static void read_times(struct cursor *cursor)
{
	cursor->file->first_ns = take_u64(cursor);
	cursor->file->last_ns = take_u64(cursor);
}

/* The clock of the times, and the wall clock, at one moment. */
static void read_clock(struct cursor *cursor)
{
	uint32_t version = take_u32(cursor), clockid = take_u32(cursor);
	uint64_t wall_ns = take_u64(cursor), clock_ns = take_u64(cursor);

	if (cursor->bad || version != 1)
		return;
	cursor->file->clockid = (int32_t)clockid;
	cursor->file->facts->realtime_offset_ns = (int64_t)(wall_ns - clock_ns);
}

static const struct {
	uint32_t number;
	const char *name;
	void (*read)(struct cursor *cursor);
} features[] = {
	{ PERF_FEATURE_TRACING_DATA, "TRACING_DATA", read_tracing },
	{ PERF_FEATURE_HOSTNAME, "HOSTNAME", read_host },
	{ PERF_FEATURE_OSRELEASE, "OSRELEASE", read_release },
	{ PERF_FEATURE_VERSION, "VERSION", read_version },
	{ PERF_FEATURE_ARCH, "ARCH", read_arch },
	{ PERF_FEATURE_CMDLINE, "CMDLINE", read_command },
	{ PERF_FEATURE_EVENT_DESC, "EVENT_DESC", read_names },
	{ PERF_FEATURE_PMU_MAPPINGS, "PMU_MAPPINGS", read_pmus },
	{ PERF_FEATURE_SAMPLE_TIME, "SAMPLE_TIME", read_times },
	{ PERF_FEATURE_CLOCK_DATA, "CLOCK_DATA", read_clock },
};

const char *perf_feature_name(uint32_t number)
{
	for (size_t i = 0; i < ARRAY_LEN(features); i++) {
		if (features[i].number == number)
			return features[i].name;
	}
	return NULL;
}

void perf_feature_read(struct perf_file *file, uint32_t number, const uint8_t *data, size_t bytes)
{
	struct cursor cursor = { file, data, data + bytes, false };

	for (size_t i = 0; i < ARRAY_LEN(features); i++) {
		if (features[i].number != number)
			continue;
		features[i].read(&cursor);
		if (cursor.bad)
			facts_note_damage(file->facts, "its section %s ends too soon",
					  features[i].name);
		return;
	}
}
