/* last_calls.c - see last_calls.h. */
#include "record/last_calls.h"

#include <stdlib.h>

#include "base/mem.h"

#define THREADS_MOST 65536u /* then all are forgotten */

void last_calls_put(struct last_calls *last, const struct wire_call *call)
{
	uint64_t *known;

	if (call->flags & WIRE_CALL_LOSS && call->mono_ns > last->loss_ns)
		last->loss_ns = call->mono_ns;
	known = map_find(&last->index, (uint32_t)call->tid);
	if (known) {
		if (last->calls[*known].mono_ns <= call->mono_ns)
			last->calls[*known] = *call;
		return;
	}
	if (last->count == THREADS_MOST)
		last_calls_fini(last);
	last->calls = vec_room(last->calls, last->count, &last->cap, sizeof(*last->calls));
	map_put(&last->index, (uint32_t)call->tid, last->count);
	last->calls[last->count++] = *call;
}

void last_calls_copy(struct last_calls *last, const struct last_calls *from)
{
	for (size_t i = 0; i < from->count; i++)
		last_calls_put(last, &from->calls[i]);
	last->loss_ns = from->loss_ns > last->loss_ns ? from->loss_ns : last->loss_ns;
}

const struct wire_call *last_calls_find(const struct last_calls *last, int32_t tid)
{
	const uint64_t *known = map_find(&last->index, (uint32_t)tid);

	return known && last->calls[*known].mono_ns >= last->loss_ns ? &last->calls[*known] : NULL;
}

void last_calls_fini(struct last_calls *last)
{
	map_fini(&last->index);
	free(last->calls);
	*last = (struct last_calls){ .loss_ns = last->loss_ns };
}
