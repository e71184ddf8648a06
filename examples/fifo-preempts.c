/* fifo-preempts.c - a real-time thread takes the CPU from one that computes. */
#include <stdatomic.h>

#include "truth.h"

static const struct example example = {
	.name = "fifo-preempts",
	.shows = "The main thread computes, kept on one CPU. A SCHED_FIFO thread on the same\n"
		 "CPU runs twenty bursts of 10 ms, 5 ms apart. The answer is that thread.\n"
		 "Needs the right to use SCHED_FIFO. Bursts stay below the kernel's limit for\n"
		 "real-time threads.",
};

struct bursts {
	const struct run *run;
	struct root root;
	atomic_bool done;
};

static void *preempt(void *context)
{
	struct bursts *bursts = context;
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	set_name("fifo-bursts");
	pin(last_cpu());
	go_fifo(10);
	for (int i = 0; i < 20; i++) {
		nap(run_ms(bursts->run, 5));
		burn_until(now_ns() + run_ms(bursts->run, 10));
	}
	/* All that it ran, going to sleep and waking too, the other one did not. */
	root_set(&bursts->root, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns);
	atomic_store(&bursts->done, true);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct bursts bursts = { .run = &run };
	uint64_t start_ns, end_ns;
	pthread_t thread;

	pin(last_cpu());
	start_ns = now_ns();
	pthread_create(&thread, NULL, preempt, &bursts);
	while (!atomic_load(&bursts.done))
		burn_some();
	end_ns = now_ns();
	pthread_join(thread, NULL);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "preempted",
				     .root = bursts.root,
				     .what = "twenty bursts of a real-time thread",
			     });
}
