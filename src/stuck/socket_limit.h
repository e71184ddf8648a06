/*
 * socket_limit.h - whether a socket has a time limit of its own: SO_RCVTIMEO, SO_SNDTIMEO, TCP_USER_TIMEOUT.
 *
 * No file of /proc tells it. The socket is borrowed by pidfd_getfd(), asked, and closed again.
 */
#ifndef STUCK_SOCKET_LIMIT_H
#define STUCK_SOCKET_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct look;
struct process;

enum socket_limit {
	SOCKET_LIMIT_UNKNOWN, /* the kernel does not lend it */
	SOCKET_LIMIT_NONE,
	SOCKET_LIMIT_SET,
};

/* Of a wait of that process to read from descriptor 'fd', or to write to it. */
enum socket_limit socket_limit_find(struct look *look, struct process *process, int32_t fd,
				    bool writes);

#endif
