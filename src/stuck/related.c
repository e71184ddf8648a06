/* related.c - see related.h. */
#include "stuck/related.h"

#include <stdio.h>
#include <stdlib.h>

#define CHILDREN_BYTES 1024

static void add(struct related *related, int32_t tgid)
{
	for (size_t i = 0; i < related->count; i++) {
		if (related->tgids[i] == tgid)
			return;
	}
	if (tgid > 0 && related->count < RELATED_MAX)
		related->tgids[related->count++] = tgid;
}

static void add_children(struct look *look, struct related *related, int32_t tgid)
{
	struct process process = { .tgid = tgid };
	char name[64], text[CHILDREN_BYTES], *at = text, *end;

	snprintf(name, sizeof(name), "task/%d/children", tgid);
	if (look_file(look, &process, name, text, sizeof(text)) <= 0)
		return;
	for (long pid = strtol(at, &end, 10); end != at; pid = strtol(at, &end, 10)) {
		add(related, (int32_t)pid);
		at = end;
	}
}

void related_find(struct look *look, const struct task *task, struct related *out_related)
{
	out_related->count = 0;
	add(out_related, task->tgid);
	add(out_related, task->ppid);
	add_children(look, out_related, task->tgid);
	add_children(look, out_related, task->ppid);
}
