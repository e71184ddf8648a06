/*
 * opening.h - a child process that has one of everything open, for tests.
 *
 * Both ends of each connection are the child's, so that both can be looked at.
 */
#ifndef UNIT_RECORD_OPENING_H
#define UNIT_RECORD_OPENING_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct opening {
	pid_t pid;
	char dir[64];
	int hold_fd; /* closed = the child ends */
};

/* A second descriptor, which stays open. */
static inline void opening_dup(int fd)
{
	if (dup(fd) < 0)
		return; /* nor was the first one open */
}

static inline void opening_tcp(int family)
{
	int listener = socket(family, SOCK_STREAM, 0);
	int client = socket(family, SOCK_STREAM, 0);
	struct sockaddr_storage address = { .ss_family = (sa_family_t)family };
	socklen_t bytes = sizeof(address);

	if (family == AF_INET)
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address,
		 family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)) ||
	    listen(listener, 5) || getsockname(listener, (struct sockaddr *)&address, &bytes) ||
	    connect(client, (struct sockaddr *)&address, bytes))
		return; /* no such family here */
	opening_dup(accept(listener, NULL, NULL));
}

static inline void opening_unix(const char *name)
{
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t bytes = (socklen_t)(sizeof(sa_family_t) + strlen(name) + (name[0] == '/'));

	memcpy(address.sun_path, name, strlen(name));
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	if (bind(listener, (struct sockaddr *)&address, bytes) || listen(listener, 5) ||
	    connect(client, (struct sockaddr *)&address, bytes))
		_exit(3);
	(void)accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

static inline void opening_udp(void)
{
	int socket_fd = socket(AF_INET, SOCK_DGRAM, 0), other = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(socket_fd, (struct sockaddr *)&address, bytes) ||
	    getsockname(socket_fd, (struct sockaddr *)&address, &bytes) ||
	    connect(other, (struct sockaddr *)&address, bytes))
		_exit(3);
}

static inline void opening_files(const char *dir)
{
	char path[128];
	int fd;

	(void)open("/etc/passwd", O_RDONLY);
	(void)open("/", O_RDONLY | O_DIRECTORY);
	(void)open("/dev/null", O_RDWR);
	(void)open("/proc/self/ns/net", O_RDONLY);
	(void)openat(AT_FDCWD, "/proc/self/stat", O_RDONLY);
	snprintf(path, sizeof(path), "%s/a file", dir);
	(void)creat(path, 0600);
	snprintf(path, sizeof(path), "%s/gone", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	unlink(path);
	opening_dup(fd); /* named after it went */
	(void)dup2(fd, 200);
	(void)fcntl(fd, F_DUPFD, 210);
	snprintf(path, sizeof(path), "%s/fifo", dir);
	mkfifo(path, 0600);
	(void)open(path, O_RDWR);
}

/* Bound: the kernel's table does not list others. */
static inline void opening_netlink(int protocol)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };

	(void)!bind(socket(AF_NETLINK, SOCK_RAW, protocol), (struct sockaddr *)&address,
		    sizeof(address));
}

static inline void opening_anonymous(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), target = eventfd(0, 0), pair[2];
	sigset_t signals;

	sigemptyset(&signals);
	epoll_ctl(epoll, EPOLL_CTL_ADD, target, &event);
	(void)timerfd_create(CLOCK_MONOTONIC, 0);
	(void)signalfd(-1, &signals, 0);
	(void)inotify_init1(0);
	(void)memfd_create("hello", 0);
	(void)syscall(SYS_pidfd_open, getpid(), 0);
	(void)!pipe(pair);
	(void)!pipe2(pair, O_CLOEXEC);
	(void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	(void)socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	(void)socket(AF_INET, SOCK_STREAM, 0);
	opening_netlink(0);
	opening_netlink(15);
}

/* Start it; it has opened everything when this returns. */
static inline struct opening opening_begin(void)
{
	struct opening opening = { .dir = "/tmp/holdup-test-open-XXXXXX" };
	int hold[2], ready[2];
	char path[128], byte;

	if (!mkdtemp(opening.dir) || pipe2(hold, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		abort();
	opening.pid = fork();
	if (opening.pid == 0) {
		close(hold[1]);
		opening_files(opening.dir);
		opening_anonymous();
		opening_tcp(AF_INET);
		opening_tcp(AF_INET6);
		opening_udp();
		snprintf(path, sizeof(path), "%s/sock", opening.dir);
		opening_unix(path);
		snprintf(path, sizeof(path), "@holdup-test-%d", (int)getpid());
		opening_unix(path);
		(void)!write(ready[1], "r", 1);
		(void)!read(hold[0], &byte, 1);
		_exit(0);
	}
	close(hold[0]);
	close(ready[1]);
	(void)!read(ready[0], &byte, 1);
	close(ready[0]);
	opening.hold_fd = hold[1];
	return opening;
}

static inline void opening_end(struct opening *opening)
{
	char command[128];

	close(opening->hold_fd);
	waitpid(opening->pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s", opening->dir);
	(void)!system(command);
}

#endif
