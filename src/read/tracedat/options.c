/*
 * options.c - options: a number of 16 bits, a length of 32, and so many bytes.
 *
 * The lengths make that an option nobody knows can be passed over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "read/tracedat/meta.h"

#define MAX_CHAIN	 4096u
#define OPTION_MAX_BYTES (16u << 20)
#define STATS_MAX_BYTES	 (4u << 20)
#define NAME_BYTES	 4096u
#define MAX_SAMPLES	 (1u << 20)

enum option {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUCOUNT = 8,
	OPTION_VERSION = 9,
	OPTION_PROCMAPS = 10,
	OPTION_TIME_SHIFT = 12,
	OPTION_GUEST = 13,
	OPTION_TSC2NSEC = 14,
	OPTION_STRINGS = 15, /* titles of sections */
	OPTION_BUFFER_TEXT = 22,
};

/* One option that is being read. */
struct option_at {
	struct dat_meta *meta;
	struct facts *facts;
	struct dat_input input; /* its bytes, which a terminator follows */
	const char *text;
	uint32_t id;
};

/* False: it is damaged. */
typedef bool option_fn(struct option_at *option);

static bool on_date(struct option_at *option)
{
	/* "0x..." in us */
	option->meta->has_date = true;
	option->meta->date_ns =
		(int64_t)((uint64_t)strtoll(option->text, NULL, 0) * UINT64_C(1000));
	return true;
}

static bool on_offset(struct option_at *option)
{
	option->meta->offset_ns = (int64_t)((uint64_t)option->meta->offset_ns +
					    (uint64_t)strtoll(option->text, NULL, 0));
	return true;
}

/* One after the other for all CPUs; "Buffer: NAME" before those of another instance. */
static bool on_stats(struct option_at *option)
{
	struct dat_meta *meta = option->meta;
	size_t before = meta->stats_bytes, more = strlen(option->text);

	if (before + more + 2 > STATS_MAX_BYTES)
		return false;
	if (!meta->stats)
		meta->stats = xmalloc(STATS_MAX_BYTES);
	memcpy(meta->stats + before, option->text, more);
	memcpy(meta->stats + before + more, "\n", 2);
	meta->stats_bytes = before + more + 1;
	return true;
}

static void dat_options_set_text(char **text, const char *to)
{
	free(*text);
	*text = xstrdup(to);
}

static bool on_clock(struct option_at *option)
{
	/* Version 6 has the text behind the list of CPUs, and nothing here. */
	option->meta->clock_behind = true;
	if (*option->text)
		dat_options_set_text(&option->meta->clock, option->text);
	return true;
}

static bool on_uname(struct option_at *option)
{
	dat_options_set_text(&option->meta->uname, option->text);
	return true;
}

static bool on_version(struct option_at *option)
{
	dat_options_set_text(&option->meta->tool_version, option->text);
	return true;
}

static bool on_cpu_count(struct option_at *option)
{
	uint64_t count;

	if (!dat_take_number(&option->input, 4, &count) || count > DAT_MAX_CPUS)
		return false;
	option->meta->cpu_count = (uint32_t)count;
	return true;
}

static bool on_tsc(struct option_at *option)
{
	uint64_t mult, shift;

	if (!dat_take_number(&option->input, 4, &mult) ||
	    !dat_take_number(&option->input, 4, &shift) || mult == 0 || shift > 32)
		return false;
	option->meta->has_tsc = true;
	option->meta->tsc_mult = (uint32_t)mult;
	option->meta->tsc_shift = (uint32_t)shift;
	return true;
}

static bool on_guest(struct option_at *option)
{
	struct facts *facts = option->facts;
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *what = NULL;

	if (!dat_take_string(&option->input, NAME_BYTES, &name))
		return false;
	what = xasprintf("events of the guest %s", name);
	dat_missing(facts, what, "a guest has a trace.dat of its own");
	return true;
}

/* -------------------------------------------------------------- host and guest */

/* The same number of all samples, one behind the other. */
static bool take_column(struct dat_input *input, struct dat_sync *sync, size_t offset)
{
	for (size_t i = 0; i < sync->count; i++) {
		uint64_t number;

		if (!dat_take_number(input, 8, &number))
			return false;
		memcpy((char *)&sync->samples[i] + offset, &number, sizeof(number));
	}
	return true;
}

static bool dat_options_take_samples(struct dat_input *input, struct dat_sync *sync)
{
	uint64_t count;

	if (!dat_take_number(input, 4, &count) || count > MAX_SAMPLES ||
	    count > dat_left(input) / 24)
		return false;
	sync->samples = xcalloc((size_t)count + 1, sizeof(*sync->samples));
	sync->count = (size_t)count;
	return take_column(input, sync, offsetof(struct dat_sample, time)) &&
	       take_column(input, sync, offsetof(struct dat_sample, offset)) &&
	       take_column(input, sync, offsetof(struct dat_sample, scaling));
}

ORDER_FUNCTION(sync_by_time, struct dat_sample, ORDER_UP(time));

/* In order, each time once. */
static void sort_samples(struct dat_sync *sync)
{
	size_t kept = 0;

	if (sync->count)
		qsort(sync->samples, sync->count, sizeof(*sync->samples), sync_by_time);
	for (size_t i = 0; i < sync->count; i++) {
		if (kept == 0 || sync->samples[i].time != sync->samples[kept - 1].time)
			sync->samples[kept++] = sync->samples[i];
	}
	sync->count = kept;
}

static void drop_sync(struct dat_meta *meta)
{
	for (size_t i = 0; i < meta->sync_count; i++)
		free(meta->sync[i].samples);
	free(meta->sync);
	meta->sync = NULL;
	meta->sync_count = 0;
}

static bool on_time_shift(struct option_at *option)
{
	struct dat_input *input = &option->input;
	struct dat_meta *meta = option->meta;
	uint64_t flags, count;
	bool good = true;

	drop_sync(meta);
	if (!dat_skip(input, 8) || !dat_take_number(input, 4, &flags) ||
	    !dat_take_number(input, 4, &count) || count > dat_left(input) / 4)
		return false;
	meta->sync_flags = (uint32_t)flags;
	meta->sync = xcalloc((size_t)count + 1, sizeof(*meta->sync));
	for (; good && meta->sync_count < count; meta->sync_count++)
		good = dat_options_take_samples(input, &meta->sync[meta->sync_count]);
	/* Older ones end here. */
	for (size_t i = 0; good && dat_left(input) && i < meta->sync_count; i++)
		good = take_column(input, &meta->sync[i], offsetof(struct dat_sample, fraction));
	if (!good)
		drop_sync(meta);
	for (size_t i = 0; i < meta->sync_count; i++)
		sort_samples(&meta->sync[i]);
	return good;
}

/* -------------------------------------------------------------------- buffers */

static bool dat_options_take_cpus(struct dat_input *input, struct dat_meta *meta,
				  struct dat_buffer *buffer)
{
	uint64_t page_bytes, count, cpu;

	if (!dat_take_number(input, 4, &page_bytes) || !dat_take_number(input, 4, &count) ||
	    count > DAT_MAX_TABLES - meta->table_count || count > dat_left(input) / 20)
		return false;
	meta->table_count += (size_t)count;
	buffer->page_bytes = page_bytes ? (uint32_t)page_bytes : meta->page_bytes;
	buffer->cpus = xcalloc((size_t)count + 1, sizeof(*buffer->cpus));
	for (; buffer->cpu_count < count; buffer->cpu_count++) {
		struct dat_cpu *to = &buffer->cpus[buffer->cpu_count];

		if (!dat_take_number(input, 4, &cpu) || cpu >= DAT_MAX_CPUS ||
		    !dat_take_number(input, 8, &to->offset) ||
		    !dat_take_number(input, 8, &to->bytes))
			return false;
		to->cpu = (uint32_t)cpu;
	}
	return true;
}

static bool on_buffer(struct option_at *option)
{
	struct dat_input *input = &option->input;
	struct dat_meta *meta = option->meta;
	struct dat_buffer buffer = { .page_bytes = meta->page_bytes };
	bool good = meta->buffer_count < DAT_MAX_BUFFERS &&
		    dat_take_number(input, 8, &buffer.offset) &&
		    dat_take_string(input, NAME_BYTES, &buffer.name);

	buffer.is_text = option->id == OPTION_BUFFER_TEXT;
	if (good && meta->version >= 7)
		good = dat_take_string(input, NAME_BYTES, &buffer.clock) &&
		       (buffer.is_text || dat_options_take_cpus(input, meta, &buffer));
	if (!good) {
		free(buffer.name);
		free(buffer.clock);
		free(buffer.cpus);
		return false;
	}
	meta->buffers =
		vec_room(meta->buffers, meta->buffer_count, &meta->buffer_cap, sizeof(buffer));
	meta->buffers[meta->buffer_count++] = buffer;
	return true;
}

static bool on_section(struct option_at *option)
{
	return dat_take_number(&option->input, 8, &option->meta->sections[option->id]);
}

static void add_unread(struct dat_meta *meta, uint32_t id, uint64_t offset)
{
	if (meta->unread_count < DAT_MAX_UNREAD)
		meta->unread[meta->unread_count++] = (struct dat_unread){ id, offset };
}

/* A section that nothing is wanted of, but that it is there. */
static bool on_unread_section(struct option_at *option)
{
	uint64_t offset;

	if (dat_left(&option->input) == 8 && dat_take_number(&option->input, 8, &offset))
		add_unread(option->meta, option->id, offset);
	return true;
}

static bool on_maps(struct option_at *option)
{
	return dat_maps_add(&option->meta->maps, option->text);
}

static bool on_ignored(struct option_at *option)
{
	(void)option;
	return true;
}

/* One line per option. What no report needs is passed over. */
static const struct {
	uint32_t id;
	option_fn *read;
} handlers[] = {
	{ OPTION_DATE, on_date },
	{ OPTION_CPUSTAT, on_stats },
	{ OPTION_BUFFER, on_buffer },
	{ OPTION_BUFFER_TEXT, on_buffer },
	{ OPTION_TRACECLOCK, on_clock },
	{ OPTION_UNAME, on_uname },
	{ OPTION_OFFSET, on_offset },
	{ OPTION_CPUCOUNT, on_cpu_count },
	{ OPTION_VERSION, on_version },
	{ OPTION_TIME_SHIFT, on_time_shift },
	{ OPTION_GUEST, on_guest },
	{ OPTION_TSC2NSEC, on_tsc },
	{ OPTION_PROCMAPS, on_maps },
	{ DAT_HEADER_INFO, on_section },
	{ DAT_FTRACE_EVENTS, on_section },
	{ DAT_EVENT_FORMATS, on_section },
	{ DAT_KALLSYMS, on_section },
	{ DAT_PRINTK, on_section },
	{ DAT_CMDLINES, on_section },
	{ 6, on_ignored },  /* HOOK: how trace-cmd profile pairs events */
	{ 11, on_ignored }, /* TRACEID */
	{ OPTION_STRINGS, on_unread_section },
	{ 23, on_unread_section }, /* BTF_FILE */
	{ 24, on_ignored },	   /* LAST_BOOT_INFO */
	{ 25, on_unread_section }, /* MODULES_FILE */
};

static void dat_options_handle(struct option_at *option, uint64_t place)
{
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
		if (handlers[i].id != option->id)
			continue;
		if (!handlers[i].read(option))
			facts_note_damage(option->facts, "option %u at byte %llu is damaged",
					  option->id, (unsigned long long)place);
		return;
	}
	facts_note_damage(option->facts, "option %u at byte %llu is not known", option->id,
			  (unsigned long long)place);
}

/*
 * One option. Returns 1 when more may come, 0 at the end and, in version 7, where the chain
 * goes on.
 */
static int take_option(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		       uint64_t *out_next, struct err *err)
{
	struct option_at option = { .meta = meta, .facts = facts };
	uint64_t place = dat_place(input), id, bytes;
	AUTO_FREE char *text = NULL;

	if (!dat_take_number(input, 2, &id))
		return dat_cut(input, "the list of options", err);
	if (id == OPTION_DONE && meta->version < 7)
		return 0;
	if (!dat_take_number(input, 4, &bytes))
		return dat_cut(input, "the list of options", err);
	if (bytes > OPTION_MAX_BYTES || !dat_take_text(input, bytes, &text))
		return err_set(err, -EBADMSG,
			       "option %u at byte %llu has %llu bytes, more than there are",
			       (unsigned int)id, (unsigned long long)place,
			       (unsigned long long)bytes);
	meta->option_bytes += bytes;
	if (meta->option_bytes > DAT_UNPACKED_MAX_BYTES)
		return err_set(err, -EBADMSG, "the options before byte %llu are too long",
			       (unsigned long long)place);
	option.id = (uint32_t)id;
	option.text = text;
	option.input = dat_input_memory(input->file, text, bytes, place);
	if (id == OPTION_DONE) {
		if (!dat_take_number(&option.input, 8, out_next))
			return err_set(err, -EBADMSG,
				       "the end of the options at byte %llu is damaged",
				       (unsigned long long)place);
		return 0;
	}
	dat_options_handle(&option, place);
	return 1;
}

int dat_options_read(struct dat_input *input, struct dat_meta *meta, struct facts *facts,
		     struct err *err)
{
	uint64_t next = 0;
	int rc;

	while ((rc = take_option(input, meta, facts, &next, err)) > 0)
		;
	return rc;
}

/* Behind the last options trace-cmd writes titles of sections, and no option tells where. */
static void look_behind(const struct dat_file *file, uint64_t offset, struct dat_meta *meta)
{
	struct dat_input input = dat_input_file(file, offset, UINT64_MAX);
	uint64_t bytes;

	if (dat_skip(&input, 8) && dat_take_number(&input, 8, &bytes) && bytes &&
	    bytes < dat_left(&input))
		add_unread(meta, OPTION_STRINGS, input.at + bytes);
}

static int dat_options_read_link(struct dat_file *file, uint64_t *offset, struct dat_meta *meta,
				 struct facts *facts, struct err *err)
{
	struct dat_input input;
	AUTO_FREE char *memory = NULL;
	uint64_t next = 0;
	int rc = dat_section_open(file, *offset, OPTION_DONE, &input, &memory, err);

	if (rc < 0)
		return rc;
	/* One that was not finished may end without the mark of its end. */
	for (rc = 1; dat_left(&input) && rc > 0;)
		rc = take_option(&input, meta, facts, &next, err);
	if (rc > 0)
		dat_file_cut(file, *offset);
	look_behind(file, *offset, meta);
	*offset = next;
	return rc < 0 ? rc : 0;
}

int dat_options_chain(struct dat_file *file, uint64_t offset, struct dat_meta *meta,
		      struct facts *facts, struct err *err)
{
	AUTO_FREE uint64_t *seen = xcalloc(MAX_CHAIN, sizeof(*seen));
	int rc = 0;

	for (uint32_t links = 0; rc == 0 && offset; links++) {
		for (uint32_t i = 0; i < links; i++) {
			if (seen[i] == offset || links == MAX_CHAIN)
				return err_set(err, -EBADMSG,
					       "the options at byte %llu lead back to themselves",
					       (unsigned long long)offset);
		}
		seen[links] = offset;
		rc = dat_options_read_link(file, &offset, meta, facts, err);
	}
	return rc;
}
