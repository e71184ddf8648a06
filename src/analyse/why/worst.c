/* worst.c - spans of roots into a hundred pieces of the window; the largest, and its neighbours. */
#include "analyse/why/worst.h"

#include <stdlib.h>

#include "analyse/why/process.h"
#include "base/mem.h"
#include "timeline/timeline.h"

#define PIECES	    100u
#define LEAST_SHARE 50u /* of a piece, that one thread must be held up in it: one in so many */

/* Time in which the thread wanted to go on and could not. */
static bool is_held_up(const struct why_root *root)
{
	if (root->class == WHY_RUNS)
		return root->kind == WHY_CPU_QUEUE || root->kind == WHY_PREEMPTED ||
		       root->kind == WHY_IRQ || root->kind == WHY_SOFTIRQ ||
		       root->kind == WHY_THROTTLED;
	return root->class == WHY_HELD_UP;
}

/* The part of span that lies in the window, of its time; wide, for both may be hours. */
static uint64_t share_in(const struct why_span *span, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t from = span->start_ns > start_ns ? span->start_ns : start_ns;
	uint64_t to = span->end_ns < end_ns ? span->end_ns : end_ns;

	if (from >= to)
		return 0;
	return (uint64_t)((unsigned __int128)span->ns * (to - from) /
			  (span->end_ns - span->start_ns));
}

static uint64_t held_in(const struct why_root *root, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < root->span_count; i++)
		ns += share_in(&root->spans[i], start_ns, end_ns);
	return ns;
}

static void add_root(const struct why *why, const struct why_root *root, uint64_t piece_ns,
		     uint64_t pieces[PIECES])
{
	for (size_t i = 0; i < root->span_count; i++) {
		const struct why_span *span = &root->spans[i];
		uint64_t at = span->start_ns > why->start_ns ? span->start_ns - why->start_ns : 0;

		for (uint64_t p = at / piece_ns; p < PIECES; p++) {
			uint64_t start = why->start_ns + p * piece_ns;

			if (start >= span->end_ns)
				break;
			pieces[p] += share_in(span, start, start + piece_ns);
		}
	}
}

/* The piece and those beside it of at least three quarters of it. */
static void worst_grow(const uint64_t pieces[PIECES], size_t *first, size_t *last)
{
	uint64_t least = pieces[*first] - pieces[*first] / 4;

	while (*first > 0 && pieces[*first - 1] >= least)
		--*first;
	while (*last + 1 < PIECES && pieces[*last + 1] >= least)
		++*last;
}

static void name_cause(const struct why *why, struct why_worst *worst)
{
	for (size_t i = 0; i < why->root_count; i++) {
		uint64_t ns = is_held_up(&why->roots[i])
				      ? held_in(&why->roots[i], worst->start_ns, worst->end_ns)
				      : 0;

		worst->held_ns += ns;
		if (ns > worst->cause_ns) {
			worst->cause_ns = ns;
			worst->cause = (uint32_t)i;
		}
	}
}

static void look(struct why *why)
{
	uint64_t piece_ns = (why->end_ns - why->start_ns) / PIECES + 1;
	uint64_t pieces[PIECES] = { 0 }, sum = 0;
	struct why_worst worst = { 0 };
	size_t first = 0, last;

	for (size_t i = 0; i < why->root_count; i++) {
		if (is_held_up(&why->roots[i]))
			add_root(why, &why->roots[i], piece_ns, pieces);
	}
	for (size_t i = 0; i < PIECES; i++) {
		sum += pieces[i];
		if (pieces[i] > pieces[first])
			first = i;
	}
	if (pieces[first] < piece_ns / LEAST_SHARE || pieces[first] * 2 < sum / PIECES * 3)
		return;
	last = first;
	worst_grow(pieces, &first, &last);
	worst.start_ns = why->start_ns + first * piece_ns;
	worst.end_ns = why->start_ns + (last + 1) * piece_ns;
	worst.end_ns = worst.end_ns < why->end_ns ? worst.end_ns : why->end_ns;
	worst.mean_ns = sum / PIECES * (last + 1 - first);
	name_cause(why, &worst);
	if (!worst.cause_ns)
		return;
	why->worst = xcalloc(1, sizeof(*why->worst));
	*why->worst = worst;
}

uint64_t worst_spans_ns(const struct timeline *timeline, const struct why_part *parts, size_t count)
{
	uint64_t start_ns = UINT64_MAX, end_ns = 0;

	for (size_t i = 0; i < count; i++) {
		const struct tl_thread *thread = timeline->threads[parts[i].slot];
		uint64_t start = parts[i].start_ns ? parts[i].start_ns : thread->birth_ns;
		uint64_t end = parts[i].end_ns ? parts[i].end_ns : thread->death_ns;

		start_ns = start < start_ns ? start : start_ns;
		end_ns = end > end_ns ? end : end_ns;
	}
	return end_ns > start_ns ? (end_ns - start_ns) / (4 * PIECES) + 1 : 1;
}

void worst_find(struct why *why, bool keep_spans)
{
	if (!why->classes && why->end_ns > why->start_ns)
		look(why);
	for (size_t i = 0; i < why->root_count && !keep_spans; i++) {
		free(why->roots[i].spans);
		why->roots[i].spans = NULL;
		why->roots[i].span_count = why->roots[i].span_cap = 0;
	}
}
