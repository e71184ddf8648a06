/* idle-server.c - a server waits for work: nobody is held up. */
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "truth.h"

static const struct example example = {
	.name = "idle-server",
	.shows = "A server waits in epoll_wait() for its first client, who comes after 400 ms.\n"
		 "The server is idle, not held up: the answer is the client's own sleep, and a\n"
		 "good report says that the server waited for work.",
};

/* A name in the abstract namespace, different in every run. */
static socklen_t address(struct sockaddr_un *out_addr)
{
	int length;

	*out_addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(out_addr->sun_path + 1, sizeof(out_addr->sun_path) - 1,
			  "holdup-idle-server-%d", getpid());
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static void come_late(const struct run *run, const struct sockaddr_un *addr, socklen_t length)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	nap(run_ms(run, 400));
	if (connect(fd, (const struct sockaddr *)addr, length) < 0)
		fail("connect");
}

/* Waits for one client. */
static void serve_one(int listener)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) < 0)
		fail("epoll_ctl");
	if (epoll_wait(epoll, &event, 1, -1) != 1)
		fail("epoll_wait");
	close(accept(listener, NULL, NULL));
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct root *root = share(sizeof(*root));
	struct sockaddr_un addr;
	socklen_t length = address(&addr);
	uint64_t start_ns, end_ns;
	pid_t pid;

	if (bind(listener, (struct sockaddr *)&addr, length) < 0 || listen(listener, 1) < 0)
		fail("listen");
	start_ns = now_ns();
	pid = fork_named("late-client");
	if (pid == 0) {
		struct spent mark = spent_mark();

		come_late(&run, &addr, length);
		root_set(root, spent_blocked_ns(spent_since(mark)));
		_exit(0);
	}
	serve_one(listener);
	end_ns = now_ns();
	wait_for(pid);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "timer",
				     .root = *root,
				     .what = "the client's sleep before it connects",
				     .note = "idle: the server waits for work",
			     });
}
