/* wait-many.c - a parent waits for whichever of three children ends next. */
#include "truth.h"

#define CHILDREN 3

static const struct example example = {
	.name = "wait-many",
	.shows =
		"A parent waits with waitid() for three children that sleep for 60, 120 and 420 ms.\n"
		"The answer is the last one, for the part of its sleep that no other covers.",
};

int main(int argc, char **argv)
{
	const double sleep_ms[CHILDREN] = { 60, 120, 420 };
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	uint64_t *woke_ns = share(sizeof(*woke_ns));
	uint64_t start_ns = now_ns(), last_wait_ns = 0;
	siginfo_t info;

	for (int i = 0; i < CHILDREN; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "child-%d", i + 1);
		if (fork_named(comm) == 0) {
			nap(run_ms(&run, sleep_ms[i]));
			*woke_ns = now_ns();
			root_set(root, 0);
			_exit(0);
		}
	}
	for (int i = 0; i < CHILDREN; i++) {
		last_wait_ns = now_ns();
		if (waitid(P_ALL, 0, &info, WEXITED) < 0)
			fail("waitid");
	}
	root->ns = *woke_ns - last_wait_ns;
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "timer",
				     .root = *root,
				     .what = "the child that sleeps longest",
			     });
}
