/*
 * syscall.c - system calls, page faults and kernel locks: what a thread waits in,
 * and for what.
 *
 * A page fault has no exit event. Most take a microsecond and block nobody: they
 * are counted in own code. One that blocks shows as a trap from its beginning to
 * the first event after it that cannot happen inside a fault.
 */
#include "state/state_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/compat.h"
#include "event/facts.h"

#define CLOSES 02000000u /* O_CLOEXEC, SOCK_CLOEXEC, EPOLL_CLOEXEC ... */

/* Calls by name, so that one table serves every architecture. */
static const struct call known_calls[] = {
	{ "read", CALL_FD, 0, .moves = MOVES_OUT },
	{ "write", CALL_FD, 0, .moves = MOVES_IN },
	{ "pread64", CALL_FD, 0 },
	{ "pwrite64", CALL_FD, 0 },
	{ "readv", CALL_FD, 0, .moves = MOVES_OUT },
	{ "writev", CALL_FD, 0, .moves = MOVES_IN },
	{ "preadv", CALL_FD, 0 },
	{ "pwritev", CALL_FD, 0 },
	{ "preadv2", CALL_FD, 0 },
	{ "pwritev2", CALL_FD, 0 },
	{ "recvfrom", CALL_FD, 0, .moves = MOVES_OUT },
	{ "sendto", CALL_FD, 0, .moves = MOVES_IN },
	{ "recvmsg", CALL_FD, 0, .moves = MOVES_OUT },
	{ "sendmsg", CALL_FD, 0, .moves = MOVES_IN },
	{ "recvmmsg", CALL_FD, 0, .moves = MOVES_OUT },
	{ "sendmmsg", CALL_FD, 0, .moves = MOVES_IN },
	{ "recv", CALL_FD, 0, .moves = MOVES_OUT },
	{ "send", CALL_FD, 0, .moves = MOVES_IN },
	{ "fsync", CALL_FD, 0 },
	{ "fdatasync", CALL_FD, 0 },
	{ "sync_file_range", CALL_FD, 0 },
	{ "syncfs", CALL_FD, 0 },
	{ "ftruncate", CALL_FD, 0 },
	{ "fallocate", CALL_FD, 0 },
	{ "getdents", CALL_FD, 0 },
	{ "getdents64", CALL_FD, 0 },
	{ "ioctl", CALL_FD, 0, .moves = MOVES_LOOKS },
	{ "sendfile", CALL_FD, 0, .moves = MOVES_IN },
	{ "sendfile64", CALL_FD, 0, .moves = MOVES_IN },
	{ "splice", CALL_FD, 0 },
	{ "tee", CALL_FD, 0 },
	{ "vmsplice", CALL_FD, 0 },
	{ "copy_file_range", CALL_FD, 0 },
	{ "readahead", CALL_FD, 0 },
	{ "fadvise64", CALL_FD, 0 },
	{ "fstat", CALL_FD, 0 },
	{ "fchmod", CALL_FD, 0 },
	{ "shutdown", CALL_FD, 0 },
	{ "io_uring_enter", CALL_RING, 0 },
	{ "mq_timedsend", CALL_FD, 0 },
	{ "mq_timedreceive", CALL_FD, 0 },
	{ "mmap", CALL_FD, 4 },
	{ "open", CALL_OPEN, 0, 2, CLOSES },
	{ "openat", CALL_OPEN, 0, 3, CLOSES },
	{ "openat2", CALL_OPEN, 0, EXEC_UNKNOWN, 0 },
	{ "creat", CALL_OPEN, 0 },
	{ "pipe", CALL_PAIR, 0 },
	{ "pipe2", CALL_PAIR, 0 },
	{ "socketpair", CALL_PAIR, 0 },
	{ "open_by_handle_at", CALL_MAKE, 0, 3, CLOSES },
	{ "socket", CALL_MAKE, 0, 2, CLOSES },
	{ "epoll_create", CALL_MAKE, 0 },
	{ "epoll_create1", CALL_MAKE, 0, 1, CLOSES },
	{ "eventfd", CALL_MAKE, 0 },
	{ "eventfd2", CALL_MAKE, 0, 2, CLOSES },
	{ "timerfd_create", CALL_MAKE, 0, 2, CLOSES },
	{ "inotify_init", CALL_MAKE, 0 },
	{ "inotify_init1", CALL_MAKE, 0, 1, CLOSES },
	{ "fanotify_init", CALL_MAKE, 0, 1, 1 },
	{ "memfd_create", CALL_MAKE, 0, 2, 1 },
	{ "perf_event_open", CALL_MAKE, 0, 5, 8 },
	{ "userfaultfd", CALL_MAKE, 0, 1, CLOSES },
	{ "io_uring_setup", CALL_MAKE, 0, 0, CLOSES },
	{ "pidfd_open", CALL_MAKE, 0, 0, CLOSES },
	{ "pidfd_getfd", CALL_MAKE, 0, 0, CLOSES },
	{ "mq_open", CALL_MAKE, 0, 0, CLOSES },
	{ "accept", CALL_ACCEPT, 0 },
	{ "accept4", CALL_ACCEPT, 0, 4, CLOSES },
	{ "connect", CALL_CONNECT, 0 },
	{ "bind", CALL_NAME, 0 },
	{ "listen", CALL_NAME, 0 },
	{ "nanosleep", CALL_SLEEP, 0 },
	{ "clock_nanosleep", CALL_SLEEP, 0 },
	{ "poll", CALL_POLL, 0 },
	{ "ppoll", CALL_POLL, 0 },
	{ "select", CALL_POLL, 0 },
	{ "_newselect", CALL_POLL, 0 },
	{ "pselect6", CALL_POLL, 0 },
	{ "epoll_wait", CALL_EPOLL, 0 },
	{ "epoll_pwait", CALL_EPOLL, 0 },
	{ "epoll_pwait2", CALL_EPOLL, 0 },
	{ "epoll_ctl", CALL_EPOLL_CTL, 0 },
	{ "futex", CALL_FUTEX, 0 },
	{ "futex_time64", CALL_FUTEX, 0 },
	{ "wait4", CALL_WAIT, 0 },
	{ "waitid", CALL_WAIT, 1 },
	{ "waitpid", CALL_WAIT, 0 },
	{ "kill", CALL_KILL, 1 },
	{ "ptrace", CALL_PTRACE, 0 },
	{ "process_vm_writev", CALL_MEMORY, 0 },
	{ "tkill", CALL_KILL, 1 },
	{ "tgkill", CALL_KILL, 2 },
	{ "pidfd_send_signal", CALL_KILL, 1 },
	{ "rt_sigtimedwait", CALL_SIGNAL, 0 },
	{ "rt_sigsuspend", CALL_SIGNAL, 0 },
	{ "pause", CALL_SIGNAL, 0 },
	{ "semop", CALL_SEM, 0 },
	{ "semtimedop", CALL_SEM, 0 },
	{ "msgrcv", CALL_MSG, 0 },
	{ "msgsnd", CALL_MSG, 0 },
	{ "semctl", CALL_IPC, 0 },
	{ "msgctl", CALL_IPC, 0 },
	{ "shmctl", CALL_IPC, 0 },
	{ "shmat", CALL_IPC, 0 },
	{ "rt_sigpending", CALL_PENDING, 0 },
	{ "close", CALL_CLOSE, 0 },
	{ "close_range", CALL_CLOSE_RANGE, 0 },
	{ "dup", CALL_DUP, 0 },
	{ "dup2", CALL_DUP2, 0 },
	{ "dup3", CALL_DUP2, 0, 3, CLOSES },
	{ "fcntl", CALL_FCNTL, 0 },
	{ "fcntl64", CALL_FCNTL, 0 },
	{ "flock", CALL_FLOCK, 0 },
	{ "getdents", CALL_FD, 0 },
	{ "getdents64", CALL_FD, 0 },
	{ "readlink", CALL_PATH, 0 },
	{ "readlinkat", CALL_PATH, 0 },
	{ "chmod", CALL_PATH, 0 },
	{ "fchmodat", CALL_PATH, 0 },
	{ "stat", CALL_PATH, 0 },
	{ "lstat", CALL_PATH, 0 },
	{ "newfstatat", CALL_PATH, 0 },
	{ "fstatat64", CALL_PATH, 0 },
	{ "stat64", CALL_PATH, 0 },
	{ "lstat64", CALL_PATH, 0 },
	{ "statx", CALL_PATH, 0 },
	{ "access", CALL_PATH, 0 },
	{ "faccessat", CALL_PATH, 0 },
	{ "faccessat2", CALL_PATH, 0 },
	{ "truncate", CALL_PATH, 0 },
	{ "utimensat", CALL_PATH, 0 },
	{ "mkdir", CALL_PATH, 0 },
	{ "mkdirat", CALL_PATH, 0 },
	{ "rmdir", CALL_PATH, 0 },
	{ "unlink", CALL_PATH, 0 },
	{ "unlinkat", CALL_PATH, 0 },
	{ "link", CALL_PATH, 0 },
	{ "linkat", CALL_PATH, 0 },
	{ "symlink", CALL_PATH, 0 },
	{ "symlinkat", CALL_PATH, 0 },
	{ "rename", CALL_PATH, 0 },
	{ "renameat", CALL_PATH, 0 },
	{ "renameat2", CALL_PATH, 0 },
	{ "fork", CALL_FORK, 0 },
	{ "vfork", CALL_FORK, 0 },
	{ "clone", CALL_FORK, 0 },
	{ "clone3", CALL_FORK, 0 },
	{ "execve", CALL_EXEC, 0 },
	{ "execveat", CALL_EXEC, 0 },
	{ "exit_group", CALL_END, 0 },
};

static void fill_table(const struct facts *facts, bool compat, struct call *out_calls)
{
	for (int64_t nr = 0; nr < TL_SYSCALLS; nr++) {
		const char *name = facts_syscall(facts, nr, compat);

		out_calls[nr] = (struct call){ .name = name };
		for (size_t i = 0; name && i < ARRAY_LEN(known_calls); i++) {
			if (strcmp(name, known_calls[i].name) == 0)
				out_calls[nr] = known_calls[i];
		}
	}
}

void call_tables_init(struct state *state)
{
	fill_table(state->facts, false, state->calls);
	fill_table(state->facts, true, state->compat_calls);
}

const struct call *call_of(const struct state *state, const struct thread *thread)
{
	static const struct call none;

	if (thread->call_nr < 0 || thread->call_nr >= TL_SYSCALLS)
		return &none;
	return thread->compat ? &state->compat_calls[thread->call_nr]
			      : &state->calls[thread->call_nr];
}

/* ---------------------------------------------------------- what is awaited */

static uint32_t name_printf(struct state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static uint32_t name_printf(struct state *state, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return names_add(&state->tl->names, text, sizeof(text));
}

/* Requests come to who reads. Whoever writes to a client that does not take it is not idle. */
bool call_takes_work(const struct call *call)
{
	return call->moves == MOVES_OUT || strcmp(call->name, "splice") == 0 ||
	       strcmp(call->name, "tee") == 0;
}

static void describe_fd(struct state *state, struct thread *thread, struct wait *wait, int32_t fd)
{
	const struct object *object = fds_find(state, thread, fd);

	wait->fd = fd;
	if (!object)
		return;
	wait->object = object->name;
	if (object_serves(state, object) && call_takes_work(call_of(state, thread)))
		wait->flags |= WAIT_SERVER;
}

static void describe_futex(struct state *state, struct thread *thread, struct wait *wait)
{
	uint32_t op = (uint32_t)thread->call_args[1];

	wait->object = name_printf(state, "futex 0x%llx", (unsigned long long)thread->call_args[0]);
	/*
	 * FUTEX_WAIT on a private futex is how C libraries wait for a mutex; FUTEX_LOCK_PI
	 * is one by definition. Conditions and joins use FUTEX_WAIT_BITSET or shared futexes.
	 * Who waits for 0 to become something else waits to be told: a lock that is 0 is free.
	 */
	if ((op == (0u | 128u) && (uint32_t)thread->call_args[2]) || (op & FUTEX_CMD_MASK) == 6 ||
	    (op & FUTEX_CMD_MASK) == 13)
		wait->flags |= WAIT_LOCK;
}

/*
 * A lock is let go for one: whoever wakes all that wait is at a barrier, a condition, a latch, and
 * held nothing.
 */
bool call_wakes_all(const struct state *state, const struct thread *waker)
{
	const struct call *call = call_of(state, waker);
	uint32_t op = (uint32_t)waker->call_args[1] & FUTEX_CMD_MASK;

	return waker->in_call && call->kind == CALL_FUTEX &&
	       (op == FUTEX_CMD_WAKE || op == FUTEX_CMD_WAKE_BITSET) && waker->call_args[2] > 1;
}

static void describe_child(struct state *state, struct thread *thread, struct wait *wait,
			   uint8_t arg)
{
	int32_t pid = (int32_t)thread->call_args[arg];
	struct thread *living = pid > 0 ? state_living(state, pid) : NULL;

	/* waitid(P_ALL, ...): the id means nothing. */
	if (arg == 1 && (int32_t)thread->call_args[0] != 1)
		pid = -1;
	if (living && pid > 0)
		wait->object = name_printf(state, "child %.16s[%d]",
					   names_text(&state->tl->names, living->tl->comm), pid);
	else
		wait->object = name_printf(state, pid > 0 ? "child [%d]" : "any child", pid);
}

/* poll(NULL, 0, ms), select(0, NULL, NULL, NULL, &time): a sleep. Without arguments all are 0. */
static bool watches_nothing(const struct call *call, const uint64_t *args)
{
	if (strstr(call->name, "select"))
		return (int32_t)args[0] == 0 && args[4] != 0;
	return args[1] == 0 && args[2] != 0;
}

/* A sleep is for what failed just before it, most likely. */
static void describe_sleep(struct thread *thread, struct wait *wait)
{
	if (!thread->asked && thread->asked_fd < 0)
		return;
	wait->object = thread->asked;
	wait->fd = thread->asked_fd;
	wait->flags |= WAIT_ASKED;
	if (thread->held != SLOT_NONE) {
		wait->flags |= WAIT_EXPECTS;
		wait->origin = (struct actor){ .slot = thread->held, .kind = ACTOR_THREAD };
	}
	thread->asked = 0;
	thread->asked_fd = -1;
	thread->held = SLOT_NONE;
}

/* It may be one as well: with a time-out, or somebody else sleeps for it. Where it is not, nobody asks for this. */
static void note_asked_before(struct thread *thread, struct wait *wait)
{
	if (thread->child_asked) {
		thread->asked = thread->child_asked;
		thread->held = thread->child_held;
		thread->child_asked = 0;
		thread->child_held = SLOT_NONE;
	}
	if (!thread->asked || wait->flags & WAIT_ASKED || wait->origin.slot != SLOT_NONE)
		return;
	wait->origin.name = thread->asked;
	if (thread->held != SLOT_NONE) {
		wait->origin.slot = thread->held;
		wait->origin.kind = ACTOR_THREAD;
	}
	thread->asked = 0;
	thread->asked_fd = -1;
	thread->held = SLOT_NONE;
}

static void describe_call(struct state *state, struct thread *thread, struct wait *wait)
{
	const struct call *call = call_of(state, thread);

	switch (call->kind) {
	case CALL_FD:
	case CALL_CONNECT:
	case CALL_CLOSE:
		describe_fd(state, thread, wait, (int32_t)thread->call_args[call->arg]);
		break;
	case CALL_RING:
		describe_fd(state, thread, wait, (int32_t)thread->call_args[0]);
		uring_awaits(state, thread, wait);
		break;
	case CALL_ACCEPT:
		describe_fd(state, thread, wait, (int32_t)thread->call_args[0]);
		wait->flags |= WAIT_SERVER;
		break;
	case CALL_FLOCK:
	case CALL_FCNTL:
		describe_fd(state, thread, wait, (int32_t)thread->call_args[0]);
		wait->flags |= WAIT_LOCK;
		break;
	case CALL_POLL:
		if (watches_nothing(call, thread->call_args))
			describe_sleep(thread, wait);
		else
			polled_begin(state, thread, wait);
		break;
	case CALL_SLEEP:
		describe_sleep(thread, wait);
		break;
	case CALL_EPOLL:
		polled_begin(state, thread, wait);
		break;
	case CALL_FUTEX:
		describe_futex(state, thread, wait);
		break;
	case CALL_WAIT:
		describe_child(state, thread, wait, call->arg);
		break;
	case CALL_SIGNAL:
		wait->object = name_printf(state, "a signal");
		break;
	case CALL_SEM:
		wait->object =
			name_printf(state, "System V semaphore %d", (int)thread->call_args[0]);
		/* Whoever raises it need not have lowered it before: nobody holds it, as far as is known. */
		break;
	case CALL_MSG:
		wait->object =
			name_printf(state, "System V message queue %d", (int)thread->call_args[0]);
		break;
	default:
		break;
	}
	if (call->kind == CALL_FUTEX || call->kind == CALL_POLL || call->kind == CALL_EPOLL ||
	    call->kind == CALL_WAIT || call->kind == CALL_SIGNAL)
		note_asked_before(thread, wait);
	if (call->kind == CALL_SLEEP || call->kind == CALL_POLL || call->kind == CALL_EPOLL ||
	    call->kind == CALL_FUTEX || call->kind == CALL_WAIT)
		asked_tell_looked(thread, wait);
}

/* Since it told of its page fault it has been in it, whatever interrupted it there. */
static void write_fault(struct state *state, struct thread *thread, uint32_t word)
{
	struct track *track = &thread->tl->track;
	uint64_t since = track_ns(state, thread->fault_ns);
	uint32_t i = track->count;

	for (; i > 0 && track_time(track, i - 1) >= since; i--) {
		uint32_t was = track_at(track, i - 1)->word;

		if (word_faulted(was) && track_time(track, i - 1) == since)
			break;
		if (word_kind(was) == WORD_USER)
			track_amend(track, i - 1, track_time(track, i - 1), word);
	}
	track_insert(track, i, since, word);
	flow_set(thread, word);
}

/* It is at work in a fault for that long at most before it sleeps in it, or sleeps in it so that signals do not wake it. */
#define FAULT_NS 50000u

/* Own code sleeps only in a fault, or on the way into or out of the kernel: stopped, traced, held by a filter of calls. */
static bool sleeps_in_fault(const struct state *state, const struct thread *thread,
			    const struct wait *wait)
{
	return thread->fault_ns && !(wait->flags & WAIT_STOPPED) &&
	       (wait->flags & WAIT_DISK_SLEEP || state->now_ns - thread->fault_ns < FAULT_NS);
}

/* The thread is switched out to sleep: say what it waits in, and for what. */
void call_describe_wait(struct state *state, struct thread *thread, struct wait *wait)
{
	enum word_kind kind = word_kind(wait->in);

	if ((kind == WORD_SYSCALL || (kind == WORD_RUN && state->is_lean)) && uring_works(thread))
		uring_describe(state, thread, wait);
	else if (kind == WORD_SYSCALL && !thread->lock)
		describe_call(state, thread, wait);
	if ((kind == WORD_USER || (kind == WORD_RUN && state->is_lean)) &&
	    sleeps_in_fault(state, thread, wait)) {
		uint32_t word = word_make(WORD_TRAP, TRAP_FAULT_USER);

		write_fault(state, thread, word);
		wait = tl_wait(thread->tl, thread->wait); /* writing may have moved it */
		thread->frames[thread->depth < FLOW_MAX ? thread->depth++ : FLOW_MAX - 1] = word;
		wait->in = word;
	}
	klock_describe(state, thread, wait);
}

void call_end_fault(struct state *state, struct thread *thread)
{
	uint32_t word = thread->word;
	uint8_t depth = thread->depth;

	while (depth > 1 && word_is_irq(thread->frames[depth - 1]))
		depth--;
	if (!thread->fault_ns || word_kind(thread->frames[depth - 1]) != WORD_USER)
		return;
	write_fault(state, thread, word_make(WORD_TRAP, TRAP_FAULT_USER));
	if (word_kind(word) != WORD_USER)
		thread->word = word;
}

static uint32_t call_word(int64_t nr, bool compat)
{
	return word_make(WORD_SYSCALL, ((uint32_t)nr & 0xffff) | (compat ? WORD_COMPAT : 0));
}

/* It slept when the dump passed, and all around that: in the call that the dump saw. */
void call_describe_dumped(struct state *state, struct thread *thread, uint64_t since_ns,
			  uint64_t until_ns)
{
	const struct fact_thread *dumped = thread->dumped;
	struct wait *wait;

	/* Whatever it was in, it is stopped on the way out of that. */
	if (since_ns <= thread->stopped_ns && thread->stopped_ns < until_ns) {
		thread->stopped_ns = UINT64_MAX;
		wait = tl_wait(thread->tl, thread->wait);
		wait->in = word_make(WORD_USER, 0);
		wait->flags |= WAIT_STOPPED;
		frozen_dumped(state, thread, wait);
		return;
	}
	if (!dumped || since_ns > dumped->call_ns || until_ns <= dumped->call_ns)
		return;
	thread->dumped = NULL;
	thread->call_nr = dumped->call;
	thread->compat = false;
	memset(thread->call_args, 0, sizeof(thread->call_args));
	thread->call_args[0] = dumped->arg0;
	thread->call_args[1] = dumped->arg1;
	thread->call_args[2] = dumped->arg2;
	thread->call_args[FUTEX_LIMIT] = !dumped->untimed;
	wait = tl_wait(thread->tl, thread->wait);
	wait->in = call_word(dumped->call, false);
	describe_call(state, thread, wait);
	klock_describe(state, thread, wait);
}

/* -------------------------------------------------------------------- events */

/* An event that cannot happen inside a page fault. */
static void fault_is_over(struct state *state, struct thread *thread, uint64_t now)
{
	thread->fault_ns = 0;
	if (word_kind(flow_top(thread)) == WORD_TRAP)
		flow_pop(state, thread, now, WORD_TRAP);
}

/* The end of the execve() that began a program tells how many bits it has. */
static void look_at_exec_end(struct state *state, struct thread *thread, const struct event *ev)
{
	thread->fresh_exec = false;
	thread->is_32bit = compat_by_exec(state->facts->arch, ev->syscall.nr);
}

/* Where that end was lost the first call does. */
static void look_at_first_call(struct state *state, struct thread *thread, const struct event *ev)
{
	thread->fresh_exec = false;
	thread->is_32bit =
		compat_by_first_call(state->facts->arch, ev->syscall.nr, ev->syscall.args[0]);
}

/* What may be asked for again. */
static bool may_come_again(const struct call *call)
{
	return call->kind == CALL_FUTEX || call->kind == CALL_POLL;
}

static void on_sys_enter(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);
	const struct call *call;

	cpu->irq_wakes = 0;
	if (!thread || thread->idle)
		return;
	/* In user mode just before: whatever was on the stack is over. */
	flow_reset(thread, flow_base(state, thread));
	cpu->woken = SLOT_NONE;
	thread->call_nr = ev->syscall.nr;
	thread->call_ns = ev->time_ns;
	if (thread->fresh_exec)
		look_at_first_call(state, thread, ev);
	thread->compat = ev->syscall.compat || thread->is_32bit;
	memcpy(thread->call_args, ev->syscall.args, sizeof(thread->call_args));
	thread->call_path = 0;
	call = call_of(state, thread);
	if (ev->syscall.path && call->kind == CALL_OPEN)
		thread->call_path = fds_path(state, thread, ev->syscall.path);
	thread->call_first_wait = thread->tl->wait_count;
	thread->in_call = true;
	thread->told = thread->told_also = 0;
	thread->tl->keep_wait = thread->call_first_wait;
	used_enter(thread, call);
	if (thread->poll_open)
		polled_used(state, thread, ev);
	polled_enter(state, thread);
	if (may_come_again(call))
		again_enter(state, thread);
	if (call->kind == CALL_PTRACE)
		supervised_ptrace(state, thread);
	supervised_call(thread, call_word(ev->syscall.nr, thread->compat));
	flow_push(state, thread, ev->time_ns, call_word(ev->syscall.nr, thread->compat));
}

/* The earliest that a call can have begun which the thread is seen in: since it slept last. */
static uint64_t call_since(const struct state *state, const struct thread *thread)
{
	struct tl_thread *tl = thread->tl;

	if (tl->wait_count)
		return tl_wait(tl, tl->wait_count - 1)->woken_ns;
	return tl->born ? tl->birth_ns + state->tl->origin_ns : 0;
}

/* Of lean events: whether a kernel lock is waited for is still told. */
static void set_only_frame(struct thread *thread, uint32_t word)
{
	thread->depth = 1;
	thread->frames[0] = word;
	thread->in_call = false;
	thread->fault_ns = 0;
}

void call_forget_told(const struct state *state, struct thread *thread)
{
	if (state->is_lean && !thread->tl->kernel)
		set_only_frame(thread, flow_base(state, thread));
}

/* A call of lean events: nothing is known of it but that the thread goes to sleep in it. */
static void begin_told(struct state *state, struct thread *thread, const struct ev_syscall *call)
{
	thread->call_nr = call->nr;
	thread->call_ns = call_since(state, thread);
	thread->compat = call->compat;
	memcpy(thread->call_args, call->args, sizeof(thread->call_args));
	thread->call_path = 0;
	thread->call_first_wait = thread->tl->wait_count;
	thread->tl->keep_wait = thread->call_first_wait;
	thread->told = thread->told_also = 0;
	thread->in_call = true;
	polled_enter(state, thread);
	thread->frames[thread->depth++] = call_word(call->nr, call->compat);
}

/*
 * Right before the switch. Until then it was seen to run, and no more: the track says so, and
 * will again, from when it runs.
 */
static void on_blocked_in(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);

	if (!thread || thread->idle || thread->tl->kernel || !state->is_lean)
		return;
	set_only_frame(thread, flow_base(state, thread));
	if (ev->syscall.nr < 0)
		thread->fault_ns = ev->time_ns;
	else if (ev->syscall.ended)
		set_only_frame(thread, word_make(WORD_USER, 0));
	else
		begin_told(state, thread, &ev->syscall);
}

/* Waits of before a hole need not be of the same call. */
void call_name_waits(struct thread *thread, uint32_t word)
{
	const uint32_t count = thread->tl->wait_count;

	for (uint32_t i = count; i > thread->first_named; i--) {
		struct wait *wait = tl_wait(thread->tl, i - 1);
		enum word_kind in = word_kind(wait->in);
		bool is_last = i == count;

		if ((in != WORD_NONE && in != WORD_RUN) ||
		    (!is_last && (!wait->woken_ns || wait->begin_ns < thread->unsure_until)))
			break;
		wait->in = word;
	}
}

/* What a failed call returns, as the argument of WORD_USER. */
static uint32_t error_of(int64_t ret)
{
	return ret < 0 && ret >= -(int64_t)WORD_ERRORS ? (uint32_t)-ret : 0;
}

static uint32_t name_process(struct state *state, int32_t pid)
{
	struct thread *living = pid > 0 ? state_living(state, pid) : NULL;

	if (!living)
		return 0;
	return name_printf(state, "%.16s[%d]", names_text(&state->tl->names, living->tl->comm),
			   pid);
}

/* The call under way failed, or found nothing: what it was about, for a sleep that may follow. */
static void note_asked(struct state *state, struct thread *thread)
{
	const struct call *call = call_of(state, thread);
	const struct object *object;

	/* Who has it by inference is found later, by what ends that. */
	if (thread->held_ns != thread->call_ns || thread->held_by)
		thread->held = SLOT_NONE;
	thread->asked = 0;
	thread->asked_fd = -1;
	switch (call->kind) {
	case CALL_CONNECT:
		if (thread->told) {
			thread->asked = thread->told;
			return;
		}
		/* fall through */
	case CALL_FD:
	case CALL_ACCEPT:
	case CALL_FLOCK:
	case CALL_FCNTL:
		thread->asked_fd = (int32_t)thread->call_args[call->arg];
		object = fds_find(state, thread, thread->asked_fd);
		thread->asked = object ? object->name : 0;
		return;
	case CALL_OPEN:
	case CALL_PATH:
		thread->asked = thread->told ? thread->told : thread->call_path;
		return;
	case CALL_WAIT:
	case CALL_KILL:
		thread->asked = name_process(state, about_process(call, thread->call_args));
		return;
	default:
		return;
	}
}

/* Does it tell what is in a file, a folder or a link, or how large or old that is? */
static bool looks_into(const struct call *call)
{
	return (call->kind == CALL_FD && call->arg == 0 &&
		(strstr(call->name, "read") == call->name ||
		 strncmp(call->name, "pread", strlen("pread")) == 0 ||
		 strncmp(call->name, "getdents", strlen("getdents")) == 0 ||
		 strcmp(call->name, "fstat") == 0)) ||
	       (call->kind == CALL_PATH &&
		(strstr(call->name, "stat") || strstr(call->name, "readlink")));
}

/* Who opens a file of which another one has a lease goes on when that takes too long: see fcntl(2). */
static bool is_given_up(const struct state *state, const struct thread *thread)
{
	return call_of(state, thread)->kind == CALL_OPEN && thread->wait >= thread->tl->wait_base &&
	       thread->wait >= thread->call_first_wait && thread->wait < thread->tl->wait_count &&
	       tl_wait(thread->tl, thread->wait)->waker.kind == ACTOR_TIMER;
}

static void on_sys_exit(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);
	const struct call *call;
	uint32_t word, result = 0;

	cpu->irq_wakes = 0;
	if (!thread || thread->idle)
		return;
	if (thread->in_call) {
		if ((ev->syscall.ret < 0 && error_is_interrupted((uint32_t)-ev->syscall.ret)) ||
		    is_given_up(state, thread))
			expect_at_return(state, thread);
		if (may_come_again(call_of(state, thread)))
			again_leave(state, thread, ev->syscall.ret);
		result = about_of_call(state, thread, ev->syscall.ret); /* before it is closed */
		fds_after_call(state, thread, ev->syscall.ret);
		if (call_of(state, thread)->kind == CALL_CONNECT)
			asked_after_connect(thread, ev->syscall.ret);
		result |= about_result(state, thread, ev->syscall.ret);
		call = call_of(state, thread);
		used_leave(thread, call, ev);
		if (ev->syscall.ret >= 0 && looks_into(call))
			asked_looked(state, thread, (int64_t)thread->call_args[0]);
		/* That there is no child is an answer. */
		if ((error_of(ev->syscall.ret) && call->kind != CALL_WAIT) ||
		    (result & WORD_EMPTIED) == WORD_VAIN)
			note_asked(state, thread);
	} else {
		call_name_waits(thread, call_word(ev->syscall.nr, thread->is_32bit));
		supervised_call(thread, call_word(ev->syscall.nr, thread->is_32bit));
		thread->call_nr = -1;
	}
	if (thread->fresh_exec)
		look_at_exec_end(state, thread, ev);
	flow_reset(thread, flow_base(state, thread));
	cpu->woken = SLOT_NONE;
	word = flow_top(thread);
	if (word_kind(word) == WORD_USER)
		word |= error_of(ev->syscall.ret) | result;
	flow_write(state, thread, ev->time_ns, word);
}

/* That it happened is kept with the state that it happened in; how long it took is not recorded. */
static void note_fault(struct state *state, struct thread *thread, uint64_t time_ns)
{
	enum word_kind kind = word_kind(flow_top(thread));

	if (kind == WORD_USER || kind == WORD_RUN || kind == WORD_SYSCALL)
		flow_note(state, thread, time_ns, flow_top(thread) | WORD_FAULT);
}

static void on_fault_user(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);

	if (!thread || thread->idle)
		return;
	fault_is_over(state, thread, ev->time_ns);
	thread->fault_ns = ev->time_ns;
	note_fault(state, thread, ev->time_ns);
}

static void on_fault_kernel(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);

	if (thread && !thread->idle)
		note_fault(state, thread, ev->time_ns);
}

static void on_lock_begin(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);

	if (thread && !thread->idle && !(ev->context & (EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ)))
		klock_begin(thread, ev);
}

static void on_lock_end(struct state *state, struct cpu *cpu, const struct event *ev)
{
	struct thread *thread = state_current(state, cpu);

	(void)state;
	if (thread && thread->lock == ev->lock.address)
		thread->lock = 0;
}

const struct state_handler syscall_handlers[] = {
	{ EV_SYS_ENTER, on_sys_enter },
	{ EV_SYS_EXIT, on_sys_exit },
	{ EV_BLOCKED_IN, on_blocked_in },
	{ EV_FAULT_USER, on_fault_user },
	{ EV_FAULT_KERNEL, on_fault_kernel },
	{ EV_LOCK_BEGIN, on_lock_begin },
	{ EV_LOCK_END, on_lock_end },
	{ EV_FD_NAME, fds_on_name },
	{ EV_NONE, NULL },
};
