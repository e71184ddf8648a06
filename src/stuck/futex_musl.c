/*
 * futex_musl.c - what musl puts around words that its threads wait for.
 *
 *	mutex         type, lock, waiters; a normal one notes that it is taken, not by whom
 *	rwlock        readers, or all ones for a writer; waiters; whether processes share it
 *	semaphore     value, waiters, whether it is private
 *	lock of FILE  the owner's tid, and a bit when somebody waits
 *	condition     a list of those who wait; each waits for a word on its own stack
 *
 * All of a layout must fit, with the zeros that its union leaves.
 */
#include <string.h>

#include "stuck/futex_int.h"
#include "stuck/snap_int.h"

#define MUSL_WAITED	 0x80000000u /* somebody waits for the lock */
#define MUSL_BUSY	 16u	     /* EBUSY: a normal mutex that is taken */
#define MUSL_SHARED	 128u
#define MUSL_TYPES	 0xfu
#define MUSL_WRITER	 0x7fffffffu
#define MUSL_SEM_OLD	 UINT32_MAX /* until 1.2.3, a semaphore of 0 that is waited for */
#define MUSL_FILE_WAITED 0x40000000u
#define MUSL_CONDITION	 2u /* of a waiter's word: it was not woken yet */
#define STACK_WITHIN	 1024u

static bool is_zero(const struct futex *futex, int from, int to)
{
	for (int offset = from; offset < to; offset += 4) {
		if (futex_word(futex, offset) != 0)
			return false;
	}
	return true;
}

static bool has_waiters(const struct futex *futex, int offset)
{
	uint32_t waiters = futex_word(futex, offset);

	return waiters > 0 && waiters < FUTEX_USERS_MAX;
}

/* 'private' is what stands there where processes do not share it. */
static bool has_sharing(const struct futex *futex, int offset, uint32_t private, uint32_t shared)
{
	return futex_word(futex, offset) == (futex->is_private ? private : shared);
}

static bool is_musl_mutex(const struct futex *futex)
{
	uint32_t type = futex_word(futex, -4);

	return futex->awaited == (MUSL_WAITED | MUSL_BUSY) && !(type & MUSL_TYPES) &&
	       has_sharing(futex, -4, 0, MUSL_SHARED) && has_waiters(futex, 4) &&
	       is_zero(futex, 8, 36) && futex_set_unowned(futex, "mutex (of musl, notes no owner)");
}

static bool is_musl_rwlock(const struct futex *futex)
{
	uint32_t count = futex->awaited & ~MUSL_WAITED;

	if (!(futex->awaited & MUSL_WAITED) || !has_waiters(futex, 4) ||
	    !has_sharing(futex, 8, 0, MUSL_SHARED) || !is_zero(futex, 12, 56))
		return false;
	if (count == MUSL_WRITER)
		return futex_set_unowned(futex,
					 "rwlock held by a writer (of musl, notes no owner)");
	return count > 0 && count < FUTEX_USERS_MAX && futex_set_readers(futex, count);
}

static bool is_musl_sem(const struct futex *futex)
{
	return (futex->awaited == MUSL_SEM_OLD || futex->awaited == MUSL_WAITED) &&
	       has_waiters(futex, 4) && has_sharing(futex, 8, MUSL_SHARED, 0) &&
	       is_zero(futex, 12, 32) && futex_set_unowned(futex, "semaphore (by its layout)");
}

static bool is_musl_file(const struct futex *futex)
{
	int32_t tid;

	if (!futex->is_private || (futex->awaited & MUSL_WAITED) ||
	    !(futex->awaited & MUSL_FILE_WAITED))
		return false;
	tid = futex_own_thread(futex, futex->awaited & ~MUSL_FILE_WAITED);
	if (!tid || tid == futex->asleep->task.tid)
		return false;
	return futex_set_owner(futex, tid, "stdio lock", STUCK_HOW_MUTEX_WORD);
}

/* previous, next, state, the word, whom to tell: nobody, as long as it waits */
static bool is_musl_condition(const struct futex *futex)
{
	uint64_t sp = futex->asleep->task.sp;

	return futex->is_private && futex->awaited == MUSL_CONDITION && sp &&
	       futex->address >= sp && futex->address - sp < STACK_WITHIN &&
	       futex->address % 8 == 4 && futex_word(futex, -4) == 0 && is_zero(futex, 4, 12) &&
	       futex_set_unowned(futex, "condition variable (by its layout)");
}

bool futex_is_musl(const struct futex *futex)
{
	return futex_word(futex, 0) == futex->awaited &&
	       (is_musl_mutex(futex) || is_musl_rwlock(futex) || is_musl_sem(futex) ||
		is_musl_file(futex) || is_musl_condition(futex));
}
