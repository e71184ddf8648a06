/* fdname.c - tables of the kinds of descriptors, and how addresses are printed. */
#include "proc/fdname.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "event/event.h"

#define FAMILY_VSOCK   40
#define PROTOCOL_MPTCP 262
#define ADDRESS_BYTES  (INET6_ADDRSTRLEN + sizeof("[]:65535"))

/* Anonymous inodes, as the link names them. The pid of a pidfd is added. */
static const struct anon {
	const char *link;
	const char *name;
	enum fd_role role;
} anons[] = {
	{ "[eventpoll]", "epoll", FD_ROLE_EPOLL },   { "[eventfd]", "eventfd", FD_ROLE_EVENTFD },
	{ "[timerfd]", "timerfd", FD_ROLE_TIMERFD }, { "[signalfd]", "signalfd", FD_ROLE_SIGNALFD },
	{ "inotify", "inotify", FD_ROLE_INOTIFY },   { "[pidfd]", "pidfd", FD_ROLE_PIDFD },
};

/* What a socket is called; -1 = any. The first match counts. */
static const struct kind {
	int family;
	int type;
	int protocol;
	const char *name;
} kinds[] = {
	{ AF_UNIX, -1, -1, "unix" },	    { AF_NETLINK, -1, -1, "netlink" },
	{ AF_PACKET, -1, -1, "packet" },    { FAMILY_VSOCK, -1, -1, "vsock" },
	{ -1, SOCK_RAW, -1, "raw" },	    { -1, -1, PROTOCOL_MPTCP, "mptcp" },
	{ -1, -1, IPPROTO_SCTP, "sctp" },   { -1, -1, IPPROTO_ICMP, "icmp" },
	{ -1, -1, IPPROTO_ICMPV6, "icmp" }, { -1, SOCK_STREAM, -1, "tcp" },
	{ -1, SOCK_DGRAM, -1, "udp" },
};

static const char *kind_name(const struct fdname_socket *socket)
{
	bool inet = socket->family == AF_INET || socket->family == AF_INET6;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct kind *kind = &kinds[i];

		if ((kind->family < 0 ? inet : kind->family == socket->family) &&
		    (kind->type < 0 || kind->type == socket->type) &&
		    (kind->protocol < 0 || kind->protocol == socket->protocol))
			return kind->name;
	}
	return NULL;
}

static bool all_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

/* "127.0.0.1:80", "[::1]:80", "*:80" for any IPv4 address. */
static void print_address(int family, const uint8_t *address, uint16_t port, char *out)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
	char text[INET6_ADDRSTRLEN] = "?";

	if (family == AF_INET6 && memcmp(address, mapped, sizeof(mapped)) == 0) {
		family = AF_INET;
		address += sizeof(mapped);
	}
	(void)inet_ntop(family, address, text, sizeof(text)); /* cannot fail with this room */
	if (family == AF_INET6)
		snprintf(out, ADDRESS_BYTES, "[%s]:%u", text, port);
	else if (all_zero(address, 4))
		snprintf(out, ADDRESS_BYTES, "*:%u", port);
	else
		snprintf(out, ADDRESS_BYTES, "%s:%u", text, port);
}

static void print_inet(const char *kind, const struct fdname_socket *socket, struct fdname *out)
{
	char local[ADDRESS_BYTES], remote[ADDRESS_BYTES];

	print_address(socket->family, socket->local, socket->local_port, local);
	print_address(socket->family, socket->remote, socket->remote_port, remote);
	if (socket->listens)
		snprintf(out->text, sizeof(out->text), "%s listen %s", kind, local);
	else if (socket->remote_port || !all_zero(socket->remote, sizeof(socket->remote)))
		snprintf(out->text, sizeof(out->text), "%s %s->%s", kind, local, remote);
	else if (socket->local_port || !all_zero(socket->local, sizeof(socket->local)))
		snprintf(out->text, sizeof(out->text), "%s %s", kind, local);
	else
		snprintf(out->text, sizeof(out->text), "%s", kind);
}

/* An abstract address is mostly all of sun_path: the zeros at its end are told as none. */
static int path_bytes(const char *path)
{
	size_t len = strnlen(path, 108);

	while (path[0] == '@' && len > 1 && path[len - 1] == '@')
		len--;
	return (int)len;
}

static void print_unix(const struct fdname_socket *socket, struct fdname *out)
{
	size_t room = sizeof(out->text);
	int at = snprintf(out->text, room, "unix%s", socket->listens ? " listen" : "");

	/* Of a pair, whoever made it had both ends: who has the other one now is another question. */
	if (!socket->path[0] && !socket->listens && socket->inode && socket->peer_inode) {
		snprintf(out->text + at, room - at, " %" PRIu64 "->%" PRIu64, socket->inode,
			 socket->peer_inode);
		return;
	}
	if (socket->path[0])
		at += snprintf(out->text + at, room - at, " %.*s", path_bytes(socket->path),
			       socket->path);
	if (socket->peer_pid > 0 && !socket->listens)
		snprintf(out->text + at, room - at, " peer %d", socket->peer_pid);
}

static void print_netlink(const struct fdname_socket *socket, struct fdname *out)
{
	static const char *const names[] = {
		[0] = "route",	    [4] = "sock_diag", [5] = "nflog",	    [6] = "xfrm",
		[7] = "selinux",    [9] = "audit",     [10] = "fib_lookup", [11] = "connector",
		[12] = "netfilter", [15] = "uevent",   [16] = "generic",    [18] = "scsi",
		[20] = "rdma",	    [21] = "crypto",
	};
	int nr = socket->protocol;

	if (nr < 0) /* not known */
		snprintf(out->text, sizeof(out->text), "netlink");
	else if ((size_t)nr < ARRAY_LEN(names) && names[nr])
		snprintf(out->text, sizeof(out->text), "netlink %s", names[nr]);
	else
		snprintf(out->text, sizeof(out->text), "netlink %d", nr);
}

static void make_socket(const struct fdname_socket *socket, struct fdname *out)
{
	const char *kind = kind_name(socket);

	out->role = socket->role;
	if (socket->family == AF_UNIX)
		print_unix(socket, out);
	else if (socket->family == AF_NETLINK)
		print_netlink(socket, out);
	else if (socket->family == AF_INET || socket->family == AF_INET6)
		print_inet(kind ? kind : "inet", socket, out);
	else if (kind)
		snprintf(out->text, sizeof(out->text), "%s", kind);
	else
		snprintf(out->text, sizeof(out->text), "socket of family %d", socket->family);
}

/* 'name' is what stands behind "anon_inode:". */
static void make_anon(const char *name, int32_t pid, struct fdname *out)
{
	size_t len = strlen(name);
	bool brackets = len > 2 && name[0] == '[' && name[len - 1] == ']';

	out->role = FD_ROLE_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(anons); i++) {
		if (strcmp(name, anons[i].link) != 0)
			continue;
		out->role = anons[i].role;
		if (out->role == FD_ROLE_PIDFD && pid > 0)
			snprintf(out->text, sizeof(out->text), "%s %d", anons[i].name, pid);
		else
			snprintf(out->text, sizeof(out->text), "%s", anons[i].name);
		return;
	}
	snprintf(out->text, sizeof(out->text), "%.*s", (int)(brackets ? len - 2 : len),
		 name + brackets);
}

/* Character devices that are terminals, by Documentation/admin-guide/devices.txt. */
static bool is_tty(const char *path, uint32_t major)
{
	return major == 4 || major == 5 || (major >= 136 && major <= 143) ||
	       strncmp(path, "/dev/tty", 8) == 0 || strncmp(path, "/dev/hvc", 8) == 0;
}

static uint8_t path_role(const struct fdname_object *object)
{
	switch (object->mode & S_IFMT) {
	case 0:
	case S_IFREG:
		return object->link[0] == '/' ? FD_ROLE_FILE : FD_ROLE_OTHER;
	case S_IFDIR:
		return FD_ROLE_DIR;
	case S_IFIFO:
		return FD_ROLE_PIPE;
	case S_IFBLK:
		return FD_ROLE_DEVICE;
	case S_IFCHR:
		return is_tty(object->link, object->major) ? FD_ROLE_TTY : FD_ROLE_DEVICE;
	default:
		return FD_ROLE_OTHER;
	}
}

/* The number in "pipe:[123]"; false when the link is not of that shape. */
static bool bracket_inode(const char *link, const char *prefix, uint64_t *out_inode)
{
	size_t len = strlen(prefix);
	char *end;

	if (strncmp(link, prefix, len) != 0)
		return false;
	*out_inode = strtoull(link + len, &end, 10);
	return end != link + len && strcmp(end, "]") == 0;
}

void fdname_make(const struct fdname_object *object, struct fdname *out_name)
{
	static const char anon[] = "anon_inode:";

	out_name->role = FD_ROLE_UNKNOWN;
	out_name->inode = 0;
	snprintf(out_name->text, sizeof(out_name->text), "%s", object->link);
	if (bracket_inode(object->link, "socket:[", &out_name->inode)) {
		out_name->role = FD_ROLE_SOCKET;
		if (object->socket)
			make_socket(object->socket, out_name);
	} else if (bracket_inode(object->link, "pipe:[", &out_name->inode)) {
		out_name->role = FD_ROLE_PIPE;
	} else if (strncmp(object->link, anon, sizeof(anon) - 1) == 0) {
		make_anon(object->link + sizeof(anon) - 1, object->pid, out_name);
	} else if (strncmp(object->link, "pidfd:[", 7) == 0) {
		make_anon("[pidfd]", object->pid, out_name);
	} else {
		out_name->role = path_role(object);
		if (object->pts > 0 && out_name->role == FD_ROLE_TTY)
			snprintf(out_name->text, sizeof(out_name->text), "/dev/ptmx of /dev/pts/%d",
				 (int)object->pts - 1);
	}
}
