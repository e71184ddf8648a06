/*
 * about.c - which file, process or futex a call was about, and what came of it: a few bits that its end keeps.
 */
#include <string.h>
#include <unistd.h>

#include "state/state_int.h"

#define OPEN_CREATES 0100u /* O_CREAT, everywhere but on alpha, mips, parisc and sparc */
#define WAIT_NO_HANG 1u	   /* WNOHANG */

/* Asked not to wait, it found no child that had ended. */
static bool found_no_child(struct state *state, const struct thread *thread,
			   const struct call *call, int64_t ret)
{
	const uint64_t *args = thread->call_args;
	const bool by_info = call->arg == 1; /* waitid() returns 0 either way */

	if (ret != 0 || !(args[by_info ? 3 : 2] & WAIT_NO_HANG))
		return false;
	return !by_info || (args[0] == 1 && state_living(state, (int32_t)args[1]));
}

static bool may_make(const struct call *call, const uint64_t *args)
{
	if (strcmp(call->name, "open") == 0)
		return args[1] & OPEN_CREATES;
	if (strcmp(call->name, "openat") == 0)
		return args[2] & OPEN_CREATES;
	return strcmp(call->name, "creat") == 0;
}

#define OPEN_EMPTIES 01000u /* O_TRUNC, on the same ones */

/* Is what it opens empty from then on? */
static bool empties(const struct call *call, const uint64_t *args)
{
	if (strcmp(call->name, "open") == 0)
		return args[1] & OPEN_EMPTIES;
	if (strcmp(call->name, "openat") == 0)
		return args[2] & OPEN_EMPTIES;
	return strcmp(call->name, "creat") == 0;
}

#define MAP_WRITES	 2u    /* PROT_WRITE */
#define MAP_KIND	 0x0fu /* of the flags: MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE */
#define MAP_OTHERS(kind) ((kind) == 1 || (kind) == 3)

/* Does it map a file so that it sees, or makes, what others see or make there? */
static bool maps_for_others(const struct call *call, const uint64_t *args)
{
	return strcmp(call->name, "mmap") == 0 && MAP_OTHERS(args[3] & MAP_KIND);
}

/* What a program has to say goes there. */
static bool is_output(uint64_t fd)
{
	return (int32_t)fd == STDOUT_FILENO || (int32_t)fd == STDERR_FILENO;
}

int32_t about_process(const struct call *call, const uint64_t *args)
{
	return call->kind == CALL_KILL || call->arg == 0 ? (int32_t)args[0] : 0;
}

/* By its name: only sockets and pipes have a number. */
static uint32_t about_file(const struct state *state, const struct object *object)
{
	return object ? word_about_name(names_text(&state->tl->names, object->name), false) : 0;
}

/* The path or address that the call was given, as far as that was told. */
static uint32_t about_path(const struct state *state, const struct thread *thread)
{
	uint32_t name = thread->told ? thread->told : thread->call_path;

	if (thread->told_also)
		return asked_about_both(state, name, thread->told_also);
	return name ? asked_about(state, name) : 0;
}

static uint32_t about_object(const struct state *state, const struct thread *thread, int64_t fd)
{
	const struct object *object = fds_find(state, thread, (int32_t)fd);
	const char *name = object ? names_text(&state->tl->names, object->name) : "";

	/* connect() is told the path alone. */
	if (strncmp(name, "unix ", strlen("unix ")) == 0)
		name += strlen("unix ");
	if (strncmp(name, "listen ", strlen("listen ")) == 0)
		name += strlen("listen ");
	return *name ? word_about_name(name, true) : 0;
}

/* Of a call that wakes who waits at a futex: which one it is. */
static uint32_t about_futex(const struct thread *thread)
{
	switch ((uint32_t)thread->call_args[1] & FUTEX_CMD_MASK) {
	case FUTEX_CMD_WAKE:
	case FUTEX_CMD_WAKE_BITSET:
	case FUTEX_CMD_REQUEUE:
	case FUTEX_CMD_CMP_REQUEUE:
	case FUTEX_CMD_WAKE_OP:
	case FUTEX_CMD_UNLOCK_PI:
		return word_about_futex(thread->call_args[0]);
	default:
		return 0;
	}
}

/* include/uapi/asm-generic/fcntl.h: F_SETLK, F_SETLKW, those of 64 bits, and of open files. */
static bool is_lock_command(uint32_t command)
{
	return command == 6 || command == 7 || command == 13 || command == 14 || command == 37 ||
	       command == 38;
}

/* F_GETLK, that of 64 bits, and of open files: who has it? */
static bool is_lock_question(uint32_t command)
{
	return command == 5 || command == 12 || command == 36;
}

/* The descriptor of the file that the call looks into, changes, or maps for others. */
static int64_t content_fd(const struct call *call, const uint64_t *args)
{
	if (maps_for_others(call, args))
		return (int32_t)args[4];
	if (strcmp(call->name, "copy_file_range") == 0 || strcmp(call->name, "splice") == 0)
		return (int64_t)args[2];
	return call->arg ? -1 : (int64_t)args[0]; /* to map it for itself is neither */
}

/* Of those with a path some may be given a descriptor alone. */
static bool is_by_descriptor(const struct call *call)
{
	return strcmp(call->name, "newfstatat") == 0 || strcmp(call->name, "statx") == 0 ||
	       strcmp(call->name, "utimensat") == 0;
}

uint32_t about_of_call(const struct state *state, const struct thread *thread, int64_t ret)
{
	const struct call *call = call_of(state, thread);
	const struct object *object;
	uint32_t channel;

	switch (call->kind) {
	case CALL_OPEN:
		return ret < 0 || thread->told ||
				       !(may_make(call, thread->call_args) ||
					 empties(call, thread->call_args))
			       ? about_path(state, thread)
			       : about_object(state, thread, ret);
	case CALL_PATH:
		/* fstat() and touch(1) give such a call a descriptor, and no path. */
		if (!thread->told && is_by_descriptor(call))
			return asked_about_content(state, thread, (int64_t)thread->call_args[0]);
		/* fall through */
	case CALL_CONNECT:
		return about_path(state, thread);
	case CALL_SEM:
	case CALL_MSG:
	case CALL_IPC:
	case CALL_PENDING:
		return channel_of_call(state, thread);
	case CALL_FD:
		channel = call->moves ? channel_of_call(state, thread) : 0;
		if (channel)
			return channel;
		return asked_about_content(state, thread, content_fd(call, thread->call_args));
	case CALL_NAME:
		return about_object(state, thread, (int64_t)thread->call_args[0]);
	case CALL_FCNTL:
		if (is_lock_question((uint32_t)thread->call_args[1])) {
			object = fds_find(state, thread, (int32_t)thread->call_args[0]);
			return object ? about_file(state, object) | WORD_CHANNEL : 0;
		}
		if (!is_lock_command((uint32_t)thread->call_args[1]))
			return 0;
		/* fall through */
	case CALL_FLOCK:
		object = fds_find(state, thread, (int32_t)thread->call_args[0]);
		return about_file(state, object);
	case CALL_CLOSE:
		object = fds_find(state, thread, (int32_t)thread->call_args[0]);
		return about_file(state, object) |
		       (fds_is_copy(thread, (int32_t)thread->call_args[0]) ? WORD_MADE : 0);
	case CALL_FUTEX:
		return about_futex(thread);
	case CALL_RING:
		return thread->told ? asked_about(state, thread->told) : 0;
	case CALL_WAIT:
	case CALL_KILL:
	case CALL_MEMORY:
		return about_process(call, thread->call_args) > 0
			       ? word_about((uint64_t)about_process(call, thread->call_args))
			       : 0;
	default:
		return 0;
	}
}

uint32_t about_result(struct state *state, const struct thread *thread, int64_t ret)
{
	const struct call *call = call_of(state, thread);

	switch (call->kind) {
	case CALL_OPEN:
		if (ret < 0)
			return 0;
		if (empties(call, thread->call_args))
			return WORD_EMPTIED;
		return may_make(call, thread->call_args) ? WORD_MADE : 0;
	case CALL_FD:
		if (call->moves == MOVES_IN)
			return ret > 0 && is_output(thread->call_args[0]) ? WORD_MADE : 0;
		return maps_for_others(call, thread->call_args) && thread->call_args[2] & MAP_WRITES
			       ? WORD_MADE
			       : 0;
	case CALL_WAIT:
		return found_no_child(state, thread, call, ret) ? WORD_VAIN : 0;
	case CALL_IPC: /* SETVAL and SETALL */
		return strcmp(call->name, "semctl") == 0 && ((uint32_t)thread->call_args[2] == 16 ||
							     (uint32_t)thread->call_args[2] == 17)
			       ? WORD_MADE
			       : 0;
	case CALL_POLL:
	case CALL_EPOLL:
		return ret == 0 ? WORD_VAIN : 0;
	case CALL_KILL: /* signal 0 asks whether there is such a process */
		return ret == 0 && (uint32_t)thread->call_args[call->arg] == 0 ? WORD_VAIN : 0;
	default:
		return 0;
	}
}
