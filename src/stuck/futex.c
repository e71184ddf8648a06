/*
 * futex.c - whose a futex word is, by what the kernel, glibc and musl put there.
 *
 *	PI futex, robust mutex    the word has the owner's tid, by the kernel's own rules
 *	glibc mutex               word 2; the owner 8 bytes behind it, users, kind
 *	glibc rwlock              the writer, behind the word that readers and writers wait for; for readers
 *	                          behind a writer that waits, that one
 *	stdio lock of glibc       the owner's struct pthread
 *	pthread_join of glibc     the word is the tid in the struct pthread of the one that is awaited
 *	pthread_join of musl      the state behind the tid
 *	monitor, lock of Java     see hotspot.h
 *	RLock of Python           see python_lock.h
 *	LWLock of PostgreSQL      nobody: see postgres.h
 *	locks of musl             see futex_musl.c
 *	condition, semaphore      nobody, but in shared memory the only other process that has it, as inferred; nor of a glibc mutex whose owner has exited, or was in the process before fork()
 *
 * A number of a thread outlives it: see doubt_young_owners() of stuck.c.
 *
 * A layout is only believed when all of it fits: an owner that lives in the same process, a kind that
 * exists, a count that is above 0, pointers that lead back. Else nobody is named.
 */
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "stuck/futex_int.h"
#include "stuck/go_runtime.h"
#include "stuck/hotspot.h"
#include "stuck/maps.h"
#include "stuck/postgres.h"
#include "stuck/python_lock.h"
#include "stuck/related.h"
#include "stuck/snap_int.h"

#define GLIBC_KIND_MAX	   3
#define GLIBC_KIND_SHARED  0x80
#define GLIBC_KIND_ELISION 0x300
#define KIND_RECURSIVE	   1
#define TID_MAX		   (1 << 22)
#define HOLDERS_MAX	   8   /* threads of Python that are told of one lock */
#define SHARERS_LOOKED	   16u /* processes: more would cost too much, at every look */

/* pthread_rwlock_t of glibc: __readers, __flags */
#define RWLOCK_WRITER	       2u
#define RWLOCK_READERS_WAIT    4u
#define RWLOCK_BITS	       7u
#define RWLOCK_SHIFT	       3
#define RWLOCK_PREFERS_WRITERS 2u

#if defined(__x86_64__)
#define GLIBC_PTHREAD_TID 720 /* of struct pthread; constant since glibc 2.10 */
#define MUSL_PTHREAD_TID  48
#endif
#define MUSL_STATE_BEHIND_TID 8

uint32_t futex_word(const struct futex *futex, int offset)
{
	uint32_t word;

	memcpy(&word, futex->asleep->task.window + TASK_WINDOW_BEFORE + offset, sizeof(word));
	return word;
}

int32_t futex_own_thread(const struct futex *futex, uint32_t number)
{
	struct asleep *asleep = futex->asleep;
	const struct task *task;
	int32_t tid;

	if (number == 0 || number > INT32_MAX)
		return 0;
	tid = look_thread(&asleep->snap->look, asleep->process, (int32_t)number);
	task = tid ? look_task(&asleep->snap->look, tid) : NULL;
	return task && (task->state == 'Z' || task->state == 'X') ? 0 : tid;
}

/* Without the private flag, as std::atomic and robust mutexes wait; the kernel then goes by the memory. */
static bool is_own_memory(const struct futex *futex)
{
	struct asleep *asleep = futex->asleep;

	return maps_is_private(&asleep->snap->look, asleep->process, futex->address);
}

/*
 * In a PID namespace below ours. A number is that of a thread in each namespace: it is only believed where all who
 * have the memory, of those around, are in that of the waiter, and one of them has the number. That of the waiter itself
 * may be one of a namespace that is not around: each of them has a 1.
 */
static int32_t nested_thread(const struct futex *futex, uint32_t number)
{
	struct asleep *asleep = futex->asleep;
	struct look *look = &asleep->snap->look;
	char own[64] = "";
	struct mapping mapping;
	struct related related;
	int32_t found = 0;

	if (!maps_at(look, asleep->process, futex->address, &mapping) ||
	    look_link(look, asleep->process, "ns/pid", own, sizeof(own)) <= 0)
		return 0;
	related_find(look, &asleep->task, &related);
	if (related.count > SHARERS_LOOKED)
		return 0;
	for (size_t i = 0; i < related.count; i++) {
		struct process at = { .tgid = related.tgids[i] }, *other;
		char space[64] = "";

		if (!maps_has(look, &at, &mapping))
			continue;
		if (look_link(look, &at, "ns/pid", space, sizeof(space)) <= 0 ||
		    strcmp(space, own) != 0)
			return 0;
		other = found ? NULL : look_process(look, related.tgids[i]);
		found = other ? look_thread(look, other, (int32_t)number) : found;
	}
	return found == asleep->task.tid ? 0 : found;
}

/*
 * The same of a word in shared memory, which may be a thread of another process: one that has the same
 * memory. Of another PID namespace it is not known.
 */
static int32_t any_thread(const struct futex *futex, uint32_t number)
{
	struct asleep *asleep = futex->asleep;
	struct look *look = &asleep->snap->look;
	bool is_nested = !futex->is_private && look_is_nested(look, asleep->process) &&
			 !is_own_memory(futex);
	int32_t tid = is_nested ? 0 : futex_own_thread(futex, number);
	struct mapping mapping;
	struct process *other;

	if (tid || futex->is_private || number == 0 || number > INT32_MAX)
		return tid;
	if (is_nested) {
		tid = nested_thread(futex, number);
		asleep->process = look_owner(look, &asleep->task); /* they have moved */
		return tid;
	}
	if (!maps_at(look, asleep->process, futex->address, &mapping))
		return 0;
	other = look_process_of(look, (int32_t)number);
	tid = other && maps_has(look, other, &mapping) ? (int32_t)number : 0;
	asleep->process = look_owner(look, &asleep->task); /* they have moved */
	return tid;
}

/* The kernel looks after PI mutexes, and after the words of threads that end. */
static bool is_note(const struct futex *futex, enum stuck_how how)
{
	bool is_pi = futex->op == FUTEX_LOCK_PI || futex->op == FUTEX_LOCK_PI2;

	return !is_pi && how != STUCK_HOW_JOINED_GLIBC && how != STUCK_HOW_JOINED_MUSL;
}

bool futex_set_owner(const struct futex *futex, int32_t tid, const char *what, enum stuck_how how)
{
	struct wait *wait = futex->asleep->wait;
	const struct stuck_edge edge = { .tid = tid, .is_note = is_note(futex, how), .how = how };

	wait_object_at(wait, what, futex->address, "");
	wait_edge(wait, &edge);
	return true;
}

/*
 * The one process beside this one that has the word in its memory, of those around it: it may set the word. Not where
 * other threads of this one may do so as well, or several have it.
 */
static int32_t only_sharer(const struct futex *futex)
{
	struct asleep *asleep = futex->asleep;
	struct look *look = &asleep->snap->look;
	struct mapping mapping;
	struct related related;
	int32_t found = 0;

	if (asleep->process->count != 1 || look_is_nested(look, asleep->process) ||
	    !maps_at(look, asleep->process, futex->address, &mapping))
		return 0;
	related_find(look, &asleep->task, &related);
	if (related.count > SHARERS_LOOKED)
		return 0;
	for (size_t i = 1; i < related.count; i++) {
		struct process other = { .tgid = related.tgids[i] };
		bool shares = maps_has(look, &other, &mapping);

		map_fini(&other.numbers);
		if (shares && found)
			return 0;
		if (shares)
			found = related.tgids[i];
	}
	return found;
}

bool futex_set_unowned(const struct futex *futex, const char *what)
{
	struct wait *wait = futex->asleep->wait;
	struct stuck_edge edge = { .is_process = true,
				   .is_inferred = true,
				   .how = STUCK_HOW_SHARES_MEMORY };

	wait_object_at(wait, what, futex->address, "");
	wait->has_unowned = true;
	wait->is_inside = futex->is_private || is_own_memory(futex);
	edge.tid = wait->is_inside ? 0 : only_sharer(futex);
	if (edge.tid)
		wait_edge(wait, &edge);
	return true;
}

/* The word has the owner's tid: PI by the kernel, robust and recursive ones by their library. */
static bool is_tid_word(const struct futex *futex)
{
	bool is_pi = futex->op == FUTEX_LOCK_PI || futex->op == FUTEX_LOCK_PI2;
	uint32_t word = futex_word(futex, 0);
	int32_t tid;

	if (!is_pi && (!(word & FUTEX_WAITERS) || word != futex->awaited))
		return false;
	tid = any_thread(futex, word & FUTEX_TID_MASK);
	if (!tid)
		return false;
	return futex_set_owner(futex, tid, is_pi ? "PI mutex" : "mutex", STUCK_HOW_MUTEX_WORD);
}

static bool is_glibc_mutex(const struct futex *futex)
{
	uint32_t kind = futex_word(futex, 16), users = futex_word(futex, 12);
	int32_t tid;

	if (futex->awaited != 2 || futex_word(futex, 0) != 2)
		return false;
	if ((kind & ~(uint32_t)(GLIBC_KIND_SHARED | GLIBC_KIND_ELISION)) > GLIBC_KIND_MAX ||
	    !!(kind & GLIBC_KIND_SHARED) == futex->is_private || users == 0 ||
	    users > FUTEX_USERS_MAX)
		return false;
	tid = any_thread(futex, futex_word(futex, 8));
	if (!tid)
		return false;
	return futex_set_owner(
		futex, tid, (kind & GLIBC_KIND_MAX) == KIND_RECURSIVE ? "recursive mutex" : "mutex",
		STUCK_HOW_MUTEX_GLIBC);
}

/* One thread locked it, and is none of the process: it has exited, or fork() left it behind. */
static bool is_glibc_orphan(const struct futex *futex)
{
	struct asleep *asleep = futex->asleep;
	uint32_t count = futex_word(futex, 4), owner = futex_word(futex, 8);
	uint32_t kind = futex_word(futex, 16) & ~(uint32_t)GLIBC_KIND_ELISION;
	bool has_list = futex_word(futex, 24) || futex_word(futex, 28) || futex_word(futex, 32) ||
			futex_word(futex, 36);
	AUTO_FREE char *what = NULL;

	if (futex->awaited != 2 || futex_word(futex, 0) != 2 || !futex->is_private ||
	    kind > GLIBC_KIND_MAX || (kind == KIND_RECURSIVE) != (count > 0) ||
	    futex_word(futex, 12) != 1 || has_list || owner == 0 || owner > TID_MAX ||
	    look_is_nested(&asleep->snap->look, asleep->process) || futex_own_thread(futex, owner))
		return false;
	what = xasprintf("mutex (by its layout; of thread %u, which is not in this process)",
			 owner);
	return futex_set_unowned(futex, what);
}

/* readers, writers, phase, writers' futex, two pads, writer; pshared and flags at 28 and 48 */
static bool rwlock_fits(const struct futex *futex, int base)
{
	uint32_t readers = futex_word(futex, base), phase = futex_word(futex, base + 8);
	uint32_t shared = futex_word(futex, base + 28), flags = futex_word(futex, base + 48);

	return (shared != 0) == !futex->is_private && shared <= 1 && flags <= 2 && phase <= 3 &&
	       futex_word(futex, base + 12) <= 3 && (readers & 3) != 0;
}

bool futex_set_readers(const struct futex *futex, uint32_t readers)
{
	AUTO_FREE char *what =
		xasprintf("rwlock held by %u reader%s", readers, readers > 1 ? "s" : "");

	return futex_set_unowned(futex, what);
}

static bool is_glibc_rwlock(const struct futex *futex)
{
	for (int base = -12; base <= -8; base += 4) {
		bool is_write_phase = futex_word(futex, base) & 1;
		int32_t tid;

		if (futex->awaited < 2 || futex->awaited > 3 || !rwlock_fits(futex, base) ||
		    futex_word(futex, 0) != futex->awaited)
			continue;
		tid = any_thread(futex, futex_word(futex, base + 24));
		if (is_write_phase && tid)
			return futex_set_owner(futex, tid, "rwlock", STUCK_HOW_RWLOCK_GLIBC);
		/* Readers have no names; believed when nothing else fits the word either. */
		if (!is_write_phase && futex_word(futex, base + 24) == 0 &&
		    futex_word(futex, base) >> RWLOCK_SHIFT > 0)
			return futex_set_readers(futex, futex_word(futex, base) >> RWLOCK_SHIFT);
	}
	return false;
}

/* Of those of the process, who waits for the word at 'address'. */
static size_t add_waiters_at(const struct futex *futex, uint64_t address, enum stuck_how how)
{
	struct asleep *asleep = futex->asleep;
	const struct process *process = asleep->process;
	size_t added = 0;

	for (size_t i = 0; i < process->count; i++) {
		const struct task *task = &asleep->snap->look.tasks[process->first + i];
		const struct stuck_edge edge = { .tid = task->tid, .how = how };

		if (!task->has_call || task->nr != asleep->task.nr || task->args[0] != address)
			continue;
		wait_edge(asleep->wait, &edge);
		added++;
	}
	return added;
}

/* Where writers are preferred, readers queue behind the one that waits for the readers before it. */
static bool is_behind_writer(const struct futex *futex)
{
	uint32_t readers = futex_word(futex, 0);

	if (readers != futex->awaited || !rwlock_fits(futex, 0) ||
	    (readers & RWLOCK_BITS) != (RWLOCK_WRITER | RWLOCK_READERS_WAIT) ||
	    readers >> RWLOCK_SHIFT == 0 || futex_word(futex, 24) != 0 ||
	    futex_word(futex, 48) != RWLOCK_PREFERS_WRITERS)
		return false;
	wait_object_at(futex->asleep->wait, "rwlock", futex->address, "");
	if (!add_waiters_at(futex, futex->address + 8, STUCK_HOW_RWLOCK_WRITER))
		futex->asleep->wait->has_unowned = true;
	futex->asleep->wait->has_hole |= !futex->is_private;
	return true;
}

/* sem_t: value, waiters, whether processes share it */
static bool sem_fits(const struct futex *futex)
{
	uint32_t waiters = futex_word(futex, 4), sharing = futex_word(futex, 8);

	return futex->awaited == 0 && waiters > 0 && waiters < FUTEX_USERS_MAX &&
	       (sharing == 0 || sharing == FUTEX_PRIVATE_FLAG) &&
	       (sharing == 0) == futex->is_private;
}

#if defined(__x86_64__)
/* A struct pthread has its own address at its begin; glibc's, 16 bytes on, too. */
static int32_t pthread_tid(const struct futex *futex, uint64_t at, bool is_glibc)
{
	struct asleep *asleep = futex->asleep;
	uint64_t head[3];
	uint32_t tid;

	if (!at || !look_memory(&asleep->snap->look, asleep->process, at, head, sizeof(head)) ||
	    head[0] != at || (is_glibc && head[2] != at))
		return 0;
	at += is_glibc ? GLIBC_PTHREAD_TID : MUSL_PTHREAD_TID;
	if (!look_memory(&asleep->snap->look, asleep->process, at, &tid, sizeof(tid)))
		return 0;
	return futex_own_thread(futex, tid);
}

static bool is_glibc_join(const struct futex *futex)
{
	int32_t tid;

	if (futex->is_private || futex_word(futex, 0) != futex->awaited)
		return false;
	tid = pthread_tid(futex, futex->address - GLIBC_PTHREAD_TID, true);
	if (!tid || tid != futex_own_thread(futex, futex->awaited))
		return false;
	return futex_set_owner(futex, tid, "thread's end", STUCK_HOW_JOINED_GLIBC);
}

static bool is_musl_join(const struct futex *futex)
{
	uint64_t tid_at = futex->address - MUSL_STATE_BEHIND_TID;
	int32_t tid;

	if (futex->awaited < 1 || futex->awaited > 3 || futex_word(futex, 0) != futex->awaited)
		return false;
	tid = pthread_tid(futex, tid_at - MUSL_PTHREAD_TID, false);
	if (!tid || tid == futex->asleep->task.tid)
		return false;
	return futex_set_owner(futex, tid, "thread's end", STUCK_HOW_JOINED_MUSL);
}

/* int lock, int count, void *owner */
static bool is_stdio_lock(const struct futex *futex)
{
	uint64_t owner;
	int32_t tid;

	memcpy(&owner, futex->asleep->task.window + TASK_WINDOW_BEFORE + 8, sizeof(owner));
	if (futex->awaited != 2 || futex_word(futex, 0) != 2 || futex_word(futex, 4) == 0 ||
	    futex_word(futex, 4) > 1024)
		return false;
	tid = pthread_tid(futex, owner, true);
	if (!tid)
		return false;
	return futex_set_owner(futex, tid, "stdio lock", STUCK_HOW_FILE_STREAM);
}

/* Who took it by `with` is seen in a frame; who took it by acquire() is not. */
static bool set_python_holders(const struct futex *futex, const char *what,
			       const struct python_holder *holders, size_t count)
{
	static const enum stuck_how hows[] = {
		[PYTHON_INSIDE] = STUCK_HOW_PYTHON_INSIDE,
		[PYTHON_ENDS] = STUCK_HOW_PYTHON_ENDS,
		[PYTHON_SHARED] = STUCK_HOW_PYTHON_SHARED,
	};

	for (size_t i = 0; i < count; i++) {
		const struct stuck_edge edge = { .tid = holders[i].tid,
						 .is_inferred = count > 1,
						 .how = hows[holders[i].how] };

		wait_edge(futex->asleep->wait, &edge);
	}
	if (count)
		wait_object_at(futex->asleep->wait, what, futex->address, "");
	return count > 0;
}

static bool set_python_with(const struct futex *futex, uint64_t key)
{
	struct python_holder holders[HOLDERS_MAX];
	size_t count = python_holders(futex->asleep, key, holders, HOLDERS_MAX);

	return set_python_holders(futex, "Python Lock", holders, count) ||
	       futex_set_unowned(futex, "Python Lock (notes no owner)");
}

/* Of multiprocessing: a semaphore that processes share. */
static bool is_python_shared(const struct futex *futex)
{
	struct python_holder holders[HOLDERS_MAX];
	size_t count;

	if (futex->is_private || !sem_fits(futex))
		return false;
	count = python_shared_holders(futex->asleep, futex->address, holders, HOLDERS_MAX);
	return set_python_holders(futex, "Python multiprocessing lock", holders, count);
}

/* Who made the lock's semaphore 0 is noted by an RLock alone. */
static bool is_python_lock(const struct futex *futex)
{
	struct futex named = *futex;
	struct python_lock lock;
	int32_t tid;

	if (!sem_fits(futex) || !futex->is_private || !python_lock_find(futex->asleep, &lock))
		return false;
	if (lock.is_parked)
		named.address = lock.key; /* what all who wait for it have in common */
	if (!lock.is_rlock)
		return set_python_with(&named, lock.key);
	tid = pthread_tid(futex, lock.owner, true);
	if (!tid || tid == futex->asleep->task.tid)
		return futex_set_unowned(&named, "Python RLock");
	return futex_set_owner(&named, tid, "Python RLock", STUCK_HOW_PYTHON_RLOCK);
}
#else
static bool is_glibc_join(const struct futex *futex)
{
	(void)futex;
	return false;
}

static bool is_musl_join(const struct futex *futex)
{
	(void)futex;
	return false;
}

static bool is_stdio_lock(const struct futex *futex)
{
	(void)futex;
	return false;
}

static bool is_python_lock(const struct futex *futex)
{
	(void)futex;
	return false;
}

static bool is_python_shared(const struct futex *futex)
{
	(void)futex;
	return false;
}
#endif

/*
 * How many have waited, twice that; two groups: references at 16, sizes at 24, waiters at 36, signals at 40 (a word
 * each). The lowest bit of the signals says that a group is closed: nobody waits for such a word. That of the
 * waiters says that processes share it.
 */
static bool is_glibc_cond(const struct futex *futex)
{
	if (futex->awaited & 1 || futex->awaited >= FUTEX_USERS_MAX)
		return false;
	for (int group = 0; group < 2; group++) {
		int base = -40 - 4 * group;
		uint32_t references = futex_word(futex, base + 16 + 4 * group);
		uint32_t users = futex_word(futex, base + 36), waiters = users >> 3;
		uint64_t waited =
			(uint64_t)futex_word(futex, base + 4) << 32 | futex_word(futex, base);

		if (waiters > 0 && waiters < FUTEX_USERS_MAX && references >= 2 &&
		    references / 2 <= waiters && waited / 2 >= waiters &&
		    !(users & 1) == futex->is_private)
			return futex_set_unowned(futex, "condition variable (by its layout)");
	}
	return false;
}

/* A backend sleeps on its own semaphore then. */
static bool is_postgres_lock(const struct futex *futex)
{
	uint32_t tranche;

	if (futex->is_private || !sem_fits(futex) || !postgres_light_lock(futex->asleep, &tranche))
		return false;
	wait_object(futex->asleep->wait, "PostgreSQL LWLock of tranche %u (notes no owner)",
		    tranche);
	futex->asleep->wait->has_unowned = true;
	return true;
}

/* How many of the process's threads wait for the word. */
static uint32_t waiting_here(const struct futex *futex)
{
	const struct asleep *asleep = futex->asleep;
	const struct process *process = asleep->process;
	uint32_t count = 0;

	for (size_t i = 0; i < process->count; i++) {
		const struct task *task = &asleep->snap->look.tasks[process->first + i];

		count += task->has_call && task->nr == asleep->task.nr &&
			 task->args[0] == futex->address;
	}
	return count;
}

/* in, current_round, count, shared, out; round by round as many come in as it is for: they wait for the second. */
static bool is_glibc_barrier(const struct futex *futex)
{
	uint32_t in = futex_word(futex, -4), round = futex_word(futex, 0),
		 of = futex_word(futex, 4);
	uint32_t come = in - round;
	AUTO_FREE char *what = NULL;

	if (!futex->is_private || round != futex->awaited || futex_word(futex, 8) != 0 ||
	    come == 0 || come >= of || of > FUTEX_USERS_MAX || come != waiting_here(futex))
		return false;
	what = xasprintf("barrier (by its layout; %u of %u have come)", come, of);
	return futex_set_unowned(futex, what);
}

static bool is_glibc_sem(const struct futex *futex)
{
	return sem_fits(futex) && futex_set_unowned(futex, "semaphore (by its layout)");
}

static bool is_refused_pi(const struct futex *futex)
{
	return futex->awaited == 0 && futex_word(futex, 0) == 0 && refused_pi_wait(futex->asleep);
}

/* HotSpot's threads wait in conditions of their own for what its tables tell. */
static bool is_java_monitor(const struct futex *futex)
{
	return futex->is_private && hotspot_wait(futex->asleep);
}

/* Go's runtime waits for work in words of its own. */
static bool is_go(const struct futex *futex)
{
	if (!futex->is_private || !runs_go(futex->asleep))
		return false;
	futex->asleep->wait->is_scheduled = true;
	return futex_set_unowned(futex, "futex (of a Go program)");
}

/* In the order of how sure each is. */
static bool (*const layouts[])(const struct futex *futex) = {
	is_tid_word,	  is_glibc_join,    is_musl_join,    is_glibc_mutex,   is_stdio_lock,
	is_glibc_rwlock,  is_behind_writer, is_refused_pi,   is_java_monitor,  is_python_lock,
	is_postgres_lock, is_python_shared, is_glibc_orphan, is_glibc_barrier, is_glibc_sem,
	is_glibc_cond,	  futex_is_musl,    is_go,
};

static bool is_waiting_op(uint32_t op)
{
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
	       op == FUTEX_LOCK_PI2 || op == FUTEX_WAIT_REQUEUE_PI;
}

void futex_wait(struct asleep *asleep)
{
	const uint64_t *args = asleep->task.args;
	struct futex futex = {
		.asleep = asleep,
		.address = args[0],
		.op = (uint32_t)args[1] & (uint32_t)FUTEX_CMD_MASK,
		.awaited = (uint32_t)args[2],
		.is_private = args[1] & FUTEX_PRIVATE_FLAG,
	};

	asleep->wait->is_timed = args[3] != 0;
	if (is_waiting_op(futex.op))
		asleep->wait->futex = futex.address;
	if (!is_waiting_op(futex.op) || !asleep->task.has_window) {
		wait_object_at(asleep->wait, "futex", futex.address, "");
		asleep->wait->has_unknown = true;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		if (layouts[i](&futex))
			return;
	}
	(void)futex_set_unowned(&futex, "futex");
}
