/*
 * futex-convoy.c - four threads queue for a mutex whose holder computes.
 *
 * The main thread is the last in the queue. The three before it keep the mutex
 * for 20 ms each, so that its wait goes through four threads.
 */
#include "truth.h"

#define QUEUED 3 /* threads between the holder and the main thread */

static const struct example example = {
	.name = "futex-convoy",
	.shows = "A thread takes a mutex and computes for 300 ms; three more threads and then\n"
		 "the main thread queue for it. The answer for the main thread is the first\n"
		 "holder, although another thread hands it the mutex.",
};

struct convoy {
	const struct run *run;
	pthread_mutex_t mutex;
	pthread_barrier_t held;
	struct root root;
	uint64_t released_cpu_ns; /* the holder's time on a CPU when it let go */
};

static void *hold(void *context)
{
	struct convoy *convoy = context;

	set_name("convoy-holder");
	pthread_mutex_lock(&convoy->mutex);
	root_set(&convoy->root, 0);
	pthread_barrier_wait(&convoy->held);
	burn(run_ms(convoy->run, 300));
	convoy->released_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	pthread_mutex_unlock(&convoy->mutex);
	return NULL;
}

static void *queue_up(void *context)
{
	struct convoy *convoy = context;

	set_name("convoy-waiter");
	pthread_mutex_lock(&convoy->mutex);
	burn(run_ms(convoy->run, 20));
	pthread_mutex_unlock(&convoy->mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct convoy convoy = { .run = &run, .mutex = PTHREAD_MUTEX_INITIALIZER };
	pthread_t holder, queued[QUEUED];
	uint64_t start_ns, end_ns, holder_cpu_ns;

	pthread_barrier_init(&convoy.held, NULL, 2);
	pthread_create(&holder, NULL, hold, &convoy);
	pthread_barrier_wait(&convoy.held);
	for (int i = 0; i < QUEUED; i++) {
		pthread_create(&queued[i], NULL, queue_up, &convoy);
		nap(5 * NS_PER_MS); /* so that they queue in this order */
	}

	start_ns = now_ns();
	holder_cpu_ns = thread_cpu_ns(holder);
	pthread_mutex_lock(&convoy.mutex);
	end_ns = now_ns();
	convoy.root.ns = convoy.released_cpu_ns - holder_cpu_ns;
	pthread_mutex_unlock(&convoy.mutex);

	for (int i = 0; i < QUEUED; i++)
		pthread_join(queued[i], NULL);
	pthread_join(holder, NULL);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "lock",
				     .root = convoy.root,
				     .what = "the first holder of the mutex computes",
			     });
}
