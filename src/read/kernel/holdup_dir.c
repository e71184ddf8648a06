/*
 * holdup_dir.c - our own trace directory.
 *
 * What cannot be read is noted in facts->damage; opening fails only when there is no
 * manifest, or there are events and nothing that tells what they mean.
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
#include "base/order.h"
#include "event/source.h"
#include "event/stacks.h"
#include "read/clock.h"
#include "read/ctf/beside.h"
#include "read/kernel/fd_names.h"
#include "read/kernel/packed.h"
#include "read/format_text.h"
#include "read/kernel/events.h"
#include "read/lane.h"
#include "read/merge.h"
#include "read/kernel/pages.h"
#include "read/read.h"
#include "read/read_int.h"
#include "read/kernel/ring.h"
#include "read/kernel/steps.h"
#include "read/kernel_symbols.h"
#include "read/vtids.h"
#include "store/dump.h"
#include "store/file.h"
#include "store/formats.h"
#include "store/manifest.h"
#include "store/parts.h"
#include "store/stack_file.h"

#define SYNC_MAX_BYTES	((size_t)64 << 20)
#define SYNC_END_BYTES	((size_t)32 << 10)
#define PAGES_MAX_BYTES ((uint64_t)1 << 30) /* one page of each CPU, together */
#define OPEN_FILES_MAX	256u
#define END_SLACK_NS	1000000000u
#define CRASH_SLACK_NS	3600000000000u /* the last clock point may be so old */

struct holdup_dir {
	struct trace trace;
	struct manifest manifest;
	struct formats formats;
	struct page_layout layout;
	struct kernel_events *events; /* owned */
	struct clock clock;
	struct ring_common common;
	struct ring **rings; /* array owned; the rings are the merge's once it exists */
	size_t ring_count;
	struct dat_room packed_room;
	struct lane *names;   /* NULL = nobody told; the merge's once it exists */
	struct lane *steps;   /* NULL = none were taken; the merge's once it exists */
	struct vtids *vtids;  /* owned */
	struct ctf_dir *user; /* owned; what programs logged themselves; NULL = nothing */
	uint64_t growing_ns;  /* it is being written, all before is there; 0 = it is not */
	uint64_t from_ns;     /* and nothing before this is asked for */
};

static bool holdup_dir_is_big_endian(const char *arch)
{
	static const char *const big[] = { "s390",  "s390x",   "ppc",	     "ppc64",  "parisc",
					   "mips",  "mips64",  "aarch64_be", "armeb",  "m68k",
					   "sparc", "sparc64", "parisc64",   "armv7b", "or1k" };

	for (size_t i = 0; i < ARRAY_LEN(big); i++) {
		if (strcmp(big[i], arch) == 0)
			return true;
	}
	return false;
}

/* DIR/kernel/NAME. Free it. */
static char *kernel_path(const char *dir, const char *name)
{
	return xasprintf("%s/kernel/%s", dir, name);
}

static void facts_from_manifest(struct facts *facts, const struct manifest *manifest)
{
	facts->format = "holdup trace directory, version 1";
	facts->tracer = "holdup";
	facts->recorder = manifest->recorder;
	facts->clock = manifest->clock;
	facts->host = manifest->host;
	facts->kernel = manifest->kernel;
	facts->arch = manifest->arch;
	facts->first_ns = manifest->begin_ns;
	facts->last_ns = manifest->end_ns;
	facts->target_tid = manifest->target_tid;
	facts->target_start_ns = manifest->target_start_ns;
	facts->target_end_ns = manifest->target_end_ns;
	facts->target_status = manifest->target_status;
	facts->target_cmdline = manifest->target_cmdline;
	facts->apps = manifest->apps;
	facts->omits_idle_switches = manifest->omits_idle_switches;
	facts->has_syscalls = manifest->has_syscalls && !manifest->step_count;
	facts->has_some_syscalls = manifest->has_syscalls && manifest->step_count;
	facts->is_lean = manifest->is_lean;
	facts->has_lean_steps = manifest->has_lean_steps;
	facts->cost = manifest->cost;
	facts->complete = manifest->complete;
}

static void copy_lists(struct facts *facts, const struct manifest *manifest)
{
	facts->recorder_tid_count = manifest->recorder_tid_count;
	facts->recorder_tids = xcalloc(manifest->recorder_tid_count + 1, sizeof(int32_t));
	for (size_t i = 0; i < manifest->recorder_tid_count; i++)
		facts->recorder_tids[i] = manifest->recorder_tids[i];
	facts->missing_count = manifest->missing_count;
	facts->missing = xcalloc(manifest->missing_count + 1, sizeof(*facts->missing));
	for (size_t i = 0; i < manifest->missing_count; i++) {
		facts->missing[i].what = manifest->missing[i].what;
		facts->missing[i].why = manifest->missing[i].why;
	}
	facts->steps = xcalloc(manifest->step_count + 1, sizeof(*facts->steps));
	for (size_t i = 0; i < manifest->step_count; i++) {
		const struct manifest_step *from = &manifest->steps[i];

		/* Of a cut: what came later. */
		if (manifest->end_ns && from->since_ns > manifest->end_ns)
			break;
		facts->steps[facts->step_count++] =
			(struct fact_step){ from->since_ns, from->step, from->cost_ppm };
	}
	facts->throttle_count = manifest->throttle_count;
	facts->throttles = xcalloc(manifest->throttle_count + 1, sizeof(*facts->throttles));
	for (size_t i = 0; i < manifest->throttle_count; i++) {
		const struct manifest_throttle *from = &manifest->throttles[i];

		facts->throttles[i] =
			(struct fact_throttle){ from->cgroup,  from->quota_ns, from->period_ns,
						from->periods, from->times,    from->ns };
	}
}

/* What the events look like: formats and the layout of a page. */
static int holdup_dir_open_formats(struct holdup_dir *dir, const char *path, struct err *err)
{
	struct facts *facts = &dir->trace.facts;
	const struct manifest *manifest = &dir->manifest;
	bool big_endian = holdup_dir_is_big_endian(manifest->arch);
	AUTO_FREE char *file = kernel_path(path, "formats");
	struct err why = { 0 };
	const char *header;

	if (formats_read(file, &dir->formats, &why) < 0)
		facts_note_damage(facts, "kernel/formats: %s", why.text);
	dir->events = kernel_events_new(&dir->formats, big_endian, facts);
	header = formats_find(&dir->formats, "header_page");
	if (header && page_layout_init(&dir->layout, header, manifest->page_bytes,
				       manifest->long_bytes, big_endian, &why) == 0)
		return 0;
	if (header)
		facts_note_damage(facts, "kernel/formats: %s", why.text);
	return page_layout_init(&dir->layout, NULL, manifest->page_bytes, manifest->long_bytes,
				big_endian, err);
}

/*
 * The first points and the last ones, whole lines: of what is read while it grows, times between
 * are of no interest, and the file is long after a day.
 */
static int read_sync_ends(const char *file, char **out_text, struct err *err)
{
	uint64_t size = 0;
	AUTO_CLOSE int fd = file_open(file, &size, err);
	AUTO_FREE char *head = NULL;
	char *text, *cut;
	size_t bytes;

	if (fd < 0)
		return fd;
	head = xcalloc(SYNC_END_BYTES + 1, 1);
	text = xcalloc(2 * SYNC_END_BYTES + 1, 1);
	bytes = file_read_at(fd, 0, head, SYNC_END_BYTES);
	cut = bytes == SYNC_END_BYTES ? memrchr(head, '\n', bytes) : NULL;
	bytes = cut ? (size_t)(cut + 1 - head) : bytes;
	memcpy(text, head, bytes);
	if (cut && size > bytes) {
		uint64_t from = size - bytes > SYNC_END_BYTES ? size - SYNC_END_BYTES : bytes;
		size_t more = file_read_at(fd, from, head, SYNC_END_BYTES);
		const char *line = from == bytes ? head : memchr(head, '\n', more);

		if (line && from != bytes)
			line++;
		if (line)
			memcpy(text + bytes, line, more - (size_t)(line - head));
	}
	*out_text = text;
	return 0;
}

static void open_clock(struct holdup_dir *dir, const char *path)
{
	AUTO_FREE char *file = kernel_path(path, "sync");
	AUTO_FREE char *text = NULL;
	struct facts *facts = &dir->trace.facts;
	struct err why = { 0 };
	size_t bytes;
	int rc = dir->from_ns ? read_sync_ends(file, &text, &why)
			      : file_read(file, SYNC_MAX_BYTES, &text, &bytes, &why);

	if (rc < 0)
		facts_note_damage(facts, "kernel/sync: %s", why.text);
	clock_init(&dir->clock, dir->manifest.clock, text, facts);
	facts->realtime_offset_ns = dir->clock.realtime_offset_ns;
}

/* No event can be later than this. */
static uint64_t holdup_dir_limit_of(const struct holdup_dir *dir)
{
	uint64_t end_ns = dir->manifest.end_ns, synced_ns = dir->clock.last_ns;

	if (end_ns)
		return (end_ns > synced_ns ? end_ns : synced_ns) + END_SLACK_NS;
	return synced_ns ? synced_ns + CRASH_SLACK_NS : CLOCK_MAX_NS;
}

/* "cpu12.ring" and "cpu12.packed" are 12; -1 for any other name. */
static int32_t cpu_of_file(const char *name)
{
	unsigned int cpu;
	char again[32];

	if (sscanf(name, "cpu%4u.", &cpu) != 1 || cpu >= MANIFEST_MAX_CPUS)
		return -1;
	snprintf(again, sizeof(again), "cpu%u.ring", cpu);
	if (strcmp(name, again) == 0)
		return (int32_t)cpu;
	snprintf(again, sizeof(again), "cpu%u.packed", cpu);
	return strcmp(name, again) == 0 ? (int32_t)cpu : -1;
}

/* The CPUs that have a file, whatever the manifest says. */
static void mark_files(const char *path, bool *present)
{
	AUTO_FREE char *folder = kernel_path(path, "");
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		int32_t cpu = cpu_of_file(entry->d_name);

		if (cpu >= 0)
			present[cpu] = true;
	}
	if (dir)
		closedir(dir);
}

static const struct manifest_cpu *claim_of(const struct manifest *manifest, uint32_t cpu)
{
	static const struct manifest_cpu nothing;

	for (size_t i = 0; i < manifest->cpu_count; i++) {
		if (manifest->cpus[i].cpu == cpu)
			return &manifest->cpus[i];
	}
	return &nothing;
}

static char *packed_path(const char *path, uint32_t cpu)
{
	AUTO_FREE char *name = xasprintf("cpu%u.packed", cpu);

	return kernel_path(path, name);
}

/* What all packed files may cost to unpack, by how long they are. */
static struct dat_room packed_room(const char *path, const bool *present, size_t cpu_count)
{
	uint64_t bytes = 0;

	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		AUTO_FREE char *file = present[cpu] ? packed_path(path, cpu) : NULL;
		struct stat st;

		if (file && lstat(file, &st) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	}
	return packed_room_of(bytes);
}

/* NULL: the ring stands as the kernel wrote it. */
static struct ring *open_packed(struct holdup_dir *dir, const char *path,
				const struct ring_claim *claim)
{
	AUTO_FREE char *file = packed_path(path, claim->cpu);
	struct ring_bytes *from = NULL;

	if (dir->manifest.version >= MANIFEST_PACKED && dir->common.keep_open)
		from = packed_open(file, dir->layout.big_endian, &dir->packed_room,
				   &dir->trace.facts);
	return from ? ring_open_bytes(file, from, &dir->common, claim, &dir->trace.facts) : NULL;
}

static void open_ring(struct holdup_dir *dir, const char *path, uint32_t cpu)
{
	const struct manifest_cpu *told = claim_of(&dir->manifest, cpu);
	struct ring_claim claim = {
		.cpu = cpu,
		.bytes = told->bytes,
		.lost = told->lost + told->dropped,
		.count_lost = !dir->manifest.complete && !dir->growing_ns,
		.unfinished = !dir->manifest.complete && told->bytes == 0,
		.growing = dir->growing_ns != 0,
	};
	AUTO_FREE char *name = xasprintf("cpu%u.ring", cpu);
	AUTO_FREE char *file = kernel_path(path, name);
	AUTO_FREE char *calls_name = xasprintf("cpu%u.calls", cpu);
	AUTO_FREE char *calls = kernel_path(path, calls_name);
	const char *blocked = formats_find(&dir->formats, "holdup/blocked_in");
	struct ring *ring;

	if ((dir->manifest.is_lean || dir->manifest.has_lean_steps) && blocked) {
		dir->trace.facts.has_calls_beside |= access(calls, F_OK) == 0;
		claim.calls = calls;
		claim.calls_id = format_text_id(blocked);
	}

	dir->trace.facts.cpus[cpu].events = told->events;
	ring = open_packed(dir, path, &claim);
	if (!ring)
		ring = ring_open(file, &dir->common, &claim, &dir->trace.facts);
	dir->rings[dir->ring_count++] = ring;
}

static int holdup_dir_open_rings(struct holdup_dir *dir, const char *path, struct err *err)
{
	AUTO_FREE bool *present = xcalloc(MANIFEST_MAX_CPUS, sizeof(bool));
	struct facts *facts = &dir->trace.facts;
	size_t count = 0;

	mark_files(path, present);
	for (size_t i = 0; i < dir->manifest.cpu_count; i++) {
		const struct manifest_cpu *cpu = &dir->manifest.cpus[i];

		present[cpu->cpu] |= cpu->bytes || cpu->events || cpu->lost || cpu->dropped;
	}
	for (uint32_t cpu = 0; cpu < MANIFEST_MAX_CPUS; cpu++) {
		count += present[cpu];
		if (present[cpu])
			facts->cpu_count = cpu + 1;
	}
	if (count * dir->layout.page_bytes > PAGES_MAX_BYTES)
		return err_set(err, -EBADMSG, "%zu CPUs with sub-buffers of %u bytes", count,
			       dir->layout.page_bytes);
	facts->cpus = xcalloc(facts->cpu_count + 1, sizeof(*facts->cpus));
	dir->rings = xcalloc(count + 1, sizeof(struct ring *));
	dir->steps = steps_open(facts, present, (uint32_t)facts->cpu_count);
	dir->common.keep_open = count <= OPEN_FILES_MAX;
	dir->packed_room = packed_room(path, present, facts->cpu_count);
	for (uint32_t cpu = 0; cpu < facts->cpu_count; cpu++) {
		if (present[cpu])
			open_ring(dir, path, cpu);
	}
	return 0;
}

/* First and last moment, from the events where the manifest does not tell. */
static bool holdup_find_span(struct holdup_dir *dir)
{
	struct facts *facts = &dir->trace.facts;
	bool any = false;

	for (size_t i = 0; i < dir->ring_count; i++) {
		uint64_t first_ns, last_ns;

		if (!ring_span(dir->rings[i], &first_ns, &last_ns))
			continue;
		if (facts->first_ns == 0 || first_ns < facts->first_ns)
			facts->first_ns = first_ns;
		if (last_ns > facts->last_ns)
			facts->last_ns = last_ns;
		any = true;
	}
	if (dir->growing_ns)
		facts->last_ns = dir->growing_ns;
	if (facts->last_ns < facts->first_ns)
		facts->last_ns = facts->first_ns;
	dir->common.first_ns = facts->first_ns;
	/* A CPU whose file ends before the others' did more than what was written. */
	dir->common.end_ns = facts->last_ns;
	return any;
}

static int holdup_dir_open_events(struct holdup_dir *dir, const char *path, struct err *err)
{
	int rc;

	dir->common = (struct ring_common){
		.layout = &dir->layout,
		.events = dir->events,
		.clock = &dir->clock,
		.first_ns = dir->manifest.begin_ns,
		.end_ns = dir->manifest.end_ns,
		.limit_ns = holdup_dir_limit_of(dir),
	};
	rc = holdup_dir_open_rings(dir, path, err);
	if (rc < 0)
		return rc;
	if (holdup_find_span(dir) && dir->formats.count == 0)
		return err_set(err, -EBADMSG,
			       "there are events, but kernel/formats does not describe them");
	return 0;
}

/* What the kernel's functions are called stands in another file. */
static void name_kernel_frames(struct facts *facts)
{
	for (size_t i = 0; i < facts->stacks->frame_count; i++) {
		const struct stack_frame *frame = &facts->stacks->frames[i];

		if (frame->is_kernel)
			stacks_name_frame(facts->stacks, i, facts_symbol(facts, frame->offset));
	}
	stacks_finish(facts->stacks);
}

/* There are none in most traces. */
static void open_stacks(const char *path, struct facts *facts)
{
	AUTO_FREE char *file = kernel_path(path, "stacks");
	struct err why = { 0 };
	struct stat st;
	size_t bad;

	if (lstat(file, &st) < 0)
		return;
	facts->stacks = xcalloc(1, sizeof(*facts->stacks));
	if (stack_file_read(file, facts->stacks, &bad, &why) < 0)
		facts_note_damage(facts, "kernel/stacks: %s", why.text);
	else if (bad)
		facts_note_damage(facts, "kernel/stacks: damaged lines: %zu", bad);
	name_kernel_frames(facts);
}

static void open_beside(struct holdup_dir *dir, const char *path)
{
	struct facts *facts = &dir->trace.facts;
	AUTO_FREE char *dump = kernel_path(path, "dump.jsonl");
	AUTO_FREE char *symbols = kernel_path(path, "kallsyms");
	struct err why = { 0 };
	struct stat st;

	/* dump_read() opens by name: a pipe there must not be waited for. */
	if (lstat(dump, &st) < 0 || !S_ISREG(st.st_mode))
		facts_note_damage(facts, "kernel/dump.jsonl: missing, or not a regular file");
	else if (dump_read(dump, facts, &why) < 0)
		facts_note_damage(facts, "kernel/dump.jsonl: %s", why.text);
	symbols_read(symbols, facts);
	open_stacks(path, facts);
}

/* What programs logged, in their own byte order, which must be ours. */
static void open_user(struct holdup_dir *dir, const char *path)
{
	AUTO_FREE char *folder = xasprintf("%s/user", path);
	const struct ctf_host host = {
		.clock = &dir->clock,
		.is_counter = strcmp(dir->manifest.clock, "x86-tsc") == 0 && dir->clock.count > 1,
		.formats = &dir->formats,
		.facts = &dir->trace.facts,
		.vtids = dir->vtids,
		.kinds = format_text_highest_id(&dir->formats),
	};
	struct stat st;

	if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	if (order_swaps(dir->layout.big_endian)) {
		facts_note_damage(host.facts, "user: recorded on a machine of another byte order");
		return;
	}
	dir->user = ctf_beside_open(folder, &host);
}

static void open_names(struct holdup_dir *dir, const char *path)
{
	AUTO_FREE char *names = kernel_path(path, "names");

	dir->names = fd_names_open(names, dir->layout.big_endian, dir->from_ns, &dir->trace.facts);
	dir->vtids = vtids_new(&dir->trace.facts);
}

static void holdup_dir_open_merge(struct holdup_dir *dir)
{
	size_t user_lanes = ctf_beside_lanes(dir->user);
	AUTO_FREE struct lane **lanes =
		xcalloc(dir->ring_count + user_lanes + 2, sizeof(struct lane *));
	size_t count = 0;

	for (; count < dir->ring_count; count++)
		lanes[count] = ring_lane(dir->rings[count]);
	if (dir->names)
		lanes[count++] = dir->names;
	if (dir->steps)
		lanes[count++] = dir->steps;
	/* The kernel's come first: of two events at one time, the switch is the earlier one. */
	for (size_t i = 0; i < user_lanes; i++)
		lanes[count++] = ctf_beside_lane(dir->user, i);
	dir->trace.merge = merge_new(lanes, count, &dir->trace.facts);
	dir->trace.source = merge_source(dir->trace.merge);
}

static void holdup_dir_close(struct trace *trace)
{
	struct holdup_dir *dir = (struct holdup_dir *)trace;

	if (dir->trace.merge)
		source_close(merge_source(dir->trace.merge));
	else
		for (size_t i = 0; i < dir->ring_count; i++)
			ring_lane(dir->rings[i])->ops->close(ring_lane(dir->rings[i]));
	if (!dir->trace.merge && dir->steps)
		dir->steps->ops->close(dir->steps);
	ctf_beside_close(dir->user);
	vtids_free(dir->vtids);
	free(dir->rings);
	clock_fini(&dir->clock);
	kernel_events_free(dir->events);
	formats_fini(&dir->formats);
	facts_fini(&trace->facts);
	manifest_fini(&dir->manifest);
	free(dir);
}

static void holdup_dir_meaning(const struct trace *trace, struct trace_meaning *out_meaning)
{
	const struct holdup_dir *dir = (const struct holdup_dir *)trace;

	*out_meaning = (struct trace_meaning){
		.formats = &dir->formats,
		.formats_are_recorded = true,
		.big_endian = dir->layout.big_endian,
		.long_bytes = dir->layout.long_bytes,
	};
}

static int holdup_dir_find_place(struct trace *trace, uint32_t cpu, uint64_t place,
				 uint64_t *out_ns, struct err *err)
{
	struct holdup_dir *dir = (struct holdup_dir *)trace;

	if (ctf_beside_has_place(dir->user, place))
		return ctf_beside_time_at(dir->user, place, out_ns)
			       ? 0
			       : err_set(err, -ENOENT, "there is no event at that place");
	for (size_t i = 0; i < dir->ring_count; i++) {
		if (ring_cpu(dir->rings[i]) != cpu)
			continue;
		if (ring_time_at(dir->rings[i], place, out_ns))
			return 0;
		return err_set(err, -ENOENT, "there is no event at byte %llu of cpu%u.ring",
			       (unsigned long long)place, cpu);
	}
	return err_set(err, -ENOENT, "the trace has nothing of CPU %u", cpu);
}

static const struct trace_ops holdup_dir_ops = {
	.meaning = holdup_dir_meaning,
	.find_place = holdup_dir_find_place,
	.close = holdup_dir_close,
};

/* 'growing_ns' 0: it is not being written. 'from_ns' 0: with what is known beside the events. */
static int open_dir(const char *path, uint64_t growing_ns, uint64_t from_ns,
		    struct trace **out_trace, struct err *err)
{
	struct holdup_dir *dir = xcalloc(1, sizeof(*dir));
	int rc;

	dir->trace.ops = &holdup_dir_ops;
	dir->growing_ns = growing_ns;
	dir->from_ns = from_ns;
	rc = manifest_read(path, &dir->manifest, err);
	if (rc < 0)
		goto fail;
	facts_from_manifest(&dir->trace.facts, &dir->manifest);
	copy_lists(&dir->trace.facts, &dir->manifest);
	if (!growing_ns)
		parts_check(&dir->manifest, path, &dir->trace.facts);
	rc = holdup_dir_open_formats(dir, path, err);
	if (rc < 0)
		goto fail;
	open_clock(dir, path);
	rc = holdup_dir_open_events(dir, path, err);
	if (rc < 0)
		goto fail;
	if (!from_ns)
		open_beside(dir, path);
	open_names(dir, path);
	open_user(dir, path);
	holdup_dir_open_merge(dir);
	*out_trace = &dir->trace;
	return 0;

fail:
	holdup_dir_close(&dir->trace);
	return rc;
}

static int holdup_dir_open(const char *path, struct trace **out_trace, struct err *err)
{
	return open_dir(path, 0, 0, out_trace, err);
}

int holdup_dir_open_growing(const char *path, uint64_t from_ns, uint64_t until_ns,
			    struct trace **out_trace, struct err *err)
{
	return open_dir(path, until_ns, from_ns, out_trace, err);
}

static bool holdup_dir_matches(const char *path)
{
	AUTO_FREE char *file = xasprintf("%s/%s", path, MANIFEST_FILE);
	struct stat st;

	return lstat(file, &st) == 0;
}

const struct trace_format holdup_dir_format = {
	.name = "holdup trace directory",
	.matches = holdup_dir_matches,
	.open = holdup_dir_open,
};
