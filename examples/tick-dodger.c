/* tick-dodger.c - a program works between the ticks of the clock: accounting by ticks misses it. */
#include "truth.h"

static const struct example example = {
	.name = "tick-dodger",
	.shows =
		"A program works for 40 % of each tick of the clock, from just after one until well\n"
		"before the next, and sleeps meanwhile, for 1 s. Accounting by ticks never finds it at\n"
		"work. The answer is its own sleep; the note tells the ticks that it met at work.",
};

/* The clock that moves with the ticks only. */
static uint64_t tick_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

/* The instant of a tick, a little late, and the time from one to the next. */
static uint64_t meet_tick(uint64_t *out_period_ns)
{
	struct timespec period;
	uint64_t before, now;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &period) < 0)
		fail("clock_getres");
	*out_period_ns = (uint64_t)period.tv_sec * NS_PER_S + (uint64_t)period.tv_nsec;
	for (before = tick_ns(); tick_ns() == before;)
		;
	now = now_ns();
	/* Kernels since 6.4 let them fall on multiples of the period; a late one is found out. */
	return now % *out_period_ns < *out_period_ns / 8 ? now - now % *out_period_ns : now;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = { .tv_sec = (time_t)(at_ns / NS_PER_S),
			       .tv_nsec = (long)(at_ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* Work until 'end_ns', looking at the clock often; returns the ticks that came meanwhile. */
static uint32_t work_until(uint64_t end_ns)
{
	uint64_t tick = tick_ns();

	while (now_ns() < end_ns)
		for (uint32_t i = 0; i < 500; i++)
			__asm__ volatile("" : : "r"(i) : "memory");
	return tick_ns() != tick;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct truth truth = { .kind = "timer", .what = "its own sleep" };
	uint64_t period_ns, tick, end_ns, asleep_ns;
	uint32_t bursts = 0, met = 0;
	struct spent spent;
	char note[128];

	pin(last_cpu());
	tick = meet_tick(&period_ns);
	truth.start_ns = now_ns();
	spent = spent_mark();
	for (end_ns = tick + run_ms(&run, 1000); tick < end_ns; bursts++) {
		tick += period_ns;
		sleep_until(tick + period_ns / 5);
		met += work_until(tick + period_ns * 3 / 5);
	}
	spent = spent_since(spent);
	truth.end_ns = now_ns();
	asleep_ns = spent_blocked_ns(spent);
	root_set(&truth.root, asleep_ns);
	truth.error_ns = spent_error_ns(spent);
	snprintf(note, sizeof(note),
		 "on a CPU %llu ns, %u bursts, %u ticks met, a tick every %llu ns",
		 (unsigned long long)spent.cpu_ns, bursts, met, (unsigned long long)period_ns);
	truth.note = note;
	return run_end(&run, &truth);
}
