/*
 * check_junit.c - the result as test cases, for what runs tests and draws their results.
 *
 * A constraint is a case: failed when an instance did not keep it, skipped when that is not
 * certain of one. JUnit has no word for uncertain that stops nobody and is seen all the same.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/check_int.h"

#define MESSAGES 10u /* findings named in one case */

/* The findings of a case, a line each. */
static void check_junit_put_findings(FILE *out, const struct check_result *result,
				     uint32_t transition, uint32_t constraint,
				     enum check_status status)
{
	uint32_t count = 0;

	for (size_t i = 0; i < result->finding_count && count < MESSAGES; i++) {
		const struct check_finding *finding = &result->findings[i];
		AUTO_FREE char *words = NULL;
		AUTO_FREE char *text = NULL;

		if (finding->transition != transition || finding->constraint != constraint ||
		    finding->status != status)
			continue;
		words = check_words_finding(result, finding);
		text = xasprintf("instance %" PRIu64 ", key %s, thread %d: %s", finding->instance,
				 finding->key, finding->tid, words);
		text_put_xml(out, text);
		fputc('\n', out);
		count++;
	}
}

static void check_junit_put_status(FILE *out, const struct check_result *result,
				   uint32_t transition, uint32_t constraint, const uint64_t *count)
{
	bool is_invalid = count[CHECK_INVALID] > 0;
	enum check_status status = is_invalid ? CHECK_INVALID : CHECK_UNCERTAIN;

	if (!count[status])
		return;
	if (is_invalid) {
		fprintf(out, "<failure message=\"%" PRIu64 " invalid\">", count[status]);
		check_junit_put_findings(out, result, transition, constraint, status);
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

static void put_cases(FILE *out, const struct check_result *result, const uint64_t *way)
{
	const struct model *model = result->model;

	put_case(out, result, "the way of the instances", "states");
	check_junit_put_status(out, result, UINT32_MAX, UINT32_MAX, way);
	fputs("</testcase>\n", out);
	for (uint32_t i = 0; i < model->transition_count; i++) {
		AUTO_FREE char *class = check_words_transition(model, i);

		for (uint32_t j = 0; j < model->transitions[i].constraint_count; j++) {
			put_case(out, result, model->transitions[i].constraints[j].text, class);
			check_junit_put_status(out, result, i, j,
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
	put_cases(out, result, way);
	fputs("  </testsuite>\n</testsuites>\n", out);
}
