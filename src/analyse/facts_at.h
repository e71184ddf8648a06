/*
 * facts_at.h - what the dump saw of each thread.
 *
 * Cgroup and user of a thread are known of those that lived when the recording began;
 * a later one has what its parent had, or else what the main thread of its process has.
 */
#ifndef ANALYSE_FACTS_AT_H
#define ANALYSE_FACTS_AT_H

#include <stdint.h>

struct facts;
struct timeline;

/* By slot: the index in facts->threads, plus one; 0 = none. Free it with free(). */
uint32_t *fact_of_threads(const struct timeline *tl, const struct facts *facts);

#endif
