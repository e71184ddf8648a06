/*
 * many_threads.c - a process of many threads: most sleep, some wake at a rate.
 *
 * usage: many_threads THREADS AWAKE EVERY_MS	prints its number when all are there; runs until killed
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long every_ms;

static void *sleeper(void *unused)
{
	(void)unused;
	pause();
	return NULL;
}

/* Spread over the interval, so that they do not wake all at once. */
static void *waker(void *number)
{
	struct timespec pause = { every_ms / 1000, every_ms % 1000 * 1000000 };

	usleep((useconds_t)((long)number * 7919 % (every_ms * 1000)));
	for (;;)
		nanosleep(&pause, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 3 ? atol(argv[1]) : 0, awake = argc > 3 ? atol(argv[2]) : 0;
	pthread_attr_t attr;

	every_ms = argc > 3 ? atol(argv[3]) : 0;
	if (count < 1 || every_ms < 1) {
		fprintf(stderr, "usage: many_threads THREADS AWAKE EVERY_MS\n");
		return 2;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, i < awake ? waker : sleeper, (void *)i) != 0) {
			perror("many_threads: pthread_create");
			return 3;
		}
	}
	printf("%d\n", getpid());
	fflush(stdout);
	pause();
	return 0;
}
