/* named.c - see named.h. */
#include "stuck/named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/stacks.h"
#include "stuck/stuck.h"
#include "stuck/waited_kind.h"

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

/* What is called just that, or what waits in a condition variable of its own. */
static bool is_vague(const char *object)
{
	static const char *const words[] = { "futex 0x", "condition variable (by its layout) 0x" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strncmp(object, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false;
}

/* "futex 0x7f00" becomes "Rust Mutex 0x7f00". The threads that wait for one word may do so in several functions. */
static void name_kind(struct stuck *stuck, struct stuck_thread *thread, const struct stacks *stacks)
{
	size_t wait = stacks_first_wait(stacks, thread->tid, 0);
	AUTO_FREE char *before = NULL, *after = NULL;
	const char *kind;

	if (!thread->futex || !thread->which.bytes || !is_vague(thread->object) ||
	    wait >= stacks->wait_count || stacks->waits[wait].tid != thread->tid)
		return;
	kind = waited_kind(stacks, stacks->waits[wait].stack);
	if (!kind)
		return;
	before = xstrdup(thread->object);
	after = xasprintf("%s%s", kind, before + thread->which.at);
	name_convoys(stuck, before, after);
	name_thread(thread, after, kind);
	if (thread->is_timed && strcmp(kind, WAITED_SLEEP) == 0)
		thread->kind = STUCK_TIMER;
}

/* Waits of std::atomic, std::barrier and others share a table of words: which one it is tells nothing of what it is. */
static bool is_shared_word(const char *name)
{
	return strstr(name, "std::__detail::__waiter_pool_base::");
}

void stuck_name_futexes(struct stuck *stuck, const struct stacks *stacks)
{
	for (size_t i = 0; i < stuck->count; i++)
		name_kind(stuck, &stuck->threads[i], stacks);
	for (size_t i = 0; i < stuck->count; i++) {
		struct stuck_thread *thread = &stuck->threads[i];
		const struct stack_futex *futex =
			thread->futex ? stacks_find_futex(stacks, stuck_living(stuck, thread),
							  thread->futex, 1)
				      : NULL;
		AUTO_FREE char *name = NULL, *kind = NULL;

		/* Where it was waited for first, its stack tells. */
		if (!futex || futex->kind == STACK_FUTEX_PLACE || !is_address_last(thread, futex))
			continue;
		kind = xstrndup(thread->object, thread->which.at);
		name = stack_futex_text(stacks, futex, kind);
		if (is_shared_word(name))
			continue;
		name_convoys(stuck, thread->object, name);
		name_thread(thread, name, futex->kind == STACK_FUTEX_VARIABLE ? kind : name);
	}
}
