/* explain.c - read, build the timeline, find the target and the window, ask why. */
#include "cli/explain.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/lock_owner.h"
#include "analyse/why.h"
#include "analyse/why_people.h"
#include "analyse/why_process.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/lock_source.h"
#include "cli/memory_events.h"
#include "cli/why_window.h"
#include "event/facts.h"
#include "event/source.h"
#include "timeline/timeline.h"

#define MAX_EXPLAINED 2000u /* an answer may take 64 KiB, and all are kept until they are printed */

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

static void keep_result(struct explained *explained, const struct why *why)
{
	explained->results = vec_room(explained->results, explained->count, &explained->cap,
				      sizeof(*explained->results));
	explained->results[explained->count++] = *why;
}

static struct why_opts why_opts_of(struct explained *explained, const struct explain_opts *opts)
{
	return (struct why_opts){
		.depth = opts->depth,
		.min_ns = opts->min_ns,
		.want_waits = opts->want_waits,
		.classes = opts->classes,
		.memory = &explained->memory,
		.lock_owners = explained->locks,
		.told = explained->told.spans,
	};
}

static void explain_one(struct explained *explained, uint32_t slot, const struct why_opts *opts,
			struct err *err)
{
	const struct timeline *timeline = explained->loaded.timeline;
	struct err one = { 0 };
	struct why why = { 0 };

	if (why_run(timeline, explained->loaded.facts, opts, &why, &one) < 0) {
		(void)err_wrap(&one, "explaining %s[%d]", timeline_comm(timeline, slot),
			       timeline->threads[slot]->tid);
		*err = one;
		return;
	}
	keep_result(explained, &why);
}

/* All threads of a process, added up; 'main_slot' is among the targets. */
static int explain_process(struct explained *explained, const struct explain_opts *opts,
			   const struct targets *targets, const struct why_window *chosen,
			   struct err *err)
{
	const struct timeline *timeline = explained->loaded.timeline;
	const struct facts *facts = explained->loaded.facts;
	size_t count = targets->count < MAX_EXPLAINED ? targets->count : MAX_EXPLAINED;
	AUTO_FREE struct why_part *parts = xcalloc(count, sizeof(*parts));
	const struct why_opts why_opts = why_opts_of(explained, opts);
	struct why why;
	int rc;

	for (size_t i = 0; i < count; i++) {
		uint32_t slot = targets->slots[i];
		struct why_window window =
			window_of(chosen, facts, timeline->threads[slot], opts->classes);

		parts[i] = (struct why_part){ slot, window.start_ns, window.end_ns };
	}
	rc = why_process_run(timeline, facts, &why_opts, targets->main_slot, parts, count, &why,
			     err);
	if (rc == 0)
		keep_result(explained, &why);
	return rc < 0 ? err_wrap(err, "explaining process %d",
				 timeline->threads[targets->main_slot]->tgid)
		      : 0;
}

static int explain_targets(struct explained *explained, const struct explain_opts *opts,
			   struct err *err)
{
	const struct timeline *timeline = explained->loaded.timeline;
	const struct facts *facts = explained->loaded.facts;
	struct targets targets = { 0 };
	struct why_window chosen = { 0 };
	int rc;

	free(explained->note);
	explained->note = NULL;
	rc = why_window_find(&explained->loaded, opts, &targets, &chosen, &explained->note, err);

	if (rc < 0) {
		targets_fini(&targets);
		return rc;
	}
	if (targets.count > MAX_EXPLAINED)
		why_window_note(
			&explained->note,
			xasprintf(
				"Only %u of %zu threads are explained: choose by --tid or --comm.",
				MAX_EXPLAINED, targets.count));
	if (opts->target.pid && !opts->target.threads && targets.count > 1) {
		rc = explain_process(explained, opts, &targets, &chosen, err);
		targets_fini(&targets);
		return rc;
	}
	for (size_t i = 0; i < targets.count && i < MAX_EXPLAINED; i++) {
		uint32_t slot = targets.slots[i];
		struct why_window window =
			window_of(&chosen, facts, timeline->threads[slot], opts->classes);
		struct why_opts why_opts = why_opts_of(explained, opts);

		why_opts.slot = slot;
		why_opts.start_ns = window.start_ns;
		why_opts.end_ns = window.end_ns;
		explain_one(explained, slot, &why_opts, err);
	}
	targets_fini(&targets);
	return explained->count > 0 ? 0 : err->code;
}

/* What programs told of their locks; without it the kernel's events answer alone. */
static void learn_locks(const char *path, struct explained *explained)
{
	struct source *source;
	struct err err = { 0 };
	int rc = lock_source_open_beside(path, &source, &err);

	if (rc == 0 && source)
		rc = lock_owners_new(source, lock_source_facts(source)->last_ns, &explained->locks,
				     &err);
	if (rc < 0 && !explained->loaded.note)
		explained->loaded.note =
			xasprintf("Locks are told as the kernel saw them: %s.", err.text);
	source_close(source);
}

/* What programs said at known points; without it the kernel's events answer alone. */
static void learn_told(const char *path, struct explained *explained)
{
	struct err err = { 0 };

	if (app_events_read(path, explained->loaded.facts, &explained->told, &err) < 0 &&
	    !explained->loaded.note)
		explained->loaded.note =
			xasprintf("What programs said at known points is left out: %s.", err.text);
}

/* The events that tell of the classes asked for, if any do. -ENODATA: they were not recorded. */
static int learn_memory(const char *path, const struct explain_opts *opts,
			struct explained *explained, struct err *err)
{
	uint32_t wanted = opts->classes & WHY_CLASS_MEMORY;
	int rc;

	if (!wanted)
		return 0;
	rc = memory_events_read(&explained->loaded, path, &explained->memory, err);
	if (rc == 0 && !(explained->memory.classes & wanted))
		rc = err_set(err, -ENODATA, "this recording does not tell of %s: it needs %s",
			     why_class_words(wanted),
			     memory_class_events(wanted & 1u << DELAYS_RECLAIM
							 ? DELAYS_RECLAIM
							 : DELAYS_COMPACTION));
	return rc;
}

static void forget_results(struct explained *explained)
{
	for (size_t i = 0; i < explained->count; i++)
		why_fini(&explained->results[i]);
	free(explained->results);
	explained->results = NULL;
	explained->count = explained->cap = 0;
}

/* An index that turns out to be damaged answers nothing: it is built again, once. */
static int explain_again(const char *path, const struct explain_opts *opts,
			 struct explained *explained, struct err *err)
{
	AUTO_FREE char *damage = xstrdup(timeline_damage(explained->loaded.timeline));
	int rc;

	forget_results(explained);
	loaded_fini(&explained->loaded);
	rc = load_trace(path, LOAD_REBUILD, &explained->loaded, err);
	if (rc == 0 && !explained->loaded.note)
		explained->loaded.note = xasprintf("The index was built again: %s.", damage);
	if (rc == 0)
		rc = explain_targets(explained, opts, err);
	if (rc == 0 && timeline_damage(explained->loaded.timeline))
		rc = err_set(err, -EIO, "%s", timeline_damage(explained->loaded.timeline));
	return rc;
}

int explain_trace(const char *path, const struct explain_opts *opts,
		  struct explained *out_explained, struct err *err)
{
	struct explained explained = { 0 };
	struct err local = { 0 }; /* the caller's may be NULL; a skipped target writes here too */
	int rc = load_trace(path, 0, &explained.loaded, &local);

	if (rc == 0) {
		learn_locks(path, &explained);
		learn_told(path, &explained);
		rc = learn_memory(path, opts, &explained, &local);
	}
	if (rc == 0) {
		rc = explain_targets(&explained, opts, &local);
	}
	if (explained.loaded.timeline && timeline_damage(explained.loaded.timeline))
		rc = explain_again(path, opts, &explained, &local);
	if (rc == 0 && explained.count == 1)
		why_tell_people(explained.loaded.timeline, explained.loaded.facts,
				&explained.results[0]);
	if (rc == 0) {
		explained.facts = explained.loaded.facts;
		*out_explained = explained;
		return 0;
	}
	explained_fini(&explained);
	return err_set(err, rc, "%s", local.text);
}

void explained_fini(struct explained *explained)
{
	forget_results(explained);
	memory_spans_fini(&explained->memory);
	lock_owners_free(explained->locks);
	app_events_fini(&explained->told);
	explained->locks = NULL;
	free(explained->note);
	explained->note = NULL;
	loaded_fini(&explained->loaded);
	explained->facts = NULL;
}
