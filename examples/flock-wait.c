/* flock-wait.c - a program waits for a file lock. */
#include <sys/file.h>

#include "truth.h"

static const struct example example = {
	.name = "flock-wait",
	.shows = "A process locks a file with flock() and computes for 300 ms. This program waits\n"
		 "for the lock. The answer is the holder.",
};

/* A lock belongs to an open file, so each side opens it anew. */
static int open_again(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again < 0)
		fail(path);
	return again;
}

static void lock(int fd)
{
	if (flock(fd, LOCK_EX) < 0)
		fail("flock");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	int file = memfd_create("flock-wait", MFD_CLOEXEC), held[2];
	uint64_t start_ns, end_ns;
	char byte = 0;
	pid_t pid;

	if (file < 0 || pipe(held) < 0)
		fail("memfd_create");
	pid = fork_named("flock-holder");
	if (pid == 0) {
		file = open_again(file);
		lock(file);
		if (write(held[1], &byte, 1) != 1)
			fail("write");
		root_set(root, burn(run_ms(&run, 300)));
		flock(file, LOCK_UN);
		_exit(0);
	}
	if (read(held[0], &byte, 1) != 1)
		fail("read");
	start_ns = now_ns();
	lock(open_again(file));
	end_ns = now_ns();
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "lock",
				     .also = "other_thread",
				     .root = *root,
				     .what = "the holder of the file lock computes",
			     });
}
