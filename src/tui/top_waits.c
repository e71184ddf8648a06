/* top_waits.c - see top_waits.h. */
#include "tui/top_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tui/top_lines.h"
#include "tui/top_model.h"

void top_waits_clear(struct top_waits *waits)
{
	for (size_t i = 0; i < waits->by_task.cap; i++) {
		if (waits->by_task.used[i])
			free((void *)(uintptr_t)waits->by_task.slots[i].value);
	}
	map_fini(&waits->by_task);
}

void top_waits_put(struct top_waits *waits, const struct top_task *task, bool is_deadlock,
		   const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct top_wait *wait = xmalloc(sizeof(*wait) + bytes);
	bool is_new;
	uint64_t *at = map_add(&waits->by_task, top_task_key(task), &is_new);

	if (!is_new)
		free((void *)(uintptr_t)*at);
	wait->is_deadlock = is_deadlock;
	memcpy(wait->text, text, bytes);
	*at = (uintptr_t)wait;
}

const struct top_wait *top_waits_of(const struct top_waits *waits, const struct top_task *task)
{
	const uint64_t *at = task->tid ? map_find(&waits->by_task, top_task_key(task)) : NULL;

	return at ? (const struct top_wait *)(uintptr_t)*at : NULL;
}
