/*
 * socket.h - ask the kernel for the accounts of many tasks.
 *
 * Needs CAP_NET_ADMIN in the first user namespace, and the first network and pid namespaces.
 * Used by one thread at a time.
 */
#ifndef ACCOUNTS_SOCKET_H
#define ACCOUNTS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/stats.h"

struct delays_socket;
struct err;
struct nl_sock;

/*
 * Returns 0; -EPERM without the right, -ENOENT where the kernel has no taskstats (or this is
 * another network namespace), or another negative errno; err then says what is needed.
 */
int delays_socket_open(struct delays_socket **out_socket, struct err *err);

/* NULL is fine. */
void delays_socket_close(struct delays_socket *socket);

struct delays_request {
	int32_t id;		   /* a thread, or a process */
	bool is_process;	   /* sum over the threads, those that have ended included */
	int error;		   /* out: 0, or a negative errno; -ESRCH = it is gone */
	struct delays_stats stats; /* out: with error 0 */
};

/*
 * Fill in all of them. Returns 0, also when single ones failed, or a negative errno with err
 * filled when none could be asked. Costs about 1 us for each: 32 go in one system call.
 * What the kernel says of a process: delays, run time, user and system time, life and
 * switches; the rest is not there.
 */
int delays_socket_ask(struct delays_socket *socket, struct delays_request *requests, size_t count,
		      struct err *err);

/* For other files of this room: a connected socket, and the number of the family. */
int delays_connect(struct nl_sock **out_sock, uint16_t *out_family, struct err *err);

#endif
