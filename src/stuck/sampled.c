/* sampled.c - look, count what was found, look again. */
#include "stuck/sampled.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "proc/proc.h"

#define WAITS_MAX   4096u
#define THREADS_MAX 10000u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct sampled_wait wait_of(const struct stuck *stuck, const struct stuck_thread *thread)
{
	struct sampled_wait wait = { .tid = thread->tid,
				     .tgid = thread->tgid,
				     .kind = thread->kind };
	const struct stuck_thread *other;

	memcpy(wait.comm, thread->comm, sizeof(wait.comm));
	if (thread->kind == STUCK_RUNS)
		return wait;
	memcpy(wait.in, thread->in, sizeof(wait.in));
	memcpy(wait.object, thread->object, sizeof(wait.object));
	wait.is_timed = thread->is_timed;
	if (thread->edge_count != 1)
		return wait;
	wait.waits_for = thread->edges[0].tid;
	wait.is_inferred = thread->edges[0].is_inferred;
	other = stuck_find(stuck, wait.waits_for);
	if (other)
		memcpy(wait.waits_for_comm, other->comm, sizeof(wait.waits_for_comm));
	return wait;
}

static bool sampled_is_same(const struct sampled_wait *a, const struct sampled_wait *b)
{
	return a->tid == b->tid && a->tgid == b->tgid && a->kind == b->kind &&
	       a->waits_for == b->waits_for && a->is_timed == b->is_timed &&
	       strcmp(a->in, b->in) == 0 && strcmp(a->object, b->object) == 0;
}

static void count_wait(struct sampled *sampled, const struct sampled_wait *wait)
{
	for (size_t i = 0; i < sampled->wait_count; i++) {
		if (sampled_is_same(&sampled->waits[i], wait)) {
			sampled->waits[i].looks++;
			return;
		}
	}
	if (sampled->wait_count >= WAITS_MAX) {
		sampled->waits_left_out++;
		return;
	}
	sampled->waits = vec_room(sampled->waits, sampled->wait_count, &sampled->wait_cap,
				  sizeof(*sampled->waits));
	sampled->waits[sampled->wait_count] = *wait;
	sampled->waits[sampled->wait_count++].looks = 1;
}

static struct sampled_thread *sampled_thread_of(struct sampled *sampled,
						const struct stuck_thread *thread)
{
	for (size_t i = 0; i < sampled->thread_count; i++) {
		if (sampled->threads[i].tid == thread->tid)
			return &sampled->threads[i];
	}
	if (sampled->thread_count >= THREADS_MAX)
		return NULL;
	sampled->threads = vec_room(sampled->threads, sampled->thread_count, &sampled->thread_cap,
				    sizeof(*sampled->threads));
	sampled->threads[sampled->thread_count] =
		(struct sampled_thread){ .tid = thread->tid, .tgid = thread->tgid };
	return &sampled->threads[sampled->thread_count++];
}

/* "CPU_NS QUEUE_NS SLICES" */
static void read_counts(struct sampled_thread *thread)
{
	char path[64], text[96];
	uint64_t cpu_ns, queue_ns;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", thread->tgid, thread->tid);
	if (proc_read(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &cpu_ns, &queue_ns) != 2)
		return;
	if (!thread->has_counts) {
		thread->cpu_ns[0] = cpu_ns;
		thread->queue_ns[0] = queue_ns;
	}
	thread->cpu_ns[1] = cpu_ns;
	thread->queue_ns[1] = queue_ns;
	thread->has_counts = true;
}

static void count_look(struct sampled *sampled, const struct stuck *stuck)
{
	sampled->looks++;
	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];
		struct sampled_wait wait;
		struct sampled_thread *counts;

		if (!thread->is_asked || thread->kind == STUCK_EXITED)
			continue;
		wait = wait_of(stuck, thread);
		count_wait(sampled, &wait);
		counts = sampled_thread_of(sampled, thread);
		if (counts)
			read_counts(counts);
	}
}

static void take_look(struct sampled *sampled, struct stuck *stuck)
{
	count_look(sampled, stuck);
	stuck_free(sampled->last); /* NULL is fine */
	sampled->last = stuck;
}

static int by_looks(const void *a, const void *b)
{
	const struct sampled_wait *x = a, *y = b;

	if (x->looks != y->looks)
		return x->looks > y->looks ? -1 : 1;
	return x->tid != y->tid ? (x->tid < y->tid ? -1 : 1) : strcmp(x->object, y->object);
}

static void pause_until(uint64_t next_ns, uint64_t end_ns)
{
	uint64_t until = next_ns < end_ns ? next_ns : end_ns;
	const struct timespec at = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL); /* a signal ends it */
}

int sampled_run(const struct stuck_select *select, uint64_t for_ns, uint64_t every_ns,
		const volatile sig_atomic_t *stop, struct sampled **out_sampled, struct err *err)
{
	struct sampled *sampled = xcalloc(1, sizeof(*sampled));
	uint64_t start_ns = now_ns(), end_ns = start_ns + for_ns, at_ns = start_ns;

	while (at_ns < end_ns && !*stop) {
		struct stuck *stuck;
		int rc = stuck_look(select, &stuck, err);

		if (rc == -ESRCH && sampled->looks) {
			sampled->is_ended = true;
			break;
		}
		/* A look that took too long is one less. */
		if (rc < 0 && (rc != -ETIME || !sampled->looks)) {
			sampled_free(sampled);
			return rc;
		}
		if (rc == 0)
			take_look(sampled, stuck);
		pause_until(at_ns + every_ns, end_ns);
		at_ns = now_ns();
	}
	sampled->took_ns = now_ns() - start_ns;
	if (sampled->wait_count)
		qsort(sampled->waits, sampled->wait_count, sizeof(*sampled->waits), by_looks);
	*out_sampled = sampled;
	return 0;
}

void sampled_free(struct sampled *sampled)
{
	if (!sampled)
		return;
	free(sampled->waits);
	free(sampled->threads);
	stuck_free(sampled->last);
	free(sampled);
}
