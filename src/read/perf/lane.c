/*
 * lane.c - from runs of records to events.
 *
 *	chunk   piece of a run | piece of the next run | ... | copies of records
 *
 * Events are views into the chunk. A record that does not end within its piece is read again at
 * the beginning of the next chunk.
 */
#include "read/perf/lane.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/search.h"
#include "event/event.h"
#include "read/lane.h"
#include "read/perf/event.h"
#include "read/perf/file.h"
#include "read/perf/scan.h"

#define WINDOW_BYTES (128u << 10)
#define WINDOW_SMALL (64u << 10) /* a record has at most 65535 bytes */
#define REACH_SMALL  (16u << 10) /* of it, unless a record is longer */
#define SLACK_BYTES  64u
#define COPY_BYTES   (3u * PERF_COPY_MAX)
#define MAX_PIECES   64u
#define GAP_BYTES    8192u /* between runs: to copy them costs about as much as a call */

struct piece {
	uint64_t place; /* of its first byte */
	uint32_t at;	/* in the chunk */
	uint32_t bytes;
	bool is_cut; /* its run goes on */
};

struct perf_lane {
	struct lane lane;
	const struct perf_chain *chain;
	const struct perf_decoder *decoder;
	uint32_t window; /* bytes of a chunk that are for records */
	uint32_t usual;	 /* of these are used, unless a record is longer */
	uint32_t reach;	 /* the same, for the next chunk */

	/* What is to be read next. */
	size_t extent;
	uint64_t offset; /* in it */

	/* What was read. */
	struct chunk *chunk; /* NULL = none */
	struct piece pieces[MAX_PIECES];
	uint32_t piece_count, piece;
	uint32_t at;	 /* in the piece */
	uint32_t copied; /* bytes used for copies */
	uint64_t last_ns;
};

/* ------------------------------------------------------------------ windows */

/* A part of the file that is read at once: pieces, and what is little enough between them. */
struct stretch {
	uint64_t offset;
	uint32_t part;
	uint32_t at; /* in the chunk */
	uint32_t bytes;
	uint32_t first; /* piece */
};

/*
 * Where the next piece begins in the chunk, whose first 'used' bytes are taken: runs that stand
 * close together are read at once, which costs less than to ask for each.
 */
static uint32_t piece_at(const struct perf_lane *lane, const struct stretch *stretch,
			 const struct perf_extent *extent, uint32_t used)
{
	uint64_t end = stretch->offset + stretch->bytes;

	if (lane->piece_count == stretch->first || stretch->part != extent->part ||
	    extent->offset < end || extent->offset - end > GAP_BYTES)
		return used;
	return used + (uint32_t)(extent->offset - end);
}

/* Read the stretch, and cut its pieces to what there is. */
static void read_stretch(struct perf_lane *lane, const struct stretch *stretch)
{
	size_t got;

	if (lane->piece_count == stretch->first)
		return;
	got = file_read_at(lane->decoder->file->parts[stretch->part].fd, stretch->offset,
			   lane->chunk->bytes + stretch->at, stretch->bytes);
	for (uint32_t i = stretch->first; i < lane->piece_count; i++) {
		struct piece *piece = &lane->pieces[i];
		size_t before = piece->at - stretch->at;
		size_t there = got > before ? got - before : 0;

		if (piece->bytes > there) {
			piece->bytes = (uint32_t)there;
			piece->is_cut = false;
		}
	}
}

/*
 * Choose what comes next of one run: its piece joins the stretch, or begins another. False when
 * no more can be put into the window.
 */
static bool add_piece(struct perf_lane *lane, struct stretch *stretch, uint32_t *used)
{
	const struct perf_extent *extent = &lane->chain->extents[lane->extent];
	uint64_t left = extent->bytes - lane->offset;
	uint32_t at = piece_at(lane, stretch, extent, *used), room;
	struct piece *piece = &lane->pieces[lane->piece_count];
	bool joins = lane->piece_count > stretch->first && stretch->part == extent->part &&
		     stretch->offset + stretch->bytes + (at - *used) == extent->offset;

	if (at > lane->reach || (left > lane->reach - at && lane->piece_count))
		return false;
	room = lane->reach - at;
	*piece = (struct piece){
		.place = (uint64_t)extent->part << PERF_PLACE_SHIFT |
			 (extent->offset + lane->offset),
		.at = at,
		.bytes = left < room ? (uint32_t)left : room,
		.is_cut = left > room,
	};
	if (!joins) {
		read_stretch(lane, stretch);
		*stretch = (struct stretch){ extent->offset + lane->offset, extent->part, at, 0,
					     lane->piece_count };
	}
	stretch->bytes = at + piece->bytes - stretch->at;
	lane->piece_count++;
	*used = at + piece->bytes;
	lane->offset += piece->bytes;
	if (lane->offset == extent->bytes) {
		lane->extent++;
		lane->offset = 0;
	}
	return !piece->is_cut;
}

/* A new chunk with what comes next. False at the end. */
static bool perf_lane_load_window(struct perf_lane *lane)
{
	struct stretch stretch = { 0 };
	uint32_t used = 0;

	chunk_put(&lane->lane, lane->chunk);
	lane->chunk = NULL;
	lane->piece_count = lane->piece = lane->at = lane->copied = 0;
	if (lane->extent == lane->chain->count)
		return false;
	lane->chunk = chunk_get(&lane->lane);
	while (lane->extent < lane->chain->count && lane->piece_count < MAX_PIECES &&
	       add_piece(lane, &stretch, &used))
		;
	read_stretch(lane, &stretch);
	lane->reach = lane->usual;
	return true;
}

/* What was read but not used is to be read again. */
static void go_back(struct perf_lane *lane)
{
	const struct piece *piece = &lane->pieces[lane->piece];
	uint64_t mask = (UINT64_C(1) << PERF_PLACE_SHIFT) - 1;
	uint64_t offset = (piece->place & mask) + lane->at;
	uint32_t part = (uint32_t)(piece->place >> PERF_PLACE_SHIFT);

	while (lane->extent == lane->chain->count ||
	       lane->chain->extents[lane->extent].part != part ||
	       lane->chain->extents[lane->extent].offset > offset ||
	       lane->chain->extents[lane->extent].offset +
			       lane->chain->extents[lane->extent].bytes <=
		       offset)
		lane->extent--;
	lane->offset = offset - lane->chain->extents[lane->extent].offset;
	lane->piece_count = lane->piece = lane->at = 0;
}

/* ------------------------------------------------------------------ events */

static void perf_lane_damaged(const struct perf_lane *lane, struct batch *batch, uint64_t place,
			      const char *what)
{
	const struct perf_file *file = lane->decoder->file;

	batch_note(batch, place, "%s: byte %llu: %s", file->parts[place >> PERF_PLACE_SHIFT].name,
		   (unsigned long long)(place & ((UINT64_C(1) << PERF_PLACE_SHIFT) - 1)), what);
}

/* Time in a lane does not go back: too many runs overlapped, or the file was changed. */
static void perf_lane_finish(struct perf_lane *lane, struct batch *batch,
			     const struct perf_put *put)
{
	for (uint32_t i = 0; i < put->count; i++) {
		struct event *event = &put->cells[i].event;

		if (event->time_ns < lane->last_ns) {
			perf_lane_damaged(lane, batch, put->place,
					  "time goes back further than can be put in order");
			event->time_ns = lane->last_ns;
			if (event->type == EV_LOST && event->lost.since_ns > event->time_ns)
				event->lost.since_ns = event->time_ns;
		}
		lane->last_ns = event->time_ns;
	}
	batch->count += put->count;
}

enum step {
	STEP_DONE,
	STEP_PIECE, /* the piece has no more */
	STEP_CHUNK, /* a new chunk is needed */
};

/* One record of the piece into the batch. */
static enum step perf_lane_put_record(struct perf_lane *lane, struct batch *batch)
{
	const struct piece *piece = &lane->pieces[lane->piece];
	struct perf_put put = {
		.cells = batch->cells + batch->count,
		.place = piece->place + lane->at,
	};
	struct perf_record record;
	const char *wrong;
	int32_t length = perf_record_at(lane->chunk->bytes + piece->at + lane->at,
					piece->bytes - lane->at, lane->decoder->swap, &record);

	if (length == 0 && piece->is_cut && (lane->at || piece->bytes < lane->window)) {
		lane->reach = lane->at ? lane->usual : lane->window;
		return STEP_CHUNK;
	}
	if (length <= 0) {
		if (length < 0 || lane->at < piece->bytes)
			perf_lane_damaged(lane, batch, put.place,
					  "the file has changed since it was opened");
		return STEP_PIECE;
	}
	if (lane->lane.keep_records) {
		if (COPY_BYTES - lane->copied < PERF_MAX_COPY)
			return STEP_CHUNK;
		put.room = lane->chunk->bytes + lane->window + SLACK_BYTES + lane->copied;
	}
	wrong = perf_decode(lane->decoder, &record, &put);
	if (wrong)
		perf_lane_damaged(lane, batch, put.place, wrong);
	lane->copied += put.used;
	lane->at += (uint32_t)length;
	perf_lane_finish(lane, batch, &put);
	return lane->at == piece->bytes && !piece->is_cut ? STEP_PIECE : STEP_DONE;
}

/* What is quick of the piece into the batch: nearly all there is. */
static void put_samples(struct perf_lane *lane, struct batch *batch)
{
	const struct piece *piece = &lane->pieces[lane->piece];
	struct perf_samples samples = {
		.data = lane->chunk->bytes + piece->at + lane->at,
		.bytes = piece->bytes - lane->at,
		.place = piece->place + lane->at,
		.last_ns = lane->last_ns,
		.cells = batch->cells + batch->count,
		.max = (uint32_t)(batch->max - batch->count),
		.keep_records = lane->lane.keep_records,
	};

	lane->at += perf_decode_samples(lane->decoder, &samples);
	lane->last_ns = samples.last_ns;
	batch->count += samples.count;
}

static bool perf_lane_fill(struct lane *base, struct batch *batch)
{
	struct perf_lane *lane = (struct perf_lane *)base;

	batch_clear(batch, base);
	while (batch->count + PERF_MAX_EVENTS <= batch->max) {
		enum step step;

		if (lane->piece == lane->piece_count) {
			if (batch->count || !perf_lane_load_window(lane))
				break;
			continue;
		}
		put_samples(lane, batch);
		if (batch->count + PERF_MAX_EVENTS > batch->max)
			break;
		step = perf_lane_put_record(lane, batch);
		if (step == STEP_CHUNK)
			go_back(lane);
		else if (step == STEP_PIECE) {
			lane->piece++;
			lane->at = 0;
		}
	}
	batch->chunk = lane->chunk;
	if (batch->chunk)
		batch->chunk->uses++;
	return batch->count > 0;
}

static void perf_lane_seek(struct lane *base, uint64_t time_ns)
{
	struct perf_lane *lane = (struct perf_lane *)base;
	/* The last run that began before: others may begin at the same time. */
	size_t low = SEARCH_FROM(lane->chain->extents, lane->chain->count, first_ns, time_ns);

	chunk_put(base, lane->chunk);
	lane->chunk = NULL;
	lane->extent = low ? low - 1 : 0;
	lane->offset = 0;
	lane->piece_count = lane->piece = lane->at = lane->copied = 0;
	lane->last_ns = 0;
}

static void perf_lane_close(struct lane *base)
{
	struct perf_lane *lane = (struct perf_lane *)base;

	chunk_put(base, lane->chunk);
	lane_fini(base);
	free(lane);
}

static const struct lane_ops perf_lane_ops = {
	.fill = perf_lane_fill,
	.seek = perf_lane_seek,
	.close = perf_lane_close,
};

struct lane *perf_lane_new(const struct perf_chain *chain, const struct perf_decoder *decoder,
			   bool many)
{
	struct perf_lane *lane = xcalloc(1, sizeof(*lane));

	lane->lane.ops = &perf_lane_ops;
	lane->chain = chain;
	lane->decoder = decoder;
	lane->window = many ? WINDOW_SMALL : WINDOW_BYTES;
	lane->usual = lane->reach = many ? REACH_SMALL : WINDOW_BYTES;
	lane->lane.chunk_bytes = lane->window + SLACK_BYTES + COPY_BYTES;
	return &lane->lane;
}

/* ------------------------------------------------------------------ the tail */

struct tail {
	struct lane lane;
	const struct event *events;
	size_t count, next;
};

static bool tail_fill(struct lane *base, struct batch *batch)
{
	struct tail *tail = (struct tail *)base;

	batch_clear(batch, base);
	while (batch->count < batch->max && tail->next < tail->count)
		batch->cells[batch->count++] = (struct cell){ .event = tail->events[tail->next++] };
	return batch->count > 0;
}

static void tail_seek(struct lane *base, uint64_t time_ns)
{
	(void)time_ns;
	((struct tail *)base)->next = 0;
}

static void tail_close(struct lane *base)
{
	lane_fini(base);
	free(base);
}

static const struct lane_ops tail_ops = { tail_fill, tail_seek, tail_close };

struct lane *perf_tail_new(const struct event *events, size_t count)
{
	struct tail *tail = xcalloc(1, sizeof(*tail));

	*tail = (struct tail){ .lane.ops = &tail_ops, .events = events, .count = count };
	return &tail->lane;
}

bool perf_place_time(const struct perf_decoder *decoder, uint64_t place, uint64_t *out_ns)
{
	const struct perf_file *file = decoder->file;
	uint64_t offset = place & ((UINT64_C(1) << PERF_PLACE_SHIFT) - 1);
	size_t part = place >> PERF_PLACE_SHIFT;
	AUTO_FREE uint8_t *bytes = xmalloc(WINDOW_SMALL);
	const struct perf_attr *attr;
	struct perf_record record;
	struct perf_where where;
	size_t got;

	if (part >= file->part_count || offset < file->parts[part].begin)
		return false;
	got = file_read_at(file->parts[part].fd, offset, bytes, WINDOW_SMALL);
	if (perf_record_at(bytes, got, file->swap, &record) <= 0 ||
	    !perf_scan_where(&file->attrs, &record, &attr, &where))
		return false;
	*out_ns = where.time_ns;
	return true;
}
