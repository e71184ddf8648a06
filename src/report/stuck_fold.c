/* stuck_fold.c - see stuck_fold.h. Alike: the same call and the same object, but for its address. */
#include "report/stuck_fold.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stuck/stuck.h"

bool stuck_is_idle(const struct stuck_thread *thread)
{
	return thread->root != STUCK_ROOT_VICTIM && thread->root != STUCK_ROOT_INSIDE &&
	       thread->root != STUCK_ROOT_DEADLOCK && !thread->edge_count &&
	       thread->kind != STUCK_RUNS && thread->kind != STUCK_KERNEL &&
	       thread->kind != STUCK_STOPPED && thread->kind != STUCK_TRACED &&
	       thread->kind != STUCK_FROZEN;
}

/* Who is idle waits for what nobody owns: which one it is says no more. */
char *stuck_fold_object(const struct stuck_thread *thread)
{
	const struct stuck_which *which = &thread->which;

	return xasprintf("%.*s%s", (int)(which->bytes ? which->at : sizeof(thread->object)),
			 thread->object,
			 which->bytes ? thread->object + which->at + which->bytes : "");
}

/* Whoever is in no call stays alone. */
static char *stuck_fold_key_of(const struct stuck_thread *thread, bool apart)
{
	AUTO_FREE char *object = stuck_fold_object(thread);

	if (apart)
		return xasprintf("!%010d %010d", thread->tgid, thread->tid);
	return thread->in[0] ? xasprintf("%010d %d %d %d %s %s", thread->tgid, thread->kind,
					 thread->root, thread->is_timed, thread->in, object)
			     : xasprintf("%010d %010d", thread->tgid, thread->tid);
}

struct row {
	char *key;
	size_t index;
};

/* Threads stand by their numbers. */
static int by_key(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = strcmp(a->key, b->key);

	return order ? order : (a->index > b->index) - (a->index < b->index);
}

void stuck_fold_make(const struct stuck *stuck, const bool *apart, struct stuck_fold *out_fold)
{
	AUTO_FREE struct row *rows = xcalloc(stuck->count + 1, sizeof(*rows));
	struct stuck_fold fold = { .indices = xcalloc(stuck->count + 1, sizeof(*fold.indices)),
				   .keys = xcalloc(stuck->count + 1, sizeof(*fold.keys)) };

	for (size_t i = 0; i < stuck->count; i++) {
		if (stuck_is_idle(&stuck->threads[i]))
			rows[fold.count++] =
				(struct row){ stuck_fold_key_of(&stuck->threads[i], apart[i]), i };
	}
	qsort(rows, fold.count, sizeof(*rows), by_key);
	for (size_t i = 0; i < fold.count; i++) {
		fold.indices[i] = rows[i].index;
		fold.keys[i] = rows[i].key;
	}
	*out_fold = fold;
}

void stuck_fold_fini(struct stuck_fold *fold)
{
	for (size_t i = 0; i < fold->count; i++)
		free(fold->keys[i]);
	free(fold->keys);
	free(fold->indices);
	*fold = (struct stuck_fold){ 0 };
}

size_t stuck_fold_length(const struct stuck_fold *fold, size_t from)
{
	size_t to = from + 1;

	while (to < fold->count && strcmp(fold->keys[to], fold->keys[from]) == 0)
		to++;
	return to - from >= STUCK_FOLD_MIN ? to - from : 1;
}
