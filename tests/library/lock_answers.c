/*
 * lock_answers.c - what the calls that libholdup-locks stands before return, in every case.
 *
 * Prints a line for each call: its name, what it returned, errno after it. What is printed must
 * be the same with the library, without it, and with a trace that is written (locks.py).
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define MARK 4242 /* errno before each call: it must stay */

#define SAY(call)                                           \
	do {                                                \
		int rc_;                                    \
		errno = MARK;                               \
		rc_ = call;                                 \
		printf("%-60s %d %d\n", #call, rc_, errno); \
	} while (0)

static pthread_mutex_t m;
static pthread_rwlock_t rw;
static pthread_cond_t cond;
static pthread_spinlock_t spin;
static struct timespec past, soon, wrong = { 0, 2000000000 };

static void times(clockid_t clock)
{
	clock_gettime(clock, &soon);
	past = soon;
	past.tv_sec -= 1;
	soon.tv_nsec += 3000000;
	if (soon.tv_nsec > 999999999) {
		soon.tv_nsec -= 1000000000;
		soon.tv_sec++;
	}
}

static void in_thread(void *(*body)(void *), void *context)
{
	pthread_t thread;

	pthread_create(&thread, NULL, body, context);
	pthread_join(thread, NULL);
}

/* Each way to ask for the mutex, as its state is. */
static void ask_mutex(bool may_hang)
{
	SAY(pthread_mutex_trylock(&m) ?: pthread_mutex_unlock(&m));
	times(CLOCK_REALTIME);
	SAY(pthread_mutex_timedlock(&m, &soon) ?: pthread_mutex_unlock(&m));
	SAY(pthread_mutex_timedlock(&m, &past) ?: pthread_mutex_unlock(&m));
	SAY(pthread_mutex_timedlock(&m, &wrong) ?: pthread_mutex_unlock(&m));
	times(CLOCK_MONOTONIC);
	SAY(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &soon) ?: pthread_mutex_unlock(&m));
	SAY(pthread_mutex_clocklock(&m, CLOCK_THREAD_CPUTIME_ID, &soon));
	SAY(pthread_mutex_clocklock(&m, 12345, &wrong));
	if (!may_hang)
		SAY(pthread_mutex_lock(&m) ?: pthread_mutex_unlock(&m));
}

static void *ask_as_other(void *context)
{
	ask_mutex(true);
	return context;
}

static void *unlock_as_other(void *context)
{
	SAY(pthread_mutex_unlock(&m));
	return context;
}

static void *die_with(void *context)
{
	SAY(pthread_mutex_lock(&m));
	return context;
}

static void mutexes(int type, int protocol, int robust, int ceiling)
{
	pthread_mutexattr_t attr;

	printf("-- mutex type %d protocol %d robust %d\n", type, protocol, robust);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setrobust(&attr, robust);
	if (protocol == PTHREAD_PRIO_PROTECT)
		pthread_mutexattr_setprioceiling(&attr, ceiling);
	if (pthread_mutex_init(&m, &attr) != 0) {
		printf("no such mutex\n");
		return;
	}
	ask_mutex(false);
	in_thread(ask_as_other, NULL);
	SAY(pthread_mutex_lock(&m));
	if (!robust)
		SAY(pthread_mutex_destroy(&m));
	in_thread(ask_as_other, NULL);
	if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK || robust) {
		if (type != PTHREAD_MUTEX_NORMAL && type != PTHREAD_MUTEX_ADAPTIVE_NP)
			ask_mutex(false);
		in_thread(unlock_as_other, NULL);
	}
	SAY(pthread_mutex_unlock(&m));
	if (type != PTHREAD_MUTEX_NORMAL && type != PTHREAD_MUTEX_ADAPTIVE_NP)
		SAY(pthread_mutex_unlock(&m));
	if (robust) {
		in_thread(die_with, NULL);
		SAY(pthread_mutex_lock(&m));
		SAY(pthread_mutex_consistent(&m));
		SAY(pthread_mutex_unlock(&m));
		in_thread(die_with, NULL);
		SAY(pthread_mutex_trylock(&m));
		SAY(pthread_mutex_unlock(&m)); /* beyond repair from here on */
		SAY(pthread_mutex_lock(&m));
		SAY(pthread_mutex_lock(&m));
		in_thread(die_with, NULL);
	}
	SAY(pthread_mutex_destroy(&m));
}

static void ask_rwlock(bool may_hang)
{
	SAY(pthread_rwlock_tryrdlock(&rw) ?: pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_trywrlock(&rw) ?: pthread_rwlock_unlock(&rw));
	times(CLOCK_REALTIME);
	SAY(pthread_rwlock_timedrdlock(&rw, &soon) ?: pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_timedwrlock(&rw, &soon) ?: pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_timedrdlock(&rw, &past) ?: pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_timedwrlock(&rw, &past) ?: pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_timedrdlock(&rw, &wrong));
	SAY(pthread_rwlock_timedwrlock(&rw, &wrong));
	times(CLOCK_MONOTONIC);
	SAY(pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &soon) ?: pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &soon) ?: pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_clockrdlock(&rw, 12345, &soon));
	SAY(pthread_rwlock_clockwrlock(&rw, 12345, &soon));
	if (!may_hang) {
		SAY(pthread_rwlock_rdlock(&rw) ?: pthread_rwlock_unlock(&rw));
		SAY(pthread_rwlock_wrlock(&rw) ?: pthread_rwlock_unlock(&rw));
	}
}

static void *ask_rwlock_as_other(void *context)
{
	ask_rwlock(true);
	return context;
}

static void rwlocks(int kind)
{
	pthread_rwlockattr_t attr;

	printf("-- rwlock kind %d\n", kind);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, kind);
	pthread_rwlock_init(&rw, &attr);
	ask_rwlock(false);
	SAY(pthread_rwlock_wrlock(&rw));
	SAY(pthread_rwlock_rdlock(&rw)); /* EDEADLK */
	SAY(pthread_rwlock_wrlock(&rw));
	in_thread(ask_rwlock_as_other, NULL);
	SAY(pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_rdlock(&rw));
	SAY(pthread_rwlock_rdlock(&rw));
	in_thread(ask_rwlock_as_other, NULL);
	SAY(pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_unlock(&rw));
	SAY(pthread_rwlock_destroy(&rw));
}

/* ------------------------------------------------------------------ conditions */

static bool is_ready;

static void *make_ready(void *context)
{
	pthread_mutex_lock(&m);
	is_ready = true;
	SAY(pthread_cond_signal(&cond));
	SAY(pthread_cond_broadcast(&cond));
	pthread_mutex_unlock(&m);
	return context;
}

static int unlocked = -1;

static void cleanup(void *context)
{
	(void)context;
	/* The mutex is taken again before handlers run: only then this is 0. */
	unlocked = pthread_mutex_unlock(&m);
}

static void *wait_for_ever(void *context)
{
	pthread_mutex_lock(&m);
	pthread_cleanup_push(cleanup, NULL);
	*(bool *)context = true;
	for (;;)
		pthread_cond_wait(&cond, &m);
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancel_one(void)
{
	bool waits = false, seen = false;
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, wait_for_ever, &waits);
	while (!seen) {
		pthread_mutex_lock(&m);
		seen = waits; /* and it has let the mutex go */
		pthread_mutex_unlock(&m);
	}
	SAY(pthread_cancel(thread));
	SAY(pthread_join(thread, &result));
	printf("cancelled: %d, unlock in the handler: %d\n", result == PTHREAD_CANCELED, unlocked);
	SAY(pthread_mutex_trylock(&m));
	SAY(pthread_mutex_unlock(&m));
}

static void conditions(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread;

	printf("-- conditions\n");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &attr);
	pthread_cond_init(&cond, NULL);
	SAY(pthread_cond_wait(&cond, &m)); /* not taken: EPERM */
	SAY(pthread_mutex_lock(&m));
	times(CLOCK_REALTIME);
	SAY(pthread_cond_timedwait(&cond, &m, &soon));
	SAY(pthread_cond_timedwait(&cond, &m, &past));
	SAY(pthread_cond_timedwait(&cond, &m, &wrong));
	times(CLOCK_MONOTONIC);
	SAY(pthread_cond_clockwait(&cond, &m, CLOCK_MONOTONIC, &soon));
	SAY(pthread_cond_clockwait(&cond, &m, 12345, &soon));
	pthread_create(&thread, NULL, make_ready, NULL);
	while (!is_ready)
		pthread_cond_wait(&cond, &m);
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_unlock(&m));
	pthread_join(thread, NULL);
	cancel_one();
	SAY(pthread_mutex_destroy(&m));
	SAY(pthread_cond_destroy(&cond));
}

/* ------------------------------------------------------------- spins, barriers */

static void *pass(void *context)
{
	int rc = pthread_barrier_wait(context);

	return (void *)(intptr_t)(rc == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void spins_and_barriers(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	void *one;
	int serial;

	printf("-- spin locks, barriers\n");
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	SAY(pthread_spin_lock(&spin));
	SAY(pthread_spin_trylock(&spin));
	SAY(pthread_spin_unlock(&spin));
	SAY(pthread_spin_trylock(&spin));
	SAY(pthread_spin_unlock(&spin));
	SAY(pthread_barrier_init(&barrier, NULL, 2));
	pthread_create(&thread, NULL, pass, &barrier);
	serial = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
	pthread_join(thread, &one);
	printf("one of two: %d\n", serial + (int)(intptr_t)one);
	SAY(pthread_barrier_destroy(&barrier));
}

/* ------------------------------------------------------------------------ fork */

static void *take_shared(void *context)
{
	SAY(pthread_mutex_lock(context));
	SAY(pthread_mutex_unlock(context));
	return NULL;
}

/* A mutex taken across fork() is the child's as well; one shared between processes works. */
static void forks(void)
{
	pthread_mutex_t *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;
	int status;

	printf("-- fork\n");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(shared, &attr);
	pthread_mutex_init(&m, NULL);
	SAY(pthread_mutex_lock(&m));
	fflush(stdout);
	if (fork() == 0) {
		SAY(pthread_mutex_trylock(&m));
		SAY(pthread_mutex_unlock(&m));
		in_thread(take_shared, shared);
		SAY(pthread_mutex_lock(shared));
		fflush(stdout);
		_exit(0); /* its owner dies with it */
	}
	wait(&status);
	printf("child %d\n", status);
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_lock(shared));
	SAY(pthread_mutex_consistent(shared));
	SAY(pthread_mutex_unlock(shared));
}

/* ------------------------------------------------------------------- <threads.h> */

static mtx_t mtx;
static cnd_t cnd;
static bool is_done;

static int ask_mtx(void *unused)
{
	SAY(mtx_trylock(&mtx) ?: mtx_unlock(&mtx));
	timespec_get(&soon, TIME_UTC);
	SAY(mtx_timedlock(&mtx, &soon) ?: mtx_unlock(&mtx));
	SAY(mtx_timedlock(&mtx, &wrong) ?: mtx_unlock(&mtx));
	return unused != NULL;
}

static int finish(void *unused)
{
	(void)mtx_lock(&mtx);
	is_done = true;
	SAY(cnd_signal(&cnd));
	SAY(cnd_broadcast(&cnd));
	(void)mtx_unlock(&mtx);
	return unused != NULL;
}

static void in_thrd(int (*body)(void *))
{
	thrd_t thread;
	int rc;

	thrd_create(&thread, body, NULL);
	thrd_join(thread, &rc);
}

static void c11(void)
{
	static const int types[] = { mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
				     mtx_timed | mtx_recursive };
	thrd_t thread;

	for (size_t i = 0; i < 4; i++) {
		printf("-- mtx %d\n", types[i]);
		SAY(mtx_init(&mtx, types[i]));
		SAY(mtx_lock(&mtx));
		in_thrd(ask_mtx);
		if (types[i] & mtx_recursive) {
			SAY(mtx_lock(&mtx));
			SAY(mtx_unlock(&mtx));
			in_thrd(ask_mtx);
		}
		SAY(mtx_unlock(&mtx));
		in_thrd(ask_mtx);
		mtx_destroy(&mtx);
	}
	mtx_init(&mtx, mtx_plain);
	cnd_init(&cnd);
	SAY(mtx_lock(&mtx));
	timespec_get(&soon, TIME_UTC);
	SAY(cnd_timedwait(&cnd, &mtx, &soon));
	SAY(cnd_timedwait(&cnd, &mtx, &wrong));
	thrd_create(&thread, finish, NULL);
	while (!is_done)
		(void)cnd_wait(&cnd, &mtx);
	SAY(mtx_unlock(&mtx));
	thrd_join(thread, NULL);
	cnd_destroy(&cnd);
	mtx_destroy(&mtx);
}

static pthread_mutex_t early = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static __attribute__((constructor(200))) void before_main(void)
{
	SAY(pthread_mutex_lock(&early));
	SAY(pthread_mutex_lock(&early));
}

static __attribute__((destructor)) void after_main(void)
{
	SAY(pthread_mutex_unlock(&early));
	SAY(pthread_mutex_unlock(&early));
	SAY(pthread_mutex_unlock(&early));
}

int main(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(20); /* a call that hangs is an answer as well */
	for (size_t i = 0; i < 4; i++) {
		for (int robust = 0; robust < 2; robust++) {
			mutexes(types[i], PTHREAD_PRIO_NONE, robust, 0);
			mutexes(types[i], PTHREAD_PRIO_INHERIT, robust, 0);
		}
		mutexes(types[i], PTHREAD_PRIO_PROTECT, 0, 1);
	}
	rwlocks(PTHREAD_RWLOCK_PREFER_READER_NP);
	rwlocks(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	conditions();
	spins_and_barriers();
	c11();
	forks();
	return 0;
}
