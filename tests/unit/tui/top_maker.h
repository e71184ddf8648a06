/* top_maker.h - tasks for holdup top, with round numbers. */
#ifndef TESTS_UNIT_TUI_TOP_MAKER_H
#define TESTS_UNIT_TUI_TOP_MAKER_H

#include <stdio.h>

#include "tui/top_model.h"

#define SECOND 1000000000ull

/* Process 'pid', child of 'parent', that ran and waited for a CPU for so many percent. */
static inline struct top_task make_task(int pid, int parent, int run, int cpu)
{
	struct top_task task = {
		.tid = pid,
		.tgid = pid,
		.ppid = parent,
		.is_process = true,
		.threads = 1,
		.birth_ns = (uint64_t)pid * SECOND,
		.base_ns = SECOND,
		.known = (1u << TOP_TIMES) - 1,
		.has_io = true,
	};

	task.ns[TOP_RUN] = (uint64_t)run * SECOND / 100;
	task.ns[TOP_CPU] = (uint64_t)cpu * SECOND / 100;
	top_task_charge(&task);
	(void)snprintf(task.name, sizeof(task.name), "job%d", pid);
	(void)snprintf(task.cgroup, sizeof(task.cgroup), "/%s", pid % 2 ? "odd" : "even");
	return task;
}

#endif
