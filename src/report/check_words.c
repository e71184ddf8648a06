/* check_words.c - values, transitions and findings in words. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/check_int.h"

static struct text plain_text(double value)
{
	struct text text;

	if (value >= 0 && value < 1e15 && floor(value) == value)
		return text_count((uint64_t)value);
	snprintf(text.s, sizeof(text.s), "%.6g", value);
	return text;
}

static struct text negative(struct text text)
{
	struct text minus;

	snprintf(minus.s, sizeof(minus.s), "-%.38s", text.s);
	return minus;
}

struct text check_value_text(enum model_unit unit, double value)
{
	bool fits = fabs(value) < 1e18;

	if (unit == UNIT_TIME && fits)
		return value < 0 ? negative(text_duration((uint64_t)-value))
				 : text_duration((uint64_t)value);
	if (unit == UNIT_BYTES && fits)
		return value < 0 ? negative(text_size((uint64_t)-value))
				 : text_size((uint64_t)value);
	return plain_text(value);
}

struct text check_range_text(enum model_unit unit, struct check_range range)
{
	struct text text;

	if (range.low == range.high)
		return check_value_text(unit, range.low);
	if (isfinite(range.low) && isfinite(range.high))
		snprintf(text.s, sizeof(text.s), "%.16s to %.16s",
			 check_value_text(unit, range.low).s, check_value_text(unit, range.high).s);
	else if (isfinite(range.low))
		snprintf(text.s, sizeof(text.s), "at least %.16s",
			 check_value_text(unit, range.low).s);
	else
		snprintf(text.s, sizeof(text.s), "not known");
	return text;
}

char *check_words_transition(const struct model *model, uint32_t index)
{
	const struct model_transition *transition = &model->transitions[index];
	const struct model_pattern *pattern = &model->patterns[transition->pattern];
	static const char *const kinds[] = { "", "system call ", "end of system call " };

	return xasprintf("%s -> %s on %s%s%s%s%s", model->states[transition->from].name,
			 model->states[transition->to].name, kinds[pattern->take], pattern->name,
			 pattern->filter ? " (" : "", pattern->filter ? pattern->filter : "",
			 pattern->filter ? ")" : "");
}

/* By how much a limit was passed, for the constraints that have one: "4.2 ms more". */
static char *over_by(enum model_unit unit, const struct model_constraint *constraint,
		     const struct check_finding *finding)
{
	double by = finding->left.low - finding->right.low;

	if (finding->left.low != finding->left.high || finding->right.low != finding->right.high ||
	    by == 0 || constraint->compare == CMP_EQUAL || constraint->compare == CMP_DIFFERS)
		return xstrdup("");
	return xasprintf(", %s too %s", check_value_text(unit, fabs(by)).s,
			 by > 0 ? "much" : "little");
}

char *check_words_finding(const struct check_result *result, const struct check_finding *finding)
{
	const struct model *model = result->model;
	const struct model_constraint *constraint;
	AUTO_FREE char *by = NULL;
	enum model_unit unit;
	bool is_number;

	if (finding->transition == UINT32_MAX)
		return xstrdup(finding->reason);
	constraint = &model->transitions[finding->transition].constraints[finding->constraint];
	unit = constraint->left.unit == UNIT_ANY || constraint->left.unit == UNIT_PLAIN
		       ? constraint->right.unit
		       : constraint->left.unit;
	by = over_by(unit, constraint, finding);
	is_number = constraint->right.count == 1 && constraint->right.ops[0].kind == OP_NUMBER;
	return xasprintf("%s: actual %s%s%s%s%s%s", constraint->text,
			 check_range_text(unit, finding->left).s, is_number ? "" : ", the limit ",
			 is_number ? "" : check_range_text(unit, finding->right).s, by,
			 finding->reason[0] ? "; " : "", finding->reason);
}
