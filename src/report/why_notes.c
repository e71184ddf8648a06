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
#include "report/table.h"
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
		note(notes, "The command was ended by signal %d (%s).", WTERMSIG(status),
		     sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
	else if (WIFEXITED(status))
		note(notes, "The command ended with exit status %d.", WEXITSTATUS(status));
}

static void note_lost(struct notes *notes)
{
	const struct why *why = notes->page->why;
	const struct facts *facts = notes->page->facts;
	/* The buffer was full, and the kernel has counted; else the file is cut. */
	bool full = facts->damage_count == 0 && facts->complete;

	if (why->lost_events == 0 && why->lost_span_ns == 0)
		return;
	note(notes,
	     "%s%s event%s lost; %s of the window lies in holes of the recording. What depends on "
	     "them is counted as uncertain or unknown.%s",
	     full ? "" : "At least ", text_count(why->lost_events).s,
	     why->lost_events == 1 ? " was" : "s were", text_duration(why->lost_span_ns).s,
	     full ? " A larger --buffer loses less." : "");
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
		     "%s switch%s to a thread %s not recorded, in the whole recording; other "
		     "events placed %s exactly.",
		     text_count(why->repairs).s, why->repairs == 1 ? "" : "es",
		     why->repairs == 1 ? "was" : "were", why->repairs == 1 ? "it" : "all of them");
	else
		note(notes,
		     "%s switch%s to a thread %s not recorded, in the whole recording; other "
		     "events placed %s of them exactly, the others leave %s of the window uncertain.",
		     text_count(why->repairs).s, why->repairs == 1 ? "" : "es",
		     why->repairs == 1 ? "was" : "were", text_count(why->repairs_exact).s,
		     text_duration(why->repairs_ns).s);
}

static void note_slices(struct notes *notes)
{
	const struct why *why = notes->page->why;

	if (why->slice_count > 0)
		note(notes,
		     "It waited on for the same behind %s of its time-out%s: these slices of longer waits, %s, are "
		     "charged to what ended those.",
		     text_count(why->slice_count).s, why->slice_count == 1 ? "" : "s",
		     text_duration(why->slice_ns).s);
}

static void note_answers(struct notes *notes)
{
	const struct why *why = notes->page->why;

	if (why->answer_count > 0)
		note(notes,
		     "It slept %s time%s between calls that it made again until one succeeded: that time, %s, is "
		     "charged to who did meanwhile what can have changed the answer. Nothing woke it, so this is "
		     "inferred.",
		     text_count(why->answer_count).s, why->answer_count == 1 ? "" : "s",
		     text_duration(why->answer_ns).s);
}

static void note_missed(struct notes *notes)
{
	const struct why *why = notes->page->why;

	if (why->missed_count > 0)
		note(notes,
		     "It waited on for the same behind its time-outs, %s time%s, and went on behind the last one, just "
		     "when one other thread had woken up: that time, %s, is charged to that thread. Nothing woke it, "
		     "so this is inferred.",
		     text_count(why->missed_count).s, why->missed_count == 1 ? "" : "s",
		     text_duration(why->missed_ns).s);
}

/* A descriptor whose name is not known reads "fd 3". */
static bool is_unnamed(const char *object)
{
	return strncmp(object, "fd ", 3) == 0 && !strstr(object, " = ");
}

/* Whether this report would have been better with what is missing. */
static bool missing_matters(const struct why *why)
{
	uint64_t unknown_ns = why->uncertain_ns;

	for (size_t i = 0; i < why->root_count; i++) {
		if (why->roots[i].kind == WHY_UNKNOWN)
			unknown_ns += why->roots[i].ns;
		if (is_unnamed(why->roots[i].object))
			return true;
	}
	for (size_t i = 0; i < why->chain_count; i++) {
		if (is_unnamed(why->chain[i].object))
			return true;
	}
	return unknown_ns > why_window_ns(why) / 1000;
}

static void note_missing(struct notes *notes)
{
	const struct facts *facts = notes->page->facts;

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

static bool is_charged(const struct why *why, const char *cgroup)
{
	for (size_t i = 0; i < why->root_count; i++) {
		const char *found = why->roots[i].kind == WHY_THROTTLED
					    ? strstr(why->roots[i].what, cgroup)
					    : NULL;

		if (found && found[strlen(cgroup)] == ' ')
			return true;
	}
	return false;
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
		     "The cgroup %s may use %s of CPU time in each %s; that held its threads back in "
		     "%s of %s periods of the whole recording, for %s on all CPUs together.%s",
		     throttle->cgroup ? throttle->cgroup : "?", text_duration(throttle->quota_ns).s,
		     text_duration(throttle->period_ns).s, text_count(throttle->times).s,
		     text_count(throttle->periods).s, text_duration(throttle->ns).s,
		     is_charged(notes->page->why, throttle->cgroup ? throttle->cgroup : "?")
			     ? ""
			     : " Where another thread ran meanwhile, that one is told to have had "
			       "its CPU.");
	}
}

static void note_damage(struct notes *notes)
{
	const struct facts *facts = notes->page->facts;

	if (!facts->complete)
		note(notes, "The recorder was cut short: the recording ends at %s.",
		     page_since(facts->first_ns, facts->last_ns).s);
	for (size_t i = 0; i < facts->damage_count; i++)
		note(notes, "Damaged: %s.", facts->damage[i]);
}

void why_text_notes(const struct page *page)
{
	struct notes notes = { .page = page };

	note_status(&notes);
	note_damage(&notes);
	note_lost(&notes);
	note_slices(&notes);
	note_answers(&notes);
	note_missed(&notes);
	note_repairs(&notes);
	note_throttles(&notes);
	if (page->why->depth_limit_hits > 0)
		note(&notes,
		     "%" PRIu32 " waits were followed only to the bound on depth; the rest of them "
		     "is charged to the last thread reached.",
		     page->why->depth_limit_hits);
	note_missing(&notes);
}
