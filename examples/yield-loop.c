/* yield-loop.c - a program gives its CPU away in a loop. */
#include "truth.h"

static const struct example example = {
	.name = "yield-loop",
	.shows =
		"A program calls sched_yield() in a loop for 400 ms, kept on one CPU with a process\n"
		"that computes. The answer is that process.",
};

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	uint64_t start_ns, start_cpu_ns;
	struct root root = { .comm = "yielded-to" };

	pin(last_cpu());
	root.tid = fork_named(root.comm);
	if (root.tid == 0)
		for (;;)
			burn_some();
	start_ns = now_ns();
	start_cpu_ns = process_cpu_ns(root.tid);
	while (now_ns() - start_ns < run_ms(&run, 400))
		sched_yield();
	root.ns = process_cpu_ns(root.tid) - start_cpu_ns;
	kill(root.tid, SIGKILL);
	wait_for(root.tid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "cpu_queue",
				     .root = root,
				     .what = "the process that computes on the same CPU",
			     });
}
