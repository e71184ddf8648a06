/*
 * merge.c - a heap of lanes by the time of their next event.
 *
 *	lane ── fill ──▶ slots[head .. head+filled) ── at, end ──▶ heap ──▶ next()
 *	        worker      bounded queue of batches    reader
 *
 * Reading begins without threads: the reader fills slots[head] again and again, a few
 * events at a time. When that has gone on for a while, workers start: each takes the
 * lane with the fewest batches ready, fills one and puts it into the lane's queue. A
 * lane goes over to them when the reader has used up its chunk.
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

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/lane.h"
#include "read/read.h"

#define SLOTS	      4u
#define MAX_WORKERS   8u
#define ALONE_EVENTS  64u   /* in a batch that the reader fills: stays in the fast cache */
#define ALONE_BATCHES 1024u /* filled by the reader before threads are worth it */

struct feed {
	struct lane *lane;	/* owned */
	const struct event *at; /* the next event to hand out */
	const struct event *end;
	struct batch slots[SLOTS]; /* made when first used */
	uint32_t head;		   /* the slot that is being read, or will be next */
	uint32_t filled;	   /* ready slots, the one being read included */
	bool reading;		   /* slots[head] is being read */
	bool alone;		   /* the reader fills it, workers do not */
	bool busy;		   /* a worker fills a slot */
	bool ended;		   /* the lane has no more */
	uint64_t noted;		   /* damage before this place was reported */
};

struct node {
	uint64_t time_ns;
	struct feed *feed; /* its place in the array orders equal times */
};

struct merge {
	struct source source;
	struct facts *facts;
	struct feed *feeds; /* owned */
	size_t feed_count;
	struct node *heap; /* owned */
	size_t heap_count;
	uint64_t second_ns; /* no other feed than heap[0]'s has an event before this */
	bool primed;	    /* the heap is filled */
	bool handed;	    /* the event of heap[0] was handed out */

	uint32_t max_workers;
	uint32_t worker_count; /* 0 = the reader fills */
	uint64_t filled_alone;
	pthread_t workers[MAX_WORKERS];
	pthread_mutex_t lock;
	pthread_cond_t room;  /* a slot was released, or 'stop' */
	pthread_cond_t ready; /* a slot was filled */
	bool stop;
};

static bool before(const struct node *a, const struct node *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->feed < b->feed);
}

/* Let heap[0] sink to where it belongs. */
static void heap_sink(struct merge *merge)
{
	struct node *heap = merge->heap, moving = heap[0];
	size_t count = merge->heap_count, at = 0, child;

	while ((child = 2 * at + 1) < count) {
		child += child + 1 < count && before(&heap[child + 1], &heap[child]);
		if (!before(&heap[child], &moving))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

/* Bring heap[0] where it belongs, after it changed. */
static void heap_settle(struct merge *merge)
{
	const struct node *heap = merge->heap;

	if (merge->heap_count > 1)
		heap_sink(merge);
	merge->second_ns = merge->heap_count > 1 ? heap[1].time_ns : UINT64_MAX;
	if (merge->heap_count > 2 && heap[2].time_ns < merge->second_ns)
		merge->second_ns = heap[2].time_ns;
}

static void heap_add(struct merge *merge, struct node node)
{
	size_t at = merge->heap_count++;

	for (; at && before(&node, &merge->heap[(at - 1) / 2]); at = (at - 1) / 2)
		merge->heap[at] = merge->heap[(at - 1) / 2];
	merge->heap[at] = node;
}

static struct batch *slot(struct feed *feed, uint32_t ahead)
{
	struct batch *batch = &feed->slots[(feed->head + ahead) % SLOTS];

	if (!batch->events)
		batch_init(batch, feed->lane);
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

static void *work(void *context)
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
		batch->max = feed->lane->max_events;
		pthread_mutex_unlock(&merge->lock);
		more = feed->lane->ops->fill(feed->lane, batch);
		pthread_mutex_lock(&merge->lock);
		feed->busy = false;
		feed->ended = !more;
		/* The last batch has no events, but may have notes. */
		feed->filled++;
		pthread_cond_signal(&merge->ready);
	}
	pthread_mutex_unlock(&merge->lock);
	return NULL;
}

static void start_workers(struct merge *merge)
{
	merge->stop = false;
	while (merge->worker_count < merge->max_workers) {
		if (pthread_create(&merge->workers[merge->worker_count], NULL, work, merge) != 0)
			break; /* fewer, or none: the reader fills then */
		merge->worker_count++;
	}
}

void merge_pause(struct merge *merge)
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
	feed->alone = false;
	pthread_cond_signal(&merge->room);
	while (feed->filled == 0 && !feed->ended)
		pthread_cond_wait(&merge->ready, &merge->lock);
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
	batch->max = feed->lane->max_events < ALONE_EVENTS ? feed->lane->max_events : ALONE_EVENTS;
	feed->ended = !feed->lane->ops->fill(feed->lane, batch);
	if (++merge->filled_alone == ALONE_BATCHES)
		start_workers(merge);
	return batch;
}

static struct batch *next_batch(struct merge *merge, struct feed *feed)
{
	bool workers = merge->worker_count > 0;

	if (feed->alone && (!workers || feed->lane->partial || feed->ended))
		return next_alone(merge, feed);
	return next_ready(merge, feed);
}

/* Point the feed at its next run of events. False at its end. */
static bool refill(struct merge *merge, struct feed *feed)
{
	struct batch *batch;

	do {
		batch = next_batch(merge, feed);
		if (!batch)
			return false;
		take_notes(merge, feed, batch);
	} while (batch->count == 0);
	feed->at = batch->events;
	feed->end = batch->events + batch->count;
	return true;
}

/* Put a feed that has events into the heap. */
static void join(struct merge *merge, struct feed *feed)
{
	heap_add(merge, (struct node){ feed->at->time_ns, feed });
}

static void start(struct merge *merge)
{
	for (size_t i = 0; i < merge->feed_count; i++) {
		if (refill(merge, &merge->feeds[i]))
			join(merge, &merge->feeds[i]);
	}
	heap_settle(merge);
	merge->primed = true;
}

/* Step over the event that was handed out last. */
static inline void advance(struct merge *merge)
{
	struct node *top = &merge->heap[0];
	struct feed *feed = top->feed;

	if (__builtin_expect(++feed->at == feed->end, 0) && !refill(merge, feed)) {
		merge->heap[0] = merge->heap[--merge->heap_count];
		heap_settle(merge);
		return;
	}
	top->time_ns = feed->at->time_ns;
	if (top->time_ns >= merge->second_ns)
		heap_settle(merge);
}

static int merge_next(struct source *source, const struct event **out_event, struct err *err)
{
	struct merge *merge = (struct merge *)source;

	(void)err;
	if (!merge->primed)
		start(merge);
	else if (merge->handed)
		advance(merge);
	merge->handed = merge->heap_count > 0;
	if (merge->heap_count == 0)
		return 0;
	*out_event = merge->heap[0].feed->at;
	return 1;
}

/* Go to the first event of the lane at or after the time. */
static void seek_feed(struct merge *merge, struct feed *feed, uint64_t time_ns)
{
	feed->lane->ops->seek(feed->lane, time_ns);
	feed->head = feed->filled = 0;
	feed->reading = feed->busy = feed->ended = false;
	feed->alone = true;
	while (refill(merge, feed)) {
		while (feed->at < feed->end && feed->at->time_ns < time_ns)
			feed->at++;
		if (feed->at < feed->end) {
			join(merge, feed);
			return;
		}
	}
}

static int merge_seek(struct source *source, uint64_t time_ns, struct err *err)
{
	struct merge *merge = (struct merge *)source;

	(void)err;
	merge_pause(merge);
	merge->heap_count = 0;
	merge->filled_alone = ALONE_BATCHES; /* no threads before all lanes are there */
	for (size_t i = 0; i < merge->feed_count; i++)
		seek_feed(merge, &merge->feeds[i], time_ns);
	merge->filled_alone = 0;
	heap_settle(merge);
	merge->primed = true;
	merge->handed = false;
	return 0;
}

void merge_drop_batches(struct merge *merge)
{
	merge_pause(merge);
	merge->heap_count = 0;
	merge->handed = false;
	for (size_t i = 0; i < merge->feed_count; i++) {
		for (size_t j = 0; j < SLOTS; j++)
			batch_fini(&merge->feeds[i].slots[j]);
	}
}

bool merge_record(const struct merge *merge, struct trace_record *out_record)
{
	const struct feed *feed = merge->handed ? merge->heap[0].feed : NULL;
	const struct batch *batch;

	if (!feed)
		return false;
	/* The batch that is being read: the reader's own. */
	batch = &feed->slots[feed->head];
	if (!batch->records || !batch->records[feed->at - batch->events].data)
		return false;
	*out_record = batch->records[feed->at - batch->events];
	return true;
}

static void merge_close(struct source *source)
{
	struct merge *merge = (struct merge *)source;

	merge_pause(merge);
	for (size_t i = 0; i < merge->feed_count; i++) {
		merge->feeds[i].lane->ops->close(merge->feeds[i].lane);
		for (size_t j = 0; j < SLOTS; j++)
			batch_fini(&merge->feeds[i].slots[j]);
	}
	pthread_cond_destroy(&merge->ready);
	pthread_cond_destroy(&merge->room);
	pthread_mutex_destroy(&merge->lock);
	free(merge->feeds);
	free(merge->heap);
	free(merge);
}

static const struct source_ops merge_ops = {
	.next = merge_next,
	.seek = merge_seek,
	.close = merge_close,
};

/* One core is the reader's own. */
static uint32_t workers_for_machine(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count < 2 ? 0 : (uint32_t)count - 1;
}

struct merge *merge_new(struct lane *const *lanes, size_t count, struct facts *facts)
{
	struct merge *merge = xcalloc(1, sizeof(*merge));

	merge->source.ops = &merge_ops;
	merge->facts = facts;
	merge->feed_count = count;
	merge->feeds = xcalloc(count, sizeof(*merge->feeds));
	merge->heap = xcalloc(count, sizeof(*merge->heap));
	for (size_t i = 0; i < count; i++) {
		merge->feeds[i].lane = lanes[i];
		merge->feeds[i].alone = true;
	}
	pthread_mutex_init(&merge->lock, NULL);
	pthread_cond_init(&merge->room, NULL);
	pthread_cond_init(&merge->ready, NULL);
	merge_set_threads(merge, workers_for_machine());
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
