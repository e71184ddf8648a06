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
	bool is_closed;
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
	job->is_closed =
		job->is_whole && !handles_signals(status) && !has_ring(job) && !shares_memory(job);
}

/* NULL = it takes too long. */
static struct closed_job *closed_ask(struct look *look, const struct stuck_thread *threads,
				     size_t count, int32_t tid)
{
	struct closed_job *job = xcalloc(1, sizeof(*job) + count * sizeof(job->runs[0]));

	job->job = (struct worker_job){ closed_job_run, closed_job_free };
	job->proc_fd = look->proc_fd;
	job->tgid = threads->tgid;
	job->tid = tid;
	job->threads = count;
	for (size_t i = 0; i < count; i++)
		job->runs[i] = (struct closed_runs){ threads[i].tid, threads[i].runs };
	if (worker_do(look->worker, &job->job))
		return job;
	look->hung++;
	return NULL;
}

static void closed_set(struct look *look, struct stuck_thread *threads, size_t count, int32_t tid)
{
	struct closed_job *job = closed_ask(look, threads, count, tid);

	if (!job)
		return;
	for (size_t i = 0; i < count; i++) {
		threads[i].is_inside &= job->is_whole;
		threads[i].is_closed = threads[i].is_inside && job->is_closed;
	}
	closed_job_free(&job->job);
}

/* Of those of a process, one that waits for what names nobody; NULL = there is none, or one could go on by itself. */
static const struct stuck_thread *find_unowned(const struct stuck_thread *threads, size_t count)
{
	const struct stuck_thread *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (threads[i].kind == STUCK_EXITED)
			continue;
		if (!threads[i].is_inside &&
		    (threads[i].kind != STUCK_TASKS || threads[i].is_timed))
			return NULL;
		if (threads[i].is_inside)
			found = &threads[i];
	}
	return found;
}

void closed_find(struct stuck *stuck, struct look *look)
{
	uint64_t budget_ns = look_spent_ns() + CLOSED_BUDGET_NS;
	size_t from = 0, to;

	for (; from < stuck->count && look_spent_ns() < budget_ns; from = to) {
		struct stuck_thread *threads = &stuck->threads[from];
		const struct stuck_thread *unowned;

		for (to = from; to < stuck->count && stuck->threads[to].tgid == threads->tgid;)
			to++;
		unowned = find_unowned(threads, to - from);
		if (unowned)
			closed_set(look, threads, to - from, unowned->tid);
	}
}
