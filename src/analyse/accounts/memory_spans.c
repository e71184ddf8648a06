/* memory_spans.c - begin and end events of reclaim and compaction, by thread. */
#include "analyse/accounts/memory_spans.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "event/event.h"
#include "event/memory_event.h"

/* Direct reclaim of one kind begins inside of no other, so one open span for each class does. */
static bool class_of(enum memory_kind kind, enum delays_class *out_class)
{
	*out_class = kind == MEMORY_COMPACTION ? DELAYS_COMPACTION : DELAYS_RECLAIM;
	return kind != MEMORY_OTHER && kind != MEMORY_DIRTY;
}

const char *memory_class_events(enum delays_class class)
{
	switch (class) {
	case DELAYS_RECLAIM:
		return "vmscan:mm_vmscan_direct_reclaim_*, vmscan:mm_vmscan_memcg_reclaim_*";
	case DELAYS_COMPACTION:
		return "compaction:mm_compaction_begin, compaction:mm_compaction_end";
	default:
		return NULL;
	}
}

/* What was under way when events were lost has no known end. */
static void forget_open(struct memory_spans *spans)
{
	spans->cut += spans->open.count;
	map_fini(&spans->open);
	spans->open = (struct map){ 0 };
}

static void end_span(struct memory_spans *spans, const struct event *event, enum delays_class class,
		     uint64_t key)
{
	const uint64_t *start = map_find(&spans->open, key);
	struct memory_span *span;

	if (!start) {
		spans->cut++;
		return;
	}
	spans->spans = vec_room(spans->spans, spans->count, &spans->cap, sizeof(*spans->spans));
	span = &spans->spans[spans->count++];
	*span = (struct memory_span){ .start_ns = *start,
				      .end_ns = event->time_ns,
				      .tid = event->tid };
	span->class = (uint8_t) class;
	(void)map_remove(&spans->open, key);
}

void memory_spans_feed(struct memory_spans *spans, const struct event *event)
{
	const struct memory_event *known;
	enum delays_class class;
	uint64_t key;

	if (event->type == EV_LOST && spans->open.count)
		forget_open(spans);
	if (event->type != EV_OTHER || event->tid <= 0 || !event->other.name)
		return;
	known = memory_event_of(event);
	if (!known || !class_of(known->kind, &class))
		return;
	spans->classes |= 1u << class;
	key = (uint64_t)(uint32_t)event->tid << 8 | class;
	if (known->is_end)
		end_span(spans, event, class, key);
	else
		map_put(&spans->open, key, event->time_ns);
}

ORDER_FUNCTION(by_thread, struct memory_span, ORDER_UP(tid), ORDER_UP(class), ORDER_UP(start_ns));

void memory_spans_end(struct memory_spans *spans)
{
	forget_open(spans);
	if (spans->count)
		qsort(spans->spans, spans->count, sizeof(*spans->spans), by_thread);
}

/* The first span that is not before (tid, class). */
static size_t find_first(const struct memory_spans *spans, int32_t tid, uint32_t class)
{
	return SEARCH_ITEM(spans->spans, spans->count, span,
			   span->tid < tid || (span->tid == tid && span->class < class));
}

const struct memory_span *memory_spans_find(const struct memory_spans *spans, int32_t tid,
					    enum delays_class class, size_t *out_count)
{
	size_t first = find_first(spans, tid, class);

	*out_count = find_first(spans, tid, (uint32_t) class + 1) - first;
	return *out_count ? &spans->spans[first] : NULL;
}

void memory_spans_fini(struct memory_spans *spans)
{
	free(spans->spans);
	map_fini(&spans->open);
	*spans = (struct memory_spans){ 0 };
}
