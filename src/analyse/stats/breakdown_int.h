/*
 * breakdown_int.h - what the files of `breakdown` share.
 *
 *	breakdown.c         puts the result together
 *	breakdown_walk.c    what a thread was in, below interrupts and waits
 *	breakdown_others.c  waits, and what their wakers did
 */
#ifndef ANALYSE_STATS_BREAKDOWN_INT_H
#define ANALYSE_STATS_BREAKDOWN_INT_H

#include "analyse/stats/breakdown.h"
#include "analyse/why/why_int.h"
#include "base/map.h"

#define WALK_NEST 8

/* A span in which neither what the thread is in nor what is on top of it changes. */
struct segment {
	uint64_t start_ns; /* inside the window; may be of no length */
	uint64_t end_ns;
	uint32_t word; /* on top; an interrupt, a wait, or the same as 'context' */
	uint32_t
		context; /* own code, system call ...; WORD_NONE = not known, WORD_WAIT_CPU = new */
	bool begins;	 /* an interrupt that begins here */
};

/* The segments of a thread, in order. */
struct walk {
	struct tl_iter iter;
	const struct timeline *timeline;
	uint32_t slot;
	struct tl_interval now; /* at hand; its end is not known yet */
	bool done;
	uint64_t start_ns, end_ns;
	uint32_t context;
	uint32_t irqs[WALK_NEST]; /* on top, the innermost last */
	uint32_t depth;
};

void walk_begin(struct walk *walk, const struct timeline *timeline, uint32_t slot,
		uint64_t start_ns, uint64_t end_ns);
bool walk_next(struct walk *walk, struct segment *out_segment);

enum breakdown_part segment_part(uint32_t word);

struct breakdown_query {
	const struct timeline *tl;
	const struct facts *facts;
	struct why why; /* lends its texts to the words of describe.c */
	struct query words;
	struct breakdown *result;
	uint32_t *slots; /* owned; the threads of the process */
	size_t slot_count, slot_cap;
	struct map line_of; /* word of a context -> index of lines */
	struct map irq_of;  /* word -> index of irqs */
	struct map of_slot; /* slot -> index of slots */
	size_t line_cap, irq_cap, wait_cap;
	struct map wait_of;   /* key of words -> index of waits */
	struct helped *helps; /* owned; breakdown_others.c */
	size_t help_count, help_cap;
};

/* breakdown_others.c */
void others_add_wait(struct breakdown_query *query, uint32_t slot, const struct segment *segment);
void others_finish(struct breakdown_query *query);

#endif
