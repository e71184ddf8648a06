/* unix-request.c - requests and replies over a local socket; the server computes. */
#include <sys/socket.h>

#include "truth.h"

#define REQUESTS 20

enum {
	SLEEP
};

static const struct example example = {
	.name = "unix-request",
	.shows = "A client sends twenty requests over a local socket. The server computes for\n"
		 "15 ms before each reply. The answer is the server.",
	.variants =
		(const struct variant[]){
			[SLEEP] = { "--sleep", "the server sleeps instead of computing" },
			{ NULL, NULL },
		},
};

static void serve(const struct run *run, int fd, struct root *root)
{
	uint64_t ns = 0;
	char byte;

	while (read(fd, &byte, 1) == 1) {
		ns += run_has(run, SLEEP) ? nap(run_ms(run, 15)) : burn(run_ms(run, 15));
		root_set(root, ns);
		if (write(fd, &byte, 1) != 1)
			fail("reply");
	}
}

static void ask(int fd)
{
	char byte = '?';

	if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
		fail("request");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	uint64_t start_ns = now_ns(), end_ns;
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		fail("socketpair");
	pid = fork_named("unix-server");
	if (pid == 0) {
		close(fds[0]);
		serve(&run, fds[1], root);
		_exit(0);
	}
	close(fds[1]);
	for (int i = 0; i < REQUESTS; i++)
		ask(fds[0]);
	end_ns = now_ns();
	close(fds[0]);
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = run_has(&run, SLEEP) ? "timer" : "other_thread",
				     .root = *root,
				     .what = "the server, before each reply",
			     });
}
