/* tcp-server-sleeps.c - a TCP client waits for a local server that sleeps. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "truth.h"

enum {
	COMPUTE
};

static const struct example example = {
	.name = "tcp-server-sleeps",
	.shows =
		"A client sends a request over TCP to a server on this machine. The server sleeps\n"
		"for 400 ms before it answers. The answer is the server's sleep, not the network.",
	.variants =
		(const struct variant[]){
			[COMPUTE] = { "--compute", "the server computes instead of sleeping" },
			{ NULL, NULL },
		},
};

static void serve(const struct run *run, int listener, struct root *root)
{
	int fd = accept(listener, NULL, NULL);
	uint64_t ns = run_ms(run, 400);
	char request[4];

	if (fd < 0 || recv(fd, request, sizeof(request), MSG_WAITALL) != sizeof(request))
		fail("server");
	root_set(root, run_has(run, COMPUTE) ? burn(ns) : nap(ns));
	if (send(fd, "done", 4, 0) != 4)
		fail("server");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(addr);
	struct root *root = share(sizeof(*root));
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t start_ns, end_ns;
	char answer[4];
	pid_t pid;

	if (bind(listener, (struct sockaddr *)&addr, length) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &length) < 0)
		fail("listen");
	pid = fork_named("tcp-server");
	if (pid == 0) {
		serve(&run, listener, root);
		_exit(0);
	}
	start_ns = now_ns();
	if (connect(fd, (struct sockaddr *)&addr, length) < 0 || send(fd, "ask!", 4, 0) != 4 ||
	    recv(fd, answer, sizeof(answer), MSG_WAITALL) != sizeof(answer))
		fail("client");
	end_ns = now_ns();
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = run_has(&run, COMPUTE) ? "other_thread" : "timer",
				     .root = *root,
				     .what = "the server, before it answers",
			     });
}
