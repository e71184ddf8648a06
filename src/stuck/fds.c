/*
 * fds.c - who could end a wait for a descriptor: who has the other end of what it is.
 *
 *	pipe                 whoever has the other end open, by its number
 *	FIFO                 likewise, by name and number; and who opens it still
 *	unix socket          whoever has the peer, by the kernel's socket diagnosis; or the name that is sent to
 *	TCP on this machine  whoever has the socket with the same two ends, turned round
 *	not accepted yet     whoever has the socket that listens
 *	eventfd              other processes that have it, by its number
 *	message queue        whoever has it open: inferred, as anybody may open it
 *	pseudo-terminal      who has the master of it: inferred, as a name is no proof
 *	epoll set            whoever could end a wait for what is in it
 *	others               a timer, the network, a signal, nobody known
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/python_int.h"
#include "stuck/snap_int.h"
#include "stuck/socket_limit.h"

#define LINK_BYTES	  512
#define HOLDERS_BUDGET_NS 200000000u /* CPU time */

struct source {
	struct asleep *asleep;
	int32_t fd;
	bool writes;
	bool skips_self; /* its own process is not told of, though it has it */
	bool is_alone;	 /* the only one that is waited for: the object is told with its end */
	char link[LINK_BYTES];
	uint64_t key;
	uint64_t inode;
};

/* Signals whose handlers end no wait: faults, and what C libraries keep for themselves. */
#define SIGNALS_OF_NO_MATTER                                                      \
	(1ull << (4 - 1) | 1ull << (7 - 1) | 1ull << (8 - 1) | 1ull << (11 - 1) | \
	 1ull << (32 - 1) | 1ull << (33 - 1))
#define SIGNAL_OF_PYTHON \
	(1ull << (SIGINT - 1)) /* it has a handler in any case, that ends the program */

uint64_t snap_caught_signals(struct asleep *asleep)
{
	char text[4096];
	const char *at;

	if (look_file(&asleep->snap->look, asleep->process, "status", text, sizeof(text)) <= 0)
		return UINT64_MAX;
	at = strstr(text, "\nSigCgt:");
	return at ? strtoull(at + 8, NULL, 16) : UINT64_MAX;
}

bool snap_catches_signals(struct asleep *asleep)
{
	uint64_t caught = snap_caught_signals(asleep) & ~SIGNALS_OF_NO_MATTER;

	if (caught != SIGNAL_OF_PYTHON)
		return caught;
	return !python_of(asleep->snap, asleep->process)->is_python;
}

/* A table that is wanted is worth its time, however many threads were looked at before. */
void snap_make_holders(struct snap *snap)
{
	holders_make(&snap->holders, snap->look.proc_fd, snap->look.worker,
		     look_spent_ns() + HOLDERS_BUDGET_NS);
	/* Who began a container may have kept what it inherited. */
	snap->is_inside_space = !proc_is_outermost();
	if (snap->is_inside_space)
		snap->holders.is_complete = false;
}

static void add_holder(struct source *source, int32_t tgid, bool is_inferred, enum stuck_how how)
{
	struct asleep *asleep = source->asleep;
	const struct stuck_edge edge = {
		.tid = tgid, .is_process = true, .is_inferred = is_inferred, .how = how
	};

	wait_edge(asleep->wait, &edge);
	if (tgid == asleep->task.tgid && snap_catches_signals(asleep))
		asleep->wait->has_hole = true;
}

/* What it was told to do later, the kernel does for it. */
static bool has_ring(const struct snap *snap, int32_t tgid)
{
	const struct holder *rings;
	uint64_t inode;
	size_t count;

	rings = holders_find(&snap->holders, holders_key("anon_inode:[io_uring]", &inode), &count);
	for (size_t i = 0; i < count; i++) {
		if (rings[i].tgid == tgid)
			return true;
	}
	return false;
}

/* All who have 'key' open in one of 'modes'; 0 = in any. Returns how many entries that were. */
static size_t add_holders(struct source *source, uint64_t key, uint8_t modes, bool is_inferred,
			  enum stuck_how how)
{
	struct snap *snap = source->asleep->snap;
	const struct holder *holder;
	size_t count, added = 0;
	int32_t last = 0;

	snap_make_holders(snap);
	holder = holders_find(&snap->holders, key, &count);
	for (size_t i = 0; i < count; i++) {
		if ((modes && !(holder[i].modes & modes)) || holder[i].tgid == last ||
		    (source->skips_self && holder[i].tgid == source->asleep->task.tgid))
			continue;
		last = holder[i].tgid;
		add_holder(source, last, is_inferred, how);
		source->asleep->wait->has_hole |= has_ring(snap, last);
		added++;
	}
	if (!snap->holders.is_complete)
		source->asleep->wait->has_hole = true;
	return added;
}

/* The same of what its own process has in any case: where others have it, other threads of its own may be it as well. */
static void add_sharers(struct source *source, uint64_t key, uint8_t modes, bool is_inferred,
			enum stuck_how how)
{
	const struct asleep *asleep = source->asleep;

	source->skips_self = true;
	if (add_holders(source, key, modes, is_inferred, how) && asleep->process->count > 1)
		add_holder(source, asleep->task.tgid, is_inferred, how);
}

static void source_object(const struct source *source, const char *what)
{
	if (source->is_alone)
		wait_object(source->asleep->wait, "fd %d = %s", source->fd, what);
}

static void pipe_source(struct source *source)
{
	source_object(source, source->link);
	if (!add_holders(source, source->key, source->writes ? HOLDER_READS : HOLDER_WRITES, false,
			 source->writes ? STUCK_HOW_READS_PIPE : STUCK_HOW_WRITES_PIPE))
		source->asleep->wait->has_unknown = true;
}

/* Anybody can open a FIFO, so those who have it are never all. */
static void fifo_source(struct source *source)
{
	AUTO_FREE char *what = xasprintf("FIFO %s", source->link);

	source_object(source, what);
	(void)add_holders(source, source->key, source->writes ? HOLDER_READS : HOLDER_WRITES, true,
			  source->writes ? STUCK_HOW_READS_FIFO : STUCK_HOW_WRITES_FIFO);
	source->asleep->wait->has_hole = true;
	source->asleep->wait->has_outside = true;
}

/* Of IPv4 in IPv6, the IPv4 part. */
static const uint8_t *plain_address(int family, const uint8_t *address, size_t *out_bytes)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (family == AF_INET6 && memcmp(address, mapped, sizeof(mapped)) == 0) {
		*out_bytes = 4;
		return address + 12;
	}
	*out_bytes = family == AF_INET ? 4 : 16;
	return address;
}

static uint64_t end_hash(uint64_t hash, int family, const uint8_t *address, uint16_t port)
{
	size_t bytes;
	const uint8_t *plain = plain_address(family, address, &bytes);

	return hash_bytes(&port, sizeof(port), hash_bytes(plain, bytes, hash));
}

/* Of a connection, from 'is_turned' ? the other side : this side. */
static uint64_t ends_hash(const struct socket_row *row, bool is_turned)
{
	const struct fdname_socket *socket = &row->socket;
	uint64_t hash = hash_bytes(&row->space, sizeof(row->space), 0);

	if (is_turned) {
		hash = end_hash(hash, socket->family, socket->remote, socket->remote_port);
		return end_hash(hash, socket->family, socket->local, socket->local_port);
	}
	hash = end_hash(hash, socket->family, socket->local, socket->local_port);
	return end_hash(hash, socket->family, socket->remote, socket->remote_port);
}

static bool is_tcp(const struct socket_row *row)
{
	return row->socket.type == SOCK_STREAM && !row->socket.listens &&
	       (row->socket.family == AF_INET || row->socket.family == AF_INET6);
}

/* The tables of the network namespace that the process is in, once. */
static void read_space(struct asleep *asleep)
{
	struct snap *snap = asleep->snap;
	size_t first = snap->sockets.count;
	char link[64] = "";
	uint64_t space;

	if (look_link(&snap->look, asleep->process, "ns/net", link, sizeof(link)) <= 0 ||
	    strncmp(link, "net:[", 5) != 0)
		return;
	space = strtoull(link + 5, NULL, 10);
	if (map_find(&snap->spaces, space))
		return;
	map_put(&snap->spaces, space, 1);
	sockets_read(&snap->sockets, snap->look.proc_fd, asleep->task.tgid);
	for (size_t i = first; i < snap->sockets.count; i++) {
		if (is_tcp(&snap->sockets.rows[i]))
			map_put(&snap->ends, ends_hash(&snap->sockets.rows[i], false), i);
	}
}

static const struct socket_row *socket_row(struct source *source)
{
	struct snap *snap = source->asleep->snap;
	uint64_t *index;

	read_space(source->asleep);
	index = map_find(&snap->sockets.by_inode, source->inode);
	return index ? &snap->sockets.rows[*index] : NULL;
}

static void unix_source(struct source *source, const struct socket_row *row)
{
	AUTO_FREE char *what = xasprintf("unix socket%s%s", row->path[0] ? " " : "", row->path);

	source_object(source, what);
	if (row->listener_inode && !row->peer_inode) {
		if (!add_holders(source, row->listener_inode << 2 | 1, 0, false,
				 STUCK_HOW_NOT_ACCEPTED))
			source->asleep->wait->has_unknown = true;
		return;
	}
	/* Anybody may send messages to a socket that has a name, unless it is connected: then its peer alone. */
	if (row->socket.listens || !row->peer_inode) {
		source->asleep->wait->has_outside = true;
		return;
	}
	if (!add_holders(source, row->peer_inode << 2 | 1, 0, false, STUCK_HOW_UNIX_END))
		source->asleep->wait->has_unknown = true;
}

/* poll() knows no such limits. What may have one, or not, could end the wait. */
static void add_limit(struct source *source)
{
	struct asleep *asleep = source->asleep;
	enum socket_limit limit;

	if (!source->is_alone || !asleep->wait->count)
		return;
	limit = socket_limit_find(&asleep->snap->look, asleep->process, source->fd, source->writes);
	asleep->wait->is_timed |= limit == SOCKET_LIMIT_SET;
	asleep->wait->has_hole |= limit == SOCKET_LIMIT_UNKNOWN;
}

/* The path, as socket tables have it: "@" before an abstract one. Whether it names one socket alone. */
static bool name_unix(const char *path, size_t bytes, char name[SOCKETS_PATH_MAX])
{
	snprintf(name, SOCKETS_PATH_MAX, "%s%.*s", path[0] ? "" : "@",
		 (int)(path[0] ? bytes : bytes - 1), path[0] ? path : path + 1);
	return path[0] == '/' || !path[0];
}

static bool takes_at(const struct socket_row *row, const char *name, bool listens)
{
	return row->socket.family == AF_UNIX && row->socket.listens == listens &&
	       (listens || row->socket.type == SOCK_DGRAM) && strcmp(row->path, name) == 0;
}

/* A path that is not whole may be that of another folder's. */
static void add_takers(struct asleep *asleep, const char *name, bool is_whole, bool listens)
{
	const struct sockets *sockets = &asleep->snap->sockets;
	struct source source = { .asleep = asleep, .fd = (int32_t)asleep->task.args[0] };
	enum stuck_how how = listens ? STUCK_HOW_ACCEPTS_NONE : STUCK_HOW_UNIX_END;
	size_t takers = 0;

	read_space(asleep);
	for (size_t i = 0; i < sockets->count; i++)
		takers += takes_at(&sockets->rows[i], name, listens);
	if (listens && (takers > 1 || !is_whole))
		how = STUCK_HOW_LISTENS_AT_PATH;
	for (size_t i = 0; i < sockets->count; i++) {
		if (takes_at(&sockets->rows[i], name, listens))
			(void)add_holders(&source, sockets->rows[i].inode << 2 | 1, 0,
					  takers > 1 || !is_whole, how);
	}
}

bool listener_wait(struct asleep *asleep, const char *path, size_t bytes)
{
	struct source source = { .asleep = asleep,
				 .fd = (int32_t)asleep->task.args[0],
				 .writes = true,
				 .is_alone = true };
	char name[SOCKETS_PATH_MAX];
	bool is_whole = name_unix(path, bytes, name);

	add_takers(asleep, name, is_whole, true);
	add_limit(&source);
	wait_object(asleep->wait, "fd %d: unix socket %s, whose queue is full", source.fd, name);
	return asleep->wait->count > 0;
}

bool receiver_wait(struct asleep *asleep, const char *path, size_t bytes)
{
	struct source source = { .asleep = asleep,
				 .fd = (int32_t)asleep->task.args[0],
				 .writes = true,
				 .is_alone = true };
	char name[SOCKETS_PATH_MAX];
	bool is_whole = name_unix(path, bytes, name);

	add_takers(asleep, name, is_whole, false);
	add_limit(&source);
	wait_object(asleep->wait, "fd %d: to unix socket %s, whose queue is full", source.fd, name);
	return asleep->wait->count > 0;
}

/* "tcp 127.0.0.1:43210->127.0.0.1:80" */
static void name_inet(const struct socket_row *row, struct fdname *out_name)
{
	const struct fdname_object object = { .link = "socket:[0]", .socket = &row->socket };

	fdname_make(&object, out_name);
}

static bool is_any_address(const struct socket_row *row)
{
	static const uint8_t none[16];
	size_t bytes;
	const uint8_t *plain = plain_address(row->socket.family, row->socket.local, &bytes);

	return memcmp(plain, none, bytes) == 0;
}

static bool listens_at(const struct socket_row *row, const struct socket_row *queued)
{
	const struct fdname_socket *socket = &row->socket, *wanted = &queued->socket;
	size_t bytes, wanted_bytes;
	const uint8_t *plain, *wanted_plain;

	if (!socket->listens || row->space != queued->space ||
	    (socket->family != AF_INET && socket->family != AF_INET6) ||
	    socket->local_port != wanted->local_port)
		return false;
	plain = plain_address(socket->family, socket->local, &bytes);
	wanted_plain = plain_address(wanted->family, wanted->local, &wanted_bytes);
	return is_any_address(row) ||
	       (bytes == wanted_bytes && memcmp(plain, wanted_plain, bytes) == 0);
}

/* Whether all who have one of the sockets that listen there are one process. */
static bool is_one_process(struct source *source, const struct socket_row *queued)
{
	struct snap *snap = source->asleep->snap;
	int32_t found = 0;

	snap_make_holders(snap);
	for (size_t i = 0; i < snap->sockets.count; i++) {
		const struct holder *holder;
		size_t count;

		if (!listens_at(&snap->sockets.rows[i], queued))
			continue;
		holder = holders_find(&snap->holders, snap->sockets.rows[i].inode << 2 | 1, &count);
		for (size_t k = 0; k < count; k++) {
			if (found && holder[k].tgid != found)
				return false;
			found = holder[k].tgid;
		}
		if (!count)
			return false;
	}
	return found;
}

/* The other end is in the queue of a socket that listens there: of which one, where several do, is not told. */
static void queued_source(struct source *source, const struct socket_row *queued)
{
	const struct sockets *sockets = &source->asleep->snap->sockets;
	size_t listeners = 0, added = 0;
	bool is_inferred;

	for (size_t i = 0; i < sockets->count; i++)
		listeners += listens_at(&sockets->rows[i], queued);
	is_inferred = listeners > 1 && !is_one_process(source, queued);
	for (size_t i = 0; i < sockets->count; i++) {
		if (listens_at(&sockets->rows[i], queued))
			added += add_holders(
				source, sockets->rows[i].inode << 2 | 1, 0, is_inferred,
				is_inferred ? STUCK_HOW_LISTENS : STUCK_HOW_NOT_ACCEPTED);
	}
	if (!added)
		source->asleep->wait->has_unknown = true;
}

static bool is_loopback(const struct socket_row *row)
{
	static const uint8_t six[16] = { [15] = 1 };
	size_t bytes;
	const uint8_t *plain = plain_address(row->socket.family, row->socket.local, &bytes);

	return bytes == 4 ? plain[0] == 127 : memcmp(plain, six, sizeof(six)) == 0;
}

/* Where it connects to, as if that were its own end. */
static struct socket_row turned_row(const struct socket_row *row)
{
	struct socket_row turned = *row;

	memcpy(turned.socket.local, row->socket.remote, sizeof(turned.socket.local));
	turned.socket.local_port = row->socket.remote_port;
	return turned;
}

/* The socket, if that is what the call's first argument is; NULL = not known. */
static const struct socket_row *called_socket(struct source *source)
{
	struct asleep *asleep = source->asleep;
	char name[64];

	snprintf(name, sizeof(name), "task/%d/fd/%d", asleep->task.tid, source->fd);
	if (look_link(&asleep->snap->look, asleep->process, name, source->link,
		      sizeof(source->link)) <= 0)
		return NULL;
	source->key = holders_key(source->link, &source->inode);
	return source->inode ? socket_row(source) : NULL;
}

void connect_wait(struct asleep *asleep)
{
	struct source source = { .asleep = asleep,
				 .fd = (int32_t)asleep->task.args[0],
				 .is_alone = true };
	const struct sockets *sockets = &asleep->snap->sockets;
	const struct socket_row *row = called_socket(&source);
	struct socket_row turned;
	struct fdname name;

	asleep->wait->has_outside = true;
	if (!row || !is_tcp(row))
		return;
	asleep->wait->is_timed = true; /* the kernel gives up after some tries */
	name_inet(row, &name);
	source_object(&source, name.text);
	turned = turned_row(row);
	/* Its queue may be full; but a firewall, too, may take no notice. */
	for (size_t i = 0; i < sockets->count; i++) {
		const struct socket_row *at = &sockets->rows[i];

		if (listens_at(at, &turned) && (is_loopback(&turned) || !is_any_address(at)))
			(void)add_holders(&source, at->inode << 2 | 1, 0, true, STUCK_HOW_LISTENS);
	}
}

static void tcp_source(struct source *source, const struct socket_row *row)
{
	struct snap *snap = source->asleep->snap;
	uint64_t *index = map_find(&snap->ends, ends_hash(row, true));
	const struct socket_row *peer = index ? &snap->sockets.rows[*index] : NULL;

	if (!peer || ends_hash(peer, true) != ends_hash(row, false)) {
		source->asleep->wait->has_outside = true;
		return;
	}
	/* What is under way arrives by itself. */
	if (source->writes ? !peer->unread : peer->unsent || row->unread)
		source->asleep->wait->has_hole = true;
	if (peer->is_queued)
		queued_source(source, peer);
	else if (!add_holders(source, peer->inode << 2 | 1, 0, false, STUCK_HOW_TCP_END))
		source->asleep->wait->has_unknown = true;
}

static void find_ends(struct source *source)
{
	const struct socket_row *row = socket_row(source);
	struct fdname name;

	if (!row) {
		source_object(source, source->link);
		source->asleep->wait->has_unknown = true;
		return;
	}
	if (row->socket.family == AF_UNIX) {
		unix_source(source, row);
		return;
	}
	name_inet(row, &name);
	source_object(source, name.text);
	if (is_tcp(row))
		tcp_source(source, row);
	else
		source->asleep->wait->has_outside = true;
}

static void socket_source(struct source *source)
{
	find_ends(source);
	add_limit(source);
}

/* The number of the terminal whose master this is; -1 = it is none, or not known. */
static int32_t master_of(const struct source *source)
{
	struct asleep *asleep = source->asleep;
	char name[64], text[1024];
	const char *at;

	if (strcmp(source->link, "/dev/ptmx") != 0 && strcmp(source->link, "/dev/pts/ptmx") != 0)
		return -1;
	snprintf(name, sizeof(name), "task/%d/fdinfo/%d", asleep->task.tid, source->fd);
	if (look_file(&asleep->snap->look, asleep->process, name, text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, "tty-index:");
	return at ? (int32_t)strtol(at + 10, NULL, 10) : -1;
}

/* Programs in a terminal; in a set beside others that is any terminal emulator, which tells nothing. */
static void master_source(struct source *source, int32_t pts)
{
	AUTO_FREE char *path = xasprintf("/dev/pts/%d", pts);
	AUTO_FREE char *what = xasprintf("master of %s", path);
	uint64_t inode;

	source_object(source, what);
	source->skips_self = true;
	(void)add_holders(source, holders_key(path, &inode), 0, true, STUCK_HOW_TERMINAL);
}

static void terminal_source(struct source *source)
{
	int32_t pts = source->is_alone ? master_of(source) : -1;

	source->asleep->wait->has_outside = true;
	if (pts >= 0) {
		master_source(source, pts);
		return;
	}
	source_object(source, source->link);
	if (sscanf(source->link, "/dev/pts/%d", &pts) == 1 && pts >= 0)
		(void)add_holders(source, holders_master_key(pts), 0, true,
				  STUCK_HOW_TERMINAL_MASTER);
}

/* Anybody can open a queue by its name. */
static void queue_source(struct source *source)
{
	AUTO_FREE char *what = xasprintf("message queue %s", source->link);

	source_object(source, what);
	add_sharers(source, source->key, source->writes ? HOLDER_READS : HOLDER_WRITES, true,
		    source->writes ? STUCK_HOW_RECEIVES_QUEUE : STUCK_HOW_SENDS_QUEUE);
	source->asleep->wait->has_hole = true;
	source->asleep->wait->has_outside = true;
}

/* Other processes that have it by inheritance or by message; the kernel may write to it, too. */
static void eventfd_source(struct source *source)
{
	struct asleep *asleep = source->asleep;
	char name[64], text[1024];
	int64_t id;

	asleep->wait->has_unowned = true;
	snprintf(name, sizeof(name), "task/%d/fdinfo/%d", asleep->task.tid, source->fd);
	if (!source->is_alone ||
	    look_file(&asleep->snap->look, asleep->process, name, text, sizeof(text)) <= 0)
		return;
	id = holders_eventfd_id(text);
	if (id >= 0)
		add_sharers(source, holders_eventfd_key(id), 0, false,
			    source->writes ? STUCK_HOW_READS_EVENTFD : STUCK_HOW_WRITES_EVENTFD);
}

/* It ends with the process. */
static void pidfd_source(struct source *source)
{
	struct asleep *asleep = source->asleep;
	int32_t pid = pidfd_pid(asleep, source->fd);

	if (pid > 0)
		add_holder(source, pid, false, STUCK_HOW_PIDFD);
	else
		asleep->wait->has_unknown = true;
}

/* Of one that is not set, whoever has it would have to set it. */
static void timerfd_source(struct source *source)
{
	struct asleep *asleep = source->asleep;
	char name[64], text[1024];

	snprintf(name, sizeof(name), "task/%d/fdinfo/%d", asleep->task.tid, source->fd);
	if (look_file(&asleep->snap->look, asleep->process, name, text, sizeof(text)) <= 0 ||
	    !strstr(text, "\nit_value: (0, 0)")) {
		asleep->wait->has_timer = true;
		return;
	}
	asleep->wait->has_unowned = true;
	source_object(source, "[timerfd], which is not set");
}

static void anon_source(struct source *source)
{
	struct wait *wait = source->asleep->wait;
	const char *what = source->link + strlen("anon_inode:");

	source_object(source, what);
	if (strcmp(what, "[pidfd]") == 0)
		pidfd_source(source);
	else if (strcmp(what, "[timerfd]") == 0)
		timerfd_source(source);
	else if (strcmp(what, "[eventpoll]") == 0)
		epoll_source(source->asleep, source->fd);
	else if (strcmp(what, "[eventfd]") == 0)
		eventfd_source(source);
	else
		wait->has_outside = true; /* signalfd, inotify ... */
}

static bool is_terminal(const char *link)
{
	return strncmp(link, "/dev/pts/", 9) == 0 || strncmp(link, "/dev/tty", 8) == 0 ||
	       strcmp(link, "/dev/console") == 0 || strcmp(link, "/dev/ptmx") == 0;
}

static bool is_fifo(const struct source *source)
{
	return source->link[0] == '/' && (strstr(source->asleep->task.wchan, "pipe_read") ||
					  strstr(source->asleep->task.wchan, "pipe_write"));
}

static void add_source(struct source *source, uint64_t inode)
{
	struct asleep *asleep = source->asleep;
	char name[64];

	snprintf(name, sizeof(name), "task/%d/fd/%d", asleep->task.tid, source->fd);
	if (look_link(&asleep->snap->look, asleep->process, name, source->link,
		      sizeof(source->link)) <= 0) {
		snprintf(source->link, sizeof(source->link), "not known");
		source_object(source, source->link);
		asleep->wait->has_unknown = true;
		return;
	}
	source->key = holders_key(source->link, &source->inode);
	if (inode && source->inode && inode != source->inode) { /* the number is another's by now */
		asleep->wait->has_unknown = true;
		return;
	}
	if (strncmp(source->link, "pipe:[", 6) == 0)
		pipe_source(source);
	else if (strncmp(source->link, "socket:[", 8) == 0)
		socket_source(source);
	else if (strncmp(source->link, "anon_inode:", 11) == 0)
		anon_source(source);
	else if (is_terminal(source->link))
		terminal_source(source);
	else if (is_fifo(source))
		fifo_source(source);
	else if (strncmp(asleep->wait->in, "mq_", 3) == 0)
		queue_source(source);
	else if (strcmp(source->link, "/dev/fuse") == 0) { /* whoever uses the file system */
		source_object(source, source->link);
		asleep->wait->has_outside = true;
	} else {
		source_object(source, source->link);
		asleep->wait->has_unknown = true;
	}
}

void fd_wait(struct asleep *asleep, int32_t fd, bool writes)
{
	struct source source = { .asleep = asleep, .fd = fd, .writes = writes, .is_alone = true };

	add_source(&source, 0);
}

void fd_source(struct asleep *asleep, int32_t fd, uint64_t inode, bool writes)
{
	struct source source = { .asleep = asleep, .fd = fd, .writes = writes };

	add_source(&source, inode);
}
