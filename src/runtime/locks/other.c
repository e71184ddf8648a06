/* other.c - spin locks and barriers. Who holds a spin lock is not written in it. */
#include "runtime/locks/locks_int.h"

LOCKS_API int pthread_spin_lock(pthread_spinlock_t *spin)
{
	uint64_t lock = (uint64_t)(uintptr_t)spin;
	int rc;

	if (!locks_on())
		return real()->spin_lock(spin);
	rc = real()->spin_trylock(spin);
	if (rc == 0) {
		holdup_lock_acquired(lock, CALL_SITE, process_pid(), KIND_SPIN);
		return rc;
	}
	holdup_lock_wait_begin(lock, CALL_SITE, process_pid(), KIND_SPIN, 0);
	rc = real()->spin_lock(spin);
	holdup_lock_wait_end(lock, process_pid(), KIND_SPIN, rc);
	return rc;
}

LOCKS_API int pthread_spin_trylock(pthread_spinlock_t *spin)
{
	int rc = real()->spin_trylock(spin);

	if (locks_on() && rc == 0)
		holdup_lock_acquired((uint64_t)(uintptr_t)spin, CALL_SITE, process_pid(),
				     KIND_SPIN);
	return rc;
}

LOCKS_API int pthread_spin_unlock(pthread_spinlock_t *spin)
{
	if (locks_on())
		holdup_lock_released((uint64_t)(uintptr_t)spin, process_pid(), KIND_SPIN);
	return real()->spin_unlock(spin);
}

/* Nobody holds a barrier: its waits have no acquisitions. */
LOCKS_API int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	uint64_t lock = (uint64_t)(uintptr_t)barrier;
	int rc;

	if (!locks_on())
		return real()->barrier_wait(barrier);
	holdup_lock_wait_begin(lock, CALL_SITE, process_pid(), KIND_BARRIER, 0);
	rc = real()->barrier_wait(barrier);
	holdup_lock_wait_end(lock, process_pid(), KIND_BARRIER, rc);
	return rc;
}
