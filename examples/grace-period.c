/* grace-period.c - a thread waits for RCU: for all CPUs, and nobody in particular. */
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "truth.h"

static const struct example example = {
	.name = "grace-period",
	.shows =
		"A program calls membarrier() thirty times, which waits for an RCU grace period of\n"
		"the kernel each time. Nobody holds it up: the answer is that.",
};

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root root = { .tid = getpid(), .comm = "grace-period" };
	uint64_t start_ns = now_ns(), end_ns;
	struct spent mark = spent_mark();

	for (uint64_t i = 0; i < run_ms(&run, 30) / NS_PER_MS; i++) {
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
			skip("no membarrier() here");
	}
	root.ns = spent_blocked_ns(spent_since(mark));
	end_ns = now_ns();
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "grace_period",
				     .root = root,
				     .what = "RCU grace periods",
			     });
}
