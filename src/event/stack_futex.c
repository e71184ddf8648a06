/* stack_futex.c - words that threads waited for in futex(2), by name; see stacks.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "event/stacks.h"

const struct stack_futex *stacks_find_futex(const struct stacks *stacks, int32_t tgid,
					    uint64_t address, uint64_t time_ns)
{
	/* Behind the last one that had begun by then. */
	size_t at = SEARCH_ITEM(
		stacks->futexes, stacks->futex_count, futex,
		futex->tgid < tgid || (futex->tgid == tgid &&
				       (futex->address < address ||
					(futex->address == address && futex->from_ns <= time_ns))));
	const struct stack_futex *found = at ? &stacks->futexes[at - 1] : NULL;

	if (!found || found->tgid != tgid || found->address != address ||
	    found->until_ns <= time_ns)
		return NULL;
	return found;
}

const struct stack_futex *stacks_named_futex(const struct stacks *stacks, int32_t tgid,
					     const char *object, uint64_t time_ns)
{
	uint64_t address;
	char *end;

	if (!stacks->futex_count || strncmp(object, "futex 0x", 8) != 0)
		return NULL;
	address = strtoull(object + 8, &end, 16);
	return *end && *end != ',' ? NULL : stacks_find_futex(stacks, tgid, address, time_ns);
}

/* The function that waited for it; NULL = it is not known. */
static const char *stack_futex_place(const struct stacks *stacks, const struct stack_futex *futex)
{
	const struct stack *stack =
		futex->stack < stacks->stack_count ? &stacks->stacks[futex->stack] : NULL;

	if (!stack || stack->place == FRAME_NONE)
		return NULL;
	return stacks_frame(stacks, futex->stack, stack->place)->function;
}

char *stack_futex_text(const struct stacks *stacks, const struct stack_futex *futex,
		       const char *kind)
{
	const char *place;

	switch (futex->kind) {
	case STACK_FUTEX_VARIABLE:
		return xasprintf("%s of %s%s%s%s", kind, futex->name ? futex->name : "?",
				 futex->module ? " (" : "", futex->module ? futex->module : "",
				 futex->module ? ")" : "");
	case STACK_FUTEX_GIL:
		return xstrdup("Python's GIL");
	case STACK_FUTEX_ARENA:
		return xstrdup("malloc arena");
	case STACK_FUTEX_SHARED:
		return xasprintf("%s in %s", kind, futex->name ? futex->name : "?");
	case STACK_FUTEX_PLACE:
		break;
	}
	place = stack_futex_place(stacks, futex);
	return xasprintf("%s 0x%llx%s%s", kind, (unsigned long long)futex->address,
			 place ? ", first seen in " : "", place ? place : "");
}
