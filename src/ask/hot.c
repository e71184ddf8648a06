/* hot.c - see hot.h: whose code is meant, and in which window. */
#include "ask/hot.h"

#include <errno.h>
#include <stdlib.h>

#include "ask/explain.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "timeline/timeline.h"

/* ------------------------------------------------------------------ the tree */

enum in_tree {
	TREE_ASKED_NOT,
	TREE_IN,
	TREE_OUT
};

struct tree {
	const struct timeline *timeline;
	uint8_t *in; /* owned; enum in_tree of each slot */
};

/* Its ancestors tell; what they told is kept with all that were asked on the way. */
static void tree_ask(struct tree *tree, uint32_t slot)
{
	uint32_t count = tree->timeline->thread_count, at = slot, steps = 0;
	uint8_t told;

	while (tree->in[at] == TREE_ASKED_NOT && tree->timeline->threads[at]->parent < count &&
	       steps++ < count)
		at = tree->timeline->threads[at]->parent;
	told = tree->in[at] == TREE_IN ? TREE_IN : TREE_OUT;
	for (at = slot; at < count && tree->in[at] == TREE_ASKED_NOT;
	     at = tree->timeline->threads[at]->parent)
		tree->in[at] = told;
}

/* Processes of which there are samples, and none that is of them. */
static void tree_plant_sampled(struct tree *tree, const struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->sample_count; i++) {
		const struct stack_sample *sample = &stacks->samples[i];
		uint32_t slot = timeline_find_thread(tree->timeline, sample->tid, sample->time_ns);

		if (slot != SLOT_NONE)
			tree->in[slot] = TREE_IN;
	}
}

/* All threads of a process are of it: who made the first one may not be known. */
static void tree_plant(struct tree *tree, const struct facts *facts)
{
	uint32_t root =
		timeline_near_thread(tree->timeline, facts->target_tid, facts->target_start_ns);

	if (root != SLOT_NONE)
		tree->in[root] = TREE_IN;
}

static void add_slot(struct targets *targets, uint32_t slot)
{
	targets->slots =
		vec_room(targets->slots, targets->count, &targets->cap, sizeof(*targets->slots));
	targets->slots[targets->count++] = slot;
}

static void add_tree(const struct loaded *loaded, struct targets *targets)
{
	struct tree tree = { loaded->timeline, xcalloc(loaded->timeline->thread_count + 1, 1) };

	if (loaded->facts->target_tid)
		tree_plant(&tree, loaded->facts);
	else if (loaded->facts->stacks)
		tree_plant_sampled(&tree, loaded->facts->stacks);
	for (uint32_t slot = 0; slot < loaded->timeline->thread_count; slot++) {
		tree_ask(&tree, slot);
		if (tree.in[slot] == TREE_IN)
			add_slot(targets, slot);
	}
	free(tree.in);
}

static void add_all(const struct timeline *timeline, struct targets *targets)
{
	for (uint32_t slot = 0; slot < timeline->thread_count; slot++) {
		if (timeline->threads[slot]->tid)
			add_slot(targets, slot);
	}
}

/* ------------------------------------------------------------------ the verdict */

static void add_spans(const struct why_work *spans, struct targets *targets)
{
	for (size_t i = 0; i < spans->count; i++) {
		if (!targets->count || targets->slots[targets->count - 1] != spans->at[i].slot)
			add_slot(targets, spans->at[i].slot);
	}
}

/* The window becomes that of the answer. */
static int find_path(const char *path, const struct hot_ask_opts *opts, struct hot_asked *asked,
		     struct why_work *spans, struct hot_opts *hot_opts, struct err *err)
{
	const struct explain_opts explain_opts = {
		.target = opts->target,
		.from = opts->from,
		.to = opts->to,
		.work = spans,
	};
	struct explanation answer = { 0 };
	struct beside beside = { 0 };
	int rc;

	beside_read(path, asked->loaded.facts, &beside);
	rc = explain_loaded(&asked->loaded, &beside, &explain_opts, &answer, err);
	why_work_end(spans);
	if (rc == 0) {
		hot_opts->start_ns = answer.results[0].start_ns;
		hot_opts->end_ns = answer.results[0].end_ns;
		for (size_t i = 1; i < answer.count; i++) {
			const struct why *why = &answer.results[i];

			if (why->start_ns < hot_opts->start_ns)
				hot_opts->start_ns = why->start_ns;
			if (why->end_ns > hot_opts->end_ns)
				hot_opts->end_ns = why->end_ns;
		}
		asked->note = answer.note;
		answer.note = NULL;
	}
	explanation_fini(&answer);
	beside_fini(&beside);
	return rc;
}

/* ------------------------------------------------------------------ all of it */

static bool is_chosen(const struct target_opts *target)
{
	return target->pid || target->tid || target->comm;
}

static int hot_find_window(const struct hot_ask_opts *opts, const struct hot_asked *asked,
			   struct hot_opts *hot_opts, struct err *err)
{
	const struct facts *facts = asked->loaded.facts;
	int rc = when_window(&asked->loaded, &opts->from, &opts->to, &hot_opts->start_ns,
			     &hot_opts->end_ns, err);

	/* Before its first instruction the command was the recorder. */
	if (rc == 0 && asked->scope == HOT_OF_TREE && opts->from.kind == WHEN_NONE &&
	    facts->target_tid && facts->target_start_ns > hot_opts->start_ns &&
	    facts->target_start_ns < hot_opts->end_ns)
		hot_opts->start_ns = facts->target_start_ns;
	return rc;
}

static enum hot_scope scope_of(const struct hot_ask_opts *opts, const struct facts *facts)
{
	bool was_all = facts->stacks && facts->stacks->sampling.period_ns
			       ? facts->stacks->sampling.is_all
			       : !facts->target_tid;

	if (opts->of_verdict)
		return HOT_OF_VERDICT;
	if (is_chosen(&opts->target))
		return HOT_OF_CHOSEN;
	return was_all ? HOT_OF_ALL : HOT_OF_TREE;
}

static int find_threads(const struct hot_ask_opts *opts, const struct hot_asked *asked,
			struct targets *targets, struct err *err)
{
	switch (asked->scope) {
	case HOT_OF_CHOSEN:
		return targets_find(asked->loaded.timeline, asked->loaded.facts, &opts->target,
				    targets, err);
	case HOT_OF_ALL:
		add_all(asked->loaded.timeline, targets);
		return 0;
	default:
		add_tree(&asked->loaded, targets);
		return 0;
	}
}

int hot_default(const struct loaded *loaded, const struct when *from, const struct when *to,
		struct hot_opts *out_opts, struct targets *out_targets, struct err *err)
{
	const struct hot_ask_opts opts = { .from = *from, .to = *to };
	const struct hot_asked asked = { .loaded = *loaded,
					 .scope = scope_of(&opts, loaded->facts) };
	int rc = hot_find_window(&opts, &asked, out_opts, err);

	return rc == 0 ? find_threads(&opts, &asked, out_targets, err) : rc;
}

static int ask_loaded(const char *path, const struct hot_ask_opts *opts, struct hot_asked *asked,
		      struct err *err)
{
	struct hot_opts hot_opts = { .by = opts->by,
				     .states = opts->states,
				     .waits = opts->waits,
				     .native = opts->native,
				     .tree = opts->tree };
	struct targets targets = { 0 };
	struct why_work spans = { 0 };
	int rc;

	asked->scope = scope_of(opts, asked->loaded.facts);
	if (asked->scope == HOT_OF_VERDICT) {
		rc = find_path(path, opts, asked, &spans, &hot_opts, err);
		add_spans(&spans, &targets);
		hot_opts.path = &spans;
	} else {
		rc = hot_find_window(opts, asked, &hot_opts, err);
		if (rc == 0)
			rc = find_threads(opts, asked, &targets, err);
	}
	hot_opts.slots = targets.slots;
	hot_opts.slot_count = targets.count;
	if (rc == 0)
		rc = hot_run(asked->loaded.timeline, asked->loaded.facts, &hot_opts, &asked->hot,
			     err);
	targets_fini(&targets);
	why_work_fini(&spans);
	return rc;
}

static int hot_check_damage(const struct loaded *loaded, struct err *err)
{
	const char *damage = timeline_damage(loaded->timeline);

	return damage ? err_set(err, -EIO, "%s; rebuild the index with holdup index --force",
				damage)
		      : 0;
}

int hot_ask(const char *path, const struct hot_ask_opts *opts, struct hot_asked *out_asked,
	    struct err *err)
{
	struct hot_asked asked = { 0 };
	int rc = explain_refuse(path, err);

	if (rc == 0)
		rc = loaded_open(path, &opts->load, &asked.loaded, err);
	if (rc == 0)
		rc = ask_loaded(path, opts, &asked, err);
	if (rc == 0)
		rc = hot_check_damage(&asked.loaded, err);
	if (rc < 0) {
		hot_asked_fini(&asked);
		return rc;
	}
	*out_asked = asked;
	return 0;
}

void hot_asked_fini(struct hot_asked *asked)
{
	hot_fini(&asked->hot);
	loaded_fini(&asked->loaded);
	free(asked->note);
	*asked = (struct hot_asked){ 0 };
}

static int functions_ask_loaded(const struct functions_ask_opts *opts,
				struct functions_asked *asked, struct err *err)
{
	const struct hot_ask_opts hot_ask_opts = { .from = opts->from,
						   .to = opts->to,
						   .target = opts->target };
	const struct hot_asked hot_asked = {
		.loaded = asked->loaded,
		.scope = scope_of(&hot_ask_opts, asked->loaded.facts),
	};
	struct functions_opts functions_opts = { .sort = opts->sort };
	struct hot_opts hot_opts = { 0 };
	struct targets targets = { 0 };
	int rc = hot_find_window(&hot_ask_opts, &hot_asked, &hot_opts, err);

	if (rc == 0)
		rc = find_threads(&hot_ask_opts, &hot_asked, &targets, err);
	functions_opts.start_ns = hot_opts.start_ns;
	functions_opts.end_ns = hot_opts.end_ns;
	functions_opts.slots = targets.slots;
	functions_opts.slot_count = targets.count;
	if (rc == 0)
		rc = functions_run(asked->loaded.timeline, asked->loaded.facts, &functions_opts,
				   &asked->functions, err);
	asked->scope = hot_asked.scope;
	targets_fini(&targets);
	return rc;
}

int functions_ask(const char *path, const struct functions_ask_opts *opts,
		  struct functions_asked *out_asked, struct err *err)
{
	struct functions_asked asked = { 0 };
	int rc = explain_refuse(path, err);

	if (rc == 0)
		rc = loaded_open(path, &opts->load, &asked.loaded, err);
	if (rc == 0)
		rc = functions_ask_loaded(opts, &asked, err);
	if (rc == 0)
		rc = hot_check_damage(&asked.loaded, err);
	if (rc < 0) {
		functions_asked_fini(&asked);
		return rc;
	}
	*out_asked = asked;
	return 0;
}

void functions_asked_fini(struct functions_asked *asked)
{
	functions_fini(&asked->functions);
	loaded_fini(&asked->loaded);
	*asked = (struct functions_asked){ 0 };
}
