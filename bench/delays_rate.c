/*
 * delays_rate.c - what asking for the delays of many tasks costs, beside the least that it can cost.
 *
 * usage: delays_rate [THREADS [ROUNDS]]	2000 threads that sleep, 15 rounds, by default
 *
 * The floor: bare requests over a bare socket, 32 a send; nothing is decoded, nothing kept. Rounds
 * of both take turns. Prints CPU time of one answer, ns: floor, holdup, median of the ratios.
 */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "accounts/list.h"
#include "accounts/socket.h"

#define BATCH	   32
#define ROUNDS_MAX 1000

struct bare_request {
	struct nlmsghdr head;
	struct genlmsghdr genl;
	struct nlattr attr;
	uint32_t value;
};

static void die(const char *what)
{
	perror(what);
	exit(3);
}

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ----------------------------------------------------------------------- the floor */

/* The number of the family, out of the controller's answer. */
static uint16_t find_family(int fd)
{
	struct {
		struct nlmsghdr head;
		struct genlmsghdr genl;
		struct nlattr attr;
		char name[12];
	} request = {
		.head = { sizeof(request), GENL_ID_CTRL, NLM_F_REQUEST, 1, 0 },
		.genl = { CTRL_CMD_GETFAMILY, 1, 0 },
		.attr = { NLA_HDRLEN + sizeof(TASKSTATS_GENL_NAME), CTRL_ATTR_FAMILY_NAME },
		.name = TASKSTATS_GENL_NAME,
	};
	uint8_t reply[4096];
	ssize_t got;

	if (send(fd, &request, sizeof(request), 0) < 0)
		die("taskstats");
	got = recv(fd, reply, sizeof(reply), 0);
	for (ssize_t at = NLMSG_HDRLEN + GENL_HDRLEN; at + NLA_HDRLEN < got;) {
		struct nlattr attr;
		uint16_t family;

		memcpy(&attr, reply + at, sizeof(attr));
		memcpy(&family, reply + at + NLA_HDRLEN, sizeof(family));
		if (attr.nla_type == CTRL_ATTR_FAMILY_ID)
			return family;
		at += attr.nla_len >= NLA_HDRLEN ? NLA_ALIGN(attr.nla_len) : got;
	}
	fprintf(stderr, "delays_rate: the kernel offers no taskstats\n");
	exit(3);
}

static int ask_bare(int fd, uint16_t family, const struct delays_id *ids, int count)
{
	static struct bare_request requests[BATCH];
	static uint8_t replies[BATCH][4096];
	struct mmsghdr heads[BATCH] = { 0 };
	struct iovec parts[BATCH];
	int got, answers = 0;

	for (int i = 0; i < count; i++) {
		requests[i] = (struct bare_request){
			{ sizeof(requests[i]), family, NLM_F_REQUEST, 1, 0 },
			{ TASKSTATS_CMD_GET, TASKSTATS_GENL_VERSION, 0 },
			{ NLA_HDRLEN + sizeof(uint32_t), TASKSTATS_CMD_ATTR_PID },
			(uint32_t)ids[i].tid,
		};
		parts[i] = (struct iovec){ replies[i], sizeof(replies[i]) };
		heads[i].msg_hdr.msg_iov = &parts[i];
		heads[i].msg_hdr.msg_iovlen = 1;
	}
	if (send(fd, requests, (size_t)count * sizeof(requests[0]), 0) < 0)
		die("send");
	got = recvmmsg(fd, heads, (unsigned)count, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		answers += heads[i].msg_len > 300;
	return answers;
}

/* ns for each answer */
static double floor_round(int fd, uint16_t family, const struct delays_ids *ids)
{
	double start_ns = cpu_ns();
	int answers = 0;

	for (size_t i = 0; i < ids->count; i += BATCH)
		answers += ask_bare(fd, family, ids->ids + i,
				    ids->count - i < BATCH ? (int)(ids->count - i) : BATCH);
	if (answers != (int)ids->count)
		die("answers are missing");
	return (cpu_ns() - start_ns) / answers;
}

/* ------------------------------------------------------------------------- holdup */

static double holdup_round(struct delays_socket *socket, const struct delays_ids *ids,
			   struct delays_request *requests)
{
	double start_ns = cpu_ns();
	struct err err = { 0 };

	for (size_t i = 0; i < ids->count; i++) {
		requests[i].id = ids->ids[i].tid;
		requests[i].is_process = false;
	}
	if (delays_socket_ask(socket, requests, ids->count, &err) < 0) {
		fprintf(stderr, "delays_rate: %s\n", err.text);
		exit(3);
	}
	for (size_t i = 0; i < ids->count; i++) {
		if (requests[i].error || requests[i].stats.tid != ids->ids[i].tid)
			die("answers are missing");
	}
	return (cpu_ns() - start_ns) / (double)ids->count;
}

/* ---------------------------------------------------------------------------- both */

static void *sleeper(void *unused)
{
	(void)unused;
	pause();
	return NULL;
}

static void start_threads(long count)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, sleeper, NULL) != 0)
			die("pthread_create");
	}
	usleep(300000);
}

static int by_value(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static double median(double *values, long count)
{
	qsort(values, (size_t)count, sizeof(*values), by_value);
	return values[count / 2];
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 2000, rounds = argc > 2 ? atol(argv[2]) : 15;
	static double bare_ns[ROUNDS_MAX], holdup_ns[ROUNDS_MAX], ratio[ROUNDS_MAX];
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	struct delays_socket *socket;
	struct delays_request *requests;
	struct delays_ids ids = { 0 };
	struct err err = { 0 };
	uint16_t family;

	if (threads < 1 || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: delays_rate [THREADS [ROUNDS]]\n");
		return 2;
	}
	if (fd < 0 || connect(fd, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		die("netlink");
	family = find_family(fd);
	if (delays_socket_open(&socket, &err) < 0) {
		fprintf(stderr, "delays_rate: %s\n", err.text);
		return 3;
	}
	start_threads(threads);
	delays_list_threads(getpid(), &ids);
	requests = xcalloc(ids.count, sizeof(*requests));
	for (long i = 0; i < rounds; i++) {
		bare_ns[i] = floor_round(fd, family, &ids);
		holdup_ns[i] = holdup_round(socket, &ids, requests);
		ratio[i] = holdup_ns[i] / bare_ns[i];
	}
	printf("%.0f %.0f %.3f\n", median(bare_ns, rounds), median(holdup_ns, rounds),
	       median(ratio, rounds));
	free(requests);
	delays_ids_fini(&ids);
	delays_socket_close(socket);
	close(fd);
	return 0;
}
