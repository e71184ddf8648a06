/*
 * opened.h - what processes have open, their command lines, and the calls they are blocked in.
 *
 * Some of these files look into another process, and may block for as long as that
 * process, or the file system behind one of its files, likes. They are read by a
 * thread that can be left behind: a process that takes too long is given up.
 */
#ifndef RECORD_OPENED_H
#define RECORD_OPENED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct opened_fd {
	int32_t fd;
	int32_t pid;	/* pidfd: of which process; 0 = unknown */
	int32_t pts;	/* of a master of a pseudo-terminal: its number and 1; 0 = unknown */
	uint32_t mode;	/* st_mode; 0 = unknown */
	uint32_t major; /* of a device file */
	uint8_t marks;	/* FD_STAYS, FD_CLOSES, or 0: not known */
	char *link;	/* owned; as readlink prints it */
};

struct opened_epoll {
	int32_t epoll;
	int32_t target;
};

/* The system call that a thread is blocked in. */
struct opened_call {
	int32_t tid;
	int32_t nr;
	uint64_t args[4]; /* the first ones */
	uint64_t seen_ns; /* CLOCK_MONOTONIC, before it was read */
};

/* One process. */
struct opened {
	int error;	       /* negative errno: descriptors could not be read */
	struct opened_fd *fds; /* ascending */
	size_t fd_count;
	size_t fd_cap;
	struct opened_epoll *epolls;
	size_t epoll_count;
	size_t epoll_cap;
	char *cmdline;		   /* arguments joined by blanks */
	bool compat;		   /* a 32-bit program on a 64-bit kernel */
	struct opened_call *calls; /* ascending by tid; of 64-bit programs only, and not of all */
	size_t call_count;
	size_t call_cap;
};

struct opened_all {
	struct opened *processes; /* owned; one per tgid asked for, in that order */
	int32_t *hung; /* owned; ascending: given up, but for the calls of their threads */
	size_t hung_count;
	size_t hung_cap;
};

/*
 * Read all of 'tgids'. 'proc_fd' is an open /proc. What could not be read is empty;
 * a process that ended meanwhile is empty without an error.
 * Takes 'patience_ms' at most for a process that hangs, and four times that for all.
 */
void opened_read(int proc_fd, const int32_t *tgids, size_t count, unsigned int patience_ms,
		 struct opened_all *out_all);

void opened_fini(struct opened_all *all, size_t count);

#endif
