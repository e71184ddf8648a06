/*
 * probe-points.c - functions and USDT points with known arguments, called a known number of times.
 *
 * Prints one line of JSON for each call and point, in order: what a recording of
 * --probe and --usdt must show. tests/kernel/probes.py compares the two.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<sys/sdt.h>)
#define HAS_SDT
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* Whoever records a point counts up its semaphore, so that the program knows. */
#define SEMAPHORE(point) unsigned short point##_semaphore __attribute__((section(".probes")))
SEMAPHORE(holdup_demo_empty);
SEMAPHORE(holdup_demo_all);
SEMAPHORE(holdup_demo_narrow);
SEMAPHORE(holdup_demo_memory);
SEMAPHORE(holdup_demo_sites);
SEMAPHORE(holdup_demo_guarded);
SEMAPHORE(sched_sched_switch);
#endif

/* A function that stands in the program once, under its own name. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

int32_t holdup_demo_level = -7;
int64_t holdup_demo_table[4] = { 100, 200, 300, 400 };

/* Six in registers, two on the stack. */
NOINLINE static int32_t demo_work(uint64_t number, int32_t offset, const char *name, uint8_t small,
				  int16_t half, uint32_t word, int64_t seventh, uint32_t eighth)
{
	__asm__ volatile("" ::: "memory");
	return (int32_t)(number % 1000) + offset + (int32_t)strlen(name) + small + half +
	       (int32_t)word + (int32_t)seventh + (int32_t)eighth;
}

NOINLINE static int32_t demo_twice(int32_t number)
{
	__asm__ volatile("" ::: "memory");
	return number * 2;
}

/* Returns a text. */
NOINLINE static const char *demo_name(int32_t number)
{
	static const char *const names[] = { "zero", "one", "two", "" };

	__asm__ volatile("" ::: "memory");
	return names[number & 3];
}

static void points(int32_t i, const char *name)
{
#ifdef HAS_SDT
	volatile int32_t on_stack = i * 3 - 4; /* a memory operand */
	uint64_t in_register = 0x1122334455667700ull + (uint64_t)i;
	int8_t small = (int8_t)(-i);

	DTRACE_PROBE(holdup_demo, empty);
	DTRACE_PROBE5(holdup_demo, all, in_register, on_stack, 5, -6, name);
	DTRACE_PROBE3(holdup_demo, narrow, small, (uint16_t)(60000 + i), (uint8_t)(250 + i % 5));
	DTRACE_PROBE2(holdup_demo, memory, holdup_demo_level, holdup_demo_table[2]);
	if (i & 1)
		DTRACE_PROBE1(holdup_demo, sites, i);
	else
		DTRACE_PROBE1(holdup_demo, sites, i * 10);
	if (holdup_demo_guarded_semaphore)
		DTRACE_PROBE1(holdup_demo, guarded, i + 1000);
	DTRACE_PROBE1(sched, sched_switch, i); /* has the name of an event of the kernel */
#else
	(void)i;
	(void)name;
#endif
}

static void round_of(int32_t i)
{
	const char *name = demo_name(i);
	uint64_t number = (uint64_t)i * 10000000019ull;
	int32_t twice = demo_twice(i - 3);
	int32_t sum = demo_work(number, -i, name, (uint8_t)(i + 250), (int16_t)(-i * 100),
				3000000000u + (uint32_t)i, -5000000000ll - i, 77u + (uint32_t)i);

	points(i, name);
	printf("{\"i\":%d,\"number\":%llu,\"offset\":%d,\"name\":\"%s\",\"small\":%d,\"half\":%d,"
	       "\"word\":%u,\"seventh\":%lld,\"eighth\":%u,\"ret\":%d,\"twice\":%d,\"level\":%d}\n",
	       i, (unsigned long long)number, -i, name, (uint8_t)(i + 250), (int16_t)(-i * 100),
	       3000000000u + (uint32_t)i, -5000000000ll - i, 77u + (uint32_t)i, sum, twice,
	       holdup_demo_level);
	holdup_demo_level--;
}

int main(int argc, char **argv)
{
	int32_t count = argc > 1 ? atoi(argv[1]) : 8;

	for (int32_t i = 0; i < count; i++)
		round_of(i);
	return 0;
}
