/*
 * c11.c - mtx_* and cnd_*, the locks of <threads.h>.
 *
 * glibc's are its mutexes and conditions under another name, but it calls itself within: ours
 * of pthreads never see that. They answer in a language of their own (thrd_*).
 */
#include <threads.h>

#include "runtime/locks/locks_int.h"

static int answer(int rc)
{
	switch (rc) {
	case 0:
		return thrd_success;
	case ENOMEM:
		return thrd_nomem;
	case ETIMEDOUT:
		return thrd_timedout;
	case EBUSY:
		return thrd_busy;
	default:
		return thrd_error;
	}
}

static pthread_mutex_t *mutex_of(mtx_t *mtx)
{
	return (pthread_mutex_t *)(void *)mtx;
}

static pthread_cond_t *cond_of(cnd_t *cnd)
{
	return (pthread_cond_t *)(void *)cnd;
}

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "a mtx_t is a mutex");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "a cnd_t is a condition");

LOCKS_API int mtx_lock(mtx_t *mtx)
{
	return answer(mutex_lock_at(mutex_of(mtx), &WAIT_FOREVER, CALL_SITE));
}

LOCKS_API int mtx_timedlock(mtx_t *restrict mtx, const struct timespec *restrict until)
{
	const struct patience patience = { .kind = UNTIL, .until = until };

	return answer(mutex_lock_at(mutex_of(mtx), &patience, CALL_SITE));
}

LOCKS_API int mtx_trylock(mtx_t *mtx)
{
	return answer(mutex_trylock_at(mutex_of(mtx), CALL_SITE));
}

LOCKS_API int mtx_unlock(mtx_t *mtx)
{
	return answer(mutex_unlock(mutex_of(mtx)));
}

LOCKS_API void mtx_destroy(mtx_t *mtx)
{
	(void)mutex_destroy(mutex_of(mtx)); /* there is nowhere to say that it is in use */
}

LOCKS_API int cnd_wait(cnd_t *cnd, mtx_t *mtx)
{
	return answer(cond_wait_at(cond_of(cnd), mutex_of(mtx), &WAIT_FOREVER, CALL_SITE));
}

LOCKS_API int cnd_timedwait(cnd_t *restrict cnd, mtx_t *restrict mtx,
			    const struct timespec *restrict until)
{
	const struct patience patience = { .kind = UNTIL, .until = until };

	return answer(cond_wait_at(cond_of(cnd), mutex_of(mtx), &patience, CALL_SITE));
}

LOCKS_API int cnd_signal(cnd_t *cnd)
{
	return answer(cond_signal_at(cond_of(cnd), CALL_SITE));
}

LOCKS_API int cnd_broadcast(cnd_t *cnd)
{
	return answer(cond_broadcast_at(cond_of(cnd), CALL_SITE));
}
