/*
 * libc.h - what the C library keeps in a mutex and in a read-write lock: glibc, musl.
 *
 * Neither says so in a header that is meant for others, but both keep it as it is for the sake of
 * programs that are linked with them statically or share locks with other processes.
 */
#ifndef RUNTIME_LOCKS_LIBC_H
#define RUNTIME_LOCKS_LIBC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __GLIBC__

/* The type is in two bits of __kind; robust, PI, PP above them. */
#define GLIBC_ROBUST	 16
#define GLIBC_TYPE_BITS	 3
#define GLIBC_INCOMPLETE 0x7ffffffe /* owners from here on: the last one died with it */

/* Of a type that keeps no owner: whoever unlocks it lets it go. */
static inline bool libc_is_plain(const pthread_mutex_t *mutex)
{
	int kind = mutex->__data.__kind & 0x7f;

	return kind == PTHREAD_MUTEX_TIMED_NP || kind == PTHREAD_MUTEX_ADAPTIVE_NP;
}

static inline bool libc_is_recursive(const pthread_mutex_t *mutex)
{
	return (mutex->__data.__kind & GLIBC_TYPE_BITS) == PTHREAD_MUTEX_RECURSIVE_NP;
}

static inline bool libc_is_robust(const pthread_mutex_t *mutex)
{
	return mutex->__data.__kind & GLIBC_ROBUST;
}

/* How often its owner has taken a recursive one. */
static inline unsigned libc_depth(const pthread_mutex_t *mutex)
{
	return mutex->__data.__count;
}

/* 0 = none, or none that is known. Read without a lock: it may be old by a moment. */
static inline uint32_t libc_owner(const pthread_mutex_t *mutex)
{
	int owner = __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);

	return owner > 0 && owner < GLIBC_INCOMPLETE ? (uint32_t)owner : 0;
}

/* Was its last owner's death told to us, and not mended yet? We have it, under no number. */
static inline bool libc_is_incomplete(const pthread_mutex_t *mutex)
{
	return mutex->__data.__owner >= GLIBC_INCOMPLETE;
}

/* The word that the kernel knows a robust one by. */
static inline uint32_t libc_word(const pthread_mutex_t *mutex)
{
	return (uint32_t)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED);
}

/* Who writes under it; 0 = nobody. */
static inline int libc_writer(const pthread_rwlock_t *rwlock)
{
	return __atomic_load_n(&rwlock->__data.__cur_writer, __ATOMIC_RELAXED);
}

static inline bool libc_is_written_by(const pthread_rwlock_t *rwlock, int tid)
{
	return libc_writer(rwlock) == tid;
}

#else /* musl: __i[0] type, __i[1] word, __i[5] count of times more; a read-write lock's word is __i[0] */

#define MUSL_TYPE_BITS	   15 /* with robust and PI, without shared */
#define MUSL_RECURSIVE	   1
#define MUSL_ROBUST	   4
#define MUSL_OWNER	   0x3fffffffu
#define MUSL_UNRECOVERABLE 0x3fffffffu
#define MUSL_WRITTEN	   0x7fffffffu

static inline bool libc_is_plain(const pthread_mutex_t *mutex)
{
	return (mutex->__u.__i[0] & MUSL_TYPE_BITS) == 0;
}

static inline bool libc_is_recursive(const pthread_mutex_t *mutex)
{
	return (mutex->__u.__i[0] & 3) == MUSL_RECURSIVE;
}

static inline bool libc_is_robust(const pthread_mutex_t *mutex)
{
	return mutex->__u.__i[0] & MUSL_ROBUST;
}

static inline unsigned libc_depth(const pthread_mutex_t *mutex)
{
	return (unsigned)mutex->__u.__i[5] + 1;
}

static inline uint32_t libc_word(const pthread_mutex_t *mutex)
{
	return (uint32_t)__atomic_load_n(&mutex->__u.__vi[1], __ATOMIC_RELAXED);
}

/* A plain one has no owner: its word is EBUSY. */
static inline uint32_t libc_owner(const pthread_mutex_t *mutex)
{
	uint32_t owner = libc_word(mutex) & MUSL_OWNER;

	return libc_is_plain(mutex) || owner == MUSL_UNRECOVERABLE ? 0 : owner;
}

static inline bool libc_is_incomplete(const pthread_mutex_t *mutex)
{
	(void)mutex;
	return false; /* who takes it over is its owner at once */
}

static inline int libc_writer(const pthread_rwlock_t *rwlock)
{
	(void)rwlock;
	return 0; /* it keeps none */
}

/* Nobody else could unlock it. */
static inline bool libc_is_written_by(const pthread_rwlock_t *rwlock, int tid)
{
	uint32_t word = (uint32_t)__atomic_load_n(&rwlock->__u.__vi[0], __ATOMIC_RELAXED);

	(void)tid;
	return (word & MUSL_WRITTEN) == MUSL_WRITTEN;
}

#endif
#endif
