/*
 * how.h - from what it is known that somebody could end a wait. Words are made in report/stuck_how.h.
 */
#ifndef STUCK_HOW_H
#define STUCK_HOW_H

enum stuck_how {
	STUCK_HOW_NONE,
	STUCK_HOW_TRACES,
	STUCK_HOW_PARENT, /* has not waited for the process that exited */
	STUCK_HOW_CHILD,
	STUCK_HOW_VFORK_CHILD,
	STUCK_HOW_CHILD_SIGNAL,
	STUCK_HOW_PIDFD,

	/* Locks of libraries, by what has their owner. */
	STUCK_HOW_MUTEX_WORD,
	STUCK_HOW_MUTEX_GLIBC,
	STUCK_HOW_RWLOCK_GLIBC,
	STUCK_HOW_RWLOCK_WRITER, /* waits to write: readers queue behind it */
	STUCK_HOW_JOINED_GLIBC,
	STUCK_HOW_JOINED_MUSL,
	STUCK_HOW_FILE_STREAM,
	STUCK_HOW_PI_MUTEX, /* of two whose circle the kernel refused */
	STUCK_HOW_PI_WAITER,

	/* Of interpreters. */
	STUCK_HOW_PYTHON_INSIDE,
	STUCK_HOW_PYTHON_ENDS,
	STUCK_HOW_PYTHON_SHARED,
	STUCK_HOW_PYTHON_RLOCK,
	STUCK_HOW_JAVA_MONITOR,
	STUCK_HOW_JAVA_JOINED,
	STUCK_HOW_JAVA_LOCK,
	STUCK_HOW_JAVA_TASK,

	/* Of PostgreSQL: 'mode' says in which. */
	STUCK_HOW_POSTGRES_HOLDS,
	STUCK_HOW_POSTGRES_QUEUED,

	/* Who has the other end, or the thing itself. */
	STUCK_HOW_READS_PIPE,
	STUCK_HOW_WRITES_PIPE,
	STUCK_HOW_READS_FIFO,
	STUCK_HOW_WRITES_FIFO,
	STUCK_HOW_READS_EVENTFD,
	STUCK_HOW_WRITES_EVENTFD,
	STUCK_HOW_UNIX_END,
	STUCK_HOW_TCP_END,
	STUCK_HOW_NOT_ACCEPTED,
	STUCK_HOW_LISTENS_AT_PATH,
	STUCK_HOW_ACCEPTS_NONE,
	STUCK_HOW_LISTENS,
	STUCK_HOW_TERMINAL_MASTER,
	STUCK_HOW_TERMINAL,
	STUCK_HOW_RECEIVES_QUEUE,
	STUCK_HOW_SENDS_QUEUE,
	STUCK_HOW_SEMAPHORE,
	STUCK_HOW_RECEIVED_LAST,
	STUCK_HOW_SENT_LAST,
	STUCK_HOW_SHARES_MEMORY, /* of a futex: nobody else has it */
	STUCK_HOW_FILE_LOCK,
	STUCK_HOW_A_FILE_LOCK,	  /* one of those that fit */
	STUCK_HOW_TOOK_FILE_LOCK, /* and may have it no more */
	STUCK_HOW_LEASE,
	STUCK_HOW_FUSE,
	STUCK_HOW_USERFAULTFD,
	STUCK_HOW_SECCOMP,
	STUCK_HOWS
};

/* A word for it, which is stored and never changes: "java_monitor"; "" for STUCK_HOW_NONE. */
const char *stuck_how_name(enum stuck_how how);

/* The one of that name; STUCK_HOW_NONE when there is none. */
enum stuck_how stuck_how_of(const char *name);

#endif
