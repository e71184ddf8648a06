/* how.c - see how.h. */
#include "stuck/how.h"

#include <stddef.h>
#include <string.h>

static const char *const how_names[STUCK_HOWS] = {
	[STUCK_HOW_NONE] = "",
	[STUCK_HOW_TRACES] = "traces",
	[STUCK_HOW_PARENT] = "parent",
	[STUCK_HOW_CHILD] = "child",
	[STUCK_HOW_CHILD_SIGNAL] = "child_signal",
	[STUCK_HOW_VFORK_CHILD] = "vfork_child",
	[STUCK_HOW_PIDFD] = "pidfd",
	[STUCK_HOW_MUTEX_WORD] = "mutex_word",
	[STUCK_HOW_MUTEX_GLIBC] = "mutex_glibc",
	[STUCK_HOW_RWLOCK_GLIBC] = "rwlock_glibc",
	[STUCK_HOW_RWLOCK_WRITER] = "rwlock_writer",
	[STUCK_HOW_JOINED_GLIBC] = "joined_glibc",
	[STUCK_HOW_JOINED_MUSL] = "joined_musl",
	[STUCK_HOW_FILE_STREAM] = "file_stream",
	[STUCK_HOW_PI_MUTEX] = "pi_mutex",
	[STUCK_HOW_PI_WAITER] = "pi_waiter",
	[STUCK_HOW_PYTHON_INSIDE] = "python_inside",
	[STUCK_HOW_PYTHON_ENDS] = "python_ends",
	[STUCK_HOW_PYTHON_SHARED] = "python_shared",
	[STUCK_HOW_PYTHON_RLOCK] = "python_rlock",
	[STUCK_HOW_JAVA_MONITOR] = "java_monitor",
	[STUCK_HOW_JAVA_JOINED] = "java_joined",
	[STUCK_HOW_JAVA_LOCK] = "java_lock",
	[STUCK_HOW_JAVA_TASK] = "java_task",
	[STUCK_HOW_POSTGRES_HOLDS] = "postgres_holds",
	[STUCK_HOW_POSTGRES_QUEUED] = "postgres_queued",
	[STUCK_HOW_READS_PIPE] = "reads_pipe",
	[STUCK_HOW_WRITES_PIPE] = "writes_pipe",
	[STUCK_HOW_READS_FIFO] = "reads_fifo",
	[STUCK_HOW_WRITES_FIFO] = "writes_fifo",
	[STUCK_HOW_READS_EVENTFD] = "reads_eventfd",
	[STUCK_HOW_WRITES_EVENTFD] = "writes_eventfd",
	[STUCK_HOW_UNIX_END] = "unix_end",
	[STUCK_HOW_TCP_END] = "tcp_end",
	[STUCK_HOW_NOT_ACCEPTED] = "not_accepted",
	[STUCK_HOW_LISTENS_AT_PATH] = "listens_at_path",
	[STUCK_HOW_ACCEPTS_NONE] = "accepts_none",
	[STUCK_HOW_LISTENS] = "listens",
	[STUCK_HOW_TERMINAL_MASTER] = "terminal_master",
	[STUCK_HOW_TERMINAL] = "terminal",
	[STUCK_HOW_RECEIVES_QUEUE] = "receives_queue",
	[STUCK_HOW_SENDS_QUEUE] = "sends_queue",
	[STUCK_HOW_SEMAPHORE] = "semaphore",
	[STUCK_HOW_RECEIVED_LAST] = "received_last",
	[STUCK_HOW_SENT_LAST] = "sent_last",
	[STUCK_HOW_SHARES_MEMORY] = "shares_memory",
	[STUCK_HOW_FILE_LOCK] = "file_lock",
	[STUCK_HOW_A_FILE_LOCK] = "a_file_lock",
	[STUCK_HOW_TOOK_FILE_LOCK] = "took_file_lock",
	[STUCK_HOW_LEASE] = "lease",
	[STUCK_HOW_FUSE] = "fuse",
	[STUCK_HOW_USERFAULTFD] = "userfaultfd",
	[STUCK_HOW_SECCOMP] = "seccomp",
};

const char *stuck_how_name(enum stuck_how how)
{
	return how < STUCK_HOWS && how_names[how] ? how_names[how] : "";
}

enum stuck_how stuck_how_of(const char *name)
{
	for (int how = STUCK_HOW_NONE + 1; how < STUCK_HOWS; how++) {
		if (strcmp(how_names[how], name) == 0)
			return (enum stuck_how)how;
	}
	return STUCK_HOW_NONE;
}
