/*
 * functions.h - where the time of threads went, by function: at work in it, and waiting for what in it.
 *
 * Both are those of hot.h: the working time spread over samples, and each wait by its place. Time of no
 * stack is a row, so that the rows add up to the states of the threads.
 */
#ifndef ANALYSE_PROFILE_FUNCTIONS_H
#define ANALYSE_PROFILE_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/coverage.h"
#include "analyse/profile/hot.h"
#include "timeline/totals.h"

struct function_sums {
	uint64_t working_ns;
	uint64_t samples; /* that working_ns is of */
	uint64_t blocked_ns;
	uint64_t kind_ns[WAIT_KIND_COUNT]; /* of blocked_ns */
	uint64_t waits;			   /* with a stack, that blocked_ns is of */
};

struct function_row {
	const struct stack_frame
		*frame; /* a view into the facts; NULL = of this time there is no stack */
	struct function_sums sums;
};

enum functions_sort {
	FUNCTIONS_BY_TOTAL,
	FUNCTIONS_BY_WORKING,
	FUNCTIONS_BY_BLOCKED,
	FUNCTIONS_BY_IO,
	FUNCTIONS_BY_NAME,
};

struct functions_opts {
	uint64_t start_ns, end_ns;
	const uint32_t *slots; /* the threads that are meant, a view */
	size_t slot_count;
	enum functions_sort sort;
};

struct functions {
	uint64_t start_ns, end_ns;
	/* Life of the threads in the window: the four, and working_ns and blocked_ns of 'all'. */
	uint64_t life_ns;
	uint64_t irq_ns, waiting_ns, uncertain_ns;
	struct function_sums all;  /* the rows add up to it */
	uint64_t period_ns;	   /* of the samples; 0 = there are none */
	uint64_t lost;		   /* samples of the whole recording that were not kept */
	uint64_t doubtful;	   /* samples in the window whose thread was not at work */
	struct function_row *rows; /* owned */
	size_t row_count;
	struct coverage coverage;
};

/*
 * Returns 0 and fills *out_functions (free with functions_fini()), or with err filled -ENODATA when the
 * trace has neither samples nor stacks of waits, -EINVAL when the window is empty.
 */
int functions_run(const struct timeline *timeline, const struct facts *facts,
		  const struct functions_opts *opts, struct functions *out_functions,
		  struct err *err);

void functions_fini(struct functions *functions);

/* What a disk or something of the kind ended. */
static inline uint64_t function_io_ns(const struct function_sums *sums)
{
	return sums->kind_ns[WAIT_FOR_DISK] + sums->kind_ns[WAIT_FOR_IO];
}

#endif
