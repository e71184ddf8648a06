/*
 * usdt-pair.c - two USDT points, shop:begin and shop:end, and what is between them.
 * usage: usdt-pair        each line of input: so many milliseconds between; prints how long that was, ns
 *
 * Exits with 77 where sys/sdt.h was not there when it was built.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if __has_include(<sys/sdt.h>)

#include <sys/sdt.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sell(long ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	uint64_t begin_ns;

	DTRACE_PROBE1(shop, begin, ms);
	begin_ns = now_ns();
	if (ms)
		nanosleep(&pause, NULL);
	printf("%llu\n", (unsigned long long)(now_ns() - begin_ns));
	DTRACE_PROBE(shop, end);
	fflush(stdout);
}

int main(void)
{
	char line[32];

	while (fgets(line, sizeof(line), stdin))
		sell(strtol(line, NULL, 10));
	return 0;
}

#else

int main(void)
{
	return 77;
}

#endif
