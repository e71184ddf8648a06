/* join-workers.c - a main thread joins its workers; one of them is slow. */
#include "truth.h"

#define WORKERS 3
#define SLOW	1 /* the index of the worker that computes */

static const struct example example = {
	.name = "join-workers",
	.shows =
		"A main thread joins three workers in turn. The first sleeps for 50 ms, the second\n"
		"computes for 350 ms, the third sleeps for 100 ms. The answer is the second one, from\n"
		"the moment the first has ended.",
};

struct worker {
	const struct run *run;
	int index;
	struct root root;
	uint64_t cpu_ns; /* its time on a CPU when it was done */
};

static const char *const names[WORKERS] = { "worker-1", "worker-2", "worker-3" };

static void *work(void *context)
{
	struct worker *worker = context;

	set_name(names[worker->index]);
	root_set(&worker->root, 0);
	if (worker->index == SLOW)
		burn(run_ms(worker->run, 350));
	else
		nap(run_ms(worker->run, worker->index == 0 ? 50 : 100));
	worker->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct worker workers[WORKERS];
	pthread_t threads[WORKERS];
	uint64_t start_ns = now_ns(), join_cpu_ns = 0;
	struct root root;

	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .run = &run, .index = i };
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	for (int i = 0; i < WORKERS; i++) {
		if (i == SLOW)
			join_cpu_ns = thread_cpu_ns(threads[i]);
		pthread_join(threads[i], NULL);
	}
	root = workers[SLOW].root;
	root.ns = workers[SLOW].cpu_ns - join_cpu_ns;
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "other_thread",
				     .root = root,
				     .what = "the worker that computes",
			     });
}
