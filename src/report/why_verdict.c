/*
 * why_verdict.c - the verdict of the text report: what held the target up, largest first.
 *
 * Beside a build or a pool of workers, what held the target up is one thing to a
 * reader and a hundred roots: each of a hundred compilers had the CPU for a moment.
 * So where not all of the roots fit, those of several threads that did the
 * same under one name are told as one row.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/table.h"
#include "report/why_int.h"

/* So many threads are told as one: few workers, each with what it worked at, say more. */
#define TOLD_AS_ONE	    3
#define TOLD_AS_ONE_WORKING 8

/* Roots that are told together. */
struct row {
	struct why_root sum; /* of one root: that root */
	size_t threads;	     /* 1: one root */
};

struct rows {
	struct row *at; /* owned; largest first */
	size_t count;
};

/* Kinds of which "N threads named X" tells all but the thread ids. */
static bool may_group(const struct why *why, const struct why_root *root)
{
	bool kind = root->kind == WHY_CPU_QUEUE || root->kind == WHY_PREEMPTED ||
		    root->kind == WHY_OTHER_THREAD;

	return kind && root->who.tid && root->who.tid != why->target.tid && root->who.comm[0];
}

/* Same words but for the thread: 0. */
static int compare_words(const struct why_root *x, const struct why_root *y)
{
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return strcmp(x->who.comm, y->who.comm);
}

static int by_words(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = compare_words(&x->sum, &y->sum);

	return order ? order
		     : (x->sum.who.tid > y->sum.who.tid) - (x->sum.who.tid < y->sum.who.tid);
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum.ns != y->sum.ns)
		return x->sum.ns > y->sum.ns ? -1 : 1;
	return by_words(a, b);
}

static void add_to(struct row *row, const struct why_root *root)
{
	row->sum.ns += root->ns;
	row->sum.count += root->count;
	if (root->longest_ns > row->sum.longest_ns)
		row->sum.longest_ns = root->longest_ns;
	if (row->sum.kept_off.tid != root->kept_off.tid)
		row->sum.kept_off.tid = 0;
	row->threads++;
}

/* The run of rows that 'first' begins, if it is long enough, becomes one. Returns its length. */
static size_t join_run(struct rows *rows, const struct row *row, size_t left)
{
	struct row *out = &rows->at[rows->count++];
	size_t least = row->sum.kind == WHY_OTHER_THREAD ? TOLD_AS_ONE_WORKING : TOLD_AS_ONE;
	size_t run = 1;

	while (run < left && compare_words(&row->sum, &row[run].sum) == 0)
		run++;
	if (run < least)
		run = 1;
	*out = *row;
	for (size_t i = 1; i < run; i++)
		add_to(out, &row[i].sum);
	return run;
}

/* 'rows' has one row for each root: joins those that are told as one. */
static void join_rows(const struct why *why, struct rows *rows)
{
	AUTO_FREE struct row *groups = xcalloc(rows->count, sizeof(*groups));
	size_t count = rows->count, group_count = 0;

	rows->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct row row = rows->at[i];

		if (may_group(why, &row.sum))
			groups[group_count++] = row;
		else
			rows->at[rows->count++] = row;
	}
	qsort(groups, group_count, sizeof(*groups), by_words);
	for (size_t i = 0; i < group_count;)
		i += join_run(rows, &groups[i], group_count - i);
	qsort(rows->at, rows->count, sizeof(*rows->at), by_time);
}

static struct rows rows_of(const struct page *page)
{
	const struct why *why = page->why;
	struct rows rows = { .at = xcalloc(why->root_count, sizeof(*rows.at)) };

	for (size_t i = 0; i < why->root_count; i++) {
		struct row *row = &rows.at[rows.count++];

		row->sum = why->roots[i];
		row->threads = 1;
	}
	if (why->root_count > page_top(page) + 1)
		join_rows(why, &rows);
	return rows;
}

static void add_row(struct table *table, const struct page *page, const struct shares *shares,
		    const struct rows *rows, size_t i)
{
	const struct row *row = &rows->at[i];
	AUTO_FREE char *sentence = words_roots(page->why, &row->sum, row->threads);

	table_cell(table, "%s", text_permille(shares->permille[i], row->sum.ns > 0).s);
	table_cell(table, "%s", place_text(shares->places[i], row->sum.ns, page->unit).s);
	table_cell(table, "%s", sentence);
}

/* How a kind is called where many roots are told as one. */
static const char *const kind_words[WHY_KIND_COUNT] = {
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
	[WHY_OTHER_THREAD] = "other threads working",
	[WHY_STUCK] = "waits in vain",
	[WHY_UNKNOWN] = "unknown",
};

/* What the rows from 'first' on have in common: the kinds that make 0.1 % or more. */
static char *kinds_text(const struct rows *rows, const struct shares *shares, size_t first)
{
	uint64_t permille[WHY_KIND_COUNT] = { 0 };
	struct words words;
	const char *gap = ": ";

	for (size_t i = first; i < rows->count; i++)
		permille[rows->at[i].sum.kind] += shares->permille[i];
	words_begin(&words);
	for (size_t round = 0; round < WHY_KIND_COUNT; round++) {
		size_t most = 0;

		for (size_t kind = 1; kind < WHY_KIND_COUNT; kind++) {
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

/* The rows that did not fit, as one. */
static void add_smaller(struct table *table, const struct page *page, const struct shares *shares,
			const struct rows *rows, size_t first)
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
	table_cell(table, "and %zu smaller%s (--top %zu shows all)", rows->count - first, kinds,
		   page->why->root_count);
}

static void put_heading(const struct page *page)
{
	const struct why *why = page->why;

	if (!why->classes) {
		page_heading(page, "Where the time went, each moment charged to what held it up in "
				   "the end:");
		return;
	}
	page_heading(page,
		     "Time %s: %s in %s %s, each moment charged to what held it up in the end:",
		     why_class_words(why->classes), text_duration(why->class_ns).s,
		     text_count(why->class_count).s, why->class_count == 1 ? "span" : "spans");
}

static void print_rows(const struct page *page, const struct rows *rows)
{
	AUTO_FREE uint64_t *ns = xcalloc(rows->count, sizeof(*ns));
	size_t shown = rows->count;
	struct table table = { 0 };
	struct shares shares;

	if (rows->count > page_top(page) + 1)
		shown = page_top(page);
	for (size_t i = 0; i < rows->count; i++)
		ns[i] = rows->at[i].sum.ns;
	shares_init(&shares, page, ns, rows->count);

	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "went to", TABLE_TEXT);
	for (size_t i = 0; i < shown; i++)
		add_row(&table, page, &shares, rows, i);
	if (shown < rows->count)
		add_smaller(&table, page, &shares, rows, shown);
	table_rule(&table);
	table_cell(&table, "100 %%");
	table_cell(&table, "%s", page_duration(page, why_verdict_ns(page->why)).s);
	table_cell(&table, "%s", "");

	put_heading(page);
	table_print(&table, page->out);
	table_fini(&table);
	shares_fini(&shares);
}

/* Does a row of several threads stand before the largest hold-up by one? */
static bool crowd_is_first(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->at[i].threads > 1)
			return true;
		if (rows->at[i].sum.kind != WHY_WORKING)
			break;
	}
	return false;
}

bool why_text_verdict(const struct page *page)
{
	struct rows rows;
	bool is_first;

	if (page->why->root_count == 0)
		return false;
	rows = rows_of(page);
	print_rows(page, &rows);
	is_first = crowd_is_first(&rows);
	free(rows.at);
	return is_first;
}
