/*
 * mixed-load.c - threads that compute, sleep, talk over a pipe and queue for a mutex.
 *
 * usage: mixed-load SECONDS FILE
 *
 * Each thread reads its own schedstat just after it started and just before it
 * ends and leaves one line of JSON in FILE: the two moments and what the kernel
 * counted between them.
 */
#include <pthread.h>

#include "../../examples/truth.h"

#define MARK_NS	      UINT64_C(200000) /* a mark takes less, unless something came between */
#define MARK_ATTEMPTS 1000

enum {
	COMPUTE,
	COMPUTE_NICE,
	SLEEP,
	PING,
	PONG,
	LOCK_A,
	LOCK_B,
	YIELD,
	KINDS
};

static const char *const names[KINDS] = {
	[COMPUTE] = "mix-compute", [COMPUTE_NICE] = "mix-nice", [SLEEP] = "mix-sleep",
	[PING] = "mix-ping",	   [PONG] = "mix-pong",		[LOCK_A] = "mix-lock-a",
	[LOCK_B] = "mix-lock-b",   [YIELD] = "mix-yield",
};

struct load {
	uint64_t end_ns;
	int ping[2], pong[2];
	pthread_mutex_t mutex;
	pthread_mutex_t file_mutex;
	FILE *file;
};

struct worker {
	struct load *load;
	int kind;
	pthread_t thread;
};

static void compute_and_nap(uint64_t compute_ns, uint64_t nap_ns)
{
	burn_until(now_ns() + compute_ns);
	nap(nap_ns);
}

static void talk(int from, int to)
{
	char byte = 0;

	if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
		fail("pipe");
}

static void lock_and_compute(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	burn_until(now_ns() + 3 * NS_PER_MS);
	pthread_mutex_unlock(mutex);
	nap(NS_PER_MS);
}

static void one_round(struct load *load, int kind)
{
	switch (kind) {
	case COMPUTE:
	case COMPUTE_NICE:
		compute_and_nap(20 * NS_PER_MS, 7 * NS_PER_MS);
		break;
	case SLEEP:
		nap(5 * NS_PER_MS);
		break;
	case PING:
		talk(load->pong[0], load->ping[1]);
		nap(NS_PER_MS);
		break;
	case PONG:
		talk(load->ping[0], load->pong[1]);
		break;
	case LOCK_A:
	case LOCK_B:
		lock_and_compute(&load->mutex);
		break;
	case YIELD:
		sched_yield();
		nap(2 * NS_PER_MS);
		break;
	}
}

/*
 * A mark whose numbers belong together: a machine that stops between two of them (a
 * hypervisor's does) makes them those of different moments.
 */
static struct spent tight_mark(void)
{
	struct spent mark;
	uint64_t before_ns;

	for (int attempt = 0; attempt < MARK_ATTEMPTS; attempt++) {
		before_ns = now_ns();
		mark = spent_mark();
		if (now_ns() - before_ns < MARK_NS)
			break;
	}
	return mark;
}

/* What the kernel counted for the calling thread since the two marks. */
static void report(struct load *load, int kind, struct spent mark)
{
	struct spent now = tight_mark();

	pthread_mutex_lock(&load->file_mutex);
	fprintf(load->file,
		"{\"tid\":%d,\"comm\":\"%s\",\"start_ns\":%llu,\"end_ns\":%llu,"
		"\"cpu_ns\":%llu,\"queued_ns\":%llu,\"waits\":%llu}\n",
		gettid(), names[kind], (unsigned long long)mark.wall_ns,
		(unsigned long long)now.wall_ns, (unsigned long long)(now.cpu_ns - mark.cpu_ns),
		(unsigned long long)(now.queued_ns - mark.queued_ns),
		(unsigned long long)(now.waits - mark.waits));
	pthread_mutex_unlock(&load->file_mutex);
}

static void *work(void *context)
{
	struct worker *worker = context;
	struct load *load = worker->load;
	struct spent mark;

	set_name(names[worker->kind]);
	if (worker->kind == COMPUTE_NICE && setpriority(PRIO_PROCESS, (id_t)gettid(), 5) < 0)
		fail("setpriority");
	mark = tight_mark();
	while (now_ns() < load->end_ns)
		one_round(load, worker->kind);
	report(load, worker->kind, mark);
	/* Whoever still waits for a byte gets one. */
	if (worker->kind == PING || worker->kind == PONG)
		(void)!write(worker->kind == PING ? load->ping[1] : load->pong[1], "", 1);
	return NULL;
}

int main(int argc, char **argv)
{
	struct load load = { .mutex = PTHREAD_MUTEX_INITIALIZER,
			     .file_mutex = PTHREAD_MUTEX_INITIALIZER };
	struct worker workers[KINDS];

	if (argc != 3)
		return EXIT_USAGE;
	load.file = fopen(argv[2], "we");
	if (!load.file || pipe(load.ping) < 0 || pipe(load.pong) < 0)
		fail("mixed-load");
	load.end_ns = now_ns() + (uint64_t)(atof(argv[1]) * (double)NS_PER_S);
	for (int i = 0; i < KINDS; i++) {
		workers[i] = (struct worker){ .load = &load, .kind = i };
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < KINDS; i++)
		pthread_join(workers[i].thread, NULL);
	return fclose(load.file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
