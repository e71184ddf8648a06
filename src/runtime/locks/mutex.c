/*
 * mutex.c - pthread_mutex_*.
 *
 * First a try: when it succeeds, nobody was in the way. Where it fails otherwise than because
 * the mutex is taken, the real function says what that means. A robust mutex is not tried:
 * glibc's try leaves one that is beyond repair locked for ever, with no owner. A release is told
 * before it happens, an acquisition after it: so two holders of a mutex never overlap in the trace.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/locks/libc.h"
#include "runtime/locks/locks_int.h"

/* Just taken by us: for the first time, or once more? */
static bool is_first(const pthread_mutex_t *mutex)
{
	return libc_is_plain(mutex) || !libc_is_recursive(mutex) || libc_depth(mutex) == 1;
}

/* Will an unlock of ours let it go? */
static bool will_release(const pthread_mutex_t *mutex)
{
	if (libc_is_plain(mutex))
		return true;
	if (!libc_is_incomplete(mutex)) {
		int tid = holdup_tid_ ? holdup_tid_ : (int)syscall(SYS_gettid);

		if (libc_owner(mutex) != (uint32_t)tid)
			return false;
	}
	return !libc_is_recursive(mutex) || libc_depth(mutex) <= 1;
}

static int lock_really(pthread_mutex_t *mutex, const struct patience *patience)
{
	switch (patience->kind) {
	case UNTIL:
		return real()->mutex_timedlock(mutex, patience->until);
	case UNTIL_CLOCK:
		return real()->mutex_clocklock(mutex, patience->clock, patience->until);
	default:
		return real()->mutex_lock(mutex);
	}
}

static int wait_and_tell(pthread_mutex_t *mutex, const struct patience *patience, uint64_t site)
{
	uint64_t lock = (uint64_t)(uintptr_t)mutex;
	int rc;

	holdup_lock_wait_begin(lock, site, process_pid(), KIND_MUTEX, libc_owner(mutex));
	rc = lock_really(mutex, patience);
	holdup_lock_wait_end(lock, process_pid(), KIND_MUTEX, rc);
	return rc;
}

/* Is somebody alive in it? It may have changed by the time that is used. */
static bool is_robust_taken(const pthread_mutex_t *mutex)
{
	uint32_t word = libc_word(mutex);

	return (word & FUTEX_TID_MASK) && !(word & FUTEX_OWNER_DIED) &&
	       (word & FUTEX_TID_MASK) != (uint32_t)holdup_tid_;
}

static int lock_robust(pthread_mutex_t *mutex, const struct patience *patience, uint64_t site)
{
	int rc;

	if (is_robust_taken(mutex))
		return wait_and_tell(mutex, patience, site);
	rc = lock_really(mutex, patience);
	if (is_taken(rc) && is_first(mutex))
		holdup_lock_acquired((uint64_t)(uintptr_t)mutex, site, process_pid(), KIND_MUTEX);
	return rc;
}

static int lock_and_tell(pthread_mutex_t *mutex, const struct patience *patience, uint64_t site)
{
	int rc;

	if (UNLIKELY(libc_is_robust(mutex)))
		return lock_robust(mutex, patience, site);
	rc = real()->mutex_trylock(mutex);
	if (UNLIKELY(rc == EBUSY))
		return wait_and_tell(mutex, patience, site);
	if (UNLIKELY(!is_taken(rc)))
		return lock_really(mutex, patience);
	if (is_first(mutex))
		holdup_lock_acquired((uint64_t)(uintptr_t)mutex, site, process_pid(), KIND_MUTEX);
	return rc;
}

int mutex_lock_at(pthread_mutex_t *mutex, const struct patience *patience, uint64_t site)
{
	if (!locks_on() || is_refused(patience))
		return lock_really(mutex, patience);
	return lock_and_tell(mutex, patience, site);
}

int mutex_trylock_at(pthread_mutex_t *mutex, uint64_t site)
{
	int rc = real()->mutex_trylock(mutex);

	if (locks_on() && is_taken(rc) && is_first(mutex))
		holdup_lock_acquired((uint64_t)(uintptr_t)mutex, site, process_pid(), KIND_MUTEX);
	return rc;
}

int mutex_unlock(pthread_mutex_t *mutex)
{
	if (locks_on() && will_release(mutex))
		holdup_lock_released((uint64_t)(uintptr_t)mutex, process_pid(), KIND_MUTEX);
	return real()->mutex_unlock(mutex);
}

int mutex_destroy(pthread_mutex_t *mutex)
{
	int rc = real()->mutex_destroy(mutex);

	if (locks_on() && rc == 0)
		holdup_lock_destroyed((uint64_t)(uintptr_t)mutex, process_pid());
	return rc;
}

LOCKS_API int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return mutex_lock_at(mutex, &WAIT_FOREVER, CALL_SITE);
}

LOCKS_API int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	return mutex_lock_at(mutex, &(struct patience){ .kind = UNTIL, .until = until }, CALL_SITE);
}

LOCKS_API int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				      const struct timespec *until)
{
	const struct patience patience = { UNTIL_CLOCK, clock, until };

	return mutex_lock_at(mutex, &patience, CALL_SITE);
}

LOCKS_API int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return mutex_trylock_at(mutex, CALL_SITE);
}

LOCKS_API int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return mutex_unlock(mutex);
}

LOCKS_API int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	return mutex_destroy(mutex);
}
