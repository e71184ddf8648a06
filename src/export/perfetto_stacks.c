/*
 * perfetto_stacks.c - samples of work as Perfetto's own: packets with numbered stacks, frames and
 * files, each told once, before the first sample that needs it. They are a sequence of their own.
 */
#include "export/perfetto_stacks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "export/code.h"
#include "export/export.h"
#include "export/perfetto.pb-c.h"
#include "export/perfetto_out.h"
#include "export/words.h"
#include "timeline/timeline.h"

#define SEQUENCE      2u
#define STATE_CLEARED 1u /* SEQ_INCREMENTAL_STATE_CLEARED */
#define NEEDS_STATE   2u /* SEQ_NEEDS_INCREMENTAL_STATE */
#define TEXT_BYTES    4096u
#define MODE_KERNEL   1 /* Profiling.CpuMode */
#define MODE_USER     2

struct perfetto_stacks {
	const struct export_job *job;
	const struct stacks *stacks;
	struct perfetto_out *out;
	bool *told_stacks;   /* owned; by number */
	bool *told_frames;   /* owned */
	struct map mappings; /* of a file -> its number */
	bool is_begun;
};

static void put_packet(struct perfetto_stacks *to, Holdup__Perfetto__TracePacket *packet)
{
	packet->has_trusted_packet_sequence_id = packet->has_sequence_flags = 1;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->sequence_flags = to->is_begun ? NEEDS_STATE : NEEDS_STATE | STATE_CLEARED;
	to->is_begun = true;
	perfetto_out_bytes(to->out, packet);
}

static void put_interned(struct perfetto_stacks *to, Holdup__Perfetto__InternedData *interned)
{
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = interned;
	put_packet(to, &packet);
}

static Holdup__Perfetto__InternedString interned_text(uint64_t iid, const char *text, char **room)
{
	Holdup__Perfetto__InternedString interned = HOLDUP__PERFETTO__INTERNED_STRING__INIT;
	const char *safe = export_utf8(text, TEXT_BYTES, room);

	interned.has_iid = interned.has_str = 1;
	interned.iid = iid;
	interned.str.data = (uint8_t *)(uintptr_t)safe;
	interned.str.len = strnlen(safe, TEXT_BYTES);
	return interned;
}

/* The number of the file's mapping, which is told when it is new. */
static uint64_t tell_mapping(struct perfetto_stacks *to, const struct stack_frame *frame)
{
	const char *path = frame->path ? frame->path : frame->module ? frame->module : "?";
	Holdup__Perfetto__InternedData interned = HOLDUP__PERFETTO__INTERNED_DATA__INIT;
	Holdup__Perfetto__Mapping mapping = HOLDUP__PERFETTO__MAPPING__INIT, *list = &mapping;
	Holdup__Perfetto__InternedString text, *texts = &text;
	AUTO_FREE char *room = NULL;
	bool is_new;
	uint64_t *iid = map_add(&to->mappings, hash_bytes(path, strlen(path), 1), &is_new);

	if (!is_new)
		return *iid;
	*iid = to->mappings.count;
	text = interned_text(*iid, path, &room);
	mapping.has_iid = 1;
	mapping.iid = *iid;
	mapping.n_path_string_ids = 1;
	mapping.path_string_ids = &text.iid;
	interned.n_mapping_paths = 1;
	interned.mapping_paths = &texts;
	interned.n_mappings = 1;
	interned.mappings = &list;
	put_interned(to, &interned);
	return text.iid;
}

static void tell_frame(struct perfetto_stacks *to, uint32_t id)
{
	const struct stack_frame *from = &to->stacks->frames[id];
	Holdup__Perfetto__InternedData interned = HOLDUP__PERFETTO__INTERNED_DATA__INIT;
	Holdup__Perfetto__Frame frame = HOLDUP__PERFETTO__FRAME__INIT, *list = &frame;
	Holdup__Perfetto__InternedString text, *texts = &text;
	AUTO_FREE char *name = NULL, *room = NULL;

	if (to->told_frames[id])
		return;
	to->told_frames[id] = true;
	name = code_frame_text(from);
	text = interned_text(id + UINT64_C(1), name, &room);
	frame.has_iid = frame.has_function_name_id = frame.has_mapping_id = frame.has_rel_pc = 1;
	frame.iid = frame.function_name_id = text.iid;
	frame.mapping_id = tell_mapping(to, from);
	frame.rel_pc = from->offset;
	interned.n_function_names = 1;
	interned.function_names = &texts;
	interned.n_frames = 1;
	interned.frames = &list;
	put_interned(to, &interned);
}

static void tell_stack(struct perfetto_stacks *to, uint32_t id)
{
	const struct stack *from = &to->stacks->stacks[id];
	Holdup__Perfetto__InternedData interned = HOLDUP__PERFETTO__INTERNED_DATA__INIT;
	Holdup__Perfetto__Callstack stack = HOLDUP__PERFETTO__CALLSTACK__INIT, *list = &stack;
	AUTO_FREE uint64_t *frames = xcalloc(from->count + 1, sizeof(*frames));

	if (to->told_stacks[id])
		return;
	to->told_stacks[id] = true;
	for (uint32_t i = 0; i < from->count; i++) {
		uint32_t frame = to->stacks->frame_ids[from->first + i];

		tell_frame(to, frame);
		frames[from->count - 1 - i] = frame + UINT64_C(1); /* the outermost first */
	}
	stack.has_iid = 1;
	stack.iid = id + UINT64_C(1);
	stack.n_frame_ids = from->count;
	stack.frame_ids = frames;
	interned.n_callstacks = 1;
	interned.callstacks = &list;
	put_interned(to, &interned);
}

static void stacks_put_sample(struct perfetto_stacks *to, const struct stack_sample *from,
			      uint32_t slot)
{
	const struct tl_thread *thread = to->job->timeline->threads[slot];
	const struct stack *stack = &to->stacks->stacks[from->stack];
	Holdup__Perfetto__TracePacket packet = HOLDUP__PERFETTO__TRACE_PACKET__INIT;
	Holdup__Perfetto__PerfSample sample = HOLDUP__PERFETTO__PERF_SAMPLE__INIT;

	tell_stack(to, from->stack);
	sample.has_pid = sample.has_tid = sample.has_callstack_iid = sample.has_cpu_mode = 1;
	sample.pid = (uint32_t)thread_process(thread);
	sample.tid = (uint32_t)from->tid;
	sample.callstack_iid = from->stack + UINT64_C(1);
	sample.cpu_mode = stack->count && stacks_frame(to->stacks, from->stack, 0)->is_kernel
				  ? MODE_KERNEL
				  : MODE_USER;
	packet.has_timestamp = 1;
	packet.timestamp = from->time_ns;
	packet.perf_sample = &sample;
	put_packet(to, &packet);
}

void perfetto_stacks_put(const struct export_job *job, struct perfetto_out *out)
{
	const struct stacks *stacks = job->facts->stacks;
	struct perfetto_stacks to = { .job = job, .stacks = stacks, .out = out };

	if (!stacks || !stacks->sample_count)
		return;
	to.told_stacks = xcalloc(stacks->stack_count + 1, sizeof(bool));
	to.told_frames = xcalloc(stacks->frame_count + 1, sizeof(bool));
	for (size_t i = 0; i < stacks->sample_count; i++) {
		const struct stack_sample *sample = &stacks->samples[i];
		uint32_t slot = timeline_find_thread(job->timeline, sample->tid, sample->time_ns);

		if (slot != SLOT_NONE && export_is_chosen(job, slot) &&
		    sample->time_ns >= job->start_ns && sample->time_ns < job->end_ns)
			stacks_put_sample(&to, sample, slot);
	}
	map_fini(&to.mappings);
	free(to.told_stacks);
	free(to.told_frames);
}
