/*
 * timeline_check.h - what must always hold of a timeline and of an answer built on
 * it (DESIGN section 8), whatever the events were.
 *
 *	fault = timeline_fault(tl, text);	NULL, or what is wrong, in 'text'
 */
#ifndef TIMELINE_CHECK_H
#define TIMELINE_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/why/fold.h"
#include "analyse/why/why.h"
#include "base/mem.h"
#include "timeline/timeline.h"

#define FAULT_BYTES 256

static inline const char *fault(char *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline const char *fault(char *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, FAULT_BYTES, format, args);
	va_end(args);
	return text;
}

/* On a CPU, for certain. */
static inline bool word_on_cpu(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind >= WORD_RUN && kind <= WORD_SOFTIRQ;
}

static inline const char *track_order_fault(const struct timeline *tl, const struct track *track,
					    char *text)
{
	struct tl_iter iter;
	struct tl_interval in;
	uint64_t before = 0;

	tl_iter_begin(&iter, tl, track, 0, UINT64_MAX);
	while (tl_iter_entry(&iter, &in)) {
		if (in.start_ns < before)
			return fault(text, "an entry at %llu is before the one at %llu",
				     (unsigned long long)in.start_ns, (unsigned long long)before);
		before = in.start_ns;
	}
	return NULL;
}

/* One interval of a thread: is its word possible there? */
static inline const char *interval_fault(const struct tl_thread *thread,
					 const struct tl_interval *in, char *text)
{
	bool lives = in->start_ns >= thread->birth_ns && in->end_ns <= thread->death_ns;

	if (word_kind(in->word) >= WORD_KIND_COUNT)
		return fault(text, "tid %d: no such word", thread->tid);
	if ((word_kind(in->word) == WORD_NONE) == lives)
		return fault(text, "tid %d lives %llu-%llu but %llu-%llu says %d", thread->tid,
			     (unsigned long long)thread->birth_ns,
			     (unsigned long long)thread->death_ns, (unsigned long long)in->start_ns,
			     (unsigned long long)in->end_ns, (int)word_kind(in->word));
	if (word_kind(in->word) == WORD_BLOCKED && word_arg(in->word) >= thread->wait_count)
		return fault(text, "tid %d: wait %u of %u", thread->tid, word_arg(in->word),
			     thread->wait_count);
	return NULL;
}

/* The states of a thread add up to its life, and each is possible. */
static inline const char *thread_fault(const struct timeline *tl, const struct tl_thread *thread,
				       char *text)
{
	uint64_t sum[WIB_COUNT] = { 0 };
	struct tl_iter iter;
	struct tl_interval in;
	uint64_t at = tl->origin_ns;
	const char *wrong = track_order_fault(tl, &thread->track, text);

	if (thread->birth_ns > thread->death_ns || thread->birth_ns < tl->origin_ns ||
	    thread->death_ns > tl->end_ns)
		return fault(text, "tid %d lives %llu-%llu", thread->tid,
			     (unsigned long long)thread->birth_ns,
			     (unsigned long long)thread->death_ns);
	tl_iter_begin(&iter, tl, &thread->track, tl->origin_ns, tl->end_ns);
	while (!wrong && tl_iter_next(&iter, &in)) {
		if (in.start_ns != at || in.end_ns <= in.start_ns)
			return fault(text, "tid %d: intervals do not touch at %llu", thread->tid,
				     (unsigned long long)at);
		at = in.end_ns;
		sum[word_wib(in.word)] += in.end_ns - in.start_ns;
		wrong = interval_fault(thread, &in, text);
	}
	if (!wrong && at != tl->end_ns)
		return fault(text, "tid %d: intervals end at %llu", thread->tid,
			     (unsigned long long)at);
	if (!wrong &&
	    sum[WIB_WORKING] + sum[WIB_INTERRUPTED] + sum[WIB_BLOCKED] + sum[WIB_UNCERTAIN] !=
		    thread->death_ns - thread->birth_ns)
		return fault(text, "tid %d: the sums are not its life", thread->tid);
	return wrong;
}

static inline const char *wait_fault(const struct timeline *tl, const struct tl_thread *thread,
				     char *text)
{
	struct wait wait, before = { 0 };

	for (uint32_t i = 0; i < thread->wait_count; i++, before = wait) {
		timeline_wait(tl, thread->track.id, i, &wait);
		if (wait.woken_ns && wait.woken_ns < wait.begin_ns)
			return fault(text, "tid %d: wait %u ends before it begins", thread->tid, i);
		if (wait.begin_ns < before.begin_ns)
			return fault(text, "tid %d: wait %u begins before the one before it",
				     thread->tid, i);
	}
	return NULL;
}

/* ---------------------------------------------------------- CPUs and threads */

struct stay { /* of a thread on a CPU */
	uint32_t slot;
	uint32_t cpu;
	uint64_t start_ns;
	uint64_t end_ns;
};

static inline int stay_compare(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* All stays, by thread and time. Free the array. */
static inline struct stay *stays_of(const struct timeline *tl, size_t *out_count)
{
	struct stay *stays = NULL;
	size_t count = 0, cap = 0;

	for (uint32_t cpu = 0; cpu < tl->cpu_count; cpu++) {
		struct tl_iter iter;
		struct tl_interval in;

		tl_iter_begin(&iter, tl, tl->cpus[cpu], tl->origin_ns, tl->end_ns);
		while (tl_iter_next(&iter, &in)) {
			if (in.word == SLOT_NONE)
				continue;
			stays = vec_room(stays, count, &cap, sizeof(*stays));
			stays[count++] = (struct stay){ in.word, cpu, in.start_ns, in.end_ns };
		}
	}
	if (count)
		qsort(stays, count, sizeof(*stays), stay_compare);
	*out_count = count;
	return stays;
}

/* While it is on a CPU, a thread is nothing that only exists off CPUs. */
static inline const char *stay_fault(const struct timeline *tl, const struct stay *stay, char *text)
{
	const struct tl_thread *thread = tl->threads[stay->slot];
	struct tl_iter iter;
	struct tl_interval in;

	if (thread->tid == 0)
		return NULL;
	tl_iter_begin(&iter, tl, &thread->track, stay->start_ns, stay->end_ns);
	while (tl_iter_next(&iter, &in)) {
		if (word_kind(in.word) != WORD_UNCERTAIN && !word_on_cpu(in.word))
			return fault(text, "tid %d is on CPU %u and off it (%d) at %llu-%llu",
				     thread->tid, stay->cpu, (int)word_kind(in.word),
				     (unsigned long long)in.start_ns,
				     (unsigned long long)in.end_ns);
	}
	return NULL;
}

struct stay_run { /* those of one thread */
	const struct stay *stays;
	size_t first, end;
};

/* Where a thread is on a CPU for certain, that CPU says so. */
static inline const char *runs_nowhere_fault(const struct timeline *tl,
					     const struct tl_thread *thread,
					     const struct stay_run *run, char *text)
{
	const struct stay *stays = run->stays;
	struct tl_iter iter;
	struct tl_interval in;
	size_t at = run->first;

	tl_iter_begin(&iter, tl, &thread->track, tl->origin_ns, tl->end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t covered = in.start_ns;

		if (!word_on_cpu(in.word))
			continue;
		while (at < run->end && stays[at].end_ns <= covered)
			at++;
		for (size_t i = at; i < run->end && stays[i].start_ns <= covered; i++)
			covered = stays[i].end_ns;
		if (covered < in.end_ns)
			return fault(text, "tid %d works at %llu-%llu on no CPU", thread->tid,
				     (unsigned long long)covered, (unsigned long long)in.end_ns);
	}
	return NULL;
}

static inline const char *stays_fault(const struct timeline *tl, const struct stay *stays,
				      size_t count, char *text)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < count && !wrong; i++) {
		if (stays[i].slot >= tl->thread_count)
			return fault(text, "no thread %u on CPU %u", stays[i].slot, stays[i].cpu);
		if (i && stays[i].slot == stays[i - 1].slot &&
		    stays[i].start_ns < stays[i - 1].end_ns)
			return fault(text, "tid %d is on CPUs %u and %u at %llu",
				     tl->threads[stays[i].slot]->tid, stays[i - 1].cpu,
				     stays[i].cpu, (unsigned long long)stays[i].start_ns);
		wrong = stay_fault(tl, &stays[i], text);
	}
	return wrong;
}

static inline const char *cpus_fault(const struct timeline *tl, char *text)
{
	size_t count, first = 0;
	AUTO_FREE struct stay *stays = stays_of(tl, &count);
	const char *wrong = NULL;

	for (uint32_t cpu = 0; cpu < tl->cpu_count && !wrong; cpu++)
		wrong = track_order_fault(tl, tl->cpus[cpu], text);
	if (!wrong)
		wrong = stays_fault(tl, stays, count, text);
	for (uint32_t slot = 0; slot < tl->thread_count && !wrong; slot++) {
		struct stay_run run = { stays, first, first };

		while (run.end < count && stays[run.end].slot == slot)
			run.end++;
		if (tl->threads[slot]->tid != 0)
			wrong = runs_nowhere_fault(tl, tl->threads[slot], &run, text);
		first = run.end;
	}
	return wrong;
}

static inline const char *timeline_fault(const struct timeline *tl, char *text)
{
	const char *wrong = NULL;

	for (uint32_t slot = 0; slot < tl->thread_count && !wrong; slot++) {
		const struct tl_thread *thread = tl->threads[slot];

		wrong = thread->tid == 0 ? NULL : thread_fault(tl, thread, text);
		if (!wrong)
			wrong = wait_fault(tl, thread, text);
	}
	return wrong ? wrong : cpus_fault(tl, text);
}

/* -------------------------------------------------------------------- answers */

/* A line is what its children add up to, or has none; the four sections are the window. */
static inline const char *lines_fault(const struct why *why, char *text)
{
	uint64_t sections = 0;

	for (size_t i = 0; i < why->line_count; i++) {
		uint64_t below = 0;

		if (why->lines[i].depth == 0)
			sections += why->lines[i].ns;
		for (size_t k = i + 1;
		     k < why->line_count && why->lines[k].depth > why->lines[i].depth; k++) {
			if (why->lines[k].depth == why->lines[i].depth + 1)
				below += why->lines[k].ns;
		}
		if (below > why->lines[i].ns ||
		    (below < why->lines[i].ns && why->lines[i].instance_count == 0))
			return fault(text, "line '%s' is %llu, its children %llu",
				     why->lines[i].name, (unsigned long long)why->lines[i].ns,
				     (unsigned long long)below);
	}
	if (sections != why->end_ns - why->start_ns)
		return fault(text, "the summary is %llu", (unsigned long long)sections);
	return NULL;
}

static inline const char *instances_fault(const struct why *why, char *text)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < why->instance_count; i++) {
		const struct why_instance *in = &why->instances[i];
		const struct why_line *line = &why->lines[in->line];

		sum += in->end_ns - in->start_ns;
		if (i < line->first_instance || i >= line->first_instance + line->instance_count)
			return fault(text, "instance %u is not in the run of its line", in->id);
		if (in->wait >= (int32_t)why->wait_count)
			return fault(text, "instance %u has wait %d", in->id, in->wait);
		if (i > line->first_instance &&
		    in->end_ns - in->start_ns > in[-1].end_ns - in[-1].start_ns)
			return fault(text, "instance %u is longer than the one before", in->id);
	}
	if (sum != why->end_ns - why->start_ns && why->instance_count < 1000)
		return fault(text, "the instances are %llu", (unsigned long long)sum);
	return NULL;
}

static inline const char *waits_fault(const struct why *why, char *text)
{
	for (size_t i = 0; i < why->wait_count; i++) {
		const struct why_wait *wait = &why->waits[i];
		const struct why_wait *above = wait->parent < 0 ? NULL : &why->waits[wait->parent];

		if (wait->parent >= (int32_t)i || (wait->depth == 0) != !above ||
		    (above && above->depth + 1 != wait->depth))
			return fault(text, "wait %zu is not below its parent", i);
		if (above && (wait->start_ns < above->start_ns || wait->end_ns > above->end_ns))
			return fault(text, "wait %zu is longer than its parent", i);
	}
	return NULL;
}

/* 'ranked': something says more than waits for work. */
static inline int root_rank(const struct why_root *root, uint64_t all_ns, bool ranked)
{
	return ranked ? why_rank(root->class, root->ns, all_ns) : 0;
}

/* Largest first; where something says more than waits for work, these come behind it. */
static inline const char *order_fault(const struct why *why, char *text)
{
	uint64_t window = why->end_ns - why->start_ns;
	bool ranked = false;

	for (size_t i = 0; i < why->root_count; i++)
		ranked |= why_outranks_idle(why->roots[i].class, why->roots[i].ns, window);
	for (size_t i = 1; i < why->root_count; i++) {
		const struct why_root *root = &why->roots[i], *above = root - 1;
		int rank = root_rank(root, window, ranked);
		int before = root_rank(above, window, ranked);

		if (rank < before)
			return fault(text, "root %zu belongs before the one before", i);
		if (rank == before && root->ns > above->ns)
			return fault(text, "root %zu is larger than the one before", i);
	}
	return NULL;
}

/* Every nanosecond of the window is charged once, by each way of adding up. */
static inline const char *why_fault(const struct why *why, char *text)
{
	uint64_t window = why->end_ns - why->start_ns, roots = 0;
	const char *wrong = order_fault(why, text);

	if (wrong)
		return wrong;
	for (size_t i = 0; i < why->root_count; i++)
		roots += why->roots[i].ns;
	if (roots != window)
		return fault(text, "the verdict is %llu of %llu", (unsigned long long)roots,
			     (unsigned long long)window);
	if (why->working_ns + why->interrupted_ns + why->blocked_ns + why->uncertain_ns != window)
		return fault(text, "the states are not the window");
	if (why->held_up_ns + why->asked_ns + why->idle_ns != why->blocked_ns)
		return fault(text, "the classes are not the blocked time");
	wrong = lines_fault(why, text);
	if (!wrong)
		wrong = instances_fault(why, text);
	return wrong ? wrong : waits_fault(why, text);
}

#endif
