/*
 * delays.c - the accounts as text: who waited most and for what, a table of all, and the first
 * ones in detail.
 */
#include "report/delays.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/delays_int.h"
#include "report/table.h"

#define ROWS_DEFAULT 20u
#define DETAILS	     3u	   /* so many tasks are all told in detail; of more only the first */
#define WORTH_SAYING 1000u /* a wait below one in so many of the time is none */

static const char *const class_titles[DELAYS_CLASSES] = {
	"cpu", "disk", "swapin", "reclaim", "thrash", "compact", "cow", "irq",
};

static const char *const conclusions[DELAYS_CLASSES] = {
	[DELAYS_CPU] = "waited most for a CPU",
	[DELAYS_DISK] = "waited most for disk",
	[DELAYS_SWAPIN] = "waited most for pages out of swap",
	[DELAYS_RECLAIM] = "lost most time to reclaiming memory",
	[DELAYS_THRASHING] = "waited most for pages that had just been evicted",
	[DELAYS_COMPACTION] = "lost most time to compacting memory",
	[DELAYS_COW] = "lost most time to copying pages at their first write",
	[DELAYS_IRQ] = "lost most time to interrupts",
};

static struct text share_or_dash(const struct delays_stats *stats, enum delays_class class,
				 uint64_t base_ns)
{
	return delays_has_class(stats, class) ? text_percent(stats->delay[class].total_ns, base_ns)
					      : (struct text){ "-" };
}

/* "make[7]", "thread 8 of make[7]" */
static char *task_text(const struct delays_task *task)
{
	if (task->is_process)
		return xasprintf("%s[%d]", task->stats.name, task->tgid);
	return xasprintf("thread %d (%s) of %d", task->tid, task->stats.name, task->tgid);
}

static void table_row(struct table *table, const struct delays_row *row)
{
	const struct delays_stats *stats = row->stats;
	AUTO_FREE char *name = task_text(row->task);

	table_cell(table, "%s", text_duration(row->base_ns).s);
	table_cell(table, "%s", text_percent(stats->run_ns, row->base_ns).s);
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++)
		table_cell(table, "%s", share_or_dash(stats, class, row->base_ns).s);
	table_cell(table, "%s", text_percent(delays_rest_ns(stats, row->base_ns), row->base_ns).s);
	if (row->task->is_process && row->task->threads > 1)
		table_cell(table, "%s, %u threads%s", name, row->task->threads,
			   row->born ? " (new)" : "");
	else
		table_cell(table, "%s%s%s", row->task->is_process ? "" : "  ", name,
			   row->born ? " (new)" : "");
}

static size_t shown(const struct delays_rows *rows, const struct report_delays_opts *opts)
{
	size_t top = opts->top ? opts->top : ROWS_DEFAULT;

	return rows->count < top ? rows->count : top;
}

static void delays_print_table(FILE *out, const struct delays_rows *rows,
			       const struct report_delays_opts *opts)
{
	struct table table = { 0 };

	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "ran", TABLE_RIGHT);
	for (size_t i = 0; i < DELAYS_CLASSES; i++)
		table_column(&table, class_titles[i], TABLE_RIGHT);
	table_column(&table, "rest", TABLE_RIGHT);
	table_column(&table, "task", TABLE_TEXT);
	for (size_t i = 0; i < shown(rows, opts); i++)
		table_row(&table, &rows->rows[i]);
	table_print(&table, out);
	table_fini(&table);
	if (shown(rows, opts) < rows->count)
		fprintf(out, "  %zu more: --top %zu shows all\n", rows->count - shown(rows, opts),
			rows->count);
}

static void delays_print_conclusion(FILE *out, const struct delays_rows *rows, bool is_interval)
{
	const struct delays_row *row = &rows->rows[0];
	AUTO_FREE char *name = task_text(row->task);
	AUTO_FREE char *safe = text_escaped(name);
	bool many = row->task->is_process && row->task->threads > 1;
	AUTO_FREE char *life = many ? xasprintf("the time of %u threads", row->task->threads)
				    : xstrdup(is_interval ? "the time" : "its life");
	enum delays_class class = DELAYS_CPU;
	AUTO_FREE char *times = NULL;
	uint64_t ns;

	if (!delays_worst(row->stats, &class) ||
	    row->stats->delay[class].total_ns < row->base_ns / WORTH_SAYING) {
		fprintf(out, "no waits counted by the kernel: %s ran %s of %s\n", safe,
			text_percent(row->stats->run_ns, row->base_ns).s, life);
		return;
	}
	ns = row->stats->delay[class].total_ns;
	times = xasprintf("%s waits", text_count(row->stats->delay[class].count).s);
	fprintf(out, "%s %s: %s of %s, %s in %s; it ran %s\n", safe, conclusions[class],
		text_percent(ns, row->base_ns).s, life, text_duration(ns).s,
		row->stats->delay[class].count == 1 ? "one wait" : times,
		text_percent(row->stats->run_ns, row->base_ns).s);
}

/* --------------------------------------------------------------------- details */

static void class_row(struct table *table, const struct delays_stats *stats,
		      enum delays_class class, uint64_t base_ns)
{
	const struct delays_delay *delay = &stats->delay[class];
	bool has = delays_has_class(stats, class);
	bool ranged = has && delay->count && (stats->ranges & (1u << class));

	table_cell(table, "%s", has ? text_duration(delay->total_ns).s : "-");
	table_cell(table, "%s", share_or_dash(stats, class, base_ns).s);
	table_cell(table, "%s", has ? text_count(delay->count).s : "-");
	table_cell(table, "%s",
		   has && delay->count ? text_duration(delay->total_ns / delay->count).s : "-");
	table_cell(table, "%s", ranged ? text_duration(delay->min_ns).s : "-");
	table_cell(table, "%s", ranged ? text_duration(delay->max_ns).s : "-");
	table_cell(table, "%s", delays_class_words(class));
}

static void plain_row(struct table *table, uint64_t ns, uint64_t base_ns, const char *what)
{
	table_cell(table, "%s", text_duration(ns).s);
	table_cell(table, "%s", text_percent(ns, base_ns).s);
	for (int i = 0; i < 4; i++)
		table_cell(table, "-");
	table_cell(table, "%s", what);
}

void delays_text_classes(FILE *out, const struct delays_stats *stats, uint64_t base_ns)
{
	static const char *const titles[] = { "total", "share", "count", "average", "min", "max" };
	struct table table = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		table_column(&table, titles[i], TABLE_RIGHT);
	table_column(&table, "", TABLE_TEXT);
	plain_row(&table, stats->run_ns, base_ns, "running");
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++)
		class_row(&table, stats, class, base_ns);
	plain_row(&table, delays_rest_ns(stats, base_ns), base_ns,
		  "the rest: asleep, or blocked for reasons not counted");
	table_print(&table, out);
	table_fini(&table);
}

static void delays_print_io(FILE *out, const struct delays_stats *stats, bool exact)
{
	const char *about = exact ? "" : "at least ";

	if (!(stats->has & (DELAYS_HAS_IO | DELAYS_HAS_CALLS))) {
		fputs("  I/O: not known\n", out);
		return;
	}
	fprintf(out, "  read %s%s in %s%s calls, %s from storage; ", about,
		text_size(stats->read_chars).s, about, text_count(stats->read_calls).s,
		text_size(stats->read_bytes).s);
	fprintf(out, "wrote %s%s in %s%s calls, %s to storage", about,
		text_size(stats->write_chars).s, about, text_count(stats->write_calls).s,
		text_size(stats->write_bytes).s);
	if (stats->cancelled_bytes)
		fprintf(out, " (%s cancelled)", text_size(stats->cancelled_bytes).s);
	fputs(exact ? "\n"
		    : "\n    (the kernel rounds bytes and calls of each thread down to multiples "
		      "of 1024)\n",
	      out);
}

void delays_text_rest(FILE *out, const struct delays_stats *stats, bool exact)
{
	if (stats->has & DELAYS_HAS_REAL)
		fprintf(out, "  CPU time by clock ticks %s: user %s, system %s\n",
			text_duration(stats->run_real_ns).s, text_duration(stats->user_us * 1000).s,
			text_duration(stats->system_us * 1000).s);
	if (stats->has & DELAYS_HAS_SWITCHES)
		fprintf(out, "  %s voluntary and %s involuntary switches, ",
			text_count(stats->voluntary).s, text_count(stats->involuntary).s);
	fprintf(out, "%s%s minor and %s major faults\n",
		stats->has & DELAYS_HAS_SWITCHES ? "" : "  ", text_count(stats->minor_faults).s,
		text_count(stats->major_faults).s);
	delays_print_io(out, stats, exact);
	if (stats->has & DELAYS_HAS_MEMORY)
		fprintf(out, "  at most %s resident, %s mapped\n",
			text_size(stats->peak_rss_kb * 1024).s,
			text_size(stats->peak_vm_kb * 1024).s);
}

static void delays_print_detail(FILE *out, const struct delays_row *row,
				const struct report_delays_opts *opts)
{
	AUTO_FREE char *name = task_text(row->task);
	AUTO_FREE char *safe = text_escaped(name);

	if (opts->trace)
		fprintf(out, "\n%s in the recording:\n", safe);
	else
		fprintf(out, "\n%s, started %s ago:\n", safe, text_duration(row->task->wall_ns).s);
	delays_text_classes(out, row->stats, row->base_ns);
	if (!opts->trace)
		delays_text_rest(out, row->stats, row->task->io_exact);
}

/* ----------------------------------------------------------------------- notes */

static void delays_note(FILE *out, const char *text)
{
	fputs("  ", out);
	table_wrap(out, text, 2);
}

static void note_trace(FILE *out, const struct report_delays_opts *opts)
{
	AUTO_FREE char *lost =
		opts->lost ? xasprintf("%s events were lost. ", text_count(opts->lost).s)
			   : xstrdup("");
	AUTO_FREE char *text = xasprintf(
		"Computed from the events of %s. %sUncertain time of all tasks together, not "
		"included here: %s. %s",
		opts->trace, lost, text_duration(opts->uncertain_ns).s,
		opts->needs ? opts->needs : "");
	AUTO_FREE char *safe = text_escaped(text);

	delays_note(out, safe);
}

static void delays_note_account(FILE *out, const struct delays_sample *sample)
{
	if (sample->source == DELAYS_FROM_TRACE)
		return;
	if (sample->account.state == DELAYS_ACCOUNT_OFF)
		delays_note(out,
			    "kernel.task_delayacct is off: the kernel counts only waits for a CPU. "
			    "holdup delays --enable turns it on for tasks that start later.");
	if (sample->account.state == DELAYS_ACCOUNT_NONE)
		delays_note(out, "This kernel has no delay accounting (CONFIG_TASK_DELAY_ACCT).");
	if (sample->account.state == DELAYS_ACCOUNT_ON && sample->account.has_since &&
	    !sample->account.since_boot) {
		AUTO_FREE char *text = xasprintf(
			"The accounting has been on for at least %s, but not since boot: tasks "
			"that started earlier are never counted.",
			text_duration(sample->time_ns - sample->account.since_ns).s);

		delays_note(out, text);
	}
}

static void note_coverage(FILE *out, const struct delays_sample *sample)
{
	size_t older = 0, partly = 0, impossible = 0;

	for (size_t i = 0; i < sample->count; i++) {
		older += sample->tasks[i].coverage == DELAYS_OLDER;
		partly += sample->tasks[i].coverage == DELAYS_PARTLY;
		impossible += sample->tasks[i].stats.impossible != 0;
	}
	if (impossible) {
		AUTO_FREE char *text = xasprintf(
			"For %zu tasks the kernel counts a wait longer than their life, which is "
			"impossible; \"-\" stands for that class.",
			impossible);

		delays_note(out, text);
	}
	if (older) {
		AUTO_FREE char *text = xasprintf(
			"%zu of %zu tasks are older than the accounting: the kernel counts only "
			"their waits for a CPU; \"-\" stands for the rest.",
			older, sample->count);

		delays_note(out, text);
	}
	if (partly) {
		AUTO_FREE char *text = xasprintf(
			"For %zu processes only the younger threads are counted.", partly);

		delays_note(out, text);
	}
}

static void note_tasks(FILE *out, const struct delays_sample *sample)
{
	if (sample->missing || sample->gone) {
		AUTO_FREE char *text =
			xasprintf("%zu of the chosen tasks do not exist, %zu exited meanwhile.",
				  sample->missing, sample->gone);

		delays_note(out, text);
	}
}

static void delays_print_notes(FILE *out, const struct delays_sample *sample,
			       const struct report_delays_opts *opts)
{
	fputs("\nNotes:\n", out);
	if (opts->why_not) {
		AUTO_FREE char *text = xasprintf(
			"%s. /proc provides CPU time, waits for a CPU, and I/O of processes that "
			"you may trace; only for living threads.",
			opts->why_not);

		delays_note(out, text);
	}
	delays_note(out,
		    "Running, waiting for a CPU, disk and the rest add up to the time. The other "
		    "classes are contained in these and overlap.");
	if (opts->trace)
		note_trace(out, opts);
	delays_note_account(out, sample);
	if (sample->source == DELAYS_FROM_TASKSTATS && sample->account.state == DELAYS_ACCOUNT_ON)
		note_coverage(out, sample);
	note_tasks(out, sample);
}

/* -------------------------------------------------------------------- whole page */

void report_delays(FILE *out, const struct delays_sample *sample, const struct delays_rows *rows,
		   const struct report_delays_opts *opts)
{
	size_t details = rows->count <= DETAILS ? rows->count : 1;

	if (opts->json) {
		delays_json(out, sample, NULL, rows, opts);
		return;
	}
	if (rows->count) {
		delays_print_conclusion(out, rows, false);
		fputc('\n', out);
		delays_print_table(out, rows, opts);
	} else {
		fputs("no such task\n", out);
	}
	for (size_t i = 0; i < details; i++)
		delays_print_detail(out, &rows->rows[i], opts);
	delays_print_notes(out, sample, opts);
}

void report_delays_delta(FILE *out, const struct delays_sample *after,
			 const struct delays_delta *delta, const struct delays_rows *rows,
			 const struct report_delays_opts *opts)
{
	if (opts->json) {
		delays_json(out, after, delta, rows, opts);
		return;
	}
	fprintf(out, "%s%" PRIu64 ": %s, %zu tasks, %zu new, %zu ended%s\n",
		opts->interval > 1 ? "\n" : "", opts->interval, text_duration(delta->span_ns).s,
		rows->count, delta->born, delta->ended,
		delta->ended ? " (the time before their exit is unknown; delays listen counts it)"
			     : "");
	if (rows->count) {
		delays_print_conclusion(out, rows, true);
		delays_print_table(out, rows, opts);
	}
	if (opts->interval == 1)
		delays_print_notes(out, after, opts);
	fflush(out);
}
