/* look.c - lists threads of processes, each process by one job of the worker. */
#include "stuck/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/worker.h"

#define PEEK_MAX  65536
#define NAME_MAX_ 64

uint64_t look_now_ns(void)
{
	return clock_now_ns();
}

uint64_t look_spent_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static bool is_over(uint64_t budget_ns, uint64_t until_ns)
{
	return look_spent_ns() > budget_ns || (until_ns && look_now_ns() > until_ns);
}

void look_fini(struct look *look)
{
	for (size_t i = 0; i < look->process_count; i++)
		map_fini(&look->processes[i].numbers);
	free(look->tasks);
	free(look->processes);
	map_fini(&look->by_tid);
	map_fini(&look->by_tgid);
}

/* The job of looking at the threads of one process. It owns all that it points to. */
struct tasks_job {
	struct worker_job job;
	int proc_fd;
	int32_t tgid;
	size_t max;
	uint64_t budget_ns, until_ns;
	struct task *before; /* of the look before this one, by tid */
	size_t before_count;
	struct task *tasks;
	size_t count;
	size_t skipped;
};

static void tasks_job_free(struct worker_job *worker_job)
{
	struct tasks_job *job = (struct tasks_job *)worker_job;

	free(job->before);
	free(job->tasks);
	free(job);
}

static const struct task *task_before(const struct tasks_job *job, size_t *next, int32_t tid)
{
	while (*next < job->before_count && job->before[*next].tid < tid)
		++*next;
	return *next < job->before_count && job->before[*next].tid == tid ? &job->before[*next]
									  : NULL;
}

static void tasks_job_run(struct worker_job *worker_job)
{
	struct tasks_job *job = (struct tasks_job *)worker_job;
	AUTO_FREE int32_t *tids = NULL;
	size_t next = 0;
	char path[32];
	int count;

	snprintf(path, sizeof(path), "%d/task", job->tgid);
	count = proc_numbers(job->proc_fd, path, &tids);
	job->tasks = count > 0 ? xcalloc((size_t)count, sizeof(*job->tasks)) : NULL;
	for (int i = 0; i < count; i++) {
		if (job->count >= job->max ||
		    (i % 16 == 15 && is_over(job->budget_ns, job->until_ns))) {
			job->skipped = (size_t)(count - i);
			return;
		}
		if (!task_read(job->proc_fd, job->tgid, tids[i], task_before(job, &next, tids[i]),
			       &job->tasks[job->count]))
			continue;
		task_read_window(&job->tasks[job->count++]);
	}
}

static struct tasks_job *tasks_job_new(const struct look *look, int32_t tgid)
{
	struct tasks_job *job = xcalloc(1, sizeof(*job));
	uint64_t *index = look->before ? map_find(&look->before->by_tgid, tgid) : NULL;
	const struct process *process = index ? &look->before->processes[*index] : NULL;

	job->job = (struct worker_job){ tasks_job_run, tasks_job_free };
	job->proc_fd = look->proc_fd;
	job->tgid = tgid;
	job->max = look->most - look->count;
	job->budget_ns = look->budget_ns;
	job->until_ns = look->until_ns;
	if (process && process->count) {
		job->before_count = process->count;
		job->before = xcalloc(process->count, sizeof(*job->before));
		memcpy(job->before, look->before->tasks + process->first,
		       process->count * sizeof(*job->before));
	}
	return job;
}

static struct process *look_add_process(struct look *look, int32_t tgid)
{
	struct process *process;

	look->processes = vec_room(look->processes, look->process_count, &look->process_cap,
				   sizeof(*look->processes));
	map_put(&look->by_tgid, tgid, look->process_count);
	process = &look->processes[look->process_count++];
	*process = (struct process){ .tgid = tgid, .first = look->count };
	return process;
}

static bool has_ended(const struct task *task)
{
	return task->state == 'Z' || task->state == 'X';
}

/* Where the main thread ended before others: one of these. */
static int32_t living_thread(const struct tasks_job *job)
{
	if (!job->count || job->tasks[0].tid != job->tgid || !has_ended(&job->tasks[0]))
		return 0;
	for (size_t i = 1; i < job->count; i++) {
		if (!has_ended(&job->tasks[i]))
			return job->tasks[i].tid;
	}
	return 0;
}

static void add_tasks(struct look *look, struct process *process, const struct tasks_job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		look->tasks = vec_room(look->tasks, look->count, &look->cap, sizeof(*look->tasks));
		map_put(&look->by_tid, job->tasks[i].tid, look->count);
		look->tasks[look->count++] = job->tasks[i];
		look->barred += job->tasks[i].is_barred;
	}
	process->count = job->count;
	process->via = living_thread(job);
	look->skipped += job->skipped;
}

static struct process *usable(struct process *process)
{
	return process->count ? process : NULL;
}

/* A folder has a link for each one in it, and two of its own. */
static size_t threads_of(const struct look *look, int32_t tgid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%d/task", tgid);
	return fstatat(look->proc_fd, path, &st, 0) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}

bool look_is_over(const struct look *look)
{
	return is_over(look->budget_ns, look->until_ns);
}

struct process *look_process(struct look *look, int32_t tgid)
{
	uint64_t *index = map_find(&look->by_tgid, tgid);
	struct process *process;
	struct tasks_job *job;

	if (index)
		return usable(&look->processes[*index]);
	process = look_add_process(look, tgid);
	if (look->count >= look->most || look_is_over(look)) {
		look->skipped += threads_of(look, tgid);
		return NULL;
	}
	job = tasks_job_new(look, tgid);
	if (!worker_do(look->worker, &job->job)) {
		process->is_hung = true;
		look->hung++;
		return NULL;
	}
	add_tasks(look, process, job);
	tasks_job_free(&job->job);
	return usable(process);
}

struct process *look_process_of(struct look *look, int32_t tid)
{
	const struct task *task = look_task(look, tid);
	char path[32], text[1024];
	const char *at;

	if (task)
		return look_process(look, task->tgid);
	snprintf(path, sizeof(path), "%d/status", tid);
	if (proc_read(look->proc_fd, path, text, sizeof(text)) <= 0)
		return NULL;
	at = strstr(text, "\nTgid:");
	return at ? look_process(look, (int32_t)strtol(at + 6, NULL, 10)) : NULL;
}

const struct task *look_task(const struct look *look, int32_t tid)
{
	uint64_t *index = map_find(&look->by_tid, tid);

	return index ? &look->tasks[*index] : NULL;
}

struct process *look_owner(const struct look *look, const struct task *task)
{
	uint64_t *index = map_find(&look->by_tgid, task->tgid);

	return index ? &look->processes[*index] : NULL;
}

/* The numbers of a task, from our PID namespace to its own: how many, and the last one. */
static int own_number(const struct look *look, int32_t tid, int32_t *out_number)
{
	char path[32], text[4096], *at;
	int count = 0;

	snprintf(path, sizeof(path), "%d/status", tid);
	if (proc_read(look->proc_fd, path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nNSpid:");
	at = at ? at + 7 : NULL;
	while (at && *at == '\t') {
		*out_number = (int32_t)strtol(at, &at, 10);
		count++;
	}
	return count;
}

bool look_is_nested(struct look *look, struct process *process)
{
	int32_t number;

	if (!process->has_nested) {
		process->is_nested = own_number(look, process->tgid, &number) > 1;
		process->has_nested = true;
	}
	return process->is_nested;
}

/* Its threads by their own numbers: read once, as many may be asked for. */
static int32_t nested_thread(struct look *look, struct process *process, int32_t number)
{
	uint64_t *tid;

	for (size_t i = 0; i < process->count && !process->has_numbers; i++) {
		int32_t own;

		if (own_number(look, look->tasks[process->first + i].tid, &own) > 0)
			map_put(&process->numbers, (uint64_t)own,
				(uint64_t)look->tasks[process->first + i].tid);
	}
	process->has_numbers = true;
	tid = map_find(&process->numbers, (uint64_t)number);
	return tid ? (int32_t)*tid : 0;
}

int32_t look_thread(struct look *look, struct process *process, int32_t number)
{
	const struct task *task;

	if (look_is_nested(look, process))
		return nested_thread(look, process, number);
	task = look_task(look, number);
	return task && task->tgid == process->tgid ? number : 0;
}

int32_t look_number(struct look *look, struct process *process, int32_t number,
		    const int32_t *candidates, size_t count)
{
	bool nested = look_is_nested(look, process);

	for (size_t i = 0; i < count; i++) {
		int32_t own = candidates[i];

		if (nested && own_number(look, candidates[i], &own) < 1)
			continue;
		if (own == number)
			return candidates[i];
	}
	return 0;
}

/* Read memory, a file or a link. */
struct peek_job {
	struct worker_job job;
	int proc_fd;
	int32_t tid; /* of the process, one that lives */
	uint64_t address;
	char path[NAME_MAX_];
	size_t bytes;
	int got; /* how many, or a negative errno */
	char buffer[];
};

static void peek_job_free(struct worker_job *job)
{
	free(job);
}

static void peek_memory(struct worker_job *worker_job)
{
	struct peek_job *job = (struct peek_job *)worker_job;
	struct iovec here = { job->buffer, job->bytes };
	struct iovec there = { (void *)(uintptr_t)job->address, job->bytes };
	ssize_t got = process_vm_readv(job->tid, &here, 1, &there, 1, 0);

	job->got = got < 0 ? -errno : (int)got;
}

static void peek_file(struct worker_job *worker_job)
{
	struct peek_job *job = (struct peek_job *)worker_job;

	job->got = proc_read(job->proc_fd, job->path, job->buffer, job->bytes);
}

static void peek_link(struct worker_job *worker_job)
{
	struct peek_job *job = (struct peek_job *)worker_job;
	ssize_t got = readlinkat(job->proc_fd, job->path, job->buffer, job->bytes - 1);

	job->got = got < 0 ? -errno : (int)got;
	job->buffer[got < 0 ? 0 : got] = '\0';
}

static struct peek_job *peek_new(const struct look *look, const struct process *process,
				 size_t bytes, void (*run)(struct worker_job *))
{
	struct peek_job *job = xcalloc(1, sizeof(*job) + bytes);

	job->job = (struct worker_job){ run, peek_job_free };
	job->proc_fd = look->proc_fd;
	job->tid = process->via ? process->via : process->tgid;
	job->bytes = bytes;
	return job;
}

static int peek(struct look *look, struct process *process, struct peek_job *job, void *buffer)
{
	int got;

	if (!worker_do(look->worker, &job->job)) {
		process->is_hung = true;
		look->hung++;
		return -ETIME;
	}
	got = job->got;
	if (got >= 0)
		memcpy(buffer, job->buffer, job->bytes);
	free(job);
	return got;
}

bool look_memory(struct look *look, struct process *process, uint64_t address, void *buffer,
		 size_t bytes)
{
	struct peek_job *job;

	if (process->is_hung || bytes > PEEK_MAX || address > UINT64_MAX - bytes)
		return false;
	job = peek_new(look, process, bytes, peek_memory);
	job->address = address;
	return peek(look, process, job, buffer) == (int)bytes;
}

static int peek_named(struct look *look, struct process *process, const char *name,
		      struct peek_job *job, void *buffer)
{
	snprintf(job->path, sizeof(job->path), "%d/%s", job->tid, name);
	return peek(look, process, job, buffer);
}

int look_file(struct look *look, struct process *process, const char *name, char *text,
	      size_t bytes)
{
	if (process->is_hung || bytes > PEEK_MAX)
		return -ETIME;
	return peek_named(look, process, name, peek_new(look, process, bytes, peek_file), text);
}

int look_link(struct look *look, struct process *process, const char *name, char *text,
	      size_t bytes)
{
	if (process->is_hung || bytes > PEEK_MAX)
		return -ETIME;
	return peek_named(look, process, name, peek_new(look, process, bytes, peek_link), text);
}
