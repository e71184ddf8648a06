/*
 * priority-inversion.c - an urgent thread waits for a lock that nobody may release.
 *
 * Three threads on one CPU: the main one (urgent) waits for a mutex, its holder is of
 * normal priority, and a thread between them, which needs no lock, keeps the holder
 * off the CPU.
 */
#include "truth.h"

static const struct example example = {
	.name = "priority-inversion",
	.shows =
		"A real-time thread waits for a mutex. Its holder, of normal priority, is kept off\n"
		"the CPU for 250 ms by a real-time thread of lower priority that needs no lock.\n"
		"The answer is that thread, not the holder.",
};

struct inversion {
	const struct run *run;
	pthread_mutex_t mutex;
	pthread_barrier_t held;
	pthread_barrier_t queued; /* the main thread is about to wait for the mutex */
	struct root root;
};

static void *low(void *context)
{
	struct inversion *inversion = context;

	set_name("low-holder");
	pin(last_cpu());
	pthread_mutex_lock(&inversion->mutex);
	pthread_barrier_wait(&inversion->held);
	burn(run_ms(inversion->run, 60));
	pthread_mutex_unlock(&inversion->mutex);
	return NULL;
}

static void *medium(void *context)
{
	struct inversion *inversion = context;
	uint64_t start_ns;

	set_name("medium-hog");
	pin(last_cpu());
	go_fifo(10);
	pthread_barrier_wait(&inversion->queued);
	nap(run_ms(inversion->run, 10));
	start_ns = now_ns();
	burn_until(start_ns + run_ms(inversion->run, 250));
	root_set(&inversion->root, now_ns() - start_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct inversion inversion = { .run = &run, .mutex = PTHREAD_MUTEX_INITIALIZER };
	pthread_t holder, hog;
	uint64_t start_ns, end_ns;

	pthread_barrier_init(&inversion.held, NULL, 2);
	pthread_barrier_init(&inversion.queued, NULL, 2);
	pthread_create(&holder, NULL, low, &inversion);
	pthread_barrier_wait(&inversion.held);
	pthread_create(&hog, NULL, medium, &inversion);
	pin(last_cpu());
	go_fifo(20);
	pthread_barrier_wait(&inversion.queued);
	start_ns = now_ns();
	pthread_mutex_lock(&inversion.mutex);
	end_ns = now_ns();
	pthread_mutex_unlock(&inversion.mutex);
	pthread_join(hog, NULL);
	pthread_join(holder, NULL);
	return run_end(&run,
		       &(struct truth){
			       .start_ns = start_ns,
			       .end_ns = end_ns,
			       .kind = "preempted",
			       .root = inversion.root,
			       .what = "a thread that keeps the holder of the mutex off the CPU",
		       });
}
