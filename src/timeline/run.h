/*
 * run.h - add up the intervals of one thread as they come: what totals.h describes.
 *
 *	run_init(&run, SLOT_NONE);
 *	for each entry in order
 *		run_feed(&run, entry->time, entry->word, wait);
 *	run_to(&run, time);		// up to a time between two entries
 *	run_settle(&run);		// then run.totals has it all
 *
 * A run can be kept and taken up again: it is all in the struct. One thread at a time.
 */
#ifndef TIMELINE_RUN_H
#define TIMELINE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/totals.h"

struct wait;

#define RUN_CACHE 32

struct run {
	struct totals totals;
	uint64_t now;	     /* added up to here, ns since the origin */
	uint64_t wait_begin; /* the wait in force began */
	uint64_t call_begin; /* the call under way began */
	uint32_t word;	     /* in force; WORD_NONE before the first entry */
	uint32_t wait_in;    /* BLOCKED: what it waits in */
	uint32_t wait_kind;  /* and enum wait_kind of it */
	uint32_t call;	     /* argument of WORD_SYSCALL of the call under way; RUN_NO_CALL */
	uint32_t cpu;	     /* the CPU it is queued on or runs on; SLOT_NONE = not known */
	uint32_t ran_on;     /* where it came onto a CPU last; SLOT_NONE = nowhere yet */
	bool on_cpu;
	bool counted;	    /* the interval in force was counted */
	bool call_known;    /* its beginning was seen */
	bool vague;	    /* whether below all interrupts it is in a call is not known */
	bool only_places;   /* nothing is added up: on_cpu, cpu and ran_on are kept, no more */
	uint8_t goes_on;    /* so many of the next entries, of this instant, began before */
	uint64_t before[2]; /* by enum word_before: so many ns */
	uint64_t vague_ns;

	/* Added up beside the rows, where it costs less: see run_settle(). */
	uint64_t mode_ns[MODE_COUNT]; /* on 'cpu' */
	uint64_t counts[COUNT_COUNTERS];
	uint64_t call_since; /* the call's time before this is in its row */

	/* Rows found before, by word; not kept in a store. */
	uint64_t cached_key[RUN_CACHE];
	uint32_t cached_row[RUN_CACHE];
};

#define RUN_NO_CALL UINT32_MAX

/* An empty run, at the origin. 'cpu': of an idle task; else SLOT_NONE. */
void run_init(struct run *run, uint32_t cpu);
void run_fini(struct run *run);

/* From 'time' on the word is 'word'. 'wait': of WORD_BLOCKED, else not looked at. */
void run_feed(struct run *run, uint64_t time, uint32_t word, const struct wait *wait);

/* Add up to 'time', which is not before what was fed last; the word in force stays. */
void run_to(struct run *run, uint64_t time);

/* Bring run.totals up to date. */
void run_settle(struct run *run);

/* Totals, 'now' and 'call' were changed from outside: forget what rested on them. */
void run_restart(struct run *run);

/* The word under which a state is added up. */
uint32_t run_state_of(uint32_t word);

#endif
