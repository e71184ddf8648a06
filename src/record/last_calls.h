/*
 * last_calls.h - in which call each thread blocked last.
 *
 * What was lost in between might be a later one: calls before a loss are not told.
 */
#ifndef RECORD_LAST_CALLS_H
#define RECORD_LAST_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "wire/wire.h"

/* Zeroed: none. */
struct last_calls {
	struct map index;	 /* thread -> which of 'calls' */
	struct wire_call *calls; /* owned */
	size_t count, cap;
	uint64_t loss_ns; /* when some were lost last */
};

/* A thread blocks: in the order of each CPU. */
void last_calls_put(struct last_calls *last, const struct wire_call *call);

/* Add all of 'from', which are older than all that is added later. */
void last_calls_copy(struct last_calls *last, const struct last_calls *from);

/* NULL = it is not known. A view, until more is added. */
const struct wire_call *last_calls_find(const struct last_calls *last, int32_t tid);

void last_calls_fini(struct last_calls *last);

#endif
