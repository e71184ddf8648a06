/* features.c - features, one function for each kind. */
#include "read/perf/features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "read/perf/file.h"

#define MAX_WORDS      4096u
#define BUILD_ID_BYTES 20u
#define ID_PATH_AT     36u /* header, process, id */
#define ID_HAS_SIZE    (1u << 15)

struct feature {
	struct perf_file *file;
	struct perf_cursor bytes;
};

/* u32 length, bytes that end with a zero and are filled up with more. NULL = damaged. Free it. */
static char *perf_features_take_string(struct feature *feature)
{
	uint32_t bytes = perf_take_u32(&feature->bytes);
	const uint8_t *at = perf_take(&feature->bytes, bytes);

	return at ? xstrndup((const char *)at, bytes) : NULL;
}

static const char *keep_string(struct feature *feature)
{
	char *text = perf_features_take_string(feature);

	return text ? facts_take(feature->file->facts, text) : NULL;
}

static void read_tracing(struct feature *feature)
{
	struct perf_file *file = feature->file;
	struct err why = { 0 };

	if (file->has_tracing)
		return;
	file->has_tracing = true;
	if (perf_tracing_read(feature->bytes.at, (size_t)(feature->bytes.end - feature->bytes.at),
			      &file->formats, file->facts, &file->tracing, &why) < 0)
		facts_note_damage(file->facts, "its section TRACING_DATA: %s", why.text);
}

static void read_host(struct feature *feature)
{
	if (!feature->file->facts->host)
		feature->file->facts->host = keep_string(feature);
}

static void perf_features_read_version(struct feature *feature)
{
	AUTO_FREE char *version = perf_features_take_string(feature);
	struct facts *facts = feature->file->facts;

	if (version && *version)
		facts->tracer = facts_take(facts, xasprintf("perf %s", version));
}

static void read_release(struct feature *feature)
{
	if (!feature->file->facts->kernel)
		feature->file->facts->kernel = keep_string(feature);
}

/* A name without a table of system calls tells nothing. */
static void read_arch(struct feature *feature)
{
	const char *arch = feature->file->facts->arch ? NULL : keep_string(feature);

	if (arch && facts_syscall(&(struct facts){ .arch = arch }, 0, false))
		feature->file->facts->arch = arch;
}

/* perf's own command line: the command that it ran is part of it. */
static void perf_features_read_command(struct feature *feature)
{
	struct perf_file *file = feature->file;
	uint32_t count = perf_take_u32(&feature->bytes);
	size_t cap = file->word_count;

	for (uint32_t i = 0; i < count && file->word_count < MAX_WORDS && !feature->bytes.bad;
	     i++) {
		char *word = perf_features_take_string(feature);

		if (!word)
			break;
		file->words = vec_room(file->words, file->word_count, &cap, sizeof(*file->words));
		file->words[file->word_count++] = word;
		if (!file->command && strcmp(word, "--") == 0)
			file->command = file->word_count;
	}
}

/* Names of the events, in the order of the attributes, with their ids again. */
static void perf_features_read_names(struct feature *feature)
{
	uint32_t count = perf_take_u32(&feature->bytes), bytes = perf_take_u32(&feature->bytes);
	struct perf_attrs *attrs = &feature->file->attrs;

	for (uint32_t i = 0; i < count && i < attrs->count && !feature->bytes.bad; i++) {
		const uint8_t *attr = perf_take(&feature->bytes, bytes);
		uint32_t ids = perf_take_u32(&feature->bytes);
		char *name = perf_features_take_string(feature);

		for (uint32_t j = 0; j < ids && !feature->bytes.bad; j++) {
			uint64_t id = perf_take_u64(&feature->bytes);

			if (!feature->bytes.bad && !perf_attrs_find(attrs, id))
				perf_attrs_add_id(attrs, id, i);
		}
		if (!attr || !name || feature->bytes.bad) {
			free(name);
			break;
		}
		free(attrs->items[i]->name);
		attrs->items[i]->name = name;
	}
}

static void read_pmus(struct feature *feature)
{
	struct formats *pmus = &feature->file->pmus;
	uint32_t count = perf_take_u32(&feature->bytes);

	for (uint32_t i = 0; i < count && pmus->count < MAX_WORDS && !feature->bytes.bad; i++) {
		uint32_t type = perf_take_u32(&feature->bytes);
		char *name = perf_features_take_string(feature);

		if (!name)
			break;
		pmus->sections =
			vec_room(pmus->sections, pmus->count, &pmus->cap, sizeof(*pmus->sections));
		pmus->sections[pmus->count++] =
			(struct format_section){ xasprintf("%u", type), name, strlen(name) };
	}
}

/*
 * Of the files that samples were in: a record each, with the process, 24 bytes of which the first ones are the id, and the path.
 * How many, a bit says that it is told; else it is a SHA-1.
 */
static void read_build_ids(struct feature *feature)
{
	struct formats *ids = &feature->file->build_ids;

	while (feature->bytes.at < feature->bytes.end && ids->count < MAX_WORDS) {
		uint32_t type = perf_take_u32(&feature->bytes),
			 sizes = perf_take_u32(&feature->bytes);
		const bool swap = feature->file->swap;
		uint32_t misc = swap ? sizes >> 16 : sizes & 0xffff;
		uint32_t bytes = swap ? sizes & 0xffff : sizes >> 16, id_bytes = BUILD_ID_BYTES;
		const uint8_t *body =
			bytes > ID_PATH_AT ? perf_take(&feature->bytes, bytes - 8) : NULL;
		char digits[2 * BUILD_ID_BYTES + 1] = "";

		(void)type;
		if (!body) {
			feature->bytes.bad = true;
			return;
		}
		if (misc & ID_HAS_SIZE && body[24] && body[24] < BUILD_ID_BYTES)
			id_bytes = body[24];
		for (uint32_t i = 0; i < id_bytes; i++)
			snprintf(digits + (size_t)2 * i, 3, "%02x", body[4 + i]);
		ids->sections =
			vec_room(ids->sections, ids->count, &ids->cap, sizeof(*ids->sections));
		ids->sections[ids->count++] =
			(struct format_section){ xstrndup((const char *)body + ID_PATH_AT - 8,
							  bytes - ID_PATH_AT),
						 xstrdup(digits), strlen(digits) };
	}
}

static void read_times(struct feature *feature)
{
	feature->file->first_ns = perf_take_u64(&feature->bytes);
	feature->file->last_ns = perf_take_u64(&feature->bytes);
}

/* The clock of the times, and the wall clock, at one moment. */
static void read_clock(struct feature *feature)
{
	uint32_t version = perf_take_u32(&feature->bytes), clockid = perf_take_u32(&feature->bytes);
	uint64_t wall_ns = perf_take_u64(&feature->bytes),
		 clock_ns = perf_take_u64(&feature->bytes);

	if (feature->bytes.bad || version != 1)
		return;
	feature->file->clockid = (int32_t)clockid;
	feature->file->facts->realtime_offset_ns = (int64_t)(wall_ns - clock_ns);
}

static const struct {
	uint32_t number;
	const char *name;
	void (*read)(struct feature *feature);
} features[] = {
	{ PERF_FEATURE_TRACING_DATA, "TRACING_DATA", read_tracing },
	{ PERF_FEATURE_BUILD_ID, "BUILD_ID", read_build_ids },
	{ PERF_FEATURE_HOSTNAME, "HOSTNAME", read_host },
	{ PERF_FEATURE_OSRELEASE, "OSRELEASE", read_release },
	{ PERF_FEATURE_VERSION, "VERSION", perf_features_read_version },
	{ PERF_FEATURE_ARCH, "ARCH", read_arch },
	{ PERF_FEATURE_CMDLINE, "CMDLINE", perf_features_read_command },
	{ PERF_FEATURE_EVENT_DESC, "EVENT_DESC", perf_features_read_names },
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
	struct feature feature = { file, { data, data + bytes, file->swap, false } };

	for (size_t i = 0; i < ARRAY_LEN(features); i++) {
		if (features[i].number != number)
			continue;
		features[i].read(&feature);
		if (feature.bytes.bad)
			facts_note_damage(file->facts, "its section %s ends too soon",
					  features[i].name);
		return;
	}
}
