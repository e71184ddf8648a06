/* explain.c - read, build the timeline, find the target and the window, ask why. */
#include "ask/explain.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/why/why.h"
#include "analyse/why/people.h"
#include "analyse/why/process.h"
#include "ask/explain_window.h"
#include "ask/lock_source.h"
#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/source.h"
#include "timeline/timeline.h"

#define MAX_EXPLAINED \
	1300u /* an answer may take 180 KiB, and all are kept until they are printed */

/*
 * The command's own window is what the recorder saw: from its first instruction to its end. A class
 * of delay is that of its life, as in holdup delays.
 */
static struct why_window window_of(const struct why_window *chosen, const struct facts *facts,
				   const struct tl_thread *thread, uint32_t classes)
{
	struct why_window window = *chosen;

	if (thread->tid != facts->target_tid || classes)
		return window;
	if (!window.start_ns)
		window.start_ns = facts->target_start_ns;
	if (!window.end_ns && facts->target_end_ns > window.start_ns)
		window.end_ns = facts->target_end_ns;
	return window;
}

/* One call under way. */
struct explaining {
	struct loaded *loaded;
	const struct beside *beside;
	const struct explain_opts *opts;
	struct explanation answer;
};

static void keep_result(struct explanation *answer, const struct why *why)
{
	answer->results =
		vec_room(answer->results, answer->count, &answer->cap, sizeof(*answer->results));
	answer->results[answer->count++] = *why;
}

/* Spans nearer to one another are joined; 0 = they are not asked for. */
static uint64_t spans_ns(const struct explaining *explaining, const struct why_window *window)
{
	const struct timeline *timeline = explaining->loaded->timeline;
	uint64_t start_ns = window->start_ns ? window->start_ns : timeline->origin_ns;
	uint64_t end_ns = window->end_ns ? window->end_ns : timeline->end_ns;
	uint32_t parts = explaining->opts->span_parts;

	return parts && end_ns > start_ns ? (end_ns - start_ns) / parts + 1 : parts;
}

static struct why_opts why_opts_of(const struct explaining *explaining,
				   const struct why_window *window)
{
	const struct explain_opts *opts = explaining->opts;
	const struct beside *beside = explaining->beside;

	return (struct why_opts){
		.depth = opts->depth,
		.min_ns = opts->min_ns,
		.want_waits = opts->want_waits,
		.spans_ns = spans_ns(explaining, window),
		.classes = opts->classes,
		.memory = &beside->memory,
		.lock_owners = beside->locks,
		.told = beside->told.spans,
		.work = opts->work,
	};
}

static void explain_one(struct explaining *explaining, uint32_t slot, const struct why_opts *opts,
			struct err *err)
{
	const struct timeline *timeline = explaining->loaded->timeline;
	struct err one = { 0 };
	struct why why = { 0 };

	if (why_run(timeline, explaining->loaded->facts, opts, &why, &one) < 0) {
		(void)err_wrap(&one, "explaining %s[%d]", timeline_comm(timeline, slot),
			       timeline->threads[slot]->tid);
		*err = one;
		return;
	}
	keep_result(&explaining->answer, &why);
}

/* All threads of a process, added up; 'main_slot' is among the targets. */
static int explain_process(struct explaining *explaining, const struct targets *targets,
			   const struct why_window *chosen, struct err *err)
{
	const struct timeline *timeline = explaining->loaded->timeline;
	const struct facts *facts = explaining->loaded->facts;
	size_t count = targets->count < MAX_EXPLAINED ? targets->count : MAX_EXPLAINED;
	AUTO_FREE struct why_part *parts = xcalloc(count, sizeof(*parts));
	const struct why_opts why_opts = why_opts_of(explaining, chosen);
	struct why why;
	int rc;

	for (size_t i = 0; i < count; i++) {
		uint32_t slot = targets->slots[i];
		struct why_window window = window_of(chosen, facts, timeline->threads[slot],
						     explaining->opts->classes);

		parts[i] = (struct why_part){ slot, window.start_ns, window.end_ns };
	}
	rc = why_process_run(timeline, facts, &why_opts, targets->main_slot, parts, count, &why,
			     err);
	if (rc == 0)
		keep_result(&explaining->answer, &why);
	return rc < 0 ? err_wrap(err, "explaining process %d",
				 timeline->threads[targets->main_slot]->tgid)
		      : 0;
}

/* The targets of explaining->opts, into the answer. */
static int explain_chosen(struct explaining *explaining, struct err *err)
{
	const struct explain_opts *opts = explaining->opts;
	const struct timeline *timeline = explaining->loaded->timeline;
	const struct facts *facts = explaining->loaded->facts;
	struct targets targets = { 0 };
	struct why_window chosen = { 0 };
	char *note = NULL;
	int rc = why_window_find(explaining->loaded, opts, &targets, &chosen, &note, err);

	free(explaining->answer.note); /* of the process before: it says the same of the window */
	explaining->answer.note = note;

	if (rc < 0) {
		targets_fini(&targets);
		return rc;
	}
	if (targets.count > MAX_EXPLAINED)
		why_window_note(
			&explaining->answer.note,
			xasprintf("Only %u of %zu threads are explained; choose with --tid or "
				  "--comm.",
				  MAX_EXPLAINED, targets.count));
	if (opts->target.pid && !opts->target.threads) {
		rc = explain_process(explaining, &targets, &chosen, err);
		targets_fini(&targets);
		return rc;
	}
	for (size_t i = 0; i < targets.count && i < MAX_EXPLAINED; i++) {
		uint32_t slot = targets.slots[i];
		struct why_window window =
			window_of(&chosen, facts, timeline->threads[slot], opts->classes);
		struct why_opts why_opts = why_opts_of(explaining, &chosen);

		why_opts.slot = slot;
		why_opts.start_ns = window.start_ns;
		why_opts.end_ns = window.end_ns;
		explain_one(explaining, slot, &why_opts, err);
	}
	targets_fini(&targets);
	return explaining->answer.count > 0 ? 0 : err->code;
}

/* What it spent with work, without a CPU, or held up by what did come: most of it is looked at first. */
static uint64_t busy_ns(const struct why *why)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < why->root_count; i++) {
		const struct why_root *root = &why->roots[i];
		bool waits = root->class == WHY_IDLE || root->class == WHY_ASKED ||
			     (root->kind == WHY_STUCK && !root->in_circle);

		ns += waits ? 0 : root->ns;
	}
	return ns;
}

static int by_business(const void *a, const void *b)
{
	const struct why *x = a, *y = b;
	uint64_t x_ns = busy_ns(x), y_ns = busy_ns(y);

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return x->target.tid < y->target.tid ? -1 : x->target.tid > y->target.tid;
}

/* One answer for each process. One that did not live in the window is left out. */
static int explain_processes(struct explaining *explaining, struct err *err)
{
	struct explain_opts opts = *explaining->opts;
	struct explaining each = *explaining;
	const struct timeline *timeline = explaining->loaded->timeline;
	struct targets processes = { 0 };
	struct err one = { 0 };
	int rc = targets_find_processes(timeline, explaining->loaded->facts, &opts.target,
					&processes, err);

	each.opts = &opts;
	for (size_t i = 0; rc == 0 && i < processes.count && i < MAX_EXPLAINED; i++) {
		uint32_t slot = processes.slots[i];

		opts.target = (struct target_opts){ .pid = timeline->threads[slot]->tgid,
						    .at_slot = slot + 1 };
		(void)explain_chosen(&each, &one);
	}
	explaining->answer = each.answer;
	targets_fini(&processes);
	if (rc < 0)
		return rc;
	if (explaining->answer.count == 0)
		return err_set(err, one.code ? one.code : -ESRCH, "%s",
			       one.code ? one.text : "no process lived in the window");
	qsort(explaining->answer.results, explaining->answer.count, sizeof(struct why),
	      by_business);
	return 0;
}

static int explain_targets(struct explaining *explaining, struct err *err)
{
	const struct target_opts *target = &explaining->opts->target;

	return target->every || target->pid_count ? explain_processes(explaining, err)
						  : explain_chosen(explaining, err);
}

void explanation_fini(struct explanation *explanation)
{
	for (size_t i = 0; i < explanation->count; i++)
		why_fini(&explanation->results[i]);
	free(explanation->results);
	free(explanation->note);
	*explanation = (struct explanation){ 0 };
}

int explain_loaded(struct loaded *loaded, const struct beside *beside,
		   const struct explain_opts *opts, struct explanation *out_explanation,
		   struct err *err)
{
	struct explaining explaining = { .loaded = loaded, .beside = beside, .opts = opts };
	struct err local = { 0 }; /* the caller's may be NULL; a skipped target writes here too */
	int rc = explain_targets(&explaining, &local);

	if (rc < 0) {
		explanation_fini(&explaining.answer);
		return err_set(err, rc, "%s", local.text);
	}
	if (explaining.answer.count == 1)
		why_tell_people(loaded->timeline, loaded->facts, &explaining.answer.results[0]);
	*out_explanation = explaining.answer;
	return 0;
}

int explain_refuse(const char *path, struct err *err)
{
	struct source *source;
	bool only_programs;

	if (!lock_source_is_of_programs(path) || lock_source_open(path, &source, NULL) < 0)
		return 0;
	only_programs = lock_source_facts(source)->only_programs;
	source_close(source);
	if (!only_programs)
		return 0;
	return err_set(err, -ENODATA,
		       "%s has no sched:sched_switch events, so runs and waits of threads are "
		       "unknown. holdup list and holdup stats show its events; sudo holdup why -- "
		       "COMMAND records all",
		       path);
}

static int explain_damaged(const char *path, const struct explain_opts *opts,
			   struct explained *explained, struct err *err)
{
	AUTO_FREE char *damage = xstrdup(timeline_damage(explained->loaded.timeline));
	struct load_opts load = opts->load;
	int rc;

	loaded_fini(&explained->loaded);
	load.flags |= LOAD_REBUILD;
	rc = loaded_open(path, &load, &explained->loaded, err);
	if (rc == 0 && !explained->loaded.note)
		explained->loaded.note = xasprintf("The index was rebuilt: %s.", damage);
	if (rc == 0)
		rc = explain_loaded(&explained->loaded, &explained->beside, opts,
				    &explained->answer, err);
	if (rc == 0 && timeline_damage(explained->loaded.timeline))
		rc = err_set(err, -EIO, "%s", timeline_damage(explained->loaded.timeline));
	return rc;
}

static int explain_opened(const char *path, const struct explain_opts *opts,
			  struct explained *explained, struct err *err)
{
	uint32_t memory = opts->classes & WHY_CLASS_MEMORY;
	int rc = 0;

	beside_read(path, explained->loaded.facts, &explained->beside);
	if (memory)
		rc = beside_read_memory(path, &explained->loaded, memory, &explained->beside, err);
	if (rc == 0)
		rc = explain_loaded(&explained->loaded, &explained->beside, opts,
				    &explained->answer, err);
	if (!timeline_damage(explained->loaded.timeline))
		return rc;
	/* A damaged index answers nothing. */
	explanation_fini(&explained->answer);
	return explain_damaged(path, opts, explained, err);
}

int explain_trace(const char *path, const struct explain_opts *opts,
		  struct explained *out_explained, struct err *err)
{
	struct explained explained = { 0 };
	int rc = explain_refuse(path, err);

	if (rc == 0)
		rc = loaded_open(path, &opts->load, &explained.loaded, err);
	if (rc == 0)
		rc = explain_opened(path, opts, &explained, err);
	if (rc < 0) {
		explained_fini(&explained);
		return rc;
	}
	explained.facts = explained.loaded.facts;
	*out_explained = explained;
	return 0;
}

void explained_fini(struct explained *explained)
{
	explanation_fini(&explained->answer);
	beside_fini(&explained->beside);
	loaded_fini(&explained->loaded);
	explained->facts = NULL;
}
