/*
 * lock-poll.c - a program asks for a file lock again and again, and sleeps in between.
 *
 * As programs do that would not wait in the kernel, databases in a file among them. The kernel
 * sees sleeps alone; the call that fails before each tells what they are for.
 */
#include <sys/file.h>

#include "truth.h"

static const struct example example = {
	.name = "lock-poll",
	.shows =
		"A process locks a file with flock() and sleeps for 300 ms. This program tries to\n"
		"get the lock, and sleeps for 10 ms each time that it is refused. The answer is its\n"
		"own sleeps, each after flock() failed.",
};

static void hold(const struct run *run, const char *path, int held)
{
	int file = open(path, O_RDWR | O_CLOEXEC);

	if (file < 0 || flock(file, LOCK_EX) < 0 || write(held, "!", 1) != 1)
		fail("the lock");
	nap(run_ms(run, 300));
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	int file = memfd_create("lock-poll", MFD_CLOEXEC), held[2], refused = 0;
	struct root root = { 0 };
	uint64_t start_ns, slept_ns = 0;
	char path[32], note[32], byte;
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), file);
	if (file < 0 || pipe(held) < 0)
		fail("memfd_create");
	pid = fork_named("lock-holder");
	if (pid == 0) {
		hold(&run, path, held[1]);
		_exit(0);
	}
	if (read(held[0], &byte, 1) != 1)
		fail("read");
	start_ns = now_ns();
	while (flock(file, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			fail("flock");
		refused++;
		slept_ns += nap(run_ms(&run, 10));
	}
	root_set(&root, slept_ns);
	wait_for(pid);
	snprintf(note, sizeof(note), "%d refusals", refused);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "timer",
				     .root = root,
				     .what = "its own sleeps between refusals of a file lock",
				     .note = note,
			     });
}
