/*
 * ring.c - from the pages of one CPU to events in time order.
 *
 * What a page says of itself is held against its neighbours: the time stamps of the
 * pages grow, so one that is later than the next page's is wrong, and no event of a
 * page is later than the next page. That catches a turned bit in a time, which would
 * else shift all that follows.
 */
#include "read/kernel/ring.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/clock.h"
#include "read/kernel/blocked_calls.h"
#include "read/kernel/decode.h"
#include "read/kernel/events.h"
#include "read/lane.h"
#include "read/kernel/pages.h"
#include "read/read.h"
#include "store/file.h"
#include "wire/wire.h"

#define CHUNK_BYTES   (32u << 10)
#define CHUNK_SLACK   64u      /* a short text at its end may be read as 16 bytes */
#define LOOK_AHEAD    4u       /* pages, to find one with events */
#define LOOK_FAR      1024u    /* the same, where it is done once */
#define TIME_SLACK_NS 1000000u /* order between pages is not held against them below this */
#define SWITCH_BYTES  64u      /* at least, of each switch in a page */

struct page_walk {
	struct page_cursor cursor;
	uint64_t limit_ns; /* no event of the page can be later */
};

struct ring {
	struct lane lane;
	const struct ring_common *common;
	const struct decode_table *table;
	char *path;		 /* owned */
	struct ring_bytes *from; /* owned; NULL = the file at 'path' */
	uint64_t place_base;
	const char *origin;
	uint32_t cpu;
	int fd;		      /* -1 = opened when needed */
	uint64_t page_count;  /* whole pages of the file */
	uint32_t chunk_pages; /* read at once */

	/* Events known to be lost behind the last page. */
	bool tail_lost;
	uint64_t tail_count; /* 0 = unknown number */
	uint64_t claim_lost; /* of all pages and behind them; how many behind, shows at the end */

	/* Position. */
	uint64_t next_page;
	uint64_t last_ns; /* of the last event; 0 = none yet */
	size_t clock_hint;
	struct clock_span span; /* near last_ns */
	bool hole;		/* events are missing before the next one */
	bool hole_unknown;	/* and nobody knows how many */
	uint64_t hole_count;
	bool ended;

	/* Calls that threads block in: an event right before the switch. NULL = none are known. */
	struct blocked_calls *calls;
	uint16_t calls_id;
	bool call_put;	     /* that of the record that comes next */
	uint32_t made_bytes; /* of records made of them, behind the pages of the chunk */

	/* The chunk that is being read, and the page of it. */
	struct chunk *chunk; /* NULL = none yet */
	uint64_t chunk_first;
	uint64_t chunk_count;
	uint64_t chunk_used; /* pages of it that were begun */
	bool in_page;
	struct page_walk walk;
};

static const char *file_name(const struct ring *ring)
{
	const char *slash = strrchr(ring->path, '/');

	return slash ? slash + 1 : ring->path;
}

static uint64_t ring_ns(struct ring *ring, uint64_t raw)
{
	return clock_ns(ring->common->clock, &ring->clock_hint, raw);
}

static void ring_add_hole(struct ring *ring, uint64_t count)
{
	ring->hole = true;
	ring->hole_unknown |= count == 0;
	ring->hole_count += count;
}

/* A page that cannot be used, or not further. */
static void ring_damaged(struct ring *ring, struct batch *batch, uint64_t page, const char *what)
{
	ring_add_hole(ring, 0);
	batch_note(batch, page, "%s page %llu: %s", file_name(ring), (unsigned long long)page,
		   what);
}

static int ring_fd(struct ring *ring)
{
	uint64_t bytes;

	return ring->fd >= 0 ? ring->fd : file_open(ring->path, &bytes, NULL);
}

/* Read up to 'bytes' at 'offset'; returns how many there were. */
static size_t read_at(struct ring *ring, uint64_t offset, uint8_t *buffer, size_t bytes)
{
	size_t done;
	int fd;

	if (ring->from)
		return ring->from->read(ring->from, offset, buffer, bytes);
	fd = ring_fd(ring);
	done = fd < 0 ? 0 : file_read_at(fd, offset, buffer, bytes);
	if (fd != ring->fd)
		mem_close_fd(&fd);
	return done;
}

static uint64_t page_offset(const struct ring *ring, uint64_t page)
{
	return page * ring->common->layout->page_bytes;
}

/* The header of any page. False when it cannot be one or cannot be read. */
static bool ring_peek(struct ring *ring, uint64_t index, struct page *out_page)
{
	const struct page_layout *layout = ring->common->layout;
	uint8_t header[PAGE_HEADER_BYTES];

	if (index - ring->chunk_first < ring->chunk_count)
		return page_peek(layout,
				 ring->chunk->bytes +
					 (index - ring->chunk_first) * layout->page_bytes,
				 out_page);
	return read_at(ring, page_offset(ring, index), header, sizeof(header)) == sizeof(header) &&
	       page_peek(layout, header, out_page);
}

/* The time of the first page with events in [*from, to); moves *from behind it. */
static bool next_time(struct ring *ring, uint64_t *from, uint64_t to, uint64_t *out_ns)
{
	struct page page;
	size_t hint = ring->clock_hint;

	while (*from < to) {
		if (ring_peek(ring, (*from)++, &page) && page.bytes) {
			*out_ns = clock_ns(ring->common->clock, &hint, page.time);
			return true;
		}
	}
	return false;
}

static uint64_t up_to(const struct ring *ring, uint64_t page, uint64_t more)
{
	return more < ring->page_count - page ? page + more : ring->page_count;
}

/* The first page at or behind 'page' that is no hole in a sparse file. */
static uint64_t behind_hole(struct ring *ring, uint64_t page)
{
	uint64_t offset = page_offset(ring, page), to;
	int fd;

	if (ring->from) {
		if (ring->from->behind_hole)
			offset = ring->from->behind_hole(ring->from, offset);
	} else {
		fd = ring_fd(ring);
		offset = file_behind_hole(fd, offset);
		if (fd != ring->fd)
			mem_close_fd(&fd);
	}
	to = offset / ring->common->layout->page_bytes;
	to = to > page ? to : page;
	return to < ring->page_count ? to : ring->page_count;
}

static bool ring_is_blank(const uint8_t *header)
{
	static const uint8_t zeros[PAGE_HEADER_BYTES];

	return memcmp(header, zeros, sizeof(zeros)) == 0;
}

/* Read the next chunk. False when there is none. */
static bool load_chunk(struct ring *ring, struct batch *batch)
{
	uint32_t page_bytes = ring->common->layout->page_bytes;
	uint64_t count = up_to(ring, ring->next_page, ring->chunk_pages) - ring->next_page;
	size_t got;

	if (count == 0)
		return false;
	/* Events that were made are views into the last one. */
	chunk_put(&ring->lane, ring->chunk);
	ring->chunk = chunk_get(&ring->lane);
	got = read_at(ring, page_offset(ring, ring->next_page), ring->chunk->bytes,
		      count * page_bytes);
	if (got < count * page_bytes) {
		ring->page_count = ring->next_page + got / page_bytes;
		ring_damaged(ring, batch, ring->page_count, "the file became shorter than it was");
		count = got / page_bytes;
	}
	ring->chunk_first = ring->next_page;
	ring->chunk_count = count;
	ring->chunk_used = 0;
	ring->made_bytes = 0;
	ring->next_page += count;
	return count > 0;
}

/*
 * Is this page's time possible between its neighbours? Returns what is wrong with it,
 * or NULL and fills the limit. When it is later than the next page, the one after
 * that decides which of the two is wrong.
 */
static const char *check_time(struct ring *ring, uint64_t index, uint64_t ns,
			      struct page_walk *walk)
{
	uint64_t from = index + 1, to = up_to(ring, index, LOOK_AHEAD + 1);
	uint64_t next_ns;

	walk->limit_ns = ring->common->limit_ns;
	if (ns > walk->limit_ns)
		return "its time stamp is after the end of the recording";
	if (ns + TIME_SLACK_NS < ring->last_ns)
		return "its time stamp is before the events before it";
	if (!next_time(ring, &from, to, &next_ns))
		return NULL;
	if (ns > next_ns + TIME_SLACK_NS) {
		bool other = next_time(ring, &from, to, &next_ns);

		if (!other || ns > next_ns + TIME_SLACK_NS)
			return "its time stamp is after the next page's";
	}
	if (next_ns < walk->limit_ns)
		walk->limit_ns = next_ns + TIME_SLACK_NS;
	return NULL;
}

/* Begin page 'index' of the chunk. False when it has no event that can be read. */
static bool ring_begin_page(struct ring *ring, struct batch *batch, uint64_t index,
			    struct page_walk *out_walk)
{
	const struct page_layout *layout = ring->common->layout;
	const uint8_t *bytes =
		ring->chunk->bytes + (index - ring->chunk_first) * layout->page_bytes;
	const char *wrong;
	struct page page;

	if (ring_is_blank(bytes)) {
		uint64_t behind = behind_hole(ring, index);

		ring_damaged(ring, batch, index, "only zeros");
		if (behind > ring->next_page)
			ring->next_page = behind;
		return false;
	}
	if (!page_open(layout, bytes, &page)) {
		ring_damaged(ring, batch, index, "says it has more data than a page holds");
		return false;
	}
	if (page.lost)
		ring_add_hole(ring, page.lost_count);
	if (page.bytes == 0)
		return false;
	wrong = check_time(ring, index, ring_ns(ring, page.time), out_walk);
	if (wrong) {
		ring_damaged(ring, batch, index, wrong);
		return false;
	}
	page_begin(&page, layout->big_endian, &out_walk->cursor);
	return true;
}

static void ring_put_lost(struct ring *ring, struct batch *batch, uint64_t time_ns)
{
	uint64_t since = ring->last_ns ? ring->last_ns : ring->common->first_ns;

	batch->cells[batch->count++].event = (struct event){
		.time_ns = time_ns,
		.tid = -1,
		.cpu = (uint16_t)ring->cpu,
		.type = EV_LOST,
		.lost.since_ns = since < time_ns ? since : time_ns,
		.lost.count = ring->hole_unknown ? 0 : ring->hole_count,
	};
	batch->cells[batch->count - 1].record.data = NULL;
	ring->hole = ring->hole_unknown = false;
	ring->hole_count = 0;
}

static void ring_keep_record(struct ring *ring, struct batch *batch, const struct record *record)
{
	batch->cells[batch->count].record = (struct trace_record){
		.data = record->data,
		.bytes = record->bytes,
		.origin = ring->origin,
		.place = ring->place_base + page_offset(ring, ring->chunk_first) +
			 (uint64_t)(record->data - ring->chunk->bytes),
	};
}

static void note_backwards(struct ring *ring, struct batch *batch, uint64_t index, uint64_t ns)
{
	batch_note(batch, index, "%s page %llu: time goes back by %llu ns", file_name(ring),
		   (unsigned long long)index, (unsigned long long)(ring->last_ns - ns));
}

static bool goes_to_sleep(const struct event *event)
{
	return event->type == EV_SCHED_SWITCH && event->sched_switch.prev_tid > 0 &&
	       event->sched_switch.prev_state != TASK_STATE_RUNNABLE &&
	       event->sched_switch.prev_state != TASK_STATE_DEAD;
}

/* As the kernel would have written it: docs/FORMAT.md, kernel/cpuN.calls. */
struct made_call {
	uint16_t type;
	uint8_t flags;
	uint8_t preempt_count;
	int32_t tid;
	int64_t nr;
	uint8_t compat;
	uint8_t ended;
	uint8_t zero[6];
	uint64_t args[6];
};

static void keep_call(struct ring *ring, struct cell *cell)
{
	uint32_t pages_bytes = ring->chunk_pages * ring->common->layout->page_bytes + CHUNK_SLACK;
	const struct ev_syscall *call = &cell->event.syscall;
	struct made_call made = {
		.type = ring->calls_id,
		.tid = cell->event.tid,
		.nr = call->nr,
		.compat = call->compat,
		.ended = call->ended,
	};

	cell->record.data = NULL;
	if (ring->made_bytes + sizeof(made) > ring->lane.chunk_bytes - pages_bytes)
		return;
	memcpy(made.args, call->args, sizeof(made.args));
	cell->record.data = ring->chunk->bytes + pages_bytes + ring->made_bytes;
	cell->record.bytes = sizeof(made);
	memcpy(ring->chunk->bytes + pages_bytes + ring->made_bytes, &made, sizeof(made));
	ring->made_bytes += sizeof(made);
}

/*
 * The cell that is being filled has a switch. When it is one to sleep, and its call is known, that is
 * put there in its place, and the switch comes next. Returns whether that was done.
 */
static bool ring_put_call(struct ring *ring, struct batch *batch, bool keep)
{
	struct cell *cell = &batch->cells[batch->count];
	const struct event was = cell->event;
	struct wire_call call;

	if (ring->call_put) {
		ring->call_put = false;
		return false;
	}
	if (!goes_to_sleep(&was) ||
	    !blocked_calls_take(ring->calls, was.sched_switch.prev_tid, was.time_ns, &call))
		return false;
	cell->event = (struct event){
		.time_ns = was.time_ns,
		.tid = was.sched_switch.prev_tid,
		.cpu = was.cpu,
		.type = EV_BLOCKED_IN,
		.context = was.context,
		.syscall.nr = call.nr == WIRE_CALL_NONE ? -1 : call.nr,
		.syscall.compat = call.flags & WIRE_CALL_COMPAT,
		.syscall.ended = call.flags & WIRE_CALL_ENDED,
	};
	memcpy(cell->event.syscall.args, call.args, sizeof(call.args));
	if (keep)
		keep_call(ring, cell);
	batch->count++;
	ring->call_put = true;
	return true;
}

/* Make an event of the record. False when its time shows that the page is damaged. */
static inline __attribute__((always_inline)) bool put_record(struct ring *ring, struct batch *batch,
							     uint64_t index,
							     const struct record *record, bool keep)
{
	uint64_t ns = ring_ns(ring, record->time);
	struct event *event;

	if (__builtin_expect(ns > ring->walk.limit_ns, 0)) {
		ring_damaged(ring, batch, index, "an event is later than the next page");
		return false;
	}
	if (__builtin_expect(ns < ring->last_ns, 0)) {
		note_backwards(ring, batch, index, ns);
		ns = ring->last_ns;
	}
	/* A hole goes before it, but is over only when this one can be decoded. */
	event = &batch->cells[batch->count + ring->hole].event;
	if (__builtin_expect(!kernel_events_decode(ring->common->events, record, event), 0)) {
		ring_damaged(ring, batch, index, "an event is shorter than its format says");
		return true;
	}
	event->time_ns = ns;
	event->cpu = (uint16_t)ring->cpu;
	if (__builtin_expect(ring->hole, 0))
		ring_put_lost(ring, batch, ns);
	if (keep)
		ring_keep_record(ring, batch, record);
	ring->last_ns = ns;
	if (ring->calls && ring_put_call(ring, batch, keep))
		return true;
	batch->count++;
	return true;
}

/*
 * What is rare: the clock's next line, a hole, or an event that is wrong. False when its
 * time shows that the page is damaged.
 */
static __attribute__((noinline)) bool put_slowly(struct ring *ring, struct batch *batch,
						 uint64_t index, const struct record *record)
{
	if (record->time - ring->span.raw >= ring->span.units)
		ring->span = clock_span_at(ring->common->clock, record->time);
	return put_record(ring, batch, index, record, ring->lane.keep_records);
}

/* Make events of records while nothing is special about them. Returns what page_next() did last. */
static inline __attribute__((always_inline)) int put_run(struct ring *ring, struct batch *batch,
							 struct page_cursor *cursor,
							 struct record *record, bool big_endian)
{
	const struct decode_table *table = ring->table;
	struct cell *cell = batch->cells + batch->count;
	const struct cell *end = batch->cells + batch->max - 1;
	const struct clock_span span = ring->span;
	uint64_t limit_ns = ring->walk.limit_ns, last_ns = ring->last_ns, ns;
	uint16_t cpu = (uint16_t)ring->cpu;
	int rc = 1;

	while (cell < end && (rc = page_next_in(cursor, record, big_endian)) > 0) {
		struct event *event = &cell->event;

		if (__builtin_expect(!clock_span_ns(&span, record->time, &ns) || ns > limit_ns ||
					     ns < last_ns,
				     0))
			rc = 2;
		else if (__builtin_expect(!decode_fast(table, record, event), 0) &&
			 !kernel_events_decode(ring->common->events, record, event))
			rc = 2;
		if (__builtin_expect(rc == 2, 0))
			break;
		event->time_ns = last_ns = ns;
		event->cpu = cpu;
		cell++;
	}
	batch->count = (size_t)(cell - batch->cells);
	ring->last_ns = last_ns;
	return rc;
}

/* Go on in the page that was begun, while there is room for a hole and an event. */
static inline __attribute__((always_inline)) void put_records(struct ring *ring,
							      struct batch *batch, bool big_endian,
							      bool keep)
{
	uint64_t index = ring->chunk_first + ring->chunk_used - 1;
	struct page_cursor cursor = ring->walk.cursor, before = cursor;
	struct record record;
	int rc = 1;

	while (batch->count + 2 <= batch->max && rc > 0) {
		if (ring->calls)
			before = cursor;
		if (__builtin_expect(!ring->hole && !keep && !ring->calls, 1))
			rc = put_run(ring, batch, &cursor, &record, big_endian);
		else
			rc = 2 * page_next_in(&cursor, &record, big_endian);
		if (rc == 2 && !put_slowly(ring, batch, index, &record))
			rc = 0;
		if (ring->call_put) /* the record is still to come */
			cursor = before;
	}
	if (rc < 0)
		ring_damaged(ring, batch, index, "what follows an event is no event");
	ring->in_page = rc > 0;
	ring->walk.cursor = cursor;
}

/* The same code, with the byte order as a constant; records are asked for by few. */
static void ring_put_page(struct ring *ring, struct batch *batch)
{
	bool big_endian = ring->walk.cursor.big_endian;

	if (ring->lane.keep_records)
		put_records(ring, batch, big_endian, true);
	else if (big_endian)
		put_records(ring, batch, true, false);
	else
		put_records(ring, batch, false, false);
}

/* What the pages tell of lost events. */
struct told {
	uint64_t count;
	bool unknown; /* a page without room for the number says only that there were some */
};

static void told_by(struct ring *ring, uint64_t index, struct told *told)
{
	const struct page_layout *layout = ring->common->layout;
	AUTO_FREE uint8_t *bytes = xmalloc(layout->page_bytes);
	struct page page;

	if (read_at(ring, page_offset(ring, index), bytes, layout->page_bytes) <
		    layout->page_bytes ||
	    !page_open(layout, bytes, &page))
		return;
	told->count += page.lost_count;
	told->unknown |= page.lost_count == 0;
}

static struct told told_by_all(struct ring *ring)
{
	struct told told = { 0 };
	struct page page;

	for (uint64_t i = 0; i < ring->page_count; i++) {
		if (!ring_peek(ring, i, &page))
			continue;
		if (page.lost)
			told_by(ring, i, &told);
		if (page.bytes == 0 && page.time == 0) {
			uint64_t behind = behind_hole(ring, i);

			i = behind > i ? behind - 1 : i;
		}
	}
	return told;
}

/* What no page accounts for was lost behind the last one. */
static void set_tail(struct ring *ring, const struct told *told, uint64_t claim_lost)
{
	if (claim_lost <= told->count || told->unknown)
		return;
	ring->tail_lost = true;
	ring->tail_count = claim_lost - told->count;
}

/* Behind the last page: what is known to be missing there. */
static void ring_put_tail(struct ring *ring, struct batch *batch)
{
	uint64_t end_ns = ring->common->end_ns;

	if (end_ns < ring->common->first_ns)
		end_ns = ring->common->first_ns;
	ring->ended = true;
	if (ring->claim_lost && !ring->tail_lost) {
		struct told told;

		ring->chunk_count = ring->chunk_used = 0; /* the chunk may be another batch's */
		told = told_by_all(ring);
		set_tail(ring, &told, ring->claim_lost);
		ring->claim_lost = 0;
	}
	if (ring->tail_lost)
		ring_add_hole(ring, ring->tail_count);
	if (ring->hole)
		ring_put_lost(ring, batch, end_ns > ring->last_ns ? end_ns : ring->last_ns);
}

static bool ring_fill(struct lane *lane, struct batch *batch)
{
	struct ring *ring = (struct ring *)lane;

	batch_clear(batch, lane);
	while (batch->count + 2 <= batch->max) {
		if (ring->in_page)
			ring_put_page(ring, batch);
		else if (ring->chunk_used < ring->chunk_count)
			ring->in_page = ring_begin_page(
				ring, batch, ring->chunk_first + ring->chunk_used++, &ring->walk);
		else if (batch->count || !load_chunk(ring, batch))
			break; /* the events of a batch are views into one chunk */
	}
	if (batch->count == 0 && !ring->ended)
		ring_put_tail(ring, batch);
	batch->chunk = ring->chunk;
	if (batch->chunk)
		batch->chunk->uses++;
	return batch->count > 0;
}

static void ring_go_to(struct ring *ring, uint64_t page)
{
	ring->next_page = page;
	ring->last_ns = 0;
	ring->hole = ring->hole_unknown = ring->ended = false;
	ring->hole_count = 0;
	ring->chunk_count = ring->chunk_used = 0;
	ring->in_page = ring->call_put = false;
}

/*
 * The time at page 'index': of the next page with events, but not before that of the
 * page before it, so that one time stamp that is too low misleads no search.
 */
static bool time_near(struct ring *ring, uint64_t index, uint64_t *out_ns)
{
	uint64_t from = index, before = index ? index - 1 : 0, before_ns;

	if (!next_time(ring, &from, up_to(ring, index, LOOK_FAR), out_ns))
		return false;
	if (next_time(ring, &before, index, &before_ns) && before_ns > *out_ns &&
	    before_ns <= ring->common->limit_ns)
		*out_ns = before_ns;
	return true;
}

/*
 * Find the last page that begins before 'time_ns', and begin one page earlier, where
 * the last event before a hole may be. A page whose header is of no use takes the
 * time of the next good one.
 */
static void ring_seek(struct lane *lane, uint64_t time_ns)
{
	struct ring *ring = (struct ring *)lane;
	/* What was recorded first may have been given up: see where the file begins. */
	uint64_t first = ring->page_count ? behind_hole(ring, 0) : 0;
	uint64_t low = first, high = ring->page_count;
	uint64_t ns;

	ring_go_to(ring, 0);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (time_near(ring, middle, &ns) && ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	/* 'low' begins at or after the time: one back may hold it, one more is the past. */
	for (uint32_t back = 0, good = 0; low > first && good < 2 && back < LOOK_FAR; back++) {
		struct page page;

		low--;
		good += ring_peek(ring, low, &page) && page.bytes;
	}
	/* From the very beginning: then the hole is told of. */
	ring->next_page = low == first ? 0 : low;
	if (ring->calls) {
		uint64_t page_ns = 0, from = ring->next_page;

		(void)next_time(ring, &from, ring->page_count, &page_ns);
		blocked_calls_seek(ring->calls, page_ns);
	}
}

static void ring_close(struct lane *lane)
{
	struct ring *ring = (struct ring *)lane;

	chunk_put(lane, ring->chunk);
	lane_fini(lane);
	mem_close_fd(&ring->fd);
	blocked_calls_close(ring->calls);
	if (ring->from)
		ring->from->close(ring->from);
	free(ring->path);
	free(ring);
}

static const struct lane_ops ring_ops = {
	.fill = ring_fill,
	.seek = ring_seek,
	.close = ring_close,
};

/* Hold the file against what is told of it. */
static void check_claim(struct ring *ring, const struct ring_claim *claim, uint64_t bytes,
			struct facts *facts)
{
	uint32_t torn = (uint32_t)(bytes % ring->common->layout->page_bytes);
	struct told told = { 0 };
	struct fact_cpu *cpu = &facts->cpus[ring->cpu];

	if (claim->count_lost)
		told = told_by_all(ring);
	cpu->lost = told.count > claim->lost ? told.count : claim->lost;
	cpu->bytes = bytes;
	if (claim->growing)
		return;
	if (claim->count_lost)
		set_tail(ring, &told, claim->lost);
	else
		ring->claim_lost = claim->lost;
	if (torn)
		facts_note_damage(facts, "%s: its last page is cut, %u of %u bytes are there",
				  file_name(ring), torn, ring->common->layout->page_bytes);
	if (claim->bytes > bytes)
		facts_note_damage(facts, "%s: cut, %llu of %llu bytes are there", file_name(ring),
				  (unsigned long long)bytes, (unsigned long long)claim->bytes);
	if (torn || claim->bytes > bytes || claim->unfinished) {
		ring->tail_lost = true;
		ring->tail_count = 0;
	}
}

static struct ring *ring_new(const char *path, const struct ring_common *common,
			     const struct ring_claim *claim)
{
	struct ring *ring = xcalloc(1, sizeof(*ring));
	uint32_t page_bytes = common->layout->page_bytes;

	ring->lane.ops = &ring_ops;
	ring->common = common;
	ring->table = kernel_events_table(common->events);
	ring->path = xstrdup(path);
	ring->cpu = claim->cpu;
	ring->place_base = claim->place_base;
	ring->origin = claim->origin;
	ring->fd = -1;
	ring->chunk_pages = page_bytes < CHUNK_BYTES ? CHUNK_BYTES / page_bytes : 1;
	ring->lane.chunk_bytes = (size_t)ring->chunk_pages * page_bytes + CHUNK_SLACK;
	return ring;
}

/* Records that are made of them lie behind the pages that have the switches. */
static void open_calls(struct ring *ring, const struct ring_claim *claim)
{
	const struct page_layout *layout = ring->common->layout;

	if (!claim->calls || claim->calls_id <= 0 || claim->calls_id > UINT16_MAX ||
	    layout->big_endian != (BYTE_ORDER == BIG_ENDIAN))
		return;
	ring->calls = blocked_calls_open(claim->calls, layout->big_endian);
	ring->calls_id = (uint16_t)claim->calls_id;
	if (ring->calls)
		ring->lane.chunk_bytes += (size_t)ring->chunk_pages * layout->page_bytes /
					  SWITCH_BYTES * sizeof(struct made_call);
}

struct ring *ring_open(const char *path, const struct ring_common *common,
		       const struct ring_claim *claim, struct facts *facts)
{
	struct ring *ring = ring_new(path, common, claim);
	struct err err = { 0 };
	uint64_t bytes = 0;

	ring->fd = file_open(path, &bytes, &err);
	if (ring->fd < 0)
		facts_note_damage(facts, "%s: %s", file_name(ring), err.text);
	ring->page_count = bytes / common->layout->page_bytes;
	check_claim(ring, claim, bytes, facts);
	open_calls(ring, claim);
	if (ring->fd < 0)
		ring->tail_lost = true;
	if (!common->keep_open)
		mem_close_fd(&ring->fd);
	if (!common->keep_open)
		ring->fd = -1;
	return ring;
}

struct ring *ring_open_bytes(const char *name, struct ring_bytes *from,
			     const struct ring_common *common, const struct ring_claim *claim,
			     struct facts *facts)
{
	struct ring *ring = ring_new(name, common, claim);

	ring->from = from;
	ring->page_count = from->bytes / common->layout->page_bytes;
	check_claim(ring, claim, from->bytes, facts);
	open_calls(ring, claim);
	return ring;
}

struct lane *ring_lane(struct ring *ring)
{
	return &ring->lane;
}

void ring_renew(struct ring *ring)
{
	ring->table = kernel_events_table(ring->common->events);
}

uint32_t ring_cpu(const struct ring *ring)
{
	return ring->cpu;
}

bool ring_time_at(struct ring *ring, uint64_t place, uint64_t *out_ns)
{
	const struct page_layout *layout = ring->common->layout;
	uint64_t index = place / layout->page_bytes;
	AUTO_FREE uint8_t *bytes = xmalloc(layout->page_bytes);
	struct page_cursor cursor;
	struct record record;
	struct page page;
	size_t hint = 0;

	if (index >= ring->page_count ||
	    read_at(ring, page_offset(ring, index), bytes, layout->page_bytes) <
		    layout->page_bytes ||
	    !page_open(layout, bytes, &page))
		return false;
	page_begin(&page, layout->big_endian, &cursor);
	while (page_next(&cursor, &record) > 0) {
		if ((uint64_t)(record.data - bytes) != place % layout->page_bytes)
			continue;
		*out_ns = clock_ns(ring->common->clock, &hint, record.time);
		return true;
	}
	return false;
}

/* Call 'visit' for the records from the current position on. */
static void walk_on(struct ring *ring, uint64_t from_ns,
		    bool (*visit)(void *context, const struct record *record, uint64_t time_ns),
		    void *context)
{
	struct batch batch = { 0 }; /* no events are made: it takes the notes */
	struct page_walk walk;
	struct record record;
	bool more = true;

	while (more && load_chunk(ring, &batch)) {
		for (uint64_t i = 0; more && i < ring->chunk_count; i++) {
			if (!ring_begin_page(ring, &batch, ring->chunk_first + i, &walk))
				continue;
			while (more && page_next(&walk.cursor, &record) > 0) {
				uint64_t ns = ring_ns(ring, record.time);

				if (ns > walk.limit_ns)
					break;
				ring->last_ns = ns > ring->last_ns ? ns : ring->last_ns;
				if (ring->last_ns >= from_ns)
					more = visit(context, &record, ring->last_ns);
			}
		}
	}
	ring_go_to(ring, 0);
}

void ring_walk(struct ring *ring, uint64_t from_ns,
	       bool (*visit)(void *context, const struct record *record, uint64_t time_ns),
	       void *context)
{
	ring_seek(&ring->lane, from_ns);
	walk_on(ring, from_ns, visit, context);
}

struct span {
	bool any;
	bool first_only;
	uint64_t first_ns;
	uint64_t last_ns;
};

static bool see_time(void *context, const struct record *record, uint64_t time_ns)
{
	struct span *span = context;

	(void)record;
	if (!span->any)
		span->first_ns = time_ns;
	span->any = true;
	span->last_ns = time_ns;
	return !span->first_only;
}

bool ring_span(struct ring *ring, uint64_t *out_first_ns, uint64_t *out_last_ns)
{
	struct span first = { .first_only = true }, last = { 0 };

	ring_walk(ring, 0, see_time, &first);
	if (!first.any)
		return false;
	/* The end of time is behind the last page; the search goes back to good ones. */
	ring_seek(&ring->lane, ring->common->limit_ns);
	walk_on(ring, 0, see_time, &last);
	*out_first_ns = first.first_ns;
	*out_last_ns = last.any ? last.last_ns : first.first_ns;
	return true;
}
