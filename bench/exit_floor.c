/*
 * exit_floor.c - the least that listening for exits can cost: look at none of the records.
 *
 * usage: exit_floor filter|unread|each|batch	prints how many were read, at SIGINT
 *
 *	filter	the kernel makes each record, and a filter of the socket drops it there
 *	unread	it is queued; nobody reads it, so that it is dropped when the buffer is full
 *	each	it is waited for and read, one by one
 *	batch	read every 50 ms, 64 records a call
 *
 * A socket of 16 MiB for each CPU.
 */
#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <linux/filter.h>
#include <linux/taskstats.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH	 64
#define CPUS_MAX 1024
#define BUFFER	 (16 << 20)
#define PAUSE_MS 50

static const char *const modes[] = { "filter", "unread", "each", "batch" };
enum mode {
	MODE_FILTER,
	MODE_UNREAD,
	MODE_EACH,
	MODE_BATCH,
	MODES
};

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

static void drop_all(int fd)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &nothing };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0) {
		fprintf(stderr, "exit_floor: cannot attach a filter\n");
		exit(3);
	}
}

static long take_each(struct pollfd *fds, nfds_t count)
{
	static uint8_t record[4096];
	long taken = 0;

	(void)poll(fds, count, -1);
	for (nfds_t i = 0; i < count; i++) {
		if (fds[i].revents)
			taken += recv(fds[i].fd, record, sizeof(record), MSG_DONTWAIT) > 0;
	}
	return taken;
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

static enum mode mode_of(int argc, char **argv)
{
	for (enum mode mode = 0; argc == 2 && mode < MODES; mode++) {
		if (strcmp(argv[1], modes[mode]) == 0)
			return mode;
	}
	fprintf(stderr, "usage: exit_floor filter|unread|each|batch\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static struct pollfd fds[CPUS_MAX];
	enum mode mode = mode_of(argc, argv);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), count = 0;

	cpus = cpus > CPUS_MAX ? CPUS_MAX : cpus;
	signal(SIGINT, stop);
	for (long i = 0; i < cpus; i++) {
		fds[i] = (struct pollfd){ .fd = open_cpu(i), .events = POLLIN };
		if (mode == MODE_FILTER)
			drop_all(fds[i].fd);
	}
	while (!is_over) {
		if (mode == MODE_EACH)
			count += take_each(fds, (nfds_t)cpus);
		else
			usleep(PAUSE_MS * 1000);
		for (long i = 0; i < cpus && mode == MODE_BATCH; i++)
			count += take(fds[i].fd);
	}
	printf("%ld\n", count);
	return 0;
}
