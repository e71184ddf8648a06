/*
 * check.h - print the result of analyse/check/check.h: as text, as JSON, as JUnit's XML.
 */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct check_finding;
struct check_result;
struct facts;
struct json;
struct model_errors;

struct report_check {
	const struct check_result *result;
	const struct facts *facts;
	const struct facts
		*why_facts;	  /* whose stacks the verdicts' code is of; NULL = none is told */
	const char *const *notes; /* what the user should know of names and the trace */
	size_t note_count;
	uint32_t top; /* findings to print; 0 = default */
};

#define REPORT_CHECK_TOP 10

void report_check(FILE *out, const struct report_check *report);
void report_check_json(FILE *out, const struct report_check *report);

/*
 * As they are found: the finding of this index, and those behind it that are about the same
 * span. Returns how many were printed.
 */
size_t report_check_group(FILE *out, const struct report_check *report, size_t first);

/* The same of one that stands nowhere in the result. */
void report_check_one(FILE *out, const struct report_check *report,
		      const struct check_finding *finding);

/* The parts of report_check_json(): a finding, and all of it, below 'key'. */
void report_check_put_finding(struct json *json, const char *key, const struct report_check *report,
			      const struct check_finding *finding);
void report_check_put(struct json *json, const char *key, const struct report_check *report);

/* Why a finding is uncertain, or what is wrong where it has no constraint; "" = the values say it. Free it. */
char *report_check_reason(const struct check_result *result, const struct check_finding *finding);

/* What is wrong with a model, a line each: "requests.yaml:12:5: there is no state ..." */
void report_mistakes(FILE *out, const char *path, const struct model_errors *errors);

/* One test case for each constraint, and one for each transition that has none. */
void report_check_junit(FILE *out, const struct report_check *report);

#endif
