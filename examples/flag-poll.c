/*
 * flag-poll.c - a program looks at a variable in memory again and again, and sleeps in between.
 *
 * Nothing that a kernel sees says what the sleeps are for. Which thread set the variable can only be
 * inferred, from what else changed as the sleeps ended.
 */
#include <stdatomic.h>

#include "truth.h"

static const struct example example = {
	.name = "flag-poll",
	.shows =
		"A thread computes for 300 ms, sets a variable and ends. The main thread looks at that\n"
		"variable, and sleeps for 10 ms each time. The answer is the other thread, as inferred.",
};

struct worker {
	const struct run *run;
	struct root root;
	uint64_t done_ns;
	uint64_t queued_ns; /* meanwhile it had no CPU itself */
	atomic_bool is_done;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct spent mark = spent_mark();

	(void)prctl(PR_SET_NAME, "flag-setter");
	root_set(&worker->root, burn(run_ms(worker->run, 300)));
	worker->queued_ns = spent_since(mark).queued_ns;
	worker->done_ns = now_ns();
	atomic_store(&worker->is_done, true);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct worker worker = { .run = &run };
	uint64_t start_ns, end_ns;
	struct spent mark, spent;
	char note[32];
	struct timespec pause;
	pthread_t thread;
	int looks = 0;

	if (pthread_create(&thread, NULL, work, &worker) != 0)
		fail("pthread_create");
	pause = (struct timespec){ .tv_nsec = (long)run_ms(&run, 10) };
	start_ns = now_ns();
	mark = spent_mark();
	while (!atomic_load(&worker.is_done)) {
		looks++;
		(void)nanosleep(&pause, NULL); /* nap() would ask the kernel for its times */
	}
	spent = spent_since(mark);
	end_ns = now_ns();
	(void)pthread_join(thread, NULL);
	/* While it looks, or has no CPU, it does not wait. */
	worker.root.ns =
		worker.done_ns - start_ns - spent.cpu_ns - spent.queued_ns - worker.queued_ns;
	snprintf(note, sizeof(note), "%d looks", looks);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "other_thread",
				     .root = worker.root,
				     .what = "the thread that sets the variable",
				     .note = note,
			     });
}
