/* background.c - how deep a thread waited, and where. */
#include "analyse/why/background.h"

#include <string.h>

#include "analyse/why/why.h"
#include "base/mem.h"
#include "event/stacks.h"

#define OUTERMOST \
	4u /* own frames, at most: the loop of a library below the function of the thread, say */

/* What it waited for did not come, or its own time was up: a sleep, too, but for 'in_vain'. */
static bool background_waited(const struct why_root *root, const struct why *part)
{
	if (root->who.tid != part->target.tid)
		return false;
	if (root->kind == WHY_STUCK)
		return root->class == WHY_HELD_UP && !root->in_circle;
	return root->kind == WHY_TIMER && root->class == WHY_ASKED;
}

static const struct stack *background_stack(const struct why_root *root,
					    const struct stacks *stacks)
{
	return root->waited.count ? &stacks->stacks[root->waited.at[0].stack] : NULL;
}

bool why_is_amid_work(const struct why *part, const struct stacks *stacks)
{
	uint64_t deep_ns = 0;

	for (size_t i = 0; i < part->root_count && stacks; i++) {
		const struct why_root *root = &part->roots[i];
		const struct stack *stack =
			background_waited(root, part) ? background_stack(root, stacks) : NULL;

		if (stack && stacks_is_amid(stacks, stack))
			deep_ns += root->ns;
	}
	return deep_ns * 2 >= part->end_ns - part->start_ns;
}

/* "fd 4 = eventfd", "any of: fd 4 = eventfd, fd 5 = pipe:[29]": no one else is known to have an end. */
static bool are_own(const char *object)
{
	static const char *const own[] = { "pipe:", "eventfd", "signalfd", "timerfd" };
	bool any = false;

	if (strchr(object, ';') || strstr(object, " more"))
		return false;
	for (const char *at = strstr(object, " = "); at; at = strstr(at, " = ")) {
		bool found = false;

		at += strlen(" = ");
		for (size_t i = 0; i < ARRAY_LEN(own); i++)
			found |= strncmp(at, own[i], strlen(own[i])) == 0;
		if (!found)
			return false;
		any = true;
	}
	return any;
}

/* A call that ends by itself: nothing that lies behind the process is awaited. */
static bool is_at_loop(const struct why_root *root, const struct stack *stack)
{
	static const char *const calls[] = { "futex", "io_uring_enter", "io_getevents",
					     "rt_sigtimedwait" };
	bool found = are_own(root->object);

	for (size_t i = 0; i < ARRAY_LEN(calls) && !found; i++)
		found = strcmp(root->what, calls[i]) == 0;
	return found && stack->at_condition && !stack->end && stack->script == FRAME_NONE &&
	       stack->depth && stack->depth <= OUTERMOST;
}

/* Its functions have no names: of others a reader can tell. */
static bool is_stripped(const struct stacks *stacks, const struct stack *stack)
{
	return stack->place != FRAME_NONE &&
	       !stacks->frames[stacks->frame_ids[stack->first + stack->place]].function;
}

static bool is_background(const struct why *part, const struct stacks *stacks)
{
	uint64_t ns = 0;

	if (part->target.tid == part->target.tgid)
		return false;
	for (size_t i = 0; i < part->root_count; i++) {
		const struct why_root *root = &part->roots[i];
		const struct stack *stack;

		if (!background_waited(root, part))
			continue;
		stack = background_stack(root, stacks);
		if (!stack || !is_stripped(stacks, stack) || !is_at_loop(root, stack))
			return false;
		ns += root->ns;
	}
	return ns && ns + part->idle_ns + part->interrupted_ns >=
			     (part->end_ns - part->start_ns) / 100 * 98;
}

/* Is that thread what another one waits for? */
static bool is_awaited(const struct why *parts, size_t count, const struct why *part)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < parts[i].root_count && &parts[i] != part; k++) {
			const struct why_root *root = &parts[i].roots[k];

			if (root->kind == WHY_STUCK && root->who.tid == part->target.tid)
				return true;
		}
	}
	return false;
}

static void mark_part(struct why *part)
{
	const struct why_reason *reason =
		why_reason_keep(part, &(struct why_reason){ .kind = WHY_REASON_OUTERMOST });

	for (size_t i = 0; i < part->root_count; i++) {
		struct why_root *root = &part->roots[i];

		if (!background_waited(root, part))
			continue;
		if (root->class == WHY_ASKED)
			part->asked_ns -= root->ns;
		else
			part->held_up_ns -= root->ns;
		part->idle_ns += root->ns;
		root->kind = WHY_STUCK;
		root->class = WHY_IDLE;
		root->timed_out = false;
		root->why = reason;
	}
}

void why_mark_background(struct why *parts, size_t count, const struct stacks *stacks)
{
	for (size_t i = 0; i < count && stacks; i++) {
		if (!parts[i].classes && is_background(&parts[i], stacks) &&
		    !is_awaited(parts, count, &parts[i]))
			mark_part(&parts[i]);
	}
}
