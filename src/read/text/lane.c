/*
 * lane.c - lines, put in order by a window, as events.
 *
 *	file ── line ──▶ window: WINDOW lines, each a copy, in order of (time, place) ──▶ event
 *
 * Nearly all lines belong at the end of the window. What comes later than the window is long
 * gets the time of the event before it, and a note.
 */
#include "read/text/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "read/lane.h"
#include "read/text/file.h"
#include "read/text/kinds.h"
#include "read/text/line.h"

#define WINDOW	      512u
#define TEXT_BYTES    (128u << 10) /* of a chunk: copies of lines */
#define RECORDS_BYTES (192u << 10)
#define SEEK_BYTES    (512u << 10) /* go so much before the time that is sought */
#define SEARCH_BYTES  (64u << 10)  /* lines without an event, before one is found */

struct slot {
	char *text; /* owned */
	size_t bytes, cap;
	uint64_t offset;
	uint64_t number;       /* of the line, from 1; 0 = not known */
	struct text_line line; /* views into 'text' */
	bool has_lost;
	uint64_t lost;
};

/* What is known of a CPU. */
struct cpu {
	uint64_t last_ns; /* of the last event that was handed out */
	bool has_last;
	bool has_lost; /* events are missing before the next one */
	bool lost_unknown;
	uint64_t lost;
};

struct text_lane {
	struct lane lane;
	const struct text_common *common;
	struct text_file file;
	struct slot slots[WINDOW];
	uint16_t free_slots[WINDOW];
	uint32_t free_count;
	uint16_t order[2 * WINDOW]; /* slots by time: 'count' of them from 'head' on */
	uint32_t head, count;
	int32_t newest;	      /* slot that was filled last and is held; -1 = none */
	bool has_events;      /* there were some */
	uint64_t steps;	      /* lines read and events handed out: orders notes */
	struct cpu *cpus;     /* owned; TEXT_MAX_CPUS */
	uint64_t last_ns;     /* of what was handed out */
	uint64_t line_number; /* of the last line that was read; 0 = not known */
	bool counts_lines;    /* since the start of the file */
	bool file_ended, tail_done;
	uint64_t bad_lines, late_lines, odd_lines, graph_lines;
	uint64_t noted_bad;
	uint32_t tail_cpu; /* behind the last event: the next CPU to look at */
};

/* ------------------------------------------------------------------ notes */

/* Where a line is, for people. */
static const char *line_place(uint64_t number, uint64_t offset, char out_text[48])
{
	if (number)
		snprintf(out_text, 48, "line %llu", (unsigned long long)number);
	else
		snprintf(out_text, 48, "the line at byte %llu", (unsigned long long)offset);
	return out_text;
}

static void note_bad(struct text_lane *lane, struct batch *batch, const struct text_piece *piece)
{
	char where[48];

	lane->bad_lines++;
	if (batch->note_count == BATCH_NOTES)
		return;
	lane->noted_bad++;
	batch_note(batch, lane->steps, "%s is %s",
		   line_place(lane->line_number, piece->offset, where),
		   piece->is_cut ? "too long for an event" : "no event");
}

static void note_slot(const struct text_lane *lane, struct batch *batch, const struct slot *slot,
		      const char *what)
{
	char where[48];

	batch_note(batch, lane->steps, "%s: %s", line_place(slot->number, slot->offset, where),
		   what);
}

/* At the end: how many there were in all. */
static void note_totals(struct text_lane *lane, struct batch *batch)
{
	uint64_t place = UINT64_MAX - 4;

	if (!lane->counts_lines)
		return;
	if (lane->bad_lines > lane->noted_bad)
		batch_note(batch, place, "%llu lines are no events, in all",
			   (unsigned long long)lane->bad_lines);
	if (lane->late_lines > 1)
		batch_note(batch, place + 1, "%llu lines come too late to be put in order, in all",
			   (unsigned long long)lane->late_lines);
	if (lane->odd_lines > 1)
		batch_note(batch, place + 2, "the text of %llu events is not understood, in all",
			   (unsigned long long)lane->odd_lines);
	if (lane->graph_lines)
		batch_note(batch, place + 3,
			   "%llu lines of the function graph tracer were passed over",
			   (unsigned long long)lane->graph_lines);
}

/* ------------------------------------------------------------------ window */

static void add_lost(struct cpu *cpu, uint64_t count)
{
	cpu->has_lost = true;
	cpu->lost_unknown |= count == 0;
	if (__builtin_add_overflow(cpu->lost, count, &cpu->lost))
		cpu->lost = UINT64_MAX;
}

static void text_lane_take_lost(struct cpu *cpu, struct slot *slot)
{
	slot->has_lost = cpu->has_lost;
	slot->lost = cpu->lost_unknown ? 0 : cpu->lost;
	cpu->has_lost = cpu->lost_unknown = false;
	cpu->lost = 0;
}

static void text_lane_copy_text(struct slot *slot, const char *text, size_t bytes)
{
	if (slot->cap < bytes + 1) {
		slot->cap = bytes + 128;
		slot->text = xrealloc(slot->text, slot->cap, 1);
	}
	memcpy(slot->text, text, bytes);
	slot->bytes = bytes;
}

static struct text_view text_lane_moved(struct text_view view, const char *from, const char *to)
{
	if (view.at)
		view.at = to + (view.at - from);
	return view;
}

static void move_line(struct text_line *line, const char *from, const char *to)
{
	line->comm = text_lane_moved(line->comm, from, to);
	line->name = text_lane_moved(line->name, from, to);
	line->text = text_lane_moved(line->text, from, to);
}

/* Behind all that are not later. */
static void text_lane_put_in_order(struct text_lane *lane, uint16_t index)
{
	uint64_t time_ns = lane->slots[index].line.time_ns;
	uint32_t at;

	if (lane->head + lane->count == 2 * WINDOW) {
		memmove(lane->order, lane->order + lane->head, lane->count * sizeof(*lane->order));
		lane->head = 0;
	}
	at = lane->head + lane->count;
	while (at > lane->head && lane->slots[lane->order[at - 1]].line.time_ns > time_ns)
		at--;
	memmove(lane->order + at + 1, lane->order + at,
		(lane->head + lane->count - at) * sizeof(*lane->order));
	lane->order[at] = index;
	lane->count++;
}

static void hold(struct text_lane *lane, const struct text_piece *piece,
		 const struct text_line *line)
{
	uint16_t index = lane->free_slots[--lane->free_count];
	struct slot *slot = &lane->slots[index];

	text_lane_copy_text(slot, piece->at, piece->bytes);
	slot->line = *line;
	move_line(&slot->line, piece->at, slot->text);
	slot->offset = piece->offset;
	slot->number = lane->line_number;
	text_lane_take_lost(&lane->cpus[line->cpu], slot);
	text_lane_put_in_order(lane, index);
	lane->newest = index;
	lane->has_events = true;
}

/* A line of a stack goes to the event before it, as long as that is at hand. */
static void add_frame(struct text_lane *lane, const struct text_piece *piece)
{
	struct slot *slot = lane->newest < 0 ? NULL : &lane->slots[lane->newest];
	AUTO_FREE char *joined = NULL;
	struct text_line line;

	if (!slot || slot->line.kind != TEXT_STACK ||
	    slot->bytes + piece->bytes + 1 > TEXT_MAX_LINE)
		return;
	joined = xmalloc(slot->bytes + piece->bytes + 1);
	memcpy(joined, slot->text, slot->bytes);
	joined[slot->bytes] = ' ';
	memcpy(joined + slot->bytes + 1, piece->at, piece->bytes);
	text_line_parse(joined, slot->bytes + 1 + piece->bytes, &line);
	if (line.kind != TEXT_STACK)
		return;
	text_lane_copy_text(slot, joined, slot->bytes + 1 + piece->bytes);
	move_line(&line, joined, slot->text);
	slot->line = line;
}

static void take_piece(struct text_lane *lane, struct batch *batch, const struct text_piece *piece)
{
	struct text_line line;

	text_line_parse(piece->at, piece->bytes, &line);
	if (piece->is_cut)
		line.kind = TEXT_UNKNOWN;
	switch ((enum text_line_kind)line.kind) {
	case TEXT_NOISE:
		return;
	case TEXT_LOST:
		add_lost(&lane->cpus[line.cpu], line.lost);
		return;
	case TEXT_FRAME:
		add_frame(lane, piece);
		return;
	case TEXT_GRAPH:
		lane->graph_lines++;
		return;
	case TEXT_UNKNOWN:
		/* What tools write before the first event is theirs. */
		if (lane->has_events)
			note_bad(lane, batch, piece);
		return;
	default:
		hold(lane, piece, &line);
		return;
	}
}

/* Read lines until the window is full. */
static void fill_window(struct text_lane *lane, struct batch *batch)
{
	struct text_piece piece;

	while (lane->free_count && !lane->file_ended) {
		if (!text_file_next(&lane->file, &piece)) {
			lane->file_ended = true;
			return;
		}
		lane->line_number += lane->counts_lines;
		lane->steps++;
		take_piece(lane, batch, &piece);
	}
}

/* ------------------------------------------------------------------ events */

static void text_put_lost(struct text_lane *lane, struct batch *batch, uint32_t cpu,
			  uint64_t time_ns, uint64_t count)
{
	const struct cpu *known = &lane->cpus[cpu];
	uint64_t since = known->has_last ? known->last_ns : lane->common->first_ns;

	batch->cells[batch->count].record.data = NULL;
	batch->cells[batch->count++].event = (struct event){
		.time_ns = time_ns,
		.tid = -1,
		.cpu = (uint16_t)cpu,
		.type = EV_LOST,
		.lost.since_ns = since < time_ns ? since : time_ns,
		.lost.count = count,
	};
}

/* Where the text and the records of a chunk are used up to. */
struct room {
	char *text;
	uint8_t *records;
	size_t text_left, records_left;
};

static bool text_lane_fits(const struct room *room, const struct slot *slot, bool keeps_records)
{
	/* A record has the text, and its fields once more. */
	return slot->bytes + 1 + 16 <= room->text_left &&
	       (!keeps_records || slot->bytes * 2 + 256 <= room->records_left);
}

/* The event behind cells that are taken, and what is wrong with it. */
static void text_lane_make_event(struct text_lane *lane, struct batch *batch, struct slot *slot,
				 struct room *room, struct cell *cell)
{
	struct text_line line = slot->line;
	struct text_made made;
	char *copy = room->text;

	memcpy(copy, slot->text, slot->bytes);
	copy[slot->bytes] = '\0';
	move_line(&line, slot->text, copy);
	room->text += slot->bytes + 1;
	room->text_left -= slot->bytes + 1;
	cell->record.data = lane->lane.keep_records ? room->records : NULL;
	made = text_kinds_event(lane->common->kinds, &line, &cell->event,
				lane->lane.keep_records ? room->records : NULL);
	if (cell->record.data) {
		size_t bytes = (made.record_bytes + 7) & ~(size_t)7;

		cell->record.bytes = made.record_bytes;
		cell->record.place = slot->offset;
		room->records += bytes;
		room->records_left -= bytes;
	}
	if (!made.understood) {
		lane->odd_lines++;
		note_slot(lane, batch, slot, "the text of this event is not understood");
		slot->lost += !slot->has_lost || slot->lost; /* 0 = an unknown number */
		slot->has_lost = true;
	}
}

static void text_lane_put_event(struct text_lane *lane, struct batch *batch, struct room *room)
{
	uint16_t index = lane->order[lane->head];
	struct slot *slot = &lane->slots[index];
	struct cell *cell = &batch->cells[batch->count];
	struct cpu *cpu = &lane->cpus[slot->line.cpu];

	if (slot->line.time_ns < lane->last_ns) {
		lane->late_lines++;
		note_slot(lane, batch, slot, "time goes back");
		slot->line.time_ns = lane->last_ns;
	}
	lane->last_ns = slot->line.time_ns;
	text_lane_make_event(lane, batch, slot, room, cell);
	if (slot->has_lost) {
		cell[1] = cell[0];
		text_put_lost(lane, batch, slot->line.cpu, lane->last_ns, slot->lost);
	}
	batch->count++;
	cpu->last_ns = lane->last_ns;
	cpu->has_last = true;
	lane->head++;
	lane->count--;
	lane->free_slots[lane->free_count++] = index;
	if (lane->newest == index)
		lane->newest = -1;
	lane->steps++;
}

/* Behind the last event: CPUs whose events are missing there. */
static void text_lane_put_tail(struct text_lane *lane, struct batch *batch)
{
	for (; lane->tail_cpu < TEXT_MAX_CPUS && batch->count < batch->max; lane->tail_cpu++) {
		struct cpu *cpu = &lane->cpus[lane->tail_cpu];

		if (!cpu->has_lost)
			continue;
		text_put_lost(lane, batch, lane->tail_cpu, lane->last_ns,
			      cpu->lost_unknown ? 0 : cpu->lost);
		cpu->has_lost = false;
	}
	lane->tail_done = lane->tail_cpu == TEXT_MAX_CPUS;
}

static bool text_lane_fill(struct lane *base, struct batch *batch)
{
	struct text_lane *lane = (struct text_lane *)base;
	struct room room;

	batch_clear(batch, base);
	batch->chunk = chunk_get(base);
	room = (struct room){ (char *)batch->chunk->bytes, batch->chunk->bytes + TEXT_BYTES,
			      TEXT_BYTES, RECORDS_BYTES };
	while (batch->count + 2 <= batch->max) {
		if (lane->free_count && !lane->file_ended)
			fill_window(lane, batch);
		if (!lane->count || !text_lane_fits(&room, &lane->slots[lane->order[lane->head]],
						    base->keep_records))
			break;
		text_lane_put_event(lane, batch, &room);
	}
	if (batch->count == 0 && lane->count == 0 && !lane->tail_done) {
		text_lane_put_tail(lane, batch);
		if (lane->tail_done)
			note_totals(lane, batch);
	}
	return batch->count > 0;
}

/* ------------------------------------------------------------------ seek */

static void text_lane_go_to(struct text_lane *lane, uint64_t offset)
{
	text_file_seek(&lane->file, offset);
	lane->free_count = WINDOW;
	for (uint16_t i = 0; i < WINDOW; i++)
		lane->free_slots[i] = i;
	lane->head = lane->count = 0;
	lane->newest = -1;
	lane->has_events = offset > 0;
	lane->steps = offset * 2;
	memset(lane->cpus, 0, TEXT_MAX_CPUS * sizeof(*lane->cpus));
	lane->last_ns = 0;
	lane->line_number = 0;
	lane->counts_lines = offset == 0;
	lane->file_ended = lane->tail_done = false;
	lane->bad_lines = lane->late_lines = lane->odd_lines = lane->graph_lines = 0;
	lane->noted_bad = 0;
	lane->tail_cpu = 0;
}

/* The time of the first event behind the offset. False when there is none before 'until'. */
static bool time_behind(struct text_file *file, uint64_t offset, uint64_t until, uint64_t *out_ns)
{
	struct text_piece piece;
	struct text_line line;

	text_file_seek(file, offset);
	while (text_file_next(file, &piece) && piece.offset < until) {
		text_line_parse(piece.at, piece.bytes, &line);
		if (line.kind >= TEXT_EVENT && line.kind <= TEXT_STACK) {
			*out_ns = line.time_ns;
			return true;
		}
	}
	return false;
}

/* By halves, and then some way back: lines may be late. */
static void text_lane_seek(struct lane *base, uint64_t time_ns)
{
	struct text_lane *lane = (struct text_lane *)base;
	uint64_t low = 0, high = lane->file.bytes, ns = 0;

	while (time_ns && high - low > SEARCH_BYTES) {
		uint64_t middle = low + (high - low) / 2;

		if (time_behind(&lane->file, middle, high, &ns) && ns < time_ns)
			low = middle;
		else
			high = middle;
	}
	text_lane_go_to(lane, low > SEEK_BYTES ? low - SEEK_BYTES : 0);
}

bool text_lane_time_at(const struct text_lane *lane, uint64_t place, uint64_t *out_ns)
{
	struct text_file file;
	struct text_piece piece;
	struct text_line line;
	bool found = false;

	if (place >= lane->file.bytes || text_file_open(&file, lane->common->path, NULL) < 0)
		return false;
	text_file_seek(&file, place);
	if (text_file_next(&file, &piece) && piece.offset == place) {
		text_line_parse(piece.at, piece.bytes, &line);
		found = line.kind >= TEXT_EVENT && line.kind <= TEXT_STACK;
		*out_ns = found ? line.time_ns : 0;
	}
	text_file_close(&file);
	return found;
}

static void text_lane_close(struct lane *base)
{
	struct text_lane *lane = (struct text_lane *)base;

	for (uint32_t i = 0; i < WINDOW; i++)
		free(lane->slots[i].text);
	text_file_close(&lane->file);
	lane_fini(base);
	free(lane->cpus);
	free(lane);
}

static const struct lane_ops text_lane_ops = {
	.fill = text_lane_fill,
	.seek = text_lane_seek,
	.close = text_lane_close,
};

int text_lane_new(const struct text_common *common, struct text_lane **out_lane, struct err *err)
{
	struct text_lane *lane = xcalloc(1, sizeof(*lane));
	int rc;

	lane->lane.ops = &text_lane_ops;
	lane->lane.chunk_bytes = TEXT_BYTES + RECORDS_BYTES + 64;
	lane->common = common;
	lane->cpus = xcalloc(TEXT_MAX_CPUS, sizeof(*lane->cpus));
	rc = text_file_open(&lane->file, common->path, err);
	if (rc < 0) {
		text_lane_close(&lane->lane);
		return rc;
	}
	text_lane_go_to(lane, 0);
	*out_lane = lane;
	return 0;
}

struct lane *text_lane_lane(struct text_lane *lane)
{
	return &lane->lane;
}
