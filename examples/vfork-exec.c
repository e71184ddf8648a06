/*
 * vfork-exec.c - a parent is stopped by vfork() until its child has executed a program.
 *
 * The child sleeps before it executes: it must not return from main(), but a system
 * call is allowed.
 */
#include "truth.h"

static const struct example example = {
	.name = "vfork-exec",
	.shows =
		"A program calls vfork(). The child sleeps for 300 ms before it executes a program,\n"
		"which computes for 100 ms while the parent waits for it. The answer is the\n"
		"child's sleep in front of exec, in vfork().",
};

/* The second program: --child computes. */
static int child(const char *scale)
{
	set_name("vforked-child");
	burn((uint64_t)(atof(scale) * 100 * (double)NS_PER_MS));
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct run run;
	struct root *root;
	uint64_t start_ns;
	char scale[32];
	pid_t pid;

	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return child(argv[2]);
	run = run_begin(&example, argc, argv);
	root = share(sizeof(*root));
	snprintf(scale, sizeof(scale), "%g", run.scale);
	start_ns = now_ns();
	pid = vfork();
	if (pid == 0) {
		root_set(root, nap(run_ms(&run, 300)));
		execl("/proc/self/exe", "vfork-exec", "--child", scale, NULL);
		_exit(EXIT_FAILURE);
	}
	wait_for(pid);
	strcpy(root->comm, "vforked-child"); /* its last name */
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "timer",
				     .root = *root,
				     .what = "the child's sleep before it executes a program",
			     });
}
