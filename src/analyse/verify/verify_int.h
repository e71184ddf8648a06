/* verify_int.h - what the files of verify share. Only for this room. */
#ifndef ANALYSE_VERIFY_VERIFY_INT_H
#define ANALYSE_VERIFY_VERIFY_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/verify/verify.h"
#include "timeline/timeline.h"

/* One check of 'check' was done; what it found broken. */
void verify_done(struct verify *verify, enum verify_check check);
void verify_fail(struct verify *verify, const struct verify_broken *broken);

/* On a CPU, for certain. */
static inline bool word_on_cpu(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind >= WORD_RUN && kind <= WORD_SOFTIRQ;
}

/* The state as TOTAL_STATE adds it up. */
static inline uint32_t word_state(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	if (kind == WORD_BLOCKED || kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU)
		return word_make(kind, 0);
	return word_plain(word);
}

struct verify_who verify_who(const struct timeline *tl, uint32_t slot);

/* Each thread by itself: life, windows, stored sums, waits, wake-ups. */
void verify_threads(const struct timeline *tl, const struct verify_progress *progress,
		    struct verify *verify);

/* The tracks of the CPUs against those of the threads. */
void verify_cpus(const struct timeline *tl, const struct verify_progress *progress,
		 struct verify *verify);

/* The verdict of a few windows. */
void verify_verdicts(const struct timeline *tl, const struct facts *facts, struct verify *verify);

/* A random number below 'below'; the same ones in every run. */
uint64_t verify_random(uint64_t *state, uint64_t below);

#endif
