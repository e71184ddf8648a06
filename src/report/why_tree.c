/*
 * why_tree.c - the optional parts: the WIB summary, its instances, the causality.
 *
 * Each is a table whose last column is a tree, drawn by indentation.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analyse/why/wait_code.h"
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

/* Rounded values of the lines of the summary: children add up to what is above them. */
struct rounding {
	const struct why *why;
	uint64_t *permille; /* owned; a line each, then one for what is no child's */
	uint64_t *places;   /* owned */
	size_t *members;    /* owned; scratch: the children of one line */
	uint64_t *parts;    /* owned; scratch: their times, then the rest of the line */
	uint64_t *shares;   /* owned; scratch */
};

static void rounding_init(struct rounding *rounding, const struct why *why)
{
	size_t count = why->line_count + 1;

	rounding->why = why;
	rounding->permille = xcalloc(count, sizeof(*rounding->permille));
	rounding->places = xcalloc(count, sizeof(*rounding->places));
	rounding->members = xcalloc(count, sizeof(*rounding->members));
	rounding->parts = xcalloc(count, sizeof(*rounding->parts));
	rounding->shares = xcalloc(count, sizeof(*rounding->shares));
}

static void rounding_fini(struct rounding *rounding)
{
	free(rounding->permille);
	free(rounding->places);
	free(rounding->members);
	free(rounding->parts);
	free(rounding->shares);
}

/* Split what a line got among the lines of 'depth' from 'first' on. */
static void round_children(struct rounding *rounding, size_t first, uint32_t depth, uint64_t ns,
			   const uint64_t got[2])
{
	uint64_t *const columns[] = { rounding->permille, rounding->places };
	size_t count = 0;

	for (size_t i = first; i < rounding->why->line_count; i++) {
		const struct why_line *line = &rounding->why->lines[i];

		if (line->depth < depth)
			break;
		if (line->depth > depth)
			continue;
		rounding->members[count] = i;
		rounding->parts[count++] = line->ns;
		ns -= line->ns < ns ? line->ns : ns;
	}
	rounding->parts[count] = ns;
	for (size_t column = 0; column < ARRAY_LEN(columns); column++) {
		text_apportion(rounding->parts, count + 1, got[column], rounding->shares);
		for (size_t i = 0; i < count; i++)
			columns[column][rounding->members[i]] = rounding->shares[i];
	}
}

static void round_lines(struct rounding *rounding, const struct page *page)
{
	uint64_t place_ns = text_unit_place_ns(page->unit);
	uint64_t window_ns = why_window_ns(page->why);

	round_children(rounding, 0, 0, window_ns,
		       (uint64_t[]){ 1000, (window_ns + place_ns / 2) / place_ns });
	for (size_t i = 0; i < page->why->line_count; i++) {
		const struct why_line *line = &page->why->lines[i];

		round_children(rounding, i + 1, line->depth + 1, line->ns,
			       (uint64_t[]){ rounding->permille[i], rounding->places[i] });
	}
}

static void add_summary_line(struct table *table, const struct page *page,
			     const struct rounding *rounding, uint32_t i)
{
	const struct why_line *line = &page->why->lines[i];

	table_cell(table, "%s", text_permille(rounding->permille[i], line->ns > 0).s);
	table_cell(table, "%s", place_text(rounding->places[i], line->ns, page->unit).s);
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
	bool errors = false; /* 0 of all calls: not recorded */

	if (page->why->syscall_count == 0)
		return;
	for (size_t i = 0; i < page->why->syscall_count; i++)
		errors |= page->why->syscalls[i].errors > 0;
	table_column(&table, "calls", TABLE_RIGHT);
	if (errors)
		table_column(&table, "errors", TABLE_RIGHT);
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "system call", TABLE_TEXT);
	for (size_t i = 0; i < page->why->syscall_count; i++) {
		const struct why_syscall *call = &page->why->syscalls[i];

		table_cell(&table, "%s", text_count(call->count).s);
		if (errors)
			table_cell(&table, "%s", text_count(call->errors).s);
		table_cell(&table, "%s", page_duration(page, call->ns).s);
		table_cell(&table, "%s", call->name);
	}
	page_heading(page, "System calls that began in the window; time: CPU time in the call:");
	table_print(&table, page->out);
	table_fini(&table);
}

void why_text_summary(const struct page *page)
{
	struct rounding rounding;
	struct table table = { 0 };

	rounding_init(&rounding, page->why);
	round_lines(&rounding, page);
	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table, "time", TABLE_RIGHT);
	table_column(&table, "count", TABLE_RIGHT);
	table_column(&table, "longest", TABLE_RIGHT);
	table_column(&table, "id", TABLE_RIGHT);
	table_column(&table, "state", TABLE_TEXT);
	for (uint32_t i = 0; i < page->why->line_count; i++)
		add_summary_line(&table, page, &rounding, i);
	page_heading(page, "Summary of states (--instances=ID shows an instance):");
	table_print(&table, page->out);
	table_fini(&table);
	rounding_fini(&rounding);
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

/* "worked 3 ms, was blocked 5 ms": the parts that are not nothing. */
static char *did_text(const uint64_t ns[4])
{
	static const char *const did[] = { "worked", "was interrupted", "was blocked",
					   "did not exist or is uncertain" };
	struct words words;
	const char *gap = "";

	words_begin(&words);
	for (size_t i = 0; i < ARRAY_LEN(did); i++) {
		if (ns[i] == 0)
			continue;
		fprintf(words.out, "%s%s %s", gap, did[i], text_duration(ns[i]).s);
		gap = ", ";
	}
	return words_end(&words);
}

/* What the program told of the lock: who had it, how long, and what that thread did then. */
static void why_tree_add_owners(struct table *table, const struct page *page,
				const struct why_wait *wait)
{
	if (wait->lock && !wait->owner_count) {
		table_cell(table, "%s", "");
		table_cell(table, "%s", "");
		table_cell(table, "%s  reported by the program: %s", indent_of(wait->depth),
			   wait->lock);
	}
	for (uint32_t i = 0; i < wait->owner_count; i++) {
		const struct why_owner *owner = &page->why->owners[wait->first_owner + i];
		AUTO_FREE char *name = words_thread(&owner->who);
		AUTO_FREE char *did =
			did_text((const uint64_t[]){ owner->working_ns, owner->interrupted_ns,
						     owner->blocked_ns, owner->uncertain_ns });

		table_cell(table, "%s", page_duration(page, owner->ns).s);
		table_cell(table, "%s", "");
		if (owner->who.tid)
			table_cell(table, "%s  reported by the program: %s owned by %s, which %s",
				   indent_of(wait->depth), wait->lock, name, did);
		else
			table_cell(table, "%s  reported by the program: %s with unknown owner",
				   indent_of(wait->depth), wait->lock);
	}
}

/* What an owner did is told already. */
static bool why_tree_is_owner(const struct why *why, const struct why_wait *wait,
			      const struct why_thread *who)
{
	for (uint32_t i = 0; i < wait->owner_count; i++) {
		if (why->owners[wait->first_owner + i].who.tid == who->tid)
			return true;
	}
	return false;
}

/* What a thread did meanwhile; nothing, where it is none or that is not known. */
static void add_meanwhile(struct table *table, uint32_t depth, const struct why_thread *who,
			  const uint64_t ns[4])
{
	AUTO_FREE char *name = words_thread(who);
	AUTO_FREE char *text = did_text(ns);

	if (!text[0] || !who->tid)
		return;
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "%s  meanwhile %s %s", indent_of(depth), name, text);
}

/* "waited in load (prog.c:12, prog)", "its waker at work in inflate (libz.so.1)" */
static void why_tree_add_code(struct table *table, const struct page *page,
			      const struct why_wait *wait)
{
	struct why_codes codes;
	AUTO_FREE char *place = NULL;
	AUTO_FREE char *work = NULL;

	wait_code(page->facts->stacks, wait, &codes);
	place = words_codes(page->facts, &codes, codes.seen_ns, "waited in ");
	wait_waker_code(page->facts->stacks, wait, &codes);
	work = words_codes(page->facts, &codes, codes.seen_ns, "");
	if (place[0]) {
		table_cell(table, "%s", "");
		table_cell(table, "%s", "");
		table_cell(table, "%s  %s", indent_of(wait->depth), place);
	}
	if (work[0]) {
		table_cell(table, "%s", "");
		table_cell(table, "%s", "");
		table_cell(table, "%s  who ended it was meanwhile %s", indent_of(wait->depth),
			   work);
	}
}

static void why_tree_add_wait(struct table *table, const struct page *page,
			      const struct why_wait *wait)
{
	AUTO_FREE char *sentence = words_wait(wait);

	table_cell(table, "%s", page_duration(page, wait->end_ns - wait->start_ns).s);
	table_cell(table, "%s", page_since(page->why->start_ns, wait->start_ns).s);
	if (wait->depth > INDENT_MAX)
		table_cell(table, "%s(%" PRIu32 ") %s", indent_of(wait->depth), wait->depth,
			   sentence);
	else
		table_cell(table, "%s%s", indent_of(wait->depth), sentence);
	if (wait->stack[0]) {
		table_cell(table, "%s", "");
		table_cell(table, "%s", "");
		table_cell(table, "%s  slept in %s", indent_of(wait->depth), wait->stack);
	}
	why_tree_add_code(table, page, wait);
	why_tree_add_owners(table, page, wait);
	if (!why_tree_is_owner(page->why, wait, &wait->woken_by))
		add_meanwhile(table, wait->depth, &wait->woken_by,
			      (const uint64_t[]){ wait->working_ns, wait->interrupted_ns,
						  wait->blocked_ns, wait->uncertain_ns });
	add_meanwhile(table, wait->depth, &wait->holder,
		      (const uint64_t[]){ wait->held.working_ns, wait->held.interrupted_ns,
					  wait->held.blocked_ns, wait->held.uncertain_ns });
}

/* The waits [first, last) as a tree. */
static void why_tree_print_waits(const struct page *page, size_t first, size_t last)
{
	struct table table = { 0 };

	table_column(&table, "duration", TABLE_RIGHT);
	table_column(&table, "begins", TABLE_RIGHT);
	table_column(&table, "wait", TABLE_TEXT);
	for (size_t i = first; i < last; i++)
		why_tree_add_wait(&table, page, &page->why->waits[i]);
	table_print(&table, page->out);
	table_fini(&table);
}

static void print_cut(const struct page *page)
{
	const struct why *why = page->why;

	if (why->waits_cut == 0)
		return;
	fprintf(page->out, "  %s waits are omitted", text_count(why->waits_cut).s);
	if (why->waits_cut_ns > 0)
		fprintf(page->out, ", among them %s of the target's own",
			text_duration(why->waits_cut_ns).s);
	fputs(": see --depth and --min\n", page->out);
}

void why_text_causality(const struct page *page)
{
	page_heading(page, "Chains of waits: each wait, its waker, and below the waits of the "
			   "waker:");
	if (page->why->wait_count == 0)
		fputs("  no waits\n", page->out);
	else
		why_tree_print_waits(page, 0, page->why->wait_count);
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
		page_heading(page, "No instance %" PRIu32 ": see --instances.",
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
	why_tree_print_waits(page, first, last);
}

void why_text_instances(const struct page *page)
{
	if (page->opts->instance_id) {
		print_one_instance(page);
		return;
	}
	page_heading(page, "Instances, longest first; begin: time since the start of the window:");
	for (uint32_t i = 0; i < page->why->line_count; i++) {
		if (page->why->lines[i].instance_count > 0)
			print_line_instances(page, i);
	}
}
