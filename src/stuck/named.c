/* named.c - see named.h. */
#include "stuck/named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/stacks.h"
#include "stuck/stuck.h"

/* "mutex 0x7f00" becomes "mutex of ledger_lock (server)"; NULL = it stays. */
static char *named_object(const char *object, const struct stacks *stacks,
			  const struct stack_futex *futex)
{
	AUTO_FREE char *address = xasprintf(" 0x%llx", (unsigned long long)futex->address);
	AUTO_FREE char *kind = NULL;
	size_t bytes = strlen(object), tail = strlen(address);

	if (bytes < tail || strcmp(object + bytes - tail, address) != 0)
		return NULL;
	kind = xstrndup(object, bytes - tail);
	return stack_futex_text(stacks, futex, kind);
}

static void put_object(char *object, const char *name)
{
	snprintf(object, STUCK_OBJECT_MAX, "%s", name);
}

/* Its object is that of those who wait in it. */
static void name_convoys(struct stuck *stuck, const char *object, const char *name)
{
	for (size_t i = 0; i < stuck->convoy_count; i++) {
		if (strcmp(stuck->convoys[i].object, object) == 0)
			put_object(stuck->convoys[i].object, name);
	}
}

void stuck_name_futexes(struct stuck *stuck, const struct stacks *stacks)
{
	for (size_t i = 0; i < stuck->count; i++) {
		struct stuck_thread *thread = &stuck->threads[i];
		const struct stack_futex *futex =
			thread->futex ? stacks_find_futex(stacks, thread->tgid, thread->futex, 1)
				      : NULL;
		AUTO_FREE char *name = NULL;

		/* Where it was waited for first, its stack tells. */
		if (!futex || futex->kind == STACK_FUTEX_PLACE)
			continue;
		name = named_object(thread->object, stacks, futex);
		if (!name)
			continue;
		name_convoys(stuck, thread->object, name);
		put_object(thread->object, name);
	}
}
