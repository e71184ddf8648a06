/* code.c - see code.h. */
#include "export/code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyse/profile/hot.h"
#include "analyse/stats/states.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/search.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "export/export.h"
#include "export/words.h"
#include "report/vocabulary.h"

#define CAUSE_BYTES 1024u

/* A wait of the timeline, and what it was for. */
struct cause {
	uint64_t start_ns, end_ns;
	uint32_t text; /* in causes.texts */
};

/* Of one thread. */
struct causes {
	struct names texts;
	struct cause *at; /* owned; in order of time */
	size_t count, cap;
	uint32_t slot;
};

struct code_walk {
	const struct export_job *job;
	code_fn *each;
	void *context;
	struct causes causes;
	uint32_t slot; /* of the rest */
};

/* ------------------------------------------------------------------ causes of waits */

static void add_cause(void *context, const struct states_span *span)
{
	struct causes *causes = context;
	AUTO_FREE char *text = NULL;

	if (!span->is_wait)
		return;
	text = xasprintf("%s%s%s", span->wait.in, *span->wait.object ? ": " : "",
			 span->wait.object);
	causes->at = vec_room(causes->at, causes->count, &causes->cap, sizeof(*causes->at));
	causes->at[causes->count++] =
		(struct cause){ span->start_ns, span->end_ns,
				names_add(&causes->texts, text, CAUSE_BYTES) };
}

static void walk_states(const struct code_walk *walk, uint32_t slot,
			void (*each)(void *context, const struct states_span *span), void *context)
{
	struct states_opts opts = { .slot = slot,
				    .start_ns = walk->job->start_ns,
				    .end_ns = walk->job->end_ns };
	struct states_sum sum;

	if (states_window(walk->job->timeline, &opts, NULL) == 0)
		states_run(walk->job->timeline, walk->job->facts, &opts, each, context, &sum);
}

static void take_causes(struct code_walk *walk, uint32_t slot)
{
	struct causes *causes = &walk->causes;

	names_fini(&causes->texts);
	causes->texts = (struct names){ 0 };
	causes->count = 0;
	causes->slot = slot;
	walk_states(walk, slot, add_cause, causes);
}

/* What the wait was for in the end: the last of the timeline that began before it ended. */
static const char *cause_of(struct code_walk *walk, uint32_t slot, const struct stack_wait *wait)
{
	const struct causes *causes = &walk->causes;
	size_t low;

	if (causes->slot != slot)
		take_causes(walk, slot);
	low = SEARCH_FROM(causes->at, causes->count, start_ns, wait->end_ns);
	if (!low || causes->at[low - 1].end_ns <= wait->begin_ns)
		return "";
	return names_text(&causes->texts, causes->at[low - 1].text);
}

/* ------------------------------------------------------------------ parts */

static void tell_work(void *context, const struct hot_part *part)
{
	const struct code_walk *walk = context;

	walk->each(walk->context, &(struct code_part){
					  .kind = CODE_WORK,
					  .slot = part->slot,
					  .stack = part->stack,
					  .ns = part->ns,
					  .count = part->count,
					  .state = part->state == HOT_USER	? "user"
						   : part->state == HOT_SYSCALL ? "kernel"
										: "working",
					  .cause = "",
				  });
}

static void code_tell_wait(void *context, const struct hot_part *part)
{
	struct code_walk *walk = context;

	walk->each(walk->context,
		   &(struct code_part){
			   .kind = CODE_WAITS,
			   .slot = part->slot,
			   .stack = part->stack,
			   .ns = part->ns,
			   .count = part->count,
			   .state = "blocked",
			   .cause = part->wait ? cause_of(walk, part->slot, part->wait) : "",
		   });
}

static void tell_rest(void *context, const struct states_span *span)
{
	const struct code_walk *walk = context;

	if (span->wib != WIB_INTERRUPTED && span->wib != WIB_UNCERTAIN)
		return;
	walk->each(walk->context, &(struct code_part){
					  .kind = CODE_REST,
					  .slot = walk->slot,
					  .stack = STACK_NONE,
					  .ns = span->end_ns - span->start_ns,
					  .state = report_wib_name(span->wib),
					  .cause = span->state,
				  });
}

/* ------------------------------------------------------------------ all of it */

static uint32_t *chosen_slots(const struct export_job *job, size_t *out_count)
{
	const struct timeline *tl = job->timeline;
	uint32_t *slots = xcalloc(tl->thread_count + 1, sizeof(*slots));

	*out_count = 0;
	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		if (tl->threads[slot]->tid != 0 && export_is_chosen(job, slot))
			slots[(*out_count)++] = slot;
	}
	return slots;
}

/* Returns 0, or -ENODATA. */
static int code_walk_code(struct code_walk *walk, const uint32_t *slots, size_t count, bool waits,
			  struct err *err)
{
	const struct hot_opts opts = {
		.start_ns = walk->job->start_ns,
		.end_ns = walk->job->end_ns,
		.by = HOT_FUNCTION,
		.states = HOT_WORKING,
		.waits = waits,
		.slots = slots,
		.slot_count = count,
		.each = waits ? code_tell_wait : tell_work,
		.context = walk,
	};
	struct hot hot = { 0 };
	int rc = hot_run(walk->job->timeline, walk->job->facts, &opts, &hot, err);

	hot_fini(&hot);
	return rc;
}

int code_run(const struct export_job *job, uint32_t kinds, code_fn *each, void *context,
	     struct err *err)
{
	struct code_walk walk = { .job = job, .each = each, .context = context };
	size_t count;
	AUTO_FREE uint32_t *slots = chosen_slots(job, &count);
	int work = -ENODATA, waits = -ENODATA;

	walk.causes.slot = UINT32_MAX;
	if (kinds & CODE_WORK)
		work = code_walk_code(&walk, slots, count, false, err);
	if (kinds & CODE_WAITS)
		waits = code_walk_code(&walk, slots, count, true, work < 0 ? err : NULL);
	for (size_t i = 0; i < count && kinds & CODE_REST; i++) {
		walk.slot = slots[i];
		walk_states(&walk, slots[i], tell_rest, &walk);
	}
	names_fini(&walk.causes.texts);
	free(walk.causes.at);
	return work == 0 || waits == 0 ? 0 : -ENODATA;
}

char *code_frame_text(const struct stack_frame *frame)
{
	if (frame->function)
		return xstrdup(frame->function);
	if (!frame->module)
		return xasprintf("0x%" PRIx64, frame->offset);
	return xasprintf("%s+0x%" PRIx64, frame->module,
			 frame->start ? frame->start : frame->offset);
}
