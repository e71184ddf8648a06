/* functions.c - see functions.h: the parts of two profiles, by function. */
#include "analyse/profile/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/profile/hot_int.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "timeline/timeline.h"

struct functions_run {
	const struct timeline *timeline;
	const struct facts *facts;
	const struct functions_opts *opts;
	struct functions *functions;
	size_t row_cap;
	struct map row_of; /* of a function -> index of rows */
};

/* ------------------------------------------------------------------ rows */

static struct function_sums *functions_row(struct functions_run *run,
					   const struct stack_frame *frame)
{
	struct functions *functions = run->functions;
	uint64_t *index;
	bool is_new;

	index = map_add(&run->row_of, frame ? hot_frame_key(HOT_FUNCTION, frame) : 0, &is_new);
	if (is_new) {
		*index = functions->row_count;
		functions->rows = vec_room(functions->rows, functions->row_count, &run->row_cap,
					   sizeof(*functions->rows));
		functions->rows[functions->row_count++] = (struct function_row){ .frame = frame };
	}
	return &functions->rows[*index].sums;
}

static const struct stack_frame *functions_frame(const struct functions_run *run,
						 const struct hot_part *part)
{
	const struct stacks *stacks = run->facts->stacks;

	if (part->stack == STACK_NONE || !stacks->stacks[part->stack].count)
		return NULL;
	return stacks_frame(stacks, part->stack,
			    hot_place(&stacks->stacks[part->stack], part->wait != NULL, false));
}

static void functions_add_work(void *context, const struct hot_part *part)
{
	struct functions_run *run = context;
	const struct stack_frame *frame = functions_frame(run, part);
	struct function_sums *row = functions_row(run, frame);

	row->working_ns += part->ns;
	row->samples += frame ? part->count : 0;
}

static void functions_add_wait(void *context, const struct hot_part *part)
{
	struct functions_run *run = context;
	const struct stack_frame *frame = functions_frame(run, part);
	struct function_sums *row = functions_row(run, frame);

	row->blocked_ns += part->ns;
	row->kind_ns[part->kind] += part->ns;
	row->waits += frame ? part->count : 0;
}

/* ------------------------------------------------------------------ the profiles */

/* What no sample can tell, where none were taken. */
static void functions_unseen(struct functions_run *run, bool waits)
{
	const struct function_sums *all = &run->functions->all;
	struct function_sums *row;

	if (!(waits ? all->blocked_ns : all->working_ns))
		return;
	row = functions_row(run, NULL);
	if (!waits) {
		row->working_ns = all->working_ns;
		return;
	}
	row->blocked_ns = all->blocked_ns;
	for (size_t kind = 0; kind < WAIT_KIND_COUNT; kind++)
		row->kind_ns[kind] = all->kind_ns[kind];
}

/* Returns 0, or -ENODATA: that the trace does not have. */
static int functions_profile(struct functions_run *run, bool waits, struct err *err)
{
	const struct hot_opts opts = {
		.start_ns = run->functions->start_ns,
		.end_ns = run->functions->end_ns,
		.by = HOT_FUNCTION,
		.states = HOT_WORKING,
		.waits = waits,
		.slots = run->opts->slots,
		.slot_count = run->opts->slot_count,
		.each = waits ? functions_add_wait : functions_add_work,
		.context = run,
	};
	struct hot hot;
	int rc = hot_run(run->timeline, run->facts, &opts, &hot, err);

	if (rc < 0) {
		functions_unseen(run, waits);
		return rc;
	}
	if (!waits) {
		run->functions->period_ns = hot.period_ns;
		run->functions->lost = hot.lost;
		run->functions->doubtful = hot.doubtful;
	}
	hot_fini(&hot);
	return 0;
}

/* ------------------------------------------------------------------ the states */

static void functions_add_blocked(struct functions_run *run, uint32_t slot, uint32_t word,
				  uint64_t ns)
{
	struct function_sums *all = &run->functions->all;
	struct wait wait;

	timeline_wait(run->timeline, slot, word_arg(word), &wait);
	all->blocked_ns += ns;
	all->kind_ns[wait_kind(&wait)] += ns;
}

static void functions_life(struct functions_run *run, uint32_t slot)
{
	struct functions *functions = run->functions;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_thread(&iter, run->timeline, slot, functions->start_ns, functions->end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t ns = in.end_ns - in.start_ns;

		if (word_kind(in.word) == WORD_NONE)
			continue;
		functions->life_ns += ns;
		if (hot_state(in.word) & HOT_WORKING)
			functions->all.working_ns += ns;
		else if (hot_state(in.word) & HOT_IRQ)
			functions->irq_ns += ns;
		else if (word_wib(in.word) == WIB_BLOCKED)
			functions_add_blocked(run, slot, in.word, ns);
		else if (word_wib(in.word) == WIB_INTERRUPTED)
			functions->waiting_ns += ns;
		else
			functions->uncertain_ns += ns;
	}
}

/* ------------------------------------------------------------------ all of it */

static uint64_t sort_ns(const struct function_sums *sums, enum functions_sort sort)
{
	switch (sort) {
	case FUNCTIONS_BY_WORKING:
		return sums->working_ns;
	case FUNCTIONS_BY_BLOCKED:
		return sums->blocked_ns;
	case FUNCTIONS_BY_IO:
		return function_io_ns(sums);
	case FUNCTIONS_BY_NAME:
		return 0;
	default:
		return sums->working_ns + sums->blocked_ns;
	}
}

static int compare_function_rows(const void *a, const void *b, void *context)
{
	const struct function_row *x = a, *y = b;
	const enum functions_sort *sort = context;
	uint64_t x_ns = sort_ns(&x->sums, *sort), y_ns = sort_ns(&y->sums, *sort);
	int by_name;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	by_name = hot_compare_frames(x->frame, y->frame);
	x_ns = sort_ns(&x->sums, FUNCTIONS_BY_TOTAL);
	y_ns = sort_ns(&y->sums, FUNCTIONS_BY_TOTAL);
	if (*sort != FUNCTIONS_BY_NAME && x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return by_name;
}

static void functions_finish(struct functions_run *run)
{
	struct functions *functions = run->functions;
	enum functions_sort sort = run->opts->sort;

	for (size_t i = 0; i < functions->row_count; i++) {
		functions->all.samples += functions->rows[i].sums.samples;
		functions->all.waits += functions->rows[i].sums.waits;
	}
	if (functions->row_count)
		qsort_r(functions->rows, functions->row_count, sizeof(*functions->rows),
			compare_function_rows, &sort);
	functions->coverage = coverage_of(run->timeline, functions->start_ns, functions->end_ns);
}

int functions_run(const struct timeline *timeline, const struct facts *facts,
		  const struct functions_opts *opts, struct functions *out_functions,
		  struct err *err)
{
	struct functions functions = { .start_ns = opts->start_ns, .end_ns = opts->end_ns };
	struct functions_run run = { timeline, facts, opts, &functions, 0, { 0 } };
	int rc = coverage_window(timeline, &functions.start_ns, &functions.end_ns, err);
	int work, waits;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < opts->slot_count; i++)
		functions_life(&run, opts->slots[i]);
	waits = functions_profile(&run, true, NULL);
	work = functions_profile(&run, false, NULL);
	map_fini(&run.row_of);
	if (work < 0 && waits < 0) {
		functions_fini(&functions);
		return err_set(err, -ENODATA,
			       "the trace has neither samples nor stacks of waits; record without "
			       "--sample off and --stack-min off");
	}
	functions_finish(&run);
	*out_functions = functions;
	return 0;
}

void functions_fini(struct functions *functions)
{
	free(functions->rows);
	*functions = (struct functions){ 0 };
}
