/*
 * channel.c - which pipe, socket, queue or semaphores a call was about: a few bits that its end keeps.
 *
 *	write(tcp A->B)	 "tcp A->B"		  read(tcp B->A)
 *	     puts in ────────────────────────────> takes out
 *
 * Who puts in and who takes out get the same bits. Of a socket each direction is a channel of its own, so
 * that what a process sends is not what it waits for. Where the other end is not told there are none.
 */
#include <stdio.h>
#include <string.h>

#include "state/state_int.h"

#define NAME_BYTES 256

static uint32_t of_text(const char *text)
{
	return word_about_name(text, false) | WORD_CHANNEL;
}

/* What goes from the end that is named first to the other one; 'back': the other way. */
static uint32_t of_ends(const char *name, const struct ends_name *ends, bool back)
{
	const char *left = name + ends->kind, *right = left + ends->left + 2;
	char text[NAME_BYTES];
	int got;

	if (!ends->left || !ends->right)
		return 0;
	if (back)
		got = snprintf(text, sizeof(text), "%.*s%s=>%.*s", (int)ends->kind, name, right,
			       (int)ends->left, left);
	else
		got = snprintf(text, sizeof(text), "%.*s%.*s=>%s", (int)ends->kind, name,
			       (int)ends->left, left, right);
	return got > 0 && (size_t)got < sizeof(text) ? of_text(text) : 0;
}

static uint32_t find_channel(const struct state *state, const struct object *object,
			     enum moves moves)
{
	const char *name = names_text(&state->tl->names, object->name);
	struct ends_name ends;

	switch (object->role) {
	case FD_ROLE_PIPE:
		return object->inode ? word_about(object->inode) | WORD_CHANNEL : of_text(name);
	case FD_ROLE_EVENTFD:
		return object->since_ns ? word_about(object->since_ns) | WORD_CHANNEL : 0;
	case FD_ROLE_TIMERFD:
	case FD_ROLE_SIGNALFD:
	case FD_ROLE_INOTIFY:
	case FD_ROLE_PIDFD:
		return WORD_CHANNEL; /* the kernel's: nobody puts in */
	case FD_ROLE_LISTEN:
		return 0;
	default:
		return ends_of_name(name, &ends) ? of_ends(name, &ends, moves != MOVES_IN) : 0;
	}
}

static uint32_t of_object(const struct state *state, int32_t fd, const struct thread *thread,
			  enum moves moves)
{
	const struct object *known = fds_find(state, thread, fd);
	struct object *object;

	if (!known || !known->name)
		return 0;
	object = &state->objects[known - state->objects];
	if (object->channels_of != object->name) {
		object->channels[0] = find_channel(state, object, MOVES_OUT);
		object->channels[1] = find_channel(state, object, MOVES_IN);
		object->channels_of = object->name;
	}
	return object->channels[moves == MOVES_IN];
}

/* Numbers of System V are by kind. */
static uint32_t of_ipc(const struct thread *thread, const struct call *call)
{
	uint64_t kind = strncmp(call->name, "sem", 3) == 0   ? 1
			: strncmp(call->name, "msg", 3) == 0 ? 2
							     : 3;

	return word_about(kind << 32 | (uint32_t)thread->call_args[0]) | WORD_CHANNEL;
}

uint32_t channel_of_call(const struct state *state, const struct thread *thread)
{
	const struct call *call = call_of(state, thread);

	switch (call->kind) {
	case CALL_FD:
		return call->moves ? of_object(state, (int32_t)thread->call_args[0], thread,
					       (enum moves)call->moves)
				   : 0;
	case CALL_SEM:
	case CALL_MSG:
	case CALL_IPC:
		return of_ipc(thread, call);
	case CALL_PENDING:
		return word_about((uint64_t)thread->tl->tgid) | WORD_CHANNEL;
	default:
		return 0;
	}
}
