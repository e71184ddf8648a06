/* learn.c - a learned machine and its limits as YAML. */
#include "report/learn.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/learn.h"
#include "base/mem.h"
#include "base/text.h"

#define WHOLE "whole" /* the variable that runs since an instance began */

/* A text that YAML takes for the same text. */
static void learn_print_name(FILE *out, const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:./+-";
	AUTO_FREE char *safe = text_escaped(name);
	bool is_plain = safe[0] && strspn(safe, plain) == strlen(safe) &&
			strchr("0123456789:./+-", safe[0]) == NULL && safe[strlen(safe) - 1] != ':';

	if (is_plain) {
		fputs(safe, out);
		return;
	}
	fputc('"', out);
	for (const char *at = safe; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
}

static bool learn_is_count(const struct learn_metric *metric)
{
	return metric->class == LEARN_COUNT || metric->class == LEARN_CHANCE;
}

/* "1.5ms", "3" */
static struct text value_text(const struct learn_metric *metric, double value)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	struct text text = { "0" };
	size_t i = 0;

	if (learn_is_count(metric)) {
		(void)snprintf(text.s, sizeof(text.s), "%.0f", value);
		return text;
	}
	while (i + 1 < ARRAY_LEN(units) && value < units[i].ns)
		i++;
	if (value > 0)
		(void)snprintf(text.s, sizeof(text.s), "%.*f%s",
			       value >= 100 * units[i].ns || i == 3 ? 0
			       : value >= 10 * units[i].ns	    ? 1
								    : 2,
			       value / units[i].ns, units[i].name);
	return text;
}

/* A limit has two digits: "1.5ms", not "1.50ms". */
static struct text limit_text(const struct learn_metric *metric, double value)
{
	struct text text = value_text(metric, value);
	char *point = strchr(text.s, '.'), *end;
	char unit[8];

	if (!point)
		return text;
	end = point + strspn(point, ".0123456789");
	(void)snprintf(unit, sizeof(unit), "%s", end);
	while (end[-1] == '0')
		end--;
	end -= end[-1] == '.';
	(void)snprintf(end, sizeof(text.s) - (size_t)(end - text.s), "%s", unit);
	return text;
}

static void print_seen(FILE *out, const struct learn_metric *metric, struct learn_value *value)
{
	struct check_stats *stats = &value->stats;

	fprintf(out, "  # %s .. %s .. %s of %s", value_text(metric, stats->min).s,
		value_text(metric, check_stats_quantile(stats, 500)).s,
		value_text(metric, stats->max).s, text_count(stats->count).s);
	if (value->uncertain)
		fprintf(out, "; %s more are not known", text_count(value->uncertain).s);
	fputc('\n', out);
}

static void print_constraint(FILE *out, const struct learn_metric *metric,
			     struct learn_value *value, bool is_whole)
{
	fprintf(out,
		is_whole ? "          - { that: %s <= %s, since: " WHOLE " }"
			 : "          - %s <= %s",
		metric->name, limit_text(metric, value->limit).s);
	print_seen(out, metric, value);
}

/* "wait: { disk: 100us }" for all kinds that were never seen. */
static void print_never(FILE *out, struct learn_value *values)
{
	const char *before = "          - wait: { ";

	for (uint32_t i = 0; i < learn_metric_count; i++) {
		const char *kind = strchr(learn_metrics[i].name, '(');

		if (!kind || !values[i].is_used || values[i].stats.max > 0)
			continue;
		fprintf(out, "%s%.*s: %s", before, (int)(strlen(kind) - 2), kind + 1,
			limit_text(&learn_metrics[i], values[i].limit).s);
		before = ", ";
	}
	if (before[0] == ',')
		fputs(" }  # never seen\n", out);
}

static void print_limits(FILE *out, struct learn_value *values, bool is_whole)
{
	for (uint32_t i = 0; i < learn_metric_count; i++) {
		const struct learn_metric *metric = &learn_metrics[i];

		if (!values[i].is_used || (is_whole && !metric->is_whole))
			continue;
		if (is_whole || !strchr(metric->name, '(') || values[i].stats.max > 0)
			print_constraint(out, metric, &values[i], is_whole);
	}
	if (!is_whole)
		print_never(out, values);
}

/* Constraints that hold: what they are about is measured. */
static void print_probes(FILE *out, bool is_whole)
{
	for (uint32_t i = 0; i < learn_metric_count; i++) {
		const struct learn_metric *metric = &learn_metrics[i];

		if (is_whole && !metric->is_whole)
			continue;
		fprintf(out,
			is_whole ? "          - { that: %s >= %s, since: " WHOLE " }\n"
				 : "          - %s >= %s\n",
			metric->name, learn_is_count(metric) ? "0" : "0ns");
	}
}

static bool has_limits(const struct learn_value *values)
{
	for (uint32_t i = 0; i < learn_metric_count; i++) {
		if (values[i].is_used)
			return true;
	}
	return false;
}

static void print_check(FILE *out, const struct report_learn *report,
			const struct learn_transition *transition)
{
	if (!transition->values || (!report->is_measuring && !has_limits(transition->values) &&
				    !(transition->whole && has_limits(transition->whole))))
		return;
	fputs("        check:\n", out);
	if (report->is_measuring)
		print_probes(out, false);
	else
		print_limits(out, transition->values, false);
	if (!transition->whole)
		return;
	if (report->is_measuring)
		print_probes(out, true);
	else
		print_limits(out, transition->whole, true);
}

static bool has_whole(const struct learned *learned)
{
	for (uint32_t i = 0; i < learned->transition_count; i++) {
		if (learned->transitions[i].whole)
			return true;
	}
	return false;
}

static void print_times(FILE *out, const char *what, uint64_t count)
{
	fprintf(out, "  # %s%s time%s", what, text_count(count).s, count == 1 ? "" : "s");
}

static void print_transition(FILE *out, const struct report_learn *report,
			     const struct learn_transition *transition)
{
	const struct learned *learned = learn_result(report->learn);
	bool is_call = learn_symbol_take(report->learn, transition->symbol) == LEARN_SYSCALL;

	fputs(is_call ? "      - syscall: " : "      - event: ", out);
	learn_print_name(out, learn_symbol_name(report->learn, transition->symbol));
	if (!report->is_measuring)
		print_times(out, "", transition->taken);
	fputs("\n        to: ", out);
	learn_print_name(out, learned->states[transition->to].name);
	fputc('\n', out);
	if (transition->from == 0 && has_whole(learned))
		fputs("        start: [" WHOLE "]\n", out);
	print_check(out, report, transition);
}

static void learn_print_state(FILE *out, const struct report_learn *report, uint32_t index)
{
	const struct learned *learned = learn_result(report->learn);
	const struct learn_state *state = &learned->states[index];
	bool is_first = true;

	fputs("  ", out);
	learn_print_name(out, state->name);
	fputs(":\n", out);
	if (state->may_end) {
		fputs("    may_end: true", out);
		if (!report->is_measuring)
			print_times(out, "good runs did, ", state->ended);
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < learned->transition_count; i++) {
		if (learned->transitions[i].from != index)
			continue;
		if (is_first)
			fputs("    transitions:\n", out);
		is_first = false;
		print_transition(out, report, &learned->transitions[i]);
	}
}

static void learn_print_head(FILE *out, const struct report_learn *report)
{
	const struct learned *learned = learn_result(report->learn);

	fprintf(out, "# Written by holdup learn: %s trace%s, %s events, %s instances.\n",
		text_count(learned->traces).s, learned->traces == 1 ? "" : "s",
		text_count(learned->events).s, text_count(learned->instances).s);
	fprintf(out,
		"# Each limit is followed by the values seen: smallest .. median .. largest of N "
		"values.\n# A limit is the estimated largest value in %d times as many runs, plus "
		"%.0f %%; see\n# holdup-learn(1). Edit limits that you know better.\n",
		LEARN_HORIZON, report->margin * 100);
}

void report_learn(FILE *out, const struct report_learn *report)
{
	const struct learned *learned = learn_result(report->learn);

	if (!report->is_measuring)
		learn_print_head(out, report);
	fputs("model: ", out);
	learn_print_name(out, report->name);
	fputs("\nkey: ", out);
	learn_print_name(out, report->key);
	fputs("\nstrict: true\ninitial: ", out);
	learn_print_name(out, learned->states[0].name);
	if (has_whole(learned))
		fputs("\nvariables:\n  " WHOLE ": elapsed", out);
	fputs("\nstates:\n", out);
	for (uint32_t i = 0; i < learned->state_count; i++)
		learn_print_state(out, report, i);
}
