/*
 * pprof.c - where threads worked and waited, for pprof and what reads its profiles.
 *
 * A profile is one message of repeated fields, so it can be written piece by piece: each piece is a
 * message of its own, and the reader joins them. All of it is compressed, as gzip(1) does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "export/code.h"
#include "export/export.h"
#include "export/pprof.pb-c.h"
#include "export/words.h"

#define TEXT_BYTES  4096u
#define PARTS_MAX   2000000u /* that differ */
#define GZIP_WINDOW (15 + 16)

/* The values of a sample, in this order. */
enum value {
	VALUE_SAMPLES,
	VALUE_WORK,
	VALUE_WAITS,
	VALUE_WAIT,
	VALUE_WALL,
	VALUES
};

static const char *const value_names[VALUES][2] = {
	[VALUE_SAMPLES] = { "samples", "count" }, [VALUE_WORK] = { "work", "nanoseconds" },
	[VALUE_WAITS] = { "waits", "count" },	  [VALUE_WAIT] = { "wait", "nanoseconds" },
	[VALUE_WALL] = { "wall", "nanoseconds" },
};

/* The labels of a sample. */
enum label {
	LABEL_STATE,
	LABEL_CAUSE,
	LABEL_COMM,
	LABELS
};

static const char *const label_names[LABELS] = { "state", "cause", "comm" };

struct sample {
	uint32_t stack;
	uint32_t labels[LABELS]; /* texts */
	int64_t values[VALUES];
};

struct pprof {
	const struct export_job *job;
	const struct stacks *stacks;
	FILE *file;
	z_stream gzip;
	uint8_t *buffer; /* owned */
	size_t cap;
	struct names texts;   /* their numbers are those of string_table */
	struct map index;     /* hash of stack and labels -> number of the sample */
	struct sample *parts; /* owned */
	size_t part_count, part_cap;
	bool is_full;
	struct map functions, mappings; /* of a function, a file -> id */
	bool *is_written;		/* owned; of each frame; the last one: no frame */
};

/* ------------------------------------------------------------------ bytes */

static void put_compressed(struct pprof *pprof, const uint8_t *bytes, size_t count, int flush)
{
	uint8_t out[4096];

	pprof->gzip.next_in = (uint8_t *)(uintptr_t)bytes;
	pprof->gzip.avail_in = (uInt)count;
	do {
		pprof->gzip.next_out = out;
		pprof->gzip.avail_out = sizeof(out);
		(void)deflate(&pprof->gzip, flush); /* fails only without room, and there is */
		(void)fwrite(out, 1, sizeof(out) - pprof->gzip.avail_out,
			     pprof->file); /* the stream keeps the error */
	} while (pprof->gzip.avail_out == 0);
}

static void put_piece(struct pprof *pprof, const Holdup__Pprof__Profile *piece)
{
	size_t bytes = holdup__pprof__profile__get_packed_size(piece);

	if (bytes > pprof->cap) {
		pprof->cap = 2 * bytes;
		pprof->buffer = xrealloc(pprof->buffer, pprof->cap, 1);
	}
	(void)holdup__pprof__profile__pack(piece, pprof->buffer);
	put_compressed(pprof, pprof->buffer, bytes, Z_NO_FLUSH);
}

/* The empty text is number 0, in the profile as in struct names. */
static uint32_t pprof_text_of(struct pprof *pprof, const char *text)
{
	AUTO_FREE char *room = NULL;

	return text ? names_add(&pprof->texts, export_utf8(text, TEXT_BYTES, &room), TEXT_BYTES)
		    : 0;
}

/* ------------------------------------------------------------------ samples */

static void pprof_take_part(void *context, const struct code_part *part)
{
	struct pprof *pprof = context;
	struct sample sample = {
		.stack = part->stack,
		.labels = { pprof_text_of(pprof, part->state), pprof_text_of(pprof, part->cause),
			    pprof_text_of(pprof, timeline_comm(pprof->job->timeline, part->slot)) },
	};
	bool is_work = part->kind == CODE_WORK, is_new;
	uint64_t *index;
	int64_t *values;

	if (pprof->is_full)
		return;
	index = map_add(&pprof->index,
			hash_bytes(sample.labels, sizeof(sample.labels), sample.stack), &is_new);
	if (is_new) {
		*index = pprof->part_count;
		pprof->parts = vec_room(pprof->parts, pprof->part_count, &pprof->part_cap,
					sizeof(*pprof->parts));
		pprof->parts[pprof->part_count++] = sample;
		pprof->is_full = pprof->part_count == PARTS_MAX;
	}
	values = pprof->parts[*index].values;
	values[is_work ? VALUE_SAMPLES : VALUE_WAITS] += (int64_t)part->count;
	values[is_work ? VALUE_WORK : VALUE_WAIT] += (int64_t)part->ns;
	values[VALUE_WALL] += (int64_t)part->ns;
}

/* ------------------------------------------------------------------ code */

/* The number of what a key stands for, from 1; '*out_new': it is to be written. */
static uint64_t id_of(struct map *ids, uint64_t key, bool *out_new)
{
	uint64_t *id = map_add(ids, key, out_new);

	if (*out_new)
		*id = ids->count;
	return *id;
}

static uint64_t put_mapping(struct pprof *pprof, const struct stack_frame *frame)
{
	Holdup__Pprof__Profile piece = HOLDUP__PPROF__PROFILE__INIT;
	Holdup__Pprof__Mapping mapping = HOLDUP__PPROF__MAPPING__INIT, *list = &mapping;
	const char *path = frame->path ? frame->path : frame->module;
	const uint64_t parts[] = { (uintptr_t)path, (uintptr_t)frame->build_id };
	bool is_new;

	if (!path)
		return 0;
	mapping.id = id_of(&pprof->mappings, hash_bytes(parts, sizeof(parts), 1), &is_new);
	if (!is_new)
		return mapping.id;
	mapping.has_id = mapping.has_filename = mapping.has_build_id = 1;
	mapping.filename = pprof_text_of(pprof, path);
	mapping.build_id = pprof_text_of(pprof, frame->build_id);
	/* Nobody has to look for names: what is known is here. */
	mapping.has_has_functions = mapping.has_functions = 1;
	mapping.has_has_filenames = mapping.has_filenames = 1;
	mapping.has_has_line_numbers = mapping.has_line_numbers = 1;
	mapping.has_has_inline_frames = mapping.has_inline_frames = 1;
	piece.n_mapping = 1;
	piece.mapping = &list;
	put_piece(pprof, &piece);
	return mapping.id;
}

static uint64_t put_function(struct pprof *pprof, const char *name, const char *signature,
			     const char *file)
{
	Holdup__Pprof__Profile piece = HOLDUP__PPROF__PROFILE__INIT;
	Holdup__Pprof__Function function = HOLDUP__PPROF__FUNCTION__INIT, *list = &function;
	uint32_t texts[] = { pprof_text_of(pprof, name), pprof_text_of(pprof, signature),
			     pprof_text_of(pprof, file) };
	bool is_new;

	function.id = id_of(&pprof->functions, hash_bytes(texts, sizeof(texts), 2), &is_new);
	if (!is_new)
		return function.id;
	function.has_id = function.has_name = function.has_system_name = function.has_filename = 1;
	function.name = texts[0];
	function.system_name = texts[1];
	function.filename = texts[2];
	piece.n_function = 1;
	piece.function = &list;
	put_piece(pprof, &piece);
	return function.id;
}

static void pprof_put_location(struct pprof *pprof, Holdup__Pprof__Location *location,
			       uint64_t function, uint32_t number)
{
	Holdup__Pprof__Profile piece = HOLDUP__PPROF__PROFILE__INIT;
	Holdup__Pprof__Line line = HOLDUP__PPROF__LINE__INIT, *lines = &line;

	line.has_function_id = line.has_line = 1;
	line.function_id = function;
	line.line = number;
	location->has_id = 1;
	location->n_line = 1;
	location->line = &lines;
	piece.n_location = 1;
	piece.location = &location;
	put_piece(pprof, &piece);
	location->line = NULL;
}

/* The number of a frame is that of its location, from 1. */
static uint64_t put_frame(struct pprof *pprof, uint32_t id)
{
	const struct stack_frame *frame = &pprof->stacks->frames[id];
	Holdup__Pprof__Location location = HOLDUP__PPROF__LOCATION__INIT;
	AUTO_FREE char *name = NULL;

	location.id = id + UINT64_C(1);
	if (pprof->is_written[id])
		return location.id;
	pprof->is_written[id] = true;
	name = code_frame_text(frame);
	location.mapping_id = put_mapping(pprof, frame);
	location.has_mapping_id = location.mapping_id != 0;
	location.has_address = 1;
	location.address = frame->offset;
	pprof_put_location(pprof, &location,
			   put_function(pprof, name, frame->signature ? frame->signature : name,
					frame->file),
			   frame->line);
	return location.id;
}

/* What stands for code that is not known. */
static uint64_t put_no_frame(struct pprof *pprof)
{
	size_t id = pprof->stacks->frame_count;
	Holdup__Pprof__Location location = HOLDUP__PPROF__LOCATION__INIT;

	location.id = id + UINT64_C(1);
	if (!pprof->is_written[id])
		pprof_put_location(pprof, &location, put_function(pprof, "[not known]", NULL, NULL),
				   0);
	pprof->is_written[id] = true;
	return location.id;
}

/* ------------------------------------------------------------------ all of it */

static void pprof_put_sample(struct pprof *pprof, const struct sample *part)
{
	Holdup__Pprof__Profile piece = HOLDUP__PPROF__PROFILE__INIT;
	Holdup__Pprof__Sample sample = HOLDUP__PPROF__SAMPLE__INIT, *list = &sample;
	Holdup__Pprof__Label labels[LABELS], *label_list[LABELS];
	const struct stack *stack =
		part->stack == STACK_NONE ? NULL : &pprof->stacks->stacks[part->stack];
	size_t count = stack ? stack->count : 0;
	AUTO_FREE uint64_t *locations = xcalloc(count + 1, sizeof(*locations));

	for (size_t i = 0; i < count; i++)
		locations[i] = put_frame(pprof, pprof->stacks->frame_ids[stack->first + i]);
	if (!count)
		locations[count++] = put_no_frame(pprof);
	sample.n_location_id = count;
	sample.location_id = locations;
	sample.n_value = VALUES;
	sample.value = (int64_t *)(uintptr_t)part->values;
	for (size_t i = 0; i < LABELS; i++) {
		if (!part->labels[i])
			continue;
		label_list[sample.n_label] = &labels[sample.n_label];
		holdup__pprof__label__init(&labels[sample.n_label]);
		labels[sample.n_label].has_key = labels[sample.n_label].has_str = 1;
		labels[sample.n_label].key = pprof_text_of(pprof, label_names[i]);
		labels[sample.n_label++].str = part->labels[i];
	}
	sample.label = label_list;
	piece.n_sample = 1;
	piece.sample = &list;
	put_piece(pprof, &piece);
}

static void pprof_put_head(struct pprof *pprof)
{
	const struct export_job *job = pprof->job;
	Holdup__Pprof__Profile piece = HOLDUP__PPROF__PROFILE__INIT;
	Holdup__Pprof__ValueType types[VALUES], *list[VALUES];

	for (size_t i = 0; i < VALUES; i++) {
		holdup__pprof__value_type__init(&types[i]);
		types[i].has_type = types[i].has_unit = 1;
		types[i].type = pprof_text_of(pprof, value_names[i][0]);
		types[i].unit = pprof_text_of(pprof, value_names[i][1]);
		list[i] = &types[i];
	}
	piece.n_sample_type = VALUES;
	piece.sample_type = list;
	piece.has_time_nanos = job->facts->realtime_offset_ns != 0;
	piece.time_nanos = (int64_t)job->start_ns + job->facts->realtime_offset_ns;
	piece.has_duration_nanos = 1;
	piece.duration_nanos = (int64_t)(job->end_ns - job->start_ns);
	piece.has_default_sample_type = 1;
	piece.default_sample_type = pprof_text_of(pprof, value_names[VALUE_WALL][0]);
	put_piece(pprof, &piece);
}

/* Last, when all of them are known. */
static void put_texts(struct pprof *pprof)
{
	uint32_t count = pprof->texts.count ? pprof->texts.count : 1;

	for (uint32_t i = 0; i < count; i++) {
		Holdup__Pprof__Profile piece = HOLDUP__PPROF__PROFILE__INIT;
		char *text = (char *)(uintptr_t)(i ? names_text(&pprof->texts, i) : "");

		piece.n_string_table = 1;
		piece.string_table = &text;
		put_piece(pprof, &piece);
	}
}

static void pprof_put_all(struct pprof *pprof)
{
	pprof->is_written = xcalloc(pprof->stacks->frame_count + 1, sizeof(bool));
	pprof_put_head(pprof);
	for (size_t i = 0; i < pprof->part_count; i++)
		pprof_put_sample(pprof, &pprof->parts[i]);
	put_texts(pprof);
	put_compressed(pprof, NULL, 0, Z_FINISH);
}

int export_pprof(struct export_job *job, FILE *out, struct err *err)
{
	struct pprof pprof = { .job = job, .file = out };
	int rc = deflateInit2(&pprof.gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			      Z_DEFAULT_STRATEGY) == Z_OK
			 ? 0
			 : err_set(err, -ENOMEM, "zlib cannot begin");

	if (rc < 0)
		return rc;
	rc = code_run(job, CODE_WORK | CODE_WAITS, pprof_take_part, &pprof, err);
	if (rc == 0 && pprof.is_full)
		rc = err_set(err, -E2BIG,
			     "it has more than %u different stacks: choose some threads by --pid, "
			     "--tid or --comm, or a shorter window",
			     PARTS_MAX);
	pprof.stacks = job->facts->stacks;
	if (rc == 0)
		pprof_put_all(&pprof);
	(void)deflateEnd(&pprof.gzip);
	map_fini(&pprof.index);
	map_fini(&pprof.functions);
	map_fini(&pprof.mappings);
	names_fini(&pprof.texts);
	free(pprof.is_written);
	free(pprof.parts);
	free(pprof.buffer);
	return rc;
}
