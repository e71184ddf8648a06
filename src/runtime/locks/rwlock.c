/* rwlock.c - pthread_rwlock_*: as mutexes; a waiting thread knows the writer, not the readers. */
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/locks/libc.h"
#include "runtime/locks/locks_int.h"

static bool is_refused_at_once(const struct patience *patience)
{
	return is_refused(patience) || (patience->until && (patience->until->tv_nsec < 0 ||
							    patience->until->tv_nsec > 999999999));
}

static int lock_really(pthread_rwlock_t *rwlock, int kind, const struct patience *patience)
{
	bool writes = kind == KIND_WRITE;

	switch (patience->kind) {
	case UNTIL:
		return (writes ? real()->timedwrlock : real()->timedrdlock)(rwlock,
									    patience->until);
	case UNTIL_CLOCK:
		return (writes ? real()->clockwrlock : real()->clockrdlock)(rwlock, patience->clock,
									    patience->until);
	default:
		return (writes ? real()->wrlock : real()->rdlock)(rwlock);
	}
}

static int wait_and_tell(pthread_rwlock_t *rwlock, int kind, const struct patience *patience,
			 uint64_t site)
{
	int writer = libc_writer(rwlock);
	uint64_t lock = (uint64_t)(uintptr_t)rwlock;
	int rc;

	holdup_lock_wait_begin(lock, site, process_pid(), kind, writer > 0 ? (uint32_t)writer : 0);
	rc = lock_really(rwlock, kind, patience);
	holdup_lock_wait_end(lock, process_pid(), kind, rc);
	return rc;
}

static int try_really(pthread_rwlock_t *rwlock, int kind)
{
	return (kind == KIND_WRITE ? real()->trywrlock : real()->tryrdlock)(rwlock);
}

static int lock_and_tell(pthread_rwlock_t *rwlock, int kind, const struct patience *patience,
			 uint64_t site)
{
	int rc;

	if (!locks_on() || is_refused_at_once(patience))
		return lock_really(rwlock, kind, patience);
	rc = try_really(rwlock, kind);
	if (UNLIKELY(rc == EBUSY))
		return wait_and_tell(rwlock, kind, patience, site);
	if (UNLIKELY(rc != 0))
		return lock_really(rwlock, kind, patience);
	holdup_lock_acquired((uint64_t)(uintptr_t)rwlock, site, process_pid(), kind);
	return rc;
}

static int try_and_tell(pthread_rwlock_t *rwlock, int kind, uint64_t site)
{
	int rc = try_really(rwlock, kind);

	if (locks_on() && rc == 0)
		holdup_lock_acquired((uint64_t)(uintptr_t)rwlock, site, process_pid(), kind);
	return rc;
}

LOCKS_API int pthread_rwlock_rdlock(pthread_rwlock_t *rwlock)
{
	return lock_and_tell(rwlock, KIND_READ, &WAIT_FOREVER, CALL_SITE);
}

LOCKS_API int pthread_rwlock_wrlock(pthread_rwlock_t *rwlock)
{
	return lock_and_tell(rwlock, KIND_WRITE, &WAIT_FOREVER, CALL_SITE);
}

LOCKS_API int pthread_rwlock_timedrdlock(pthread_rwlock_t *rwlock, const struct timespec *until)
{
	const struct patience patience = { .kind = UNTIL, .until = until };

	return lock_and_tell(rwlock, KIND_READ, &patience, CALL_SITE);
}

LOCKS_API int pthread_rwlock_timedwrlock(pthread_rwlock_t *rwlock, const struct timespec *until)
{
	const struct patience patience = { .kind = UNTIL, .until = until };

	return lock_and_tell(rwlock, KIND_WRITE, &patience, CALL_SITE);
}

LOCKS_API int pthread_rwlock_clockrdlock(pthread_rwlock_t *rwlock, clockid_t clock,
					 const struct timespec *until)
{
	const struct patience patience = { UNTIL_CLOCK, clock, until };

	return lock_and_tell(rwlock, KIND_READ, &patience, CALL_SITE);
}

LOCKS_API int pthread_rwlock_clockwrlock(pthread_rwlock_t *rwlock, clockid_t clock,
					 const struct timespec *until)
{
	const struct patience patience = { UNTIL_CLOCK, clock, until };

	return lock_and_tell(rwlock, KIND_WRITE, &patience, CALL_SITE);
}

LOCKS_API int pthread_rwlock_tryrdlock(pthread_rwlock_t *rwlock)
{
	return try_and_tell(rwlock, KIND_READ, CALL_SITE);
}

LOCKS_API int pthread_rwlock_trywrlock(pthread_rwlock_t *rwlock)
{
	return try_and_tell(rwlock, KIND_WRITE, CALL_SITE);
}

LOCKS_API int pthread_rwlock_unlock(pthread_rwlock_t *rwlock)
{
	if (locks_on()) {
		int tid = holdup_tid_ ? holdup_tid_ : (int)syscall(SYS_gettid);

		holdup_lock_released((uint64_t)(uintptr_t)rwlock, process_pid(),
				     libc_is_written_by(rwlock, tid) ? KIND_WRITE : KIND_READ);
	}
	return real()->rwlock_unlock(rwlock);
}

LOCKS_API int pthread_rwlock_destroy(pthread_rwlock_t *rwlock)
{
	int rc = real()->rwlock_destroy(rwlock);

	if (locks_on() && rc == 0)
		holdup_lock_destroyed((uint64_t)(uintptr_t)rwlock, process_pid());
	return rc;
}
