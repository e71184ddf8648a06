/*
 * folded.c - stacks for flame graphs: a thread, its state, and the chain of causes down to the root
 * that the time is charged to, as in the verdict of holdup why.
 *
 *	make[512];make[512];blocked;wait4;cc[514]: read /src/a.c;disk vda 4096 B read 123456
 *
 * The lines of a thread add up to its time in the measure, to the nanosecond.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stats/states.h"
#include "analyse/why/why.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/outbuf.h"
#include "base/text.h"
#include "export/export.h"
#include "export/folded.h"
#include "report/why_reason.h"
#include "timeline/timeline.h"

#define LINE_BYTES 65536u
#define MAX_PATHS  4000000u /* of all threads; where each waits for all others, they are many */

void folded_frame(struct outbuf *out, const char *text)
{
	AUTO_FREE char *safe = text_escaped(text);

	for (char *at = safe; *at; at++)
		*at = *at == ';' ? ',' : *at;
	if (outbuf_bytes(out))
		outbuf_char(out, ';');
	outbuf_string(out, *safe ? safe : "-");
}

static void put_joined(struct outbuf *out, const char *first, const char *second)
{
	AUTO_FREE char *text = xasprintf("%s%s%s", first, *first && *second ? " " : "", second);

	folded_frame(out, text);
}

static void folded_put_step(struct outbuf *out, const struct why_step *step, bool is_first)
{
	const char *object = step->lock ? step->lock : step->object;
	AUTO_FREE char *who =
		is_first ? xstrdup("") : xasprintf("%s[%d]: ", step->who.comm, step->who.tid);
	AUTO_FREE char *what = xasprintf("%s%s", who, step->what);

	put_joined(out, what, object);
}

/*
 * A chain of causes may be as long as the trace, for each of its threads: what lies deeper than this
 * is one frame, its root too, so that the lines of a thread and their length have a bound.
 */
#define SHOWN_STEPS 20u

/* Of a step: how deep it is, from 1, and the step at the bound on the way to it, or itself. */
struct depth {
	uint32_t depth, shown;
	uint64_t deeper_ns; /* of paths that end below it, where it is at the bound */
};

static struct depth *depths_of(const struct why *why)
{
	struct depth *depths = xcalloc(why->step_count + 1, sizeof(*depths));

	/* What is above a step comes before it. */
	for (uint32_t i = 0; i < why->step_count; i++) {
		uint32_t up = why->steps[i].up;
		bool is_top = up >= i;

		depths[i].depth = is_top ? 1 : depths[up].depth + 1;
		depths[i].shown = depths[i].depth <= SHOWN_STEPS ? i : depths[up].shown;
	}
	return depths;
}

static bool is_deep(const struct why *why, const struct depth *depths, uint32_t step)
{
	return step < why->step_count && depths[step].depth > SHOWN_STEPS;
}

/* From the target down to the step, which is not deep. */
static void folded_put_steps(struct outbuf *out, const struct why *why, const struct depth *depths,
			     uint32_t last)
{
	uint32_t shown[SHOWN_STEPS], count;

	if (last >= why->step_count)
		return;
	count = depths[last].depth;
	for (uint32_t i = count, at = last; i > 0; i--, at = why->steps[at].up)
		shown[i - 1] = at;
	for (uint32_t i = 0; i < count; i++)
		folded_put_step(out, &why->steps[shown[i]], i == 0);
}

static void folded_put_root(struct outbuf *out, const struct why_path *path)
{
	AUTO_FREE char *who = NULL, *what = NULL;
	AUTO_FREE char *did = report_why_named(path->what, path->why);
	AUTO_FREE char *object = report_why_object(path->object, path->objects);

	switch (path->kind) {
	case WHY_WORKING:
		folded_frame(out, *did ? did : "several things");
		return;
	case WHY_LOCK:
	case WHY_OTHER_THREAD:
	case WHY_PREEMPTED:
	case WHY_CPU_QUEUE:
		if (path->who.tid) {
			who = xasprintf("%s[%d]%s%s", path->who.comm, path->who.tid,
					*did ? ": " : "", did);
			folded_frame(out, who);
			return;
		}
		folded_frame(out, did);
		return;
	default:
		what = xasprintf("%s: %s", why_kind_name(path->kind), did);
		put_joined(out, what, object);
		return;
	}
}

static const char *folded_state_of(const struct why_path *path)
{
	if (path->step != UINT32_MAX)
		return "blocked";
	if (path->runnable)
		return "no CPU";
	if (path->kind == WHY_WORKING)
		return "working";
	return path->kind == WHY_UNKNOWN ? "uncertain" : "interrupted";
}

static bool is_measured(const struct why_path *path, enum export_measure measure)
{
	if (measure == EXPORT_WALL)
		return true;
	if (measure == EXPORT_WORKING)
		return path->step == UINT32_MAX && !path->runnable && path->kind == WHY_WORKING;
	return path->step != UINT32_MAX || (measure == EXPORT_WAITING && path->runnable);
}

void folded_add(struct folded_lines *lines, const char *text, uint64_t ns)
{
	uint32_t id = names_add(&lines->texts, text, LINE_BYTES);
	size_t before = lines->cap;

	while (id >= lines->cap)
		lines->ns = vec_room(lines->ns, lines->cap, &lines->cap, sizeof(*lines->ns));
	if (lines->cap > before)
		memset(lines->ns + before, 0, (lines->cap - before) * sizeof(*lines->ns));
	lines->ns[id] += ns;
}

void folded_print(const struct folded_lines *lines, FILE *out)
{
	for (uint32_t id = 1; id < lines->texts.count; id++)
		fprintf(out, "%s %" PRIu64 "\n", names_text(&lines->texts, id), lines->ns[id]);
}

void folded_fini(struct folded_lines *lines)
{
	names_fini(&lines->texts);
	free(lines->ns);
}

static void folded_put_head(struct outbuf *out, const char *process, const char *thread,
			    const char *state)
{
	folded_frame(out, process);
	folded_frame(out, thread);
	folded_frame(out, state);
}

static void folded_put_thread(const struct export_job *job, uint32_t slot, const struct why *why,
			      FILE *out)
{
	const struct timeline *tl = job->timeline;
	int32_t tgid = why->target.tgid > 0 ? why->target.tgid : why->target.tid;
	uint32_t leader = timeline_find_thread(tl, tgid, why->end_ns);
	AUTO_FREE char *process =
		xasprintf("%s[%d]", timeline_comm(tl, leader == SLOT_NONE ? slot : leader), tgid);
	AUTO_FREE char *thread = xasprintf("%s[%d]", why->target.comm, why->target.tid);
	AUTO_FREE struct depth *depths = depths_of(why);
	struct folded_lines lines = { 0 };
	struct outbuf text;

	outbuf_to_memory(&text);
	for (size_t i = 0; i < why->path_count; i++) {
		const struct why_path *path = &why->paths[i];

		if (!path->ns || !is_measured(path, job->measure))
			continue;
		if (is_deep(why, depths, path->step)) {
			depths[depths[path->step].shown].deeper_ns += path->ns;
			continue;
		}
		outbuf_reset(&text);
		folded_put_head(&text, process, thread, folded_state_of(path));
		folded_put_steps(&text, why, depths, path->step);
		folded_put_root(&text, path);
		outbuf_char(&text, '\0');
		folded_add(&lines, text.start, path->ns);
	}
	for (uint32_t step = 0; step < why->step_count; step++) {
		if (!depths[step].deeper_ns)
			continue;
		outbuf_reset(&text);
		folded_put_head(&text, process, thread, "blocked");
		folded_put_steps(&text, why, depths, step);
		folded_frame(&text, "...");
		outbuf_char(&text, '\0');
		folded_add(&lines, text.start, depths[step].deeper_ns);
	}
	folded_print(&lines, out);
	outbuf_fini(&text);
	folded_fini(&lines);
}

int export_folded(struct export_job *job, FILE *out, struct err *err)
{
	const struct timeline *tl = job->timeline;
	size_t paths = 0;

	for (uint32_t slot = 0; slot < tl->thread_count && !ferror(out); slot++) {
		struct states_opts window = { .slot = slot,
					      .start_ns = job->start_ns,
					      .end_ns = job->end_ns };
		struct why_opts opts = { .slot = slot,
					 .want_paths = true,
					 .lock_owners = job->locks };
		struct why why;

		if (tl->threads[slot]->tid == 0 || !export_is_chosen(job, slot) ||
		    states_window(tl, &window, NULL) < 0)
			continue;
		opts.start_ns = window.start_ns;
		opts.end_ns = window.end_ns;
		if (why_run(tl, job->facts, &opts, &why, NULL) < 0)
			continue; /* nothing of it lies in the window */
		folded_put_thread(job, slot, &why, out);
		paths += why.path_count;
		why_fini(&why);
		if (paths > MAX_PATHS)
			return err_set(
				err, -E2BIG,
				"threads waited for each other in more than %u ways: choose some "
				"by --pid, --tid or --comm, or a shorter window",
				MAX_PATHS);
	}
	if (timeline_damage(tl))
		return err_set(err, -EIO, "%s: holdup index builds it again", timeline_damage(tl));
	return 0;
}
