/* sockets.c - the tables of /proc/PID/net, row by row. */
#include "proc/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/event.h"

#define FAMILY_VSOCK	40
#define PROTOCOL_MPTCP	262
#define UNIX_LISTENS	0x10000 /* __SO_ACCEPTCON */
#define STATE_CONNECTED 3	/* SS_CONNECTED, of /proc/net/unix */
#define REPLY_BYTES	(32u << 10)
#define FIELDS_MAX	10

/* A table of /proc/PID/net: what its rows are. */
struct table {
	const char *name;
	int family;
	int type;
	int protocol;
	bool (*take)(const struct table *table, char *const *fields, size_t count,
		     struct socket_row *out_row);
};

void sockets_fini(struct sockets *sockets)
{
	free(sockets->rows);
	map_fini(&sockets->by_inode);
	*sockets = (struct sockets){ 0 };
}

/* "0100007F:0050": words of the address as the CPU reads them, then the port. */
static bool take_address(const char *text, int family, uint8_t *out_address, uint16_t *out_port)
{
	size_t words = family == AF_INET ? 1 : 4;

	if (strlen(text) != words * 8 + 5 || text[words * 8] != ':')
		return false;
	for (size_t i = 0; i < words; i++) {
		char digits[9] = "";
		uint32_t word;

		memcpy(digits, text + i * 8, 8);
		word = (uint32_t)strtoul(digits, NULL, 16);
		memcpy(out_address + i * 4, &word, sizeof(word));
	}
	*out_port = (uint16_t)strtoul(text + words * 8 + 1, NULL, 16);
	return true;
}

/* sl local remote state queues timer retransmits uid timeout inode */
static bool take_inet(const struct table *table, char *const *fields, size_t count,
		      struct socket_row *out_row)
{
	struct fdname_socket *socket = &out_row->socket;
	unsigned long state;

	if (count < 10 ||
	    !take_address(fields[1], table->family, socket->local, &socket->local_port) ||
	    !take_address(fields[2], table->family, socket->remote, &socket->remote_port))
		return false;
	state = strtoul(fields[3], NULL, 16);
	(void)sscanf(fields[4], "%x:%x", &out_row->unsent, &out_row->unread);
	out_row->inode = strtoull(fields[9], NULL, 10);
	out_row->is_queued = table->type == SOCK_STREAM && !out_row->inode &&
			     (state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT);
	socket->listens = table->type == SOCK_STREAM && state == TCP_LISTEN;
	if (table->type == SOCK_RAW) { /* the "port" is the protocol */
		socket->protocol = socket->local_port;
		socket->local_port = 0;
	}
	if (socket->listens)
		socket->role = FD_ROLE_LISTEN;
	else if (state != TCP_CLOSE)
		socket->role = FD_ROLE_CONNECTED; /* or accepted: see join_inet() */
	return true;
}

/* Num RefCount Protocol Flags Type St Inode [Path] */
static bool take_unix(const struct table *table, char *const *fields, size_t count,
		      struct socket_row *out_row)
{
	struct fdname_socket *socket = &out_row->socket;

	(void)table;
	if (count < 7)
		return false;
	socket->type = (int)strtoul(fields[4], NULL, 16);
	out_row->inode = strtoull(fields[6], NULL, 10);
	socket->listens = strtoul(fields[3], NULL, 16) & UNIX_LISTENS;
	if (count > 7)
		snprintf(out_row->path, sizeof(out_row->path), "%s", fields[7]);
	if (socket->listens)
		socket->role = FD_ROLE_LISTEN;
	else if (strtoul(fields[5], NULL, 16) == STATE_CONNECTED && out_row->path[0])
		socket->role = FD_ROLE_ACCEPTED; /* see join_unix() */
	return true;
}

/* sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode */
static bool take_netlink(const struct table *table, char *const *fields, size_t count,
			 struct socket_row *out_row)
{
	(void)table;
	if (count < 10)
		return false;
	out_row->socket.protocol = atoi(fields[1]);
	out_row->inode = strtoull(fields[9], NULL, 10);
	return true;
}

/* sk RefCnt Type Proto Iface R Rmem User Inode */
static bool take_packet(const struct table *table, char *const *fields, size_t count,
			struct socket_row *out_row)
{
	(void)table;
	if (count < 9)
		return false;
	out_row->inode = strtoull(fields[8], NULL, 10);
	return true;
}

static const struct table tables[] = {
	{ "tcp", AF_INET, SOCK_STREAM, IPPROTO_TCP, take_inet },
	{ "tcp6", AF_INET6, SOCK_STREAM, IPPROTO_TCP, take_inet },
	{ "udp", AF_INET, SOCK_DGRAM, IPPROTO_UDP, take_inet },
	{ "udp6", AF_INET6, SOCK_DGRAM, IPPROTO_UDP, take_inet },
	{ "udplite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE, take_inet },
	{ "udplite6", AF_INET6, SOCK_DGRAM, IPPROTO_UDPLITE, take_inet },
	{ "raw", AF_INET, SOCK_RAW, 0, take_inet },
	{ "raw6", AF_INET6, SOCK_RAW, 0, take_inet },
	{ "icmp", AF_INET, SOCK_DGRAM, IPPROTO_ICMP, take_inet },
	{ "icmp6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, take_inet },
	{ "unix", AF_UNIX, SOCK_STREAM, 0, take_unix },
	{ "netlink", AF_NETLINK, SOCK_RAW, 0, take_netlink },
	{ "packet", AF_PACKET, SOCK_RAW, 0, take_packet },
};

/* Cut a line at blanks, in place. The last field of a full row keeps its blanks. */
static size_t split(char *line, char **fields, size_t max)
{
	size_t count = 0;

	line[strcspn(line, "\n")] = '\0';
	while (count < max) {
		line += strspn(line, " ");
		if (!*line)
			break;
		fields[count++] = line;
		if (count == max)
			break;
		line += strcspn(line, " ");
		if (*line)
			*line++ = '\0';
	}
	return count;
}

static void sockets_add_row(struct sockets *sockets, const struct socket_row *row)
{
	if (row->inode ? map_find(&sockets->by_inode, row->inode) != NULL : !row->is_queued)
		return;
	sockets->rows =
		vec_room(sockets->rows, sockets->count, &sockets->cap, sizeof(*sockets->rows));
	sockets->rows[sockets->count] = *row;
	if (row->inode)
		map_put(&sockets->by_inode, row->inode, sockets->count);
	sockets->count++;
}

static void read_table(struct sockets *sockets, int proc_fd, int32_t tgid,
		       const struct table *table)
{
	/* A path may hold blanks: it is the last field of its table. */
	size_t max = table->family == AF_UNIX ? 8 : FIELDS_MAX + 1;
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	char path[64];
	AUTO_FILE FILE *file = NULL;
	int fd;

	snprintf(path, sizeof(path), "%d/net/%s", tgid, table->name);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		mem_close_fd(&fd);
		return; /* this kernel lacks the protocol, or the process is gone */
	}
	if (getline(&line, &room, file) <= 0) /* the head line */
		return;
	while (getline(&line, &room, file) > 0) {
		char *fields[FIELDS_MAX + 1];
		size_t count = split(line, fields, max);
		struct socket_row row = { .space = sockets->spaces };

		row.socket.family = table->family;
		row.socket.type = table->type;
		row.socket.protocol = table->protocol;
		row.socket.role = FD_ROLE_SOCKET;
		if (table->take(table, fields, count, &row))
			sockets_add_row(sockets, &row);
	}
}

/* A thread's own network namespace can be another one than its process's. */
struct diag_start {
	int proc_fd;
	int32_t tgid;
	int socket; /* result; -1 = none */
};

static int diag_socket(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

static void *diag_socket_in(void *context)
{
	struct diag_start *start = context;
	AUTO_CLOSE int space = -1;
	char path[32];

	snprintf(path, sizeof(path), "%d/ns/net", start->tgid);
	space = openat(start->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (space >= 0 && setns(space, CLONE_NEWNET) == 0)
		start->socket = diag_socket();
	return NULL;
}

/* A diagnosis socket in the namespace of 'tgid'; it stays there. -1 = no right. */
static int open_diag(int proc_fd, int32_t tgid)
{
	struct diag_start start = { proc_fd, tgid, -1 };
	char theirs[64] = "", ours[64] = "", path[32];
	pthread_t thread;

	snprintf(path, sizeof(path), "%d/ns/net", tgid);
	if (readlinkat(proc_fd, path, theirs, sizeof(theirs) - 1) > 0 &&
	    readlinkat(proc_fd, "self/ns/net", ours, sizeof(ours) - 1) > 0 &&
	    strcmp(theirs, ours) == 0)
		return diag_socket();
	if (pthread_create(&thread, NULL, diag_socket_in, &start) == 0)
		pthread_join(thread, NULL);
	return start.socket;
}

static bool ask_peers(int diag)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req ask;
	} message = {
		.head = { .nlmsg_len = sizeof(message),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.ask = { .sdiag_family = AF_UNIX,
			 .udiag_states = ~0u,
			 .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS },
	};

	return send(diag, &message, sizeof(message), 0) == sizeof(message);
}

/* Of a socket that listens: those that are connected to what it has not accepted yet. */
static void take_clients(struct sockets *sockets, uint64_t listener, const char *inodes,
			 size_t bytes)
{
	for (size_t at = 0; bytes - at >= sizeof(uint32_t); at += sizeof(uint32_t)) {
		uint64_t *index;
		uint32_t inode;

		memcpy(&inode, inodes + at, sizeof(inode));
		index = inode ? map_find(&sockets->by_inode, inode) : NULL;
		if (index)
			sockets->rows[*index].listener_inode = listener;
	}
}

static void take_peer(struct sockets *sockets, const struct nlmsghdr *message)
{
	size_t head = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
	const char *at = (const char *)message + NLMSG_ALIGN(head);
	struct unix_diag_msg socket;
	uint64_t *index;
	uint32_t peer;

	if (message->nlmsg_len < NLMSG_ALIGN(head))
		return;
	memcpy(&socket, NLMSG_DATA(message), sizeof(socket));
	index = map_find(&sockets->by_inode, socket.udiag_ino);
	for (size_t left = message->nlmsg_len - NLMSG_ALIGN(head); left >= NLA_HDRLEN;) {
		struct nlattr attr;
		size_t step;

		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < NLA_HDRLEN || attr.nla_len > left)
			return;
		if (index && attr.nla_type == UNIX_DIAG_PEER &&
		    attr.nla_len >= NLA_HDRLEN + sizeof(peer)) {
			memcpy(&peer, at + NLA_HDRLEN, sizeof(peer));
			sockets->rows[*index].peer_inode = peer;
		}
		if (attr.nla_type == UNIX_DIAG_ICONS)
			take_clients(sockets, socket.udiag_ino, at + NLA_HDRLEN,
				     attr.nla_len - NLA_HDRLEN);
		step = NLA_ALIGN(attr.nla_len) < left ? NLA_ALIGN(attr.nla_len) : left;
		at += step;
		left -= step;
	}
}

/* One reply of many messages. False at the end of the answer. */
static bool take_peers(struct sockets *sockets, const char *reply, size_t bytes)
{
	const struct nlmsghdr *message = (const void *)reply;

	for (; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes)) {
		if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
			return false;
		if (message->nlmsg_type == SOCK_DIAG_BY_FAMILY)
			take_peer(sockets, message);
	}
	return true;
}

static void read_peers(struct sockets *sockets, int proc_fd, int32_t tgid)
{
	AUTO_CLOSE int diag = open_diag(proc_fd, tgid);
	AUTO_FREE char *reply = xmalloc(REPLY_BYTES);
	ssize_t got;

	if (diag < 0 || !ask_peers(diag))
		return; /* names lack the peer, nothing else */
	do {
		got = recv(diag, reply, REPLY_BYTES, 0);
	} while ((got < 0 && errno == EINTR) ||
		 (got > 0 && take_peers(sockets, reply, (size_t)got)));
}

void sockets_read(struct sockets *sockets, int proc_fd, int32_t tgid)
{
	sockets->spaces++;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		read_table(sockets, proc_fd, tgid, &tables[i]);
	read_peers(sockets, proc_fd, tgid);
}

static uint64_t port_key(const struct socket_row *row)
{
	return (uint64_t)row->space << 16 | row->socket.local_port;
}

/* Whose own port is one that is listened on was accepted there. */
static void join_inet(struct socket_row *row, const struct map *ports)
{
	if (row->socket.type == SOCK_STREAM && row->socket.role == FD_ROLE_CONNECTED &&
	    map_find(ports, port_key(row)))
		row->socket.role = FD_ROLE_ACCEPTED;
}

static struct socket_row *sockets_row(const struct sockets *sockets, uint64_t inode)
{
	uint64_t *index = inode ? map_find(&sockets->by_inode, inode) : NULL;

	return index ? &sockets->rows[*index] : NULL;
}

/* An accepted socket has its listener's address, a connecting one has none. */
static void join_unix(const struct sockets *sockets, struct socket_row *row,
		      const struct sockets_owners *owners)
{
	const struct socket_row *peer = sockets_row(sockets, row->peer_inode);
	int32_t self = owners->owner_of(owners->context, row->inode, 0);

	row->socket.path = row->path;
	row->socket.inode = row->inode;
	row->socket.peer_inode = row->peer_inode;
	if (row->socket.listens || !row->peer_inode)
		return;
	row->socket.peer_pid = owners->owner_of(owners->context, row->peer_inode, self);
	if (row->path[0] || !peer)
		return;
	row->socket.path = peer->path;
	if (peer->path[0])
		row->socket.role = FD_ROLE_CONNECTED;
}

void sockets_join(struct sockets *sockets, const struct sockets_owners *owners)
{
	struct map ports = { 0 };

	for (size_t i = 0; i < sockets->count; i++) {
		if (sockets->rows[i].socket.listens && sockets->rows[i].socket.family != AF_UNIX)
			map_put(&ports, port_key(&sockets->rows[i]), 1);
	}
	for (size_t i = 0; i < sockets->count; i++) {
		struct socket_row *row = &sockets->rows[i];

		row->socket.path = "";
		if (row->socket.family == AF_UNIX)
			join_unix(sockets, row, owners);
		else
			join_inet(row, &ports);
	}
	map_fini(&ports);
}

const struct fdname_socket *sockets_find(const struct sockets *sockets, uint64_t inode)
{
	const struct socket_row *row = sockets_row(sockets, inode);

	return row ? &row->socket : NULL;
}

bool sockets_guess(int32_t tgid, int32_t fd, struct fdname_socket *out_socket)
{
	static const struct {
		const char *name;
		int family;
		int type;
		int protocol;
	} protocols[] = {
		{ "TCP", AF_INET, SOCK_STREAM, IPPROTO_TCP },
		{ "TCPv6", AF_INET6, SOCK_STREAM, IPPROTO_TCP },
		{ "UDP", AF_INET, SOCK_DGRAM, IPPROTO_UDP },
		{ "UDPv6", AF_INET6, SOCK_DGRAM, IPPROTO_UDP },
		{ "MPTCP", AF_INET, SOCK_STREAM, PROTOCOL_MPTCP },
		{ "MPTCPv6", AF_INET6, SOCK_STREAM, PROTOCOL_MPTCP },
		{ "SCTP", AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		{ "SCTPv6", AF_INET6, SOCK_STREAM, IPPROTO_SCTP },
		{ "PING", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "PINGv6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6 },
		{ "RAW", AF_INET, SOCK_RAW, 0 },
		{ "RAWv6", AF_INET6, SOCK_RAW, 0 },
		{ "UNIX", AF_UNIX, SOCK_DGRAM, 0 },
		{ "UNIX-STREAM", AF_UNIX, SOCK_STREAM, 0 },
		{ "NETLINK", AF_NETLINK, SOCK_RAW, -1 },
		{ "PACKET", AF_PACKET, SOCK_RAW, 0 },
		{ "AF_VSOCK", FAMILY_VSOCK, SOCK_STREAM, 0 },
	};
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tgid, fd);
	if (getxattr(path, "system.sockprotoname", name, sizeof(name) - 1) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
		if (strcmp(name, protocols[i].name) != 0)
			continue;
		*out_socket = (struct fdname_socket){ .family = protocols[i].family,
						      .type = protocols[i].type,
						      .protocol = protocols[i].protocol,
						      .role = FD_ROLE_SOCKET,
						      .path = "" };
		return true;
	}
	return false;
}
