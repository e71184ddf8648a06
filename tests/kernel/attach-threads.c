/*
 * attach-threads.c - a program whose threads do what is known, for who attaches to it.
 *
 * usage: attach-threads convoy|stall
 *
 *	owner    holds a mutex while it sleeps: all the time (convoy), or a millisecond in five and
 *		 once, half a second after a line came on stdin, for 200 ms (stall)
 *	waiters  four: take the mutex, let it go, sleep a millisecond
 *	idle     three: wait for work that never comes, on a condition
 *	busy     works (convoy only)
 *
 * Prints "NAME TID" lines, then "ready"; of the stall "stall START END", CLOCK_MONOTONIC ns. It is to be killed, or stdin ends the stall.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static _Atomic int told;
static _Atomic bool stall_wanted;
static bool is_convoy;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	const struct timespec span = { (time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS)) };

	nanosleep(&span, NULL);
}

static void tell(const char *name)
{
	pthread_setname_np(pthread_self(), name);
	printf("%s %d\n", name, (int)gettid());
	atomic_fetch_add(&told, 1);
}

static void hold(uint64_t ns)
{
	pthread_mutex_lock(&mutex);
	sleep_ns(ns);
	pthread_mutex_unlock(&mutex);
}

static void stall(void)
{
	uint64_t start;

	sleep_ns(500 * MS);
	start = now_ns();
	hold(200 * MS);
	printf("stall %" PRIu64 " %" PRIu64 "\n", start, now_ns());
	fflush(stdout);
}

static void *owner(void *unused)
{
	tell("owner");
	for (;;) {
		hold(is_convoy ? 40 * MS : MS);
		sleep_ns(is_convoy ? MS : 4 * MS);
		if (atomic_exchange(&stall_wanted, false))
			stall();
	}
	return unused;
}

static void *waiter(void *unused)
{
	tell("waiter");
	for (;;) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		sleep_ns(MS);
	}
	return unused;
}

static void *idle(void *unused)
{
	tell("idle");
	pthread_mutex_lock(&queue);
	for (;;)
		pthread_cond_wait(&work, &queue);
	return unused;
}

static void *busy(void *unused)
{
	volatile uint64_t count = 0;

	tell("busy");
	for (;;)
		count++;
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const threads[])(void *) = { owner, waiter, waiter, waiter, waiter,
					     idle,  idle,   idle,   busy };
	int count;
	pthread_t id;

	is_convoy = argc > 1 && strcmp(argv[1], "convoy") == 0;
	count = is_convoy ? 9 : 8;
	for (int i = 0; i < count; i++)
		pthread_create(&id, NULL, threads[i], NULL);
	while (atomic_load(&told) < count)
		sleep_ns(MS);
	puts("ready");
	fflush(stdout);
	while (is_convoy)
		pause();
	while (getchar() != EOF)
		atomic_store(&stall_wanted, true);
	_exit(0);
}
