/*
 * snap_int.h - one whole look: threads, what each waits for, and the tables that tell who else has a thing.
 */
#ifndef STUCK_SNAP_INT_H
#define STUCK_SNAP_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "proc/sockets.h"
#include "stuck/holders.h"
#include "stuck/look.h"
#include "stuck/stuck.h"

#define WAIT_EDGES_MAX 64

/* What a thread waits for. The flags say what else than its edges could end it. */
struct wait {
	enum stuck_kind kind;
	char in[STUCK_IN_MAX];
	char object[STUCK_OBJECT_MAX];
	struct stuck_which which; /* as of a thread */
	uint16_t common_at, limit_at;
	bool is_limited;
	uint64_t futex; /* the address of the word that it waits for; 0 = none */
	bool is_timed;
	bool has_outside;
	bool has_timer;
	bool has_unowned;
	bool is_scheduled; /* as of a thread */
	bool is_inside;	   /* unowned, in memory that only its own process reaches */
	bool has_unknown;
	bool has_hole;	      /* not all who have it are known */
	bool waits_any_child; /* as of a thread */
	bool needs_all;	      /* each of its edges must let go, not only one */
	struct stuck_edge *edges;
	size_t count;
	size_t cap;
};

struct hotspot;
struct postgres;
struct python;

struct snap {
	struct look look;
	size_t cut;	    /* tasks of which time did not suffice for what they wait for */
	struct wait *waits; /* one for each task of the look */
	size_t wait_count;
	size_t wait_cap;
	struct holders holders;
	bool is_inside_space; /* of which not all processes are seen: those outside of our PID namespace */
	struct sockets sockets;
	struct map ends;	/* of TCP connections: hash of both ends, to a row of sockets */
	struct map spaces;	/* network namespaces that were read */
	char *locks;		/* owned; /proc/locks; NULL = not read yet */
	struct hotspot **javas; /* owned: Java processes, and those that are none */
	size_t java_count;
	size_t java_cap;
	struct map by_java;	 /* tgid, to an index of them */
	struct python **pythons; /* owned: the same for Python */
	size_t python_count;
	size_t python_cap;
	struct map by_python;
	struct postgres **postgreses; /* owned: servers */
	size_t postgres_count;
	size_t postgres_cap;
	struct map by_postgres; /* the server's process, to an index of them */
	struct map by_go;	/* tgid, to whether it runs Go */
};

/* A thread and its wait, as they are worked out. */
struct asleep {
	struct snap *snap;
	struct process *process;
	struct task task; /* a copy: tasks move */
	struct wait *wait;
	unsigned int epoll_depth; /* sets within sets that are being looked at */
};

/* Say that 'tid' could end it; whom it says already is left out. */
void wait_edge(struct wait *wait, const struct stuck_edge *edge);

void wait_object(struct wait *wait, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "mutex 0x7f00, to be signalled": the part that says which one it is, is noted. */
void wait_object_at(struct wait *wait, const char *kind, uint64_t address, const char *rest);

/* Who could end a wait for a futex word. */
void futex_wait(struct asleep *asleep);

/*
 * A wait for ever for a word of 0 on the thread's own stack: what glibc and musl do when the kernel refused to
 * let a PI mutex close a circle. False when it is not one.
 */
bool refused_pi_wait(struct asleep *asleep);

/* Locks of files: flock() and fcntl(). */
void flock_wait(struct asleep *asleep, bool is_flock);

/* An open() that waits until others have given up their leases of the file, or until the kernel takes them. */
void lease_wait(struct asleep *asleep);

/* One descriptor, to be read from or written to. */
void fd_wait(struct asleep *asleep, int32_t fd, bool writes);

/* connect() to a unix socket whose queue is full: false when nobody listens at that address. */
bool listener_wait(struct asleep *asleep, const char *path, size_t bytes);

/* connect() that the network answers, or somebody on this machine who does not accept. */
void connect_wait(struct asleep *asleep);

/* sendto() to such a socket, likewise: false when nobody has it. */
bool receiver_wait(struct asleep *asleep, const char *path, size_t bytes);

/* One of several: adds to the wait. 'inode' is what it must be, 0 = not known. */
void fd_source(struct asleep *asleep, int32_t fd, uint64_t inode, bool writes);

/* poll(), select() and epoll: all descriptors of the set. */
void poll_wait(struct asleep *asleep);
void select_wait(struct asleep *asleep);
void epoll_wait_set(struct asleep *asleep);

/* An epoll set that is waited for like a descriptor: adds whoever could end a wait for it. */
void epoll_source(struct asleep *asleep, int32_t fd);

/* The process behind a pidfd, in our numbers; 0 = it is gone, or not known. */
int32_t pidfd_pid(struct asleep *asleep, int32_t fd);

/* Children: wait4(), waitid(), vfork(). */
void child_wait(struct asleep *asleep);
void sigchld_wait(struct asleep *asleep); /* sigwait() of that alone */
void vfork_wait(struct asleep *asleep);

/* Behind the others: a main loop that sleeps for a pipe of its own may wait for SIGCHLD, whose handler writes to it. */
void child_signal_wait(struct asleep *asleep);

/* The kernel waits for a program, by the kernel's function that the task sleeps in. False = it is another one. */
bool fuse_wait(struct asleep *asleep, const char *call);
bool userfault_wait(struct asleep *asleep);
bool seccomp_wait(struct asleep *asleep);

/* The FUSE file system that is mounted as number 'mount' of /proc/PID/mountinfo; 0 = it is of another kind. */
unsigned long fuse_connection(const char *mounts, unsigned long mount);

/* Work out what the task waits for, by its state and its system call. */
void call_wait(struct asleep *asleep, const char *name);

/* Read who has what open, once. */
void snap_make_holders(struct snap *snap);

/* The signals that it has handlers for, by bits; all ones = not known. */
uint64_t snap_caught_signals(struct asleep *asleep);

/* Whether a signal handler of its own could end it: it catches signals that are not just ^C. */
bool snap_catches_signals(struct asleep *asleep);

#endif
