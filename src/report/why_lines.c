/*
 * why_lines.c - a line for each thread; where that is more than a screen, threads of one name are
 * one line, and the longest lines are printed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/terminal.h"
#include "report/table.h"
#include "report/why_int.h"

#define LINES_DEFAULT 20
#define TOLD_AS_ONE   3 /* so many of one name */

/* Results that are one line. */
struct line {
	const struct why *first;
	const char *name; /* without numbers; owned by the lines */
	bool differ;	  /* their names do, in numbers */
	size_t count;
	uint64_t ns; /* of all */
	uint64_t states[4];
	size_t *members; /* owned; indices into the results */
	size_t member_cap;
};

struct lines {
	const struct why *results;
	struct line *at; /* owned */
	size_t count;
	struct names names;
};

static const char *folded_line_name(struct lines *lines, const struct why *why, bool folds)
{
	AUTO_FREE char *name = why_name_pattern(why->target.comm);

	return folds ? names_text(&lines->names, names_add(&lines->names, name, 64)) : "";
}

/* Their largest parts are alike, but for the thread that it went to. */
static bool same_part(const struct why *a, const struct why *b)
{
	const struct why_root *x = a->roots, *y = b->roots;

	if (a->root_count == 0 || b->root_count == 0)
		return a->root_count == b->root_count;
	return x->kind == y->kind && x->class == y->class && x->timed_out == y->timed_out &&
	       (why_kind_works(x->kind) || why_root_compare_what(x, y) == 0);
}

static void add_result(struct line *line, const struct why *why, size_t index)
{
	const uint64_t states[] = { why->working_ns, why->interrupted_ns, why->blocked_ns,
				    why->uncertain_ns };

	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		line->states[i] += states[i];
	line->ns += why_states_ns(why);
	line->members =
		vec_room(line->members, line->count, &line->member_cap, sizeof(*line->members));
	line->members[line->count++] = index;
}

static struct line *why_line_of(struct lines *lines, const struct why *why, bool folds)
{
	const char *name = folded_line_name(lines, why, folds);
	struct line *line;

	for (size_t i = 0; i < lines->count && folds; i++) {
		line = &lines->at[i];
		if (line->name != name || line->first->target.tgid != why->target.tgid ||
		    !same_part(line->first, why))
			continue;
		line->differ |= strcmp(line->first->target.comm, why->target.comm) != 0;
		return line;
	}
	line = &lines->at[lines->count++];
	line->first = why;
	line->name = name;
	return line;
}

static int line_by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->members[0] < y->members[0] ? -1 : 1;
}

/* Too few of one name: a line each again. */
static void split_small(struct lines *lines)
{
	size_t count = lines->count;

	for (size_t i = 0; i < count; i++) {
		struct line old = lines->at[i];

		if (old.count == 1 || old.count >= TOLD_AS_ONE)
			continue;
		lines->at[i] = (struct line){ .first = old.first, .name = old.name };
		add_result(&lines->at[i], old.first, old.members[0]);
		for (size_t k = 1; k < old.count; k++) {
			const struct why *why = &lines->results[old.members[k]];
			struct line *line = &lines->at[lines->count++];

			line->first = why;
			line->name = old.name;
			add_result(line, why, old.members[k]);
		}
		free(old.members);
	}
}

static void fold_lines(struct lines *lines, size_t count, bool folds)
{
	lines->at = xcalloc(count + 1, sizeof(*lines->at));
	for (size_t i = 0; i < count; i++)
		add_result(why_line_of(lines, &lines->results[i], folds), &lines->results[i], i);
	split_small(lines);
	if (folds)
		qsort(lines->at, lines->count, sizeof(*lines->at), line_by_time);
}

/* The largest part of one thread. */
static void add_single(struct table *table, const struct why *why)
{
	AUTO_FREE char *name = words_thread(&why->target);
	AUTO_FREE char *root = NULL, *of = NULL;

	if (why->root_count == 0) {
		table_cell(table, "%s", name);
		return;
	}
	root = words_root_short(why, &why->roots[0]);
	of = why->classes ? xasprintf(" of %s %s:", text_duration(why->class_ns).s,
				      why_class_words(why->classes))
			  : xstrdup("");
	table_cell(table, "%s: %s%s %s", name,
		   text_percent(why->roots[0].ns, why_verdict_ns(why)).s, of, root);
}

/* The largest part of several: their roots, folded as those of a process. */
static void add_several(struct table *table, const struct lines *lines, const struct line *line)
{
	struct why_process process = { .threads = line->count };
	struct why all = { .target = line->first->target, .process = &process };
	const char *name = line->differ ? line->name : line->first->target.comm;
	struct why_rows rows;
	size_t cap = 0;

	for (size_t i = 0; i < line->count; i++) {
		const struct why *why = &lines->results[line->members[i]];

		for (size_t k = 0; k < why->root_count; k++) {
			all.roots = vec_room(all.roots, all.root_count, &cap, sizeof(*all.roots));
			all.roots[all.root_count++] = why->roots[k];
		}
		all.class_ns += why->class_ns;
	}
	why_fold(&all, 1, &rows);
	if (rows.count) {
		AUTO_FREE char *words = words_row_short(&all, &rows.at[0]);

		table_cell(table, "%zu threads named %s: %s %s", line->count, name,
			   text_percent(rows.at[0].sum.ns, all.class_ns).s, words);
	} else {
		table_cell(table, "%zu threads named %s", line->count, name);
	}
	why_rows_fini(&rows);
	free(all.roots);
}

static void line_add_row(struct table *table, const struct lines *lines, const struct line *line)
{
	table_cell(table, "%s", text_duration(line->ns).s);
	for (size_t i = 0; i < ARRAY_LEN(line->states); i++)
		table_cell(table, "%s", text_percent(line->states[i], line->ns).s);
	if (line->count == 1)
		add_single(table, line->first);
	else
		add_several(table, lines, line);
}

static void print_heading(FILE *out, size_t count, const struct report_why_opts *opts)
{
	const char *noun = opts->processes ? "process" : "thread";
	const char *many = opts->processes ? "es, busiest first" : "s";

	if (opts->colour)
		terminal_codes(out, "\033[1m");
	fprintf(out, "%zu %s%s; explain one with --%s\n", count, noun, count == 1 ? "" : many,
		opts->processes ? "pid" : "tid");
	if (opts->colour)
		terminal_codes(out, "\033[0m");
}

/* What is not printed: how many threads, and how to see them. */
static void print_rest(FILE *out, const struct lines *lines, size_t first, bool processes)
{
	size_t threads = 0;
	const char *noun = processes ? "process" : "thread";

	for (size_t i = first; i < lines->count; i++)
		threads += lines->at[i].count;
	if (threads)
		fprintf(out, "  and %zu more %s%s (--top %zu shows all)\n", threads, noun,
			threads == 1 ? ""
			: processes  ? "es"
				     : "s",
			lines->count);
}

void why_text_lines(FILE *out, const struct why *results, size_t count,
		    const struct report_why_opts *opts)
{
	size_t top = opts->top ? opts->top : LINES_DEFAULT;
	struct lines lines = { .results = results };
	struct table table = { 0 };

	fold_lines(&lines, count, count > top && !opts->unfold && !opts->processes);
	if (opts->unfold && !opts->top)
		top = lines.count;
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "working", TABLE_RIGHT);
	table_column(&table, "interrupted", TABLE_RIGHT);
	table_column(&table, "blocked", TABLE_RIGHT);
	table_column(&table, "uncertain", TABLE_RIGHT);
	table_column(&table, opts->processes ? "process: largest part" : "thread: largest part",
		     TABLE_TEXT);
	for (size_t i = 0; i < lines.count && i < top; i++)
		line_add_row(&table, &lines, &lines.at[i]);
	print_heading(out, count, opts);
	table_print(&table, out);
	print_rest(out, &lines, top, opts->processes);
	table_fini(&table);
	for (size_t i = 0; i < lines.count; i++)
		free(lines.at[i].members);
	free(lines.at);
	names_fini(&lines.names);
}
