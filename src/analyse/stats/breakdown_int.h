/*
 * breakdown_int.h - what the files of `breakdown` share.
 *
 *	breakdown.c         puts the result together
 *	breakdown_code.c    in which code threads worked and waited
 *	breakdown_walk.c    what a thread was in, below interrupts and waits
 *	breakdown_others.c  waits, and what their wakers did
 */
#ifndef ANALYSE_STATS_BREAKDOWN_INT_H
#define ANALYSE_STATS_BREAKDOWN_INT_H

#include "analyse/stats/breakdown.h"
#include "analyse/why/charge_int.h"
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

/* Places in code of a row, while they are added up. */
struct code_sums {
	struct code_part *work, *waits; /* owned */
	size_t work_count, work_cap, wait_count, wait_cap;
};

/* Those of all rows of a table, by their index while the rows are added up. */
struct code_rows {
	struct code_sums *at; /* owned */
	size_t count, cap;
};

/* The rows that a span counts for. */
struct code_at {
	size_t line, thread;
};

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
	struct code_rows line_code, wait_code, thread_code; /* owned */
};

/* breakdown_code.c */
void breakdown_code_work(struct breakdown_query *query, const struct code_at *at, uint32_t slot,
			 const struct segment *segment);
void breakdown_code_wait(struct breakdown_query *query, const struct code_at *at, size_t wait,
			 uint32_t slot, const struct segment *segment);
void breakdown_code_finish(struct breakdown_query *query); /* before rows are sorted */
void breakdown_code_fini(struct breakdown_query *query);

/* What another thread was in: 'context' of the segment is not looked at. */
void breakdown_code_other(const struct breakdown_query *query, struct code_sums *sums,
			  uint32_t slot, const struct segment *segment);

/* Frees the sums. 'working_ns': how long it worked in all. */
struct why_codes code_sums_end(struct code_sums *sums, uint64_t working_ns);

/* breakdown_others.c; returns the index of the row of waits */
size_t others_add_wait(struct breakdown_query *query, uint32_t slot, const struct segment *segment);
void others_finish(struct breakdown_query *query);

#endif
