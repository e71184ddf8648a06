/*
 * exit_floor.c - the least that listening for exits can cost: take the records, look at nothing.
 *
 * usage: exit_floor	prints how many there were, at SIGINT
 *
 * A socket of 16 MiB for each CPU, read every 10 ms, 64 records a call.
 */
#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <linux/taskstats.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH	 64
#define CPUS_MAX 1024
#define BUFFER	 (16 << 20)

static volatile sig_atomic_t is_over;

static void stop(int number)
{
	(void)number;
	is_over = 1;
}

static int open_cpu(long cpu)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *message = nlmsg_alloc();
	int family, bytes = BUFFER;
	char text[16];

	snprintf(text, sizeof(text), "%ld", cpu);
	if (!sock || !message || genl_connect(sock) < 0 ||
	    (family = genl_ctrl_resolve(sock, TASKSTATS_GENL_NAME)) < 0 ||
	    setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) ||
	    !genlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_ACK,
			 TASKSTATS_CMD_GET, TASKSTATS_GENL_VERSION) ||
	    nla_put_string(message, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, text) < 0 ||
	    nl_send_auto(sock, message) < 0) {
		fprintf(stderr, "exit_floor: cannot listen on CPU %ld\n", cpu);
		exit(3);
	}
	nlmsg_free(message);
	return nl_socket_get_fd(sock);
}

static long take(int fd)
{
	static uint8_t records[BATCH][4096];
	struct mmsghdr heads[BATCH] = { 0 };
	struct iovec parts[BATCH];
	long count = 0;
	int got;

	do {
		for (int i = 0; i < BATCH; i++) {
			parts[i] = (struct iovec){ records[i], sizeof(records[i]) };
			heads[i].msg_hdr.msg_iov = &parts[i];
			heads[i].msg_hdr.msg_iovlen = 1;
		}
		got = recvmmsg(fd, heads, BATCH, MSG_DONTWAIT, NULL);
		count += got > 0 ? got : 0;
	} while (got == BATCH || (got < 0 && errno == ENOBUFS));
	return count;
}

int main(void)
{
	static int fds[CPUS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), count = 0;

	signal(SIGINT, stop);
	for (long i = 0; i < cpus && i < CPUS_MAX; i++)
		fds[i] = open_cpu(i);
	while (!is_over) {
		usleep(10000);
		for (long i = 0; i < cpus && i < CPUS_MAX; i++)
			count += take(fds[i]);
	}
	printf("%ld\n", count);
	return 0;
}
