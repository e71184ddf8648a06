/*
 * helper.c - a thread that prepares space for streams.
 *
 * A page of a file costs a microsecond or two when it is first written to, more than a hundred
 * events. The helper takes that over, on another CPU where there is one: it makes files ahead,
 * of large pages where it can (large.c). Elsewhere, as soon as there are some large files, it
 * copies each that is full to a file of the same name, so that its memory, where all pages are,
 * can be written to again (segment_copy_out()).
 * It blocks all signals, has descriptors of its own, is called "holdup-helper", and is not there
 * after fork(); without it, and when it is late, the threads that log make files themselves, and
 * warm them a packet at a time if not of large pages. HOLDUP_HELPER=0 does without.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/probe_int.h"

#define STACK_BYTES (64u << 10)

#define CLOSE_UNSHARE (1u << 1) /* CLOSE_RANGE_UNSHARE, Linux 5.9 */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static __thread bool is_helper __attribute__((tls_model("initial-exec")));
static bool has_own_files;

bool helper_is_me(void)
{
	return is_helper && has_own_files;
}

bool helper_runs(void)
{
	return __atomic_load_n(&probe.helper, __ATOMIC_ACQUIRE) == HELPER_RUNS;
}

/*
 * A table of descriptors that the program cannot close, and that does not keep open what the
 * program closes. The first three are taken: somebody may write a last word there.
 */
static void own_files(void)
{
	has_own_files = syscall(SYS_close_range, 0, ~0u, CLOSE_UNSHARE) == 0;
	for (int i = 0; has_own_files && i < 3; i++)
		(void)open("/dev/null", O_RDWR);
}

static void wait_for_work(uint32_t seen)
{
	const struct timespec while_none = { .tv_sec = 1 };

	(void)syscall(SYS_futex, &probe.work, FUTEX_WAIT_PRIVATE, seen, &while_none, NULL, 0);
}

static void *helper_main(void *unused)
{
	is_helper = true;
	own_files();
	while (!__atomic_load_n(&probe.ended, __ATOMIC_ACQUIRE)) {
		uint32_t seen = __atomic_load_n(&probe.work, __ATOMIC_ACQUIRE);
		struct session *session = __atomic_load_n(&probe.session, __ATOMIC_ACQUIRE);

		__atomic_store_n(&probe.busy, true, __ATOMIC_SEQ_CST);
		if (session && session->good && session->mode == HOLDUP_STREAM)
			room_tend_all(session);
		segment_close_left();
		__atomic_store_n(&probe.busy, false, __ATOMIC_SEQ_CST);
		wait_for_work(seen);
	}
	__atomic_store_n(&probe.helper, HELPER_NONE, __ATOMIC_RELEASE);
	return unused;
}

void helper_begin(void)
{
	const char *wanted = secure_getenv("HOLDUP_HELPER");
	uint32_t none = HELPER_NONE;
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t before;

	if ((wanted && strcmp(wanted, "0") == 0) || sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
	    !__atomic_compare_exchange_n(&probe.helper, &none, HELPER_RUNS, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	signals_block(&before);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&thread, &attr, helper_main, NULL) == 0)
		(void)pthread_setname_np(thread, "holdup-helper");
	else
		__atomic_store_n(&probe.helper, HELPER_NONE, __ATOMIC_RELEASE);
	(void)pthread_attr_destroy(&attr);
	signals_restore(&before);
}

void helper_wake(void)
{
	__atomic_add_fetch(&probe.work, 1, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &probe.work, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void helper_settle(void)
{
	const struct timespec a_bit = { .tv_nsec = 200000 };

	for (int i = 0; i < 200 && helper_runs() && !helper_is_me() &&
			__atomic_load_n(&probe.busy, __ATOMIC_SEQ_CST);
	     i++)
		(void)nanosleep(&a_bit, NULL);
}

/* probe.ended is set. What it is doing ends soon: a segment at most. */
void helper_end(void)
{
	for (int i = 0; i < 1000; i++) {
		const struct timespec a_bit = { .tv_nsec = 1000000 };

		if (__atomic_load_n(&probe.helper, __ATOMIC_ACQUIRE) == HELPER_NONE)
			return;
		helper_wake();
		(void)nanosleep(&a_bit, NULL);
	}
}
