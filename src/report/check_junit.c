/*
 * check_junit.c - the result as test cases, for what runs tests and draws their results.
 *
 * A constraint is a case: failed when an instance did not keep it, skipped when that is not
 * certain of one. JUnit has no word for uncertain that stops nobody and is seen all the same.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analyse/why/why.h"
#include "base/mem.h"
#include "report/check_int.h"

#define MESSAGES 10u /* findings named in one case */

/* Takes 'text'. */
static void check_junit_put_line(FILE *out, const char *indent, char *text)
{
	if (*text) {
		fputs(indent, out);
		text_put_xml(out, text);
		fputc('\n', out);
	}
	free(text);
}

/* What held it up, and in which code. */
static void check_junit_put_why(FILE *out, const struct report_check *report,
				const struct check_finding *finding)
{
	const struct why *why = finding->why;

	for (size_t i = 0; i < why->root_count; i++) {
		const struct why_root *root = &why->roots[i];
		AUTO_FREE char *words = NULL;

		if (!check_root_is_told(finding, i))
			continue;
		words = check_words_root(finding, i);
		check_junit_put_line(
			out, "  ",
			xasprintf("%s  %s  %s",
				  text_percent(root->ns, why->end_ns - why->start_ns).s,
				  text_duration(root->ns).s, words));
		check_junit_put_line(out, "    ", check_words_done(report->why_facts, finding, i));
		check_junit_put_line(out, "    ",
				     check_words_waited(report->why_facts, finding, i));
	}
}

/* Why a finding was so is told once, with the first of those that are about its span. */
static const struct check_finding *check_junit_first(const struct check_result *result, size_t i)
{
	while (i > 0 && !result->findings[i].why &&
	       check_same_span(&result->findings[i - 1], &result->findings[i]))
		i--;
	return &result->findings[i];
}

/* The findings of a case, a line each, and what held each up. */
static void check_junit_put_findings(FILE *out, const struct report_check *report,
				     uint32_t transition, uint32_t constraint,
				     enum check_status status)
{
	const struct check_result *result = report->result;
	uint32_t count = 0;

	for (size_t i = 0; i < result->finding_count && count < MESSAGES; i++) {
		const struct check_finding *finding = &result->findings[i];
		const struct check_finding *first;
		AUTO_FREE char *words = NULL;

		if (finding->transition != transition || finding->constraint != constraint ||
		    finding->status != status)
			continue;
		words = check_words_finding(result, finding);
		check_junit_put_line(out, "",
				     xasprintf("instance %" PRIu64 ", key %s, thread %d: %s",
					       finding->instance, finding->key, finding->tid,
					       words));
		first = check_junit_first(result, i);
		if (first->why)
			check_junit_put_why(out, report, first);
		count++;
	}
}

static void check_junit_put_status(FILE *out, const struct report_check *report,
				   uint32_t transition, uint32_t constraint, const uint64_t *count)
{
	bool is_invalid = count[CHECK_INVALID] > 0;
	enum check_status status = is_invalid ? CHECK_INVALID : CHECK_UNCERTAIN;

	if (!count[status])
		return;
	if (is_invalid) {
		fprintf(out, "<failure message=\"%" PRIu64 " invalid\">", count[status]);
		check_junit_put_findings(out, report, transition, constraint, status);
		fputs("</failure>", out);
		return;
	}
	fprintf(out, "<skipped message=\"%" PRIu64 " uncertain\"/>", count[status]);
}

static void put_case(FILE *out, const struct check_result *result, const char *name,
		     const char *class)
{
	fputs("    <testcase classname=\"", out);
	text_put_xml(out, result->model->name);
	fputs(".", out);
	text_put_xml(out, class);
	fputs("\" name=\"", out);
	text_put_xml(out, name);
	fputs("\">", out);
}

/* Findings that no constraint is behind: events out of order, holes, deadlines at the end. */
static void way_counts(const struct check_result *result, uint64_t count[CHECK_STATUS_COUNT])
{
	for (size_t i = 0; i < result->finding_count; i++)
		count[result->findings[i].status] += result->findings[i].transition == UINT32_MAX;
}

static void add_case(const uint64_t *count, uint64_t sums[CHECK_STATUS_COUNT])
{
	sums[count[CHECK_INVALID]     ? CHECK_INVALID
	     : count[CHECK_UNCERTAIN] ? CHECK_UNCERTAIN
				      : CHECK_VALID]++;
}

static void sum_cases(const struct check_result *result, const uint64_t *way, uint64_t *sums)
{
	const struct model *model = result->model;

	add_case(way, sums);
	for (uint32_t i = 0; i < model->transition_count; i++) {
		for (uint32_t j = 0; j < model->transitions[i].constraint_count; j++)
			add_case(result->transitions[i].constraints[j].count, sums);
	}
}

static void put_cases(FILE *out, const struct report_check *report, const uint64_t *way)
{
	const struct check_result *result = report->result;
	const struct model *model = result->model;

	put_case(out, result, "the way of the instances", "states");
	check_junit_put_status(out, report, UINT32_MAX, UINT32_MAX, way);
	fputs("</testcase>\n", out);
	for (uint32_t i = 0; i < model->transition_count; i++) {
		AUTO_FREE char *class = check_words_transition(model, i);

		for (uint32_t j = 0; j < model->transitions[i].constraint_count; j++) {
			put_case(out, result, model->transitions[i].constraints[j].text, class);
			check_junit_put_status(out, report, i, j,
					       result->transitions[i].constraints[j].count);
			fputs("</testcase>\n", out);
		}
	}
}

void report_check_junit(FILE *out, const struct report_check *report)
{
	const struct check_result *result = report->result;
	uint64_t way[CHECK_STATUS_COUNT] = { 0 }, sums[CHECK_STATUS_COUNT] = { 0 };

	way_counts(result, way);
	/* That nothing was checked must be seen. */
	way[CHECK_UNCERTAIN] += result->instances ? result->dropped : 1;
	sum_cases(result, way, sums);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"",
	      out);
	text_put_xml(out, result->model->name);
	fprintf(out,
		"\" tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"0\" skipped=\"%" PRIu64
		"\">\n",
		sums[CHECK_VALID] + sums[CHECK_UNCERTAIN] + sums[CHECK_INVALID],
		sums[CHECK_INVALID], sums[CHECK_UNCERTAIN]);
	put_cases(out, report, way);
	fputs("  </testsuite>\n</testsuites>\n", out);
}
