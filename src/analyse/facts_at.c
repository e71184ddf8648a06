/* facts_at.c - see fact_of.h. */
#include "analyse/facts_at.h"

#include "base/mem.h"
#include "event/facts.h"
#include "timeline/timeline.h"

/* The thread that was alive as the dump passed it. */
static uint32_t slot_of_fact(const struct timeline *tl, const struct fact_thread *fact)
{
	uint32_t slot = timeline_find_thread(tl, fact->tid, fact->seen_ns);

	return slot != SLOT_NONE ? slot : timeline_find_thread(tl, fact->tid, tl->origin_ns);
}

static uint32_t inherited(const struct timeline *tl, const uint32_t *fact_of, uint32_t slot)
{
	const struct tl_thread *thread = tl->threads[slot];
	uint32_t main = timeline_find_thread(tl, thread->tgid, thread->birth_ns);

	/* Who made it was there before, and so stands before it. */
	if (thread->born && thread->parent < slot)
		return fact_of[thread->parent];
	return main != SLOT_NONE ? fact_of[main] : 0;
}

uint32_t *fact_of_threads(const struct timeline *tl, const struct facts *facts)
{
	uint32_t *fact_of = xcalloc(tl->thread_count + 1u, sizeof(*fact_of));

	for (size_t i = 0; i < facts->thread_count; i++) {
		uint32_t slot = slot_of_fact(tl, &facts->threads[i]);

		if (slot < tl->thread_count)
			fact_of[slot] = (uint32_t)i + 1;
	}
	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		if (!fact_of[slot])
			fact_of[slot] = inherited(tl, fact_of, slot);
	}
	return fact_of;
}
