/*
 * lock-poll.c - a program asks for a file lock again and again, and sleeps in between.
 *
 * As programs do that would not wait in the kernel, databases in a file among them. The kernel
 * sees sleeps alone; the call that fails before each tells what they are for, and who did what can have
 * made it succeed in the end is who held the lock.
 */
#include <sys/file.h>

#include "truth.h"

static const struct example example = {
	.name = "lock-poll",
	.shows =
		"A process locks a file with flock() and computes for 300 ms. This program tries to\n"
		"get the lock, and sleeps for 10 ms each time that it is refused. The answer is that\n"
		"process: known where the recorder can ask the kernel who has the lock, else inferred.",
};

struct holder {
	struct root root;
	uint64_t let_go_ns;
	uint64_t queued_ns; /* meanwhile it had no CPU itself */
};

static void hold(const struct run *run, const char *path, int held, struct holder *holder)
{
	int file = open(path, O_RDWR | O_CLOEXEC);
	struct spent mark;

	if (file < 0 || flock(file, LOCK_EX) < 0 || write(held, "!", 1) != 1)
		fail("the lock");
	mark = spent_mark();
	root_set(&holder->root, burn(run_ms(run, 300)));
	holder->queued_ns = spent_since(mark).queued_ns;
	holder->let_go_ns = now_ns();
	if (flock(file, LOCK_UN) < 0)
		fail("flock");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	int file = memfd_create("lock-poll", MFD_CLOEXEC), held[2], refused = 0;
	struct holder *holder = share(sizeof(*holder));
	uint64_t start_ns, end_ns;
	struct spent mark, spent;
	char path[32], note[32], byte;
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), file);
	if (file < 0 || pipe(held) < 0)
		fail("memfd_create");
	pid = fork_named("lock-holder");
	if (pid == 0) {
		hold(&run, path, held[1], holder);
		_exit(0);
	}
	if (read(held[0], &byte, 1) != 1)
		fail("read");
	start_ns = now_ns();
	mark = spent_mark();
	while (flock(file, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			fail("flock");
		refused++;
		(void)nap(run_ms(&run, 10));
	}
	spent = spent_since(mark);
	end_ns = now_ns();
	wait_for(pid);
	/* While it asks, or has no CPU, it does not wait, nor when the lock is free. */
	holder->root.ns =
		holder->let_go_ns - start_ns - spent.cpu_ns - spent.queued_ns - holder->queued_ns;
	snprintf(note, sizeof(note), "%d refusals", refused);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "lock",
				     .also = "other_thread",
				     .root = holder->root,
				     .what = "the process that has the file lock",
				     .note = note,
			     });
}
