/* waiting.c - see waiting.h. */
#include "record/waiting.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/facts.h"
#include "proc/proc.h"
#include "store/dump.h"
#include "stuck/stuck.h"

#define FIRST_NS	1000000000u
#define LATER_PART	4  /* the next look is when it lasts longer by that part */
#define COST_PART	50 /* and not before so many times of the CPU time that the last one took */
#define PROCESSES_MAX	256
#define THREADS_MAX	4096
#define LINES_MAX	20000
#define SINCE_ERROR_NS	5000000u /* when a thread had a CPU last is told as a little earlier */
#define CHILDREN_BYTES	8192
#define CHILDREN_OF_MAX 64 /* threads of a process whose children are read */

struct waiting {
	int32_t *roots; /* owned */
	size_t root_count;
	int kernel_fd; /* a view */
	uint64_t begun_ns;
	uint64_t next_ns;
	size_t lines;
	struct map told; /* tid -> hash of what was told of it last */
};

struct waiting *waiting_new(const struct waiting_target *target, int kernel_fd)
{
	struct waiting *waiting = xcalloc(1, sizeof(*waiting));

	waiting->roots = xcalloc(target->count + 1, sizeof(*waiting->roots));
	waiting->root_count = target->count;
	if (target->count)
		memcpy(waiting->roots, target->pids, target->count * sizeof(*waiting->roots));
	waiting->kernel_fd = kernel_fd;
	waiting->begun_ns = clock_read_ns(CLOCK_MONOTONIC);
	waiting->next_ns = waiting->begun_ns + FIRST_NS;
	return waiting;
}

void waiting_free(struct waiting *waiting)
{
	if (!waiting)
		return;
	map_fini(&waiting->told);
	free(waiting->roots);
	free(waiting);
}

/* ------------------------------------------------------------------ whom to look at */

struct family {
	int32_t tgids[PROCESSES_MAX];
	size_t count;
};

static void add_member(struct family *family, int32_t tgid)
{
	for (size_t i = 0; i < family->count; i++) {
		if (family->tgids[i] == tgid)
			return;
	}
	if (family->count < PROCESSES_MAX)
		family->tgids[family->count++] = tgid;
}

static void add_children(struct family *family, int proc_fd, int32_t tgid)
{
	AUTO_FREE int32_t *tids = NULL;
	char path[64], text[CHILDREN_BYTES];
	int count;

	snprintf(path, sizeof(path), "%d/task", tgid);
	count = proc_numbers(proc_fd, path, &tids);
	for (int i = 0; i < count && i < CHILDREN_OF_MAX; i++) {
		char *at = text, *end;

		snprintf(path, sizeof(path), "%d/task/%d/children", tgid, tids[i]);
		if (proc_read(proc_fd, path, text, sizeof(text)) <= 0)
			continue;
		for (long pid; (pid = strtol(at, &end, 10)) > 0 && *end; at = end)
			add_member(family, (int32_t)pid);
	}
}

static void find_family(const struct waiting *waiting, struct family *family)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < waiting->root_count; i++)
		add_member(family, waiting->roots[i]);
	for (size_t i = 0; proc_fd >= 0 && i < family->count; i++)
		add_children(family, proc_fd, family->tgids[i]);
}

/* ----------------------------------------------------------------------- what is told */

/* The kernel keeps no owner of these, only who used them last. */
static bool is_of_ipc(const struct stuck_thread *thread)
{
	return strncmp(thread->in, "sem", 3) == 0 || strncmp(thread->in, "msg", 3) == 0;
}

/*
 * What a time limit, or somebody from outside, may end, is not in vain, unless it is a slice of a wait for a lock, or
 * a semaphore, or for a lease that the kernel takes in the end. A FIFO is opened from outside, and what it is is told
 * by this alone. What names neither who nor what tells nothing.
 */
static bool is_worth_it(const struct stuck_thread *thread, uint64_t end_ns)
{
	bool has_owner = thread->kind == STUCK_TASKS && thread->edge_count > 0;

	if (end_ns && (!thread->since_ns || thread->since_ns + SINCE_ERROR_NS > end_ns))
		return false;
	if (thread->kind == STUCK_TRACED)
		return thread->edge_count > 0;
	if (thread->is_limited)
		return true;
	if (!thread->in[0])
		return false;
	if (thread->has_outside)
		return strncmp(thread->in, "open", 4) == 0 && thread->object[0];
	if (thread->is_timed && !thread->futex && !is_of_ipc(thread) &&
	    strncmp(thread->in, "open", 4) != 0)
		return false;
	return has_owner || (thread->kind == STUCK_UNOWNED && thread->object[0]);
}

/* Whether that was not told of this wait already. */
static bool is_news(struct waiting *waiting, const struct stuck_thread *thread)
{
	uint64_t hash = hash_bytes(thread->object, strlen(thread->object), thread->runs);
	bool is_new;
	uint64_t *told = map_add(&waiting->told, (uint32_t)thread->tid, &is_new);

	hash = hash_bytes(thread->in, strlen(thread->in), hash);
	for (size_t i = 0; i < thread->edge_count; i++)
		hash = hash_bytes(&thread->edges[i].tid, sizeof(thread->edges[i].tid), hash);
	if (!is_new && *told == hash && thread->runs)
		return false;
	*told = hash;
	return true;
}

static void tell_wait(struct waiting *waiting, FILE *out, uint64_t seen_ns,
		      const struct stuck_thread *thread)
{
	struct fact_wait wait = {
		.tid = thread->tid,
		.seen_ns = seen_ns,
		.word = thread->futex,
		.call = thread->in,
		.object = thread->object,
		.how = "",
	};

	for (size_t i = 0; i < thread->edge_count; i++) {
		const struct stuck_edge *edge = &thread->edges[i];

		wait.who = edge->tid;
		wait.is_process = edge->is_process;
		wait.is_inferred = edge->is_inferred;
		wait.how = stuck_how_name(edge->how);
		dump_print_wait(out, &wait);
	}
	if (thread->is_limited) {
		wait.object += thread->limit_at;
		wait.how = HOW_IO_LIMIT;
	}
	if (!thread->edge_count)
		dump_print_wait(out, &wait);
	waiting->lines += thread->edge_count + 1;
}

static void tell_all(struct waiting *waiting, FILE *out, const struct stuck *stuck, uint64_t end_ns)
{
	for (size_t i = 0; i < stuck->count && waiting->lines < LINES_MAX; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (is_worth_it(thread, end_ns) && is_news(waiting, thread))
			tell_wait(waiting, out, end_ns ? end_ns : stuck->between_ns, thread);
	}
}

static void append_all(struct waiting *waiting, const struct stuck *stuck, uint64_t end_ns)
{
	int fd = openat(waiting->kernel_fd, "dump.jsonl",
			O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "a");

	if (!out) {
		mem_close_fd(&fd);
		return;
	}
	tell_all(waiting, out, stuck, end_ns);
	(void)fclose(out); /* a disk that is full is noticed by the readers */
}

static uint64_t later(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t most = a > b ? a : b;

	return most > c ? most : c;
}

static void look(struct waiting *waiting, uint64_t end_ns)
{
	struct family family = { .count = 0 };
	struct stuck_select select = { .tgids = family.tgids,
				       .all = waiting && !waiting->root_count,
				       .may_be_gone = true,
				       .most_threads = THREADS_MAX };
	struct stuck *stuck;
	uint64_t now_ns, cost_ns;

	if (!waiting)
		return;
	cost_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	find_family(waiting, &family);
	select.count = family.count;
	if (stuck_look(&select, &stuck, NULL) < 0)
		return;
	append_all(waiting, stuck, end_ns);
	stuck_free(stuck);
	now_ns = clock_read_ns(CLOCK_MONOTONIC);
	cost_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cost_ns;
	waiting->next_ns = now_ns + later(FIRST_NS, (now_ns - waiting->begun_ns) / LATER_PART,
					  COST_PART * cost_ns);
}

void waiting_look(struct waiting *waiting)
{
	look(waiting, 0);
}

void waiting_look_back(struct waiting *waiting, uint64_t end_ns)
{
	look(waiting, end_ns);
}

void waiting_tick(struct waiting *waiting)
{
	if (waiting && waiting->root_count && clock_read_ns(CLOCK_MONOTONIC) >= waiting->next_ns)
		waiting_look(waiting);
}

void waiting_look_at_all(FILE *out, uint64_t end_ns, uint64_t until_ns,
			 struct waiting_seen *out_seen)
{
	const struct stuck_select select = { .all = true,
					     .most_threads = THREADS_MAX,
					     .until_ns = until_ns };
	struct waiting waiting = { .lines = 0 };
	struct stuck *stuck;

	*out_seen = (struct waiting_seen){ 0 };
	if (stuck_look(&select, &stuck, NULL) < 0)
		return;
	out_seen->looked = stuck->looked;
	out_seen->skipped = stuck->skipped;
	tell_all(&waiting, out, stuck, end_ns);
	stuck_free(stuck);
	map_fini(&waiting.told);
}
