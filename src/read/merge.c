/*
 * merge.c - merge the lanes, a block of events at a time.
 *
 *	lane ── fill ──▶ slots[head .. head+filled) ── at, end ──▶ lists ──▶ block ──▶ next()
 *	        worker      bounded queue of batches    reader
 *
 * Each lane has a run of events at hand. Up to the earliest of their ends all events are
 * known: that is a block. The parts of the runs that lie in it are merged two by two, in
 * a loop without a branch that depends on the times, since which CPU has the next event
 * is a toss of a coin.
 *
 * Reading begins without threads: the reader fills slots[head] again and again, a few
 * events at a time. When that has gone on for a while, workers start: each takes the
 * lane with the fewest batches ready, fills one and puts it into the lane's queue. Who
 * waits for the other side is woken when half a queue is ready for it, not for each batch.
 *
 * Who writes what, under merge->lock once threads run: 'alone', 'head', 'reading': the
 * reader; 'busy': workers; 'ended', 'filled': both. A lane and the batch behind its
 * queue belong to the reader while 'alone', else to the worker that set 'busy'; a
 * filled batch belongs to the reader until it is released.
 */
#include "read/merge.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/lane.h"
#include "read/read.h"

#define SLOTS	      8u
#define SLOTS_LOW     4u /* who waits is woken when so many are ready, or so few */
#define MAX_WORKERS   8u
#define ALONE_EVENTS  128u  /* in a batch that the reader fills: stays in the fast cache */
#define ALONE_BATCHES 1024u /* filled by the reader before threads are worth it */

struct feed {
	struct lane *lane;     /* owned */
	const struct cell *at; /* the next event to hand out */
	const struct cell *end;
	struct batch slots[SLOTS]; /* made when first used */
	uint32_t head;		   /* the slot that is being read, or will be next */
	uint32_t filled;	   /* ready slots, the one being read included */
	bool reading;		   /* slots[head] is being read */
	bool alone;		   /* the reader fills it, workers do not */
	bool busy;		   /* a worker fills a slot */
	bool ended;		   /* the lane has no more */
	uint64_t noted;		   /* damage before this place was reported */
};

/* Of the run of a lane what lies in a block. */
struct part {
	const struct cell *at, *end;
};

/* Events in order, on the way into a block. */
struct list {
	const struct event **events;
	size_t count;
};

struct merge {
	struct source source;
	struct facts *facts;
	struct feed *feeds; /* owned; their places order equal times */
	size_t feed_count;
	struct feed **active; /* owned; feeds that have not ended, in order */
	size_t active_count;
	bool primed; /* 'active' is filled */
	bool keeps_records;

	/* The block: views until the next one is made. */
	const struct event **block; /* owned, or one of 'rooms' */
	size_t block_at, block_count;
	const struct event **rooms[2]; /* owned; lists are merged from one into the other */
	struct part *parts;	       /* owned; one for each feed, and an empty one */
	struct list *lists;	       /* owned; the same */

	uint32_t max_workers;
	uint32_t worker_count; /* 0 = the reader fills */
	uint64_t filled_alone;
	pthread_t workers[MAX_WORKERS];
	pthread_mutex_t lock;
	pthread_cond_t room;  /* a slot was released, or 'stop' */
	pthread_cond_t ready; /* a slot was filled */
	bool stop;
};

static struct batch *slot(struct feed *feed, uint32_t ahead)
{
	struct batch *batch = &feed->slots[(feed->head + ahead) % SLOTS];

	if (!batch->cells)
		batch_init(batch);
	return batch;
}

static void take_notes(struct merge *merge, struct feed *feed, struct batch *batch)
{
	uint64_t noted = feed->noted;

	for (uint32_t i = 0; i < batch->note_count; i++) {
		if (batch->notes[i].place < feed->noted)
			continue; /* seen before the last seek */
		facts_note_damage(merge->facts, "%s", batch->notes[i].text);
		if (batch->notes[i].place >= noted)
			noted = batch->notes[i].place + 1;
	}
	feed->noted = noted;
	batch->note_count = 0;
}

/* The lane that a worker should fill next: the one with the fewest batches ready. */
static struct feed *hungriest(struct merge *merge)
{
	struct feed *best = NULL;

	for (size_t i = 0; i < merge->feed_count; i++) {
		struct feed *feed = &merge->feeds[i];

		if (!feed->alone && !feed->busy && !feed->ended && feed->filled < SLOTS &&
		    (!best || feed->filled < best->filled))
			best = feed;
	}
	return best;
}

/* A reader that found nothing is woken for some batches, not for each one. */
static bool merge_is_enough(const struct feed *feed)
{
	return feed->filled >= SLOTS_LOW || feed->ended;
}

static void *merge_work(void *context)
{
	struct merge *merge = context;

	pthread_mutex_lock(&merge->lock);
	while (!merge->stop) {
		struct feed *feed = hungriest(merge);
		struct batch *batch;
		bool more;

		if (!feed) {
			pthread_cond_wait(&merge->room, &merge->lock);
			continue;
		}
		/* While busy, only this thread touches the lane and the slot behind the queue. */
		feed->busy = true;
		batch = slot(feed, feed->filled);
		batch->max = BATCH_EVENTS;
		pthread_mutex_unlock(&merge->lock);
		more = feed->lane->ops->fill(feed->lane, batch);
		pthread_mutex_lock(&merge->lock);
		feed->busy = false;
		feed->ended = !more;
		/* The last batch has no events, but may have notes. */
		feed->filled++;
		if (merge_is_enough(feed))
			pthread_cond_signal(&merge->ready);
	}
	pthread_mutex_unlock(&merge->lock);
	return NULL;
}

static void merge_start_workers(struct merge *merge)
{
	merge->stop = false;
	while (merge->worker_count < merge->max_workers) {
		if (pthread_create(&merge->workers[merge->worker_count], NULL, merge_work, merge) !=
		    0)
			break; /* fewer, or none: the reader fills then */
		merge->worker_count++;
	}
}

static void merge_pause(struct merge *merge)
{
	pthread_mutex_lock(&merge->lock);
	merge->stop = true;
	pthread_cond_broadcast(&merge->room);
	pthread_mutex_unlock(&merge->lock);
	while (merge->worker_count)
		pthread_join(merge->workers[--merge->worker_count], NULL);
}

/* The next batch of a lane that workers fill, or NULL at its end. Waits for it. */
static struct batch *next_ready(struct merge *merge, struct feed *feed)
{
	struct batch *batch = NULL;

	pthread_mutex_lock(&merge->lock);
	if (feed->reading) {
		feed->head = (feed->head + 1) % SLOTS;
		feed->filled--;
	}
	if (feed->alone || feed->filled <= SLOTS_LOW)
		pthread_cond_signal(&merge->room);
	feed->alone = false;
	while (feed->filled == 0 && !feed->ended) {
		do
			pthread_cond_wait(&merge->ready, &merge->lock);
		while (!merge_is_enough(feed));
	}
	feed->reading = feed->filled > 0;
	if (feed->reading)
		batch = slot(feed, 0);
	pthread_mutex_unlock(&merge->lock);
	return batch;
}

/* The next batch of a lane that the reader fills. The last one is empty. */
static struct batch *next_alone(struct merge *merge, struct feed *feed)
{
	struct batch *batch = slot(feed, 0);

	if (feed->ended)
		return NULL;
	batch->max = ALONE_EVENTS;
	feed->ended = !feed->lane->ops->fill(feed->lane, batch);
	if (++merge->filled_alone == ALONE_BATCHES)
		merge_start_workers(merge);
	return batch;
}

static struct batch *next_batch(struct merge *merge, struct feed *feed)
{
	if (feed->alone && (merge->worker_count == 0 || feed->ended))
		return next_alone(merge, feed);
	return next_ready(merge, feed);
}

/* Point the feed at its next run of events. False at its end. */
static bool merge_refill(struct merge *merge, struct feed *feed)
{
	struct batch *batch;

	do {
		batch = next_batch(merge, feed);
		if (!batch)
			return false;
		take_notes(merge, feed, batch);
	} while (batch->count == 0);
	feed->at = batch->cells;
	feed->end = batch->cells + batch->count;
	return true;
}

/* ------------------------------------------------------------------ blocks */

static uint64_t merge_last_ns(const struct feed *feed)
{
	return feed->end[-1].event.time_ns;
}

/* How many events of the feed come before 'time_ns', or at it when 'at_it'. */
static size_t count_until(const struct feed *feed, uint64_t time_ns, bool at_it)
{
	if (feed->at->event.time_ns > time_ns)
		return 0;
	return SEARCH_ITEM(feed->at, (size_t)(feed->end - feed->at), one,
			   one->event.time_ns < time_ns ||
				   (at_it && one->event.time_ns == time_ns));
}

/* The active feed whose run ends first: the first of those that end at the same time. */
static size_t earliest_end(const struct merge *merge)
{
	size_t earliest = 0;

	for (size_t i = 1; i < merge->active_count; i++) {
		if (merge_last_ns(merge->active[i]) < merge_last_ns(merge->active[earliest]))
			earliest = i;
	}
	return earliest;
}

/* One list out of two; of events at the same time, those of 'a' come first. */
static struct list merge_two(const struct list *a, const struct list *b, const struct event **to)
{
	const struct event **out = to, **x = a->events, **y = b->events;
	const struct event **x_end = x + a->count, **y_end = y + b->count;

	while (x < x_end && y < y_end) {
		const struct event *left = *x, *right = *y;
		size_t take = right->time_ns < left->time_ns;

		*out++ = take ? right : left;
		y += take;
		x += 1 - take;
	}
	memcpy(out, x, (size_t)(x_end - x) * sizeof(struct event *));
	out += x_end - x;
	memcpy(out, y, (size_t)(y_end - y) * sizeof(struct event *));
	return (struct list){ to, a->count + b->count };
}

/* The same of two parts of runs, as nearly all events come; 'b' may have none. */
static struct list merge_runs(const struct part *a, const struct part *b, const struct event **to)
{
	const struct cell *x = a->at, *y = b->at;
	const struct event **out = to;

	while (x < a->end && y < b->end) {
		size_t take = y->event.time_ns < x->event.time_ns;

		*out++ = take ? &y->event : &x->event;
		y += take;
		x += 1 - take;
	}
	while (x < a->end)
		*out++ = &x++->event;
	while (y < b->end)
		*out++ = &y++->event;
	return (struct list){ to, (size_t)(out - to) };
}

/* The part of each run that lies in the block. Returns how many are not empty. */
static size_t take_parts(struct merge *merge)
{
	size_t earliest = earliest_end(merge), count = 0;
	uint64_t until_ns = merge_last_ns(merge->active[earliest]);

	for (size_t i = 0; i < merge->active_count; i++) {
		struct feed *feed = merge->active[i];
		size_t events = i == earliest ? (size_t)(feed->end - feed->at)
					      : count_until(feed, until_ns, i < earliest);

		if (events == 0)
			continue;
		merge->parts[count++] = (struct part){ feed->at, feed->at + events };
		feed->at += events;
	}
	merge->parts[count] = (struct part){ NULL, NULL };
	return count;
}

static void make_block(struct merge *merge)
{
	size_t parts = take_parts(merge), count = (parts + 1) / 2;
	const struct event **to = merge->rooms[0];
	struct list *lists = merge->lists;
	uint32_t from = 0;

	for (size_t i = 0; i < count; i++) {
		lists[i] = merge_runs(&merge->parts[2 * i], &merge->parts[2 * i + 1], to);
		to += lists[i].count;
	}
	for (; count > 1; count = (count + 1) / 2) {
		to = merge->rooms[1 - from];
		lists[count] = (struct list){ to, 0 };
		for (size_t i = 0; i < count; i += 2) {
			lists[i / 2] = merge_two(&lists[i], &lists[i + 1], to);
			to += lists[i / 2].count;
		}
		from = 1 - from;
	}
	merge->block = merge->rooms[from];
	merge->block_at = 0;
	merge->block_count = lists[0].count;
}

/* Get a run for each feed whose run was handed out. All events handed out before are gone. */
static void refill_all(struct merge *merge)
{
	size_t kept = 0;

	for (size_t i = 0; i < merge->active_count; i++) {
		struct feed *feed = merge->active[i];

		if (feed->at != feed->end || merge_refill(merge, feed))
			merge->active[kept++] = feed;
	}
	merge->active_count = kept;
}

/* The next block. False at the end. */
static bool next_block(struct merge *merge)
{
	if (!merge->primed) {
		for (size_t i = 0; i < merge->feed_count; i++)
			merge->active[i] = &merge->feeds[i];
		merge->active_count = merge->feed_count;
		merge->primed = true;
	}
	merge->block_at = merge->block_count = 0;
	refill_all(merge);
	if (merge->active_count)
		make_block(merge);
	return merge->block_count > 0;
}

static int merge_next(struct source *source, const struct event **out_event, struct err *err)
{
	struct merge *merge = (struct merge *)source;

	(void)err;
	if (merge->block_at == merge->block_count && !next_block(merge))
		return 0;
	*out_event = merge->block[merge->block_at++];
	return 1;
}

static int merge_next_run(struct source *source, struct event_run *out_run, struct err *err)
{
	struct merge *merge = (struct merge *)source;

	(void)err;
	if (merge->block_at == merge->block_count && !next_block(merge))
		return 0;
	out_run->events = merge->block + merge->block_at;
	out_run->count = merge->block_count - merge->block_at;
	merge->block_at = merge->block_count;
	return 1;
}

/* Go to the first event of the lane at or after the time. */
static void seek_feed(struct merge *merge, struct feed *feed, uint64_t time_ns)
{
	feed->lane->ops->seek(feed->lane, time_ns);
	feed->head = feed->filled = 0;
	feed->reading = feed->busy = feed->ended = false;
	feed->alone = true;
	feed->at = feed->end = NULL;
	while (merge_refill(merge, feed)) {
		feed->at += count_until(feed, time_ns, false);
		if (feed->at < feed->end)
			return;
	}
}

static int merge_seek(struct source *source, uint64_t time_ns, struct err *err)
{
	struct merge *merge = (struct merge *)source;

	(void)err;
	merge_pause(merge);
	merge->filled_alone = ALONE_BATCHES; /* no threads before all lanes are there */
	for (size_t i = 0; i < merge->feed_count; i++)
		seek_feed(merge, &merge->feeds[i], time_ns);
	merge->filled_alone = 0;
	merge->primed = false;
	merge->block_at = merge->block_count = 0;
	return 0;
}

void merge_keep_records(struct merge *merge, bool keep, bool heads_only)
{
	merge_pause(merge);
	merge->keeps_records = keep;
	for (size_t i = 0; i < merge->feed_count; i++) {
		merge->feeds[i].lane->keep_records = keep;
		merge->feeds[i].lane->heads_only = heads_only;
	}
	merge->block_at = merge->block_count = 0;
}

const struct trace_record *merge_record_of(const struct merge *merge, const struct event *event)
{
	const struct cell *cell = (const struct cell *)event; /* the event comes first */

	return merge->keeps_records && cell->record.data ? &cell->record : NULL;
}

bool merge_record(const struct merge *merge, struct trace_record *out_record)
{
	const struct trace_record *record =
		merge->block_at ? merge_record_of(merge, merge->block[merge->block_at - 1]) : NULL;

	if (record)
		*out_record = *record;
	return record != NULL;
}

static void merge_close(struct source *source)
{
	struct merge *merge = (struct merge *)source;

	merge_pause(merge);
	for (size_t i = 0; i < merge->feed_count; i++) {
		for (size_t j = 0; j < SLOTS; j++)
			batch_fini(&merge->feeds[i].slots[j], merge->feeds[i].lane);
		merge->feeds[i].lane->ops->close(merge->feeds[i].lane);
	}
	pthread_cond_destroy(&merge->ready);
	pthread_cond_destroy(&merge->room);
	pthread_mutex_destroy(&merge->lock);
	free(merge->feeds);
	free(merge->active);
	free(merge->parts);
	free(merge->lists);
	free(merge->rooms[0]);
	free(merge->rooms[1]);
	free(merge);
}

static const struct source_ops merge_ops = {
	.next = merge_next,
	.next_run = merge_next_run,
	.seek = merge_seek,
	.close = merge_close,
};

/*
 * One core is the reader's own, one that of who packs the timeline behind it. To decode on
 * a third costs more in all, since every event then crosses from one core's cache to
 * another's; it pays only where that core has nothing else to do.
 */
static uint32_t merge_workers_for_machine(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count <= 2 ? 0 : (uint32_t)count - 2;
}

struct merge *merge_new(struct lane *const *lanes, size_t count, struct facts *facts)
{
	struct merge *merge = xcalloc(1, sizeof(*merge));

	merge->source.ops = &merge_ops;
	merge->facts = facts;
	merge->feed_count = count;
	merge->feeds = xcalloc(count, sizeof(*merge->feeds));
	merge->active = xcalloc(count + 1, sizeof(struct feed *));
	merge->parts = xcalloc(count + 1, sizeof(*merge->parts));
	merge->lists = xcalloc(count + 1, sizeof(*merge->lists));
	for (int i = 0; i < 2; i++)
		merge->rooms[i] = xcalloc(count * BATCH_EVENTS + 1, sizeof(struct event *));
	for (size_t i = 0; i < count; i++) {
		merge->feeds[i].lane = lanes[i];
		merge->feeds[i].alone = true;
	}
	pthread_mutex_init(&merge->lock, NULL);
	pthread_cond_init(&merge->room, NULL);
	pthread_cond_init(&merge->ready, NULL);
	merge_set_threads(merge, merge_workers_for_machine());
	return merge;
}

struct source *merge_source(struct merge *merge)
{
	return &merge->source;
}

void merge_set_threads(struct merge *merge, uint32_t count)
{
	merge->max_workers = count < MAX_WORKERS ? count : MAX_WORKERS;
}
