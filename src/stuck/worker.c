/* worker.c - one thread that works, and those that were left behind. */
#include "stuck/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/stat.h"

#define LEFT_MAX 6 /* threads that may hang */
#define ROUNDS_MAX \
	40 /* of patience, while it is not the thread that sleeps but the machine that is busy */

/* Shared by us and its thread; whoever is last frees it. */
struct hand {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct worker_job *job; /* NULL = it was done */
	_Atomic int tid;	/* of the thread; 0 = it has not begun. Only it writes */
	bool ends;		/* nothing will come any more */
	bool is_left;		/* we do not wait for it: the thread frees all */
};

struct worker {
	struct hand *hand; /* NULL = none yet */
	pthread_t thread;
	uint32_t patience_ms;
	uint32_t left;
};

static void hand_free(struct hand *hand)
{
	pthread_mutex_destroy(&hand->lock);
	pthread_cond_destroy(&hand->changed);
	free(hand);
}

static void *hand_main(void *context)
{
	struct hand *hand = context;
	struct worker_job *job;
	bool is_left;

	atomic_store(&hand->tid, gettid());
	for (;;) {
		pthread_mutex_lock(&hand->lock);
		while (!hand->job && !hand->ends)
			pthread_cond_wait(&hand->changed, &hand->lock);
		job = hand->job;
		pthread_mutex_unlock(&hand->lock);
		if (!job)
			return NULL;
		job->run(job);
		pthread_mutex_lock(&hand->lock);
		hand->job = NULL;
		is_left = hand->is_left;
		pthread_cond_signal(&hand->changed);
		pthread_mutex_unlock(&hand->lock);
		if (is_left) {
			job->free(job);
			hand_free(hand);
			return NULL;
		}
	}
}

static struct hand *hand_new(pthread_t *out_thread)
{
	struct hand *hand = xcalloc(1, sizeof(*hand));
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&hand->lock, NULL);
	pthread_cond_init(&hand->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(out_thread, NULL, hand_main, hand) == 0)
		return hand;
	hand_free(hand);
	return NULL;
}

struct worker *worker_new(uint32_t patience_ms)
{
	struct worker *worker = xcalloc(1, sizeof(*worker));

	worker->patience_ms = patience_ms;
	return worker;
}

bool worker_free(struct worker *worker)
{
	bool is_alone = !worker || !worker->left;

	if (worker && worker->hand) {
		pthread_mutex_lock(&worker->hand->lock);
		worker->hand->ends = true;
		pthread_cond_signal(&worker->hand->changed);
		pthread_mutex_unlock(&worker->hand->lock);
		pthread_join(worker->thread, NULL);
		hand_free(worker->hand);
	}
	free(worker);
	return is_alone;
}

static struct timespec until(uint32_t ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += (long)(ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	return end;
}

/* Whether the thread would run if it had a CPU: then it does not hang. */
static bool hand_runs(struct hand *hand)
{
	int tid = atomic_load(&hand->tid);
	char path[64], line[STAT_BYTES_MAX];
	struct proc_stat stat;

	if (!tid)
		return true;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	return stat_read(AT_FDCWD, path, line, &stat) && stat.state == 'R';
}

/* Whether the thread is done with it in time; else the thread is on its own. */
static bool hand_wait(struct hand *hand, struct worker_job *job, uint32_t patience_ms)
{
	struct timespec end = until(patience_ms);
	int rounds = 0;
	bool is_done;

	pthread_mutex_lock(&hand->lock);
	hand->job = job;
	pthread_cond_signal(&hand->changed);
	while (hand->job) {
		if (pthread_cond_timedwait(&hand->changed, &hand->lock, &end) != ETIMEDOUT)
			continue;
		if (++rounds == ROUNDS_MAX || !hand_runs(hand))
			break;
		end = until(patience_ms);
	}
	is_done = !hand->job;
	hand->is_left = !is_done;
	pthread_mutex_unlock(&hand->lock);
	return is_done;
}

bool worker_do(struct worker *worker, struct worker_job *job)
{
	if (!worker->hand && worker->left < LEFT_MAX)
		worker->hand = hand_new(&worker->thread);
	if (!worker->hand) {
		job->free(job);
		return false;
	}
	if (hand_wait(worker->hand, job, worker->patience_ms))
		return true;
	pthread_detach(worker->thread);
	worker->hand = NULL;
	worker->left++;
	return false;
}
