/*
 * why_tree.c - the optional parts: the WIB summary, its instances, the causality.
 *
 * Each is a table whose last column is a tree, drawn by indentation.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/table.h"
#include "report/why_int.h"

#define INDENT_MAX 20 /* levels; deeper ones are numbered instead */

/* Blanks for a level of a tree. */
static const char *indent_of(uint32_t depth)
{
	static const char blanks[] = "                                        ";

	_Static_assert(sizeof(blanks) == 2 * INDENT_MAX + 1, "two blanks a level");
	return blanks + sizeof(blanks) - 1 - 2 * (depth < INDENT_MAX ? depth : INDENT_MAX);
}

static void add_summary_line(struct table *table, const struct page *page, uint32_t i)
{
	const struct why_line *line = &page->why->lines[i];

	table_cell(table, "%s", text_percent(line->ns, why_window_ns(page->why)).s);
	table_cell(table, "%s", page_duration(page, line->ns).s);
	table_cell(table, "%s x", text_count(line->count).s);
	if (line->instance_count > 0) {
		const struct why_instance *longest = &page->why->instances[line->first_instance];

		table_cell(table, "%s", text_duration(longest->end_ns - longest->start_ns).s);
		table_cell(table, "#%" PRIu32, longest->id);
	} else {
		table_cell(table, "%s", "");
		table_cell(table, "%s", "");
	}
	table_cell(table, "%s%s", indent_of(line->depth), line->name);
}

static void print_syscalls(const struct page *page)
{
	struct table table = { 0 };

	if (page->why->syscall_count == 0)
		return;
	table_column(&table, "calls", TABLE_RIGHT);
	table_column(&table, "errors", TABLE_RIGHT);
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "system call", TABLE_TEXT);
	for (size_t i = 0; i < page->why->syscall_count; i++) {
		const struct why_syscall *call = &page->why->syscalls[i];

		table_cell(&table, "%s", text_count(call->count).s);
		table_cell(&table, "%s", text_count(call->errors).s);
		table_cell(&table, "%s", page_duration(page, call->ns).s);
		table_cell(&table, "%s", call->name);
	}
	page_heading(page,
		     "System calls that began in the window; time: worked in them, without waits:");
	table_print(&table, page->out);
	table_fini(&table);
}

void why_text_summary(const struct page *page)
{
	struct table table = { 0 };

	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "count", TABLE_RIGHT);
	table_column(&table, "longest", TABLE_RIGHT);
	table_column(&table, "id", TABLE_RIGHT);
	table_column(&table, "state", TABLE_TEXT);
	for (uint32_t i = 0; i < page->why->line_count; i++)
		add_summary_line(&table, page, i);
	page_heading(page, "Summary of states (--instances=ID shows an instance):");
	table_print(&table, page->out);
	table_fini(&table);
	print_syscalls(page);
}

/* Times of waits and instances count from the start of the window. */
static void add_instance(struct table *table, const struct page *page,
			 const struct why_instance *instance)
{
	const struct why *why = page->why;

	table_cell(table, "#%" PRIu32, instance->id);
	table_cell(table, "%s", page_duration(page, instance->end_ns - instance->start_ns).s);
	table_cell(table, "%s", page_since(why->start_ns, instance->start_ns).s);
	table_cell(table, "%" PRIu64 ".%09" PRIu64, instance->start_ns / 1000000000u,
		   instance->start_ns % 1000000000u);
	if (instance->wait >= 0 && (size_t)instance->wait < why->wait_count) {
		AUTO_FREE char *waker = words_waker(&why->waits[instance->wait]);

		table_cell(table, "%s", waker);
	} else {
		table_cell(table, "%s", "");
	}
}

static void instance_columns(struct table *table)
{
	table_column(table, "id", TABLE_RIGHT);
	table_column(table, "duration", TABLE_RIGHT);
	table_column(table, "begins", TABLE_RIGHT);
	table_column(table, "on the trace clock", TABLE_RIGHT);
	table_column(table, "", TABLE_TEXT);
}

static void print_line_instances(const struct page *page, uint32_t i)
{
	const struct why_line *line = &page->why->lines[i];
	const struct why_instance *instances = page->why->instances + line->first_instance;
	AUTO_FREE char *path = words_line(page->why, i);
	AUTO_FREE char *safe = text_escaped(path);
	uint32_t shown = line->instance_count;
	struct table table = { 0 };
	uint64_t rest_ns = 0;

	if (shown > page_top(page) + 1)
		shown = page_top(page);
	instance_columns(&table);
	for (uint32_t k = 0; k < shown; k++)
		add_instance(&table, page, &instances[k]);
	fputs("\n  ", page->out);
	table_wrap(page->out, safe, 2);
	table_print(&table, page->out);
	table_fini(&table);
	for (uint32_t k = shown; k < line->instance_count; k++)
		rest_ns += instances[k].end_ns - instances[k].start_ns;
	if (shown < line->instance_count)
		fprintf(page->out, "  and %" PRIu32 " shorter, %s in all (--top %" PRIu32 ")\n",
			line->instance_count - shown, text_duration(rest_ns).s,
			line->instance_count);
}

static void add_wait(struct table *table, const struct page *page, const struct why_wait *wait)
{
	AUTO_FREE char *sentence = words_wait(wait);
	uint64_t known_ns =
		wait->working_ns + wait->interrupted_ns + wait->blocked_ns + wait->uncertain_ns;

	table_cell(table, "%s", page_duration(page, wait->end_ns - wait->start_ns).s);
	table_cell(table, "%s", page_since(page->why->start_ns, wait->start_ns).s);
	if (wait->depth > INDENT_MAX)
		table_cell(table, "%s(%" PRIu32 ") %s", indent_of(wait->depth), wait->depth,
			   sentence);
	else
		table_cell(table, "%s%s", indent_of(wait->depth), sentence);
	if (known_ns == 0 || wait->woken_by.tid == 0)
		return;
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "%s  meanwhile %s[%d] worked %s, was interrupted %s, blocked %s%s%s",
		   indent_of(wait->depth), wait->woken_by.comm, wait->woken_by.tid,
		   text_duration(wait->working_ns).s, text_duration(wait->interrupted_ns).s,
		   text_duration(wait->blocked_ns).s, wait->uncertain_ns ? ", uncertain " : "",
		   wait->uncertain_ns ? text_duration(wait->uncertain_ns).s : "");
}

/* The waits [first, last) as a tree. */
static void print_waits(const struct page *page, size_t first, size_t last)
{
	struct table table = { 0 };

	table_column(&table, "duration", TABLE_RIGHT);
	table_column(&table, "begins", TABLE_RIGHT);
	table_column(&table, "wait", TABLE_TEXT);
	for (size_t i = first; i < last; i++)
		add_wait(&table, page, &page->why->waits[i]);
	table_print(&table, page->out);
	table_fini(&table);
}

static void print_cut(const struct page *page)
{
	const struct why *why = page->why;

	if (why->waits_cut > 0)
		fprintf(page->out, "  %s waits (%s) are left out: see --depth and --min\n",
			text_count(why->waits_cut).s, text_duration(why->waits_cut_ns).s);
}

void why_text_causality(const struct page *page)
{
	page_heading(page, "Blocking causality: each wait, what ended it, and below it what its "
			   "waker waited for:");
	if (page->why->wait_count == 0)
		fputs("  no waits\n", page->out);
	else
		print_waits(page, 0, page->why->wait_count);
	print_cut(page);
}

static void print_one_instance(const struct page *page)
{
	const struct why *why = page->why;
	const struct why_instance *found = NULL;
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *safe = NULL;
	struct table table = { 0 };
	size_t first, last;

	for (size_t i = 0; i < why->instance_count && !found; i++) {
		if (why->instances[i].id == page->opts->instance_id)
			found = &why->instances[i];
	}
	if (!found) {
		page_heading(page, "There is no instance %" PRIu32 ": see --instances.",
			     page->opts->instance_id);
		return;
	}
	path = words_line(why, found->line);
	safe = text_escaped(path);
	page_heading(page, "Instance %" PRIu32 ": %s", found->id, safe);
	instance_columns(&table);
	add_instance(&table, page, found);
	table_print(&table, page->out);
	table_fini(&table);
	if (found->wait < 0 || (size_t)found->wait >= why->wait_count)
		return;
	first = (size_t)found->wait;
	for (last = first + 1; last < why->wait_count; last++) {
		if (why->waits[last].depth <= why->waits[first].depth)
			break;
	}
	fputc('\n', page->out);
	print_waits(page, first, last);
}

void why_text_instances(const struct page *page)
{
	if (page->opts->instance_id) {
		print_one_instance(page);
		return;
	}
	page_heading(page, "Instances, longest first; begins: since the start of the window:");
	for (uint32_t i = 0; i < page->why->line_count; i++) {
		if (page->why->lines[i].instance_count > 0)
			print_line_instances(page, i);
	}
}
