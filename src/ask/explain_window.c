/* explain_window.c - targets first, then the events of theirs that bound the window. */
#include "ask/explain_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask/explain.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "fields/find.h"
#include "read/read.h"
#include "timeline/timeline.h"

struct finding {
	struct loaded *loaded;
	struct trace_thread *threads; /* owned; of the targets */
	size_t count;
	char *note;  /* owned; NULL = all is as asked for */
	int32_t tid; /* of whom the event of --from is; -1 = not known */
};

void why_window_note(char **note, char *text)
{
	char *old = *note;

	*note = old ? xasprintf("%s %s", old, text) : xstrdup(text);
	free(old);
	free(text);
}

/* Is the thread one of those whose events count? Of a process, all are. */
static bool is_of_targets(const struct timeline *tl, const struct targets *targets, uint32_t slot,
			  bool of_process)
{
	for (size_t i = 0; i < targets->count; i++) {
		const struct tl_thread *target = tl->threads[targets->slots[i]];

		if (targets->slots[i] == slot ||
		    (of_process && target->tgid > 0 && tl->threads[slot]->tgid == target->tgid))
			return true;
	}
	return false;
}

static void learn_threads(struct finding *finding, const struct targets *targets, bool of_process)
{
	const struct timeline *tl = finding->loaded->timeline;

	finding->threads = xcalloc(tl->thread_count + 1, sizeof(*finding->threads));
	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		const struct tl_thread *thread = tl->threads[slot];

		if (thread->tid && is_of_targets(tl, targets, slot, of_process))
			finding->threads[finding->count++] =
				(struct trace_thread){ thread->tid, thread->birth_ns,
						       thread->death_ns };
	}
}

/* "make[512]" for a thread that ran then, "a thread not known" for none. */
static char *thread_name(const struct timeline *tl, const struct trace_found *found)
{
	uint32_t slot =
		found->tid > 0 ? timeline_find_thread(tl, found->tid, found->time_ns) : SLOT_NONE;
	AUTO_FREE char *safe = slot == SLOT_NONE ? NULL : text_escaped(timeline_comm(tl, slot));

	return safe ? xasprintf("%s[%d]", safe, found->tid)
		    : xstrdup("an interrupt or an unknown thread");
}

/* The event of the targets, else that of anybody, which is said. */
static int find_event(struct finding *finding, const struct when *when, bool last, uint64_t from_ns,
		      struct trace_found *out_found, struct err *err)
{
	struct trace_find find = { when->event, last, from_ns, finding->threads, finding->count };
	int rc = trace_find_of(finding->loaded->trace, &find, out_found, err);

	if (rc == 0 && finding->count) {
		find.thread_count = 0;
		rc = trace_find_of(finding->loaded->trace, &find, out_found, err);
		if (rc > 0) {
			AUTO_FREE char *name = thread_name(finding->loaded->timeline, out_found);
			AUTO_FREE char *safe = text_escaped(when->event);

			why_window_note(
				&finding->note,
				xasprintf("None of the target's events matches \"%s\"%s; the "
					  "event of %s is used.",
					  safe, from_ns ? " after --from" : "", name));
		}
	}
	if (rc == 0)
		return err_set(err, -ENOENT, "no event matches \"%s\"%s", when->event,
			       from_ns ? " after --from" : "");
	return rc < 0 ? rc : 0;
}

static int find_start(struct finding *finding, const struct when *from, uint64_t *out_ns,
		      struct err *err)
{
	struct trace_found found;
	int rc;

	if (from->kind != WHEN_EVENT)
		return when_find(finding->loaded->trace, from, 0, 0, out_ns, err);
	rc = find_event(finding, from, from->last, 0, &found, err);
	if (rc == 0) {
		*out_ns = found.time_ns;
		finding->tid = found.tid;
	}
	return rc;
}

/* Behind an event the next one ends the window, unless the last one is asked for. */
static int find_end(struct finding *finding, const struct explain_opts *opts, uint64_t start_ns,
		    uint64_t *out_ns, struct err *err)
{
	const struct when *to = &opts->to;
	bool last = to->last && (to->is_chosen || opts->from.kind == WHEN_NONE);
	struct trace_found found;
	int rc;

	if (to->kind != WHEN_EVENT)
		return when_find(finding->loaded->trace, to, start_ns, 0, out_ns, err);
	rc = find_event(finding, to, last, start_ns ? start_ns + 1 : 0, &found, err);
	if (rc == 0)
		*out_ns = found.time_ns;
	return rc;
}

static int explain_find_window(struct finding *finding, const struct explain_opts *opts,
			       const struct why_window *known, struct why_window *out_window,
			       struct err *err)
{
	struct why_window window = *known;
	int rc = window.start_ns ? 0 : find_start(finding, &opts->from, &window.start_ns, err);

	if (rc < 0)
		return err_wrap(err, "searching for the start of the window (--from)");
	rc = find_end(finding, opts, window.start_ns, &window.end_ns, err);
	if (rc < 0)
		return err_wrap(err, "searching for the end of the window (--to)");
	if (window.end_ns && window.end_ns <= window.start_ns)
		return err_set(err, -EINVAL, "the window ends (--to) before it starts (--from)");
	*out_window = window;
	return 0;
}

/* Nobody was named, and no command was recorded: the event of --from has a thread. */
static int find_named(struct finding *finding, const struct explain_opts *opts,
		      struct targets *out_targets, struct why_window *out_window, struct err *err)
{
	const struct timeline *tl = finding->loaded->timeline;
	struct why_window window = { 0 };
	struct target_opts named = opts->target;
	uint32_t slot;
	int rc = find_start(finding, &opts->from, &window.start_ns, err);

	if (rc < 0)
		return err_wrap(err, "searching for the start of the window (--from)");
	slot = finding->tid > 0 ? timeline_find_thread(tl, finding->tid, window.start_ns)
				: SLOT_NONE;
	if (slot == SLOT_NONE)
		return err_set(err, -ESRCH,
			       "the event of --from has no thread; choose with --pid, --tid or "
			       "--comm");
	named.at_slot = slot + 1;
	rc = targets_find(tl, finding->loaded->facts, &named, out_targets, err);
	*out_window = window;
	return rc;
}

int why_window_find(struct loaded *loaded, const struct explain_opts *opts,
		    struct targets *out_targets, struct why_window *out_window, char **out_note,
		    struct err *err)
{
	struct finding finding = { .loaded = loaded, .tid = -1 };
	const struct target_opts *target = &opts->target;
	bool is_named = target->pid || target->tid || target->comm || loaded->facts->target_tid;
	struct why_window window = { 0 };
	int rc;

	if (!is_named && opts->from.kind == WHEN_EVENT)
		rc = find_named(&finding, opts, out_targets, &window, err);
	else
		rc = targets_find(loaded->timeline, loaded->facts, target, out_targets, err);
	if (rc == 0) {
		if (opts->from.kind == WHEN_EVENT || opts->to.kind == WHEN_EVENT)
			learn_threads(&finding, out_targets, !target->tid && !target->comm);
		rc = explain_find_window(&finding, opts, &window, out_window, err);
	}
	free(finding.threads);
	if (rc == 0)
		*out_note = finding.note;
	else
		free(finding.note);
	return rc;
}
