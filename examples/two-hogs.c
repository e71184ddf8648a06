/* two-hogs.c - two processes compute on one CPU. */
#include "truth.h"

static const struct example example = {
	.name = "two-hogs",
	.shows = "Two processes compute, kept on one CPU, for 500 ms. This one is nicer, so that\n"
		 "it gets about 30 % of the CPU. The answer is the other process.",
};

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	uint64_t start_ns, start_cpu_ns;
	struct root root = { .comm = "other-hog" };

	pin(last_cpu());
	root.tid = fork_named(root.comm);
	if (root.tid == 0)
		for (;;)
			burn_some();
	if (nice(4) < 0)
		fail("nice");

	start_ns = now_ns();
	start_cpu_ns = process_cpu_ns(root.tid);
	burn_until(start_ns + run_ms(&run, 500));
	root.ns = process_cpu_ns(root.tid) - start_cpu_ns;
	kill(root.tid, SIGKILL);
	wait_for(root.tid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "preempted",
				     .root = root,
				     .what = "the other process computes on the same CPU",
			     });
}
