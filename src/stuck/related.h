/*
 * related.h - the processes around one: its parent, and the children of both. Memory is shared by fork, as a rule.
 */
#ifndef STUCK_RELATED_H
#define STUCK_RELATED_H

#include <stddef.h>
#include <stdint.h>

#include "stuck/look.h"

#define RELATED_MAX 64u

struct related {
	int32_t tgids[RELATED_MAX]; /* the process itself first; each once */
	size_t count;
};

/* Those of the process of 'task', at most RELATED_MAX: its children before those of its parent. */
void related_find(struct look *look, const struct task *task, struct related *out_related);

#endif
