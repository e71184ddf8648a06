/*
 * real.c - find the functions of the C library that ours stand before.
 *
 * Conditions changed their layout long ago on x86-64: without the version, the loader would give
 * the functions for the old one.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "runtime/locks/locks_int.h"

struct name {
	const char *name;
	size_t offset;
};

#define NAME(function, member)                                      \
	{                                                           \
		"pthread_" #function, offsetof(struct real, member) \
	}

static const struct name names[] = {
	NAME(mutex_trylock, mutex_trylock),
	NAME(mutex_timedlock, mutex_timedlock),
	NAME(mutex_clocklock, mutex_clocklock),
	NAME(mutex_unlock, mutex_unlock),
	NAME(mutex_destroy, mutex_destroy),
	NAME(rwlock_rdlock, rdlock),
	NAME(rwlock_tryrdlock, tryrdlock),
	NAME(rwlock_timedrdlock, timedrdlock),
	NAME(rwlock_clockrdlock, clockrdlock),
	NAME(rwlock_wrlock, wrlock),
	NAME(rwlock_trywrlock, trywrlock),
	NAME(rwlock_timedwrlock, timedwrlock),
	NAME(rwlock_clockwrlock, clockwrlock),
	NAME(rwlock_unlock, rwlock_unlock),
	NAME(rwlock_destroy, rwlock_destroy),
	NAME(cond_wait, cond_wait),
	NAME(cond_timedwait, cond_timedwait),
	NAME(cond_clockwait, cond_clockwait),
	NAME(cond_signal, cond_signal),
	NAME(cond_broadcast, cond_broadcast),
	NAME(spin_lock, spin_lock),
	NAME(spin_trylock, spin_trylock),
	NAME(spin_unlock, spin_unlock),
	NAME(barrier_wait, barrier_wait),
	NAME(mutex_lock, mutex_lock), /* last: it tells that all are there */
};

struct real real_;

static void *real_symbol(const char *name)
{
	void *function = NULL;

#if defined(__x86_64__) && defined(__GLIBC__)
	if (__builtin_strncmp(name, "pthread_cond_", 13) == 0 &&
	    __builtin_strcmp(name, "pthread_cond_clockwait") != 0)
		function = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
#endif
	return function ? function : dlsym(RTLD_NEXT, name);
}

void real_find(void)
{
	int error = errno;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void **place = (void **)(void *)((char *)&real_ + names[i].offset);

		/* pairs with the acquire in real() */
		__atomic_store_n(place, real_symbol(names[i].name), __ATOMIC_RELEASE);
	}
	errno = error;
}
