/*
 * sleeper_moves.h - when threads that slept were moved to another CPU.
 *
 * Since Linux 6.12 a thread that goes to sleep may stay in the queue of its CPU for a while, and be
 * moved with it. The kernel then counts it as waiting for a CPU from there on, until it wakes up.
 *
 *	struct moved moved = { 0 };
 *
 *	moved_feed(&moved, event);	for all events
 *	moved_end(&moved);
 *	moved_fini(&moved);
 */
#ifndef ANALYSE_WHY_SLEEPER_MOVES_H
#define ANALYSE_WHY_SLEEPER_MOVES_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct event;

struct move {
	uint64_t time_ns;
	int32_t tid;
};

struct moved {
	struct move *moves; /* owned; after moved_end() by tid and time; the first of each sleep */
	size_t count, cap;
	struct map asleep; /* tids that went to sleep */
};

void moved_feed(struct moved *moved, const struct event *event);

/* No event comes any more. */
void moved_end(struct moved *moved);

/* Those of thread 'tid', in order: a view of *out_count of them. */
const struct move *moved_find(const struct moved *moved, int32_t tid, size_t *out_count);

void moved_fini(struct moved *moved);

#endif
