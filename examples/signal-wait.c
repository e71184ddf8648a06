/* signal-wait.c - a program waits for a signal from one that computes. */
#include "truth.h"

enum {
	SLEEP
};

static const struct example example = {
	.name = "signal-wait",
	.shows = "A program waits for SIGUSR1 with sigwait(). Another process computes for 300 ms\n"
		 "and then sends it. The answer is the sender.",
	.variants =
		(const struct variant[]){
			[SLEEP] = { "--sleep", "the sender sleeps instead of computing" },
			{ NULL, NULL },
		},
};

static void send_late(const struct run *run, pid_t target, struct root *root)
{
	uint64_t ns = run_ms(run, 300);

	root_set(root, run_has(run, SLEEP) ? nap(ns) : burn(ns));
	if (kill(target, SIGUSR1) < 0)
		fail("kill");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	pid_t target = getpid(), pid;
	uint64_t start_ns, end_ns;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	start_ns = now_ns();
	pid = fork_named("signal-sender");
	if (pid == 0) {
		send_late(&run, target, root);
		_exit(0);
	}
	if (sigwait(&set, &sig) != 0)
		fail("sigwait");
	end_ns = now_ns();
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = run_has(&run, SLEEP) ? "timer" : "other_thread",
				     .root = *root,
				     .what = "the process that sends the signal",
			     });
}
