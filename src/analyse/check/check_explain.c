/*
 * check_explain.c - why a constraint was not kept: the verdict of that very span, and the root
 * whose time grew most against the median of valid spans of the same transition.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "analyse/check/check_live.h"
#include "analyse/why/why.h"
#include "base/mem.h"

struct explaining {
	struct check *check;
	const struct timeline *timeline;
	const struct facts *facts;
	struct lock_owners *lock_owners;
	uint32_t transition; /* that 'usual' is of; NONE = none yet */
	struct why usual[CHECK_SAMPLES];
	uint32_t usual_count;
};

/* A model without metrics of the kernel is checked without a timeline: then the thread id tells. */
static uint32_t slot_of(const struct explaining *explaining, const struct check_span *span)
{
	if (span->slot != SLOT_NONE || span->tid <= 0 ||
	    span->start_ns < explaining->timeline->origin_ns)
		return span->slot;
	return timeline_find_thread(explaining->timeline, span->tid, span->end_ns - 1);
}

static bool explaining_ask(const struct explaining *explaining, const struct check_span *span,
			   struct why *out_why)
{
	struct why_opts opts = {
		.slot = SLOT_NONE,
		.start_ns = span->start_ns,
		.end_ns = span->end_ns,
		.lock_owners = explaining->lock_owners,
	};

	if (span->start_ns >= span->end_ns || span->start_ns == 0)
		return false;
	opts.slot = slot_of(explaining, span);
	return opts.slot != SLOT_NONE &&
	       why_run(explaining->timeline, explaining->facts, &opts, out_why, NULL) == 0;
}

static void forget_usual(struct explaining *explaining)
{
	for (uint32_t i = 0; i < explaining->usual_count; i++)
		why_fini(&explaining->usual[i]);
	explaining->usual_count = 0;
	explaining->transition = NONE;
}

static void learn_usual(struct explaining *explaining, uint32_t transition)
{
	const struct check_transition *result;

	if (explaining->transition == transition)
		return;
	forget_usual(explaining);
	explaining->transition = transition;
	if (transition == NONE)
		return;
	result = &explaining->check->result.transitions[transition];
	for (uint32_t i = 0; i < result->sample_count; i++) {
		if (explaining_ask(explaining, &result->samples[i],
				   &explaining->usual[explaining->usual_count]))
			explaining->usual_count++;
	}
}

/* Threads have new numbers in each run, and pools of them do the same work: the name counts. */
static bool same_root(const struct why_root *a, const struct why_root *b)
{
	return a->kind == b->kind && strcmp(a->who.comm, b->who.comm) == 0 &&
	       why_root_compare_what(a, b) == 0 && why_root_compare_object(a, b) == 0;
}

static uint64_t time_of(const struct why *why, const struct why_root *root)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < why->root_count; i++)
		ns += same_root(&why->roots[i], root) ? why->roots[i].ns : 0;
	return ns;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static uint64_t usual_of(const struct explaining *explaining, const struct why_root *root)
{
	uint64_t times[CHECK_SAMPLES];
	uint32_t count = explaining->usual_count;

	if (!count)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		times[i] = time_of(&explaining->usual[i], root);
	qsort(times, count, sizeof(times[0]), by_size);
	return times[(count - 1) / 2];
}

static void find_grown(const struct explaining *explaining, struct check_finding *finding)
{
	uint64_t most = 0;

	finding->compared_with = explaining->usual_count;
	for (size_t i = 0; i < finding->why->root_count; i++) {
		const struct why_root *root = &finding->why->roots[i];
		uint64_t usual = usual_of(explaining, root);

		if (root->ns > usual && root->ns - usual > most) {
			most = root->ns - usual;
			finding->grown = (uint32_t)i;
			finding->usual_ns = usual;
		}
	}
}

bool check_same_span(const struct check_finding *a, const struct check_finding *b)
{
	return a->status == b->status && a->instance == b->instance &&
	       a->transition == b->transition && a->start_ns == b->start_ns &&
	       a->end_ns == b->end_ns;
}

static void explain_one(struct explaining *explaining, struct check_finding *finding)
{
	const struct check_span span = { finding->start_ns, finding->end_ns, finding->slot,
					 finding->tid };
	struct why *why = xcalloc(1, sizeof(*why));

	if (!explaining_ask(explaining, &span, why)) {
		free(why);
		return;
	}
	finding->why = why;
	learn_usual(explaining, finding->transition);
	find_grown(explaining, finding);
}

void check_explain(struct check *check, const struct timeline *timeline, const struct facts *facts,
		   struct lock_owners *lock_owners, uint32_t count)
{
	struct explaining explaining = { .check = check,
					 .timeline = timeline,
					 .facts = facts,
					 .lock_owners = lock_owners,
					 .transition = NONE };
	struct check_result *result = &check->result;

	for (size_t i = 0; i < result->finding_count && count > 0; i++) {
		if (result->findings[i].status != CHECK_INVALID)
			break;
		if (i > 0 && check_same_span(&result->findings[i - 1], &result->findings[i]))
			continue;
		if (!result->findings[i].why)
			explain_one(&explaining, &result->findings[i]);
		count--;
	}
	forget_usual(&explaining);
}

void check_live_explain(struct check *check, struct check_finding *finding,
			const struct timeline *timeline, const struct facts *facts)
{
	struct explaining explaining = {
		.check = check, .timeline = timeline, .facts = facts, .transition = NONE
	};

	if (!finding->why)
		explain_one(&explaining, finding);
	forget_usual(&explaining);
}
