/* timeline.c - threads, waits and the walk over intervals. */
#include "timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum wib word_wib(uint32_t word)
{
	static const uint8_t wib_of[WORD_KIND_COUNT] = {
		[WORD_NONE] = WIB_NONE,
		[WORD_UNCERTAIN] = WIB_UNCERTAIN,
		[WORD_RUN] = WIB_WORKING,
		[WORD_USER] = WIB_WORKING,
		[WORD_SYSCALL] = WIB_WORKING,
		[WORD_TRAP] = WIB_WORKING,
		[WORD_KERNEL] = WIB_WORKING,
		[WORD_WORK] = WIB_WORKING,
		[WORD_IDLE] = WIB_WORKING,
		[WORD_IRQ] = WIB_INTERRUPTED,
		[WORD_VECTOR] = WIB_INTERRUPTED,
		[WORD_SOFTIRQ] = WIB_INTERRUPTED,
		[WORD_PREEMPTED] = WIB_INTERRUPTED,
		[WORD_WAIT_CPU] = WIB_INTERRUPTED,
		[WORD_BLOCKED] = WIB_BLOCKED,
	};
	enum word_kind kind = word_kind(word);

	return kind < WORD_KIND_COUNT ? (enum wib)wib_of[kind] : WIB_UNCERTAIN;
}

struct timeline *timeline_new(uint64_t origin_ns)
{
	struct timeline *timeline = xcalloc(1, sizeof(*timeline));

	timeline->origin_ns = origin_ns;
	timeline->end_ns = origin_ns;
	return timeline;
}

static void thread_free(struct tl_thread *thread)
{
	track_fini(&thread->track);
	free(thread->waits);
	free(thread->syscalls);
	free(thread);
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (uint32_t i = 0; i < timeline->thread_count; i++)
		thread_free(timeline->threads[i]);
	for (uint32_t i = 0; i < timeline->cpu_count; i++)
		track_fini(&timeline->cpus[i]);
	free(timeline->threads);
	free(timeline->cpus);
	free(timeline->gaps);
	free(timeline->next_same_tid);
	names_fini(&timeline->names);
	map_fini(&timeline->by_tid);
	free(timeline);
}

uint32_t timeline_add_thread(struct timeline *timeline, int32_t tid)
{
	uint32_t slot = timeline->thread_count;
	struct tl_thread *thread = xcalloc(1, sizeof(*thread));
	uint64_t *before = map_find(&timeline->by_tid, (uint32_t)tid);

	timeline->threads = vec_room(timeline->threads, slot, &timeline->thread_cap,
				     sizeof(struct tl_thread *));
	timeline->next_same_tid = vec_room(timeline->next_same_tid, slot, &timeline->next_cap,
					   sizeof(*timeline->next_same_tid));
	timeline->next_same_tid[slot] = before ? (uint32_t)*before : SLOT_NONE;
	map_put(&timeline->by_tid, (uint32_t)tid, slot);
	thread->tid = tid;
	thread->tgid = tid;
	thread->parent = SLOT_NONE;
	thread->death_ns = UINT64_MAX;
	timeline->threads[slot] = thread;
	timeline->thread_count++;
	return slot;
}

uint32_t timeline_add_wait(struct tl_thread *thread)
{
	if (thread->wait_count == thread->wait_cap) {
		thread->wait_cap = thread->wait_cap ? thread->wait_cap * 2 : 4;
		thread->waits = xrealloc(thread->waits, thread->wait_cap, sizeof(*thread->waits));
	}
	thread->waits[thread->wait_count] = (struct wait){
		.waker.slot = SLOT_NONE,
		.origin.slot = SLOT_NONE,
		.fd = -1,
	};
	return thread->wait_count++;
}

struct track *timeline_cpu(struct timeline *timeline, uint32_t cpu)
{
	if (cpu >= timeline->cpu_count) {
		uint32_t count = cpu + 1;

		timeline->cpus = xrealloc(timeline->cpus, count, sizeof(*timeline->cpus));
		memset(timeline->cpus + timeline->cpu_count, 0,
		       (count - timeline->cpu_count) * sizeof(*timeline->cpus));
		timeline->cpu_count = count;
	}
	return &timeline->cpus[cpu];
}

uint32_t timeline_find_thread(const struct timeline *timeline, int32_t tid, uint64_t at_ns)
{
	const uint64_t *found = map_find(&timeline->by_tid, (uint32_t)tid);
	uint32_t slot = found ? (uint32_t)*found : SLOT_NONE;

	while (slot != SLOT_NONE && at_ns != UINT64_MAX &&
	       timeline->threads[slot]->birth_ns > at_ns)
		slot = timeline->next_same_tid[slot];
	return slot;
}

const char *timeline_name(const struct timeline *timeline, uint32_t name)
{
	return names_text(&timeline->names, name);
}

const char *timeline_comm(const struct timeline *timeline, uint32_t slot)
{
	if (slot >= timeline->thread_count)
		return "";
	return timeline_name(timeline, timeline->threads[slot]->comm);
}

void tl_iter_begin(struct tl_iter *iter, const struct timeline *timeline, const struct track *track,
		   uint64_t start_ns, uint64_t end_ns)
{
	uint64_t origin = timeline->origin_ns;

	*iter = (struct tl_iter){ .origin_ns = origin, .now_ns = start_ns, .end_ns = end_ns };
	iter->none = track >= timeline->cpus && track < timeline->cpus + timeline->cpu_count
			     ? SLOT_NONE
			     : word_make(WORD_NONE, 0);
	iter->word = iter->none;
	iter->pos.track = track;
	if (start_ns >= origin && track_find(track, start_ns - origin, &iter->pos)) {
		iter->word = track_pos_word(&iter->pos);
		iter->more = track_pos_next(&iter->pos);
	} else if (track->count) {
		iter->pos.index = 0;
		iter->pos.epoch = 0;
		while (iter->pos.epoch + 1 < track->epoch_count &&
		       track->epochs[iter->pos.epoch + 1] == 0)
			iter->pos.epoch++;
		iter->more = true;
	}
}

bool tl_iter_next(struct tl_iter *iter, struct tl_interval *out_interval)
{
	while (iter->now_ns < iter->end_ns) {
		uint64_t until = iter->end_ns;
		uint32_t word = iter->word;
		uint64_t start = iter->now_ns;

		if (iter->more) {
			uint64_t next = track_pos_time(&iter->pos) + iter->origin_ns;

			if (next < until)
				until = next;
			if (next <= iter->end_ns) {
				iter->word = track_pos_word(&iter->pos);
				iter->more = track_pos_next(&iter->pos);
			}
		}
		if (until <= start)
			continue;
		iter->now_ns = until;
		*out_interval = (struct tl_interval){ start, until, word };
		return true;
	}
	return false;
}
