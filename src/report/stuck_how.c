/* stuck_how.c - see stuck_how.h. */
#include "report/stuck_how.h"

#include <stdlib.h>

#include "base/mem.h"
#include "stuck/stuck.h"

static const char *const how_words[STUCK_HOWS] = {
	[STUCK_HOW_NONE] = "",
	[STUCK_HOW_POSTGRES_HOLDS] = "holds it: PostgreSQL's lock table",
	[STUCK_HOW_POSTGRES_QUEUED] = "is before it in the queue: PostgreSQL's lock table",
	[STUCK_HOW_TRACES] = "traces it",
	[STUCK_HOW_PARENT] = "is its parent, and has not waited for it",
	[STUCK_HOW_CHILD] = "is an awaited child",
	[STUCK_HOW_CHILD_SIGNAL] = "is a child, and its end calls a handler of SIGCHLD",
	[STUCK_HOW_VFORK_CHILD] = "is the child made by vfork()",
	[STUCK_HOW_PIDFD] = "is awaited by a pidfd",
	[STUCK_HOW_MUTEX_WORD] = "owns the mutex: its word",
	[STUCK_HOW_MUTEX_GLIBC] = "owns the mutex: glibc's owner field",
	[STUCK_HOW_RWLOCK_GLIBC] = "holds the write lock: glibc's writer field",
	[STUCK_HOW_RWLOCK_WRITER] = "waits for the write lock, and readers queue behind it",
	[STUCK_HOW_JOINED_GLIBC] = "is joined: the tid word",
	[STUCK_HOW_JOINED_MUSL] = "is joined: the thread's state",
	[STUCK_HOW_FILE_STREAM] = "owns the lock of a FILE",
	[STUCK_HOW_PI_MUTEX] = "owns the PI mutex and its wait leads to this thread",
	[STUCK_HOW_PI_WAITER] = "waits for a PI mutex of this thread",
	[STUCK_HOW_PYTHON_INSIDE] = "is inside `with` of the lock: its frame",
	[STUCK_HOW_PYTHON_ENDS] = "is joined: its end releases the Lock",
	[STUCK_HOW_PYTHON_SHARED] =
		"is inside `with` of the lock: its frame, and the lock's last_tid",
	[STUCK_HOW_PYTHON_RLOCK] = "owns the RLock: its rlock_owner",
	[STUCK_HOW_JAVA_MONITOR] = "owns the monitor: HotSpot's owner field",
	[STUCK_HOW_JAVA_JOINED] = "is joined, the monitor is of its Thread",
	[STUCK_HOW_JAVA_TASK] = "runs the task: its runner",
	[STUCK_HOW_JAVA_LOCK] = "owns the lock: its exclusiveOwnerThread",
	[STUCK_HOW_READS_PIPE] = "can read from the pipe",
	[STUCK_HOW_WRITES_PIPE] = "can write to the pipe",
	[STUCK_HOW_READS_FIFO] = "has a FIFO with that name open for reading",
	[STUCK_HOW_WRITES_FIFO] = "has a FIFO with that name open for writing",
	[STUCK_HOW_READS_EVENTFD] = "can read from the eventfd",
	[STUCK_HOW_WRITES_EVENTFD] = "can write to the eventfd",
	[STUCK_HOW_UNIX_END] = "has the other end of the unix socket",
	[STUCK_HOW_TCP_END] = "has the other end of the TCP connection",
	[STUCK_HOW_NOT_ACCEPTED] = "has not accepted the connection",
	[STUCK_HOW_LISTENS_AT_PATH] = "listens at that path",
	[STUCK_HOW_ACCEPTS_NONE] = "accepts no connection there",
	[STUCK_HOW_LISTENS] = "listens there",
	[STUCK_HOW_TERMINAL_MASTER] = "has the master of a terminal with that number",
	[STUCK_HOW_TERMINAL] = "has a terminal with that number open",
	[STUCK_HOW_RECEIVES_QUEUE] = "has the queue open for receiving",
	[STUCK_HOW_SENDS_QUEUE] = "has the queue open for sending",
	[STUCK_HOW_SEMAPHORE] = "used the semaphore last",
	[STUCK_HOW_RECEIVED_LAST] = "received from the queue last",
	[STUCK_HOW_SENT_LAST] = "sent to the queue last",
	[STUCK_HOW_SHARES_MEMORY] =
		"is the only other process with that memory, of its parent, children and siblings",
	[STUCK_HOW_FILE_LOCK] = "holds the lock of the file",
	[STUCK_HOW_A_FILE_LOCK] = "holds a lock of the file",
	[STUCK_HOW_TOOK_FILE_LOCK] = "took the lock of the file",
	[STUCK_HOW_LEASE] = "has a lease of the file",
	[STUCK_HOW_FUSE] = "serves a FUSE file system",
	[STUCK_HOW_USERFAULTFD] = "has a userfaultfd",
	[STUCK_HOW_SECCOMP] = "decides on system calls (seccomp)",
};

const char *report_stuck_how_words(enum stuck_how how)
{
	return how > STUCK_HOW_NONE && how < STUCK_HOWS && how_words[how] ? how_words[how]
									  : "could end it";
}

char *report_stuck_how(const struct stuck_edge *edge)
{
	const char *words = how_words[edge->how] ? how_words[edge->how] : "";
	const char *mode = edge->mode ? edge->mode : "";
	bool is_guess = edge->is_inferred && *words;

	switch (edge->how) {
	case STUCK_HOW_POSTGRES_HOLDS:
		return xasprintf("holds %s: PostgreSQL's lock table", mode);
	case STUCK_HOW_POSTGRES_QUEUED: /* that it queues there is known */
		return xasprintf("is before it in the queue, for %s", mode);
	default:
		return xasprintf("%s%s", is_guess ? "inferred: " : "", words);
	}
}
