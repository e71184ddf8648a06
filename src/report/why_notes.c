/*
 * why_notes.c - what the numbers rest on, and what is missing under them.
 *
 * Nothing is printed when there is nothing to know: a report without notes is
 * whole.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "event/steps.h"
#include "report/table.h"
#include "report/vocabulary.h"
#include "report/why_int.h"

#define THROTTLES_TOLD 3

struct notes {
	const struct page *page;
	size_t count;
};

__attribute__((format(printf, 2, 3))) static void note(struct notes *notes, const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *safe = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	if (notes->count++ == 0)
		page_heading(notes->page, "Notes:");
	safe = text_escaped(text);
	fputs("  ", notes->page->out);
	table_wrap(notes->page->out, safe, 2);
}

static void note_status(struct notes *notes)
{
	const struct facts *facts = notes->page->facts;
	int status = facts->target_status;

	if (notes->page->why->target.tid != facts->target_tid || status <= 0)
		return;
	if (WIFSIGNALED(status))
		note(notes, "The command was killed by signal %d (%s).", WTERMSIG(status),
		     sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
	else if (WIFEXITED(status))
		note(notes, "The command exited with status %d.", WEXITSTATUS(status));
}

/* Each hole of the recording is one that a budget made. */
static bool paused_only(const struct facts *facts)
{
	bool paused = false;

	for (size_t i = 0; i < facts->step_count; i++)
		paused |= facts->steps[i].step == STEP_NONE;
	for (size_t i = 0; i < facts->cpu_count; i++)
		paused &= facts->cpus[i].lost == 0;
	return paused && facts->damage_count == 0;
}

static void why_notes_note_lost(struct notes *notes)
{
	const struct why *why = notes->page->why;
	const struct facts *facts = notes->page->facts;
	/* The buffer was full, and the kernel has counted; else the file is cut. */
	bool full = facts->damage_count == 0 && facts->complete;

	if (why->lost_events == 0 && why->lost_span_ns == 0)
		return;
	if (paused_only(facts)) {
		note(notes,
		     "Nothing was recorded for %s of the window, to keep to the budget. That time is "
		     "uncertain.",
		     text_duration(why->lost_span_ns).s);
		return;
	}
	note(notes,
	     "%s%s event%s lost; %s of the window lies in holes of the recording. Affected time "
	     "is uncertain or unknown.%s",
	     full ? "" : "At least ", text_count(why->lost_events).s,
	     why->lost_events == 1 ? " was" : "s were", text_duration(why->lost_span_ns).s,
	     full ? " A larger --buffer loses fewer." : "");
	for (size_t i = 0; i < facts->cpu_count; i++) {
		if (facts->cpus[i].lost > 0)
			note(notes, "CPU %zu lost %s events in the whole recording.", i,
			     text_count(facts->cpus[i].lost).s);
	}
}

static void note_repairs(struct notes *notes)
{
	const struct why *why = notes->page->why;

	if (why->repairs == 0)
		return;
	if (why->repairs_exact >= why->repairs)
		note(notes,
		     "%s context switch%s to a thread %s not recorded in the whole recording; "
		     "other events give the exact time of %s.",
		     text_count(why->repairs).s, why->repairs == 1 ? "" : "es",
		     why->repairs == 1 ? "was" : "were", why->repairs == 1 ? "it" : "all of them");
	else
		note(notes,
		     "%s context switch%s to a thread %s not recorded in the whole recording; "
		     "other events give the exact time of %s. The others leave %s of the window "
		     "uncertain.",
		     text_count(why->repairs).s, why->repairs == 1 ? "" : "es",
		     why->repairs == 1 ? "was" : "were", text_count(why->repairs_exact).s,
		     text_duration(why->repairs_ns).s);
}

static void note_slices(struct notes *notes)
{
	const struct why *why = notes->page->why;

	if (why->slice_count > 0)
		note(notes,
		     "The target repeated the same wait after %s time-out%s. These slices of "
		     "longer waits, %s, are charged to the causes that ended the longer waits.",
		     text_count(why->slice_count).s, why->slice_count == 1 ? "" : "s",
		     text_duration(why->slice_ns).s);
}

static void note_answers(struct notes *notes)
{
	const struct why *why = notes->page->why;

	if (why->answer_count > 0)
		note(notes,
		     "The target slept %s time%s between repeated calls until one succeeded. That "
		     "time, %s, is charged to the thread whose action may have made the call "
		     "succeed. This is inferred, because no thread woke the target.",
		     text_count(why->answer_count).s, why->answer_count == 1 ? "" : "s",
		     text_duration(why->answer_ns).s);
}

static void note_missed(struct notes *notes)
{
	const struct why *why = notes->page->why;

	if (why->missed_count > 0)
		note(notes,
		     "The target repeated the same wait after time-outs, %s time%s, and continued "
		     "after the last one, when one other thread had just woken up. That time, %s, "
		     "is charged to that thread. This is inferred, because no thread woke the "
		     "target.",
		     text_count(why->missed_count).s, why->missed_count == 1 ? "" : "s",
		     text_duration(why->missed_ns).s);
}

/* Whether this report would have been better with what is missing. */
static bool missing_matters(const struct why *why)
{
	uint64_t unknown_ns = why->uncertain_ns;

	for (size_t i = 0; i < why->root_count; i++) {
		if (why->roots[i].kind == WHY_UNKNOWN)
			unknown_ns += why->roots[i].ns;
		if (why->roots[i].no_name)
			return true;
	}
	for (size_t i = 0; i < why->chain_count; i++) {
		if (why->chain[i].no_name)
			return true;
	}
	return unknown_ns > why_window_ns(why) / 1000;
}

/* Time at steps of the window that lack something. */
static void note_steps(struct notes *notes)
{
	const struct facts *facts = notes->page->facts;
	const struct why *why = notes->page->why;
	uint64_t ns[STEP_COUNT] = { 0 };

	for (size_t i = 0; i < facts->step_count; i++) {
		const struct fact_step *step = &facts->steps[i];
		uint64_t from = step->since_ns > why->start_ns ? step->since_ns : why->start_ns;
		uint64_t to = i + 1 < facts->step_count ? step[1].since_ns : facts->last_ns;

		to = to < why->end_ns ? to : why->end_ns;
		if (to > from && step->step < STEP_COUNT)
			ns[step->step] += to - from;
	}
	for (uint32_t i = STEP_ALL + 1; i < STEP_NONE; i++) {
		if (ns[i])
			note(notes,
			     "To keep to the budget, %s of the window was recorded with %s. Not known "
			     "of that time: %s.",
			     text_duration(ns[i]).s, report_step_words(i, facts->has_lean_steps),
			     report_step_lacks(i, facts->has_lean_steps));
	}
}

static void why_note_missing(struct notes *notes)
{
	const struct facts *facts = notes->page->facts;

	if (facts->is_lean)
		note(notes,
		     "Recorded with lean events: of system calls, only those that threads waited "
		     "in are known.");
	if (!missing_matters(notes->page->why))
		return;
	for (size_t i = 0; i < facts->missing_count; i++)
		note(notes, "Not recorded: %s (%s).", facts->missing[i].what,
		     facts->missing[i].why);
}

/* Time for which the target, or who it waited for, had no CPU or was held back. */
static uint64_t queued_ns(const struct why *why)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < why->root_count; i++) {
		if (why->roots[i].kind == WHY_CPU_QUEUE || why->roots[i].kind == WHY_PREEMPTED ||
		    why->roots[i].kind == WHY_THROTTLED)
			ns += why->roots[i].ns;
	}
	return ns;
}

/* Told where it may have mattered: also where nobody told which threads it held back when. */
static void note_throttles(struct notes *notes)
{
	const struct facts *facts = notes->page->facts;

	if (queued_ns(notes->page->why) < why_window_ns(notes->page->why) / 100)
		return;
	for (size_t i = 0; i < facts->throttle_count && i < THROTTLES_TOLD; i++) {
		const struct fact_throttle *throttle = &facts->throttles[i];

		note(notes,
		     "The cgroup %s may use %s of CPU time in each %s; its threads were throttled "
		     "in %s of %s periods of the whole recording, for %s on all CPUs together. "
		     "Where no event tells whom it held back, the thread that ran meanwhile is "
		     "reported.",
		     throttle->cgroup ? throttle->cgroup : "?", text_duration(throttle->quota_ns).s,
		     text_duration(throttle->period_ns).s, text_count(throttle->times).s,
		     text_count(throttle->periods).s, text_duration(throttle->ns).s);
	}
}

static void why_notes_note_damage(struct notes *notes)
{
	const struct facts *facts = notes->page->facts;

	if (!facts->complete)
		note(notes, "The recorder did not finish: the recording ends at %s.",
		     page_since(facts->first_ns, facts->last_ns).s);
	for (size_t i = 0; i < facts->damage_count; i++)
		note(notes, "Damaged: %s.", facts->damage[i]);
}

/* Where code is told at all. */
static void note_unnamed(struct notes *notes)
{
	AUTO_FREE char *words = report_unnamed_words(notes->page->facts);

	if (words)
		note(notes, "%s.", words);
}

void why_text_notes(const struct page *page)
{
	struct notes notes = { .page = page };

	note_status(&notes);
	why_notes_note_damage(&notes);
	why_notes_note_lost(&notes);
	note_slices(&notes);
	note_answers(&notes);
	note_missed(&notes);
	note_repairs(&notes);
	note_throttles(&notes);
	note_steps(&notes);
	if (page->why->depth_limit_hits > 0)
		note(&notes,
		     "%" PRIu32 " chains of waits reached the depth limit; the rest of their time "
		     "is charged to the last thread reached.",
		     page->why->depth_limit_hits);
	why_note_missing(&notes);
	note_unnamed(&notes);
}
