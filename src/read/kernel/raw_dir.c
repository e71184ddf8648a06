/*
 * raw_dir.c - the kernel's ring-buffer pages as they lie in tracefs, copied to a folder.
 *
 *	per_cpu/cpuN/trace_pipe_raw	what was read from there; or cpuN.raw, or cpuN/trace_pipe_raw
 *	events/SYSTEM/EVENT/format	what records mean; or formats/SYSTEM/EVENT/format
 *	events/header_page		where things stand in a page; the usual where it is missing
 *	per_cpu/cpuN/stats, trace_clock, saved_cmdlines, printk_formats, kallsyms	if they are there
 *
 * Nothing else is known: byte order and the size of a page follow from the pages and header_page.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/clock.h"
#include "read/event_stacks.h"
#include "read/tracedat/clock.h"
#include "read/tracedat/facts.h"
#include "read/tracedat/meta.h"
#include "read/tracedat/probe.h"
#include "read/tracedat/stats.h"
#include "read/format_text.h"
#include "read/kernel/events.h"
#include "read/lane.h"
#include "read/merge.h"
#include "read/kernel/pages.h"
#include "read/read.h"
#include "read/read_int.h"
#include "read/kernel/ring.h"
#include "read/kernel_symbols.h"
#include "store/file.h"
#include "store/formats.h"

#define MAX_CPUS	  4096u
#define MAX_SECTIONS	  65536u
#define FORMAT_MAX_BYTES  (1u << 20)
#define TEXT_MAX_BYTES	  (16u << 20)
#define SYMBOLS_MAX_BYTES (64u << 20)
#define MAX_SYMBOLS	  (2u << 20)
#define PAGE_USUAL	  4096u
#define PAGE_MAX_BYTES	  (64u << 20)

struct raw_cpu {
	uint32_t cpu;
	char *path; /* owned */
	uint64_t bytes;
};

struct raw_dir {
	struct trace trace;
	struct formats formats;
	struct page_layout layout;
	struct kernel_events *events; /* owned */
	struct clock clock;
	struct ring_common common;
	struct dat_meta meta; /* what the texts of tracefs say */
	struct raw_cpu *cpus; /* owned */
	size_t cpu_count, cpu_cap;
	struct ring **rings; /* array owned; the merge's once it exists */
	size_t ring_count;
	uint64_t format_bytes;
	bool has_stacks;
};

/* ------------------------------------------------------------------ files */

/* The length of a regular file that is no link; -1 = there is none. */
static int64_t plain_file(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

static bool raw_dir_is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* All texts of tracefs end with a line's end. */
static bool raw_dir_is_whole(const char *text, size_t bytes)
{
	return bytes == 0 || text[bytes - 1] == '\n';
}

/* A text beside the pages, or NULL. Free it. */
static char *text_beside(struct raw_dir *raw, const char *path, const char *name, size_t max)
{
	AUTO_FREE char *file = xasprintf("%s/%s", path, name);
	char *text;
	size_t bytes;

	if (plain_file(file) < 0 || file_read(file, max, &text, &bytes, NULL) < 0)
		return NULL;
	if (!raw_dir_is_whole(text, bytes))
		facts_note_damage(&raw->trace.facts, "%s: it ends within a line", name);
	return text;
}

/* The pages of one CPU, as whoever copied them calls the file. Free it. */
static char *pages_of(const char *path, uint32_t cpu)
{
	static const struct {
		const char *before, *behind;
	} names[] = { { "per_cpu/cpu", "/trace_pipe_raw" },
		      { "cpu", "/trace_pipe_raw" },
		      { "cpu", ".raw" } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *file = xasprintf("%s/%s%u%s", path, names[i].before, cpu, names[i].behind);

		if (plain_file(file) >= 0)
			return file;
		free(file);
	}
	return NULL;
}

/* Mark the CPUs that "cpuN" or "cpuN.raw" in the folder names. */
static void raw_dir_find_cpus(const char *folder, bool *marks)
{
	DIR *dir = raw_dir_is_folder(folder) ? opendir(folder) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned int cpu;
		int used = 0;

		if (sscanf(entry->d_name, "cpu%6u%n", &cpu, &used) != 1 || cpu >= MAX_CPUS)
			continue;
		if (!entry->d_name[used] || strcmp(entry->d_name + used, ".raw") == 0)
			marks[cpu] = true;
	}
	if (dir)
		closedir(dir);
}

static void raw_dir_add_cpu(struct raw_dir *raw, uint32_t cpu, char *path)
{
	raw->cpus = vec_room(raw->cpus, raw->cpu_count, &raw->cpu_cap, sizeof(*raw->cpus));
	raw->cpus[raw->cpu_count++] = (struct raw_cpu){ cpu, path, (uint64_t)plain_file(path) };
}

static void list_cpus(struct raw_dir *raw, const char *path)
{
	AUTO_FREE char *per_cpu = xasprintf("%s/per_cpu", path);
	AUTO_FREE bool *marks = xcalloc(MAX_CPUS, sizeof(*marks));

	raw_dir_find_cpus(path, marks);
	raw_dir_find_cpus(per_cpu, marks);
	for (uint32_t cpu = 0; cpu < MAX_CPUS; cpu++) {
		char *file = marks[cpu] ? pages_of(path, cpu) : NULL;

		if (file)
			raw_dir_add_cpu(raw, cpu, file);
	}
}

/* ------------------------------------------------------------------ formats */

/* Where formats are, as in tracefs or as the folder of them alone is called. */
static const char *const format_folders[] = { "events", "formats" };

static void raw_dir_add_format(struct raw_dir *raw, const char *path, char *name)
{
	struct formats *formats = &raw->formats;
	char *text = NULL;
	size_t bytes;

	if (formats->count == MAX_SECTIONS || raw->format_bytes > FORMATS_MAX_BYTES ||
	    plain_file(path) < 0 || file_read(path, FORMAT_MAX_BYTES, &text, &bytes, NULL) < 0) {
		free(name);
		return;
	}
	/* tracefs says that its files have no length: cp copies nothing */
	if (bytes == 0 || !raw_dir_is_whole(text, bytes) ||
	    (strchr(name, '/') && !strstr(text, "\nprint fmt: ")))
		facts_note_damage(&raw->trace.facts, "%s: the format is not whole", name);
	if (bytes == 0) {
		free(text);
		free(name);
		return;
	}
	raw->format_bytes += bytes;
	formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
				     sizeof(*formats->sections));
	formats->sections[formats->count++] = (struct format_section){ name, text, bytes };
}

static int entry_by_name(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

/* What is in a folder, in an order that is always the same. */
static int list_folder(const char *folder, struct dirent ***out_entries)
{
	return raw_dir_is_folder(folder) ? scandir(folder, out_entries, NULL, entry_by_name) : 0;
}

static void raw_dir_read_system(struct raw_dir *raw, const char *folder, const char *system)
{
	struct dirent **entries = NULL;
	int count = list_folder(folder, &entries);

	for (int i = 0; i < count; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s/format", folder, entries[i]->d_name);

		if (entries[i]->d_name[0] != '.')
			raw_dir_add_format(raw, path,
					   xasprintf("%s/%s", system, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
}

static void read_formats(struct raw_dir *raw, const char *path, const char *name)
{
	static const char *const heads[] = { "header_page", "header_event" };
	AUTO_FREE char *folder = xasprintf("%s/%s", path, name);
	struct dirent **entries = NULL;
	int count = list_folder(folder, &entries);

	for (size_t i = 0; count > 0 && i < ARRAY_LEN(heads); i++) {
		AUTO_FREE char *head = xasprintf("%s/%s", folder, heads[i]);

		raw_dir_add_format(raw, head, xstrdup(heads[i]));
	}
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *system = xasprintf("%s/%s", folder, entries[i]->d_name);

		if (entries[i]->d_name[0] != '.')
			raw_dir_read_system(raw, system, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* ------------------------------------------------------------------ pages */

/* A page is as long as its head and the data that the kernel says it has. */
static uint32_t page_bytes_of(const char *header)
{
	struct format_field data;

	if (!header || !format_text_field(header, "data", &data) ||
	    data.bytes > PAGE_MAX_BYTES - data.offset)
		return PAGE_USUAL;
	return data.offset + data.bytes;
}

static uint32_t long_bytes_of(const char *header)
{
	struct format_field commit;

	return header && format_text_field(header, "commit", &commit) && commit.bytes == 4 ? 4 : 8;
}

/*
 * How many CPUs' first pages have records; 0 when one cannot be a page. Read in the wrong byte order a
 * length is too large, or 0.
 */
static size_t count_sound(const struct raw_dir *raw, const struct page_layout *layout)
{
	size_t count = 0;

	for (size_t i = 0; i < raw->cpu_count; i++) {
		uint64_t bytes;
		AUTO_CLOSE int fd = file_open(raw->cpus[i].path, &bytes, NULL);
		uint8_t head[PAGE_HEADER_BYTES] = { 0 };
		struct page page;

		if (fd < 0 || file_read_at(fd, 0, head, sizeof(head)) != sizeof(head))
			continue;
		if (!page_peek(layout, head, &page))
			return 0;
		count += page.bytes > 0;
	}
	return count;
}

static int raw_dir_open_layout(struct raw_dir *raw, struct err *err)
{
	const char *header = formats_find(&raw->formats, "header_page");
	bool ours = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct page_layout other;
	int rc = page_layout_init(&raw->layout, header, page_bytes_of(header),
				  long_bytes_of(header), ours, err);

	if (rc == 0)
		rc = page_layout_init(&other, header, page_bytes_of(header), long_bytes_of(header),
				      !ours, err);
	if (rc == 0 && count_sound(raw, &other) > count_sound(raw, &raw->layout))
		raw->layout = other;
	return rc;
}

/* ------------------------------------------------------------------ facts */

/* per_cpu/cpuN/stats, as a trace.dat has those of all CPUs. */
static void read_stats(struct raw_dir *raw, const char *path)
{
	struct dat_meta *meta = &raw->meta;
	struct dat_buffer *buffer;
	FILE *out = open_memstream(&meta->stats, &meta->stats_bytes);

	meta->buffers = buffer = xcalloc(1, sizeof(*buffer));
	meta->buffer_count = 1;
	buffer->name = xstrdup("");
	buffer->cpus = xcalloc(raw->cpu_count + 1, sizeof(*buffer->cpus));
	buffer->cpu_count = raw->cpu_count;
	for (size_t i = 0; i < raw->cpu_count; i++) {
		AUTO_FREE char *name = xasprintf("per_cpu/cpu%u/stats", raw->cpus[i].cpu);
		AUTO_FREE char *text = text_beside(raw, path, name, FORMAT_MAX_BYTES);

		buffer->cpus[i].cpu = raw->cpus[i].cpu;
		if (out && text)
			fprintf(out, "CPU: %u\n%s\n", raw->cpus[i].cpu, text);
	}
	if (out)
		fclose(out);
	dat_stats_fill(meta);
}

/* Only x86 has vectors; all others are known by their symbols alone. */
static const char *arch_of_formats(const struct raw_dir *raw)
{
	for (size_t i = 0; i < raw->formats.count; i++) {
		if (strncmp(raw->formats.sections[i].name, "irq_vectors/", 12) == 0)
			return raw->layout.long_bytes == 8 ? "x86_64" : "i686";
	}
	return NULL;
}

static void read_beside(struct raw_dir *raw, const char *path)
{
	struct facts *facts = &raw->trace.facts;
	char *symbols = text_beside(raw, path, "kallsyms", SYMBOLS_MAX_BYTES);

	facts->format = "pages of ftrace";
	facts->tracer = "ftrace";
	facts->target_status = -1;
	if (symbols)
		(void)symbols_add(facts, symbols, MAX_SYMBOLS, dat_take_symbol);
	facts->arch = arch_of_formats(raw);
	raw->meta.clock = text_beside(raw, path, "trace_clock", FORMAT_MAX_BYTES);
	if (raw->meta.clock && !raw->meta.clock[0])
		facts_note_damage(facts, "trace_clock: it is empty");
	raw->meta.cmdlines = text_beside(raw, path, "saved_cmdlines", TEXT_MAX_BYTES);
	raw->meta.printk = text_beside(raw, path, "printk_formats", TEXT_MAX_BYTES);
	read_stats(raw, path);
	dat_facts_texts(facts, &raw->meta);
	dat_missing(facts, "time of day", "tracefs has no file with it");
	dat_missing(facts, "processes of threads, their arguments and files",
		    "saved_tgids does not say since when, and no other file of tracefs has them");
}

/* ------------------------------------------------------------------ the trace */

static void raw_dir_open_rings(struct raw_dir *raw)
{
	struct facts *facts = &raw->trace.facts;

	for (size_t i = 0; i < raw->cpu_count; i++)
		facts->cpu_count = raw->cpus[i].cpu + 1;
	facts->cpus = xcalloc(facts->cpu_count + 1, sizeof(*facts->cpus));
	raw->rings = xcalloc(raw->cpu_count + 1, sizeof(struct ring *));
	raw->common = (struct ring_common){
		.layout = &raw->layout,
		.events = raw->events,
		.clock = &raw->clock,
		.limit_ns = CLOCK_MAX_NS,
		.keep_open = raw->cpu_count <= 64,
	};
	for (size_t i = 0; i < raw->cpu_count; i++) {
		const struct dat_cpu *told = &raw->meta.buffers[0].cpus[i];
		struct ring_claim claim = { .cpu = raw->cpus[i].cpu, .lost = told->lost };

		raw->rings[raw->ring_count++] =
			ring_open(raw->cpus[i].path, &raw->common, &claim, facts);
	}
}

static void raw_find_span(struct raw_dir *raw)
{
	struct facts *facts = &raw->trace.facts;
	bool any = false;

	for (size_t i = 0; i < raw->ring_count; i++) {
		uint64_t first_ns, last_ns;

		if (ring_span(raw->rings[i], &first_ns, &last_ns))
			facts_widen(facts, first_ns, last_ns, &any);
	}
	raw->common.first_ns = facts->first_ns;
	raw->common.end_ns = facts->last_ns;
}

/* Copies of tracefs have the formats of all events: what was recorded is seen in the pages. */
static void raw_dir_look_into(struct raw_dir *raw)
{
	struct dat_probe *probe;
	uint64_t bytes = 0;

	for (size_t i = 0; i < raw->cpu_count; i++)
		bytes += raw->cpus[i].bytes;
	probe = dat_probe_new(1, bytes, &raw->trace.facts);
	for (size_t i = 0; i < raw->ring_count; i++)
		dat_probe_ring(probe, 0, raw->rings[i], raw->events);
	dat_probe_finish(probe, &raw->trace.facts);
	raw->has_stacks = dat_probe_has_stacks(probe);
	dat_probe_free(probe);
}

static void raw_dir_open_merge(struct raw_dir *raw)
{
	AUTO_FREE struct lane **lanes = xcalloc(raw->ring_count + 1, sizeof(struct lane *));

	for (size_t i = 0; i < raw->ring_count; i++)
		lanes[i] = ring_lane(raw->rings[i]);
	raw->trace.merge = merge_new(lanes, raw->ring_count, &raw->trace.facts);
	raw->trace.source = merge_source(raw->trace.merge);
	raw->trace.facts.complete = raw->trace.facts.damage_count == 0;
}

static void raw_dir_close(struct trace *trace)
{
	struct raw_dir *raw = (struct raw_dir *)trace;

	if (raw->trace.merge)
		source_close(merge_source(raw->trace.merge));
	for (size_t i = 0; !raw->trace.merge && i < raw->ring_count; i++)
		ring_lane(raw->rings[i])->ops->close(ring_lane(raw->rings[i]));
	for (size_t i = 0; i < raw->cpu_count; i++)
		free(raw->cpus[i].path);
	free(raw->cpus);
	free(raw->rings);
	kernel_events_free(raw->events);
	formats_fini(&raw->formats);
	dat_meta_fini(&raw->meta);
	facts_fini(&trace->facts);
	free(raw);
}

static void raw_dir_meaning(const struct trace *trace, struct trace_meaning *out_meaning)
{
	const struct raw_dir *raw = (const struct raw_dir *)trace;

	*out_meaning = (struct trace_meaning){
		.formats = &raw->formats,
		.big_endian = raw->layout.big_endian,
		.long_bytes = raw->layout.long_bytes,
	};
}

static int raw_dir_find_place(struct trace *trace, uint32_t cpu, uint64_t place, uint64_t *out_ns,
			      struct err *err)
{
	struct raw_dir *raw = (struct raw_dir *)trace;

	for (size_t i = 0; i < raw->ring_count; i++) {
		if (ring_cpu(raw->rings[i]) == cpu && ring_time_at(raw->rings[i], place, out_ns))
			return 0;
	}
	return err_set(err, -ENOENT, "there is no event of CPU %u at %llx", cpu,
		       (unsigned long long)place);
}

static const struct trace_ops raw_dir_ops = {
	.meaning = raw_dir_meaning,
	.find_place = raw_dir_find_place,
	.close = raw_dir_close,
};

static int raw_dir_open_events(struct raw_dir *raw, const char *path, struct err *err)
{
	struct facts notes = { 0 };
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(format_folders); i++)
		read_formats(raw, path, format_folders[i]);
	if (raw->formats.count == 0)
		return err_set(err, -EBADMSG,
			       "there are pages of ftrace, but no formats that explain them "
			       "(events/SYSTEM/EVENT/format, copied by cat: cp makes empty files)");
	rc = raw_dir_open_layout(raw, err);
	if (rc < 0)
		return rc;
	raw->events = kernel_events_new(&raw->formats, raw->layout.big_endian, &notes);
	/* Its messages begin with the name of a file that is not there. */
	for (size_t i = 0; i < notes.damage_count; i++)
		facts_note_damage(&raw->trace.facts, "%s",
				  notes.damage[i] +
					  (strncmp(notes.damage[i], "kernel/", 7) == 0) * 7);
	facts_fini(&notes);
	return 0;
}

static int raw_dir_open(const char *path, struct trace **out_trace, struct err *err)
{
	struct raw_dir *raw = xcalloc(1, sizeof(*raw));
	AUTO_FREE char *whole = realpath(path, NULL);
	int rc = whole ? 0 : err_set(err, -errno, "%s", strerror(errno));

	raw->trace.ops = &raw_dir_ops;
	if (rc == 0) {
		list_cpus(raw, whole);
		rc = raw_dir_open_events(raw, whole, err);
	}
	if (rc < 0) {
		raw_dir_close(&raw->trace);
		return rc;
	}
	read_beside(raw, whole);
	raw_dir_open_rings(raw);
	raw_find_span(raw);
	raw_dir_look_into(raw);
	raw_dir_open_merge(raw);
	rc = raw->has_stacks ? event_stacks_read(&raw->trace, NULL, err) : 0;
	if (rc < 0) {
		raw_dir_close(&raw->trace);
		return rc;
	}
	*out_trace = &raw->trace;
	return 0;
}

/* Pages of some CPU, and a folder of formats. */
static bool raw_dir_matches(const char *path)
{
	struct raw_dir raw = { 0 };
	AUTO_FREE char *whole = realpath(path, NULL);
	bool found = false;

	if (!whole || !raw_dir_is_folder(whole))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(format_folders) && !found; i++) {
		AUTO_FREE char *folder = xasprintf("%s/%s", whole, format_folders[i]);

		found = raw_dir_is_folder(folder);
	}
	if (found)
		list_cpus(&raw, whole);
	for (size_t i = 0; i < raw.cpu_count; i++)
		free(raw.cpus[i].path);
	free(raw.cpus);
	return raw.cpu_count > 0;
}

const struct trace_format raw_dir_format = {
	.name = "pages of ftrace",
	.matches = raw_dir_matches,
	.open = raw_dir_open,
};
