/* stats_ps.c - the figures of accounting by ticks beside the exact ones. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/stats_page_int.h"
#include "report/table.h"

/* "+0.4 %": of one CPU over the window. */
static struct text stats_ps_share_text(int64_t ns, uint64_t window_ns, bool sign)
{
	double share = window_ns ? 100.0 * (double)ns / (double)window_ns : 0;
	struct text text;

	(void)snprintf(text.s, sizeof(text.s), sign ? "%+.1f %%" : "%.1f %%", share);
	return text;
}

static void add_share(struct table *table, const struct stats_page *page, int64_t exact_ns,
		      int64_t ticks_ns)
{
	uint64_t window_ns = page->stats->end_ns - page->stats->start_ns;

	table_cell(table, "%s", stats_ps_share_text(exact_ns, window_ns, false).s);
	table_cell(table, "%s", stats_ps_share_text(ticks_ns, window_ns, false).s);
	table_cell(table, "%s", stats_ps_share_text(ticks_ns - exact_ns, window_ns, true).s);
}

static void ps_columns(struct table *table, const char *last)
{
	table_column(table, "exact", TABLE_RIGHT);
	table_column(table, "ticks", TABLE_RIGHT);
	table_column(table, "off by", TABLE_RIGHT);
	table_column(table, "user", TABLE_RIGHT);
	table_column(table, "ticks", TABLE_RIGHT);
	table_column(table, "system", TABLE_RIGHT);
	table_column(table, "ticks", TABLE_RIGHT);
	table_column(table, last, TABLE_TEXT);
}

/* The two columns of a mode, without the difference. */
static void stats_ps_add_pair(struct table *table, const struct stats_page *page, uint64_t exact_ns,
			      uint64_t ticks)
{
	uint64_t window_ns = page->stats->end_ns - page->stats->start_ns;

	table_cell(table, "%s", stats_ps_share_text((int64_t)exact_ns, window_ns, false).s);
	table_cell(
		table, "%s",
		stats_ps_share_text((int64_t)(ticks * page->stats->tick_ns), window_ns, false).s);
}

static void print_processes(const struct stats_page *page)
{
	const struct stats *stats = page->stats;
	struct table table = { 0 };

	ps_columns(&table, stats_by_name(stats->by));
	for (size_t i = 0; i < page->shown; i++) {
		const struct stats_row *row = &stats->rows[i];
		AUTO_FREE char *name = stats_name(row->known ? row->name : "not known", row->tid);

		if (!row->sums.on_cpu_ns && !charge_sum(&row->ticks))
			continue;
		add_share(&table, page, (int64_t)row->sums.on_cpu_ns,
			  (int64_t)(charge_sum(&row->ticks) * stats->tick_ns));
		stats_ps_add_pair(&table, page, row->sums.own_ns, row->ticks.user);
		stats_ps_add_pair(&table, page,
				  row->sums.on_cpu_ns - row->sums.own_ns - row->sums.either_ns,
				  row->ticks.system);
		table_cell(&table, "%s", name);
	}
	table_print(&table, page->out);
	table_fini(&table);
}

static void stats_ps_print_cpus(const struct stats_page *page)
{
	const struct stats *stats = page->stats;
	struct table table = { 0 };

	ps_columns(&table, "CPU, busy");
	for (size_t i = 0; i < stats->cpu_count; i++) {
		const struct stats_cpu *cpu = &stats->cpus[i];
		uint64_t system_ns = cpu->mode_ns[MODE_KERNEL] + cpu->mode_ns[MODE_IRQ] +
				     cpu->mode_ns[MODE_SOFTIRQ];
		uint64_t ticks = cpu->ticks.user + cpu->ticks.system + cpu->ticks.either;

		add_share(&table, page,
			  (int64_t)(cpu->mode_ns[MODE_USER] + system_ns + cpu->mode_ns[MODE_RUN]),
			  (int64_t)(ticks * stats->tick_ns));
		stats_ps_add_pair(&table, page, cpu->mode_ns[MODE_USER], cpu->ticks.user);
		stats_ps_add_pair(&table, page, system_ns, cpu->ticks.system);
		table_cell(&table, "%zu", i);
	}
	fputc('\n', page->out);
	table_print(&table, page->out);
	table_fini(&table);
}

void stats_ps(const struct stats_page *page)
{
	static const char *const sources[] = {
		[PS_TICKS] = "recorded ticks",
		[PS_INTERRUPTS] = "from recorded local timer interrupts",
		[PS_ASSUMED] = "assumed, because no ticks were recorded",
	};
	const struct stats *stats = page->stats;

	if (!stats->has_ps)
		return;
	stats_heading(page->out,
		      "Accounting by clock ticks, in %% of one CPU; %" PRIu64 " ticks per second "
		      "(%s):",
		      (1000000000u + stats->tick_ns / 2) / stats->tick_ns,
		      sources[stats->tick_source]);
	print_processes(page);
	stats_ps_print_cpus(page);
}
