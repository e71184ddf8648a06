/*
 * postgres_lock.c - locks of PostgreSQL, by its src/include/storage/{proc,lock}.h of versions 13 to 18.
 *
 *	MyProc -> PGPROC: ... waitLock, waitProcLock, waitLockMode ...
 *	                      |         |
 *	                      v         v
 *	                      LOCK <--> PROCLOCK <--> PROCLOCK ...   a ring: who has the lock, or asks for it
 *	                           <--> PGPROC <--> PGPROC ...       a ring: who waits for it, in their order
 *
 * Where the three fields lie in a PGPROC differs by version. They are where the PROCLOCK leads back to both
 * the lock and the process: nothing else does. A ring counts only as a whole, with the process itself in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stuck/postgres.h"
#include "stuck/postgres_int.h"
#include "stuck/snap_int.h"

#define PROC_BYTES   256u /* of a PGPROC, in which the fields lie */
#define RING_MAX     4096u
#define MODES	     8u
#define TYPES	     12u
#define METHOD_USER  2u /* of advisory locks */
#define WHICH_DOUBLE 2u /* of an advisory lock: its key was two numbers */

enum lock_type {
	LOCK_RELATION,
	LOCK_EXTENSION,
	LOCK_FROZEN_IDS,
	LOCK_PAGE,
	LOCK_TUPLE,
	LOCK_TRANSACTION,
	LOCK_VIRTUAL,
	LOCK_SPECULATIVE,
	LOCK_OBJECT,
	LOCK_USER,
	LOCK_ADVISORY,
	LOCK_APPLY,
};

struct queue_link {
	uint64_t previous, next;
};

/* Of a PGPROC. */
struct wait_fields {
	uint64_t lock, proc_lock;
	uint32_t mode, held;
};

struct shared_lock {
	uint32_t field[3];
	uint16_t field4;
	uint8_t type, method;
	uint32_t granted, awaited;
	struct queue_link proc_locks, waiters;
};

struct shared_proc_lock {
	uint64_t lock, proc, leader;
	uint32_t holds, releases;
	struct queue_link link; /* of the lock's ring */
};

struct lock_wait {
	struct asleep *asleep;
	struct postgres *postgres;
	uint64_t proc;	  /* our own PGPROC */
	size_t fields_at; /* in a PGPROC */
	struct wait_fields fields;
	struct shared_lock lock;
	struct shared_proc_lock own;
	struct shared_proc_lock *ring; /* owned */
	size_t count, cap;
	bool is_closed;
};

/* Modes and what each conflicts with: PostgreSQL's documentation, "Table-Level Locks". Bit 1 is the first mode. */
static const struct {
	const char *name;
	uint32_t conflicts;
} modes[MODES + 1] = {
	[1] = { "AccessShareLock", 1 << 8 },
	[2] = { "RowShareLock", 1 << 7 | 1 << 8 },
	[3] = { "RowExclusiveLock", 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 },
	[4] = { "ShareUpdateExclusiveLock", 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 },
	[5] = { "ShareLock", 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8 },
	[6] = { "ShareRowExclusiveLock", 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 },
	[7] = { "ExclusiveLock", 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 },
	[8] = { "AccessExclusiveLock",
		1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 },
};

static bool read_proc_lock(struct lock_wait *wait, uint64_t at, struct shared_proc_lock *out_lock)
{
	return remote_read(&wait->postgres->memory, at, out_lock, sizeof(*out_lock)) &&
	       out_lock->lock == wait->fields.lock;
}

static bool leads_back(struct lock_wait *wait)
{
	const struct wait_fields *fields = &wait->fields;

	return fields->lock && fields->lock % 8 == 0 && fields->proc_lock % 8 == 0 &&
	       fields->mode >= 1 && fields->mode <= MODES &&
	       read_proc_lock(wait, fields->proc_lock, &wait->own) &&
	       wait->own.proc == wait->proc &&
	       remote_read(&wait->postgres->memory, fields->lock, &wait->lock, sizeof(wait->lock));
}

/* Both are 0 where it waits for none. */
static bool find_fields(struct lock_wait *wait)
{
	uint8_t proc[PROC_BYTES];

	if (!wait->proc || !remote_read(&wait->postgres->memory, wait->proc, proc, sizeof(proc)))
		return false;
	for (size_t at = 0; at + sizeof(wait->fields) <= sizeof(proc); at += 8) {
		memcpy(&wait->fields, proc + at, sizeof(wait->fields));
		wait->fields_at = at;
		if (leads_back(wait))
			return true;
	}
	return false;
}

/* Where links of a ring lie in their lock or process, so they lead from one to the next and back. */
static bool ring_next(struct lock_wait *wait, uint64_t *at)
{
	struct queue_link link, back;
	uint64_t from = *at;

	if (!remote_read(&wait->postgres->memory, from, &link, sizeof(link)) ||
	    !remote_read(&wait->postgres->memory, link.next, &back, sizeof(back)))
		return false;
	*at = link.next;
	return back.previous == from;
}

static void read_ring(struct lock_wait *wait)
{
	uint64_t head = wait->fields.lock + offsetof(struct shared_lock, proc_locks), at = head;
	bool has_own = false;

	while (wait->count < RING_MAX && ring_next(wait, &at)) {
		struct shared_proc_lock *member;

		if (at == head) {
			wait->is_closed = has_own;
			return;
		}
		wait->ring = vec_room(wait->ring, wait->count, &wait->cap, sizeof(*wait->ring));
		member = &wait->ring[wait->count];
		at -= offsetof(struct shared_proc_lock, link);
		if (!read_proc_lock(wait, at, member))
			return;
		has_own |= at == wait->fields.proc_lock;
		at += offsetof(struct shared_proc_lock, link);
		wait->count++;
	}
}

/* ------------------------------------------------------------------ who is in the way */

/* Workers of one query do not wait for each other, but for the right to extend a relation or for a page of it. */
static bool is_of_group(const struct lock_wait *wait, uint64_t leader)
{
	return leader == wait->own.leader && wait->lock.type != LOCK_EXTENSION &&
	       wait->lock.type != LOCK_PAGE;
}

static const char *strongest(uint32_t held)
{
	for (uint32_t mode = MODES; mode > 0; mode--) {
		if (held >> mode & 1)
			return modes[mode].name;
	}
	return "?";
}

/* A transaction that was prepared has a PGPROC of nobody: what is a process's number in ours is 0 in that one. */
static bool is_prepared(struct lock_wait *wait, uint64_t proc)
{
	uint32_t own[PROC_BYTES / 4], other[PROC_BYTES / 4];
	uint32_t pid = (uint32_t)postgres_variable(wait->asleep, wait->postgres->my_pid);
	bool is_one = false;

	if (!pid || !remote_read(&wait->postgres->memory, wait->proc, own, sizeof(own)) ||
	    !remote_read(&wait->postgres->memory, proc, other, sizeof(other)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		if (own[i] == pid && other[i])
			return false;
		is_one |= own[i] == pid;
	}
	return is_one;
}

static void add_holder_of(struct lock_wait *wait, const struct shared_proc_lock *member)
{
	uint32_t held = member->holds & modes[wait->fields.mode].conflicts;
	struct stuck_edge edge = { .tid = postgres_backend(wait->asleep, wait->postgres,
							   member->proc) };

	if (!held || member->proc == wait->proc || is_of_group(wait, member->leader))
		return;
	edge.how = STUCK_HOW_POSTGRES_HOLDS;
	edge.mode = strongest(held);
	if (edge.tid)
		wait_edge(wait->asleep->wait, &edge);
	else if (is_prepared(wait, member->proc))
		wait->asleep->wait->has_outside = true;
	else
		wait->asleep->wait->has_hole = true;
}

static const struct shared_proc_lock *member_of(const struct lock_wait *wait, uint64_t proc)
{
	for (size_t i = 0; i < wait->count; i++) {
		if (wait->ring[i].proc == proc)
			return &wait->ring[i];
	}
	return NULL;
}

/* Who came before is let in before, though PostgreSQL may turn that round to avoid a deadlock. */
static void add_queued(struct lock_wait *wait, uint64_t proc, const struct wait_fields *fields)
{
	const struct shared_proc_lock *member = member_of(wait, proc);
	struct stuck_edge edge = { .is_inferred = true };

	if (!member || fields->mode > MODES || is_of_group(wait, member->leader) ||
	    !(modes[wait->fields.mode].conflicts >> fields->mode & 1))
		return;
	edge.tid = postgres_backend(wait->asleep, wait->postgres, proc);
	edge.how = STUCK_HOW_POSTGRES_QUEUED;
	edge.mode = modes[fields->mode].name;
	if (edge.tid)
		wait_edge(wait->asleep->wait, &edge);
	else
		wait->asleep->wait->has_hole = true;
}

/* A PGPROC begins with the link. */
static void read_queue(struct lock_wait *wait)
{
	uint64_t head = wait->fields.lock + offsetof(struct shared_lock, waiters), at = head;

	for (size_t i = 0; i < RING_MAX && ring_next(wait, &at) && at != head; i++) {
		struct wait_fields fields;

		if (at == wait->proc)
			return;
		if (!remote_read(&wait->postgres->memory, at + wait->fields_at, &fields,
				 sizeof(fields)) ||
		    fields.lock != wait->fields.lock)
			break;
		add_queued(wait, at, &fields);
	}
	wait->asleep->wait->has_hole = true;
}

/* ------------------------------------------------------------------ what it is */

/* The numbers of types are those of versions 13 to 18: told only where the rest fits. */
static char *lock_name(const struct shared_lock *lock)
{
	const uint32_t *field = lock->field;

	if ((lock->method == METHOD_USER) !=
	    (lock->type == LOCK_USER || lock->type == LOCK_ADVISORY))
		return xstrdup("lock");
	switch (lock->type) {
	case LOCK_RELATION:
		return xasprintf("lock of relation %u, database %u", field[1], field[0]);
	case LOCK_EXTENSION:
		return xasprintf("lock to extend relation %u, database %u", field[1], field[0]);
	case LOCK_PAGE:
		return xasprintf("lock of page %u of relation %u, database %u", field[2], field[1],
				 field[0]);
	case LOCK_TUPLE:
		return xasprintf("lock of row (%u,%u) of relation %u, database %u", field[2],
				 lock->field4, field[1], field[0]);
	case LOCK_TRANSACTION:
		return xasprintf("row lock: transaction %u", field[0]);
	case LOCK_VIRTUAL:
		return xasprintf("lock of virtual transaction %u/%u", field[0], field[1]);
	case LOCK_SPECULATIVE:
		return xasprintf("lock of an insertion of transaction %u", field[0]);
	case LOCK_OBJECT:
		return xasprintf("lock of object %u of catalog %u, database %u", field[2], field[1],
				 field[0]);
	case LOCK_ADVISORY:
		return lock->field4 == WHICH_DOUBLE
			       ? xasprintf("advisory lock %d/%d, database %u", (int32_t)field[1],
					   (int32_t)field[2], field[0])
			       : xasprintf("advisory lock %lld, database %u",
					   (long long)((uint64_t)field[1] << 32 | field[2]),
					   field[0]);
	default:
		return xasprintf("lock of type %u", lock->type);
	}
}

static void tell_wait(struct lock_wait *wait)
{
	AUTO_FREE char *name = lock_name(&wait->lock);
	struct wait *told = wait->asleep->wait;

	told->needs_all = true;
	told->is_timed = false;
	for (size_t i = 0; i < wait->count; i++)
		add_holder_of(wait, &wait->ring[i]);
	read_queue(wait);
	wait_object(told, "PostgreSQL %s, %s%s", name, modes[wait->fields.mode].name,
		    told->has_outside ? " (held by a prepared transaction)" : "");
	if (!told->count && !told->has_outside)
		told->has_unowned = true;
}

bool postgres_wait(struct asleep *asleep)
{
	struct lock_wait wait = { .asleep = asleep, .postgres = postgres_of(asleep) };

	if (!wait.postgres)
		return false;
	wait.proc = postgres_variable(asleep, wait.postgres->my_proc);
	if (!find_fields(&wait))
		return false;
	read_ring(&wait);
	if (wait.is_closed)
		tell_wait(&wait);
	free(wait.ring);
	return wait.is_closed;
}
