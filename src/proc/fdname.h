/*
 * fdname.h - what to print for a file descriptor.
 *
 * The state dump learns of descriptors from /proc, the BPF program from the kernel's
 * own structures. Both end here, so that one object has one name wherever it was
 * seen:
 *
 *	/var/db/x                             file, directory, device
 *	pipe:[4711]                           pipe
 *	tcp 127.0.0.1:43210->127.0.0.1:80     connected; local end first
 *	tcp listen *:8080
 *	udp 127.0.0.1:53
 *	unix /run/x.sock peer 440             the address of either end; pid of the other
 *	unix listen @bus
 *	/dev/ptmx of /dev/pts/3               the master of that terminal
 *	epoll, eventfd, timerfd, pidfd 440 ...
 */
#ifndef PROC_FDNAME_H
#define PROC_FDNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

struct fdname_socket {
	int family;   /* AF_INET ... */
	int type;     /* SOCK_STREAM ... */
	int protocol; /* IPPROTO_TCP ...; netlink: NETLINK_ROUTE ...,
			     -1 = unknown */
	bool listens;
	uint8_t role;	  /* enum fd_role: listen, accepted, connected, or plain socket */
	int32_t peer_pid; /* unix: process at the other end; 0 = unknown */
	uint64_t inode;	  /* unix: of both ends; 0 = unknown */
	uint64_t peer_inode;
	uint8_t local[16]; /* network byte order; 4 bytes of it for AF_INET */
	uint8_t remote[16];
	uint16_t local_port; /* host byte order */
	uint16_t remote_port;
	const char *path; /* unix: own address, else the peer's; '@' stands for NUL. "" = none */
};

struct fdname_object {
	const char *link; /* as readlink of /proc/PID/fd/N prints it */
	uint32_t mode;	  /* st_mode; 0 = unknown */
	uint32_t major;	  /* of a device file */
	int32_t pid;	  /* of a pidfd; 0 = unknown */
	int32_t pts;	  /* of a master of a pseudo-terminal: its number and 1; 0 = unknown */
	const struct fdname_socket *socket; /* NULL = none, or nothing known about it */
};

struct fdname {
	uint8_t role;	/* enum fd_role */
	uint64_t inode; /* of a pipe or socket; else 0 */
	char text[WIRE_NAME_MAX];
};

/* Name the object. Never fails: what is not understood keeps its link as its name. */
void fdname_make(const struct fdname_object *object, struct fdname *out_name);

#endif
