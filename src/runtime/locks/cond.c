/*
 * cond.c - pthread_cond_*: a wait lets the mutex go and ends with it taken again.
 *
 * How long the waiter then queued for the mutex is not told: that happens within the C library.
 * A thread that is cancelled in its wait unwinds through us, with the mutex taken; the end of
 * its wait is told then (-fexceptions makes pthread_cleanup_push() part of the unwinding).
 */
#include "runtime/locks/locks_int.h"

struct wait {
	uint64_t cond;
	uint64_t mutex;
};

static void tell_cancelled(void *context)
{
	const struct wait *wait = context;

	holdup_lock_cond_end(wait->cond, wait->mutex, process_pid(), ECANCELED);
}

static int wait_really(pthread_cond_t *cond, pthread_mutex_t *mutex,
		       const struct patience *patience)
{
	switch (patience->kind) {
	case UNTIL:
		return real()->cond_timedwait(cond, mutex, patience->until);
	case UNTIL_CLOCK:
		return real()->cond_clockwait(cond, mutex, patience->clock, patience->until);
	default:
		return real()->cond_wait(cond, mutex);
	}
}

static int wait_and_tell(pthread_cond_t *cond, pthread_mutex_t *mutex,
			 const struct patience *patience, uint64_t site)
{
	struct wait wait = { (uint64_t)(uintptr_t)cond, (uint64_t)(uintptr_t)mutex };
	int rc;

	holdup_lock_cond_begin(wait.cond, wait.mutex, site, process_pid());
	pthread_cleanup_push(tell_cancelled, &wait);
	rc = wait_really(cond, mutex, patience);
	pthread_cleanup_pop(0);
	holdup_lock_cond_end(wait.cond, wait.mutex, process_pid(), rc);
	return rc;
}

int cond_wait_at(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct patience *patience,
		 uint64_t site)
{
	if (!locks_on())
		return wait_really(cond, mutex, patience);
	return wait_and_tell(cond, mutex, patience, site);
}

int cond_signal_at(pthread_cond_t *cond, uint64_t site)
{
	if (locks_on())
		holdup_lock_signal((uint64_t)(uintptr_t)cond, site, process_pid());
	return real()->cond_signal(cond);
}

int cond_broadcast_at(pthread_cond_t *cond, uint64_t site)
{
	if (locks_on())
		holdup_lock_broadcast((uint64_t)(uintptr_t)cond, site, process_pid());
	return real()->cond_broadcast(cond);
}

LOCKS_API int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	return cond_wait_at(cond, mutex, &WAIT_FOREVER, CALL_SITE);
}

LOCKS_API int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				     const struct timespec *until)
{
	const struct patience patience = { .kind = UNTIL, .until = until };

	return cond_wait_at(cond, mutex, &patience, CALL_SITE);
}

LOCKS_API int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				     const struct timespec *until)
{
	const struct patience patience = { UNTIL_CLOCK, clock, until };

	return cond_wait_at(cond, mutex, &patience, CALL_SITE);
}

LOCKS_API int pthread_cond_signal(pthread_cond_t *cond)
{
	return cond_signal_at(cond, CALL_SITE);
}

LOCKS_API int pthread_cond_broadcast(pthread_cond_t *cond)
{
	return cond_broadcast_at(cond, CALL_SITE);
}
