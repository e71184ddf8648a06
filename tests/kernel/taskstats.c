/*
 * taskstats.c - what the kernel says of tasks, by the kernel's own header and nothing of ours.
 *
 * usage: taskstats ask TID...          a line of JSON for each that lives
 *        taskstats listen CPUS FILE    a line in FILE for each thread that exits, until stdin ends
 *
 * For a kernel of struct version 15, whose fields stand elsewhere, it exits with 77.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOVED_VERSION 15
#define SKIPPED	      77
#define RECEIVE_BYTES (32 << 20)

struct message {
	struct nlmsghdr head;
	struct genlmsghdr generic;
	char attributes[4096];
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "taskstats: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void ask(int fd, uint16_t family, uint8_t command, uint16_t type, const void *data,
		size_t bytes)
{
	struct message message = { .head = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST },
				   .generic = { .cmd = command, .version = 1 } };
	struct nlattr attribute = { .nla_type = type, .nla_len = (uint16_t)(NLA_HDRLEN + bytes) };

	memcpy(message.attributes, &attribute, sizeof(attribute));
	memcpy(message.attributes + NLA_HDRLEN, data, bytes);
	message.head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(attribute.nla_len);
	if (send(fd, &message, message.head.nlmsg_len, 0) < 0)
		fail("send");
}

/* The data of the first attribute of 'type' in 'bytes' bytes at 'at', or NULL. */
static const char *find(const char *at, size_t bytes, uint16_t type, size_t *out_bytes)
{
	struct nlattr attribute;

	while (bytes >= sizeof(attribute)) {
		memcpy(&attribute, at, sizeof(attribute));
		if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > bytes)
			return NULL;
		if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
			*out_bytes = attribute.nla_len - NLA_HDRLEN;
			return at + NLA_HDRLEN;
		}
		if (NLA_ALIGN(attribute.nla_len) >= bytes)
			return NULL;
		bytes -= NLA_ALIGN(attribute.nla_len);
		at += NLA_ALIGN(attribute.nla_len);
	}
	return NULL;
}

static size_t receive(int fd, struct message *message)
{
	ssize_t got = recv(fd, message, sizeof(*message), 0);

	if (got < 0)
		fail("receive");
	if (message->head.nlmsg_type == NLMSG_ERROR)
		return 0;
	return (size_t)got - NLMSG_LENGTH(GENL_HDRLEN);
}

static void put(FILE *out, const char *name, unsigned long long count, unsigned long long total)
{
	fprintf(out, ",\"%s\":{\"count\":%llu,\"total_ns\":%llu}", name, count, total);
}

static void print(FILE *out, int32_t tid, const struct taskstats *stats)
{
	fprintf(out,
		"{\"tid\":%d,\"version\":%u,\"life_us\":%llu,\"run_ns\":%llu,\"run_real_ns\":%llu,"
		"\"voluntary\":%llu,\"involuntary\":%llu",
		tid, stats->version, stats->ac_etime, stats->cpu_run_virtual_total,
		stats->cpu_run_real_total, stats->nvcsw, stats->nivcsw);
	put(out, "cpu", stats->cpu_count, stats->cpu_delay_total);
	put(out, "disk", stats->blkio_count, stats->blkio_delay_total);
	put(out, "swapin", stats->swapin_count, stats->swapin_delay_total);
	put(out, "reclaim", stats->freepages_count, stats->freepages_delay_total);
	put(out, "thrashing", stats->thrashing_count, stats->thrashing_delay_total);
#if TASKSTATS_VERSION >= 11
	put(out, "compaction", stats->compact_count, stats->compact_delay_total);
#endif
#if TASKSTATS_VERSION >= 13
	put(out, "cow", stats->wpcopy_count, stats->wpcopy_delay_total);
#endif
	fputs("}\n", out);
}

/* The thread's part of a message. */
static void print_message(FILE *out, const struct message *message, size_t bytes)
{
	size_t part_bytes, id_bytes, stats_bytes;
	const char *part = find(message->attributes, bytes, TASKSTATS_TYPE_AGGR_PID, &part_bytes);
	const char *id = part ? find(part, part_bytes, TASKSTATS_TYPE_PID, &id_bytes) : NULL;
	const char *data = part ? find(part, part_bytes, TASKSTATS_TYPE_STATS, &stats_bytes) : NULL;
	struct taskstats stats = { 0 };
	int32_t tid;

	if (!id || !data)
		return;
	memcpy(&tid, id, sizeof(tid));
	memcpy(&stats, data, stats_bytes < sizeof(stats) ? stats_bytes : sizeof(stats));
	if (stats.version == MOVED_VERSION)
		exit(SKIPPED);
	print(out, tid, &stats);
}

static int connect_kernel(uint16_t *out_family)
{
	static const char name[] = TASKSTATS_GENL_NAME;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), size = RECEIVE_BYTES;
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	struct message message;
	const char *id;
	size_t bytes;

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail("socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		fail("receive buffer");
	ask(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, name, sizeof(name));
	bytes = receive(fd, &message);
	id = find(message.attributes, bytes, CTRL_ATTR_FAMILY_ID, &bytes);
	if (!id)
		exit(SKIPPED);
	memcpy(out_family, id, sizeof(*out_family));
	return fd;
}

static void listen_until_told(int fd, uint16_t family, const char *cpus, const char *path)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = 0, .events = POLLIN } };
	FILE *out = fopen(path, "we");
	struct message message;

	if (!out)
		fail(path);
	ask(fd, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus,
	    strlen(cpus) + 1);
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			print_message(out, &message, receive(fd, &message));
		else if (fds[1].revents)
			break;
	}
	if (fclose(out) != 0)
		fail(path);
}

int main(int argc, char **argv)
{
	uint16_t family;
	int fd = connect_kernel(&family);

	if (argc == 4 && strcmp(argv[1], "listen") == 0) {
		listen_until_told(fd, family, argv[2], argv[3]);
		return EXIT_SUCCESS;
	}
	for (int i = 2; i < argc; i++) {
		int32_t tid = atoi(argv[i]);
		struct message message;

		ask(fd, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &tid, sizeof(tid));
		print_message(stdout, &message, receive(fd, &message));
	}
	return EXIT_SUCCESS;
}
