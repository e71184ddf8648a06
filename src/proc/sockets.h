/*
 * sockets.h - which addresses belong to which socket inode.
 *
 * Read from the tables of /proc/PID/net, once for each network namespace, and, for
 * the other ends of unix sockets, from the kernel's socket diagnosis.
 *
 *	struct sockets sockets = { 0 };
 *	sockets_read(&sockets, proc_fd, tgid);	for a process of each namespace
 *	sockets_join(&sockets, owner_of, context);
 *	... sockets_find(&sockets, inode) ...
 */
#ifndef PROC_SOCKETS_H
#define PROC_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "proc/fdname.h"

#define SOCKETS_PATH_MAX 120

struct socket_row {
	uint64_t inode;	     /* 0 = is_queued */
	uint64_t peer_inode; /* unix: the other end; 0 = none or unknown */
	uint64_t
		listener_inode; /* unix: that of who is to accept the other end; 0 = none or unknown */
	uint32_t unsent;	/* TCP: bytes that its peer did not acknowledge yet */
	uint32_t unread;	/* TCP: bytes that nobody has read yet */
	uint32_t space;		/* which sockets_read() found it */
	bool is_queued;		/* TCP: made by a client, and not accepted yet */
	struct fdname_socket socket;
	char path[SOCKETS_PATH_MAX]; /* unix: own address */
};

struct sockets {
	struct socket_row *rows; /* owned */
	size_t count;
	size_t cap;
	struct map by_inode; /* inode to index */
	uint32_t spaces;
};

void sockets_fini(struct sockets *sockets);

/* Add the sockets of the network namespace that process 'tgid' is in. */
void sockets_read(struct sockets *sockets, int proc_fd, int32_t tgid);

/*
 * Find out roles, and the process at the other end of unix sockets. 'owner_of' gives
 * a process that holds the socket 'inode' (0 = none), preferably not 'other_than'.
 */
struct sockets_owners {
	int32_t (*owner_of)(const void *context, uint64_t inode, int32_t other_than);
	const void *context;
};
void sockets_join(struct sockets *sockets, const struct sockets_owners *owners);

/* NULL when it is in no table: not bound to anything, or of another kind. */
const struct fdname_socket *sockets_find(const struct sockets *sockets, uint64_t inode);

/* A socket that is in no table: its kind alone. False when the kernel does not tell. */
bool sockets_guess(int32_t tgid, int32_t fd, struct fdname_socket *out_socket);

#endif
