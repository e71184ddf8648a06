/*
 * flight-stall.c - a thread that sleeps in D twice for a known time, because of a known one.
 * usage: flight-stall MILLISECONDS BEFORE BETWEEN        prints how long each stall lasted, ns
 *
 * Who has called vfork() sleeps in D until the child has ended. BEFORE: milliseconds until then, so that
 * who looks for names of threads has found this one. BETWEEN: the same until the second time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_ms(long ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static void stall(long ms)
{
	uint64_t begin_ns = now_ns();
	pid_t child = vfork();

	if (child == 0) {
		prctl(PR_SET_NAME, "culprit");
		sleep_ms(ms);
		_exit(0);
	}
	printf("%llu\n", (unsigned long long)(now_ns() - begin_ns));
	fflush(stdout);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	prctl(PR_SET_NAME, "victim");
	sleep_ms(atol(argv[2]));
	stall(atol(argv[1]));
	sleep_ms(atol(argv[3]));
	stall(atol(argv[1]));
	return 0;
}
