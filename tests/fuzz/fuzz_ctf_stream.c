/*
 * fuzz_ctf_stream.c - a whole trace of CTF: its metadata, a line "%%", and a stream.
 *
 * Read with and without records, and with and without plans (ctf_plan.h): all ways to decode must
 * give the same events, and those with records the same bytes.
 */
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "fuzz_dir.h"
#include "fuzz_trace.h"
#include "read/ctf/lane.h"
#include "read/ctf/meta.h"
#include "read/ctf/packets.h"
#include "read/ctf/plan.h"
#include "read/ctf/record.h"
#include "read/ctf/rows.h"
#include "read/lane.h"
#include "read/read.h"
#include "store/formats.h"

/* Everything that is shown of an event. */
static uint64_t add_cell(uint64_t sum, const struct cell *cell)
{
	const struct event *event = &cell->event;

	sum = sum * 31 + event->time_ns + event->type + event->cpu;
	sum = sum * 31 + (uint32_t)event->tid;
	if (event->type == EV_SCHED_SWITCH)
		sum = sum * 31 + (uint32_t)event->sched_switch.prev_tid +
		      (uint32_t)event->sched_switch.next_tid + event->sched_switch.prev_state;
	if (!cell->record.data)
		return sum;
	for (uint32_t i = 0; i < cell->record.bytes; i++)
		sum = sum * 31 + cell->record.data[i];
	return sum * 31 + cell->record.place;
}

static struct seen read_lane(const struct ctf_packets *packets)
{
	struct ctf_common common = { 0 };
	struct ctf_lane *lane = ctf_lane_new(packets, &common, 0, 0);
	struct seen seen = { 0 };
	struct batch batch;

	batch_init(&batch);
	ctf_lane_lane(lane)->keep_records = true;
	while (seen.count < MAX_EVENTS &&
	       ctf_lane_lane(lane)->ops->fill(ctf_lane_lane(lane), &batch)) {
		for (size_t i = 0; i < batch.count; i++, seen.count++)
			seen.sum = add_cell(seen.sum, &batch.cells[i]);
	}
	batch_fini(&batch, ctf_lane_lane(lane));
	ctf_lane_lane(lane)->ops->close(ctf_lane_lane(lane));
	return seen;
}

static void plan_all(struct ctf_meta *meta, struct formats *formats, struct facts *facts)
{
	for (size_t i = 0; i < meta->event_count; i++) {
		struct ctf_event *event = meta->events[i];
		const char *system, *name;

		ctf_rows_title(meta, event, &system, &name);
		ctf_rows_bind(meta, event, system, name, facts);
		event->number = (uint32_t)(i & 0xffff);
		ctf_record_plan(ctf_meta_stream(meta, event->stream_id), event, "a/b", formats);
	}
	for (size_t i = 0; i < meta->stream_count; i++)
		ctf_plan_stream(meta, meta->streams[i]);
}

/* The same stream by plans, and by nothing but ctf_walk(). */
static void compare_plans(const uint8_t *text, size_t bytes)
{
	AUTO_FREE char *path = xasprintf("%s/kernel/stream", fuzz_dir_path());
	struct ctf_index index = { 0 };
	struct formats formats = { 0 };
	struct facts facts = { 0 };
	struct ctf_meta *meta;
	AUTO_FREE char *made = NULL;
	struct err err = { 0 };
	size_t made_bytes;

	if (ctf_metadata_text(text, bytes, &made, &made_bytes, &err) < 0 ||
	    ctf_meta_new(made, made_bytes, &meta, &err) < 0)
		return;
	plan_all(meta, &formats, &facts);
	(void)ctf_index_add(&index, path, meta, &facts);
	ctf_index_finish(&index, 0);
	for (size_t i = 0; i < index.count; i++) {
		const struct ctf_head *heads[64] = { NULL };
		struct seen planned, walked;

		planned = read_lane(&index.streams[i]);
		for (size_t s = 0; s < meta->stream_count && s < ARRAY_LEN(heads); s++) {
			heads[s] = meta->streams[s]->head;
			meta->streams[s]->head = NULL;
		}
		walked = read_lane(&index.streams[i]);
		if (planned.count != walked.count || planned.sum != walked.sum)
			abort();
		for (size_t s = 0; s < meta->stream_count && s < ARRAY_LEN(heads); s++)
			meta->streams[s]->head = heads[s];
	}
	ctf_index_fini(&index);
	formats_fini(&formats);
	facts_fini(&facts);
	ctf_meta_free(meta);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *mark = memmem(data, bytes, "\n%%\n", 4);
	struct trace *trace;
	struct err err = { 0 };

	if (!mark)
		return 0;
	fuzz_file("kernel/metadata", data, (size_t)(mark - data));
	fuzz_file("kernel/stream", mark + 4, bytes - (size_t)(mark + 4 - data));
	if (read_open(fuzz_dir_path(), &trace, &err) < 0)
		return 0;
	(void)read_both_ways(trace);
	(void)source_seek(trace_source(trace), 1000, &err);
	(void)read_all(trace);
	trace_close(trace);
	compare_plans(data, (size_t)(mark - data));
	return 0;
}
