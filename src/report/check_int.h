/* check_int.h - what the files that print a check share. */
#ifndef REPORT_CHECK_INT_H
#define REPORT_CHECK_INT_H

#include "analyse/check/check.h"
#include "base/text.h"
#include "model/model.h"
#include "report/check.h"

/* A value with its unit. */
struct text check_value_text(enum model_unit unit, double value);

/* "12 ms", or "12 ms to 15 ms", "at least 3" */
struct text check_range_text(enum model_unit unit, struct check_range range);

/* Sentences; free them with free(). Not made safe for a terminal. */
char *check_words_transition(const struct model *model, uint32_t transition);
char *check_words_finding(const struct check_result *result, const struct check_finding *finding);

/* Of the verdict of a finding: is this root told, and its words. */
bool check_root_is_told(const struct check_finding *finding, size_t index);
char *check_words_root(const struct check_finding *finding, size_t index);

/*
 * In which code that was: what was done meanwhile, and where the thread itself waited, where that is not
 * what the root before it says; "" = not known. 'facts': report_check.why_facts.
 */
char *check_words_done(const struct facts *facts, const struct check_finding *finding,
		       size_t index);
char *check_words_waited(const struct facts *facts, const struct check_finding *finding,
			 size_t index);

#endif
