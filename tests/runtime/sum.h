/*
 * sum.h - what the programs that log and the program that checks have in common.
 */
#ifndef TESTS_PROBE_SUM_H
#define TESTS_PROBE_SUM_H

#include <stdint.h>

#define MOST 128u /* threads, half of them stand for signal handlers */
#define NONE UINT32_MAX

/* In a file that outlives the process that logs. */
struct counters {
	uint64_t logged[MOST]; /* calls that have returned */
	uint64_t lost;	       /* as the library says at the end */
};

static inline uint32_t sum_of(uint32_t thread, uint64_t seq)
{
	uint64_t x = (seq + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)thread << 40;

	return (uint32_t)(x ^ x >> 29 ^ x >> 47);
}

#endif
