/* wait-child.c - a parent waits for a child that sleeps. */
#include "truth.h"

static const struct example example = {
	.name = "wait-child",
	.shows = "A parent calls waitpid(); its child sleeps for 400 ms and exits.\n"
		 "The answer is the child's sleep, not waitpid().",
};

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	uint64_t start_ns = now_ns();
	pid_t pid = fork_named("sleeping-child");

	if (pid == 0) {
		root_set(root, nap(run_ms(&run, 400)));
		_exit(0);
	}
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "timer",
				     .root = *root,
				     .what = "the child's nanosleep",
			     });
}
