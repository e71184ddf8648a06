/* clock.c - se.exec_start of /proc/TID/sched, brought to CLOCK_MONOTONIC. */
#include "stuck/clock.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/look.h"
#include "stuck/worker.h"

#define SCHED_BYTES 512 /* it stands at the begin */
#define UNKNOWN	    INT64_MIN

/* "se.exec_start    :    16658653.441105", in ms. 0 = not there. */
static uint64_t exec_start(int proc_fd, const char *path)
{
	char text[SCHED_BYTES];
	uint64_t ms, fraction;
	const char *at;

	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "se.exec_start");
	at = at ? strchr(at, ':') : NULL;
	if (!at || sscanf(at + 1, "%" SCNu64 ".%6" SCNu64, &ms, &fraction) != 2)
		return 0;
	return ms * 1000000 + fraction;
}

struct clock_job {
	struct worker_job job;
	int proc_fd;
	int32_t cpu;
	int64_t offset;
	bool is_known;
};

static void clock_job_free(struct worker_job *job)
{
	free(job);
}

/* On that CPU; a call that yields brings the thread's own time up to date. */
static void clock_job_run(struct worker_job *worker_job)
{
	struct clock_job *job = (struct clock_job *)worker_job;
	uint64_t now_ns, start;
	cpu_set_t before, one;

	CPU_ZERO(&one);
	CPU_SET(job->cpu, &one);
	if (sched_getaffinity(0, sizeof(before), &before) < 0 ||
	    sched_setaffinity(0, sizeof(one), &one) < 0)
		return;
	sched_yield();
	now_ns = look_now_ns();
	start = exec_start(job->proc_fd, "thread-self/sched");
	job->is_known = start != 0;
	job->offset = (int64_t)(now_ns - start);
	(void)sched_setaffinity(0, sizeof(before), &before); /* it works on one CPU, too */
}

/* False when it is not known. */
static bool offset_of(struct clocks *clocks, int32_t cpu, int64_t *out_offset)
{
	uint64_t *known = map_find(&clocks->offsets, (uint64_t)cpu);
	int64_t offset = UNKNOWN;
	struct clock_job *job;

	if (!known) {
		job = xcalloc(1, sizeof(*job));
		job->job = (struct worker_job){ clock_job_run, clock_job_free };
		job->proc_fd = clocks->proc_fd;
		job->cpu = cpu;
		if (worker_do(clocks->worker, &job->job)) {
			offset = job->is_known ? job->offset : UNKNOWN;
			free(job);
		}
		map_put(&clocks->offsets, (uint64_t)cpu, (uint64_t)offset);
	} else {
		offset = (int64_t)*known;
	}
	*out_offset = offset;
	return offset != UNKNOWN;
}

uint64_t clock_last_ran(struct clocks *clocks, const struct task *task)
{
	uint64_t start, now_ns = look_now_ns();
	int64_t offset;
	char path[64];

	if (task->cpu < 0 || task->cpu >= CPU_SETSIZE || !offset_of(clocks, task->cpu, &offset))
		return 0;
	snprintf(path, sizeof(path), "%d/task/%d/sched", task->tgid, task->tid);
	start = exec_start(clocks->proc_fd, path);
	if (!start)
		return 0;
	start += (uint64_t)offset;
	return start < now_ns ? start : now_ns;
}

void clocks_fini(struct clocks *clocks)
{
	map_fini(&clocks->offsets);
}
