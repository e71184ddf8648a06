/*
 * scene_queue.c - how many threads wait for each CPU, in order of time.
 *
 * The timeline is by thread, and a counter has to be in order of time over all threads. So the
 * window is cut into pieces; of each, the changes of all threads are gathered and sorted. A piece
 * that turns out to have too many is halved: memory stays what one piece needs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "export/scene_int.h"

#define PIECE_CHANGES 262144u

struct change {
	uint64_t time_ns;
	uint32_t cpu;
	int32_t by;
};

struct queue {
	struct scene *scene;
	struct change *changes; /* owned; PIECE_CHANGES of them */
	size_t count;
	uint64_t *waiting; /* owned; by CPU */
	bool is_full;
};

/* The CPU whose queue a thread in this state stands in, or UINT32_MAX. */
static uint32_t queue_cpu_of(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU ? word_arg(word) : UINT32_MAX;
}

static void queue_add(struct queue *queue, uint64_t time_ns, uint32_t cpu, int32_t by)
{
	if (cpu >= queue->scene->job->timeline->cpu_count)
		return; /* not known which */
	if (queue->count == PIECE_CHANGES)
		queue->is_full = true;
	else
		queue->changes[queue->count++] = (struct change){ time_ns, cpu, by };
}

static void gather_thread(struct queue *queue, uint32_t slot, uint64_t start_ns, uint64_t end_ns)
{
	const struct export_job *job = queue->scene->job;
	const struct timeline *tl = job->timeline;
	uint32_t before = UINT32_MAX;
	struct tl_iter iter;
	struct tl_interval in;

	if (start_ns > job->start_ns)
		before = queue_cpu_of(timeline_state_at(tl, slot, start_ns - 1));
	tl_iter_thread(&iter, tl, slot, start_ns, end_ns);
	while (!queue->is_full && tl_iter_next(&iter, &in)) {
		uint32_t now = queue_cpu_of(in.word);

		if (now == before)
			continue;
		queue_add(queue, in.start_ns, before, -1);
		queue_add(queue, in.start_ns, now, 1);
		before = now;
	}
}

static int queue_compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->by - y->by;
}

/* What happens at one moment on one CPU is one value. */
static void show_changes(struct queue *queue)
{
	struct scene *scene = queue->scene;

	if (queue->count)
		qsort(queue->changes, queue->count, sizeof(*queue->changes), queue_compare);
	for (size_t i = 0; i < queue->count;) {
		struct change at = queue->changes[i];
		int64_t by = 0;

		for (; i < queue->count && queue->changes[i].time_ns == at.time_ns &&
		       queue->changes[i].cpu == at.cpu;
		     i++)
			by += queue->changes[i].by;
		if (by == 0)
			continue;
		queue->waiting[at.cpu] += (uint64_t)by;
		scene->ops->counter(scene->context, SCENE_RUNNABLE, at.cpu, at.time_ns,
				    queue->waiting[at.cpu]);
	}
}

/* Show [start_ns, end_ns), or, if that is too much, nothing: false. */
static bool show_piece(struct queue *queue, uint64_t start_ns, uint64_t end_ns)
{
	const struct timeline *tl = queue->scene->job->timeline;

	queue->count = 0;
	queue->is_full = false;
	for (uint32_t slot = 0; slot < tl->thread_count && !queue->is_full; slot++) {
		const struct tl_thread *thread = tl->threads[slot];

		/* One that ended just before leaves the queue in this piece. */
		if (thread->tid != 0 && thread->birth_ns < end_ns && thread->death_ns >= start_ns)
			gather_thread(queue, slot, start_ns, end_ns);
	}
	if (queue->is_full && end_ns - start_ns > 1)
		return false;
	show_changes(queue);
	return true;
}

void scene_queue(struct scene *scene)
{
	const struct export_job *job = scene->job;
	uint32_t cpus = job->timeline->cpu_count;
	struct queue queue = {
		.scene = scene,
		.changes = xcalloc(PIECE_CHANGES, sizeof(struct change)),
		.waiting = xcalloc(cpus ? cpus : 1, sizeof(uint64_t)),
	};
	uint64_t start_ns = job->start_ns, span_ns = job->end_ns - job->start_ns;

	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		scene->ops->counter(scene->context, SCENE_RUNNABLE, cpu, start_ns, 0);
	while (start_ns < job->end_ns && !scene_failed(scene)) {
		uint64_t left_ns = job->end_ns - start_ns;

		if (span_ns > left_ns)
			span_ns = left_ns;
		if (!show_piece(&queue, start_ns, start_ns + span_ns)) {
			span_ns /= 2;
			continue;
		}
		start_ns += span_ns;
		span_ns += span_ns / 2;
	}
	free(queue.changes);
	free(queue.waiting);
}
