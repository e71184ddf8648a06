/*
 * quotas.h - cgroups whose CPU quota held their tasks back while a recording went on.
 *
 * No event tells of it: a task that is throttled looks like one that waits for a CPU. What the
 * kernel counts in each cpu.stat is read at the start and at the end; the difference goes to
 * manifest->throttles. Both kinds of hierarchies are read (Documentation/admin-guide/cgroup-v2.rst,
 * Documentation/scheduler/sched-bwc.rst).
 */
#ifndef RECORD_QUOTAS_H
#define RECORD_QUOTAS_H

#include <stdbool.h>

struct manifest;
struct quotas;

/* Does a cgroup have a CPU quota? */
bool quotas_any(void);

/* What is counted so far. Never NULL; without cgroups there is nothing in it. */
struct quotas *quotas_begin(void);

/* Compare, and add what was held back meanwhile, the longest first. NULL is fine. */
void quotas_end(const struct quotas *quotas, struct manifest *manifest);

/* NULL is fine. */
void quotas_free(struct quotas *quotas);

#endif
