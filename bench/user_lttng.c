/*
 * user_lttng.c - the same events as user_cost.c, logged with LTTng-UST; built by bench/user.py
 * where lttng/tracepoint.h is there.
 *
 *	usage: user_lttng off|u64|u64x4|str15 EVENTS ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "user_lttng_tp.h"

static double now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

#define REPEAT(...)                                \
	for (uint64_t i = 0; i < count; i++) {     \
		__VA_ARGS__;                       \
		__asm__ volatile("" ::: "memory"); \
	}

static void run(const char *what, uint64_t count)
{
	if (strcmp(what, "off") == 0)
		REPEAT(lttng_ust_tracepoint(bench, cold, i))
	else if (strcmp(what, "u64") == 0)
		REPEAT(lttng_ust_tracepoint(bench, u64, i))
	else if (strcmp(what, "u64x4") == 0)
		REPEAT(lttng_ust_tracepoint(bench, u64x4, i, i + 1, i + 2, i + 3))
	else
		REPEAT(lttng_ust_tracepoint(bench, str15, "fifteen letters"))
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	double best = 1e18;

	for (int i = 0; i < (argc > 3 ? atoi(argv[3]) : 5); i++) {
		double start;

		run(argc > 1 ? argv[1] : "u64", count / 4);
		start = now_ns();
		run(argc > 1 ? argv[1] : "u64", count);
		start = (now_ns() - start) / (double)count;
		best = start < best ? start : best;
	}
	printf("%.3f\n", best);
	return 0;
}
