/* timeline.c - threads, waits and the walk over intervals. */
#include "timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "timeline/cache.h"
#include "timeline/seal.h"

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
		[WORD_CPU] = WIB_NONE,
	};
	enum word_kind kind = word_kind(word);

	return kind < WORD_KIND_COUNT ? (enum wib)wib_of[kind] : WIB_UNCERTAIN;
}

/* Where the name begins that another process would call the same, whatever folder it is in. */
static size_t last_part_of(const char *name, size_t *bytes)
{
	static const char deleted[] = " (deleted)";
	size_t start;

	if (*bytes > sizeof(deleted) && strcmp(name + *bytes - sizeof(deleted) + 1, deleted) == 0)
		*bytes -= sizeof(deleted) - 1;
	while (*bytes > 1 && name[*bytes - 1] == '/')
		(*bytes)--;
	start = *bytes;
	while (start && !strchr("/:@", name[start - 1]))
		start--;
	return start;
}

/* The bytes of "/proc/PID" in front of another name; 0 = it is not of a process. */
static size_t process_part(const char *name)
{
	const size_t folder = strlen("/proc/");
	size_t digits;

	if (strncmp(name, "/proc/", folder) != 0)
		return 0;
	digits = strspn(name + folder, "0123456789");
	return digits && name[folder + digits] == '/' ? folder + digits : 0;
}

bool word_is_of_process(const char *name)
{
	return process_part(name);
}

uint32_t word_about_name(const char *name, bool last_part)
{
	size_t part = last_part ? process_part(name) : 0;
	size_t bytes = part ? part : strlen(name);
	size_t i = last_part ? last_part_of(name, &bytes) : 0;
	uint64_t hash = bytes != 0;

	for (; i < bytes; i++)
		hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3u;
	return word_about(hash);
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
	free(thread->edges);
	free(thread->limits);
	free(thread);
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (uint32_t i = 0; i < timeline->thread_count; i++)
		thread_free(timeline->threads[i]);
	for (uint32_t i = 0; i < timeline->cpu_count; i++) {
		track_fini(timeline->cpus[i]);
		free(timeline->cpus[i]);
	}
	cache_free(timeline->cache);
	free(timeline->threads);
	free(timeline->cpus);
	free(timeline->gaps);
	free(timeline->notes);
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
	thread->keep_wait = UINT32_MAX;
	thread->track.id = slot;
	thread->track.timeline = timeline;
	timeline->threads[slot] = thread;
	timeline->thread_count++;
	return slot;
}

uint32_t timeline_add_wait(struct tl_thread *thread)
{
	uint32_t used = thread->wait_count - thread->wait_base;

	if (used == thread->wait_cap) {
		thread->wait_cap = thread->wait_cap ? thread->wait_cap * 2 : 4;
		thread->waits = xrealloc(thread->waits, thread->wait_cap, sizeof(*thread->waits));
	}
	thread->waits[used] = (struct wait){
		.waker.slot = SLOT_NONE,
		.origin.slot = SLOT_NONE,
		.fd = -1,
	};
	return thread->wait_count++;
}

void timeline_add_limit(struct tl_thread *thread, struct tl_limit limit)
{
	size_t count = thread->limit_count;

	while (count && thread->limits[count - 1].start_ns >= limit.start_ns)
		count--;
	if (count && thread->limits[count - 1].end_ns > limit.start_ns)
		thread->limits[count - 1].end_ns = limit.start_ns;
	thread->limits = vec_room(thread->limits, count, &thread->limit_cap, sizeof(limit));
	thread->limits[count] = limit;
	thread->limit_count = count + 1;
}

const struct tl_limit *timeline_limit(const struct tl_thread *thread, uint64_t time_ns)
{
	size_t low = SEARCH_BEHIND(thread->limits, thread->limit_count, end_ns, time_ns);

	return low < thread->limit_count ? &thread->limits[low] : NULL;
}

void timeline_unseal_wait(struct tl_thread *thread, uint32_t index)
{
	while (index < thread->wait_base)
		seal_undo(&thread->track);
}

/* Does 'time_ns' lie in what is sealed already? */
static bool is_sealed(const struct track *track, uint64_t time_ns)
{
	uint64_t time = time_ns - track->timeline->origin_ns;

	if (!track->chunk_count)
		return false;
	return time < (track->count > track->base ? track->tail[0].time : track->sealed_last);
}

void timeline_add_edge(struct tl_thread *thread, uint64_t time_ns, uint32_t slot, uint32_t wait)
{
	uint32_t used, at;

	while (is_sealed(&thread->track, time_ns))
		seal_undo(&thread->track);
	used = thread->edge_count - thread->edge_base;
	if (used == thread->edge_cap) {
		thread->edge_cap = thread->edge_cap ? thread->edge_cap * 2 : 4;
		thread->edges = xrealloc(thread->edges, thread->edge_cap, sizeof(*thread->edges));
	}
	/* A wake-up that is found out late goes where it belongs. */
	for (at = used; at > 0 && thread->edges[at - 1].time_ns > time_ns; at--)
		thread->edges[at] = thread->edges[at - 1];
	thread->edges[at] = (struct tl_edge){ time_ns, slot, wait };
	thread->edge_count++;
}

struct track *timeline_cpu(struct timeline *timeline, uint32_t cpu)
{
	uint32_t count = cpu + 1;

	if (cpu < timeline->cpu_count)
		return timeline->cpus[cpu];
	timeline->cpus =
		vec_grow(timeline->cpus, timeline->cpu_count, count, sizeof(struct track *));
	for (uint32_t i = timeline->cpu_count; i < count; i++) {
		timeline->cpus[i] = xcalloc(1, sizeof(struct track));
		timeline->cpus[i]->id = TRACK_CPU + i;
		timeline->cpus[i]->timeline = timeline;
	}
	timeline->cpu_count = count;
	return timeline->cpus[cpu];
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

uint32_t timeline_near_thread(const struct timeline *timeline, int32_t tid, uint64_t at_ns)
{
	uint32_t slot = timeline_find_thread(timeline, tid, at_ns);

	return slot != SLOT_NONE ? slot : timeline_find_thread(timeline, tid, UINT64_MAX);
}

void timeline_note(struct timeline *timeline, const char *text)
{
	timeline->notes = vec_room(timeline->notes, timeline->note_count, &timeline->note_cap,
				   sizeof(*timeline->notes));
	timeline->notes[timeline->note_count++] = names_add(&timeline->names, text, 4096);
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
