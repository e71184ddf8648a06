/* top_waits.c - see top_waits.h. */
#include "tui/top_waits.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tui/top_lines.h"
#include "tui/top_model.h"

void top_waits_clear(struct top_waits *waits)
{
	for (size_t i = 0; i < waits->texts.cap; i++) {
		if (waits->texts.used[i])
			free((char *)(uintptr_t)waits->texts.slots[i].value);
	}
	map_fini(&waits->texts);
}

void top_waits_put(struct top_waits *waits, const struct top_task *task, const char *text)
{
	bool is_new;
	uint64_t *at = map_add(&waits->texts, top_task_key(task), &is_new);

	if (!is_new)
		free((char *)(uintptr_t)*at);
	*at = (uintptr_t)xstrdup(text);
}

const char *top_waits_of(const struct top_waits *waits, const struct top_task *task)
{
	const uint64_t *at = task->tid ? map_find(&waits->texts, top_task_key(task)) : NULL;

	return at ? (const char *)(uintptr_t)*at : "";
}
