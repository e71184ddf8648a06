/*
 * lane.c - from packets to events.
 *
 *	packet   head | event event event event ... | padding
 *	                    └── window, in a chunk ──┘
 *
 * Events are views into the chunk. One that does not fit into the window is read again in a
 * new one that begins with it.
 */
#include "read/ctf/lane.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/search.h"
#include "event/event.h"
#include "read/ctf/native.h"
#include "read/ctf/packets.h"
#include "read/ctf/plan.h"
#include "read/ctf/record.h"
#include "read/ctf/time.h"
#include "read/ctf/told.h"
#include "read/ctf/walk.h"
#include "read/lane.h"
#include "read/vtids.h"
#include "store/file.h"

#define WINDOW_BYTES	 (64u << 10)
#define WINDOW_MAX_BYTES (16u << 20)  /* no event is longer */
#define RECORDS_MOST	 (256u << 10) /* of a chunk: room for records */
#define RECORDS_TIMES	 16u	      /* less for a short packet, which has few */

struct ctf_lane {
	struct lane lane;
	const struct ctf_packets *packets;
	const struct ctf_common *common;
	uint16_t cpu;
	uint16_t number;
	struct vtid_process process;
	const struct vtids *vtids; /* NULL = threads have the machine's numbers */

	const struct ctf_file *open; /* the file of 'fd' */
	int fd;

	/* Position. */
	size_t next_packet;
	const struct ctf_packet *packet; /* NULL = not in one */
	struct ctf_time time;
	struct ctf_walk walk;
	uint64_t *slots;  /* owned */
	uint64_t last_ns; /* of the last event; 0 = none yet */
	uint64_t ticks;	  /* of the clock, at the last event */
	bool hole;	  /* events are missing before the next one */
	bool hole_unknown;
	uint64_t hole_count;
	uint64_t hole_packets;
	bool ended;

	struct chunk *chunk; /* NULL = none */
	uint32_t room;	     /* bytes of a chunk that are for the window */
	uint32_t window;     /* bytes to read next time */
	uint32_t records;    /* used bytes of the room for records */
	uint32_t records_room;
};

static void ctf_lane_add_hole(struct ctf_lane *lane, uint64_t count)
{
	lane->hole = true;
	lane->hole_unknown |= count == 0;
	lane->hole_count += count;
}

static void ctf_lane_damaged(struct ctf_lane *lane, struct batch *batch, const char *what)
{
	const struct ctf_packet *packet = lane->packet;

	ctf_lane_add_hole(lane, 0);
	batch_note(batch, packet->place + lane->walk.cursor.at / 8,
		   "%s: packet at byte %llu, at bit %llu: %s", packet->file->name,
		   (unsigned long long)packet->offset, (unsigned long long)lane->walk.cursor.at,
		   what ? what : "cannot be read");
}

/* ------------------------------------------------------------------ windows */

static int ctf_lane_file_of(struct ctf_lane *lane)
{
	uint64_t bytes;

	if (lane->open != lane->packet->file) {
		mem_close_fd(&lane->fd);
		lane->fd = file_open(lane->packet->file->path, &bytes, NULL);
		lane->open = lane->packet->file;
	}
	return lane->fd;
}

/* Put the bytes from the cursor on into a new chunk. False when there are none. */
static bool ctf_lane_load_window(struct ctf_lane *lane, uint32_t want)
{
	struct ctf_cursor *cursor = &lane->walk.cursor;
	uint64_t from = cursor->at / 8, content = (lane->packet->content_bits + 7) / 8;
	int fd = ctf_lane_file_of(lane);
	size_t got = 0;

	chunk_put(&lane->lane, lane->chunk);
	lane->chunk = chunk_get(&lane->lane);
	lane->records = 0;
	if (want > content - from)
		want = (uint32_t)(content - from);
	if (fd >= 0)
		got = file_read_at(fd, lane->packet->offset + from, lane->chunk->bytes, want);
	cursor->bytes = lane->chunk->bytes;
	cursor->first = from * 8;
	cursor->window_end = (from + got) * 8;
	if (cursor->window_end > cursor->end)
		cursor->window_end = cursor->end;
	if (got == want)
		return true;
	cursor->wrong = "the file became shorter than it was";
	return false;
}

/* The same with more than there is now. False when there is no more, or it is too much. */
static bool ctf_lane_widen_window(struct ctf_lane *lane)
{
	struct ctf_cursor *cursor = &lane->walk.cursor;
	uint64_t had = (cursor->window_end - cursor->first) / 8;

	if (cursor->at / 8 > cursor->first / 8)
		return ctf_lane_load_window(lane, lane->window);
	if (had >= lane->room || had * 2 < had) {
		cursor->wrong = "an event is longer than can be read";
		return false;
	}
	lane->window = had * 4 > lane->room ? lane->room : (uint32_t)(had * 4);
	if (lane->window < 4096)
		lane->window = 4096;
	return ctf_lane_load_window(lane, lane->window);
}

/* ------------------------------------------------------------------ packets */

/* Begin the packet: read its head again, for what its events refer to. */
static bool ctf_lane_begin_packet(struct ctf_lane *lane, struct batch *batch)
{
	const struct ctf_packet *packet = &lane->packets->items[lane->next_packet++];
	const struct ctf_stream *kind;
	int rc = CTF_MORE;

	lane->packet = packet;
	lane->window = WINDOW_BYTES < lane->room ? WINDOW_BYTES : lane->room;
	lane->time = ctf_time_of(packet->stream->clock, lane->common->origin_ns);
	lane->walk.cursor = (struct ctf_cursor){ .end = packet->content_bits };
	lane->walk.event = NULL;
	lane->walk.record = NULL;
	if (packet->gap)
		ctf_lane_add_hole(lane, 0);
	lane->hole_packets += packet->gap;
	if (packet->lost && !packet->file->lost_behind)
		ctf_lane_add_hole(lane, packet->lost);
	if (ctf_lane_load_window(lane, lane->window)) {
		do {
			lane->walk.cursor.at = 0;
			lane->walk.cursor.order = 0;
			rc = ctf_packet_head(&lane->walk, packet->file->meta, &kind);
			if (rc == CTF_MORE)
				lane->walk.cursor.at = 0;
		} while (rc == CTF_MORE && ctf_lane_widen_window(lane));
	}
	if (rc < 0)
		ctf_lane_damaged(lane, batch, lane->walk.cursor.wrong);
	if (packet->has_begin)
		lane->ticks = packet->begin_ticks;
	return rc == 0;
}

static void ctf_lane_end_packet(struct ctf_lane *lane)
{
	const struct ctf_packet *packet = lane->packet;

	if (packet->lost && packet->file->lost_behind)
		ctf_lane_add_hole(lane, packet->lost);
	if (packet->cut && packet->offset + (packet->content_bits + 7) / 8 >= packet->file->bytes)
		ctf_lane_add_hole(lane, 0);
	lane->packet = NULL;
}

/* ------------------------------------------------------------------ events */

static void ctf_put_lost(struct ctf_lane *lane, struct batch *batch, uint64_t time_ns, uint16_t cpu)
{
	uint64_t since = lane->last_ns ? lane->last_ns : lane->common->first_ns;

	batch->cells[batch->count].record.data = NULL;
	batch->cells[batch->count++].event = (struct event){
		.time_ns = time_ns,
		.tid = -1,
		.cpu = cpu,
		.type = EV_LOST,
		.context = lane->common->context,
		.lost.since_ns = since < time_ns ? since : time_ns,
		.lost.count = lane->hole_unknown ? 0 : lane->hole_count,
		.lost.packets = lane->hole_packets,
	};
	lane->hole = lane->hole_unknown = false;
	lane->hole_count = lane->hole_packets = 0;
}

static int walk_scope(struct ctf_walk *walk, const struct ctf_type *type)
{
	return type ? ctf_walk(walk, type) : 0;
}

/* Read an event's header: what kind it is, or NULL with the reason. */
static int ctf_lane_read_header(struct ctf_lane *lane, const struct ctf_event **out_kind)
{
	const struct ctf_stream *stream = lane->packet->stream;
	struct ctf_walk *walk = &lane->walk;
	uint64_t id = 0;
	int rc;

	walk->has = 0;
	walk->idle = 0;
	walk->event = NULL;
	walk->record = NULL;
	walk->clock = lane->ticks;
	rc = walk_scope(walk, stream->event_header);
	if (rc < 0)
		return rc;
	if (ctf_walk_has(walk, CTF_ROLE_EVENT_ID))
		id = walk->roles[CTF_ROLE_EVENT_ID];
	else if (stream->event_count == 1)
		id = stream->events[0]->id;
	*out_kind = ctf_stream_event(stream, id);
	if (*out_kind)
		return 0;
	walk->cursor.wrong = "the metadata has no event with its id";
	return CTF_BAD;
}

static int32_t ctf_walk_thread(const struct ctf_walk *walk)
{
	if (ctf_walk_has(walk, CTF_ROLE_TID))
		return (int32_t)walk->roles[CTF_ROLE_TID];
	return ctf_walk_has(walk, CTF_ROLE_VTID) ? (int32_t)walk->roles[CTF_ROLE_VTID] : -1;
}

static int read_fields(struct ctf_lane *lane, const struct ctf_event *kind, struct event *event)
{
	struct ctf_walk *walk = &lane->walk;
	int rc;

	*event = *kind->base;
	walk->event = event;
	rc = walk_scope(walk, lane->packet->stream->event_context);
	if (rc == 0)
		rc = walk_scope(walk, kind->context);
	if (rc == 0)
		rc = walk_scope(walk, kind->fields);
	event->tid = ctf_walk_thread(walk);
	event->cpu = ctf_walk_has(walk, CTF_ROLE_CPU) ? (uint16_t)walk->roles[CTF_ROLE_CPU]
		     : lane->packet->has_cpu	      ? lane->packet->cpu
						      : lane->cpu;
	return rc;
}

/* What stands behind the record of such an event; its length is in *out_bytes. */
static int read_told(struct ctf_lane *lane, const struct ctf_event *kind, uint64_t start,
		     struct event *event, uint64_t *out_bytes)
{
	const struct ctf_cursor *cursor = &lane->walk.cursor;
	const uint8_t *at = cursor->bytes + (start - cursor->first / 8);
	uint64_t left = cursor->end / 8 - start, here = cursor->window_end / 8 - start, bytes;

	if (left < 2)
		return CTF_BAD;
	if (here < 2)
		return CTF_MORE;
	bytes = kind->big_endian ? (uint64_t)(at[0] << 8 | at[1]) : (uint64_t)(at[1] << 8 | at[0]);
	if (bytes > left - 2)
		return CTF_BAD;
	if (bytes > here - 2)
		return CTF_MORE;
	*out_bytes = bytes + 2;
	return ctf_told_take(at + 2, (uint32_t)bytes, kind->base, event) ? 0 : CTF_BAD;
}

/* An event that holdup wrote: see ctf_native.h. The cursor is behind its header. */
static int read_native(struct ctf_lane *lane, const struct ctf_event *kind, struct cell *cell,
		       uint64_t at)
{
	struct ctf_cursor *cursor = &lane->walk.cursor;
	uint64_t header = cursor->at / 8, left = cursor->end / 8 - header, bytes;
	uint64_t here = cursor->window_end / 8 - header;
	uint64_t start = header + CTF_NATIVE_BEFORE - CTF_NATIVE_HEADER;
	const uint8_t *head = cursor->bytes + (header - cursor->first / 8);
	uint64_t told = 0;
	int rc = 0;

	if (left < CTF_NATIVE_BEFORE - CTF_NATIVE_HEADER) {
		cursor->wrong = "an event is longer than its packet";
		return CTF_BAD;
	}
	if (here < CTF_NATIVE_BEFORE - CTF_NATIVE_HEADER)
		return CTF_MORE;
	bytes = kind->big_endian ? (uint32_t)(head[2] << 8 | head[3])
				 : (uint32_t)(head[3] << 8 | head[2]);
	left -= CTF_NATIVE_BEFORE - CTF_NATIVE_HEADER;
	here -= CTF_NATIVE_BEFORE - CTF_NATIVE_HEADER;
	if (bytes < CTF_NATIVE_MIN || bytes > left) {
		cursor->wrong = "an event is longer than its packet";
		return CTF_BAD;
	}
	if (bytes > here)
		return CTF_MORE;
	cell->record = (struct trace_record){
		.data = cursor->bytes + (start - cursor->first / 8),
		.bytes = (uint32_t)bytes,
		.place = (uint64_t)lane->number << CTF_PLACE_SHIFT | (lane->packet->place * 8 + at),
	};
	if (kind->native == CTF_NATIVE_MADE)
		rc = read_fields(lane, kind, &cell->event);
	else if (kind->native == CTF_NATIVE_TOLD)
		rc = read_told(lane, kind, start + bytes, &cell->event, &told);
	if (rc == CTF_BAD && kind->native == CTF_NATIVE_TOLD)
		cursor->wrong = "the holdup data of an event is damaged";
	if (rc < 0)
		return rc;
	if (!ctf_native_decode(kind, lane->common->events, &cell->record, &cell->event)) {
		cursor->wrong = "an event is shorter than its format says";
		return CTF_BAD;
	}
	cell->event.cpu = lane->packet->has_cpu ? lane->packet->cpu : lane->cpu;
	cursor->at = (start + bytes + told) * 8;
	if (!lane->lane.keep_records || kind->native == CTF_NATIVE_NAME)
		cell->record.data = NULL;
	return 0;
}

/* Where the next event's record goes; NULL: there may be no room for it. */
static inline uint8_t *record_room(const struct ctf_lane *lane)
{
	if (lane->records_room - lane->records < CTF_RECORD_MAX + 1)
		return NULL;
	return lane->chunk->bytes + lane->room + CTF_WINDOW_SLACK + lane->records;
}

/* The record of the event that begins at this bit of the packet is written, but for its head. */
static inline void ctf_lane_end_record(struct ctf_lane *lane, struct ctf_record *record,
				       const struct ctf_event *kind, uint64_t bit,
				       struct cell *cell)
{
	cell->record.data = record->bytes;
	cell->record.bytes = ctf_record_close(record, (uint16_t)kind->number, cell->event.tid);
	cell->record.place =
		(uint64_t)lane->number << CTF_PLACE_SHIFT | (lane->packet->place * 8 + bit);
	lane->records += (cell->record.bytes + 7) & ~7u;
}

/* The cursor stands at an event. Decode it into the cell behind a hole, if there is one. */
static int read_event(struct ctf_lane *lane, struct batch *batch)
{
	struct cell *cell = &batch->cells[batch->count + lane->hole];
	struct ctf_walk *walk = &lane->walk;
	const struct ctf_event *kind = NULL;
	struct ctf_record record;
	uint64_t at = walk->cursor.at;
	int rc = ctf_lane_read_header(lane, &kind);

	if (rc < 0)
		return rc;
	if (kind->native)
		return read_native(lane, kind, cell, at);
	cell->record.data = NULL;
	if (lane->lane.keep_records) {
		uint8_t *room = record_room(lane);

		if (!room)
			return CTF_MORE;
		ctf_record_open(&record, room, kind->record_bytes);
		walk->record = &record;
	}
	rc = read_fields(lane, kind, &cell->event);
	walk->record = NULL;
	if (rc == 0 && lane->lane.keep_records)
		ctf_lane_end_record(lane, &record, kind, at, cell);
	return rc;
}

/* The event that was read comes into the batch. */
static void ctf_lane_put_event(struct ctf_lane *lane, struct batch *batch)
{
	struct event *event = &batch->cells[batch->count + lane->hole].event;
	uint64_t ns = ctf_ns(&lane->time, lane->walk.clock);

	lane->ticks = lane->walk.clock;
	if (ns < lane->last_ns) {
		batch_note(batch, lane->packet->place + lane->walk.cursor.at / 8,
			   "%s: packet at byte %llu: time goes back by %llu ns",
			   lane->packet->file->name, (unsigned long long)lane->packet->offset,
			   (unsigned long long)(lane->last_ns - ns));
		ns = lane->last_ns;
	}
	event->time_ns = ns;
	if (lane->hole)
		ctf_put_lost(lane, batch, ns, event->cpu);
	batch->count++;
	lane->last_ns = ns;
}

/* Which form the header at 'at' has. Of more than one, the first whose range has the tag. */
static inline uint32_t form_at(const struct ctf_head *head, const uint8_t *at, uint64_t *out_tag)
{
	uint32_t form = 0;

	*out_tag = 0;
	if (!head->tag.bits)
		return 0;
	*out_tag = ctf_load(&head->tag, at);
	while (form < head->form_count &&
	       (*out_tag < head->forms[form].low || *out_tag > head->forms[form].high))
		form++;
	return form;
}

/*
 * Read events while nothing is special about them: those of kinds with a plan, with no hole, as
 * far as the window goes. What is next after that is for read_event(). 'keeps': records, too;
 * 'heads': their heads.
 */
static inline __attribute__((always_inline)) void put_run(struct ctf_lane *lane,
							  struct batch *batch, bool keeps,
							  bool heads)
{
	const struct ctf_stream *stream = lane->packet->stream;
	const struct ctf_head *head = stream->head;
	struct ctf_cursor *cursor = &lane->walk.cursor;
	const struct ctf_window window = {
		.bytes = cursor->bytes,
		.end = cursor->bytes + (cursor->window_end - cursor->first) / 8,
		.first = cursor->first / 8,
	};
	const uint8_t *at = cursor->bytes + (cursor->at - cursor->first + 7) / 8;
	uint16_t cpu = lane->packet->has_cpu ? lane->packet->cpu : lane->cpu;
	struct cell *cell = batch->cells + batch->count;
	const struct cell *cells_end = batch->cells + batch->max - 1;
	struct ctf_time time = lane->time;
	uint64_t ticks = lane->ticks, last_ns = lane->last_ns, bit = cursor->at;
	struct ctf_record record = { 0 };

	while (cell < cells_end && at <= window.end) {
		uint64_t padding = ctf_window_padding(&window, at, head->align);
		const uint8_t *start, *next;
		const struct ctf_head_form *form;
		const struct ctf_event *kind;
		const struct ctf_plan *plan;
		uint64_t tag, id, now, ns;
		uint32_t number;

		if (padding >= (uint64_t)(window.end - at))
			break;
		start = at + padding;
		number = form_at(head, start, &tag);
		if (number >= head->form_count)
			break;
		form = &head->forms[number];
		if (form->bytes > (uint64_t)(window.end - start))
			break;
		id = form->id.bits ? ctf_load(&form->id, start) : tag;
		if (id >= stream->event_count || stream->events[id]->id != id)
			break;
		kind = stream->events[id];
		plan = keeps ? kind->record_plans[number] : kind->plans[number];
		if (!plan)
			break;
		now = ctf_clock_next(ticks, ctf_load(&form->time, start), form->time.bits);
		ns = ctf_ns(&time, now);
		if (ns < last_ns)
			break;
		if (keeps || heads) {
			record.bytes = record_room(lane);
			record.used = keeps ? kind->record_bytes : KERNEL_EVENT_MIN_BYTES;
			record.is_full = false;
			if (!record.bytes)
				break;
		}
		cell->event = *kind->base;
		cell->event.cpu = cpu;
		next = ctf_plan_run(plan, &window, start + form->bytes, &cell->event,
				    keeps ? &record : NULL);
		if (!next)
			break;
		if (keeps || heads)
			ctf_lane_end_record(lane, &record, kind, bit, cell);
		cell->event.time_ns = last_ns = ns;
		ticks = now;
		at = next;
		bit = cursor->first + (uint64_t)(at - window.bytes) * 8;
		cell++;
	}
	if (cell > batch->cells + batch->count) {
		cursor->at = bit;
		cursor->order = CTF_ORDER_LITTLE;
		batch->count = (size_t)(cell - batch->cells);
		lane->ticks = ticks;
		lane->last_ns = last_ns;
	}
}

static void put_plain_run(struct ctf_lane *lane, struct batch *batch)
{
	put_run(lane, batch, false, false);
}

static void put_head_run(struct ctf_lane *lane, struct batch *batch)
{
	put_run(lane, batch, false, true);
}

static void put_record_run(struct ctf_lane *lane, struct batch *batch)
{
	put_run(lane, batch, true, false);
}

/* Is there an event at the cursor? Padding may stand before the end. */
static bool at_end(const struct ctf_lane *lane)
{
	const struct ctf_type *header = lane->packet->stream->event_header;
	const struct ctf_cursor *cursor = &lane->walk.cursor;
	uint64_t padding = header ? -cursor->at & (header->align - 1) : 0;

	return cursor->end - cursor->at <= padding;
}

/* Go on in the packet. False when what is next needs a new chunk, and the batch has events. */
static bool ctf_lane_put_events(struct ctf_lane *lane, struct batch *batch)
{
	struct ctf_cursor *cursor = &lane->walk.cursor;

	while (batch->count + 2 <= batch->max) {
		uint8_t order = cursor->order;
		uint64_t at;
		int rc;

		if (lane->packet->stream->head && !lane->hole) {
			if (lane->lane.keep_records && lane->lane.heads_only)
				put_head_run(lane, batch);
			else if (lane->lane.keep_records)
				put_record_run(lane, batch);
			else
				put_plain_run(lane, batch);
		}
		at = cursor->at;
		if (at_end(lane)) {
			ctf_lane_end_packet(lane);
			return true;
		}
		if (batch->count + 2 > batch->max)
			return true;
		rc = read_event(lane, batch);
		if (rc == 0 && cursor->at > at) {
			ctf_lane_put_event(lane, batch);
			continue;
		}
		if (rc == CTF_MORE) {
			cursor->at = at;
			cursor->order = order;
			if (batch->count)
				return false;
			if (ctf_lane_widen_window(lane))
				continue;
		}
		ctf_lane_damaged(lane, batch, rc == 0 ? "an event without a bit" : cursor->wrong);
		ctf_lane_end_packet(lane);
		return true;
	}
	return true;
}

/* Behind the last packet: what is known to be missing there. */
static void ctf_lane_put_tail(struct ctf_lane *lane, struct batch *batch)
{
	size_t count = lane->packets->count;
	const struct ctf_packet *last = count ? &lane->packets->items[count - 1] : NULL;
	uint64_t end_ns = lane->common->end_ns;

	lane->ended = true;
	if (lane->hole)
		ctf_put_lost(lane, batch, end_ns > lane->last_ns ? end_ns : lane->last_ns,
			     last && last->has_cpu ? last->cpu : lane->cpu);
}

/* From the numbers of a container to the machine's. */
static void ctf_lane_find_threads(const struct ctf_lane *lane, struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct event *event = &batch->cells[i].event;

		if (event->context & EV_CTX_VTID && event->type != EV_LOST)
			event->tid =
				vtids_find(lane->vtids, &lane->process, event->tid, event->time_ns);
	}
}

static bool ctf_lane_fill(struct lane *base, struct batch *batch)
{
	struct ctf_lane *lane = (struct ctf_lane *)base;

	batch_clear(batch, base);
	while (batch->count + 2 <= batch->max) {
		if (lane->packet) {
			if (!ctf_lane_put_events(lane, batch))
				break;
		} else if (batch->count || lane->next_packet == lane->packets->count) {
			break; /* the events of a batch are views into one chunk */
		} else if (!ctf_lane_begin_packet(lane, batch)) {
			ctf_lane_end_packet(lane);
		}
	}
	if (batch->count == 0 && !lane->ended)
		ctf_lane_put_tail(lane, batch);
	if (lane->vtids)
		ctf_lane_find_threads(lane, batch);
	batch->chunk = lane->chunk;
	if (batch->chunk)
		batch->chunk->uses++;
	return batch->count > 0;
}

static void ctf_lane_go_to(struct ctf_lane *lane, size_t packet)
{
	lane->next_packet = packet;
	lane->packet = NULL;
	lane->last_ns = lane->ticks = 0;
	lane->hole = lane->hole_unknown = lane->ended = false;
	lane->hole_count = lane->hole_packets = 0;
}

/* One packet before the one that the time is in: the last event before a hole may be there. */
static void ctf_lane_seek(struct lane *base, uint64_t time_ns)
{
	struct ctf_lane *lane = (struct ctf_lane *)base;
	size_t low, count = lane->packets->count;

	if (count && !lane->packets->items[count - 1].has_begin)
		count = 0;
	low = SEARCH_FROM(lane->packets->items, count, begin_ns, time_ns);
	ctf_lane_go_to(lane, low > 2 ? low - 2 : 0);
}

static void ctf_lane_close(struct lane *base)
{
	struct ctf_lane *lane = (struct ctf_lane *)base;

	chunk_put(base, lane->chunk);
	lane_fini(base);
	mem_close_fd(&lane->fd);
	free(lane->slots);
	free(lane);
}

static const struct lane_ops ctf_lane_ops = {
	.fill = ctf_lane_fill,
	.seek = ctf_lane_seek,
	.close = ctf_lane_close,
};

/* Files of one stream may be of several traces. */
static uint32_t slots_of(const struct ctf_packets *packets)
{
	uint32_t most = 1;

	for (size_t i = 0; i < packets->count; i++) {
		uint32_t count = ctf_slots_needed(packets->items[i].file->meta);

		if (i && packets->items[i].file == packets->items[i - 1].file)
			continue;
		most = count > most ? count : most;
	}
	return most;
}

struct ctf_lane *ctf_lane_new(const struct ctf_packets *packets, const struct ctf_common *common,
			      uint16_t cpu, uint16_t number)
{
	struct ctf_lane *lane = xcalloc(1, sizeof(*lane));
	uint64_t room = (packets->max_bytes + 63) & ~(uint64_t)63;

	lane->lane.ops = &ctf_lane_ops;
	lane->packets = packets;
	lane->common = common;
	lane->cpu = cpu;
	lane->number = number;
	lane->fd = -1;
	lane->room = room > WINDOW_MAX_BYTES ? WINDOW_MAX_BYTES : (uint32_t)room;
	if (lane->room < 4096)
		lane->room = 4096;
	lane->records_room = RECORDS_MOST;
	if (lane->room < (RECORDS_MOST - CTF_RECORD_MAX - 1) / RECORDS_TIMES)
		lane->records_room = CTF_RECORD_MAX + 1 + lane->room * RECORDS_TIMES;
	lane->lane.chunk_bytes = lane->room + CTF_WINDOW_SLACK + lane->records_room;
	lane->slots = xcalloc(slots_of(packets), sizeof(uint64_t));
	lane->walk.slots = lane->slots;
	return lane;
}

void ctf_lane_set_process(struct ctf_lane *lane, const struct vtid_process *process,
			  const struct vtids *vtids)
{
	lane->process = *process;
	lane->vtids = vtids;
}

struct lane *ctf_lane_lane(struct ctf_lane *lane)
{
	return &lane->lane;
}

bool ctf_lane_span(struct ctf_lane *lane, uint64_t *out_first_ns, uint64_t *out_last_ns)
{
	struct batch batch;
	bool any = false;

	batch_init(&batch);
	batch.max = 2;
	ctf_lane_go_to(lane, 0);
	while (!any && ctf_lane_fill(&lane->lane, &batch)) {
		const struct event *event = &batch.cells[batch.count - 1].event;

		any = event->type != EV_LOST;
		*out_first_ns = *out_last_ns = event->time_ns;
	}
	batch.max = BATCH_EVENTS;
	if (any)
		ctf_lane_seek(&lane->lane, UINT64_MAX);
	while (any && ctf_lane_fill(&lane->lane, &batch)) {
		for (size_t i = 0; i < batch.count; i++) {
			if (batch.cells[i].event.type != EV_LOST)
				*out_last_ns = batch.cells[i].event.time_ns;
		}
	}
	batch_fini(&batch, &lane->lane);
	ctf_lane_go_to(lane, 0);
	return any;
}

/* The packet that the bit of the stream is in. */
static size_t packet_at(const struct ctf_packets *packets, uint64_t bit)
{
	size_t low = SEARCH_BEHIND(packets->items, packets->count, place, bit / 8);

	return low ? low - 1 : 0;
}

bool ctf_lane_time_at(const struct ctf_lane *lane, uint64_t place, uint64_t *out_ns)
{
	uint64_t bit = place & (((uint64_t)1 << CTF_PLACE_SHIFT) - 1);
	struct ctf_lane *other = ctf_lane_new(lane->packets, lane->common, lane->cpu, lane->number);
	bool found = false, passed = place >> CTF_PLACE_SHIFT != lane->number;
	struct batch batch;

	batch_init(&batch);
	other->lane.keep_records = true;
	ctf_lane_go_to(other, packet_at(lane->packets, bit));
	while (!found && !passed && ctf_lane_fill(&other->lane, &batch)) {
		for (size_t i = 0; i < batch.count && !found; i++) {
			const struct cell *cell = &batch.cells[i];

			passed |= cell->record.data && cell->record.place > place;
			found = cell->record.data && cell->record.place == place;
			if (found)
				*out_ns = cell->event.time_ns;
		}
	}
	batch_fini(&batch, &other->lane);
	ctf_lane_close(&other->lane);
	return found;
}
