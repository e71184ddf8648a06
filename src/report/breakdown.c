/*
 * breakdown.c - one process in detail, as text: what it was in, what interrupted it, what it
 * waited for, who worked for it, and that it all adds up.
 */
#include "report/breakdown.h"

#include <stdlib.h>

#include "analyse/stats/breakdown.h"
#include "base/mem.h"
#include "event/facts.h"
#include "report/breakdown_int.h"
#include "report/stats_int.h"
#include "report/table.h"
#include "report/why_int.h"

#define TOP	   20
#define CODE_LEAST 100 /* rows of at least one in so many have their code told */

struct breakdown_page {
	FILE *out;
	const struct breakdown *breakdown;
	const struct facts *facts;
	enum text_unit unit; /* of every table of times */
	size_t top;
};

static const char *const part_titles[PART_COUNT] = { "working", "irq", "no CPU", "blocked",
						     "uncertain" };

static void breakdown_print_headline(const struct breakdown_page *page)
{
	static const char *const names[PART_COUNT] = { "working", "interrupted", "without a CPU",
						       "blocked", "uncertain" };
	const struct breakdown *breakdown = page->breakdown;
	AUTO_FREE char *name = stats_name(breakdown->process.comm, breakdown->process.tid);
	AUTO_FREE char *safe = NULL;
	AUTO_FREE char *text = NULL;
	uint64_t permille[PART_COUNT];
	struct words words;

	text_apportion(breakdown->parts, PART_COUNT, 1000, permille);
	words_begin(&words);
	fprintf(words.out, "%s, %zu thread%s, %s", name, breakdown->thread_count,
		breakdown->thread_count == 1 ? "" : "s", text_duration(breakdown->wall_ns).s);
	if (breakdown->thread_count > 1)
		fprintf(words.out, " (%s of all threads together)",
			text_duration(breakdown->life_ns).s);
	for (size_t i = 0; i < PART_COUNT; i++)
		fprintf(words.out, "%s %s %s", i ? "," : ":", names[i],
			text_permille(permille[i], breakdown->parts[i] > 0).s);
	text = words_end(&words);
	safe = text_escaped(text);
	table_wrap(page->out, safe, 0);
	fprintf(page->out, "  Window: %s to %s of the recording.\n",
		page_since(page->facts->first_ns, breakdown->start_ns).s,
		page_since(page->facts->first_ns, breakdown->end_ns).s);
	if (breakdown->cmdline[0])
		stats_say(page->out, "Command: %s", breakdown->cmdline);
}

/* -------------------------------------------------------------------- lines */

static void breakdown_add_parts(struct table *table, const struct breakdown_page *page, uint64_t ns,
				const uint64_t parts[PART_COUNT])
{
	uint64_t places[PART_COUNT];

	text_apportion(parts, PART_COUNT, unit_places(ns, page->unit), places);
	table_cell(table, "%s", bare_ns(ns, page->unit).s);
	for (size_t i = 0; i < PART_COUNT; i++) {
		if (i != PART_UNCERTAIN || page->breakdown->parts[PART_UNCERTAIN])
			table_cell(table, "%s", bare_time(places[i], parts[i]).s);
	}
}

static void part_columns(struct table *table, const struct breakdown_page *page)
{
	table_column(table, "total", TABLE_RIGHT);
	for (size_t i = 0; i < PART_COUNT; i++) {
		if (i != PART_UNCERTAIN || page->breakdown->parts[PART_UNCERTAIN])
			table_column(table, part_titles[i], TABLE_RIGHT);
	}
}

/* Below a row: in which code it was, of 'ns' at work and waiting. */
static void breakdown_add_code(struct table *table, const struct breakdown_page *page,
			       const struct why_codes *codes, uint64_t ns)
{
	AUTO_FREE char *text = NULL;

	if (ns * CODE_LEAST < page->breakdown->life_ns)
		return;
	text = words_codes(page->facts, codes, ns, "waited in ");
	if (!*text)
		return;
	for (size_t i = 0; i + 1 < table->column_count; i++)
		table_cell(table, "%s", "");
	table_cell(table, "  %s", text);
}

static void breakdown_add_line(struct table *table, const struct breakdown_page *page,
			       const struct breakdown_line *line, const char *name)
{
	table_cell(table, "%s", line->count ? text_count(line->count).s : "");
	breakdown_add_parts(table, page, line->ns, line->parts);
	table_cell(table, "%s", text_count(line->events).s);
	table_cell(table, "%s", name);
}

const char *breakdown_line_name(const struct breakdown_line *line)
{
	switch (line->kind) {
	case LINE_EITHER:
		return "own code or kernel";
	case LINE_FAULT:
		return "page fault";
	case LINE_NEW:
		return "before it first ran";
	case LINE_UNKNOWN:
		return "unknown state";
	default:
		return line->name;
	}
}

static char *line_text(const struct breakdown_line *line)
{
	const char *brackets = line->kind == LINE_CALL ? "()" : "",
		   *name = breakdown_line_name(line);

	if (line->kind == LINE_FAULT)
		return xstrdup("page faults (time: slept)");

	if (line->errors)
		return xasprintf("%s%s, %s failed", name, brackets, text_count(line->errors).s);
	return xasprintf("%s%s", name, brackets);
}

static void merge_line(struct breakdown_line *to, const struct breakdown_line *from)
{
	to->count += from->count;
	to->ns += from->ns;
	to->events += from->events;
	for (size_t i = 0; i < PART_COUNT; i++)
		to->parts[i] += from->parts[i];
}

static void breakdown_print_lines(const struct breakdown_page *page)
{
	const struct breakdown *breakdown = page->breakdown;
	struct breakdown_line rest = { 0 }, sum = { 0 };
	struct table table = { 0 };

	table_column(&table, "count", TABLE_RIGHT);
	part_columns(&table, page);
	table_column(&table, "events", TABLE_RIGHT);
	table_column(&table, "in", TABLE_TEXT);
	for (size_t i = 0; i < breakdown->line_count; i++) {
		const struct breakdown_line *line = &breakdown->lines[i];
		AUTO_FREE char *text = line_text(line);

		merge_line(&sum, line);
		if (i >= page->top) {
			merge_line(&rest, line);
			continue;
		}
		breakdown_add_line(&table, page, line, text);
		breakdown_add_code(&table, page, &line->code, breakdown_code_ns(line->parts));
	}
	if (breakdown->line_count > page->top) {
		AUTO_FREE char *text =
			xasprintf("and %zu more (--top %zu)", breakdown->line_count - page->top,
				  breakdown->line_count);

		breakdown_add_line(&table, page, &rest, text);
	}
	table_rule(&table);
	sum.count = 0;
	breakdown_add_line(&table, page, &sum, "");
	stats_heading(page->out,
		      "Time by call, in %s; total = working + interrupts + without a CPU + "
		      "blocked%s:",
		      unit_name(page->unit),
		      breakdown->parts[PART_UNCERTAIN] ? " + uncertain" : "");
	table_print(&table, page->out);
	table_fini(&table);
}

static void print_irqs(const struct breakdown_page *page)
{
	const struct breakdown *breakdown = page->breakdown;
	struct table table = { 0 };
	uint64_t events = 0;

	if (!breakdown->irq_count)
		return;
	table_column(&table, "count", TABLE_RIGHT);
	table_column(&table, "total", TABLE_RIGHT);
	table_column(&table, "events", TABLE_RIGHT);
	table_column(&table, "interrupts", TABLE_TEXT);
	for (size_t i = 0; i < breakdown->irq_count; i++) {
		const struct breakdown_irq *irq = &breakdown->irqs[i];

		table_cell(&table, "%s", text_count(irq->count).s);
		table_cell(&table, "%s", bare_ns(irq->ns, page->unit).s);
		table_cell(&table, "%s", text_count(irq->events).s);
		table_cell(&table, "%s", irq->name);
		events += irq->events;
	}
	table_rule(&table);
	table_cell(&table, "%s", "");
	table_cell(&table, "%s", bare_ns(breakdown->parts[PART_IRQ], page->unit).s);
	table_cell(&table, "%s", text_count(events).s);
	table_cell(&table, "%s", "");
	stats_heading(page->out,
		      "Interrupts and softirqs, in %s (column irq above):", unit_name(page->unit));
	table_print(&table, page->out);
	table_fini(&table);
}

/* -------------------------------------------------------------------- waits */

char *breakdown_wait_text(const struct breakdown_wait *wait)
{
	struct why_wait told = {
		.in = wait->in,
		.object = wait->object,
		.waker = wait->how,
		.woken_by = wait->by,
		.waker_name = wait->waker,
		.waker_state = "",
		.waker_in = "",
		.holding = "",
	};
	AUTO_FREE char *waker = words_waker(&told);

	return xasprintf("%s%s%s; %s", wait->in, wait->object[0] ? ", " : "", wait->object, waker);
}

static void breakdown_print_waits(const struct breakdown_page *page)
{
	const struct breakdown *breakdown = page->breakdown;
	uint64_t rest_ns = 0, rest_count = 0;
	struct table table = { 0 };

	if (!breakdown->wait_count)
		return;
	table_column(&table, "waits", TABLE_RIGHT);
	table_column(&table, "total", TABLE_RIGHT);
	table_column(&table, "longest", TABLE_RIGHT);
	table_column(&table, "for", TABLE_LEFT);
	table_column(&table, "in, and what ended it", TABLE_TEXT);
	for (size_t i = 0; i < breakdown->wait_count; i++) {
		const struct breakdown_wait *wait = &breakdown->waits[i];
		AUTO_FREE char *text = breakdown_wait_text(wait);

		if (i >= page->top) {
			rest_ns += wait->ns;
			rest_count += wait->count;
			continue;
		}
		table_cell(&table, "%s", text_count(wait->count).s);
		table_cell(&table, "%s", bare_ns(wait->ns, page->unit).s);
		table_cell(&table, "%s", text_duration(wait->max_ns).s);
		table_cell(&table, "%s", wait_kind_name(wait->kind));
		table_cell(&table, "%s", text);
		breakdown_add_code(&table, page, &wait->code, wait->ns);
	}
	if (rest_count) {
		table_cell(&table, "%s", text_count(rest_count).s);
		table_cell(&table, "%s", bare_ns(rest_ns, page->unit).s);
		table_cell(&table, "%s", "");
		table_cell(&table, "%s", "");
		table_cell(&table, "and %zu more (--top %zu)", breakdown->wait_count - page->top,
			   breakdown->wait_count);
	}
	table_rule(&table);
	table_cell(&table, "%s", "");
	table_cell(&table, "%s", bare_ns(breakdown->parts[PART_BLOCKED], page->unit).s);
	for (size_t i = 0; i < 3; i++)
		table_cell(&table, "%s", "");
	stats_heading(page->out, "Waits, in %s (column blocked above):", unit_name(page->unit));
	table_print(&table, page->out);
	table_fini(&table);
}

static void print_others(const struct breakdown_page *page)
{
	const struct breakdown *breakdown = page->breakdown;
	struct table table = { 0 };
	bool uncertain = false;

	if (!breakdown->other_count)
		return;
	for (size_t i = 0; i < breakdown->other_count; i++)
		uncertain |= breakdown->others[i].uncertain_ns > 0;
	table_column(&table, "waits", TABLE_RIGHT);
	table_column(&table, "of them", TABLE_RIGHT);
	table_column(&table, "own code", TABLE_RIGHT);
	table_column(&table, "kernel", TABLE_RIGHT);
	table_column(&table, "irq", TABLE_RIGHT);
	table_column(&table, "no CPU", TABLE_RIGHT);
	table_column(&table, "blocked", TABLE_RIGHT);
	if (uncertain)
		table_column(&table, "absent", TABLE_RIGHT);
	table_column(&table, "who", TABLE_TEXT);
	for (size_t i = 0; i < breakdown->other_count && i < page->top; i++) {
		const struct breakdown_other *other = &breakdown->others[i];
		AUTO_FREE char *name = words_thread(&other->who);

		table_cell(&table, "%s", text_count(other->waits).s);
		table_cell(&table, "%s", bare_ns(other->ns, page->unit).s);
		table_cell(&table, "%s", bare_ns(other->own_ns, page->unit).s);
		table_cell(&table, "%s", bare_ns(other->kernel_ns, page->unit).s);
		table_cell(&table, "%s", bare_ns(other->irq_ns, page->unit).s);
		table_cell(&table, "%s", bare_ns(other->waiting_ns, page->unit).s);
		table_cell(&table, "%s", bare_ns(other->blocked_ns, page->unit).s);
		if (uncertain)
			table_cell(&table, "%s", bare_ns(other->uncertain_ns, page->unit).s);
		table_cell(&table, "%s%s", name,
			   other->queued ? ", work queued by the process" : "");
		breakdown_add_code(&table, page, &other->code, breakdown_other_code_ns(other));
	}
	stats_heading(page->out,
		      "Other threads during waits that they ended, in %s%s:", unit_name(page->unit),
		      uncertain ? " (absent: not created yet, exited or uncertain)" : "");
	table_print(&table, page->out);
	if (breakdown->other_count > page->top)
		fprintf(page->out, "  and %zu more threads (--top %zu)\n",
			breakdown->other_count - page->top, breakdown->other_count);
	table_fini(&table);
}

/* ------------------------------------------------------------------ threads */

static void breakdown_print_threads(const struct breakdown_page *page)
{
	const struct breakdown *breakdown = page->breakdown;
	struct table table = { 0 };

	table_column(&table, "wall", TABLE_RIGHT);
	part_columns(&table, page);
	table_column(&table, "events", TABLE_RIGHT);
	table_column(&table, "thread", TABLE_TEXT);
	for (size_t i = 0; i < breakdown->thread_count && i < page->top; i++) {
		const struct breakdown_thread *thread = &breakdown->threads[i];
		AUTO_FREE char *name = words_thread(&thread->who);
		uint64_t sum = 0;

		for (size_t k = 0; k < PART_COUNT; k++)
			sum += thread->parts[k];
		table_cell(&table, "%s", bare_ns(thread->ns, page->unit).s);
		breakdown_add_parts(&table, page, sum, thread->parts);
		table_cell(&table, "%s", text_count(thread->events).s);
		table_cell(&table, "%s%s", name, thread->adds_up ? "" : ": DOES NOT ADD UP");
		/* Of one thread the first table has it. */
		if (breakdown->thread_count > 1)
			breakdown_add_code(&table, page, &thread->code,
					   breakdown_code_ns(thread->parts));
	}
	stats_heading(page->out,
		      "Threads, in %s; wall: their life in the window:", unit_name(page->unit));
	table_print(&table, page->out);
	table_fini(&table);
	if (breakdown->thread_count > page->top)
		fprintf(page->out, "  and %zu more (--top %zu)\n",
			breakdown->thread_count - page->top, breakdown->thread_count);
	fputs(breakdown->adds_up
		      ? "  Checked to the ns: calls, interrupts and waits add up to the life of "
			"the threads.\n"
		      : "  THE SUMS DO NOT ADD UP: this is a bug in holdup; please report the "
			"bug.\n",
	      page->out);
}

void report_breakdown(FILE *out, const struct breakdown *breakdown, const struct facts *facts,
		      const struct report_breakdown_opts *opts)
{
	struct breakdown_page page = {
		.out = out,
		.breakdown = breakdown,
		.facts = facts,
		.unit = text_unit_for(breakdown->wall_ns),
		.top = opts->top ? opts->top : TOP,
	};

	if (opts->json) {
		breakdown_json(out, breakdown, facts);
		return;
	}
	breakdown_print_headline(&page);
	breakdown_print_lines(&page);
	print_irqs(&page);
	breakdown_print_waits(&page);
	print_others(&page);
	breakdown_print_threads(&page);
	coverage_text(out, &breakdown->coverage, facts,
		      breakdown->parts[PART_UNCERTAIN] > breakdown->life_ns / 1000);
}
