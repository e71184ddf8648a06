/* calls.c - for each system call that waits, what its arguments say. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "stuck/snap_int.h"

#define RING_IS_REGISTERED 16u /* IORING_ENTER_REGISTERED_RING: the number is no descriptor */

static void wait_reading(struct asleep *asleep)
{
	fd_wait(asleep, (int32_t)asleep->task.args[0], false);
}

static void wait_writing(struct asleep *asleep)
{
	fd_wait(asleep, (int32_t)asleep->task.args[0], true);
}

/* From one descriptor to another: which of them it waits for, its kernel function tells. */
static void wait_both(struct asleep *asleep, int32_t from, int32_t to)
{
	const char *wchan = asleep->task.wchan;

	if (strstr(wchan, "writable") || strstr(wchan, "opipe") || strstr(wchan, "wait_for_space"))
		fd_wait(asleep, to, true);
	else if (strstr(wchan, "readable") || strstr(wchan, "ipipe") || strstr(wchan, "recv"))
		fd_wait(asleep, from, false);
	else
		asleep->wait->has_unknown = true;
}

static void wait_splice(struct asleep *asleep)
{
	wait_both(asleep, (int32_t)asleep->task.args[0], (int32_t)asleep->task.args[2]);
}

static void wait_tee(struct asleep *asleep)
{
	wait_both(asleep, (int32_t)asleep->task.args[0], (int32_t)asleep->task.args[1]);
}

/* What is sent is a file, and read without a wait that signals end. */
static void wait_sendfile(struct asleep *asleep)
{
	fd_wait(asleep, (int32_t)asleep->task.args[0], true);
}

static void receive_many(struct asleep *asleep)
{
	wait_reading(asleep);
	asleep->wait->is_timed |= asleep->task.args[4] != 0;
}

/* Of a FIFO: until somebody opens the other side. */
static void wait_open(struct asleep *asleep)
{
	bool is_at = asleep->wait->in[4] == 'a';
	char path[128] = "";
	size_t got = sizeof(path) - 1;

	asleep->wait->has_outside = strstr(asleep->task.wchan, "partner") != NULL ||
				    strstr(asleep->task.wchan, "fifo_open") != NULL;
	asleep->wait->has_unknown = !asleep->wait->has_outside;
	/* A text at the end of what is mapped: less of it can be read. */
	while (got && !look_memory(&asleep->snap->look, asleep->process,
				   asleep->task.args[is_at ? 1 : 0], path, got))
		got /= 2;
	path[got] = '\0';
	if (asleep->wait->has_outside)
		wait_object(asleep->wait, "FIFO %s, until the other end is opened", path);
}

static void wait_client(struct asleep *asleep)
{
	wait_object(asleep->wait, "fd %d: a new connection", (int32_t)asleep->task.args[0]);
	asleep->wait->has_outside = true;
}

/* The address of a unix socket; its path's length is returned, 0 = it is none. */
static size_t read_unix(struct asleep *asleep, uint64_t at, uint64_t length,
			struct sockaddr_un *out_address)
{
	const size_t begin = offsetof(struct sockaddr_un, sun_path);
	size_t bytes = length < sizeof(*out_address) ? (size_t)length : sizeof(*out_address);

	*out_address = (struct sockaddr_un){ 0 };
	if (!at || bytes <= begin ||
	    !look_memory(&asleep->snap->look, asleep->process, at, out_address, bytes) ||
	    out_address->sun_family != AF_UNIX)
		return 0;
	return bytes - begin;
}

/* A queue of connections that is full, of a socket on this machine; else the network. */
static void wait_connect(struct asleep *asleep)
{
	struct sockaddr_un address;
	size_t bytes =
		strstr(asleep->task.wchan, "unix_wait_for_peer")
			? read_unix(asleep, asleep->task.args[1], asleep->task.args[2], &address)
			: 0;

	if (!bytes || !listener_wait(asleep, address.sun_path, bytes))
		connect_wait(asleep);
}

/* To an address, whose queue is full; else to where the socket is connected. */
static void wait_sending(struct asleep *asleep, uint64_t at, uint64_t length)
{
	struct sockaddr_un address;
	size_t bytes = strstr(asleep->task.wchan, "unix_wait_for_peer")
			       ? read_unix(asleep, at, length, &address)
			       : 0;

	if (!bytes || !receiver_wait(asleep, address.sun_path, bytes))
		wait_writing(asleep);
}

static void wait_sendto(struct asleep *asleep)
{
	wait_sending(asleep, asleep->task.args[4], asleep->task.args[5]);
}

static void wait_sendmsg(struct asleep *asleep)
{
	struct msghdr message = { 0 };

	if (!look_memory(&asleep->snap->look, asleep->process, asleep->task.args[1], &message,
			 sizeof(message)))
		message.msg_name = NULL;
	wait_sending(asleep, (uint64_t)(uintptr_t)message.msg_name, message.msg_namelen);
}

static void wait_signal(struct asleep *asleep)
{
	wait_object(asleep->wait, "a signal");
	asleep->wait->has_outside = true;
}

#define SIGNALS_NAMED 4u

/* "a signal: SIGUSR1, SIGTERM"; where it takes more than a few, only that. */
static void wait_signal_of(struct asleep *asleep, uint64_t set)
{
	char list[SIGNALS_NAMED * 16] = "";
	size_t used = 0;

	wait_signal(asleep);
	if (!set || (unsigned int)__builtin_popcountll(set) > SIGNALS_NAMED)
		return;
	for (int nr = 1; nr <= 64; nr++) {
		const char *name = sigabbrev_np(nr);

		if (!(set >> (nr - 1) & 1))
			continue;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s", used ? ", " : "");
		used += (size_t)(name ? snprintf(list + used, sizeof(list) - used, "SIG%s", name)
				      : snprintf(list + used, sizeof(list) - used, "signal %d",
						 nr));
	}
	wait_object(asleep->wait, "a signal: %s", list);
}

/* SIGCHLD alone comes from children, unless somebody sends it by kill(). */
static void wait_signal_timed(struct asleep *asleep)
{
	const uint64_t child = UINT64_C(1) << (SIGCHLD - 1);
	uint64_t set = 0;

	if (!look_memory(&asleep->snap->look, asleep->process, asleep->task.args[0], &set,
			 sizeof(set)))
		wait_signal(asleep);
	else if (set == child)
		sigchld_wait(asleep);
	else
		wait_signal_of(asleep, set);
	asleep->wait->is_timed = asleep->task.args[2] != 0;
}

static void wait_timer(struct asleep *asleep)
{
	asleep->wait->has_timer = true;
}

/* A signal mask for the wait: a signal is meant to end it. */
static void poll_masked(struct asleep *asleep)
{
	poll_wait(asleep);
	asleep->wait->is_timed = asleep->task.args[2] != 0;
	asleep->wait->has_outside |= asleep->task.args[3] != 0;
}

static void poll_plain(struct asleep *asleep)
{
	poll_wait(asleep);
	asleep->wait->is_timed = (int32_t)asleep->task.args[2] >= 0;
}

static void select_masked(struct asleep *asleep)
{
	uint64_t mask[2] = { 0 };

	select_wait(asleep);
	if (asleep->task.args[5] && (!look_memory(&asleep->snap->look, asleep->process,
						  asleep->task.args[5], mask, sizeof(mask)) ||
				     mask[0]))
		asleep->wait->has_outside = true;
}

static void epoll_masked(struct asleep *asleep)
{
	epoll_wait_set(asleep);
	asleep->wait->has_outside |= asleep->task.args[4] != 0;
}

static void epoll_masked_timespec(struct asleep *asleep)
{
	epoll_masked(asleep);
	asleep->wait->is_timed = asleep->task.args[3] != 0;
}

static void wait_flock(struct asleep *asleep)
{
	flock_wait(asleep, true);
}

static void wait_fcntl(struct asleep *asleep)
{
	if (asleep->task.args[1] == F_SETLKW || asleep->task.args[1] == F_OFD_SETLKW)
		flock_wait(asleep, false);
	else
		asleep->wait->has_unknown = true;
}

/* Elsewhere our numbers of semaphores are those of other ones. */
static bool shares_ipc(struct asleep *asleep)
{
	char theirs[64] = "", ours[64] = "";

	return look_link(&asleep->snap->look, asleep->process, "ns/ipc", theirs, sizeof(theirs)) >
		       0 &&
	       readlink("/proc/self/ns/ipc", ours, sizeof(ours) - 1) > 0 &&
	       strcmp(theirs, ours) == 0;
}

/* Who used the semaphore last, may have it: the kernel tells no more. */
static void wait_semaphore(struct asleep *asleep)
{
	struct sembuf op = { 0 };
	int32_t id = (int32_t)asleep->task.args[0];
	int pid;

	wait_object(asleep->wait, "System V semaphore set %d", id);
	asleep->wait->has_unowned = true;
	asleep->wait->is_timed =
		strcmp(asleep->wait->in, "semtimedop") == 0 && asleep->task.args[3] != 0;
	if (!shares_ipc(asleep) || !look_memory(&asleep->snap->look, asleep->process,
						asleep->task.args[1], &op, sizeof(op)))
		return;
	pid = semctl(id, op.sem_num, GETPID);
	if (pid > 0 && pid != asleep->task.tgid) {
		struct stuck_edge edge = { .tid = pid,
					   .is_process = true,
					   .is_inferred = true,
					   .how = STUCK_HOW_SEMAPHORE };

		wait_edge(asleep->wait, &edge);
	}
}

/* Who used the queue last from the other side, may do so again: the kernel tells no more. */
static void wait_queue(struct asleep *asleep)
{
	bool sends = strcmp(asleep->wait->in, "msgsnd") == 0;
	int32_t id = (int32_t)asleep->task.args[0];
	struct msqid_ds queue = { 0 };
	struct stuck_edge edge = { .is_process = true, .is_inferred = true };

	wait_object(asleep->wait, "message queue %d", id);
	asleep->wait->has_unowned = true;
	if (!shares_ipc(asleep) || msgctl(id, IPC_STAT, &queue) < 0)
		return;
	edge.tid = sends ? queue.msg_lrpid : queue.msg_lspid;
	edge.how = sends ? STUCK_HOW_RECEIVED_LAST : STUCK_HOW_SENT_LAST;
	if (edge.tid > 0 && edge.tid != asleep->task.tgid)
		wait_edge(asleep->wait, &edge);
}

static void receive_queue(struct asleep *asleep)
{
	wait_reading(asleep);
	asleep->wait->is_timed = asleep->task.args[4] != 0;
}

static void send_queue(struct asleep *asleep)
{
	wait_writing(asleep);
	asleep->wait->is_timed = asleep->task.args[4] != 0;
}

static void wait_clone(struct asleep *asleep)
{
	uint64_t flags = asleep->task.args[0];

	if (strcmp(asleep->wait->in, "clone3") == 0 &&
	    !look_memory(&asleep->snap->look, asleep->process, asleep->task.args[0], &flags,
			 sizeof(flags)))
		flags = 0;
	if (flags & CLONE_VFORK)
		vfork_wait(asleep);
	else
		asleep->wait->has_unknown = true;
}

static void wait_words(struct asleep *asleep)
{
	asleep->wait->has_unowned = true;
	asleep->wait->is_timed = asleep->task.args[3] != 0;
}

static void wait_word(struct asleep *asleep)
{
	asleep->wait->has_unowned = true;
	asleep->wait->is_timed = asleep->task.args[4] != 0;
}

/* What it is that completes is not to be read from here. */
static void wait_completions(struct asleep *asleep)
{
	if (asleep->task.args[3] & RING_IS_REGISTERED)
		wait_object(asleep->wait, "completions of an io_uring");
	else
		wait_object(asleep->wait, "completions of io_uring fd %d",
			    (int)asleep->task.args[0]);
	asleep->wait->has_unowned = true;
}

static const struct {
	const char *name;
	void (*work_out)(struct asleep *asleep);
} calls[] = {
	{ "futex", futex_wait },
	{ "futex_time64", futex_wait },
	{ "read", wait_reading },
	{ "readv", wait_reading },
	{ "recvfrom", wait_reading },
	{ "recvmsg", wait_reading },
	{ "write", wait_writing },
	{ "writev", wait_writing },
	{ "sendto", wait_sendto },
	{ "sendmsg", wait_sendmsg },
	{ "preadv", wait_reading },
	{ "preadv2", wait_reading },
	{ "recvmmsg", receive_many },
	{ "pwritev", wait_writing },
	{ "pwritev2", wait_writing },
	{ "sendmmsg", wait_writing },
	{ "vmsplice", wait_writing },
	{ "splice", wait_splice },
	{ "sendfile", wait_sendfile },
	{ "tee", wait_tee },
	{ "open", wait_open },
	{ "openat", wait_open },
	{ "accept", wait_client },
	{ "accept4", wait_client },
	{ "connect", wait_connect },
	{ "poll", poll_plain },
	{ "ppoll", poll_masked },
	{ "select", select_wait },
	{ "pselect6", select_masked },
	{ "epoll_wait", epoll_wait_set },
	{ "epoll_pwait", epoll_masked },
	{ "epoll_pwait2", epoll_masked_timespec },
	{ "flock", wait_flock },
	{ "fcntl", wait_fcntl },
	{ "wait4", child_wait },
	{ "waitid", child_wait },
	{ "vfork", vfork_wait },
	{ "clone", wait_clone },
	{ "clone3", wait_clone },
	{ "nanosleep", wait_timer },
	{ "clock_nanosleep", wait_timer },
	{ "pause", wait_signal },
	{ "rt_sigsuspend", wait_signal },
	{ "rt_sigtimedwait", wait_signal_timed },
	{ "semop", wait_semaphore },
	{ "semtimedop", wait_semaphore },
	{ "msgrcv", wait_queue },
	{ "msgsnd", wait_queue },
	{ "mq_timedreceive", receive_queue },
	{ "mq_timedsend", send_queue },
	{ "io_uring_enter", wait_completions },
	{ "futex_waitv", wait_words },
	{ "futex_wait", wait_word },
};

void call_wait(struct asleep *asleep, const char *name)
{
	if (strcmp(asleep->task.wchan, "__break_lease") == 0) {
		lease_wait(asleep);
		return;
	}
	if (fuse_wait(asleep, name) || userfault_wait(asleep) || seccomp_wait(asleep))
		return;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (strcmp(calls[i].name, name) == 0) {
			calls[i].work_out(asleep);
			return;
		}
	}
	asleep->wait->has_unknown = true;
}
