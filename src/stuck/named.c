/* named.c - see named.h. */
#include "stuck/named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/stacks.h"
#include "stuck/stuck.h"

static void put_object(char *object, const char *name)
{
	snprintf(object, STUCK_OBJECT_MAX, "%s", name);
}

static bool is_address_last(const struct stuck_thread *thread, const struct stack_futex *futex)
{
	AUTO_FREE char *address = xasprintf(" 0x%llx", (unsigned long long)futex->address);

	return thread->which.bytes && strcmp(thread->object + thread->which.at, address) == 0;
}

/* "mutex 0x7f00" becomes "mutex of ledger_lock (server)". */
static void name_thread(struct stuck_thread *thread, const char *name, const char *kind)
{
	size_t at = strlen(kind), bytes = strlen(name);

	put_object(thread->object, name);
	thread->which = (struct stuck_which){ 0 };
	if (bytes >= STUCK_OBJECT_MAX)
		bytes = STUCK_OBJECT_MAX - 1;
	if (bytes > at)
		thread->which = (struct stuck_which){ (uint16_t)at, (uint16_t)(bytes - at) };
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
		AUTO_FREE char *name = NULL, *kind = NULL;

		/* Where it was waited for first, its stack tells. */
		if (!futex || futex->kind == STACK_FUTEX_PLACE || !is_address_last(thread, futex))
			continue;
		kind = xstrndup(thread->object, thread->which.at);
		name = stack_futex_text(stacks, futex, kind);
		name_convoys(stuck, thread->object, name);
		name_thread(thread, name, futex->kind == STACK_FUTEX_VARIABLE ? kind : name);
	}
}
