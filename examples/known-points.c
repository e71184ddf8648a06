/*
 * known-points.c - a program with points of its own, and a table that says what they mean.
 *
 * known-points.app stands beside it: sudo holdup why --app examples/known-points.app -- known-points
 */
#include "truth.h"

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define HAS_SDT 1
#else
#define DTRACE_PROBE1(provider, name, one) (void)(one)
#define HAS_SDT				   0
#endif

static const struct example example = {
	.name = "known-points",
	.shows =
		"A thread waits three times for a mutex: twice it says so at a point of its own\n"
		"(waits for order 7, with a text), once it does not. Whoever has the mutex says what\n"
		"it computes. The truth is who had it, how long, and whether there are USDT points.",
};

#define HOLD 100 /* ms */

/* A function that stands in the program once, under its own name. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

const char *known_text = "UPDATE orders\n\tSET paid = 1\x1b[31m WHERE id = 7";

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t taken;
static uint64_t held_ns;
static int32_t holder_tid;
static double scale;

NOINLINE static void known_wait(int order)
{
	__asm__ volatile("" : : "r"(order) : "memory");
}

NOINLINE static void known_waited(void)
{
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void known_job(const char *name)
{
	__asm__ volatile("" : : "r"(name) : "memory");
}

NOINLINE static void known_job_done(void)
{
	__asm__ volatile("" ::: "memory");
}

static void *hold(void *unused)
{
	holder_tid = (int32_t)gettid();
	for (int i = 0; i < 3; i++) {
		uint64_t since_ns;

		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&taken);
		known_job("report of March");
		DTRACE_PROBE1(holdup_known, job, i);
		since_ns = now_ns();
		while (now_ns() - since_ns < (uint64_t)(HOLD * scale) * NS_PER_MS)
			;
		held_ns += now_ns() - since_ns;
		known_job_done();
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&taken);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	pthread_t holder;

	scale = run.scale;
	pthread_barrier_init(&taken, NULL, 2);
	if (pthread_create(&holder, NULL, hold, NULL) != 0)
		fail("pthread_create");
	for (int i = 0; i < 3; i++) {
		pthread_barrier_wait(&taken);
		if (i < 2)
			known_wait(7 + i);
		pthread_mutex_lock(&mutex);
		if (i < 2)
			known_waited();
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&taken);
	}
	pthread_join(holder, NULL);
	printf("{\"holder\":%d,\"held_ns\":%llu,\"usdt\":%d}\n", holder_tid,
	       (unsigned long long)held_ns, HAS_SDT);
	return 0;
}
