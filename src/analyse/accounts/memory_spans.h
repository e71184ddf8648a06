/*
 * memory_spans.h - when threads freed or moved memory for themselves, from the kernel's events.
 *
 * Direct reclaim and compaction are spans of a thread's time in which it works, waits for disk or
 * is preempted as anywhere else; so they are no states of the timeline, but lie across them.
 *
 *	struct memory_spans spans = { 0 };
 *
 *	memory_spans_feed(&spans, event);	for all events
 *	memory_spans_end(&spans);
 *	memory_spans_fini(&spans);
 *
 * Swap-in, thrashing and copy-on-write have no events in any kernel so far.
 */
#ifndef ANALYSE_ACCOUNTS_MEMORY_SPANS_H
#define ANALYSE_ACCOUNTS_MEMORY_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "accounts/stats.h"

struct event;

struct memory_span {
	uint64_t start_ns;
	uint64_t end_ns;
	int32_t tid;
	uint8_t class; /* enum delays_class */
};

struct memory_spans {
	struct memory_span *spans; /* owned; after memory_spans_end() by tid, class and start */
	size_t count, cap;
	uint32_t classes; /* a bit for each class whose events were recorded */
	uint64_t cut;	  /* spans without an end or a beginning: events were lost */
	struct map open;  /* tid and class -> start */
};

void memory_spans_feed(struct memory_spans *spans, const struct event *event);

/* No event comes any more. */
void memory_spans_end(struct memory_spans *spans);

/* The spans of a class of thread 'tid', in order: a view of *out_count of them. */
const struct memory_span *memory_spans_find(const struct memory_spans *spans, int32_t tid,
					    enum delays_class class, size_t *out_count);

/* The events that tell of a class, for "needs": "vmscan:mm_vmscan_..."; NULL = there are none. */
const char *memory_class_events(enum delays_class class);

void memory_spans_fini(struct memory_spans *spans);

#endif
