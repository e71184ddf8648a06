/*
 * check.c - the text report: the conclusion, transitions, values, and what was not kept and why.
 */
#include "report/check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyse/why/why.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "model/model.h"
#include "report/check_int.h"
#include "report/table.h"
#include "report/why_int.h"

#define UNEXPECTED_SHOWN 5u
#define ROOT_COLUMN	 23 /* where the words of a root begin */

struct printing {
	FILE *out;
	const struct report_check *report;
	const struct check_result *result;
	const struct model *model;
};

/* A line of text, wrapped, safe for a terminal. Takes 'text'. */
static void line(const struct printing *printing, size_t indent, char *text)
{
	AUTO_FREE char *safe = text_escaped(text);

	for (size_t i = 0; i < indent; i++)
		fputc(' ', printing->out);
	table_wrap(printing->out, safe, indent);
	free(text);
}

static void check_print_conclusion(const struct printing *printing)
{
	const struct check_result *result = printing->result;

	if (!result->instances) {
		line(printing, 0,
		     xasprintf("%s: nothing to check: no event of the trace starts an instance",
			       printing->model->name));
		return;
	}
	line(printing, 0,
	     xasprintf("%s: %s invalid, %s uncertain, %s valid of %s instance%s",
		       printing->model->name, text_count(result->count[CHECK_INVALID]).s,
		       text_count(result->count[CHECK_UNCERTAIN]).s,
		       text_count(result->count[CHECK_VALID]).s, text_count(result->instances).s,
		       result->instances == 1 ? "" : "s"));
	if (result->open)
		line(printing, 2,
		     xasprintf("%s were unfinished when the trace or their thread ended",
			       text_count(result->open).s));
	if (result->dropped)
		line(printing, 2,
		     xasprintf("%s were dropped: too many were open at a time. They are uncertain "
			       "unless they were already invalid",
			       text_count(result->dropped).s));
}

static void count_row(struct table *table, const uint64_t *count, uint64_t taken)
{
	table_cell(table, "%s", text_count(taken).s);
	table_cell(table, "%s", text_count(count[CHECK_VALID]).s);
	table_cell(table, "%s", text_count(count[CHECK_UNCERTAIN]).s);
	table_cell(table, "%s", text_count(count[CHECK_INVALID]).s);
}

static void print_transitions(const struct printing *printing)
{
	const struct model *model = printing->model;
	struct table table = { 0 };

	table_column(&table, "taken", TABLE_RIGHT);
	table_column(&table, "valid", TABLE_RIGHT);
	table_column(&table, "uncertain", TABLE_RIGHT);
	table_column(&table, "invalid", TABLE_RIGHT);
	table_column(&table, "transition, and its constraints", TABLE_TEXT);
	for (uint32_t i = 0; i < model->transition_count; i++) {
		const struct check_transition *transition = &printing->result->transitions[i];
		AUTO_FREE char *name = check_words_transition(model, i);

		count_row(&table, transition->count, transition->taken);
		table_cell(&table, "%s", name);
		for (uint32_t j = 0; j < model->transitions[i].constraint_count; j++) {
			count_row(&table, transition->constraints[j].count, transition->taken);
			table_cell(&table, "    %s", model->transitions[i].constraints[j].text);
		}
	}
	fputc('\n', printing->out);
	table_print(&table, printing->out);
	table_fini(&table);
}

static void value_row(struct table *table, const struct printing *printing, uint32_t transition,
		      struct check_value *value)
{
	const struct model_variable *variable = &printing->model->variables[value->variable];
	AUTO_FREE char *name = check_words_transition(printing->model, transition);
	const char *about = check_stats_is_exact(&value->stats) ? "" : "~";

	table_cell(table, "%s", text_count(value->stats.count).s);
	table_cell(table, "%s", check_value_text(variable->unit, value->stats.min).s);
	table_cell(table, "%s%s", about,
		   check_value_text(variable->unit, check_stats_quantile(&value->stats, 500)).s);
	table_cell(table, "%s%s", about,
		   check_value_text(variable->unit, check_stats_quantile(&value->stats, 990)).s);
	table_cell(table, "%s", check_value_text(variable->unit, value->stats.max).s);
	table_cell(table, "%" PRIu64, value->worst_instance);
	table_cell(table, "%s at %s", variable->name, name);
}

static void print_values(const struct printing *printing)
{
	struct table table = { 0 };
	bool any = false;

	table_column(&table, "values", TABLE_RIGHT);
	table_column(&table, "min", TABLE_RIGHT);
	table_column(&table, "median", TABLE_RIGHT);
	table_column(&table, "p99", TABLE_RIGHT);
	table_column(&table, "max", TABLE_RIGHT);
	table_column(&table, "in no.", TABLE_RIGHT);
	table_column(&table, "variable", TABLE_TEXT);
	for (uint32_t i = 0; i < printing->model->transition_count; i++) {
		const struct check_transition *transition = &printing->result->transitions[i];

		for (uint32_t j = 0; j < transition->value_count; j++) {
			if (!transition->values[j].stats.count)
				continue;
			value_row(&table, printing, i, &transition->values[j]);
			any = true;
		}
	}
	if (any) {
		fputc('\n', printing->out);
		table_print(&table, printing->out);
	}
	table_fini(&table);
}

/* Below a root: in which code that was. */
static void check_print_code(const struct printing *printing, const struct check_finding *finding,
			     size_t index)
{
	const struct facts *facts = printing->report->why_facts;
	AUTO_FREE char *done = check_words_done(facts, finding, index);
	AUTO_FREE char *waited = check_words_waited(facts, finding, index);

	if (*done)
		line(printing, ROOT_COLUMN + 2, xstrdup(done));
	if (*waited)
		line(printing, ROOT_COLUMN + 2, xstrdup(waited));
}

static void check_print_root(const struct printing *printing, const struct check_finding *finding,
			     size_t index)
{
	const struct why *why = finding->why;
	const struct why_root *root = &why->roots[index];
	AUTO_FREE char *text = check_words_root(finding, index);
	AUTO_FREE char *safe = text_escaped(text);

	fprintf(printing->out, "      %6s  %7s  ",
		text_percent(root->ns, why->end_ns - why->start_ns).s, text_duration(root->ns).s);
	table_wrap(printing->out, safe, ROOT_COLUMN);
	check_print_code(printing, finding, index);
}

/* The largest roots of the verdict, and the one that differs most from valid instances. */
static void check_print_why(const struct printing *printing, const struct check_finding *finding)
{
	size_t count = finding->why->root_count, shown = 0;

	for (size_t i = 0; i < count; i++) {
		if (!check_root_is_told(finding, i))
			continue;
		check_print_root(printing, finding, i);
		shown++;
	}
	if (count > shown)
		line(printing, 6, xasprintf("and %zu more", count - shown));
}

static void finding_print_head(const struct printing *printing, const struct check_finding *finding)
{
	AUTO_FREE char *way =
		finding->transition == UINT32_MAX
			? xasprintf("state %s", printing->model->states[finding->state].name)
			: check_words_transition(printing->model, finding->transition);
	uint64_t first_ns = printing->report->facts->first_ns;

	line(printing, 2,
	     xasprintf("no. %" PRIu64 " (key %s, thread %d), %s, from %s to %s", finding->instance,
		       finding->key, finding->tid, way, page_since(first_ns, finding->start_ns).s,
		       page_since(first_ns, finding->end_ns).s));
}

/* What was not kept over one span: its constraints, then why, once. Returns how many. */
static size_t print_group(const struct printing *printing, size_t first)
{
	const struct check_result *result = printing->result;
	const struct check_finding *findings = result->findings;
	size_t end = first;

	finding_print_head(printing, &findings[first]);
	while (end < result->finding_count && check_same_span(&findings[first], &findings[end])) {
		line(printing, 4, check_words_finding(result, &findings[end]));
		end++;
	}
	if (findings[first].why)
		check_print_why(printing, &findings[first]);
	return end - first;
}

/* Findings of one status, the first ones. */
static void print_findings(const struct printing *printing, enum check_status status,
			   const char *title)
{
	const struct check_result *result = printing->result;
	uint32_t top = printing->report->top ? printing->report->top : REPORT_CHECK_TOP;
	uint64_t left = result->findings_left_out[status];
	uint32_t groups = 0;

	for (size_t i = 0; i < result->finding_count;) {
		if (result->findings[i].status != status || groups == top) {
			left += result->findings[i].status == status;
			i++;
			continue;
		}
		if (!groups++)
			fprintf(printing->out, "\n%s\n", title);
		i += print_group(printing, i);
	}
	if (left)
		line(printing, 2,
		     xasprintf("and %s more findings (--top, --json)", text_count(left).s));
}

static void print_unexpected(const struct printing *printing)
{
	const struct check_result *result = printing->result;

	for (size_t i = 0; i < result->unexpected_count && i < UNEXPECTED_SHOWN; i++) {
		const struct check_unexpected *row = &result->unexpected[i];

		line(printing, 2,
		     xasprintf("unexpected event %s in state \"%s\", which has no such "
			       "transition: %s times",
			       printing->model->patterns[row->pattern].name,
			       printing->model->states[row->state].name, text_count(row->count).s));
	}
	if (result->unexpected_count > UNEXPECTED_SHOWN)
		line(printing, 2,
		     xasprintf("and %zu other unexpected events",
			       result->unexpected_count - UNEXPECTED_SHOWN));
	if (result->no_key)
		line(printing, 2,
		     xasprintf("%s events had no key, so their instances are unknown",
			       text_count(result->no_key).s));
	if (result->lost)
		line(printing, 2,
		     xasprintf("at least %s events were lost; affected results are uncertain",
			       text_count(result->lost).s));
}

static void check_print_notes(const struct printing *printing)
{
	const struct check_result *result = printing->result;

	if (!printing->report->note_count && !result->unexpected_count && !result->no_key &&
	    !result->lost)
		return;
	fputs("\nNotes\n", printing->out);
	for (size_t i = 0; i < printing->report->note_count; i++)
		line(printing, 2, xstrdup(printing->report->notes[i]));
	print_unexpected(printing);
}

void report_check(FILE *out, const struct report_check *report)
{
	struct printing printing = { .out = out,
				     .report = report,
				     .result = report->result,
				     .model = report->result->model };

	check_print_conclusion(&printing);
	if (report->result->instances) {
		print_transitions(&printing);
		print_values(&printing);
		print_findings(&printing, CHECK_INVALID, "Invalid");
		print_findings(&printing, CHECK_UNCERTAIN, "Uncertain");
	}
	check_print_notes(&printing);
}

size_t report_check_group(FILE *out, const struct report_check *report, size_t first)
{
	struct printing printing = { .out = out,
				     .report = report,
				     .result = report->result,
				     .model = report->result->model };

	return print_group(&printing, first);
}

void report_check_one(FILE *out, const struct report_check *report,
		      const struct check_finding *finding)
{
	struct printing printing = { .out = out,
				     .report = report,
				     .result = report->result,
				     .model = report->result->model };

	finding_print_head(&printing, finding);
	line(&printing, 4, check_words_finding(report->result, finding));
}

void report_mistakes(FILE *out, const char *path, const struct model_errors *errors)
{
	AUTO_FREE char *safe = text_escaped(path);

	for (uint32_t i = 0; i < errors->count; i++)
		fprintf(out, "holdup: %s:%u:%u: %s\n", safe, errors->items[i].place.line,
			errors->items[i].place.column, errors->items[i].text);
	if (errors->more)
		fprintf(out, "holdup: %s: %u more mistakes\n", safe, errors->more);
}
