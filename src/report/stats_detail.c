/* stats_detail.c - one row in detail: its states as a tree, and its system calls. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/stats_page_int.h"
#include "report/table.h"
#include "report/why_int.h"

#define DETAIL_CALLS 10
#define DETAIL_IRQS  5

/* A table of states of one row being filled. */
struct detail {
	const struct stats_page *page;
	const struct stats_row *row;
	struct table table;
};

static void detail_add_line(struct detail *detail, const char *name, uint64_t ns, uint64_t count,
			    uint64_t max_ns)
{
	uint64_t life_ns = detail->row->sums.life_ns;

	table_cell(&detail->table, "%s", text_percent(ns, life_ns).s);
	table_cell(&detail->table, "%s", bare_ns(ns, detail->page->unit).s);
	table_cell(&detail->table, "%s", count ? text_count(count).s : "");
	table_cell(&detail->table, "%s", max_ns ? text_duration(max_ns).s : "");
	table_cell(&detail->table, "%s", name);
}

/* Left out when there was nothing of it. */
static void stats_detail_add_part(struct detail *detail, const char *name, uint64_t ns,
				  uint64_t count)
{
	if (ns || count)
		detail_add_line(detail, name, ns, count, 0);
}

static void add_irqs(struct detail *detail)
{
	const struct stats_row *row = detail->row;
	uint64_t rest = 0;

	for (size_t i = 0; i < row->irq_count; i++) {
		AUTO_FREE char *name = xasprintf("  %s on top", row->irqs[i].name);

		if (i < DETAIL_IRQS)
			stats_detail_add_part(detail, name, row->irqs[i].ns, 0);
		else
			rest += row->irqs[i].ns;
	}
	stats_detail_add_part(detail, "  other interrupts on top", rest, 0);
}

static uint64_t call_count(const struct stats_row *row)
{
	uint64_t count = 0;

	for (size_t i = 0; i < row->call_count; i++)
		count += row->calls[i].count;
	return count;
}

static void add_on_cpu(struct detail *detail)
{
	const struct stats_sums *sums = &detail->row->sums;

	detail_add_line(detail, "on a CPU", sums->on_cpu_ns, sums->counts[COUNT_SWITCH_IN], 0);
	stats_detail_add_part(detail, "  own code", sums->own_ns, 0);
	stats_detail_add_part(detail, "  own code or kernel", sums->either_ns, 0);
	stats_detail_add_part(detail, "  system calls", sums->call_ns, call_count(detail->row));
	stats_detail_add_part(detail, "  page faults that slept", sums->fault_ns, 0);
	stats_detail_add_part(detail, "  kernel thread", sums->thread_ns, 0);
	stats_detail_add_part(detail, "  queued work", sums->work_ns, 0);
	add_irqs(detail);
}

static void add_off_cpu(struct detail *detail)
{
	const struct stats_sums *sums = &detail->row->sums;

	detail_add_line(detail, "runnable, without a CPU", sums->waiting_ns, 0, 0);
	stats_detail_add_part(detail, "  preempted", sums->preempted_ns,
			      sums->counts[COUNT_PREEMPTED]);
	stats_detail_add_part(detail, "  queued after a wake-up", sums->queued_ns, 0);
	detail_add_line(detail, "blocked", sums->blocked_ns, sums->counts[COUNT_WAITS], 0);
	for (uint32_t kind = 0; kind < WAIT_KIND_COUNT; kind++) {
		const struct stats_wait *wait = &sums->waits[kind];
		AUTO_FREE char *name = xasprintf("  for: %s", wait_kind_name((enum wait_kind)kind));

		if (wait->ns || wait->count)
			detail_add_line(detail, name, wait->ns, wait->count, wait->max_ns);
	}
	if (sums->uncertain_ns)
		detail_add_line(detail, "uncertain", sums->uncertain_ns, 0, 0);
	for (uint32_t reason = 0; reason < STATS_REASONS; reason++) {
		AUTO_FREE char *name = xasprintf("  %s", stats_reason((enum unsure)reason));

		stats_detail_add_part(detail, name, sums->reasons_ns[reason], 0);
	}
}

static void stats_detail_states(const struct stats_page *page, const struct stats_row *row)
{
	struct detail detail = { .page = page, .row = row };

	table_column(&detail.table, "share", TABLE_RIGHT);
	table_column(&detail.table, unit_name(page->unit), TABLE_RIGHT);
	table_column(&detail.table, "count", TABLE_RIGHT);
	table_column(&detail.table, "longest", TABLE_RIGHT);
	table_column(&detail.table, "state", TABLE_TEXT);
	add_on_cpu(&detail);
	add_off_cpu(&detail);
	table_print(&detail.table, page->out);
	table_fini(&detail.table);
}

/* "openat: ENOENT 12, EACCES 1" */
static char *call_text(const struct stats_call *call)
{
	struct words words;

	words_begin(&words);
	fputs(call->name, words.out);
	for (size_t i = 0; i < call->error_kinds; i++)
		fprintf(words.out, "%s %s %s", i ? "," : ":", call->errors[i].name,
			text_count(call->errors[i].count).s);
	return words_end(&words);
}

static void stats_detail_add_call(struct table *table, const struct stats_page *page,
				  const struct stats_call *call, const char *name)
{
	table_cell(table, "%s", text_count(call->count).s);
	table_cell(table, "%s", call->error_count ? text_count(call->error_count).s : "");
	table_cell(table, "%s", bare_ns(call->ns, page->unit).s);
	table_cell(table, "%s", bare_ns(call->working_ns, page->unit).s);
	table_cell(table, "%s", bare_ns(call->blocked_ns, page->unit).s);
	table_cell(table, "%s", call->max_ns ? text_duration(call->max_ns).s : "");
	table_cell(table, "%s", name);
}

static void add_to_rest(struct stats_call *rest, const struct stats_call *call)
{
	rest->count += call->count;
	rest->error_count += call->error_count;
	rest->ns += call->ns;
	rest->working_ns += call->working_ns;
	rest->blocked_ns += call->blocked_ns;
	if (call->max_ns > rest->max_ns)
		rest->max_ns = call->max_ns;
}

void stats_calls(const struct stats_page *page, const struct stats_row *row, size_t max)
{
	struct stats_call rest = { 0 };
	struct table table = { 0 };

	table_column(&table, "calls", TABLE_RIGHT);
	table_column(&table, "errors", TABLE_RIGHT);
	table_column(&table, unit_name(page->unit), TABLE_RIGHT);
	table_column(&table, "working", TABLE_RIGHT);
	table_column(&table, "blocked", TABLE_RIGHT);
	table_column(&table, "longest", TABLE_RIGHT);
	table_column(&table, "system call", TABLE_TEXT);
	for (size_t i = 0; i < row->call_count; i++) {
		AUTO_FREE char *name = call_text(&row->calls[i]);

		if (i < max)
			stats_detail_add_call(&table, page, &row->calls[i], name);
		else
			add_to_rest(&rest, &row->calls[i]);
	}
	if (row->call_count > max) {
		AUTO_FREE char *name = xasprintf("and %zu more", row->call_count - max);

		stats_detail_add_call(&table, page, &rest, name);
	}
	table_print(&table, page->out);
	table_fini(&table);
}

static void stats_detail_print(const struct stats_page *page, const struct stats_row *row)
{
	AUTO_FREE char *name = stats_name(row->known ? row->name : "not known", row->tid);
	const struct stats_sums *sums = &row->sums;

	stats_heading(page->out,
		      "%s%s%s: %s of life in the window, %u thread%s, %s migration%s, %s page "
		      "fault%s:",
		      name, row->cmdline[0] ? " " : "", row->cmdline,
		      text_duration(sums->life_ns).s, row->threads, row->threads == 1 ? "" : "s",
		      text_count(sums->counts[COUNT_MIGRATIONS]).s,
		      sums->counts[COUNT_MIGRATIONS] == 1 ? "" : "s",
		      text_count(sums->counts[COUNT_FAULTS]).s,
		      sums->counts[COUNT_FAULTS] == 1 ? "" : "s");
	stats_detail_states(page, row);
	if (row->call_count) {
		fputc('\n', page->out);
		stats_calls(page, row, DETAIL_CALLS);
	}
}

void stats_details(const struct stats_page *page)
{
	for (size_t i = 0; i < page->detailed; i++)
		stats_detail_print(page, &page->stats->rows[i]);
}
