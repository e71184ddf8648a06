/*
 * functions.c - where time went by function: a row for each, at work and by what its waits were for.
 *
 * The parts of a row are rounded together (text_apportion()), so that they add up as printed.
 */
#include "report/functions.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyse/profile/functions.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "report/frames.h"
#include "report/hot.h"
#include "report/stats_int.h"
#include "report/table.h"
#include "report/vocabulary.h"
#include "report/why_int.h"

#define FUNCTIONS_TOP 20
#define KINDS_SHOWN   4 /* the others are one column */

struct functions_page {
	FILE *out;
	const struct functions *functions;
	const struct facts *facts;
	const struct report_functions_opts *opts;
	enum text_unit unit;
	uint32_t kinds[WAIT_KIND_COUNT]; /* that have a column, most time first */
	size_t kind_count;
	bool has_others; /* and one for the rest */
};

/* ------------------------------------------------------------------ text */

static void functions_print_head(const struct functions_page *page)
{
	static const char *const names[] = { "working", "interrupted", "without a CPU", "blocked",
					     "uncertain" };
	const struct functions *functions = page->functions;
	const uint64_t parts[] = { functions->all.working_ns, functions->irq_ns,
				   functions->waiting_ns, functions->all.blocked_ns,
				   functions->uncertain_ns };
	AUTO_FREE char *text = NULL;
	struct words words;

	words_begin(&words);
	fprintf(words.out, "Time of %s: %s;", report_hot_scope_words(page->opts->scope),
		text_duration(functions->life_ns).s);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		fprintf(words.out, "%s %s %s", i ? "," : "", names[i], text_duration(parts[i]).s);
	text = words_end(&words);
	table_wrap(page->out, text, 0);
	fprintf(page->out, "  Window: %s to %s of the recording.\n",
		page_since(page->facts->first_ns, functions->start_ns).s,
		page_since(page->facts->first_ns, functions->end_ns).s);
}

/* Those with most time. */
static void functions_choose_kinds(struct functions_page *page)
{
	const uint64_t *kind_ns = page->functions->all.kind_ns;

	for (uint32_t kind = 0; kind < WAIT_KIND_COUNT; kind++) {
		size_t at = page->kind_count;

		if (!kind_ns[kind])
			continue;
		for (; at > 0 && kind_ns[page->kinds[at - 1]] < kind_ns[kind]; at--)
			page->kinds[at] = page->kinds[at - 1];
		page->kinds[at] = kind;
		page->kind_count++;
	}
	page->has_others = page->kind_count > KINDS_SHOWN + 1;
	if (page->has_others)
		page->kind_count = KINDS_SHOWN;
}

static void functions_columns(struct table *table, const struct functions_page *page)
{
	table_column(table, "total", TABLE_RIGHT);
	table_column(table, "working", TABLE_RIGHT);
	table_column(table, "samples", TABLE_RIGHT);
	table_column(table, "blocked", TABLE_RIGHT);
	for (size_t i = 0; i < page->kind_count; i++)
		table_column(table, wait_kind_name((enum wait_kind)page->kinds[i]), TABLE_RIGHT);
	if (page->has_others)
		table_column(table, "other", TABLE_RIGHT);
	table_column(table, "waits", TABLE_RIGHT);
	table_column(table, "function", TABLE_TEXT);
}

static void functions_add_row(struct table *table, const struct functions_page *page,
			      const struct function_sums *sums, const char *name)
{
	uint64_t parts[2 + WAIT_KIND_COUNT] = { sums->working_ns }, places[2 + WAIT_KIND_COUNT];
	uint64_t total_ns = sums->working_ns + sums->blocked_ns, rest_ns = sums->blocked_ns;
	uint64_t blocked = 0;
	size_t count = 1;

	for (size_t i = 0; i < page->kind_count; i++) {
		parts[count++] = sums->kind_ns[page->kinds[i]];
		rest_ns -= sums->kind_ns[page->kinds[i]];
	}
	if (page->has_others)
		parts[count++] = rest_ns;
	text_apportion(parts, count, unit_places(total_ns, page->unit), places);
	for (size_t i = 1; i < count; i++)
		blocked += places[i];
	table_cell(table, "%s", bare_time(places[0] + blocked, total_ns).s);
	table_cell(table, "%s", bare_time(places[0], sums->working_ns).s);
	table_cell(table, "%s", text_count(sums->samples).s);
	table_cell(table, "%s", bare_time(blocked, sums->blocked_ns).s);
	for (size_t i = 1; i < count; i++)
		table_cell(table, "%s", bare_time(places[i], parts[i]).s);
	table_cell(table, "%s", text_count(sums->waits).s);
	table_cell(table, "%s", name);
}

static void functions_add(struct function_sums *to, const struct function_sums *from)
{
	to->working_ns += from->working_ns;
	to->samples += from->samples;
	to->blocked_ns += from->blocked_ns;
	to->waits += from->waits;
	for (size_t kind = 0; kind < WAIT_KIND_COUNT; kind++)
		to->kind_ns[kind] += from->kind_ns[kind];
}

static char *functions_row_text(const struct function_row *row)
{
	struct words words;

	words_begin(&words);
	if (row->frame)
		frame_put_named(words.out, row->frame);
	else
		fputs("unknown: without a sample or a stack", words.out);
	return words_end(&words);
}

static void functions_print_table(const struct functions_page *page)
{
	const struct functions *functions = page->functions;
	size_t top = page->opts->top ? page->opts->top : FUNCTIONS_TOP;
	struct function_sums rest = { 0 };
	struct table table = { 0 };

	if (page->opts->all || top > functions->row_count)
		top = functions->row_count;
	functions_columns(&table, page);
	for (size_t i = 0; i < functions->row_count; i++) {
		AUTO_FREE char *text = functions_row_text(&functions->rows[i]);

		if (i < top)
			functions_add_row(&table, page, &functions->rows[i].sums, text);
		else
			functions_add(&rest, &functions->rows[i].sums);
	}
	if (functions->row_count > top) {
		AUTO_FREE char *text = xasprintf("and %zu more (--top %zu)",
						 functions->row_count - top, functions->row_count);

		functions_add_row(&table, page, &rest, text);
	}
	table_rule(&table);
	functions_add_row(&table, page, &functions->all, "");
	stats_heading(page->out,
		      "Functions, in %s: total = working + blocked; blocked by what the waits were "
		      "for:",
		      unit_name(page->unit));
	table_print(&table, page->out);
	table_fini(&table);
}

static void functions_print_notes(const struct functions_page *page)
{
	const struct functions *functions = page->functions;

	if (!functions->period_ns)
		stats_say(page->out,
			  "The trace has no samples: in which functions the time of working went "
			  "is not known.");
	if (!page->facts->stacks->wait_count)
		stats_say(page->out,
			  "The trace has no stacks of waits: in which functions threads waited is "
			  "not known.");
	if (functions->doubtful)
		stats_say(page->out,
			  "Not counted: %" PRIu64 " sample%s of threads that had no CPU according "
			  "to the events.",
			  functions->doubtful, functions->doubtful == 1 ? "" : "s");
	if (functions->lost)
		stats_say(page->out, "Lost: %" PRIu64 " samples in the whole recording.",
			  functions->lost);
}

/* ------------------------------------------------------------------ JSON */

static void functions_json_sums(struct json *json, const struct function_sums *sums)
{
	json_print_u64(json, "ns", sums->working_ns + sums->blocked_ns);
	json_print_u64(json, "working_ns", sums->working_ns);
	json_print_u64(json, "samples", sums->samples);
	json_begin_object(json, "blocked");
	json_print_u64(json, "ns", sums->blocked_ns);
	json_print_u64(json, "io_ns", function_io_ns(sums));
	json_begin_object(json, "kinds");
	for (uint32_t kind = 0; kind < WAIT_KIND_COUNT; kind++) {
		if (sums->kind_ns[kind])
			json_print_u64(json, wait_kind_name((enum wait_kind)kind),
				       sums->kind_ns[kind]);
	}
	json_end_object(json);
	json_end_object(json);
	json_print_u64(json, "waits", sums->waits);
}

static void functions_json_rows(struct json *json, const struct functions *functions)
{
	json_begin_array(json, "functions");
	for (size_t i = 0; i < functions->row_count; i++) {
		const struct function_row *row = &functions->rows[i];

		json_begin_object(json, NULL);
		json_print_string(json, "function", row->frame ? row->frame->function : NULL);
		json_print_string(json, "module", row->frame ? row->frame->module : NULL);
		if (row->frame && row->frame->start)
			json_print_u64(json, "start", row->frame->start);
		else
			json_print_null(json, "start");
		functions_json_sums(json, &row->sums);
		json_end_object(json);
	}
	json_end_array(json);
}

static void functions_json(const struct functions_page *page)
{
	const struct functions *functions = page->functions;
	struct json json = { .out = page->out };

	report_json_begin(&json, NULL, "stats-functions");
	report_json_window(&json, functions->start_ns, functions->end_ns);
	json_print_string(&json, "scope", report_hot_scope_name(page->opts->scope));
	json_print_u64(&json, "period_ns", functions->period_ns);
	json_print_u64(&json, "lost", functions->lost);
	json_print_u64(&json, "doubtful", functions->doubtful);
	json_begin_object(&json, "life");
	json_print_u64(&json, "ns", functions->life_ns);
	json_print_u64(&json, "working_ns", functions->all.working_ns);
	json_print_u64(&json, "interrupted_ns", functions->irq_ns);
	json_print_u64(&json, "waiting_for_cpu_ns", functions->waiting_ns);
	json_print_u64(&json, "blocked_ns", functions->all.blocked_ns);
	json_print_u64(&json, "uncertain_ns", functions->uncertain_ns);
	json_end_object(&json);
	json_begin_object(&json, "all");
	functions_json_sums(&json, &functions->all);
	json_end_object(&json);
	functions_json_rows(&json, functions);
	coverage_json(&json, &functions->coverage, page->facts);
	json_end_object(&json);
	json_fini(&json);
}

void report_functions(FILE *out, const struct functions *functions, const struct facts *facts,
		      const struct report_functions_opts *opts)
{
	struct functions_page page = {
		.out = out,
		.functions = functions,
		.facts = facts,
		.opts = opts,
		.unit = text_unit_for(functions->all.working_ns + functions->all.blocked_ns),
	};

	if (opts->json) {
		functions_json(&page);
		return;
	}
	functions_choose_kinds(&page);
	functions_print_head(&page);
	functions_print_table(&page);
	functions_print_notes(&page);
	coverage_text(out, &functions->coverage, facts,
		      functions->uncertain_ns > functions->life_ns / 1000);
}
