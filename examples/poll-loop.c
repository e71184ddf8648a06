/*
 * poll-loop.c - a program waits for another one that polls in short sleeps.
 *
 * The pattern of a starter that waits for its server, while the server checks
 * every 10 ms whether something it needs has happened.
 */
#include <poll.h>

#include "truth.h"

static const struct example example = {
	.name = "poll-loop",
	.shows = "A program waits in poll() until a server says that it is ready. The server\n"
		 "sleeps forty times for 10 ms first. The answer is all of these sleeps together.",
};

static void get_ready(const struct run *run, int fd, struct root *root)
{
	uint64_t ns = 0;

	for (int i = 0; i < 40; i++)
		ns += nap(run_ms(run, 10));
	root_set(root, ns);
	if (write(fd, "!", 1) != 1)
		fail("write");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	uint64_t start_ns = now_ns();
	struct pollfd ready = { .events = POLLIN };
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0)
		fail("pipe");
	pid = fork_named("polling-server");
	if (pid == 0) {
		get_ready(&run, fds[1], root);
		_exit(0);
	}
	ready.fd = fds[0];
	if (poll(&ready, 1, -1) != 1)
		fail("poll");
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "timer",
				     .root = *root,
				     .what = "forty short sleeps of the server",
			     });
}
