/*
 * ends.h - which other processes have the other end of something: see ends.c.
 *
 * Of the room. It looks at what is open at the moment of the first question.
 */
#ifndef STATE_ENDS_H
#define STATE_ENDS_H

#include "state/state_int.h"

#define OTHERS_MAX 4u

struct end;

/* The wait that it sleeps in; NULL = it does not, or that wait is not kept any more. */
static inline struct wait *wait_now(const struct thread *thread)
{
	return thread->sched == SCHED_BLOCKED && thread->wait >= thread->tl->wait_base &&
			       thread->wait < thread->tl->wait_count
		       ? tl_wait(thread->tl, thread->wait)
		       : NULL;
}

/* Is the wait in the call that the thread is known to be in? */
static inline bool is_in_call(const struct thread *thread, const struct wait *wait)
{
	return word_kind(wait->in) == WORD_SYSCALL && thread->call_nr >= 0 &&
	       (word_call(wait->in) & 0xffff) == ((uint32_t)thread->call_nr & 0xffff);
}

/* Who is left of a process that could end a wait: see alone.c. */
struct left {
	uint32_t slot;	/* where it is one; else SLOT_NONE */
	uint32_t count; /* 2 = several */
};

/* Begin with { .state = state }; end with ends_fini(). */
struct ends {
	struct state *state;
	struct end *all; /* owned; by name */
	size_t count, cap;
	bool is_made;
	bool is_over; /* nobody has ended the waits that are asked about, but for a signal */
	const struct process *asked; /* for who is left of it last; NULL = none */
	struct left left;
};

struct others {
	const struct process *process[OTHERS_MAX];
	uint32_t count; /* there are so many; the first OTHERS_MAX of them are above */
	uint32_t name;	/* name id of what they have; 0 = of several names */
};

/* Who beside 'own' has the other end of the object. */
void ends_others(struct ends *ends, const struct process *own, const struct object *object,
		 struct others *out);

/* Is that its channel to its parent, of whom alone 'others' of the object are, and not who asks it? */
bool ends_at_parent(struct state *state, const struct process *own, const struct object *object,
		    const struct others *others);

/* Who listens where the socket of that name connects to: "tcp A->B", "unix PATH". */
void ends_listeners(struct ends *ends, const struct process *own, const char *name,
		    struct others *out);

/* Who has something open of the object's name, the same one or another. */
void ends_sharers(struct ends *ends, const struct process *own, const struct object *object,
		  struct others *out);

/* Can only another thread of its process end that wait: no time limit, no other process? */
bool alone_awaits(const struct state *state, const struct thread *thread, const struct wait *wait);

/*
 * Of a futex() call: the thread of its process that it joins; SLOT_NONE = none. Who joins another one waits for its id
 * to be cleared: by the kernel, so the word is shared.
 */
uint32_t alone_joined(struct state *state, const struct thread *thread);

/* Who of its process does not await another thread like that, 'thread' apart. */
struct left alone_left(struct state *state, const struct thread *thread);

void ends_fini(struct ends *ends);

#endif
