/*
 * class.c - the spans of the target that count in one class of delay, for a verdict of these.
 *
 * They are those that delays_trace.c adds up, so the verdict's sum is the figure of the class.
 */
#include <stdlib.h>

#include "analyse/delays_class.h"
#include "analyse/accounts/memory_spans.h"
#include "analyse/why/why_int.h"
#include "base/mem.h"
#include "base/sorting.h"

const char *why_class_words(uint32_t classes)
{
	if (classes == WHY_CLASS_MEMORY)
		return "freeing or moving memory";
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		if (classes == 1u << class)
			return delays_class_words(class);
	}
	return "waiting";
}

const char *why_class_name(uint32_t classes)
{
	if (classes == WHY_CLASS_MEMORY)
		return "memory";
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		if (classes == 1u << class)
			return delays_class_name(class);
	}
	return "all";
}

struct spans {
	struct tl_interval *spans; /* owned */
	size_t count, cap;
};

static void add_span(struct spans *spans, uint64_t start_ns, uint64_t end_ns)
{
	if (start_ns >= end_ns)
		return;
	spans->spans = vec_room(spans->spans, spans->count, &spans->cap, sizeof(*spans->spans));
	spans->spans[spans->count] = (struct tl_interval){ start_ns, end_ns, 0 };
	spans->count++;
}

static void add_states(const struct query *query, struct spans *spans)
{
	const struct tl_thread *thread = query->tl->threads[query->slot];
	enum delays_class class;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, query->tl, &thread->track, query->start_ns, query->end_ns);
	while (tl_iter_next(&iter, &in)) {
		if (delays_trace_class(query->tl, query->slot, &in, &class) &&
		    query->opts->classes & 1u << class)
			add_span(spans, in.start_ns, in.end_ns);
	}
}

ORDER_FUNCTION(by_start, struct tl_interval, ORDER_UP(start_ns), ORDER_UP(end_ns));

/* Compaction within reclaim is one span. */
static void join_overlaps(struct spans *spans)
{
	size_t kept = 0;

	if (!spans->count)
		return;
	qsort(spans->spans, spans->count, sizeof(*spans->spans), by_start);
	for (size_t i = 1; i < spans->count; i++) {
		struct tl_interval *last = &spans->spans[kept];

		if (spans->spans[i].start_ns >= last->end_ns)
			spans->spans[++kept] = spans->spans[i];
		else if (spans->spans[i].end_ns > last->end_ns)
			last->end_ns = spans->spans[i].end_ns;
	}
	spans->count = kept + 1;
}

static void add_memory(const struct query *query, struct spans *spans)
{
	const struct tl_thread *thread = query->tl->threads[query->slot];
	uint64_t from_ns = query->start_ns > thread->birth_ns ? query->start_ns : thread->birth_ns;
	uint64_t to_ns = query->end_ns < thread->death_ns ? query->end_ns : thread->death_ns;

	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		const struct memory_span *found;
		size_t count;

		if (!(query->opts->classes & WHY_CLASS_MEMORY & 1u << class))
			continue;
		found = memory_spans_find(query->opts->memory, thread->tid, class, &count);
		for (size_t i = 0; i < count; i++)
			add_span(spans, found[i].start_ns > from_ns ? found[i].start_ns : from_ns,
				 found[i].end_ns < to_ns ? found[i].end_ns : to_ns);
	}
	join_overlaps(spans);
}

size_t query_class_spans(const struct query *query, struct tl_interval **out_spans)
{
	struct spans spans = { 0 };

	if (query->opts->classes & WHY_CLASS_MEMORY)
		add_memory(query, &spans);
	else
		add_states(query, &spans);
	*out_spans = spans.spans;
	return spans.count;
}
