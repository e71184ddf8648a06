/* bpf_count.c - see bpf_count.h. */
#include "record/bpf_count.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "guard/filter.h"

#define ANSWER_MS 200

int bpf_count_on(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.enable_stats.type = BPF_STATS_RUN_TIME;
	return (int)syscall(__NR_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr.enable_stats));
}

/* ------------------------------------------------------------------ messages */

union fd_control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* A byte, and a descriptor where there is one. */
static bool send_fd(int to, int fd)
{
	union fd_control control = { 0 };
	char byte = fd >= 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *header;

	if (fd >= 0) {
		message.msg_control = control.room;
		message.msg_controllen = sizeof(control.room);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	return sendmsg(to, &message, MSG_NOSIGNAL) == 1;
}

static int receive_fd(int from)
{
	union fd_control control = { 0 };
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	struct cmsghdr *header;
	int fd = -1;

	header = recvmsg(from, &message, MSG_CMSG_CLOEXEC) == 1 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* ------------------------------------------------------------------ the helper */

static void __attribute__((noreturn)) serve(int fd, pid_t recorder)
{
	struct err err = { 0 };
	char byte;

	child_reset_signals();
	(void)prctl(PR_SET_NAME, "holdup-count");
	if (!child_keep_fds(&fd, 1) ||
	    guard_caps_nobody(guard_caps_now() & GUARD_CAP(CAP_SYS_ADMIN), &err) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != recorder ||
	    guard_filter_counter(&err) < 0)
		_exit(1);
	while (read(fd, &byte, 1) == 1) {
		int count_fd = bpf_count_on();

		if (!send_fd(fd, count_fd))
			break;
		mem_close_fd(&count_fd);
	}
	_exit(0);
}

/* ------------------------------------------------------------------ the recorder */

void bpf_count_start(struct bpf_count *count)
{
	pid_t recorder = getpid();
	int pair[2];

	*count = BPF_COUNT_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	count->pid = fork();
	if (count->pid == 0)
		serve(pair[1], recorder);
	(void)close(pair[1]);
	if (count->pid > 0) {
		count->fd = pair[0];
		return;
	}
	count->pid = 0;
	(void)close(pair[0]);
}

int bpf_count_ask(struct bpf_count *count)
{
	struct pollfd answer = { .fd = count->fd, .events = POLLIN };

	if (!count->pid)
		return -1;
	if (send(count->fd, "", 1, MSG_NOSIGNAL) == 1 && poll(&answer, 1, ANSWER_MS) > 0 &&
	    answer.revents & POLLIN)
		return receive_fd(count->fd);
	bpf_count_stop(count); /* an answer that comes late would be taken for the next one */
	return -1;
}

/* It ends when nobody can ask it any more. The recorder may have no right to kill it by then. */
void bpf_count_stop(struct bpf_count *count)
{
	mem_close_fd(&count->fd);
	if (count->pid) {
		(void)kill(count->pid, SIGKILL);
		(void)child_await(count->pid);
	}
	*count = BPF_COUNT_NONE;
}
