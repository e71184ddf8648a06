/* nice-hogs.c - a low-priority program among three that compute on one CPU. */
#include "truth.h"

static const struct example example = {
	.name = "nice-hogs",
	.shows =
		"A program of nice 10 computes for 500 ms on one CPU, beside one process of nice 5 and\n"
		"one of nice 0. It runs about a tenth of the time. The answer is the one of nice 0.",
};

static pid_t start_hog(const char *comm, int nice_value)
{
	pid_t pid = fork_named(comm);

	if (pid > 0)
		return pid;
	if (nice(nice_value) < 0)
		fail("nice");
	for (;;)
		burn_some();
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root root = { .comm = "hog-nice-0" };
	uint64_t start_ns, start_cpu_ns;
	pid_t other;

	pin(last_cpu());
	root.tid = start_hog(root.comm, 0);
	other = start_hog("hog-nice-5", 5);
	if (nice(10) < 0)
		fail("nice");
	start_ns = now_ns();
	start_cpu_ns = process_cpu_ns(root.tid);
	burn_until(start_ns + run_ms(&run, 500));
	root.ns = process_cpu_ns(root.tid) - start_cpu_ns;
	kill(root.tid, SIGKILL);
	kill(other, SIGKILL);
	wait_for(root.tid);
	wait_for(other);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "preempted",
				     .root = root,
				     .what = "the process of the highest priority on the same CPU",
			     });
}
