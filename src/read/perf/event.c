/* event.c - what each type of record means. */
#include "read/perf/event.h"

#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/clock.h"
#include "read/format_text.h"
#include "read/kernel/decode.h"
#include "read/kernel/events.h"
#include "read/lane.h"
#include "read/perf/file.h"
#include "read/perf/scan.h"
#include "store/formats.h"

#define CLONE_THREAD 0x10000
#define USUAL_PRIO   120

static bool perf_event_has_event(const struct perf_file *file, const char *name)
{
	const char *text = formats_find(&file->formats, name);
	int32_t id = text ? format_text_id(text) : -1;

	for (size_t i = 0; id >= 0 && i < file->attrs.count; i++) {
		if (file->attrs.items[i]->type == PERF_KIND_TRACEPOINT &&
		    file->attrs.items[i]->config == (uint64_t)id)
			return true;
	}
	return false;
}

void perf_decoder_init(struct perf_decoder *decoder, const struct perf_scan *scan,
		       const struct kernel_events *events)
{
	struct perf_file *file = scan->file;

	*decoder = (struct perf_decoder){
		.file = file,
		.scan = scan,
		.events = events,
		.table = kernel_events_table(events),
		.swap = file->swap,
		.tells_switches = perf_event_has_event(file, "sched/sched_switch"),
		/* sched_process_fork does not say whether a thread or a process was born. */
		.tells_births = perf_event_has_event(file, "task/task_newtask"),
		.tells_ends = perf_event_has_event(file, "sched/sched_process_exit"),
		.tells_names = perf_event_has_event(file, "task/task_rename"),
		.tells_execs = perf_event_has_event(file, "sched/sched_process_exec"),
	};
	perf_kinds_init(&decoder->kinds, file);
	/* Which are tracepoints with a format is known only now. */
	perf_attrs_settle(&file->attrs);
}

/* ------------------------------------------------------------------ cells */

struct decoding {
	const struct perf_decoder *decoder;
	const struct perf_record *record;
	const struct perf_attr *attr;
	struct perf_where where;
	struct perf_put *put;
};

static struct event *new_event(const struct decoding *now, uint8_t type)
{
	struct cell *cell = &now->put->cells[now->put->count++];

	cell->record = (struct trace_record){ 0 };
	cell->event = (struct event){
		.time_ns = now->where.time_ns,
		.tid = now->where.tid,
		.cpu = now->where.cpu,
		.type = type,
	};
	return &cell->event;
}

static int32_t body_s32(const struct decoding *now, uint32_t at)
{
	return (int32_t)perf_u32(now->record->data + at, now->decoder->swap);
}

/* Bytes of the record before its tail. */
static uint32_t body_end(const struct decoding *now)
{
	return now->record->bytes - now->attr->tail_bytes;
}

static void put_keep(struct perf_put *put, uint32_t bytes)
{
	put->cells[put->count - 1].record = (struct trace_record){
		.data = put->room + put->used,
		.bytes = bytes,
		.place = put->place,
	};
	put->used += (bytes + 7) & ~7u;
}

/* The event made last has this record. */
static void perf_event_keep_record(const struct decoding *now, uint32_t kind)
{
	struct perf_put *put = now->put;

	if (put->room)
		put_keep(put, perf_kind_copy(&now->decoder->kinds, kind, now->attr, now->record,
					     now->where.tid, put->room + put->used));
}

static uint32_t kind_of_type(uint32_t type)
{
	return type <= PERF_CALLCHAIN_DEFERRED && type != PERF_SAMPLE && type
		       ? type
		       : (uint32_t)PERF_KIND_OTHER;
}

static void perf_event_put_other(const struct decoding *now)
{
	uint32_t kind = kind_of_type(now->record->type);
	struct event *event = new_event(now, EV_OTHER);

	event->other = (struct ev_other){ "perf", perf_kind_name(kind) };
	/* It says who it is about, not always who ran. */
	event->context = EV_CTX_USER;
	perf_event_keep_record(now, kind);
}

/* ------------------------------------------------------------------ records about threads */

static bool perf_put_lost(const struct decoding *now)
{
	const struct perf_scan *scan = now->decoder->scan;
	const uint64_t *index = map_find(&scan->holes, now->put->place);
	struct event *event;
	uint64_t since;

	if (body_end(now) < 24)
		return false;
	event = new_event(now, EV_LOST);
	event->tid = -1;
	event->lost.count = perf_u64(now->record->data + 16, now->decoder->swap);
	since = index ? scan->hole_items[*index].since_ns : 0;
	if (index)
		event->cpu = scan->hole_items[*index].cpu;
	if (since < scan->begin_ns)
		since = scan->begin_ns;
	event->lost.since_ns = since < event->time_ns ? since : event->time_ns;
	return true;
}

/* Samples of a tracepoint that the kernel dropped; others are no hole in what threads did. */
static bool put_lost_samples(const struct decoding *now)
{
	struct event *event;

	if (body_end(now) < 16 || !now->attr->is_tracepoint)
		return false;
	event = new_event(now, EV_LOST);
	event->tid = -1;
	event->lost.count = perf_u64(now->record->data + 8, now->decoder->swap);
	event->lost.since_ns = now->decoder->scan->begin_ns;
	return true;
}

static bool perf_event_put_comm(const struct decoding *now)
{
	const struct perf_decoder *decoder = now->decoder;
	bool execs = (now->record->misc & PERF_MISC_COMM_EXEC) && !decoder->tells_execs &&
		     now->where.has_cpu;
	struct event *event;

	if (body_end(now) < 17 || decoder->tells_names ||
	    !memchr(now->record->data + 16, '\0', body_end(now) - 16))
		return false;
	event = new_event(now, EV_TASK_RENAME);
	if (!now->where.has_cpu)
		event->tid = -1;
	event->task.tid = body_s32(now, 12);
	event->task.comm = (const char *)now->record->data + 16;
	perf_event_keep_record(now, PERF_COMM);
	if (!execs)
		return true;
	event = new_event(now, EV_SCHED_EXEC);
	event->task.tid = event->task.parent_tid = body_s32(now, 12);
	perf_event_keep_record(now, PERF_KIND_EXEC);
	return true;
}

static bool put_fork(const struct decoding *now)
{
	struct event *event;

	if (body_end(now) < 32 || now->decoder->tells_births)
		return false;
	event = new_event(now, EV_TASK_NEW);
	event->task.tid = body_s32(now, 16);
	event->task.parent_tid = body_s32(now, 20);
	/* A thread is born into the process of its parent. */
	event->task.clone_flags = body_s32(now, 8) == body_s32(now, 12) ? CLONE_THREAD : 0;
	event->task.tgid = body_s32(now, 8);
	perf_event_keep_record(now, PERF_FORK);
	return true;
}

static bool put_exit(const struct decoding *now)
{
	struct event *event;

	if (body_end(now) < 32 || now->decoder->tells_ends)
		return false;
	event = new_event(now, EV_SCHED_EXIT);
	event->task.tid = body_s32(now, 16);
	if (event->tid < 0)
		event->tid = event->task.tid;
	perf_event_keep_record(now, PERF_EXIT);
	return true;
}

static struct event *put_switch_event(const struct decoding *now)
{
	struct event *event = new_event(now, EV_SCHED_SWITCH);

	event->sched_switch.prev_prio = event->sched_switch.next_prio = USUAL_PRIO;
	event->sched_switch.prev_tid = now->where.tid;
	event->sched_switch.prev_state =
		now->record->misc & PERF_MISC_PREEMPT ? TASK_STATE_RUNNABLE : TASK_STATE_UNKNOWN;
	return event;
}

/* Of a whole CPU: who leaves says who comes, so the record of who comes says nothing new. */
static bool put_cpu_switch(const struct decoding *now)
{
	struct event *event;

	if (body_end(now) < 16 || now->decoder->tells_switches || now->where.tid < 0 ||
	    !(now->record->misc & PERF_MISC_SWITCH_OUT))
		return false;
	event = put_switch_event(now);
	event->sched_switch.next_tid = body_s32(now, 12);
	perf_event_keep_record(now, PERF_SWITCH_CPU_WIDE);
	return true;
}

/* Of the recorded threads alone: whoever else runs there is as if nobody did. */
static bool put_own_switch(const struct decoding *now)
{
	bool out = now->record->misc & PERF_MISC_SWITCH_OUT;
	struct event *event;

	if (now->decoder->tells_switches || now->where.tid < 0)
		return false;
	event = put_switch_event(now);
	if (!out) {
		event->tid = 0;
		event->sched_switch.prev_tid = 0;
		event->sched_switch.prev_state = TASK_STATE_RUNNABLE;
		event->sched_switch.next_tid = now->where.tid;
	}
	perf_event_keep_record(now, PERF_SWITCH);
	return true;
}

static void perf_event_put_record(const struct decoding *now)
{
	static bool (*const puts[PERF_KERNEL_TYPES])(const struct decoding *now) = {
		[PERF_LOST] = perf_put_lost,
		[PERF_LOST_SAMPLES] = put_lost_samples,
		[PERF_COMM] = perf_event_put_comm,
		[PERF_FORK] = put_fork,
		[PERF_EXIT] = put_exit,
		[PERF_SWITCH_CPU_WIDE] = put_cpu_switch,
		[PERF_SWITCH] = put_own_switch,
	};

	uint32_t type = now->record->type;
	/* Without its CPU it cannot say who ran where; a name is one all the same. */
	bool usable = now->where.has_cpu || type == PERF_LOST || type == PERF_COMM;

	if (!usable || !puts[type] || !puts[type](now))
		perf_event_put_other(now);
}

/* ------------------------------------------------------------------ samples */

/* The kernel's part of a call chain: behind its mark, up to the next mark. */
static uint32_t kernel_part(const uint8_t *chain, uint32_t count, bool swap, uint32_t *out_from)
{
	uint32_t from = 0, end;

	while (from < count && perf_u64(chain + 8 * from, swap) != PERF_CONTEXT_KERNEL)
		from++;
	from += from < count;
	for (end = from; end < count; end++) {
		if (perf_u64(chain + 8 * end, swap) >= PERF_CONTEXT_MAX)
			break;
	}
	*out_from = from;
	return end - from;
}

/* Where a thread is switched out, its stack tells where it waits. */
static void perf_put_chain(const struct decoding *now, const struct perf_rest *rest, bool is_switch)
{
	struct perf_put *put = now->put;
	int32_t tid = put->cells[0].event.tid;
	uint32_t from,
		count = kernel_part(rest->chain, rest->chain_count, now->decoder->swap, &from);
	struct event *event = new_event(now, EV_OTHER);

	if (from + count > PERF_CHAIN_MAX)
		count = from < PERF_CHAIN_MAX ? PERF_CHAIN_MAX - from : 0;
	event->tid = tid;
	if (is_switch && count && !now->decoder->swap) {
		event->type = EV_STACK;
		event->stack = (struct ev_stack){ rest->chain + (size_t)8 * from, count };
	} else {
		event->other = (struct ev_other){ "perf", "callchain" };
		event->context = EV_CTX_USER;
	}
	if (!put->room)
		return;
	/* Addresses lie in the record, as everything that an event points to. */
	if (event->type == EV_STACK)
		event->stack.frames = put->room + put->used + PERF_CHAIN_AT + (size_t)8 * from;
	put_keep(put, perf_kind_chain(&now->decoder->kinds, rest->chain, rest->chain_count, tid,
				      put->room + put->used));
}

static const char *put_tracepoint(const struct decoding *now)
{
	const struct perf_decoder *decoder = now->decoder;
	struct perf_rest rest;
	struct record raw;
	struct event *event;

	if (!perf_attr_rest(now->attr, now->record, decoder->swap, &rest) || !rest.raw)
		return "the sample is shorter than its fields";
	raw = (struct record){ .data = rest.raw, .bytes = rest.raw_bytes };
	event = new_event(now, EV_NONE);
	if (!kernel_events_decode(decoder->events, &raw, event)) {
		now->put->count--;
		return "the event's data is shorter than its format says";
	}
	event->time_ns = now->where.time_ns;
	event->cpu = now->where.cpu;
	if (!now->where.has_cpu) {
		/* Of any CPU: as an event of one it would be wrong. */
		event->type = EV_OTHER;
		event->other = (struct ev_other){ "perf", now->attr->title };
		event->context = EV_CTX_USER;
	}
	if (now->put->room)
		now->put->cells[0].record =
			(struct trace_record){ raw.data, raw.bytes, now->put->place };
	if (rest.chain_count)
		perf_put_chain(now, &rest, event->type == EV_SCHED_SWITCH);
	return NULL;
}

static const char *perf_event_put_sample(const struct decoding *now)
{
	const struct perf_decoder *decoder = now->decoder;
	struct perf_put *put = now->put;
	struct event *event;

	if (now->attr->is_tracepoint && (now->attr->sample_type & PERF_HAS_RAW))
		return put_tracepoint(now);
	event = new_event(now, EV_OTHER);
	event->other = (struct ev_other){ "perf", now->attr->title };
	/*
	 * A sample out of a timer or a counter may lie between the event of a switch and the
	 * switch: where switches are told, it proves nothing.
	 */
	if (decoder->tells_switches || !now->where.has_cpu)
		event->context = EV_CTX_USER;
	if (put->room)
		put_keep(put, perf_kind_sample(&decoder->kinds, now->attr, now->record,
					       now->where.tid, put->room + put->used));
	return NULL;
}

static inline __attribute__((always_inline)) uint32_t decode_samples(
	const struct perf_decoder *decoder, struct perf_samples *samples, const bool swap)
{
	const struct perf_attrs attrs = decoder->file->attrs;
	const struct decode_table *table = decoder->table;
	const bool keep_records = samples->keep_records;
	struct cell *cell = samples->cells, *end = cell + samples->max;
	uint64_t last_ns = samples->last_ns ? samples->last_ns : 1; /* a time of 0 is none */
	struct perf_record record;
	uint32_t at = 0;

	for (; cell < end; cell++) {
		const struct perf_quick *quick;
		struct record raw;
		uint64_t time_ns;

		if (perf_record_at(samples->data + at, samples->bytes - at, swap, &record) <= 0)
			break;
		quick = perf_attrs_quick(&attrs, &record, swap);
		if (!quick || !quick->raw_at)
			break;
		raw.data = record.data + quick->raw_at + 4;
		raw.bytes = perf_u32(raw.data - 4, swap);
		time_ns = perf_u64(record.data + quick->time_at, swap);
		if (raw.bytes > record.bytes - quick->raw_at - 4u || time_ns < last_ns ||
		    time_ns >= CLOCK_MAX_NS)
			break;
		if (__builtin_expect(!decode_fast(table, &raw, &cell->event), 0) &&
		    !kernel_events_decode(decoder->events, &raw, &cell->event))
			break;
		cell->event.time_ns = last_ns = time_ns;
		cell->event.cpu = (uint16_t)perf_u32(record.data + quick->cpu_at, swap);
		if (keep_records)
			cell->record =
				(struct trace_record){ raw.data, raw.bytes, samples->place + at };
		at += record.bytes;
	}
	samples->count = (uint32_t)(cell - samples->cells);
	samples->last_ns = samples->count ? last_ns : samples->last_ns;
	return at;
}

uint32_t perf_decode_samples(const struct perf_decoder *decoder, struct perf_samples *samples)
{
	return decoder->swap ? decode_samples(decoder, samples, true)
			     : decode_samples(decoder, samples, false);
}

const char *perf_decode(const struct perf_decoder *decoder, const struct perf_record *record,
			struct perf_put *put)
{
	struct decoding now = { .decoder = decoder, .record = record, .put = put };

	put->count = 0;
	if (!perf_scan_where(&decoder->file->attrs, record, &now.attr, &now.where))
		return NULL;
	if (record->type == PERF_SAMPLE)
		return perf_event_put_sample(&now);
	perf_event_put_record(&now);
	return NULL;
}
