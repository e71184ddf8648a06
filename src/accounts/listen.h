/*
 * listen.h - the last account of each task, sent by the kernel when it exits.
 *
 * The kernel sends on the CPU where a task exits, to whoever registered for that CPU. There is
 * a socket for each CPU (for groups of them on large machines), so that a loss has a CPU. When
 * a receive buffer is full the kernel drops records; it counts them, and so do we: none
 * is lost without being told.
 *
 * Needs what socket.h needs. Used by one thread at a time.
 */
#ifndef ACCOUNTS_LISTEN_H
#define ACCOUNTS_LISTEN_H

#include <stddef.h>
#include <stdint.h>

#include "accounts/message.h"

struct delays_cpus;
struct delays_listener;
struct err;
struct pollfd;

#define DELAYS_SOCKETS_MAX 64u

struct delays_listen_opts {
	const struct delays_cpus *cpus; /* where tasks exit */
	size_t buffer_bytes;		/* for each socket; 0 = 16 MiB, of many sockets 4 */
};

/* Records that did not arrive. */
struct delays_loss {
	const char *cpus; /* "0-3": one of these; lives as long as the listener */
	uint64_t time_ns; /* noticed, ns since boot; it happened since the record before that */
	uint64_t lost_count;
};

/* What delays_listener_take() calls for each exit; 'exit' lives until it returns. */
struct delays_exits {
	void (*on_exit)(void *context, const struct delays_message *exit, uint64_t time_ns);
	void *context;
};

/*
 * Returns 0, or a negative errno with err filled: no rights, a CPU that is not there, another network
 * namespace ... Forks a child that exits, to see whether exits are heard.
 */
int delays_listener_open(const struct delays_listen_opts *opts,
			 struct delays_listener **out_listener, struct err *err);

void delays_listener_close(struct delays_listener *listener); /* NULL is fine */

/*
 * Wait until one of 'others' is ready, for 'timeout_ms' (negative: no limit), or until there is
 * something to take. What comes is let gather for a while, longer the emptier the buffers are, and meanwhile nobody
 * waits for it: being woken for each exit costs more than reading it, and costs the task that exits.
 * Returns 0, then see others[].revents; or a negative errno with err filled.
 */
int delays_listener_wait(struct delays_listener *listener, struct pollfd *others, size_t count,
			 int timeout_ms, struct err *err);

/* Take all that is there. Returns 0, or a negative errno with err filled. */
int delays_listener_take(struct delays_listener *listener, const struct delays_exits *exits,
			 struct err *err);

/* The losses so far; a view that is valid until the next take. *out_lost = their sum. */
const struct delays_loss *delays_listener_losses(const struct delays_listener *listener,
						 size_t *out_count, uint64_t *out_lost);

/* Datagrams that made no sense. 0, or the kernel is not what we think. */
uint64_t delays_listener_damaged(const struct delays_listener *listener);

#endif
