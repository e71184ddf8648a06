/*
 * dir.c - a trace of CTF 1.8, or a tree of folders with several.
 *
 * A folder with a file 'metadata' is a trace; its other files are streams.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/source.h"
#include "read/ctf/beside.h"
#include "read/ctf/dump.h"
#include "read/ctf/images.h"
#include "read/ctf/lane.h"
#include "read/ctf/meta.h"
#include "read/ctf/native.h"
#include "read/ctf/packets.h"
#include "read/ctf/plan.h"
#include "read/ctf/record.h"
#include "read/ctf/rows.h"
#include "read/ctf/threads.h"
#include "read/event_stacks.h"
#include "read/kernel/events.h"
#include "read/lane.h"
#include "read/merge.h"
#include "read/read.h"
#include "read/read_int.h"
#include "read/clock.h"
#include "read/vtids.h"
#include "store/file.h"
#include "store/formats.h"

#define MAX_DEPTH   8u
#define MAX_FOLDERS 65536u
#define MAX_TRACES  4096u
#define MAX_STREAMS 4096u
#define WARM_NS	    1000000000u /* before a seek, to learn who runs where */
#define MAX_KINDS   65535u	/* of events: records have their number in 16 bits */

struct ctf_dir {
	struct trace trace;
	struct ctf_meta **metas; /* owned */
	size_t meta_count, meta_cap;
	size_t types_left; /* that further ones may have */
	struct ctf_index index;
	struct ctf_common common;
	struct ctf_lane **lanes; /* array owned; the lanes are the merge's, but for state dumps */
	size_t lane_count;
	struct formats formats;
	uint32_t kinds;
	bool has_switches;
	uint32_t taken;	  /* numbers of kinds up to here are others' */
	bool *numbers;	  /* owned; CTF_NATIVE_MAX_KIND + 1: those that natives have */
	bool native;	  /* holdup wrote it: see ctf_native.h */
	bool has_natives; /* it has such events */
	bool big_endian;
	struct kernel_events *events; /* owned; of native events */
	struct formats state_formats; /* of the events of a state dump */
	struct ctf_common user_common;
	struct source *threads; /* owned; around the merge, when there are switches */
};

/* ------------------------------------------------------------------ folders */

/* Folders of a tree, in order of their names. */
struct tree {
	char **paths; /* owned; those with metadata */
	size_t count, cap;
	uint32_t visited;
	bool first_only;
};

static bool is_regular(const char *folder, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void find_traces(struct tree *tree, const char *folder, uint32_t depth)
{
	struct dirent **entries = NULL;
	int count;

	if (tree->visited++ > MAX_FOLDERS || depth > MAX_DEPTH || tree->count == MAX_TRACES ||
	    (tree->first_only && tree->count))
		return;
	if (is_regular(folder, "metadata")) {
		tree->paths = vec_room(tree->paths, tree->count, &tree->cap, sizeof(char *));
		tree->paths[tree->count++] = xstrdup(folder);
	}
	count = scandir(folder, &entries, is_visible, alphasort);
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", folder, entries[i]->d_name);
		struct stat st;

		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
			find_traces(tree, path, depth + 1);
		free(entries[i]);
	}
	free(entries);
}

static void tree_fini(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		free(tree->paths[i]);
	free(tree->paths);
}

/* ------------------------------------------------------------------ metadata */

static int read_meta(struct ctf_dir *dir, const char *folder, struct ctf_meta **out_meta,
		     struct err *err)
{
	AUTO_FREE char *path = xasprintf("%s/metadata", folder);
	AUTO_FREE char *bytes = NULL;
	AUTO_FREE char *text = NULL;
	size_t count, text_bytes;
	int rc = file_read(path, CTF_MAX_METADATA, &bytes, &count, err);

	if (rc == 0)
		rc = ctf_metadata_text((const uint8_t *)bytes, count, &text, &text_bytes, err);
	if (rc == 0)
		rc = ctf_meta_new_of(text, text_bytes, &dir->types_left, out_meta, err);
	return rc;
}

static const char *ctf_dir_env_text(const struct ctf_meta *meta, const char *name)
{
	const struct ctf_env *env = ctf_meta_env(meta, name);

	return env && env->text ? env->text : NULL;
}

/* "lttng-modules 2.13.9"; NULL when it is not told. */
static const char *tracer_from_env(struct facts *facts, const struct ctf_meta *meta)
{
	static const char *const parts[] = { "tracer_major", "tracer_minor", "tracer_patchlevel",
					     "tracer_patch" };
	const char *name = ctf_dir_env_text(meta, "tracer_name");
	AUTO_FREE char *text = name ? xstrdup(name) : NULL;
	char sign = ' ';

	for (size_t i = 0; name && i < ARRAY_LEN(parts); i++) {
		const struct ctf_env *part = ctf_meta_env(meta, parts[i]);
		char *longer;

		if (!part || part->text)
			continue;
		longer = xasprintf("%s%c%lld", text, sign, (long long)part->number);
		free(text);
		text = longer;
		sign = '.';
	}
	return text ? facts_keep(facts, text) : NULL;
}

/* What env tells of the machine. */
static void facts_from_env(struct facts *facts, const struct ctf_meta *meta)
{
	const char *host = ctf_dir_env_text(meta, "hostname"),
		   *arch = ctf_dir_env_text(meta, "machine");
	const char *kernel = ctf_dir_env_text(meta, "kernel_release");

	if (!facts->tracer)
		facts->tracer = tracer_from_env(facts, meta);
	if (!facts->clock && meta->clock_count)
		facts->clock = facts_keep(facts, meta->clocks[0]->name);
	if (host && !facts->host)
		facts->host = facts_keep(facts, host);
	if (!kernel)
		kernel = ctf_dir_env_text(meta, "release");
	if (kernel && !facts->kernel)
		facts->kernel = facts_keep(facts, kernel);
	if (!arch)
		arch = ctf_dir_env_text(meta, "architecture");
	if (arch && facts_syscall(&(struct facts){ .arch = arch }, 0, false))
		facts->arch = facts_keep(facts, arch);
}

/* Numbers of others begin behind those of natives. */
static void reserve_natives(struct ctf_dir *dir, const struct ctf_meta *meta)
{
	uint32_t highest = ctf_native_kinds(meta);

	dir->kinds = highest > dir->kinds ? highest : dir->kinds;
}

/* One that holdup wrote. False when it is none, or cannot be. */
static bool bind_native(struct ctf_dir *dir, struct ctf_meta *meta, struct ctf_event *event)
{
	struct ctf_native_kind kind = ctf_native_parse(event);
	struct formats *formats =
		kind.native == CTF_NATIVE_STATE ? &dir->state_formats : &dir->formats;

	free(kind.title);
	if (event->id <= dir->taken || event->id > CTF_NATIVE_MAX_KIND || dir->numbers[event->id] ||
	    !ctf_native_bind(meta, event, formats, &dir->trace.facts))
		return false;
	dir->numbers[event->id] = true;
	dir->big_endian = meta->big_endian;
	dir->has_natives = true;
	dir->has_switches |= event->base->type == EV_SCHED_SWITCH;
	return true;
}

/* holdup wrote it: an export, a cut, or libholdup in a program. */
static bool is_by_holdup(const struct ctf_meta *meta)
{
	const char *tracer = ctf_dir_env_text(meta, "tracer_name");

	return tracer && strcmp(tracer, "holdup") == 0;
}

/* They are of no event. What holdup itself puts there is room that it left. */
static void note_packet_context(struct ctf_dir *dir, const struct ctf_meta *meta,
				const struct ctf_stream *stream)
{
	uint32_t own = is_by_holdup(meta) ? 0 : ctf_record_own(stream->packet_context);

	if (own)
		facts_note_unshown(&dir->trace.facts, "%u field%s of the packets of stream %llu",
				   own, own == 1 ? "" : "s", (unsigned long long)stream->id);
}

static void bind_events(struct ctf_dir *dir, struct ctf_meta *meta)
{
	if (!dir->numbers)
		dir->numbers = xcalloc(CTF_NATIVE_MAX_KIND + 1, sizeof(bool));
	reserve_natives(dir, meta);
	for (size_t i = 0; i < meta->event_count; i++) {
		struct ctf_event *event = meta->events[i];
		const struct ctf_stream *stream = ctf_meta_stream(meta, event->stream_id);
		AUTO_FREE char *title = NULL;
		const char *system, *name;
		uint32_t left_out;

		if (bind_native(dir, meta, event))
			continue;
		event->number = dir->kinds < MAX_KINDS ? ++dir->kinds : MAX_KINDS;
		ctf_rows_title(meta, event, &system, &name);
		ctf_rows_bind(meta, event, system, name, &dir->trace.facts);
		dir->trace.facts.has_syscalls |= event->base->type == EV_SYS_ENTER;
		dir->has_switches |= event->base->type == EV_SCHED_SWITCH;
		title = xasprintf("%s/%s", system, name);
		left_out = ctf_record_plan(stream, event, title, &dir->formats);
		if (left_out)
			facts_note_unshown(&dir->trace.facts, "%u field%s of %s:%s", left_out,
					   left_out == 1 ? "" : "s", system, name);
	}
	for (size_t i = 0; i < meta->stream_count; i++) {
		ctf_plan_stream(meta, meta->streams[i]);
		note_packet_context(dir, meta, meta->streams[i]);
	}
}

/* ------------------------------------------------------------------ streams */

static size_t add_files(struct ctf_dir *dir, const char *folder, const struct ctf_meta *meta)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_visible, alphasort);
	size_t packets = 0;

	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		if (strcmp(name, "metadata") != 0 && is_regular(folder, name)) {
			AUTO_FREE char *path = xasprintf("%s/%s", folder, name);

			packets += ctf_index_add(&dir->index, path, meta, &dir->trace.facts);
		}
		free(entries[i]);
	}
	free(entries);
	return packets;
}

/* The earliest of the clocks that are used. */
static int64_t ctf_dir_find_origin(const struct ctf_dir *dir)
{
	int64_t origin = INT64_MAX;

	for (size_t i = 0; i < dir->index.count; i++) {
		const struct ctf_packets *stream = &dir->index.streams[i];

		for (size_t p = 0; p < stream->count; p++) {
			int64_t of = ctf_clock_origin(stream->items[p].stream->clock);

			if (p && stream->items[p].file == stream->items[p - 1].file)
				continue;
			origin = of < origin ? of : origin;
		}
	}
	return origin == INT64_MAX ? 0 : origin;
}

/* What all events of a stream are. */
static enum ctf_native native_of(const struct ctf_packets *stream)
{
	const struct ctf_stream *kind = stream->count ? stream->items[0].stream : NULL;

	return kind && kind->event_count ? (enum ctf_native)kind->events[0]->native
					 : CTF_NATIVE_NOT;
}

static bool is_state(const struct ctf_packets *stream)
{
	return native_of(stream) == CTF_NATIVE_STATE;
}

static uint64_t ctf_dir_lost_of(const struct ctf_packets *stream)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < stream->count; i++)
		lost += stream->items[i].lost;
	return lost;
}

static uint16_t ctf_dir_cpu_of(const struct ctf_packets *stream, size_t number)
{
	return stream->count && stream->items[0].has_cpu ? stream->items[0].cpu : (uint16_t)number;
}

static void ctf_dir_count_cpus(struct ctf_dir *dir)
{
	struct facts *facts = &dir->trace.facts;

	for (size_t i = 0; i < dir->index.count; i++) {
		uint16_t cpu = ctf_dir_cpu_of(&dir->index.streams[i], i);

		if (facts->cpu_count <= cpu && !is_state(&dir->index.streams[i]))
			facts->cpu_count = cpu + 1u;
	}
	facts->cpus = xcalloc(facts->cpu_count + 1, sizeof(*facts->cpus));
	for (size_t i = 0; i < dir->index.count; i++) {
		const struct ctf_packets *stream = &dir->index.streams[i];
		struct fact_cpu *cpu = &facts->cpus[ctf_dir_cpu_of(stream, i)];

		if (is_state(stream))
			continue;
		cpu->lost += ctf_dir_lost_of(stream);
		for (size_t p = 0; p < stream->count; p++)
			cpu->bytes += (stream->items[p].content_bits + 7) / 8;
	}
}

/*
 * What time the recording covers: that of its events. Packets may end long after the tracer
 * was stopped.
 */
static void ctf_find_span(struct ctf_dir *dir)
{
	struct facts *facts = &dir->trace.facts;
	bool any = false;

	for (size_t i = 0; i < dir->index.count; i++) {
		uint64_t first_ns, last_ns;

		if (ctf_lane_span(dir->lanes[i], &first_ns, &last_ns))
			facts_widen(facts, first_ns, last_ns, &any);
	}
	dir->common.first_ns = facts->first_ns;
	dir->common.end_ns = facts->last_ns;
}

/* A lane for each stream; those that are merged in 'out_lanes'. Returns how many these are. */
static size_t make_lanes(struct ctf_dir *dir, struct lane **out_lanes)
{
	size_t count = 0;

	dir->lane_count = dir->index.count;
	dir->lanes = xcalloc(dir->lane_count + 1, sizeof(struct ctf_lane *));
	for (size_t i = 0; i < dir->lane_count; i++) {
		const struct ctf_packets *stream = &dir->index.streams[i];
		bool is_user = native_of(stream) == CTF_NATIVE_USER;

		dir->lanes[i] = ctf_lane_new(stream, is_user ? &dir->user_common : &dir->common,
					     ctf_dir_cpu_of(stream, i), (uint16_t)i);
		if (!is_state(stream))
			out_lanes[count++] = ctf_lane_lane(dir->lanes[i]);
	}
	return count;
}

/* What holdup wrote down beside the events. */
static void read_natives(struct ctf_dir *dir)
{
	struct facts *facts = &dir->trace.facts;

	for (size_t i = 0; i < dir->meta_count && !dir->native; i++)
		dir->native = ctf_state_env(dir->metas[i], facts);
	for (size_t i = 0; i < dir->lane_count; i++) {
		const struct ctf_packets *stream = &dir->index.streams[i];

		if (is_state(stream))
			ctf_state_read(dir->lanes[i], stream->items[0].file->meta,
				       &dir->state_formats, facts);
	}
	dir->common.first_ns = facts->first_ns;
	dir->common.end_ns = facts->last_ns;
	dir->user_common = dir->common;
	dir->user_common.context = EV_CTX_USER;
}

static void close_states(struct ctf_dir *dir)
{
	for (size_t i = 0; i < dir->lane_count; i++) {
		struct lane *lane = ctf_lane_lane(dir->lanes[i]);

		if (is_state(&dir->index.streams[i]))
			lane->ops->close(lane);
	}
}

/* LTTng-UST, and libholdup where it wrote alone. Others may tell of switches in words of their own. */
static bool is_by_programs(const struct ctf_meta *meta)
{
	const char *tracer = ctf_dir_env_text(meta, "tracer_name");

	return tracer && (strcmp(tracer, "lttng-ust") == 0 || is_by_holdup(meta));
}

static bool are_programs_alone(const struct ctf_dir *dir)
{
	bool alone = dir->meta_count && !dir->has_switches && !dir->has_natives;

	for (size_t i = 0; alone && i < dir->meta_count; i++)
		alone = is_by_programs(dir->metas[i]);
	return alone;
}

static void ctf_dir_open_lanes(struct ctf_dir *dir)
{
	AUTO_FREE struct lane **lanes = xcalloc(dir->index.count + 1, sizeof(struct lane *));
	size_t count;

	dir->common.origin_ns = ctf_dir_find_origin(dir);
	dir->trace.facts.realtime_offset_ns = dir->common.origin_ns;
	ctf_index_finish(&dir->index, dir->common.origin_ns);
	ctf_dir_count_cpus(dir);
	if (dir->has_natives)
		dir->events = kernel_events_new(&dir->formats, dir->big_endian, &dir->trace.facts);
	dir->common.events = dir->events;
	count = make_lanes(dir, lanes);
	ctf_find_span(dir);
	if (!dir->has_natives)
		ctf_dump_read(dir->lanes, dir->lane_count, &dir->formats, &dir->trace.facts);
	read_natives(dir);
	dir->trace.facts.only_programs = are_programs_alone(dir);
	dir->trace.merge = merge_new(lanes, count, &dir->trace.facts);
	dir->trace.source = merge_source(dir->trace.merge);
	if (dir->has_switches) {
		dir->threads = ctf_threads_new(dir->trace.source, WARM_NS);
		dir->trace.source = dir->threads;
	}
}

/* ------------------------------------------------------------------ the trace */

static void ctf_dir_close(struct trace *trace)
{
	struct ctf_dir *dir = (struct ctf_dir *)trace;

	source_close(dir->threads);
	if (dir->trace.merge)
		source_close(merge_source(dir->trace.merge));
	if (dir->trace.merge)
		close_states(dir);
	free(dir->lanes);
	kernel_events_free(dir->events);
	free(dir->numbers);
	formats_fini(&dir->state_formats);
	ctf_index_fini(&dir->index);
	for (size_t i = 0; i < dir->meta_count; i++)
		ctf_meta_free(dir->metas[i]);
	free(dir->metas);
	formats_fini(&dir->formats);
	facts_fini(&trace->facts);
	free(dir);
}

/* The byte order of records: those that were made have ours. */
static bool ctf_dir_is_big_endian(const struct ctf_dir *dir)
{
	return dir->has_natives ? dir->big_endian : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

static void ctf_dir_meaning(const struct trace *trace, struct trace_meaning *out_meaning)
{
	const struct ctf_dir *dir = (const struct ctf_dir *)trace;

	*out_meaning = (struct trace_meaning){
		.formats = &dir->formats,
		/* Natives are of an export, whose source may have had those of any event. */
		.formats_are_recorded = !dir->has_natives,
		.big_endian = ctf_dir_is_big_endian((const struct ctf_dir *)trace),
		.long_bytes = 8,
	};
}

/* The number of the lane is in the place; the CPU is only for people. */
static int ctf_dir_find_place(struct trace *trace, uint32_t cpu, uint64_t place, uint64_t *out_ns,
			      struct err *err)
{
	const struct ctf_dir *dir = (const struct ctf_dir *)trace;
	uint64_t number = place >> CTF_PLACE_SHIFT;

	if (number < dir->lane_count && ctf_lane_time_at(dir->lanes[number], place, out_ns))
		return 0;
	return err_set(err, -ENOENT, "there is no event at the place %u@%llx", cpu,
		       (unsigned long long)place);
}

static const struct trace_ops ctf_dir_ops = {
	.meaning = ctf_dir_meaning,
	.find_place = ctf_dir_find_place,
	.close = ctf_dir_close,
};

/*
 * Traces of two kernels have threads and CPUs of the same numbers, and clocks of their own: they are
 * no trace of one machine. What programs tell may have another host's name, of a container.
 */
static int check_hosts(const struct ctf_dir *dir, const struct tree *tree, struct err *err)
{
	const char *first = NULL;

	for (size_t i = 0; i < dir->meta_count; i++) {
		const char *host = ctf_dir_env_text(dir->metas[i], "hostname");
		const char *domain = ctf_dir_env_text(dir->metas[i], "domain");

		if (!host || !domain || strcmp(domain, "kernel") != 0)
			continue;
		if (first && strcmp(first, host) != 0)
			return err_set(err, -EBADMSG,
				       "there are traces of two machines, %s and %s, whose threads "
				       "have the same numbers: name one of them, as %s",
				       first, host, tree->paths[i]);
		first = host;
	}
	return 0;
}

static int open_traces(struct ctf_dir *dir, const struct tree *tree, struct err *err)
{
	size_t packets = 0;
	int hosts;

	for (size_t i = 0; i < tree->count; i++) {
		struct ctf_meta *meta;
		int rc = read_meta(dir, tree->paths[i], &meta, err);

		if (rc < 0)
			return tree->count > 1 ? err_wrap(err, "reading %s", tree->paths[i]) : rc;
		dir->metas = vec_room(dir->metas, dir->meta_count, &dir->meta_cap,
				      sizeof(struct ctf_meta *));
		dir->metas[dir->meta_count++] = meta;
		facts_from_env(&dir->trace.facts, meta);
	}
	hosts = check_hosts(dir, tree, err);
	if (hosts < 0)
		return hosts;
	for (size_t i = 0; i < dir->meta_count; i++)
		reserve_natives(dir, dir->metas[i]);
	for (size_t i = 0; i < dir->meta_count && !dir->trace.facts.arch; i++) {
		if (strcmp(ctf_rows_tracer(dir->metas[i]), "kernel") == 0)
			dir->trace.facts.arch = ctf_rows_arch(dir->metas[i]);
	}
	for (size_t i = 0; i < tree->count; i++) {
		bind_events(dir, dir->metas[i]);
		packets += add_files(dir, tree->paths[i], dir->metas[i]);
	}
	if (packets == 0 && dir->trace.facts.damage_count)
		return err_set(err, -EBADMSG, "%s", dir->trace.facts.damage[0]);
	if (dir->index.count > MAX_STREAMS)
		return err_set(err, -EBADMSG, "there are more than %u streams", MAX_STREAMS);
	return 0;
}

/* Where events of the kernel have them. */
static int ctf_dir_read_stacks(struct ctf_dir *dir, struct err *err)
{
	struct code_map map = { .learn = ctf_images_learn, .find = ctf_images_find };
	struct trace_meaning meaning;
	int rc;

	ctf_dir_meaning(&dir->trace, &meaning);
	if (!dir->has_switches || !event_stacks_told(&meaning))
		return 0;
	map.context = ctf_images_new(dir->metas, dir->meta_count, &dir->formats);
	map.changes = ctf_images_changes(map.context);
	rc = event_stacks_read(&dir->trace, &map, err);
	ctf_images_free(map.context);
	return rc;
}

static int ctf_dir_open(const char *path, struct trace **out_trace, struct err *err)
{
	struct ctf_dir *dir = xcalloc(1, sizeof(*dir));
	struct tree tree = { 0 };
	int rc;

	dir->trace.ops = &ctf_dir_ops;
	dir->trace.facts.format = "CTF 1.8";
	dir->trace.facts.target_status = -1;
	dir->trace.facts.complete = true;
	dir->types_left = CTF_MAX_TYPES;
	find_traces(&tree, path, 0);
	rc = open_traces(dir, &tree, err);
	tree_fini(&tree);
	if (rc < 0) {
		ctf_dir_close(&dir->trace);
		return rc;
	}
	for (size_t i = 0; i < dir->meta_count; i++) {
		if (dir->metas[i]->is_ctf2)
			dir->trace.facts.format = "CTF 2";
	}
	ctf_dir_open_lanes(dir);
	rc = ctf_dir_read_stacks(dir, err);
	if (rc < 0) {
		ctf_dir_close(&dir->trace);
		return rc;
	}
	*out_trace = &dir->trace;
	return 0;
}

static bool ctf_dir_matches(const char *path)
{
	struct tree tree = { .first_only = true };
	bool any;

	find_traces(&tree, path, 0);
	any = tree.count > 0;
	tree_fini(&tree);
	return any;
}

const struct trace_format ctf_dir_format = {
	.name = "CTF",
	.matches = ctf_dir_matches,
	.open = ctf_dir_open,
};

/* ------------------------------------------------------------------ beside */

#define INITIAL_PID_NS 0xeffffffcu /* the kernel's PROC_PID_INIT_INO */
#define NS_PER_S       1000000000u

/* From its first tick on, the clock is the recording's. */
static void tie_clock(const struct ctf_meta *meta, struct ctf_clock *clock,
		      const struct ctf_host *host)
{
	int64_t origin_ns = host->facts->realtime_offset_ns;

	if (!is_by_holdup(meta))
		return;
	if (strcmp(clock->name, "counter") == 0 && host->is_counter) {
		clock->line = host->clock;
	} else if (strcmp(clock->name, "monotonic") == 0 && clock->freq == NS_PER_S &&
		   origin_ns >= 0) {
		clock->offset_s = origin_ns / NS_PER_S;
		clock->offset = (uint64_t)origin_ns % NS_PER_S;
	}
}

static uint64_t ctf_dir_env_number(const struct ctf_meta *meta, const char *name)
{
	const struct ctf_env *env = ctf_meta_env(meta, name);

	return env && !env->text && env->number > 0 ? (uint64_t)env->number : 0;
}

static void bind_beside(struct ctf_dir *dir, struct ctf_meta *meta)
{
	bool same_ids = ctf_dir_env_number(meta, "pid_ns") == INITIAL_PID_NS;

	bind_events(dir, meta);
	for (size_t i = 0; i < meta->event_count; i++) {
		/* It lies in the arena of 'meta', which is ours. */
		struct event *base = (struct event *)(uintptr_t)meta->events[i]->base;

		base->context = EV_CTX_USER | (same_ids ? 0 : EV_CTX_VTID);
	}
}

/* Does it say that it is the kernel's? Its events would be believed. */
static bool poses_as_kernel(const struct ctf_meta *meta)
{
	const char *tracer = ctf_dir_env_text(meta, "tracer_name");

	if (strcmp(ctf_rows_tracer(meta), "kernel") == 0 || (tracer && !strcmp(tracer, "perf")) ||
	    ctf_native_has_kernel(meta))
		return true;
	for (size_t i = 0; i < meta->event_count; i++) {
		if (strncmp(meta->events[i]->name, "kernel:", 7) == 0)
			return true;
	}
	return false;
}

static void ctf_dir_add_beside(struct ctf_dir *dir, const char *path, const struct ctf_host *host)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct ctf_meta *meta;
	struct err why = { 0 };

	if (read_meta(dir, path, &meta, &why) < 0) {
		facts_note_damage(&dir->trace.facts, "%s: %s", name, why.text);
		return;
	}
	dir->metas =
		vec_room(dir->metas, dir->meta_count, &dir->meta_cap, sizeof(struct ctf_meta *));
	dir->metas[dir->meta_count++] = meta;
	if (poses_as_kernel(meta)) {
		facts_note_damage(&dir->trace.facts, "%s: its events would pass for the kernel's",
				  name);
		return;
	}
	for (size_t i = 0; i < meta->clock_count; i++)
		tie_clock(meta, meta->clocks[i], host);
	bind_beside(dir, meta);
	(void)add_files(dir, path, meta);
}

static void open_beside_lanes(struct ctf_dir *dir, const struct ctf_host *host)
{
	dir->common = (struct ctf_common){
		.origin_ns = host->facts->realtime_offset_ns,
		.first_ns = host->facts->first_ns,
		.end_ns = host->facts->last_ns,
		.context = EV_CTX_USER,
	};
	ctf_index_finish(&dir->index, dir->common.origin_ns);
	dir->lane_count = dir->index.count;
	dir->lanes = xcalloc(dir->lane_count + 1, sizeof(struct ctf_lane *));
	for (size_t i = 0; i < dir->lane_count; i++) {
		const struct ctf_meta *meta = dir->index.streams[i].meta;
		uint64_t vpid = ctf_dir_env_number(meta, "vpid");
		const struct vtid_process process = {
			.space = ctf_dir_env_number(meta, "pid_ns"),
			.vpid = vpid <= INT32_MAX ? (int32_t)vpid : 0,
			.start = ctf_dir_env_number(meta, "pid_start"),
		};

		dir->lanes[i] =
			ctf_lane_new(&dir->index.streams[i], &dir->common,
				     ctf_dir_cpu_of(&dir->index.streams[i], i), (uint16_t)(i + 1));
		if (process.space != INITIAL_PID_NS)
			ctf_lane_set_process(dir->lanes[i], &process, host->vtids);
	}
}

/* Texts of formats, and what is damaged, become the host's. */
static void give_to_host(struct ctf_dir *dir, const struct ctf_host *host)
{
	struct formats *to = host->formats;

	for (size_t i = 0; i < dir->formats.count; i++) {
		to->sections = vec_room(to->sections, to->count, &to->cap, sizeof(*to->sections));
		to->sections[to->count++] = dir->formats.sections[i];
	}
	dir->formats.count = 0;
	for (size_t i = 0; i < dir->trace.facts.damage_count; i++)
		facts_note_damage(host->facts, "user/%s", dir->trace.facts.damage[i]);
}

struct ctf_dir *ctf_beside_open(const char *path, const struct ctf_host *host)
{
	struct ctf_dir *dir = xcalloc(1, sizeof(*dir));
	struct tree tree = { 0 };

	dir->trace.ops = &ctf_dir_ops;
	dir->kinds = dir->taken = host->kinds;
	dir->types_left = CTF_MAX_TYPES;
	find_traces(&tree, path, 0);
	for (size_t i = 0; i < tree.count; i++)
		ctf_dir_add_beside(dir, tree.paths[i], host);
	tree_fini(&tree);
	if (dir->index.count > MAX_STREAMS) {
		facts_note_damage(host->facts, "user: there are more than %u streams", MAX_STREAMS);
		dir->index.count = MAX_STREAMS;
	}
	open_beside_lanes(dir, host);
	give_to_host(dir, host);
	if (dir->lane_count)
		return dir;
	ctf_dir_close(&dir->trace);
	return NULL;
}

void ctf_beside_close(struct ctf_dir *dir)
{
	if (dir)
		ctf_dir_close(&dir->trace);
}

size_t ctf_beside_lanes(const struct ctf_dir *dir)
{
	return dir ? dir->lane_count : 0;
}

struct lane *ctf_beside_lane(const struct ctf_dir *dir, size_t i)
{
	return ctf_lane_lane(dir->lanes[i]);
}

bool ctf_beside_has_place(const struct ctf_dir *dir, uint64_t place)
{
	return dir && place >> CTF_PLACE_SHIFT != 0;
}

bool ctf_beside_time_at(const struct ctf_dir *dir, uint64_t place, uint64_t *out_ns)
{
	uint64_t number = place >> CTF_PLACE_SHIFT;

	return number && number <= dir->lane_count &&
	       ctf_lane_time_at(dir->lanes[number - 1], place, out_ns);
}
