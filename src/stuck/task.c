/* task.c - stat, schedstat, syscall and wchan of a thread. */
#include "stuck/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "proc/stat.h"

bool task_parse_stat(const char *line, struct task *task)
{
	struct proc_stat stat;

	if (!stat_parse(line, &stat) || stat.last < STAT_CPU)
		return false;
	stat_copy_comm(&stat, task->comm, sizeof(task->comm));
	task->state = stat.state;
	task->ppid = (int32_t)stat.field[STAT_PPID];
	task->is_kernel = stat.field[STAT_FLAGS] & STAT_KERNEL_THREAD;
	task->prio = (int32_t)stat.field[STAT_PRIO];
	task->birth = stat.field[STAT_BIRTH];
	task->cpu = (int32_t)stat.field[STAT_CPU];
	return true;
}

/* "running", "-1 SP PC", "202 0x... (six of them) SP PC" */
bool task_parse_call(const char *line, struct task *task)
{
	char *at;
	long nr = strtol(line, &at, 10);

	task->nr = -1;
	if (at == line)
		return false;
	for (int i = 0; nr >= 0 && i < TASK_ARGS; i++)
		task->args[i] = strtoull(at, &at, 16);
	task->sp = strtoull(at, &at, 16);
	task->pc = strtoull(at, &at, 16);
	task->nr = nr < 0 ? -1 : (int32_t)nr;
	return true;
}

static int task_read_file(int proc_fd, const struct task *task, const char *name, char *text,
			  size_t bytes)
{
	AUTO_CLOSE int fd = -1;
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "%d/task/%d/%s", task->tgid, task->tid, name);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	/* Such files come whole: there are many to read, so the end is not asked for. */
	got = fd < 0 ? -1 : read(fd, text, bytes - 1);
	if (got < 0)
		return -errno;
	text[got] = '\0';
	return (int)got;
}

static void read_call(int proc_fd, struct task *task)
{
	char text[256];
	int rc = task_read_file(proc_fd, task, "syscall", text, sizeof(text));

	task->is_barred = rc == -EPERM || rc == -EACCES;
	task->has_call = rc > 0 && task_parse_call(text, task);
}

#define PAGE_BYTES 4096u /* or more: a part of a page is read as well */

static bool is_asleep(const struct task *task)
{
	return task->state == 'S' || task->state == 'D';
}

static bool is_in_futex(const struct task *task)
{
	return task->has_call && task->nr == SYS_futex;
}

bool task_is_same(const struct task *before, const struct task *after)
{
	return before->birth == after->birth && before->state == after->state && before->runs &&
	       before->runs == after->runs;
}

static bool read_memory(const struct task *task, uint64_t address, void *buffer, size_t bytes)
{
	struct iovec here = { buffer, bytes };
	struct iovec there = { (void *)(uintptr_t)address, bytes };

	return process_vm_readv(task->tid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* The whole window, or, at the edge of what is mapped, the part of it that is in the page of the word. */
void task_read_window(struct task *task)
{
	uint64_t address = task->args[0], start = address - TASK_WINDOW_BEFORE;
	uint64_t edge = (start / PAGE_BYTES + 1) * PAGE_BYTES; /* the next page */
	size_t skip = edge <= address ? edge - start : 0;
	size_t bytes = (skip ? TASK_WINDOW_BYTES : edge - start) - skip;

	task->has_window = false;
	if (!is_in_futex(task) || address < TASK_WINDOW_BEFORE)
		return;
	memset(task->window, 0, sizeof(task->window));
	task->has_window = read_memory(task, start, task->window, TASK_WINDOW_BYTES);
	if (!task->has_window && edge - start < TASK_WINDOW_BYTES)
		task->has_window = read_memory(task, start + skip, task->window + skip, bytes);
}

bool task_read(int proc_fd, int32_t tgid, int32_t tid, const struct task *before,
	       struct task *out_task)
{
	struct task task = { .tid = tid, .tgid = tgid, .nr = -1 };
	char text[1024];

	if (task_read_file(proc_fd, &task, "stat", text, sizeof(text)) <= 0 ||
	    !task_parse_stat(text, &task))
		return false;
	/* The number before the rest: who is told asleep slept since then. */
	if (is_asleep(&task))
		task.runs = proc_runs(proc_fd, tgid, tid);
	if (before && is_asleep(&task) && task_is_same(before, &task)) {
		*out_task = *before;
		return true;
	}
	if (is_asleep(&task) && !task.is_kernel) {
		read_call(proc_fd, &task);
		/* Of a futex the call says it all, but of the main thread, which may be frozen. */
		if ((is_in_futex(&task) && task.state == 'S' && tid != tgid) ||
		    task_read_file(proc_fd, &task, "wchan", task.wchan, sizeof(task.wchan)) <= 0 ||
		    strcmp(task.wchan, "0") == 0)
			task.wchan[0] = '\0';
	}
	*out_task = task;
	return true;
}
