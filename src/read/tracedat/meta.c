/* meta.c - the order of things in a trace.dat, and where sections begin. */
#include "read/tracedat/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"

#define MAX_MISSING	   64u
#define PAGE_MAX_BYTES	   (64u << 20) /* larger than any kernel makes sub-buffers */
#define SECTION_COMPRESSED 1u
#define MODE_BYTES	   10u

void dat_missing(struct facts *facts, const char *what, const char *why)
{
	for (size_t i = 0; i < facts->missing_count; i++) {
		if (strcmp(facts->missing[i].what, what) == 0)
			return;
	}
	if (facts->missing_count == MAX_MISSING)
		return;
	facts->missing =
		xrealloc(facts->missing, facts->missing_count + 1, sizeof(*facts->missing));
	facts->missing[facts->missing_count++] = (struct fact_missing){
		.what = facts_keep(facts, what),
		.why = facts_keep(facts, why),
	};
}

/* ------------------------------------------------------------------ sections */

static int dat_meta_unpack(struct dat_file *file, struct dat_input *input, char **out_memory,
			   struct err *err)
{
	uint64_t place = dat_place(input), packed, bytes;
	struct dat_zip *zip;
	AUTO_FREE char *from = NULL;
	char *to;
	int64_t made;

	if (!dat_take_number(input, 4, &packed) || !dat_take_number(input, 4, &bytes) ||
	    !dat_take_text(input, packed, &from))
		return dat_cut(input, "a compressed section", err);
	if (bytes > DAT_SECTION_MAX_BYTES || bytes > DAT_UNPACKED_MAX_BYTES - file->unpacked)
		return err_set(err, -EBADMSG,
			       "the section at byte %llu unpacks to %llu bytes, more than %llu",
			       (unsigned long long)place, (unsigned long long)bytes,
			       (unsigned long long)DAT_SECTION_MAX_BYTES);
	file->unpacked += bytes;
	to = xmalloc((size_t)bytes + 1);
	zip = dat_zip_new(file->zip);
	made = dat_zip_unpack(zip, from, (size_t)packed, to, (size_t)bytes);
	dat_zip_free(zip);
	if (made < 0) {
		free(to);
		return err_set(err, -EBADMSG, "the section at byte %llu cannot be unpacked",
			       (unsigned long long)place);
	}
	*input = dat_input_memory(file, to, (uint64_t)made, place);
	*out_memory = to;
	return 0;
}

int dat_section_open(struct dat_file *file, uint64_t offset, uint32_t id,
		     struct dat_input *out_input, char **out_memory, struct err *err)
{
	struct dat_input input = dat_input_file(file, offset, UINT64_MAX);
	uint64_t found, flags, title, bytes;

	*out_memory = NULL;
	if (offset >= file->bytes)
		return err_set(err, -EBADMSG,
			       "section %u should be at byte %llu, after the end of the file", id,
			       (unsigned long long)offset);
	if (!dat_take_number(&input, 2, &found) || !dat_take_number(&input, 2, &flags) ||
	    !dat_take_number(&input, 4, &title) || !dat_take_number(&input, 8, &bytes))
		return dat_cut(&input, "the head of a section", err);
	if (found != id)
		return err_set(err, -EBADMSG,
			       "section %u should be at byte %llu, where there is %u", id,
			       (unsigned long long)offset, (unsigned int)found);
	/* A writer that was killed left its length open. */
	if (bytes == 0 || bytes > dat_left(&input))
		dat_file_cut(file, offset);
	else
		input.end = input.at + bytes;
	if (flags & SECTION_COMPRESSED) {
		int rc = dat_meta_unpack(file, &input, out_memory, err);

		if (rc < 0)
			return rc;
	}
	*out_input = input;
	return 0;
}

typedef int section_fn(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		       struct err *err);

/* In the order of version 6. */
static const struct {
	enum dat_section id;
	section_fn *read;
	const char *what; /* that is missing without it */
	const char *why;
} sections[] = {
	{ DAT_HEADER_INFO, dat_read_headers, "the layout of pages",
	  "the file has no header_page: the usual one is taken" },
	{ DAT_FTRACE_EVENTS, dat_read_ftrace, "formats of ftrace's own events", "not in the file" },
	{ DAT_EVENT_FORMATS, dat_read_events, "formats of events", "not in the file" },
	{ DAT_KALLSYMS, dat_read_symbols, "names of kernel functions", "not in the file" },
	{ DAT_PRINTK, dat_read_printk, NULL, NULL },
	{ DAT_CMDLINES, dat_read_cmdlines, NULL, NULL },
};

/* ----------------------------------------------------------------- version 6 */

/* A table of (offset, bytes) for all CPUs. */
static int take_cpu_table(struct dat_input *input, struct dat_meta *meta, struct dat_buffer *buffer,
			  struct err *err)
{
	uint32_t count = meta->cpu_count;

	if (count > dat_left(input) / 16)
		return dat_cut(input, "the list of CPUs", err);
	if (count > DAT_MAX_TABLES - meta->table_count)
		return err_set(err, -EBADMSG, "there are too many lists of CPUs");
	meta->table_count += count;
	buffer->cpus = xcalloc((size_t)count + 1, sizeof(*buffer->cpus));
	for (uint32_t cpu = 0; cpu < count; cpu++) {
		struct dat_cpu *to = &buffer->cpus[cpu];

		if (!dat_take_number(input, 8, &to->offset) ||
		    !dat_take_number(input, 8, &to->bytes))
			return dat_cut(input, "the list of CPUs", err);
		to->cpu = cpu;
		buffer->cpu_count++;
	}
	return 0;
}

/* "options  \0", "latency  \0" or "flyrecord\0". */
static int take_mode(struct dat_input *input, char out_mode[MODE_BYTES], struct err *err)
{
	if (!dat_take(input, out_mode, MODE_BYTES))
		return dat_cut(input, "what follows the number of CPUs", err);
	out_mode[MODE_BYTES - 1] = '\0';
	return 0;
}

static int bad_mode(const struct dat_input *input, struct err *err)
{
	return err_set(err, -EBADMSG, "there is no \"flyrecord\" before byte %llu",
		       (unsigned long long)dat_place(input));
}

/* The table of another instance, at the offset that an option told. */
static int take_instance(const struct dat_file *file, struct dat_meta *meta,
			 struct dat_buffer *buffer, struct err *err)
{
	struct dat_input input = dat_input_file(file, buffer->offset, UINT64_MAX);
	char mode[MODE_BYTES];
	int rc = take_mode(&input, mode, err);

	if (rc == 0 && strncmp(mode, "latency", 7) == 0)
		buffer->is_text = true;
	else if (rc == 0 && strncmp(mode, "flyrecord", 9) != 0)
		rc = bad_mode(&input, err);
	else if (rc == 0)
		rc = take_cpu_table(&input, meta, buffer, err);
	return rc < 0 ? err_wrap(err, "looking for the instance %s", buffer->name) : 0;
}

static void take_clock(struct dat_input *input, struct dat_meta *meta)
{
	uint64_t bytes;

	/* Some versions wrote something else here: the clock is then not known. */
	if (meta->clock || !dat_take_number(input, 8, &bytes) || bytes > 4096)
		return;
	(void)dat_take_text(input, bytes, &meta->clock);
}

/* Put the top instance before those that options told of. */
static void put_top(struct dat_meta *meta, const struct dat_buffer *top)
{
	meta->buffers =
		vec_room(meta->buffers, meta->buffer_count, &meta->buffer_cap, sizeof(*top));
	memmove(meta->buffers + 1, meta->buffers, meta->buffer_count * sizeof(*top));
	meta->buffers[0] = *top;
	meta->buffer_count++;
}

static int dat_meta_read_tables(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
				struct err *err)
{
	struct dat_buffer top = { .name = xstrdup(""), .page_bytes = meta->page_bytes };
	int rc = take_cpu_table(input, meta, &top, err);

	put_top(meta, &top);
	if (rc == 0 && meta->clock_behind)
		take_clock(input, meta);
	for (size_t i = 1; i < meta->buffer_count; i++) {
		struct err why = { 0 };

		if (take_instance(input->file, meta, &meta->buffers[i], &why) < 0)
			facts_note_damage(facts, "%s", why.text);
	}
	return rc;
}

static int read_v6(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		   struct err *err)
{
	char mode[MODE_BYTES];
	uint64_t cpus;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(sections); i++)
		rc = sections[i].read(input, meta, facts, err);
	if (rc < 0)
		return rc;
	if (!dat_take_number(input, 4, &cpus))
		return dat_cut(input, "the number of CPUs", err);
	if (cpus > DAT_MAX_CPUS)
		return err_set(err, -EBADMSG, "%llu CPUs at byte %llu", (unsigned long long)cpus,
			       (unsigned long long)dat_place(input) - 4);
	meta->cpu_count = (uint32_t)cpus;
	rc = take_mode(input, mode, err);
	if (rc == 0 && strncmp(mode, "options", 7) == 0) {
		rc = dat_options_read(input, meta, facts, err);
		if (rc == 0)
			rc = take_mode(input, mode, err);
	}
	if (rc < 0)
		return rc;
	if (strncmp(mode, "latency", 7) == 0) {
		meta->is_text = true;
		return 0;
	}
	if (strncmp(mode, "flyrecord", 9) != 0)
		return bad_mode(input, err);
	return dat_meta_read_tables(input, meta, facts, err);
}

/* ----------------------------------------------------------------- version 7 */

static void dat_meta_read_section(struct dat_file *file, size_t which, struct dat_meta *meta,
				  struct facts *facts)
{
	uint64_t offset = meta->sections[sections[which].id];
	AUTO_FREE char *memory = NULL;
	struct dat_input input;
	struct err why = { 0 };
	int rc;

	if (offset == 0) {
		if (sections[which].what)
			dat_missing(facts, sections[which].what, sections[which].why);
		return;
	}
	rc = dat_section_open(file, offset, sections[which].id, &input, &memory, &why);
	if (rc == 0)
		rc = sections[which].read(&input, meta, facts, &why);
	if (rc < 0)
		facts_note_damage(facts, "%s", why.text);
}

/* What is not read may be what was cut off: the titles of sections stand last. */
static void check_unread(struct dat_file *file, const struct dat_unread *unread)
{
	struct dat_input input = dat_input_file(file, unread->offset, UINT64_MAX);
	uint64_t id, bytes;

	if (!dat_take_number(&input, 2, &id) || !dat_skip(&input, 6) ||
	    !dat_take_number(&input, 8, &bytes))
		dat_file_cut(file, unread->offset);
	else if (id == unread->id && bytes > dat_left(&input))
		dat_file_cut(file, unread->offset);
}

/* Is the data of a buffer compressed? Its section tells. */
static void look_at_buffer(const struct dat_file *file, struct dat_buffer *buffer,
			   struct facts *facts)
{
	struct dat_input input = dat_input_file(file, buffer->offset, UINT64_MAX);
	uint64_t id, flags;

	if (dat_take_number(&input, 2, &id) && dat_take_number(&input, 2, &flags) &&
	    (id == 3 || id == 22)) {
		buffer->zipped = flags & SECTION_COMPRESSED;
		return;
	}
	facts_note_damage(facts, "the data of instance \"%s\" should be at byte %llu, and is not",
			  buffer->name, (unsigned long long)buffer->offset);
	buffer->cpu_count = 0;
}

static int buffer_by_name(const void *left, const void *right)
{
	const struct dat_buffer *a = left, *b = right;

	bool a_named = *a->name != '\0', b_named = *b->name != '\0';

	if (a_named != b_named)
		return a_named ? 1 : -1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int read_v7(struct dat_file *file, struct dat_input *input, struct dat_meta *meta,
		   struct facts *facts, struct err *err)
{
	uint64_t options;
	int rc;

	if (!dat_take_number(input, 8, &options))
		return dat_cut(input, "the head of the file", err);
	if (options == 0)
		return err_set(err, -EBADMSG, "there are no options: it was not finished");
	rc = dat_options_chain(file, options, meta, facts, err);
	if (rc < 0 && meta->buffer_count == 0)
		return rc;
	if (rc < 0)
		facts_note_damage(facts, "%s", err ? err->text : "the options are damaged");
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		dat_meta_read_section(file, i, meta, facts);
	for (uint32_t i = 0; i < meta->unread_count; i++)
		check_unread(file, &meta->unread[i]);
	for (size_t i = 0; i < meta->buffer_count; i++)
		look_at_buffer(file, &meta->buffers[i], facts);
	if (meta->buffer_count)
		qsort(meta->buffers, meta->buffer_count, sizeof(*meta->buffers), buffer_by_name);
	return 0;
}

/* ------------------------------------------------------------------- the head */

static int take_compression(struct dat_input *input, struct dat_file *file, struct err *err)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *version = NULL;

	if (!dat_take_string(input, 256, &name) || !dat_take_string(input, 256, &version))
		return dat_cut(input, "the name of the compression", err);
	file->zip = dat_zip_kind(name);
	if (file->zip == DAT_ZIP_UNKNOWN)
		return err_set(err, -ENOTSUP, "it is compressed by \"%.32s\", which is not known",
			       name);
	return 0;
}

static int take_head(struct dat_input *input, struct dat_file *file, struct dat_meta *meta,
		     struct err *err)
{
	uint8_t magic[DAT_MAGIC_BYTES];
	AUTO_FREE char *version = NULL;
	uint64_t order, long_bytes, page_bytes;

	if (!dat_take(input, magic, sizeof(magic)) || memcmp(magic, dat_magic, sizeof(magic)) != 0)
		return err_set(err, -EBADMSG, "it does not begin as a trace.dat");
	if (!dat_take_string(input, 16, &version) || !dat_take_number(input, 1, &order) ||
	    !dat_take_number(input, 1, &long_bytes))
		return dat_cut(input, "the head of the file", err);
	meta->version = (uint32_t)strtoul(version, NULL, 10);
	if (meta->version != 6 && meta->version != 7)
		return err_set(err, -ENOTSUP,
			       "it is a trace.dat of version %.16s; 6 and 7 can be read", version);
	file->big_endian = order == 1;
	if (order > 1 || (long_bytes != 4 && long_bytes != 8))
		return err_set(err, -EBADMSG, "byte order %u and longs of %u bytes at byte %llu",
			       (unsigned int)order, (unsigned int)long_bytes,
			       (unsigned long long)dat_place(input) - 2);
	if (!dat_take_number(input, 4, &page_bytes))
		return dat_cut(input, "the head of the file", err);
	if (page_bytes < 64 || page_bytes > PAGE_MAX_BYTES)
		return err_set(err, -EBADMSG, "pages of %llu bytes",
			       (unsigned long long)page_bytes);
	meta->long_bytes = (uint32_t)long_bytes;
	meta->page_bytes = (uint32_t)page_bytes;
	return meta->version >= 7 ? take_compression(input, file, err) : 0;
}

int dat_meta_read(struct dat_file *file, struct facts *facts, struct dat_meta *out_meta,
		  struct err *err)
{
	struct dat_input input = dat_input_file(file, 0, UINT64_MAX);
	int rc;

	*out_meta = (struct dat_meta){ 0 };
	rc = take_head(&input, file, out_meta, err);
	if (rc < 0)
		return rc;
	rc = out_meta->version >= 7 ? read_v7(file, &input, out_meta, facts, err)
				    : read_v6(&input, out_meta, facts, err);
	dat_maps_finish(&out_meta->maps);
	return rc;
}

void dat_meta_fini(struct dat_meta *meta)
{
	for (size_t i = 0; i < meta->buffer_count; i++) {
		free(meta->buffers[i].name);
		free(meta->buffers[i].clock);
		free(meta->buffers[i].cpus);
	}
	free(meta->buffers);
	for (size_t i = 0; i < meta->sync_count; i++)
		free(meta->sync[i].samples);
	free(meta->sync);
	dat_maps_fini(&meta->maps);
	formats_fini(&meta->formats);
	free(meta->printk);
	free(meta->cmdlines);
	free(meta->uname);
	free(meta->tool_version);
	free(meta->stats);
	free(meta->clock);
	*meta = (struct dat_meta){ 0 };
}
