/* stuck.c - two looks, and what is the same in both. */
#include "stuck/stuck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "proc/proc.h"
#include "stuck/adopted.h"
#include "stuck/asked.h"
#include "stuck/cgroups.h"
#include "stuck/clock.h"
#include "stuck/closed.h"
#include "stuck/graph.h"
#include "stuck/snap.h"
#include "stuck/timer_signal.h"
#include "stuck/worker.h"

#define PATIENCE_MS	100	   /* for one process */
#define FIRST_BUDGET_NS 350000000u /* CPU time of the first look: no process is begun behind it */
#define MORE_BUDGET_NS	150000000u
#define SINCE_BUDGET_NS 150000000u /* of telling since when they wait, for all */

#define THREADS_MAX 100000 /* that are looked at */

#define TITLES_BUDGET_NS 50000000u
#define BIRTH_ERROR_NS	 50000000u /* of since when a thread waits, and of its birth */

#define HANGS "hanging processes"

static uint64_t left_ns(uint64_t now_ns, uint64_t until_ns)
{
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

static const struct wait *wait_before(const struct snap *before, const struct task *task)
{
	const struct task *old = look_task(&before->look, task->tid);
	bool is_still =
		task->state != 'R' && old && old->birth == task->birth && old->state == task->state;

	if (!is_still || ((task->state == 'S' || task->state == 'D') && !task_is_same(old, task)))
		return NULL;
	return (size_t)(old - before->look.tasks) < before->wait_count
		       ? &before->waits[old - before->look.tasks]
		       : NULL;
}

static const struct stuck_edge *edge_of(const struct wait *wait, const struct stuck_edge *wanted)
{
	for (size_t i = 0; i < wait->count; i++) {
		if (wait->edges[i].tid == wanted->tid &&
		    wait->edges[i].is_process == wanted->is_process)
			return &wait->edges[i];
	}
	return NULL;
}

/* Those of its own process, or those of others. */
static void join_edges_of(const struct wait *first, const struct wait *second, bool is_own,
			  struct stuck_thread *thread)
{
	for (size_t i = 0; i < second->count; i++) {
		const struct stuck_edge *edge = &second->edges[i], *other = edge_of(first, edge);

		if (other && (edge->is_process && edge->tid == thread->tgid) == is_own)
			thread->edges[thread->edge_count++] = other->is_inferred ? *other : *edge;
	}
}

/* Others first: that its own process could end it, as of a loop that wakes itself, tells least. */
static void join_edges(const struct wait *first, const struct wait *second,
		       struct stuck_thread *thread)
{
	thread->edges = second->count ? xcalloc(second->count, sizeof(*thread->edges)) : NULL;
	join_edges_of(first, second, false, thread);
	join_edges_of(first, second, true, thread);
	thread->is_complete &=
		thread->edge_count == first->count && thread->edge_count == second->count;
}

static bool is_closed(const struct wait *wait)
{
	return !wait->has_outside && !wait->has_timer && !wait->has_unowned && !wait->has_unknown &&
	       !wait->has_hole;
}

/* What both looks say of it. */
static void join_waits(const struct wait *first, const struct wait *second,
		       struct stuck_thread *thread)
{
	thread->kind = first->kind == second->kind ? second->kind : STUCK_UNKNOWN;
	snprintf(thread->in, sizeof(thread->in), "%s", second->in);
	if (strcmp(first->object, second->object) == 0) {
		memcpy(thread->object, second->object, sizeof(thread->object));
		thread->which = second->which;
		thread->common_at = second->common_at;
		thread->limit_at = second->limit_at;
		thread->is_limited = second->is_limited;
	}
	thread->is_timed = first->is_timed || second->is_timed;
	thread->is_inside = thread->kind == STUCK_UNOWNED && first->is_inside &&
			    second->is_inside && !thread->is_timed;
	thread->is_scheduled = first->is_scheduled && second->is_scheduled;
	thread->has_outside = first->has_outside || second->has_outside;
	thread->is_complete = is_closed(first) && is_closed(second);
	thread->needs_all = first->needs_all && second->needs_all;
	thread->waits_any_child = first->waits_any_child || second->waits_any_child;
	join_edges(first, second, thread);
	if (thread->kind == STUCK_TASKS && !thread->edge_count)
		thread->kind = STUCK_UNKNOWN;
}

static void stuck_add_thread(struct stuck *stuck, const struct snap *first,
			     const struct snap *second, size_t index, const struct asked *targets)
{
	const struct task *task = &second->look.tasks[index];
	const struct wait *before = wait_before(first, task);
	struct stuck_thread *thread = &stuck->threads[stuck->count++];

	*thread = (struct stuck_thread){ .tid = task->tid,
					 .tgid = task->tgid,
					 .birth = task->birth,
					 .state = task->state,
					 .prio = task->prio,
					 .is_asked = asked_has(targets, task->tgid) };
	memcpy(thread->comm, task->comm, sizeof(thread->comm));
	if (before)
		join_waits(before, &second->waits[index], thread);
	if (before && task->has_call && task->nr >= 0) {
		thread->sp = task->sp;
		thread->pc = task->pc;
		thread->runs = task->runs;
		thread->futex = second->waits[index].futex;
	}
}

ORDER_FUNCTION(thread_by_number, struct stuck_thread, ORDER_UP(tgid), ORDER_UP(tid));

static void add_since(struct stuck *stuck, const struct snap *snap)
{
	uint64_t budget_ns = look_spent_ns() + SINCE_BUDGET_NS;
	struct clocks clocks = { .proc_fd = snap->look.proc_fd, .worker = snap->look.worker };

	for (size_t i = 0; i < stuck->count && look_spent_ns() < budget_ns; i++) {
		struct stuck_thread *thread = &stuck->threads[i];
		const struct task *task = look_task(&snap->look, thread->tid);

		if (thread->kind != STUCK_RUNS && thread->kind != STUCK_EXITED && task)
			thread->since_ns = clock_last_ran(&clocks, task);
	}
	clocks_fini(&clocks);
}

/* Of the thread's birth, as the kernel has it: whole clock ticks, on a clock that also counts while the machine sleeps. */
static uint64_t born_ns(uint64_t birth)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t awake_ns = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t slept_ns = clock_read_ns(CLOCK_BOOTTIME) - awake_ns;

	return left_ns(slept_ns, birth * tick_ns);
}

/*
 * A lock keeps its owner's number when that one ends, and the number may be another's by now: one who is younger than
 * the wait need not be the owner. It may have come first when the lock was free for a moment, so it may be the owner as well.
 */
static void doubt_young_owners(struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->count; i++) {
		struct stuck_thread *thread = &stuck->threads[i];

		for (size_t k = 0; k < thread->edge_count && thread->since_ns; k++) {
			struct stuck_edge *edge = &thread->edges[k];
			const struct stuck_thread *owner = stuck_find(stuck, edge->tid);

			if (edge->is_note && owner &&
			    born_ns(owner->birth) > thread->since_ns + BIRTH_ERROR_NS)
				edge->is_inferred = true;
		}
	}
}

static void trim_end(char *text)
{
	size_t length = strlen(text);

	while (length && text[length - 1] == ' ')
		text[--length] = '\0';
}

/* "postgres: app shop [local] idle": a title stands where the arguments of the process were. */
static void read_title(struct snap *snap, struct stuck_thread *thread)
{
	struct process *process = look_process(&snap->look, thread->tgid);
	size_t comm = strlen(thread->comm);
	char text[STUCK_COMM_MAX + STUCK_TITLE_MAX + 2];
	int got = process ? look_file(&snap->look, process, "cmdline", text, sizeof(text)) : 0;

	if (got <= 0 || !comm || strncmp(text, thread->comm, comm) != 0 ||
	    strncmp(text + comm, ": ", 2) != 0)
		return;
	snprintf(thread->title, sizeof(thread->title), "%s", text + comm + 2);
	trim_end(thread->title);
}

static void read_quota(struct snap *snap, struct stuck_thread *thread)
{
	struct process *process = look_process(&snap->look, thread->tgid);

	if (process)
		(void)cgroup_quota(&snap->look, process, thread->object, sizeof(thread->object));
}

static void add_titles(struct stuck *stuck, struct snap *snap)
{
	uint64_t budget_ns = look_spent_ns() + TITLES_BUDGET_NS;

	for (size_t i = 0; i < stuck->count && look_spent_ns() < budget_ns; i++) {
		if (stuck->threads[i].tid == stuck->threads[i].tgid)
			read_title(snap, &stuck->threads[i]);
		if (stuck->threads[i].kind == STUCK_RUNS)
			read_quota(snap, &stuck->threads[i]);
	}
}

void stuck_add_missing(struct stuck *stuck, const char *what, const char *why)
{
	struct stuck_missing *missing;

	stuck->missing = xrealloc(stuck->missing, stuck->missing_count + 1, sizeof(*missing));
	missing = &stuck->missing[stuck->missing_count++];
	snprintf(missing->what, sizeof(missing->what), "%s", what);
	snprintf(missing->why, sizeof(missing->why), "%s", why);
}

static void add_missing(struct stuck *stuck, const char *what, size_t count, const char *why)
{
	AUTO_FREE char *text = count ? xasprintf("%zu %s", count, why) : NULL;

	if (text)
		stuck_add_missing(stuck, what, text);
}

static void add_all_missing(struct stuck *stuck, const struct snap *snap)
{
	const struct look *look = &snap->look;

	add_missing(stuck, "what threads wait for", look->barred,
		    geteuid() ? "system calls of threads are not readable without root"
			      : "system calls of threads are not readable");
	add_missing(stuck, "who has the other end", snap->holders.barred,
		    geteuid() ? "open files of processes are not readable without root"
			      : "open files of processes are not readable");
	add_missing(stuck, "who has the other end", snap->holders.left_out,
		    "processes have too many open files, or took too long");
	if (snap->is_inside_space)
		stuck_add_missing(stuck, "who has the other end",
				  "processes outside of this PID namespace are not seen");
	add_missing(stuck, HANGS, look->hung, "times reading a process took too long");
	add_missing(stuck, "processes and threads", look->skipped + snap->cut,
		    "were not inspected for lack of time");
}

static struct stuck *join(const struct snap *first, const struct snap *second,
			  const struct asked *targets)
{
	struct stuck *stuck = xcalloc(1, sizeof(*stuck));

	stuck->threads = xcalloc(second->wait_count + 1, sizeof(*stuck->threads));
	for (size_t i = 0; i < second->wait_count; i++) {
		if (!second->look.tasks[i].is_kernel)
			stuck_add_thread(stuck, first, second, i, targets);
	}
	qsort(stuck->threads, stuck->count, sizeof(*stuck->threads), thread_by_number);
	for (size_t i = 0; i < stuck->count; i++)
		map_put(&stuck->by_tid, (uint64_t)(uint32_t)stuck->threads[i].tid, i);
	return stuck;
}

/* Nothing is told of who was left out by either look. */
static void count_skipped(struct stuck *stuck, const struct snap *first, const struct snap *second)
{
	size_t before = first->look.skipped + first->cut,
	       after = second->look.skipped + second->cut;
	size_t all = stuck->count + second->look.skipped;

	stuck->skipped = before > after ? before : after;
	stuck->looked = all > stuck->skipped ? all - stuck->skipped : 0;
}

static bool waits_for_descriptor(const struct stuck_thread *thread)
{
	for (size_t i = 0; i < thread->edge_count; i++) {
		enum stuck_how how = thread->edges[i].how;

		if ((how >= STUCK_HOW_READS_PIPE && how <= STUCK_HOW_LISTENS) ||
		    how == STUCK_HOW_FILE_LOCK)
			return true;
	}
	return false;
}

static bool is_any_by_descriptor(const struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->cycle_count; i++) {
		for (size_t k = 0; k < stuck->cycles[i].count; k++) {
			if (waits_for_descriptor(stuck_find(stuck, stuck->cycles[i].tids[k])))
				return true;
		}
	}
	return false;
}

/* A descriptor that is on its way to somebody may be the other end of any that is waited for. */
static bool doubt_descriptors(struct stuck *stuck, const struct snap *snap)
{
	if (!is_any_by_descriptor(stuck) ||
	    !holders_in_flight(&snap->holders, snap->look.proc_fd, snap->look.worker))
		return false;
	for (size_t i = 0; i < stuck->count; i++) {
		if (waits_for_descriptor(&stuck->threads[i]))
			stuck->threads[i].is_complete = stuck->threads[i].needs_all = false;
	}
	return true;
}

/* Who else could end a wait is looked for when nobody is left, as that takes time. */
static void find_deadlocks(struct stuck *stuck, struct snap *snap)
{
	graph_run(stuck);
	if (doubt_descriptors(stuck, snap)) {
		graph_undo(stuck);
		graph_run(stuck);
	}
	while (stuck->cycle_count &&
	       (timer_signal_find(stuck, &snap->look) || adopted_find(stuck, &snap->look))) {
		graph_undo(stuck);
		graph_run(stuck);
	}
}

/* Closes 'proc_fd', unless a thread that was left behind may still use it. */
static struct stuck *look_twice(const struct asked *targets, int proc_fd,
				const struct stuck_select *select, uint64_t start_ns)
{
	size_t most = select->most_threads ? select->most_threads : THREADS_MAX;
	struct worker *worker = worker_new(PATIENCE_MS);
	uint64_t begun_ns = look_spent_ns(), spent_ns, between_ns;
	uint64_t half_ns =
		select->until_ns ? start_ns + left_ns(start_ns, select->until_ns) / 2 : 0;
	struct snap first, second;
	struct stuck *stuck;

	snap_take(&first, proc_fd, worker, NULL, targets->tgids, targets->count,
		  (struct snap_bounds){ begun_ns + FIRST_BUDGET_NS, half_ns, most });
	between_ns = look_now_ns();
	spent_ns = look_spent_ns() - begun_ns;
	/* Less is read of each thread: what the first look had time for, this one has. */
	snap_take(&second, proc_fd, worker, &first, targets->tgids, targets->count,
		  (struct snap_bounds){ begun_ns + 2 * spent_ns + MORE_BUDGET_NS, select->until_ns,
					most });
	stuck = join(&first, &second, targets);
	add_since(stuck, &second);
	doubt_young_owners(stuck);
	add_titles(stuck, &second);
	closed_find(stuck, &second.look);
	find_deadlocks(stuck, &second);
	add_all_missing(stuck, &second);
	count_skipped(stuck, &first, &second);
	stuck->barred = second.look.barred;
	snap_fini(&first);
	snap_fini(&second);
	if (worker_free(worker))
		close(proc_fd);
	stuck->between_ns = between_ns;
	stuck->now_ns = look_now_ns();
	stuck->took_ns = stuck->now_ns - start_ns;
	return stuck;
}

/* Of who was asked for. That a thread runs says nothing of others whose waits may not be read. */
static bool is_any_known(const struct stuck *stuck)
{
	bool runs = false, is_asleep = false;

	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];
		bool is_unknown = !thread->in[0] && thread->kind == STUCK_UNKNOWN;

		if (!thread->is_asked)
			continue;
		if (!is_unknown && thread->kind != STUCK_RUNS)
			return true;
		runs |= thread->kind == STUCK_RUNS;
		is_asleep |= is_unknown;
	}
	return runs && !(is_asleep && stuck->barred);
}

/* Whether anything is known of anybody who was asked for; else why not. */
static int is_answer(const struct stuck *stuck, struct err *err)
{
	if (is_any_known(stuck))
		return 0;
	if (stuck->count)
		return err_set(err, -EACCES, "its wait is not readable%s",
			       geteuid() ? " without root" : "");
	for (size_t i = 0; i < stuck->missing_count; i++) {
		if (strcmp(stuck->missing[i].what, HANGS) == 0)
			return err_set(err, -ETIME,
				       "reading the process takes too long: the "
				       "process hangs");
	}
	if (stuck->skipped)
		return err_set(err, -ETIME, "reading the processes takes too long");
	return err_set(err, -ESRCH, "the process exited or is a kernel thread");
}

int stuck_look(const struct stuck_select *select, struct stuck **out_stuck, struct err *err)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
	uint64_t start_ns = look_now_ns();
	struct asked targets = { 0 };

	if (proc_fd < 0)
		return err_set(err, -errno, "cannot open /proc: %s", strerror(errno));
	rc = asked_find(&targets, proc_fd, select, err);
	if (rc < 0) {
		asked_fini(&targets);
		close(proc_fd);
		return rc;
	}
	*out_stuck = look_twice(&targets, proc_fd, select, start_ns);
	asked_fini(&targets);
	rc = is_answer(*out_stuck, err);
	if (rc < 0)
		stuck_free(*out_stuck);
	return rc;
}

void stuck_free(struct stuck *stuck)
{
	if (!stuck)
		return;
	for (size_t i = 0; i < stuck->count; i++)
		free(stuck->threads[i].edges);
	graph_undo(stuck);
	map_fini(&stuck->by_tid);
	free(stuck->threads);
	free(stuck->missing);
	free(stuck);
}

const struct stuck_thread *stuck_find(const struct stuck *stuck, int32_t tid)
{
	uint64_t *index = map_find(&stuck->by_tid, (uint64_t)(uint32_t)tid);

	return index ? &stuck->threads[*index] : NULL;
}

int32_t stuck_living(const struct stuck *stuck, const struct stuck_thread *thread)
{
	const struct stuck_thread *main = stuck_find(stuck, thread->tgid);

	return main && main->kind == STUCK_EXITED ? thread->tid : thread->tgid;
}
