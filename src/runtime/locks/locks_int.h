/*
 * locks_int.h - what the files of libholdup-locks share.
 *
 *	real.c	   the functions that ours stand before
 *	process.c  who we are, what is loaded where: told once to each trace
 *	mutex.c, rwlock.c, cond.c, other.c	ours
 *	c11.c	   those of <threads.h>, which are the same things
 *
 * The library is preloaded into programs that know nothing of it. So each of its functions
 * returns what the real one would have returned, leaves errno alone, allocates nothing, takes no
 * lock, and may be called before main(), in a signal handler and in a child of fork(). Without a
 * trace to write, each is one test and a jump to the real one.
 */
#ifndef RUNTIME_LOCKS_LOCKS_INT_H
#define RUNTIME_LOCKS_LOCKS_INT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "runtime/locks/events.h"

#define LOCKS_API   __attribute__((visibility("default")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Where the function that this stands in was called from. */
#define CALL_SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* The C library's own functions, in the order of names in real.c. */
struct real {
	int (*mutex_lock)(pthread_mutex_t *);
	int (*mutex_trylock)(pthread_mutex_t *);
	int (*mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
	int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*mutex_unlock)(pthread_mutex_t *);
	int (*mutex_destroy)(pthread_mutex_t *);
	int (*rdlock)(pthread_rwlock_t *);
	int (*tryrdlock)(pthread_rwlock_t *);
	int (*timedrdlock)(pthread_rwlock_t *, const struct timespec *);
	int (*clockrdlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*wrlock)(pthread_rwlock_t *);
	int (*trywrlock)(pthread_rwlock_t *);
	int (*timedwrlock)(pthread_rwlock_t *, const struct timespec *);
	int (*clockwrlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*rwlock_unlock)(pthread_rwlock_t *);
	int (*rwlock_destroy)(pthread_rwlock_t *);
	int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			      const struct timespec *);
	int (*cond_signal)(pthread_cond_t *);
	int (*cond_broadcast)(pthread_cond_t *);
	int (*spin_lock)(pthread_spinlock_t *);
	int (*spin_trylock)(pthread_spinlock_t *);
	int (*spin_unlock)(pthread_spinlock_t *);
	int (*barrier_wait)(pthread_barrier_t *);
};

extern struct real real_;

/* Find them all; any number of times, from any thread. Leaves errno alone. */
void real_find(void);

/* They may be needed before our constructor has run. */
static inline const struct real *real(void)
{
	if (UNLIKELY(!__atomic_load_n(&real_.mutex_lock, __ATOMIC_ACQUIRE)))
		real_find();
	return &real_;
}

/* Is anything of ours to be logged? One bit of the process's mask. */
static inline bool locks_on(void)
{
	return holdup_is_on(lock, begin);
}

/* Written by one thread at a time; the kernel empties it in a child of fork(). */
struct process {
	uint64_t session; /* atomic; the trace that knows us; 0 = none yet */
	uint32_t pid;	  /* atomic */
	uint32_t told;	  /* atomic; modules that this trace knows */
};

extern struct process *process;

/* Tell the present trace who we are. */
void process_tell(void);

/* Our process number, for an event. */
static inline uint32_t process_pid(void)
{
	if (UNLIKELY(__atomic_load_n(&process->session, __ATOMIC_ACQUIRE) !=
		     __atomic_load_n(&holdup_state_.control.session, __ATOMIC_RELAXED)))
		process_tell();
	return __atomic_load_n(&process->pid, __ATOMIC_RELAXED);
}

/* How to wait for a lock. */
struct patience {
	enum {
		FOREVER,
		UNTIL,
		UNTIL_CLOCK
	} kind;
	clockid_t clock; /* of UNTIL_CLOCK */
	const struct timespec *until;
};

#define WAIT_FOREVER ((struct patience){ .kind = FOREVER })

/* Would the real function refuse this before it looks at the lock? */
static inline bool is_refused(const struct patience *patience)
{
	return patience->kind == UNTIL_CLOCK && patience->clock != CLOCK_REALTIME &&
	       patience->clock != CLOCK_MONOTONIC;
}

/*
 * What ours do, for all names that they go by: 'site' is where the program called. Without a
 * trace they are the real ones.
 */
int mutex_lock_at(pthread_mutex_t *mutex, const struct patience *patience, uint64_t site);
int mutex_trylock_at(pthread_mutex_t *mutex, uint64_t site);
int mutex_unlock(pthread_mutex_t *mutex);
int mutex_destroy(pthread_mutex_t *mutex);
int cond_wait_at(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct patience *patience,
		 uint64_t site);
int cond_signal_at(pthread_cond_t *cond, uint64_t site);
int cond_broadcast_at(pthread_cond_t *cond, uint64_t site);

/* Has the caller got it, whatever state it is in? */
static inline bool is_taken(int rc)
{
	return rc == 0 || rc == EOWNERDEAD;
}

#endif
