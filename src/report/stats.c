/*
 * stats.c - the statistics as text: the system, a row for each process, the details.
 *
 * The parts of a row are rounded together (text_apportion()), so that they add up to the
 * life of the row as printed.
 */
#include "report/stats.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/terminal.h"
#include "event/facts.h"
#include "report/stats_page_int.h"
#include "report/table.h"
#include "report/why_int.h"

/* What fits one screen, without details. */
#define SHOWN_DEFAULT 8
#define CALLS_DEFAULT 5
#define CPUS_DEFAULT  4
#define EVENTS_SHOWN  30

/* With that, lines of a screen; of a smaller one, and what fits it. */
#define SCREEN_LINES 40
#define SHOWN_SMALL  4
#define CALLS_SMALL  2

/* What a row is called in the plural, in the singular. */
static const char *const plurals[STATS_BY_COUNT] = { "Processes", "Threads", "Cgroups", "Users",
						     "Commands" };
static const char *const singulars[STATS_BY_COUNT] = { "process", "thread", "cgroup", "user",
						       "command" };

/* ------------------------------------------------------------------- system */

static void stats_print_headline(const struct stats_page *page)
{
	const struct stats *stats = page->stats;
	const struct stats_cpu *sum = &stats->cpu_sum;
	uint64_t window_ns = stats->end_ns - stats->start_ns;
	const uint64_t parts[] = {
		sum->mode_ns[MODE_IDLE], sum->mode_ns[MODE_USER], sum->mode_ns[MODE_KERNEL],
		sum->mode_ns[MODE_RUN],	 sum->mode_ns[MODE_IRQ],  sum->mode_ns[MODE_SOFTIRQ],
		sum->unknown_ns,
	};
	static const char *const names[] = { "idle", "user",	"kernel",   "user or kernel",
					     "irq",  "softirq", "not known" };
	uint64_t permille[ARRAY_LEN(parts)];
	AUTO_FREE char *text = NULL;
	struct words words;
	const char *gap = " ";

	text_apportion(parts, ARRAY_LEN(parts), 1000, permille);
	words_begin(&words);
	fprintf(words.out, "%s on %zu CPU%s:", text_duration(window_ns).s, stats->cpu_count,
		stats->cpu_count == 1 ? "" : "s");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (i == 3 && !parts[i])
			continue;
		fprintf(words.out, "%s%s %s", gap, names[i],
			text_permille(permille[i], parts[i] > 0).s);
		gap = ", ";
	}
	text = words_end(&words);
	table_wrap(page->out, text, 0);
	fprintf(page->out, "  Window: %s to %s of the recording.\n",
		page_since(page->facts->first_ns, stats->start_ns).s,
		page_since(page->facts->first_ns, stats->end_ns).s);
}

static void add_cpu(struct table *table, const struct stats_page *page, const struct stats_cpu *cpu,
		    const char *name)
{
	const uint64_t parts[] = {
		cpu->mode_ns[MODE_IDLE], cpu->mode_ns[MODE_USER], cpu->mode_ns[MODE_KERNEL],
		cpu->mode_ns[MODE_RUN],	 cpu->mode_ns[MODE_IRQ],  cpu->mode_ns[MODE_SOFTIRQ],
		cpu->unknown_ns,
	};
	bool either = page->stats->cpu_sum.mode_ns[MODE_RUN] > 0;
	uint64_t places[ARRAY_LEN(parts)], whole = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		whole += parts[i];
	text_apportion(parts, ARRAY_LEN(parts), unit_places(whole, page->unit), places);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (i != 3 || either)
			table_cell(table, "%s", bare_time(places[i], parts[i]).s);
	}
	table_cell(table, "%s", name);
}

static void stats_print_cpus(const struct stats_page *page)
{
	static const char *const titles[] = { "idle", "user",	 "kernel",   "either",
					      "irq",  "softirq", "not known" };
	const struct stats *stats = page->stats;
	struct table table = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(titles); i++) {
		if (i != 3 || stats->cpu_sum.mode_ns[MODE_RUN])
			table_column(&table, titles[i], TABLE_RIGHT);
	}
	table_column(&table, "CPU", TABLE_TEXT);
	for (size_t i = 0; i < page->cpus; i++) {
		AUTO_FREE char *name = xasprintf("%zu", i);

		add_cpu(&table, page, &stats->cpus[i], name);
	}
	if (stats->cpu_count > 1) {
		AUTO_FREE char *name =
			page->cpus < stats->cpu_count
				? xasprintf("of all %zu (--all shows each)", stats->cpu_count)
				: xstrdup("");

		if (page->cpus)
			table_rule(&table);
		add_cpu(&table, page, &stats->cpu_sum, name);
	}
	stats_heading(page->out, "CPUs, in %s%s:", unit_name(page->unit),
		      stats->cpu_sum.mode_ns[MODE_RUN]
			      ? " (either: user or kernel; the trace does not say which)"
			      : "");
	table_print(&table, page->out);
	table_fini(&table);
}

/* --------------------------------------------------------------------- rows */

/* The parts of a row that are its life, in the order of the columns. */
enum row_part {
	ROW_OWN,
	ROW_KERNEL,
	ROW_IRQ,
	ROW_EITHER,
	ROW_WAITING,
	ROW_BLOCKED,
	ROW_UNCERTAIN,
	ROW_PARTS
};

static char *row_name(const struct stats_page *page, const struct stats_row *row)
{
	AUTO_FREE char *name = stats_name(row->known ? row->name : "not known", row->tid);

	if (page->stats->by == STATS_THREAD && row->tid != row->tgid)
		return xasprintf("%s of %d", name, row->tgid);
	if (page->stats->by == STATS_THREAD || row->threads == 1)
		return xstrdup(name);
	return xasprintf("%s x%u", name, row->threads);
}

static void stats_add_row(struct table *table, const struct stats_page *page,
			  const struct stats_sums *sums, const char *name)
{
	const uint64_t parts[ROW_PARTS] = {
		[ROW_OWN] = sums->own_ns,
		[ROW_KERNEL] = stats_kernel_ns(sums),
		[ROW_IRQ] = sums->irq_ns + sums->softirq_ns,
		[ROW_EITHER] = sums->either_ns,
		[ROW_WAITING] = sums->waiting_ns,
		[ROW_BLOCKED] = sums->blocked_ns,
		[ROW_UNCERTAIN] = sums->uncertain_ns,
	};
	bool either = page->stats->all.sums.either_ns > 0;
	uint64_t places[ROW_PARTS], on_cpu = 0;

	text_apportion(parts, ROW_PARTS, unit_places(sums->life_ns, page->unit), places);
	for (size_t i = ROW_OWN; i <= ROW_EITHER; i++)
		on_cpu += places[i];
	table_cell(table, "%s", bare_time(on_cpu, sums->on_cpu_ns).s);
	for (size_t i = 0; i < ROW_PARTS; i++) {
		if (i == ROW_EITHER && !either)
			continue;
		table_cell(table, "%s", bare_time(places[i], parts[i]).s);
		if (i == ROW_BLOCKED && !page->is_narrow)
			table_cell(table, "%s", bare_ns(stats_io_ns(sums), page->unit).s);
	}
	table_cell(table, "%s", name);
}

static void row_columns(struct table *table, const struct stats_page *page)
{
	table_column(table, "on CPU", TABLE_RIGHT);
	table_column(table, "own", TABLE_RIGHT);
	table_column(table, "kernel", TABLE_RIGHT);
	table_column(table, "irq", TABLE_RIGHT);
	if (page->stats->all.sums.either_ns)
		table_column(table, "either", TABLE_RIGHT);
	table_column(table, "no CPU", TABLE_RIGHT);
	table_column(table, "blocked", TABLE_RIGHT);
	if (!page->is_narrow)
		table_column(table, "I/O", TABLE_RIGHT);
	table_column(table, "uncertain", TABLE_RIGHT);
	table_column(table, singulars[page->stats->by], TABLE_TEXT);
}

static void add_sums(struct stats_sums *to, const struct stats_sums *from)
{
	to->life_ns += from->life_ns;
	to->on_cpu_ns += from->on_cpu_ns;
	to->own_ns += from->own_ns;
	to->either_ns += from->either_ns;
	to->call_ns += from->call_ns;
	to->fault_ns += from->fault_ns;
	to->thread_ns += from->thread_ns;
	to->work_ns += from->work_ns;
	to->irq_ns += from->irq_ns;
	to->softirq_ns += from->softirq_ns;
	to->waiting_ns += from->waiting_ns;
	to->blocked_ns += from->blocked_ns;
	to->uncertain_ns += from->uncertain_ns;
	for (size_t i = 0; i < WAIT_KIND_COUNT; i++)
		to->waits[i].ns += from->waits[i].ns;
}

/* Whether it was more than asleep. */
static bool is_active(const struct stats_row *row)
{
	return row->sums.on_cpu_ns || row->sums.waiting_ns || row->sums.uncertain_ns;
}

/* What the rows that are not shown are called. */
static char *rest_name(const struct stats_page *page)
{
	size_t count = page->stats->row_count - page->shown, asleep = 0;

	for (size_t i = page->shown; i < page->stats->row_count; i++)
		asleep += !is_active(&page->stats->rows[i]);
	if (asleep == count)
		return xasprintf("and %zu more, all asleep", count);
	if (asleep)
		return xasprintf("and %zu more (--all), %zu all asleep", count, asleep);
	return xasprintf("and %zu more (--top %zu)", count, page->stats->row_count);
}

static void stats_print_rows(const struct stats_page *page)
{
	const struct stats *stats = page->stats;
	struct stats_sums rest = { 0 };
	struct table table = { .is_tight = page->is_narrow };

	row_columns(&table, page);
	for (size_t i = 0; i < stats->row_count; i++) {
		AUTO_FREE char *name = row_name(page, &stats->rows[i]);

		if (i < page->shown)
			stats_add_row(&table, page, &stats->rows[i].sums, name);
		else
			add_sums(&rest, &stats->rows[i].sums);
	}
	if (page->shown < stats->row_count) {
		AUTO_FREE char *name = rest_name(page);

		stats_add_row(&table, page, &rest, name);
	}
	table_rule(&table);
	stats_add_row(&table, page, &stats->all.sums, "");
	stats_heading(
		page->out,
		"%s, in %s: on CPU (own + kernel + irq%s) + no CPU + blocked%s + uncertain = life "
		"in "
		"the window:",
		plurals[stats->by], unit_name(page->unit),
		stats->all.sums.either_ns ? " + either of own and kernel" : "",
		page->is_narrow ? "" : " (with I/O)");
	table_print(&table, page->out);
	table_fini(&table);
}

/* ------------------------------------------------------------------- events */

static void stats_print_events(const struct stats_page *page)
{
	const struct stats *stats = page->stats;
	uint64_t window_ns = stats->end_ns - stats->start_ns, rest = 0;
	struct table table = { 0 };

	if (!stats->has_events)
		return;
	table_column(&table, "events", TABLE_RIGHT);
	table_column(&table, "a second", TABLE_RIGHT);
	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table, "type", TABLE_TEXT);
	for (size_t i = 0; i < stats->event_count; i++) {
		const struct stats_event *event = &stats->events[i];

		if (i >= EVENTS_SHOWN) {
			rest += event->count;
			continue;
		}
		table_cell(&table, "%s", text_count(event->count).s);
		table_cell(
			&table, "%s",
			text_count((uint64_t)((double)event->count * 1e9 / (double)window_ns)).s);
		table_cell(&table, "%s", text_percent(event->count, stats->event_sum).s);
		table_cell(&table, "%s", event->name);
	}
	if (rest) {
		table_cell(&table, "%s", text_count(rest).s);
		table_cell(&table, "%s", "");
		table_cell(&table, "%s", text_percent(rest, stats->event_sum).s);
		table_cell(&table, "and %zu more types (--json has all)",
			   stats->event_count - EVENTS_SHOWN);
	}
	stats_heading(page->out, "Events: %s in the window:", text_count(stats->event_sum).s);
	table_print(&table, page->out);
	table_fini(&table);
}

static size_t at_most(size_t count, size_t max)
{
	return count < max ? count : max;
}

/* Without a choice: those that did anything, when they stand first. */
static size_t rows_worth(const struct stats *stats, size_t max)
{
	size_t count = at_most(stats->row_count, max);

	while (stats->sort == STATS_BY_ON_CPU && count > 1 && !is_active(&stats->rows[count - 1]))
		count--;
	return count;
}

/* How many rows, as was asked for, or as fit the screen. */
static void choose_rows(struct stats_page *page, const struct report_stats_opts *opts)
{
	const struct stats *stats = page->stats;
	unsigned int columns = terminal_columns(page->out), lines = terminal_rows(page->out);
	bool is_small = lines && lines < SCREEN_LINES;

	page->is_narrow = columns && columns < REPORT_COLUMNS;
	if (opts->all || opts->top) {
		page->cpus = stats->cpu_count;
		page->shown = opts->all ? stats->row_count : at_most(stats->row_count, opts->top);
		page->calls = opts->all ? UINT32_MAX : opts->top;
		page->detailed = opts->all ? rows_worth(stats, stats->row_count) : page->shown;
		return;
	}
	page->cpus = is_small && stats->cpu_count > 1 ? 0 : at_most(stats->cpu_count, CPUS_DEFAULT);
	page->shown = rows_worth(stats, is_small ? SHOWN_SMALL : SHOWN_DEFAULT);
	page->calls = is_small ? CALLS_SMALL : CALLS_DEFAULT;
}

static void stats_print_text(FILE *out, const struct stats *stats, const struct facts *facts,
			     const struct report_stats_opts *opts)
{
	struct stats_page page = {
		.out = out,
		.stats = stats,
		.facts = facts,
		.unit = text_unit_for(stats->end_ns - stats->start_ns),
	};

	choose_rows(&page, opts);
	stats_print_headline(&page);
	stats_print_rows(&page);
	stats_print_cpus(&page);
	stats_ps(&page);
	stats_details(&page);
	if (stats->all.call_count) {
		stats_heading(out, "System calls of all processes:");
		stats_calls(&page, &stats->all, page.calls);
	}
	stats_print_events(&page);
	if (!page.detailed)
		fprintf(out, "\n--top N and --all show each %s with its states and system calls.\n",
			singulars[stats->by]);
	coverage_text(out, &stats->coverage, facts,
		      stats->all.sums.uncertain_ns > stats->all.sums.life_ns / 1000);
}

void report_stats(FILE *out, const struct stats *stats, const struct facts *facts,
		  const struct report_stats_opts *opts)
{
	if (opts->json)
		stats_json(out, stats, facts);
	else
		stats_print_text(out, stats, facts, opts);
}
