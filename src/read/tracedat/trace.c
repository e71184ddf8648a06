/*
 * trace.c - a trace.dat of trace-cmd, version 6 or 7.
 *
 * The data of each CPU is the kernel's ring-buffer pages, as in our own format, so the lanes
 * are rings. Each instance that was recorded has its own pages, clock and page size; all are
 * merged in time order. Where two instances recorded the same kind of event, only the first
 * one's tell what happened on the CPU: of the others they are listed, no more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/source.h"
#include "read/event_stacks.h"
#include "read/tracedat/clock.h"
#include "read/tracedat/facts.h"
#include "read/tracedat/meta.h"
#include "read/tracedat/pages.h"
#include "read/tracedat/probe.h"
#include "read/tracedat/stats.h"
#include "read/kernel/events.h"
#include "read/lane.h"
#include "read/merge.h"
#include "read/kernel/pages.h"
#include "read/read.h"
#include "read/read_int.h"
#include "read/kernel/ring.h"
#include "store/file.h"

#define MAX_LANES	4096u
#define PLACE_SHIFT	48u		      /* above it: the number of the instance */
#define PAGES_MAX_BYTES ((uint64_t)256 << 20) /* a page of each lane, together */

#define MAX_MEANINGS 16u

/* Decoding, with some kinds of events that are only listed. */
struct meanings {
	type_set listed;
	struct kernel_events *events; /* owned */
};

/* The data of one CPU of one instance. */
struct dat_lane {
	struct ring *ring; /* the merge's once it exists */
	const struct dat_cpu *cpu;
	size_t buffer;
	struct clock clock;
	struct ring_common common;
};

struct dat_trace {
	struct trace trace;
	struct dat_file file;
	struct dat_meta meta;
	struct page_layout *layouts; /* owned; one for each instance */
	struct meanings *meanings;   /* owned; the first one is complete */
	size_t meaning_count;
	struct dat_lane *lanes; /* owned; in order of instances */
	size_t lane_count;
	uint64_t page_bytes; /* of all lanes */
	struct dat_room room;
	bool has_stacks;
};

/* ------------------------------------------------------------------ the lanes */

/* Compile the formats, but for the kinds of events in 'listed'. */
static const struct kernel_events *meaning(struct dat_trace *dat, type_set listed)
{
	struct meanings *made;
	struct facts notes = { 0 };

	if (dat->meaning_count == MAX_MEANINGS)
		listed = ~(type_set)0;
	for (size_t i = 0; i < dat->meaning_count; i++) {
		if (dat->meanings[i].listed == listed)
			return dat->meanings[i].events;
	}
	made = &dat->meanings[dat->meaning_count];
	made->listed = listed;
	made->events = kernel_events_new(&dat->meta.formats, dat->file.big_endian, &notes);
	if (listed)
		kernel_events_only_list(made->events, &dat->meta.formats, listed);
	/* Its messages begin with the name of a file that is not there. */
	for (size_t i = 0; dat->meaning_count == 0 && i < notes.damage_count; i++) {
		const char *text = notes.damage[i];

		text += strncmp(text, "kernel/", 7) == 0 ? 7 : 0;
		facts_note_damage(&dat->trace.facts, "%s", text);
	}
	facts_fini(&notes);
	dat->meaning_count++;
	return made->events;
}

static bool dat_trace_open_layout(struct dat_trace *dat, size_t i)
{
	struct facts *facts = &dat->trace.facts;
	const char *header = formats_find(&dat->meta.formats, "header_page");
	const struct dat_buffer *buffer = &dat->meta.buffers[i];
	struct page_layout *layout = &dat->layouts[i];
	bool big_endian = dat->file.big_endian;
	struct err why = { 0 };

	if (header && page_layout_init(layout, header, buffer->page_bytes, dat->meta.long_bytes,
				       big_endian, &why) == 0)
		return true;
	if (header)
		facts_note_damage(facts, "header_page: %s", why.text);
	if (page_layout_init(layout, NULL, buffer->page_bytes, dat->meta.long_bytes, big_endian,
			     &why) == 0)
		return true;
	facts_note_damage(facts, "instance \"%s\": %s", buffer->name, why.text);
	return false;
}

static char *lane_name(const struct dat_buffer *buffer, uint32_t cpu)
{
	return *buffer->name ? xasprintf("instance %s, CPU %u", buffer->name, cpu)
			     : xasprintf("CPU %u", cpu);
}

/* Nothing may stand in the data of two CPUs. */
static bool overlaps(const struct dat_trace *dat, const struct dat_cpu *cpu)
{
	for (size_t i = 0; i < dat->lane_count; i++) {
		const struct dat_cpu *other = dat->lanes[i].cpu;

		if (other->bytes && cpu->offset < other->offset + other->bytes &&
		    other->offset < cpu->offset + cpu->bytes)
			return true;
	}
	return false;
}

static void dat_trace_open_lane(struct dat_trace *dat, size_t b, const struct dat_cpu *cpu)
{
	struct dat_buffer *buffer = &dat->meta.buffers[b];
	struct dat_lane *lane = &dat->lanes[dat->lane_count];
	struct facts *facts = &dat->trace.facts;
	AUTO_FREE char *name = lane_name(buffer, cpu->cpu);
	uint64_t before = facts->cpus[cpu->cpu].lost, bytes = facts->cpus[cpu->cpu].bytes;
	struct ring_claim claim = {
		.cpu = cpu->cpu,
		.bytes = buffer->zipped ? 0 : cpu->bytes,
		.lost = cpu->lost,
		.place_base = (uint64_t)b << PLACE_SHIFT,
		.origin = *buffer->name ? buffer->name : NULL,
	};
	struct ring_bytes *pages;

	if (cpu->bytes == 0 && claim.lost == 0)
		return;
	pages = dat_pages_open(&dat->file, cpu, buffer->zipped, &dat->room, name, facts);
	dat_clock_init(&lane->clock, &dat->meta, cpu->cpu);
	lane->buffer = b;
	lane->cpu = cpu;
	lane->common = (struct ring_common){
		.layout = &dat->layouts[b],
		.events = meaning(dat, 0),
		.clock = &lane->clock,
		.limit_ns = CLOCK_MAX_NS,
	};
	lane->ring = ring_open_bytes(name, pages, &lane->common, &claim, facts);
	dat->lane_count++;
	facts->cpus[cpu->cpu].lost += before;
	facts->cpus[cpu->cpu].bytes += bytes;
}

/* What is impossible about the data of a CPU; NULL = nothing. */
static const char *wrong_with(struct dat_trace *dat, const struct dat_buffer *buffer,
			      const struct dat_cpu *cpu)
{
	if (cpu->bytes > UINT64_MAX / 2 || cpu->offset > UINT64_MAX / 2)
		return "is at an impossible place";
	if (cpu->bytes && cpu->offset >= dat->file.bytes)
		return "should be after the end of the file";
	if (dat->lane_count == MAX_LANES)
		return "is left out: there are too many CPUs";
	if (cpu->bytes && overlaps(dat, cpu))
		return "overlaps that of another CPU";
	if (cpu->bytes && dat->page_bytes + buffer->page_bytes > PAGES_MAX_BYTES)
		return "has sub-buffers that are too large";
	return NULL;
}

static void open_lanes_of(struct dat_trace *dat, size_t b)
{
	struct dat_buffer *buffer = &dat->meta.buffers[b];

	for (size_t i = 0; i < buffer->cpu_count; i++) {
		struct dat_cpu *cpu = &buffer->cpus[i];
		const char *wrong = wrong_with(dat, buffer, cpu);

		if (wrong) {
			AUTO_FREE char *name = lane_name(buffer, cpu->cpu);

			facts_note_damage(&dat->trace.facts, "%s: its data %s (byte %llu)", name,
					  wrong, (unsigned long long)cpu->offset);
			cpu->bytes = 0;
			continue;
		}
		dat->page_bytes += cpu->bytes ? buffer->page_bytes : 0;
		dat_trace_open_lane(dat, b, cpu);
	}
}

static void dat_trace_count_cpus(struct dat_trace *dat)
{
	struct facts *facts = &dat->trace.facts;
	size_t lanes = 0;

	for (size_t b = 0; b < dat->meta.buffer_count; b++) {
		const struct dat_buffer *buffer = &dat->meta.buffers[b];

		for (size_t i = 0; i < buffer->cpu_count; i++) {
			if (facts->cpu_count <= buffer->cpus[i].cpu)
				facts->cpu_count = buffer->cpus[i].cpu + 1u;
		}
		lanes += buffer->cpu_count;
	}
	facts->cpus = xcalloc(facts->cpu_count + 1, sizeof(*facts->cpus));
	dat->lanes = xcalloc((lanes < MAX_LANES ? lanes : MAX_LANES) + 1, sizeof(*dat->lanes));
}

/*
 * The kernel counts while the last events are still to be read: recorded are those that were read
 * and those that wait. Unknown where it did not count each instance that has data of the CPU.
 */
static void sum_events(struct dat_trace *dat)
{
	struct fact_cpu *cpus = dat->trace.facts.cpus;

	for (size_t i = 0; i < dat->lane_count; i++) {
		const struct dat_cpu *cpu = dat->lanes[i].cpu;

		cpus[cpu->cpu].events += cpu->unread + cpu->read;
	}
	for (size_t i = 0; i < dat->lane_count; i++) {
		const struct dat_cpu *cpu = dat->lanes[i].cpu;

		if (!cpu->has_unread || !cpu->has_read)
			cpus[cpu->cpu].events = 0;
	}
}

static void dat_find_span(struct dat_trace *dat)
{
	struct facts *facts = &dat->trace.facts;
	bool any = false;

	for (size_t i = 0; i < dat->lane_count; i++) {
		uint64_t first_ns, last_ns;

		if (ring_span(dat->lanes[i].ring, &first_ns, &last_ns))
			facts_widen(facts, first_ns, last_ns, &any);
	}
	for (size_t i = 0; i < dat->lane_count; i++) {
		dat->lanes[i].common.first_ns = facts->first_ns;
		dat->lanes[i].common.end_ns = facts->last_ns;
	}
}

/* The kinds of events that an instance before has of the same CPU, too. */
static type_set doubled(const struct dat_trace *dat, const struct dat_probe *probe, size_t lane)
{
	const struct dat_lane *lanes = dat->lanes;
	type_set before = 0;

	for (size_t i = 0; i < lane; i++) {
		if (lanes[i].cpu->cpu == lanes[lane].cpu->cpu &&
		    lanes[i].buffer != lanes[lane].buffer && lanes[i].cpu->bytes)
			before |= dat_probe_seen(probe, lanes[i].buffer);
	}
	return before & dat_probe_seen(probe, lanes[lane].buffer);
}

/* Look into the data for what the file does not say. */
static void probe(struct dat_trace *dat)
{
	struct dat_probe *probe;
	uint64_t bytes = 0;

	for (size_t i = 0; i < dat->lane_count; i++)
		bytes += dat->lanes[i].cpu->bytes;
	probe = dat_probe_new(dat->meta.buffer_count, bytes, &dat->trace.facts);
	for (size_t i = 0; i < dat->lane_count; i++)
		dat_probe_ring(probe, dat->lanes[i].buffer, dat->lanes[i].ring,
			       dat->lanes[i].common.events);
	dat_probe_finish(probe, &dat->trace.facts);
	dat->has_stacks = dat_probe_has_stacks(probe);
	for (size_t i = 0; i < dat->lane_count; i++) {
		dat->lanes[i].common.events = meaning(dat, doubled(dat, probe, i));
		ring_renew(dat->lanes[i].ring);
	}
	dat_probe_free(probe);
}

/* Which programs its processes ran must be known before what they had mapped. */
static int dat_trace_read_stacks(struct dat_trace *dat, struct err *err)
{
	struct dat_maps *maps = &dat->meta.maps;
	const struct code_map map = { maps, &maps->changes, dat_maps_follow, dat_maps_find };
	const struct event *event;
	int rc;

	if (!maps->count)
		return event_stacks_read(&dat->trace, NULL, err);
	/* What cannot be read is told to who reads the events. */
	while (source_next(dat->trace.source, &event, err) > 0)
		dat_maps_learn(maps, event);
	rc = source_seek(dat->trace.source, 0, err);
	return rc < 0 ? rc : event_stacks_read(&dat->trace, &map, err);
}

static int dat_trace_open_lanes(struct dat_trace *dat, struct err *err)
{
	size_t count = dat->meta.buffer_count;
	AUTO_FREE struct lane **lanes = NULL;

	dat->room = dat_room_of(dat->file.bytes);
	dat->layouts = xcalloc(count + 1, sizeof(*dat->layouts));
	dat->meanings = xcalloc(MAX_MEANINGS + 1, sizeof(*dat->meanings));
	dat_stats_fill(&dat->meta);
	dat_trace_count_cpus(dat);
	for (size_t b = 0; b < count; b++) {
		if (dat_trace_open_layout(dat, b))
			open_lanes_of(dat, b);
	}
	sum_events(dat);
	dat_find_span(dat);
	if (dat->trace.facts.last_ns && dat->meta.formats.count == 0)
		return err_set(err, -EBADMSG, "there are events, but no formats that explain them");
	probe(dat);
	lanes = xcalloc(dat->lane_count + 1, sizeof(struct lane *));
	for (size_t i = 0; i < dat->lane_count; i++)
		lanes[i] = ring_lane(dat->lanes[i].ring);
	dat->trace.merge = merge_new(lanes, dat->lane_count, &dat->trace.facts);
	dat->trace.source = merge_source(dat->trace.merge);
	dat->trace.facts.complete = dat->trace.facts.damage_count == 0;
	return dat->has_stacks ? dat_trace_read_stacks(dat, err) : 0;
}

/* ------------------------------------------------------------------ the trace */

static void dat_close(struct trace *trace)
{
	struct dat_trace *dat = (struct dat_trace *)trace;

	if (dat->trace.merge)
		source_close(merge_source(dat->trace.merge));
	for (size_t i = 0; i < dat->lane_count; i++) {
		if (!dat->trace.merge)
			ring_lane(dat->lanes[i].ring)->ops->close(ring_lane(dat->lanes[i].ring));
		clock_fini(&dat->lanes[i].clock);
	}
	free(dat->lanes);
	for (size_t i = 0; i < dat->meaning_count; i++)
		kernel_events_free(dat->meanings[i].events);
	free(dat->meanings);
	free(dat->layouts);
	facts_fini(&trace->facts);
	dat_meta_fini(&dat->meta);
	mem_close_fd(&dat->file.fd);
	free(dat);
}

static void dat_meaning(const struct trace *trace, struct trace_meaning *out_meaning)
{
	const struct dat_trace *dat = (const struct dat_trace *)trace;

	*out_meaning = (struct trace_meaning){
		.formats = &dat->meta.formats,
		.big_endian = dat->file.big_endian,
		.long_bytes = dat->meta.long_bytes,
	};
}

static int dat_find_place(struct trace *trace, uint32_t cpu, uint64_t place, uint64_t *out_ns,
			  struct err *err)
{
	struct dat_trace *dat = (struct dat_trace *)trace;

	for (size_t i = 0; i < dat->lane_count; i++) {
		const struct dat_lane *lane = &dat->lanes[i];

		if (ring_cpu(lane->ring) != cpu || lane->buffer != place >> PLACE_SHIFT)
			continue;
		if (ring_time_at(lane->ring, place & (((uint64_t)1 << PLACE_SHIFT) - 1), out_ns))
			return 0;
		return err_set(err, -ENOENT, "there is no event of CPU %u at %llx", cpu,
			       (unsigned long long)place);
	}
	return err_set(err, -ENOENT, "the trace has nothing of CPU %u there", cpu);
}

static const struct trace_ops dat_ops = {
	.meaning = dat_meaning,
	.find_place = dat_find_place,
	.close = dat_close,
};

/* A file by the name that somebody gave: it may be a link. */
static int dat_open_file(const char *path, struct dat_file *file, struct err *err)
{
	AUTO_FREE char *whole = realpath(path, NULL);

	if (!whole)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	file->fd = file_open(whole, &file->bytes, err);
	return file->fd < 0 ? file->fd : 0;
}

static bool only_text(const struct dat_meta *meta)
{
	for (size_t b = 0; b < meta->buffer_count; b++) {
		if (!meta->buffers[b].is_text)
			return false;
	}
	return meta->is_text || meta->buffer_count;
}

static int dat_open(const char *path, struct trace **out_trace, struct err *err)
{
	struct dat_trace *dat = xcalloc(1, sizeof(*dat));
	int rc;

	dat->trace.ops = &dat_ops;
	rc = dat_open_file(path, &dat->file, err);
	if (rc == 0)
		rc = dat_meta_read(&dat->file, &dat->trace.facts, &dat->meta, err);
	if (rc == 0 && only_text(&dat->meta))
		rc = err_set(err, -ENOTSUP, "it has no events, but the text of a latency tracer");
	if (rc == 0 && dat->file.cut_place)
		facts_note_damage(&dat->trace.facts,
				  "the section at byte %llu is cut off, or was never finished",
				  (unsigned long long)dat->file.cut_place);
	if (rc == 0) {
		dat_facts_fill(&dat->trace.facts, &dat->meta, dat->file.zip);
		rc = dat_trace_open_lanes(dat, err);
	}
	if (rc < 0) {
		dat_close(&dat->trace);
		return rc;
	}
	*out_trace = &dat->trace;
	return 0;
}

static bool dat_matches(const char *path)
{
	struct dat_file file = { .fd = -1 };
	uint8_t magic[DAT_MAGIC_BYTES];
	bool found;

	if (dat_open_file(path, &file, NULL) < 0)
		return false;
	found = file_read_at(file.fd, 0, magic, sizeof(magic)) == sizeof(magic) &&
		memcmp(magic, dat_magic, sizeof(magic)) == 0;
	mem_close_fd(&file.fd);
	return found;
}

const struct trace_format dat_trace_format = {
	.name = "trace.dat",
	.matches = dat_matches,
	.open = dat_open,
};
