/*
 * same.c - whether two waits of a thread are for the same.
 *
 *	a descriptor        the same one, of the same name, as far as that is told of both
 *	a futex             the same word, or the other one of the same condition of glibc. A script's lock may
 *	                    be a new one at the address of one before, and HotSpot has one word for a thread:
 *	                    at the same place in the code
 *	an epoll set        the same one
 *	poll, select        what they watch is known of some waits alone, and of others only what came: they
 *	                    are for something else where one watched another descriptor than what came at the
 *	                    other one, or where each is at another place in the code
 *	what is not known   as signals, of which it is not known which: at the same place in the code
 *
 * Nobody gives up waiting for one thing, and waits for another one, at the same place, but who goes round a list: a
 * program that helps itself out with something else does so elsewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "event/stacks.h"

/* Words of one condition of glibc lie that close. Locks and semaphores are larger. */
#define FUTEX_NEAR 8u

bool query_futex(const struct query *query, const struct wait *wait, uint64_t *out_address)
{
	const char *object = timeline_name(query->tl, wait->object);
	char *end;

	if (strncmp(object, "futex 0x", 8) != 0)
		return false;
	*out_address = strtoull(object + 8, &end, 16);
	return *end == '\0' || *end == ','; /* and what it is */
}

/* ------------------------------------------------------------------ places */

static const struct stack *same_stack(const struct query *query, uint32_t slot,
				      const struct wait *wait)
{
	const struct stacks *stacks = query->facts->stacks;
	uint64_t end_ns = wait->woken_ns ? wait->woken_ns : query->end_ns;
	uint32_t stack = STACK_NONE;

	if (stacks && end_ns > wait->begin_ns)
		stack = stacks_find(stacks, query->tl->threads[slot]->tid, wait->begin_ns, end_ns);
	return stack == STACK_NONE ? NULL : &stacks->stacks[stack];
}

static const struct stack_frame *same_frame(const struct stacks *stacks, const struct stack *stack,
					    uint32_t at)
{
	return at < stack->count ? &stacks->frames[stacks->frame_ids[stack->first + at]] : NULL;
}

/* Code that is made as the program runs is made anew, at other addresses. */
static bool is_elsewhere(const struct stack_frame *one, const struct stack_frame *other)
{
	if (!one || !other || one->is_kernel || other->is_kernel ||
	    one->is_script != other->is_script)
		return false;
	if (one->is_script)
		return one->line != other->line || (one->function && other->function &&
						    strcmp(one->function, other->function) != 0);
	return one->build_id && other->build_id && strcmp(one->build_id, other->build_id) == 0 &&
	       one->offset != other->offset;
}

/* It is known where both are, and that is not at one place, or that place is called from two. */
static bool are_elsewhere(const struct query *query, uint32_t slot, const struct wait *one,
			  const struct wait *other)
{
	const struct stack *a = same_stack(query, slot, one);
	const struct stack *b = same_stack(query, slot, other);
	const struct stacks *stacks = query->facts->stacks;

	if (!a || !b || a == b || a->place == FRAME_NONE || b->place == FRAME_NONE)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		if (is_elsewhere(same_frame(stacks, a, a->place + i),
				 same_frame(stacks, b, b->place + i)))
			return true;
	}
	return false;
}

/* ----------------------------------------------------------------- objects */

/* "pipe:[5]", also of "pipe:[5]; other end: writer[9]": who else could end it is told of some waits alone. */
static bool is_one_object(const struct query *query, const struct wait *one,
			  const struct wait *other)
{
	const char *a = timeline_name(query->tl, one->object);
	const char *b = timeline_name(query->tl, other->object);
	size_t len = strcspn(a, ";");

	return one->object == other->object ||
	       (len && strcspn(b, ";") == len && strncmp(a, b, len) == 0);
}

/* "unix; not connected yet" of "unix /run/s; not connected yet": the address is told of some waits alone. */
static bool says_less(const char *less, const char *more)
{
	size_t len = strcspn(less, " ;");

	return len && less[len] != ' ' && strncmp(less, more, len) == 0 && more[len] == ' ';
}

/* A descriptor of which more is known at one of the waits. */
static bool is_one_named(const struct query *query, const struct wait *one,
			 const struct wait *other)
{
	const char *a = timeline_name(query->tl, one->object);
	const char *b = timeline_name(query->tl, other->object);

	return one->fd >= 0 && one->fd == other->fd && (says_less(a, b) || says_less(b, a));
}

/* One whose time was up and that has a descriptor watched nothing else; 'other' is about another one. */
static bool watched_another(struct query *query, const struct wait *one, const struct wait *other)
{
	return one->fd >= 0 && other->fd >= 0 && one->fd != other->fd && wait_timed_out(query, one);
}

static bool is_one_poll(struct query *query, uint32_t slot, const struct wait *one,
			const struct wait *other)
{
	if (wait_set(one) || wait_set(other))
		return wait_set(one) == wait_set(other);
	return !watched_another(query, one, other) && !watched_another(query, other, one) &&
	       !are_elsewhere(query, slot, one, other);
}

/* Python makes a lock for each time that it waits at a condition; a thread of HotSpot has one word for all that it parks for. */
static bool is_word_for_all(const struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct stack *stack = same_stack(query, slot, wait);
	const struct stack_frame *frame;

	if (!stack || stack->place == FRAME_NONE)
		return false;
	frame = same_frame(query->facts->stacks, stack, stack->place);
	return stack->script != FRAME_NONE ||
	       (frame && frame->module && strcmp(frame->module, "libjvm.so") == 0);
}

/* Which signals, or of what ring: nobody has told. */
static bool is_vague(const struct query *query, uint32_t slot, const struct wait *wait)
{
	uint64_t address;

	if (query_futex(query, wait, &address))
		return is_word_for_all(query, slot, wait);
	return wait->fd < 0 &&
	       (!wait->object || strcmp(timeline_name(query->tl, wait->object), "a signal") == 0);
}

bool query_is_same(struct query *query, uint32_t slot, const struct wait *one,
		   const struct wait *other)
{
	uint64_t a, b;

	if (one->in != other->in)
		return false;
	/* Which of several descriptors it was about is known, at best, of the wait that one of them ended. */
	if (one->flags & other->flags & WAIT_MANY)
		return is_one_poll(query, slot, one, other);
	/* A call that opens has a descriptor where it went well. */
	if (one->fd != other->fd && (!one->object || (one->fd >= 0 && other->fd >= 0)))
		return false;
	if (is_one_object(query, one, other))
		return !is_vague(query, slot, one) || !are_elsewhere(query, slot, one, other);
	if (is_one_named(query, one, other))
		return true;
	if (one->fd != other->fd)
		return false;
	return query_futex(query, one, &a) && query_futex(query, other, &b) &&
	       (a < b ? b - a : a - b) < FUTEX_NEAR;
}
