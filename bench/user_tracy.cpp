/*
 * user_tracy.cpp - what one event of Tracy's client costs the thread that logs it.
 *
 *	usage: user_tracy u64|str15 EVENTS ROUNDS
 *
 * As user_cost.c: prints ns per event, the fastest round. A number is a point of a plot; no server is
 * connected, so the client keeps everything in the process's own memory.
 */
#include <tracy/Tracy.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

static double now_ns()
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run(const char *kind, uint64_t count)
{
	if (strcmp(kind, "u64") == 0) {
		for (uint64_t i = 0; i < count; i++)
			TracyPlot("value", (int64_t)i);
	} else {
		for (uint64_t i = 0; i < count; i++)
			TracyMessage("fifteen letters", 15);
	}
}

int main(int argc, char **argv)
{
	double best = 1e18;

	if (argc != 4 || (strcmp(argv[1], "u64") != 0 && strcmp(argv[1], "str15") != 0))
		return 2;
	for (int i = 0; i < atoi(argv[3]); i++) {
		uint64_t count = strtoull(argv[2], nullptr, 10);
		double start = now_ns(), took;

		run(argv[1], count);
		took = (now_ns() - start) / (double)count;
		best = took < best ? took : best;
	}
	printf("%.3f\n", best);
	fflush(stdout);
	_Exit(0); /* nothing is sent to anybody */
}
