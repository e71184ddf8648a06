/* check_words.c - values, transitions and findings in words. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/mem.h"
#include "report/check_int.h"
#include "report/why_int.h"

#define ROOTS_SHOWN 3u
#define CODE_LEAST  100 /* roots of at least one in so many parts have their code told */

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

/* What the reason is about: a variable, a field, a pattern, or the state. */
static const char *reason_about(const struct model *model, const struct check_finding *finding)
{
	const struct check_reason *reason = &finding->reason;

	switch (reason->kind) {
	case REASON_MISSING:
	case REASON_DEAF:
	case REASON_NOT_STARTED:
	case REASON_NOT_SET:
	case REASON_VALUE:
		return model->variables[reason->index].name;
	case REASON_NO_FIELD:
	case REASON_TEXT_FIELD:
		return model->fields[reason->index].name;
	default:
		return model->states[finding->state].name;
	}
}

char *report_check_reason(const struct check_result *result, const struct check_finding *finding)
{
	static const struct {
		const char *before, *after; /* what it is about between them; NULL = nothing is */
	} texts[] = {
		[REASON_NONE] = { "", NULL },
		[REASON_MISSING] = { "", " is unknown: " },
		[REASON_HOLE] = { "kernel events were lost in the span", NULL },
		[REASON_KIND] = { "events that identify this kind of wait were not recorded",
				  NULL },
		[REASON_UNENDED] = { "the object of a wait is known only after the wait", NULL },
		[REASON_LOCKS] = { "user-space events were lost: lock owners may have changed",
				   NULL },
		[REASON_RSS] = { "the memory size of the process at the start or the end is unknown",
				 NULL },
		[REASON_SILENT] = { "its program has no lock events; record with --locks", NULL },
		[REASON_WAY] = { "events were lost in the span, perhaps of this instance", NULL },
		[REASON_DEAF] = { "", " is unknown: the trace has no events of the kernel" },
		[REASON_STRANGER] = { "no kernel events of this thread", NULL },
		[REASON_NOT_STARTED] = { "", " was not started on this way" },
		[REASON_NOT_SET] = { "", " was not set on this way" },
		[REASON_VALUE] = { "the value of ", " is not known" },
		[REASON_NO_FIELD] = { "the event has no field \"", "\"" },
		[REASON_TEXT_FIELD] = { "the field \"", "\" is a text: a filter compares it" },
		[REASON_BY_ZERO] = { "division by 0", NULL },
		[REASON_GUESS] = { "the transition is unknown, because events were lost before",
				   NULL },
		[REASON_LOST] = { "events were lost in state \"", "\", perhaps of this instance" },
		[REASON_LOST_TRACK] = { "events were lost before, so the state may not have been \"",
					"\"" },
		[REASON_TRACE_ENDED] = { "the trace ended in state \"",
					 "\", where no transition can meet its deadline" },
		[REASON_STILL] = { "still in state \"", "\"" },
	};
	const struct check_reason *reason = &finding->reason;
	const struct model *model = result->model;

	switch (reason->kind) {
	case REASON_UNSURE:
		return xasprintf("the state of the thread is unknown for %s of the span",
				 text_duration(reason->ns).s);
	case REASON_BLURRED:
		return xasprintf("for %s of the span, user and kernel code cannot be distinguished",
				 text_duration(reason->ns).s);
	case REASON_UNEXPECTED:
		return xasprintf(
			"unexpected event %s in state \"%s\", which has no such transition",
			model->patterns[reason->index].name, model->states[finding->state].name);
	default:
		break;
	}
	if (!texts[reason->kind].after)
		return xstrdup(texts[reason->kind].before);
	return xasprintf("%s%s%s%s", texts[reason->kind].before, reason_about(model, finding),
			 texts[reason->kind].after, reason->text ? reason->text : "");
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
	AUTO_FREE char *by = NULL, *reason = report_check_reason(result, finding);
	enum model_unit unit;
	bool is_number;

	if (finding->transition == UINT32_MAX)
		return xstrdup(reason);
	constraint = &model->transitions[finding->transition].constraints[finding->constraint];
	unit = constraint->left.unit == UNIT_ANY || constraint->left.unit == UNIT_PLAIN
		       ? constraint->right.unit
		       : constraint->left.unit;
	by = over_by(unit, constraint, finding);
	is_number = constraint->right.count == 1 && constraint->right.ops[0].kind == OP_NUMBER;
	return xasprintf("%s: actual %s%s%s%s%s%s", constraint->text,
			 check_range_text(unit, finding->left).s, is_number ? "" : ", the limit ",
			 is_number ? "" : check_range_text(unit, finding->right).s, by,
			 reason[0] ? "; " : "", reason);
}

static bool root_differs(const struct check_finding *finding, size_t index)
{
	return index == finding->grown && finding->compared_with;
}

/* The largest ones, and the one that differs most from valid instances. */
bool check_root_is_told(const struct check_finding *finding, size_t index)
{
	return index < ROOTS_SHOWN || root_differs(finding, index);
}

char *check_words_root(const struct check_finding *finding, size_t index)
{
	AUTO_FREE char *words = words_root(finding->why, &finding->why->roots[index]);

	if (!root_differs(finding, index))
		return xstrdup(words);
	return xasprintf("%s  <- differs: median %s of %u valid instance%s", words,
			 text_duration(finding->usual_ns).s, finding->compared_with,
			 finding->compared_with == 1 ? "" : "s");
}

static bool root_has_code(const struct facts *facts, const struct check_finding *finding,
			  size_t index)
{
	const struct why *why = finding->why;

	return facts && check_root_is_told(finding, index) &&
	       why->roots[index].ns * CODE_LEAST >= why->end_ns - why->start_ns;
}

char *check_words_done(const struct facts *facts, const struct check_finding *finding, size_t index)
{
	if (!root_has_code(facts, finding, index))
		return xstrdup("");
	return words_root_done(facts, finding->why, &finding->why->roots[index]);
}

char *check_words_waited(const struct facts *facts, const struct check_finding *finding,
			 size_t index)
{
	const struct why_root *roots = finding->why->roots;
	AUTO_FREE char *before = NULL;
	AUTO_FREE char *text = NULL;
	size_t at = index;

	if (!root_has_code(facts, finding, index))
		return xstrdup("");
	text = words_root_waited(facts, &roots[index]);
	while (at > 0 && !root_has_code(facts, finding, at - 1))
		at--;
	before = at > 0 ? words_root_waited(facts, &roots[at - 1]) : xstrdup("");
	return xstrdup(strcmp(before, text) == 0 ? "" : text);
}
