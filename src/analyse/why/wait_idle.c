/*
 * wait_idle.c - does a thread of a known program wait for work? Its stack tells, see event/idle_table.h.
 *
 * Most short waits have no stack. Who waits at a word at which all its waits with a stack were for work waits for that
 * there: it is the word of that condition.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"

/* What the waits at one object, by one thread, are as far as there are stacks. */
enum idle_seen {
	SEEN_IDLE = 1,
	SEEN_OTHER = 2,
};

struct idle_objects {
	struct map seen;  /* slot << 32 | object: enum idle_seen */
	struct map slots; /* that were looked through: 1 */
};

void idle_objects_free(struct idle_objects *objects)
{
	if (!objects)
		return;
	map_fini(&objects->seen);
	map_fini(&objects->slots);
	free(objects);
}

static uint64_t idle_key(uint32_t slot, const struct wait *wait)
{
	return (uint64_t)slot << 32 | wait->object;
}

static bool is_at_word(const struct query *query, const struct wait *wait)
{
	return wait->object && word_kind(wait->in) == WORD_SYSCALL &&
	       strncmp(timeline_name(query->tl, wait->object), "futex 0x", 8) == 0;
}

/* Does the thread have any stack that is one of waits for work? */
static bool has_idle_stack(const struct query *query, uint32_t slot)
{
	const struct stacks *stacks = query->facts->stacks;
	int32_t tid = query->tl->threads[slot]->tid;

	for (size_t i = stacks_first_wait(stacks, tid, 0);
	     i < stacks->wait_count && stacks->waits[i].tid == tid; i++) {
		if (stacks->stacks[stacks->waits[i].stack].idle == STACK_IDLE)
			return true;
	}
	return false;
}

static void idle_look_through(struct query *query, uint32_t slot)
{
	const struct stacks *stacks = query->facts->stacks;
	uint32_t count = has_idle_stack(query, slot) ? query->tl->threads[slot]->wait_count : 0;

	for (uint32_t i = 0; i < count; i++) {
		struct wait wait;
		uint32_t stack;
		bool is_new;

		timeline_wait(query->tl, slot, i, &wait);
		stack = is_at_word(query, &wait) ? code_of_wait(query, slot, &wait) : STACK_NONE;
		if (stack == STACK_NONE)
			continue;
		*map_add(&query->idle->seen, idle_key(slot, &wait), &is_new) |=
			stacks->stacks[stack].idle == STACK_IDLE ? SEEN_IDLE : SEEN_OTHER;
	}
	map_put(&query->idle->slots, slot, 1);
}

/* Of a wait without a stack. */
static enum stack_idle idle_by_word(struct query *query, uint32_t slot, const struct wait *wait)
{
	const uint64_t *seen;

	if (!query->opts || !is_at_word(query, wait))
		return STACK_NOT_IDLE;
	if (!query->idle)
		query->idle = xcalloc(1, sizeof(*query->idle));
	if (!map_find(&query->idle->slots, slot))
		idle_look_through(query, slot);
	seen = map_find(&query->idle->seen, idle_key(slot, wait));
	return seen && *seen == SEEN_IDLE ? STACK_IDLE_WORD : STACK_NOT_IDLE;
}

/* "fd 4 = pipe:[29]": what it watches is its own, or that of other threads of its process. */
static bool watches_own(const struct query *query, uint32_t slot, const struct wait *wait)
{
	static const char *const own[] = { "pipe:", "eventfd", "anon_inode:[eventfd" };
	const char *name = timeline_name(query->tl, wait->object);
	uint32_t by = wait->waker.slot;
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		found |= strncmp(name, own[i], strlen(own[i])) == 0;
	if (!found || !wait->woken_ns)
		return found;
	return wait->waker.kind == ACTOR_THREAD && by < query->tl->thread_count &&
	       query_is_one_process(query, by, slot);
}

enum stack_idle wait_idle(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct stacks *stacks = query->facts ? query->facts->stacks : NULL;
	enum stack_idle idle;
	uint32_t stack;

	if (!stacks || wait->flags & (WAIT_STOPPED | WAIT_THROTTLED))
		return STACK_NOT_IDLE;
	stack = code_of_wait(query, slot, wait);
	if (stack == STACK_NONE)
		return idle_by_word(query, slot, wait);
	idle = (enum stack_idle)stacks->stacks[stack].idle;
	/* What a script's own function called, that sleeps, may have been given to it to do. */
	if (idle == STACK_AWAITS || idle == STACK_SLEEPS ||
	    (stacks->stacks[stack].script != FRAME_NONE && wait_sleeps(query, wait)))
		return STACK_NOT_IDLE;
	if (idle == STACK_POLLS)
		idle = !(wait->flags & WAIT_TIMED_OUT) && watches_own(query, slot, wait)
			       ? STACK_PARKED
			       : STACK_NOT_IDLE;
	return idle == STACK_IDLE || (query->opts && query->opts->of_process) ? idle
									      : STACK_NOT_IDLE;
}

bool wait_sleeps_there(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct stacks *stacks = query->facts ? query->facts->stacks : NULL;
	uint32_t stack = stacks && !(wait->flags & (WAIT_STOPPED | WAIT_THROTTLED))
				 ? code_of_wait(query, slot, wait)
				 : STACK_NONE;

	return stack != STACK_NONE && stacks->stacks[stack].idle == STACK_SLEEPS;
}
