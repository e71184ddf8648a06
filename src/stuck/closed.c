/* closed.c - see closed.h. Only processes are asked of which no thread could go on by itself. */
#include "stuck/closed.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/look.h"
#include "stuck/stuck.h"
#include "stuck/worker.h"

#define CLOSED_BUDGET_NS 100000000u /* CPU time, for all processes */
#define FDS_MAX		 16384

#define SIGNAL_BIT(number) (1ull << ((number)-1))

/* Faults, of threads that run, and what C libraries keep for themselves: their handlers wake nobody. */
#define SIGNALS_OF_FAULTS                                                                  \
	(SIGNAL_BIT(4) | SIGNAL_BIT(7) | SIGNAL_BIT(8) | SIGNAL_BIT(11) | SIGNAL_BIT(32) | \
	 SIGNAL_BIT(33))

/* How often a thread had run when it was looked at; 0 = not known. */
struct closed_runs {
	int32_t tid;
	uint64_t runs;
};

struct closed_job {
	struct worker_job job;
	int proc_fd;
	int32_t tgid;
	int32_t tid; /* of it, one that lives: a main thread that ended has no memory and no files */
	size_t threads; /* that are known */
	bool is_whole;	/* there are no other threads, and these slept all the time */
	bool is_alone; /* and nobody from outside has its memory: only they, or a signal, could end a wait */
	bool is_closed; /* and it handles no signals */
	struct closed_runs runs[];
};

static void closed_job_free(struct worker_job *job)
{
	free(job);
}

/* A list of threads is no snapshot: one that was missed would be in this number. */
static bool has_other_threads(const struct closed_job *job, const char *status)
{
	const char *at = strstr(status, "\nThreads:");

	return !at || strtoull(at + 9, NULL, 10) != job->threads;
}

/* After the others were counted: then these slept when there was no other. */
static bool has_run(const struct closed_job *job)
{
	for (size_t i = 0; i < job->threads; i++) {
		const struct closed_runs *known = &job->runs[i];

		if (known->runs && proc_runs(job->proc_fd, job->tgid, known->tid) != known->runs)
			return true;
	}
	return false;
}

static bool handles_signals(const char *status)
{
	const char *at = strstr(status, "\nSigCgt:");

	return !at || (strtoull(at + 8, NULL, 16) & ~SIGNALS_OF_FAULTS);
}

/* The kernel wakes futexes when an io_uring is told to. */
static bool has_ring(const struct closed_job *job)
{
	AUTO_FREE int32_t *fds = NULL;
	char path[96], link[64];
	int count;

	snprintf(path, sizeof(path), "%d/task/%d/fd", job->tgid, job->tid);
	count = proc_numbers(job->proc_fd, path, &fds);
	if (count < 0 || count > FDS_MAX)
		return true;
	for (int i = 0; i < count; i++) {
		ssize_t length;

		snprintf(path, sizeof(path), "%d/task/%d/fd/%d", job->tgid, job->tid, fds[i]);
		length = readlinkat(job->proc_fd, path, link, sizeof(link) - 1);
		link[length > 0 ? length : 0] = '\0';
		if (length <= 0 || strcmp(link, "anon_inode:[io_uring]") == 0)
			return true;
	}
	return false;
}

/* By clone() without a new address space. Of processes that may not be asked, other users have none. */
static bool shares_memory(const struct closed_job *job)
{
	AUTO_FREE int32_t *tgids = NULL;
	int count = proc_numbers(job->proc_fd, ".", &tgids);

	if (syscall(SYS_kcmp, job->tid, job->tid, KCMP_VM, 0, 0) != 0)
		return true; /* the kernel does not tell */
	for (int i = 0; i < count; i++) {
		if (tgids[i] != job->tgid &&
		    syscall(SYS_kcmp, job->tid, tgids[i], KCMP_VM, 0, 0) == 0)
			return true;
	}
	return count < 1;
}

static void closed_job_run(struct worker_job *worker_job)
{
	struct closed_job *job = (struct closed_job *)worker_job;
	char path[32], status[4096];

	snprintf(path, sizeof(path), "%d/status", job->tgid);
	if (proc_read(job->proc_fd, path, status, sizeof(status)) <= 0)
		return;
	job->is_whole = !has_other_threads(job, status) && !has_run(job);
	job->is_alone = job->is_whole && !has_ring(job) && !shares_memory(job);
	job->is_closed = job->is_alone && !handles_signals(status);
}

/* The threads of a process. */
struct closed_group {
	struct stuck_thread *threads;
	size_t count;
	const struct stuck_thread
		*unowned; /* one that waits for what names nobody; NULL = there is none */
	bool is_asleep;	  /* none could go on by itself */
	const struct stuck_thread *
		only; /* the only one that need not wait for others of the process; NULL = not so */
};

/* NULL = it takes too long. */
static struct closed_job *closed_ask(struct look *look, const struct closed_group *group,
				     const struct stuck_thread *may_run)
{
	struct closed_job *job = xcalloc(1, sizeof(*job) + group->count * sizeof(job->runs[0]));

	job->job = (struct worker_job){ closed_job_run, closed_job_free };
	job->proc_fd = look->proc_fd;
	job->tgid = group->threads->tgid;
	job->tid = group->unowned->tid;
	job->threads = group->count;
	for (size_t i = 0; i < group->count; i++) {
		const struct stuck_thread *thread = &group->threads[i];

		job->runs[i] =
			(struct closed_runs){ thread->tid, thread == may_run ? 0 : thread->runs };
	}
	if (worker_do(look->worker, &job->job))
		return job;
	look->hung++;
	return NULL;
}

/* Of all that none could go on by itself. */
static void closed_set(struct look *look, const struct closed_group *group)
{
	struct closed_job *job = closed_ask(look, group, NULL);

	if (!job)
		return;
	for (size_t i = 0; i < group->count; i++) {
		group->threads[i].is_inside &= job->is_alone;
		group->threads[i].is_closed = group->threads[i].is_inside && job->is_closed;
	}
	closed_job_free(&job->job);
}

static void only_set(struct look *look, const struct closed_group *group)
{
	struct closed_job *job = closed_ask(look, group, group->only);

	if (!job)
		return;
	for (size_t i = 0; i < group->count && job->is_alone; i++) {
		if (group->threads[i].is_inside)
			group->threads[i].only_tid = group->only->tid;
	}
	closed_job_free(&job->job);
}

/* Whether it goes on no sooner than other threads of its process do. */
static bool waits_within(const struct stuck *stuck, const struct stuck_thread *thread)
{
	if (thread->kind != STUCK_TASKS || thread->is_timed || !thread->is_complete)
		return false;
	for (size_t i = 0; i < thread->edge_count; i++) {
		const struct stuck_edge *edge = &thread->edges[i];
		const struct stuck_thread *other = stuck_find(stuck, edge->tid);

		if (edge->is_process || edge->is_inferred || !other || other->tgid != thread->tgid)
			return false;
	}
	return true;
}

/* Whether only its own process is known to end its wait: nothing is told by naming it. */
static bool waits_for_own(const struct stuck_thread *thread)
{
	for (size_t i = 0; i < thread->edge_count; i++) {
		if (thread->edges[i].tid != thread->tgid)
			return false;
	}
	return thread->edge_count && !thread->has_outside && !thread->is_timed;
}

static struct closed_group closed_group_of(const struct stuck *stuck, struct stuck_thread *threads,
					   size_t count)
{
	struct closed_group group = { .threads = threads, .count = count, .is_asleep = true };
	size_t others = 0;

	for (size_t i = 0; i < count; i++) {
		const struct stuck_thread *thread = &threads[i];

		if (thread->kind == STUCK_EXITED)
			continue;
		if (thread->is_inside) {
			group.unowned = thread;
			continue;
		}
		group.is_asleep &= thread->kind == STUCK_TASKS && !thread->is_timed;
		if (!waits_within(stuck, thread)) {
			group.only = thread;
			others++;
		}
	}
	/* That a scheduler looks after its threads from time to time says nothing of what they wait for. */
	if (others != 1 || waits_for_own(group.only) || group.only->is_scheduled)
		group.only = NULL;
	return group;
}

static size_t group_end(const struct stuck *stuck, size_t from)
{
	size_t to = from;

	while (to < stuck->count && stuck->threads[to].tgid == stuck->threads[from].tgid)
		to++;
	return to;
}

/* Deadlocks first: they matter more. */
void closed_find(struct stuck *stuck, struct look *look)
{
	uint64_t budget_ns = look_spent_ns() + CLOSED_BUDGET_NS;

	for (int is_second = 0; is_second < 2; is_second++) {
		size_t from = 0, to;

		for (; from < stuck->count && look_spent_ns() < budget_ns; from = to) {
			struct closed_group group;

			to = group_end(stuck, from);
			group = closed_group_of(stuck, &stuck->threads[from], to - from);
			if (!is_second && group.unowned && group.is_asleep)
				closed_set(look, &group);
			if (is_second && group.unowned && group.only)
				only_set(look, &group);
		}
	}
}
