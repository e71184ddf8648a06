/* snap.c - look at a thread, work out its wait, look at those who could end it, and so on. */
#include "stuck/snap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "event/syscalls.h"
#include "proc/proc.h"
#include "stuck/cgroups.h"
#include "stuck/hotspot.h"
#include "stuck/io_limit.h"
#include "stuck/postgres.h"
#include "stuck/python_lock.h"

void wait_edge(struct wait *wait, const struct stuck_edge *edge)
{
	for (size_t i = 0; i < wait->count; i++) {
		struct stuck_edge *at = &wait->edges[i];

		if (at->tid == edge->tid && at->is_process == edge->is_process) {
			if (at->is_inferred && !edge->is_inferred)
				*at = *edge; /* what is known says more */
			return;
		}
	}
	if (wait->count == WAIT_EDGES_MAX) {
		wait->has_hole = true;
		return;
	}
	wait->edges = vec_room(wait->edges, wait->count, &wait->cap, sizeof(*wait->edges));
	wait->edges[wait->count++] = *edge;
}

void wait_object(struct wait *wait, const char *format, ...)
{
	va_list args;

	wait->which = (struct stuck_which){ 0 };
	wait->common_at = wait->limit_at = 0;
	wait->is_limited = false;
	va_start(args, format);
	(void)vsnprintf(wait->object, sizeof(wait->object), format, args);
	va_end(args);
}

void wait_object_at(struct wait *wait, const char *kind, uint64_t address, const char *rest)
{
	AUTO_FREE char *which = xasprintf(" 0x%llx", (unsigned long long)address);

	wait_object(wait, "%s%s%s", kind, which, rest);
	wait->which = (struct stuck_which){ (uint16_t)strlen(kind), (uint16_t)strlen(which) };
}

/* Of the flags and the edges, what describes the wait best. */
static enum stuck_kind settled(const struct wait *wait)
{
	if (wait->count)
		return STUCK_TASKS;
	if (wait->has_timer || (wait->is_timed && !wait->has_outside && !wait->has_unowned))
		return STUCK_TIMER;
	if (wait->has_outside)
		return STUCK_OUTSIDE;
	return wait->has_unowned ? STUCK_UNOWNED : STUCK_UNKNOWN;
}

static void traced_wait(struct asleep *asleep)
{
	struct stuck_edge edge = { .is_process = true, .how = STUCK_HOW_TRACES };
	char name[64], text[4096];
	const char *at;

	asleep->wait->kind = STUCK_TRACED;
	snprintf(name, sizeof(name), "task/%d/status", asleep->task.tid);
	if (look_file(&asleep->snap->look, asleep->process, name, text, sizeof(text)) <= 0)
		return;
	at = strstr(text, "\nTracerPid:");
	edge.tid = at ? (int32_t)strtol(at + 11, NULL, 10) : 0;
	if (edge.tid > 0)
		wait_edge(asleep->wait, &edge);
}

/* It is there until its parent waits for it. */
static void exited_wait(struct asleep *asleep)
{
	struct stuck_edge edge = { .tid = asleep->task.ppid,
				   .is_process = true,
				   .how = STUCK_HOW_PARENT };

	asleep->wait->kind = STUCK_EXITED;
	if (asleep->task.tid == asleep->task.tgid && asleep->process->via) {
		wait_object(asleep->wait, "other threads of the process live on");
		return;
	}
	if (edge.tid > 0 && asleep->task.tid == asleep->task.tgid)
		wait_edge(asleep->wait, &edge);
}

/*
 * With its process, whose main thread tells: not all threads are asked for where they sleep. Since Linux 6.1 some
 * sleeps are frozen where they are, and only the cgroup tells.
 */
static bool is_frozen(const struct asleep *asleep)
{
	const struct task *main = look_task(&asleep->snap->look, asleep->task.tgid);

	return proc_wchan_frozen(asleep->task.wchan) ||
	       (main && asleep->task.state == main->state && proc_wchan_frozen(main->wchan)) ||
	       (asleep->task.state == 'D' &&
		cgroup_is_frozen(&asleep->snap->look, asleep->process));
}

/* 32-bit programs have other numbers, and other structures, that are not looked into. */
static bool is_compat(const struct task *task)
{
	return sizeof(long) == 8 && task->sp <= UINT32_MAX && task->pc <= UINT32_MAX;
}

static void asleep_in_call(struct asleep *asleep)
{
	const struct task *task = &asleep->task;
	struct wait *wait = asleep->wait;
	struct utsname host;
	const char *name;

	if ((!task->has_call || task->nr < 0) && userfault_wait(asleep)) {
		snprintf(wait->in, sizeof(wait->in), "page fault");
		return;
	}
	if (!task->has_call || task->nr < 0) {
		snprintf(wait->in, sizeof(wait->in), "%s",
			 task->has_call ? "outside of a system call" : "");
		wait_object(wait, "%s", task->wchan);
		wait->has_unknown = true;
		return;
	}
	name = uname(&host) == 0 ? syscalls_name(host.machine, task->nr, is_compat(task)) : NULL;
	if (name)
		snprintf(wait->in, sizeof(wait->in), "%s", name);
	else
		snprintf(wait->in, sizeof(wait->in), "system call %d", task->nr);
	if (name && !is_compat(task))
		call_wait(asleep, name);
	else
		wait->has_unknown = true;
}

/* Asleep without regard to signals: a parent of vfork(), for a server of FUSE, else the kernel's own business. */
static void asleep_in_kernel(struct asleep *asleep)
{
	asleep_in_call(asleep);
	asleep->wait->kind = STUCK_KERNEL;
	if (asleep->wait->count && strstr(asleep->wait->in, "fork") == NULL &&
	    strncmp(asleep->wait->in, "clone", 5) != 0 &&
	    asleep->wait->edges[0].how != STUCK_HOW_FUSE) {
		asleep->wait->count = 0;
		asleep->wait->object[0] = '\0';
	}
	if (asleep->wait->count)
		asleep->wait->kind = STUCK_TASKS;
	else if (!asleep->wait->object[0])
		wait_object(asleep->wait, "%s", asleep->task.wchan);
	if (!asleep->wait->count)
		io_limit_add(asleep);
}

static void work_out(struct asleep *asleep)
{
	struct wait *wait = asleep->wait;
	const struct task *task = &asleep->task;

	if (is_frozen(asleep))
		wait->kind = STUCK_FROZEN;
	else if (task->state == 'S') {
		asleep_in_call(asleep);
		child_signal_wait(asleep);
		wait->kind = settled(wait);
	} else if (task->state == 'D')
		asleep_in_kernel(asleep);
	else if (task->state == 'T')
		wait->kind = STUCK_STOPPED;
	else if (task->state == 't')
		traced_wait(asleep);
	else if (task->state == 'Z' || task->state == 'X')
		exited_wait(asleep);
}

static struct wait *add_wait(struct snap *snap)
{
	snap->waits =
		vec_room(snap->waits, snap->wait_count, &snap->wait_cap, sizeof(*snap->waits));
	snap->waits[snap->wait_count] = (struct wait){ 0 };
	return &snap->waits[snap->wait_count++];
}

/* Whom it names must be there; who is gone could not end it. */
static void look_at_edges(struct snap *snap, struct wait *wait)
{
	for (size_t i = 0; i < wait->count; i++) {
		struct process *process =
			wait->edges[i].is_process
				? look_process(&snap->look, wait->edges[i].tid)
				: look_process_of(&snap->look, wait->edges[i].tid);

		if (!process)
			wait->has_hole = true;
	}
}

void snap_take(struct snap *snap, int proc_fd, struct worker *worker, const struct snap *before,
	       const int32_t *tgids, size_t count, struct snap_bounds bounds)
{
	*snap = (struct snap){ .look = { .proc_fd = proc_fd,
					 .worker = worker,
					 .before = before ? &before->look : NULL,
					 .budget_ns = bounds.budget_ns,
					 .until_ns = bounds.until_ns,
					 .most = bounds.most } };
	for (size_t i = 0; i < count; i++)
		(void)look_process(&snap->look, tgids[i]);
	for (size_t i = 0; i < snap->look.count; i++) {
		struct asleep asleep = { .snap = snap, .task = snap->look.tasks[i] };

		asleep.wait = add_wait(snap);
		asleep.process = look_owner(&snap->look, &asleep.task);
		if (!asleep.process || asleep.task.is_kernel)
			continue;
		if (bounds.until_ns && look_is_over(&snap->look)) {
			asleep.wait->kind = STUCK_UNKNOWN;
			snap->cut++;
			continue;
		}
		work_out(&asleep);
		look_at_edges(snap, asleep.wait);
	}
}

void snap_fini(struct snap *snap)
{
	for (size_t i = 0; i < snap->wait_count; i++)
		free(snap->waits[i].edges);
	free(snap->waits);
	holders_fini(&snap->holders);
	sockets_fini(&snap->sockets);
	map_fini(&snap->ends);
	map_fini(&snap->spaces);
	free(snap->locks);
	for (size_t i = 0; i < snap->java_count; i++)
		hotspot_free(snap->javas[i]);
	free(snap->javas);
	map_fini(&snap->by_java);
	for (size_t i = 0; i < snap->python_count; i++)
		python_free(snap->pythons[i]);
	free(snap->pythons);
	map_fini(&snap->by_python);
	for (size_t i = 0; i < snap->postgres_count; i++)
		postgres_free(snap->postgreses[i]);
	free(snap->postgreses);
	map_fini(&snap->by_postgres);
	map_fini(&snap->by_go);
	look_fini(&snap->look);
}
