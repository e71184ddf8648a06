/*
 * why_verdict.c - the verdict of the text report: what held the target up, largest first.
 *
 * Rows are folded as analyse/why/fold.h does it, unless each root is asked for. A last line sums up
 * the whole table by kind, so that a hundred small rows of one kind are seen.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "report/table.h"
#include "report/why_int.h"

#define HELD_LEAST 50  /* a hold-up of less than one in so many parts is not told in the head */
#define CODE_LEAST 100 /* rows of at least one in so many have their code told */

static void add_codes(struct table *table, const char *code)
{
	if (!*code)
		return;
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "    %s", code);
}

/* Below the row: what was done meanwhile, and where the target itself waited. */
static void add_code(struct table *table, const struct page *page, const struct why_row *row)
{
	AUTO_FREE char *done = NULL;
	AUTO_FREE char *waited = NULL;

	if (row->sum.ns * CODE_LEAST < why_verdict_ns(page->why))
		return;
	done = words_root_done(page->facts, page->why, &row->sum);
	waited = words_root_waited(page->facts, &row->sum);
	add_codes(table, done);
	add_codes(table, waited);
}

static void verdict_add_row(struct table *table, const struct page *page,
			    const struct shares *shares, const struct why_rows *rows, size_t i)
{
	const struct why_row *row = &rows->at[i];
	AUTO_FREE char *sentence = words_row(page->why, row);

	table_cell(table, "%s", text_permille(shares->permille[i], row->sum.ns > 0).s);
	table_cell(table, "%s", place_text(shares->places[i], row->sum.ns, page->unit).s);
	table_cell(table, "%s", sentence);
	add_code(table, page, row);
}

/* How a kind is called where many roots are told as one. */
#define KIND_FOR_WORK WHY_KIND_COUNT
#define KINDS	      (WHY_KIND_COUNT + 1)

static const char *const kind_words[KINDS] = {
	[WHY_WORKING] = "own work",
	[WHY_CPU_QUEUE] = "waiting for a CPU",
	[WHY_PREEMPTED] = "preempted",
	[WHY_IRQ] = "interrupts",
	[WHY_SOFTIRQ] = "softirqs",
	[WHY_TIMER] = "sleeping",
	[WHY_DISK] = "disk",
	[WHY_NETWORK] = "network",
	[WHY_IPI] = "interrupts from other CPUs",
	[WHY_LOCK] = "locks",
	[WHY_OTHER_THREAD] = "work of other threads",
	[WHY_STUCK] = "waits in vain",
	[WHY_STOPPED] = "stopped",
	[WHY_UNKNOWN] = "unknown",
	[WHY_GRACE] = "RCU grace periods",
	[WHY_THROTTLED] = "throttled",
	[KIND_FOR_WORK] = "waiting for work",
};

static size_t kind_of(const struct why_root *root)
{
	bool for_work = root->kind == WHY_STUCK && root->class == WHY_IDLE &&
			(!root->why || why_words_is_parked(root));

	return for_work ? KIND_FOR_WORK : (size_t)root->kind;
}

/* "locks 9.6 %, sleeping 3.6 %": the kinds that make 0.1 % or more, largest first. */
static char *kinds_text(const struct why_rows *rows, const struct shares *shares, size_t first)
{
	uint64_t permille[KINDS] = { 0 };
	struct words words;
	const char *gap = "";

	for (size_t i = first; i < rows->count; i++)
		permille[kind_of(&rows->at[i].sum)] += shares->permille[i];
	words_begin(&words);
	for (size_t round = 0; round < KINDS; round++) {
		size_t most = 0;

		for (size_t kind = 1; kind < KINDS; kind++) {
			if (permille[kind] > permille[most])
				most = kind;
		}
		if (permille[most] == 0)
			break;
		fprintf(words.out, "%s%s %s", gap, kind_words[most],
			text_permille(permille[most], true).s);
		permille[most] = 0;
		gap = ", ";
	}
	return words_end(&words);
}

/* Does a sum by kind say more than the rows do? */
static bool sums_help(const struct why_rows *rows)
{
	size_t kinds = 0;

	for (size_t kind = 0; kind < WHY_KIND_COUNT; kind++)
		kinds += rows->ns[kind] > 0;
	return kinds > 1 && kinds < rows->count;
}

/* The rows that did not fit, as one. */
static void add_smaller(struct table *table, const struct page *page, const struct shares *shares,
			const struct why_rows *rows, size_t first)
{
	AUTO_FREE char *kinds = kinds_text(rows, shares, first);
	uint64_t permille = 0, places = 0, ns = 0;

	for (size_t i = first; i < rows->count; i++) {
		permille += shares->permille[i];
		places += shares->places[i];
		ns += rows->at[i].sum.ns;
	}
	table_cell(table, "%s", text_permille(permille, ns > 0).s);
	table_cell(table, "%s", place_text(places, ns, page->unit).s);
	table_cell(table, "and %zu smaller%s%s (--top %zu shows all)", rows->count - first,
		   *kinds ? ": " : "", kinds, rows->count);
}

static void put_heading(const struct page *page)
{
	const struct why *why = page->why;

	if (why->process && !why->classes) {
		page_heading(page, "Where the time of %s %zu thread%s went, by root cause:",
			     why->process->apart_count == 0 ? "the"
			     : why->process->added == 1	    ? "this"
							    : "these",
			     why->process->added, why->process->added == 1 ? "" : "s");
		return;
	}
	if (!why->classes) {
		page_heading(page, "Where the time went, by root cause:");
		return;
	}
	page_heading(page, "Time %s: %s in %s %s, by root cause:", why_class_words(why->classes),
		     text_duration(why->class_ns).s, text_count(why->class_count).s,
		     why->class_count == 1 ? "span" : "spans");
}

static void why_verdict_print_rows(const struct page *page, const struct why_rows *rows)
{
	AUTO_FREE uint64_t *ns = xcalloc(rows->count, sizeof(*ns));
	size_t shown = rows->count;
	struct table table = { 0 };
	AUTO_FREE char *kinds = NULL;
	struct shares shares;

	if (rows->count > page_top(page) + 1)
		shown = page_top(page);
	for (size_t i = 0; i < rows->count; i++)
		ns[i] = rows->at[i].sum.ns;
	shares_init(&shares, page, ns, rows->count);
	kinds = sums_help(rows) ? kinds_text(rows, &shares, 0) : xstrdup("");

	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "went to", TABLE_TEXT);
	for (size_t i = 0; i < shown; i++)
		verdict_add_row(&table, page, &shares, rows, i);
	if (shown < rows->count)
		add_smaller(&table, page, &shares, rows, shown);
	table_rule(&table);
	table_cell(&table, "100 %%");
	table_cell(&table, "%s", page_duration(page, why_verdict_ns(page->why)).s);
	table_cell(&table, "%s%s", *kinds ? "all: " : "", kinds);

	put_heading(page);
	table_print(&table, page->out);
	table_fini(&table);
	shares_fini(&shares);
}

/* Does a row of several threads stand before the largest hold-up by one? */
static bool crowd_is_first(const struct why_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->at[i].threads > 1)
			return true;
		if (rows->at[i].sum.kind != WHY_WORKING)
			break;
	}
	return false;
}

/* It could have gone on, but for this. */
static bool why_verdict_is_held_up(const struct why_root *root)
{
	return root->class == WHY_HELD_UP ||
	       (root->class == WHY_RUNS && root->kind != WHY_WORKING && root->kind != WHY_UNKNOWN);
}

void why_text_held_most(const struct page *page)
{
	const struct why *why = page->why;
	struct why_rows rows;
	size_t i = 0;

	if (!why->process || why->classes || why->root_count == 0)
		return;
	why_fold(why, page->opts->unfold ? SIZE_MAX : page_top(page), &rows);
	while (i < rows.count && !why_verdict_is_held_up(&rows.at[i].sum))
		i++;
	if (i < rows.count && rows.at[i].sum.ns * HELD_LEAST >= why_verdict_ns(why)) {
		AUTO_FREE char *row = words_row_short(why, &rows.at[i]);
		AUTO_FREE char *text = xasprintf("Largest hold-up, %s: %s",
						 text_duration(rows.at[i].sum.ns).s, row);
		AUTO_FREE char *safe = text_escaped(text);

		fputs("  ", page->out);
		table_wrap(page->out, safe, 2);
	}
	why_rows_fini(&rows);
}

bool why_text_verdict(const struct page *page)
{
	struct why_rows rows;
	bool is_first;

	if (page->why->root_count == 0)
		return false;
	why_fold(page->why, page->opts->unfold ? SIZE_MAX : page_top(page), &rows);
	why_verdict_print_rows(page, &rows);
	is_first = crowd_is_first(&rows);
	why_rows_fini(&rows);
	return is_first;
}

void why_text_apart(const struct page *page)
{
	const struct why_process *process = page->why->process;
	struct why apart = *page->why;
	struct table table = { 0 };
	struct why_rows rows;

	if (!process || process->apart_count == 0)
		return;
	apart.roots = process->apart;
	apart.root_count = process->apart_count;
	why_fold(&apart, page->opts->unfold ? SIZE_MAX : 3, &rows);
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "thread", TABLE_TEXT);
	for (size_t i = 0; i < rows.count && i < page_top(page); i++) {
		AUTO_FREE char *words = words_row_short(&apart, &rows.at[i]);

		table_cell(&table, "%s", page_duration(page, rows.at[i].sum.ns).s);
		table_cell(&table, "%s", words);
	}
	page_heading(page,
		     "Not in these sums: %zu thread%s that only waited for work, for a timer or in "
		     "vain:",
		     process->apart_count, process->apart_count == 1 ? "" : "s");
	table_print(&table, page->out);
	if (rows.count > page_top(page))
		fprintf(page->out, "  and %zu more (--top %zu shows all)\n",
			rows.count - page_top(page), rows.count);
	table_fini(&table);
	why_rows_fini(&rows);
}

/* Threads of a process that its first row does not tell of, each with its own largest part. */
void why_text_differing(const struct page *page)
{
	const struct why_process *process = page->why->process;
	size_t top = page_top(page);
	struct table table = { 0 };

	if (!process || process->differs_count == 0)
		return;
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "thread: largest part", TABLE_TEXT);
	for (size_t i = 0; i < process->differs_count && i < top; i++) {
		const struct why_differs *one = &process->differs[i];
		const struct why as = { .target = one->who };
		AUTO_FREE char *name = words_thread(&one->who);
		AUTO_FREE char *words = words_root_short(&as, &one->root);

		table_cell(&table, "%s", page_duration(page, one->ns).s);
		table_cell(&table, "%s: %s %s", name, text_percent(one->root.ns, one->ns).s, words);
	}
	page_heading(page, "Threads with another largest part: %zu of %zu", process->differs_count,
		     process->added);
	table_print(&table, page->out);
	if (process->differs_count > top)
		fprintf(page->out, "  and %zu more (--threads shows all)\n",
			process->differs_count - top);
	table_fini(&table);
}

/* When most of its time was held up at once, and by what. */
void why_text_worst(const struct page *page)
{
	const struct why *why = page->why;
	const struct why_worst *worst = why->worst;
	AUTO_FREE char *root = NULL, *text = NULL, *safe = NULL;

	if (!worst)
		return;
	root = words_root_short(why, &why->roots[worst->cause]);
	text = xasprintf("%s to %s of the recording: %s held up%s in %s, %.1f times the average; "
			 "%s by: %s",
			 page_since(page->facts->first_ns, worst->start_ns).s,
			 page_since(page->facts->first_ns, worst->end_ns).s,
			 text_duration(worst->held_ns).s,
			 why->process ? ", all threads together," : "",
			 text_duration(worst->end_ns - worst->start_ns).s,
			 (double)worst->held_ns / (double)(worst->mean_ns ? worst->mean_ns : 1),
			 text_duration(worst->cause_ns).s, root);
	safe = text_escaped(text);
	page_heading(page, "The worst interval:");
	fputs("  ", page->out);
	table_wrap(page->out, safe, 2);
}
