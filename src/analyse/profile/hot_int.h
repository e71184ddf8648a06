/*
 * hot_int.h - a profile while it is made: between hot.c, hot_waits.c and hot_rows.c.
 */
#ifndef ANALYSE_PROFILE_HOT_INT_H
#define ANALYSE_PROFILE_HOT_INT_H

#include <stdint.h>

#include "analyse/profile/hot.h"
#include "base/map.h"

struct stack;
struct stacks;

struct hot_tree;

/* HOT_... of a state word; 0 = no code has the CPU then. */
uint32_t hot_state(uint32_t word);

/* The frame that time of a stack is of: where it was at work, or the place of its wait. */
uint32_t hot_place(const struct stack *stack, bool waits, bool native);

/* Equal for frames that are one row. */
uint64_t hot_frame_key(enum hot_by by, const struct stack_frame *frame);
int hot_compare_frames(const struct stack_frame *x, const struct stack_frame *y);

struct hot_rows {
	struct hot_tree *tree; /* owned; NULL = none is asked for */
	const struct timeline *timeline;
	const struct stacks *stacks;
	enum hot_by by;
	bool waits;
	bool native;
	struct hot_row *rows; /* owned */
	size_t count, cap;
	uint64_t *last_added; /* owned; of each row: 'added' when it was met last */
	size_t last_cap;
	uint64_t added;	  /* stacks, so far */
	struct map index; /* of what a row is -> its number */
};

/* 'ns' and 'samples' of a stack, by frames. */
void hot_rows_stack(struct hot_rows *rows, uint32_t stack, uint64_t ns, uint64_t samples);

/* The same of a thread, by process or thread. */
void hot_rows_thread(struct hot_rows *rows, uint32_t slot, uint64_t ns, uint64_t samples);

/* Time of which there is no stack. */
void hot_rows_unseen(struct hot_rows *rows, uint64_t ns);

/* Move them into the result, in order; frees the rest. */
void hot_rows_end(struct hot_rows *rows, struct hot *hot);

/* One thread of those that are meant. */
struct hot_thread {
	uint64_t ns;	     /* in the states that are meant */
	size_t first, count; /* a run in hot_run.samples */
};

struct hot_sample {
	uint32_t stack;
	uint32_t state; /* HOT_... */
};

struct hot_run {
	const struct timeline *timeline;
	const struct stacks *stacks;
	const struct hot_opts *opts;
	struct hot *hot;
	struct hot_thread *threads; /* owned; as opts->slots */
	struct hot_sample *samples; /* owned */
	size_t sample_count, sample_cap;
	struct hot_rows rows;
};

/* Time of one stack, for the rows and for who asked for each part. */
void hot_tell(struct hot_run *run, const struct hot_part *part);

/* hot_waits.c: tell the waits of all threads, by their stacks. */
void hot_waits(struct hot_run *run);

#endif
