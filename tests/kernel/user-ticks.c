/*
 * user-ticks.c - log events with libholdup for ever, or so many, and say what was logged.
 *
 * usage: user-ticks [COUNT]
 * Prints a line when it is ready: its number as it sees itself. With COUNT, ends by itself
 * after so many ticks and prints how many it logged of each kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <holdup/trace.h>

HOLDUP_EVENT(clock, tick, (u64, n))
HOLDUP_EVENT(clock, tock, (u64, n), (str, text))
HOLDUP_EVENT(other, beat, (u32, n))

int main(int argc, char **argv)
{
	unsigned long most = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	printf("%d\n", getpid());
	fflush(stdout);
	for (unsigned long n = 0; most == 0 || n < most; n++) {
		holdup_clock_tick(n);
		holdup_clock_tock(n, "tock");
		if (n % 10 == 0)
			holdup_other_beat((uint32_t)n);
		usleep(500);
	}
	return 0;
}
