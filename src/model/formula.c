/*
 * formula.c - constraints and expressions, by recursive descent into postfix order.
 *
 *	constraint  expr (== != < <= > >=) expr
 *	expr        term { (+ -) term }
 *	term        factor { (* /) factor }
 *	factor      - factor, (expr), NUMBER[UNIT], NUMBER%, NAME, NAME(ARGUMENT), .FIELD
 *
 * Units are followed along, so that a time is never compared with a count.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/build_int.h"

#define MAX_NESTING 32u
#define NAME_BYTES  128u

struct formula {
	struct build *build;
	const struct formula_scope *scope;
	const char *text;
	const char *at;
	uint32_t nesting;
	bool failed;
	struct model_expr *expr; /* being written */
};

static struct model_place place_at(const struct formula *formula, const char *at)
{
	struct model_place place = formula->scope->place;

	place.column += (uint32_t)(at - formula->text);
	return place;
}

/* Only the first mistake of a formula is told: the others may follow from it. */
#define COMPLAIN(formula, at, ...)                                                        \
	do {                                                                              \
		if (!(formula)->failed)                                                   \
			model_errors_add((formula)->build->errors, place_at(formula, at), \
					 __VA_ARGS__);                                    \
		(formula)->failed = true;                                                 \
	} while (0)

static const char *const unit_names[] = {
	[UNIT_ANY] = "a value of the trace",
	[UNIT_PLAIN] = "a number",
	[UNIT_TIME] = "a time",
	[UNIT_BYTES] = "a size",
};

static void skip_blanks(struct formula *formula)
{
	while (*formula->at == ' ' || *formula->at == '\t' || *formula->at == '\n')
		formula->at++;
}

static void emit(struct formula *formula, struct model_op op)
{
	struct model_expr *expr = formula->expr;

	if (expr->count >= MODEL_MAX_OPS) {
		COMPLAIN(formula, formula->at, "an expression has at most %u parts", MODEL_MAX_OPS);
		return;
	}
	if (!expr->ops)
		expr->ops = xcalloc(MODEL_MAX_OPS, sizeof(*expr->ops));
	expr->ops[expr->count++] = op;
}

static const struct unit_row {
	const char *name;
	double factor;
	enum model_unit unit;
} units[] = {
	{ "ns", 1, UNIT_TIME },		 { "us", 1e3, UNIT_TIME },
	{ "ms", 1e6, UNIT_TIME },	 { "s", 1e9, UNIT_TIME },
	{ "min", 60e9, UNIT_TIME },	 { "h", 3600e9, UNIT_TIME },
	{ "B", 1, UNIT_BYTES },		 { "KiB", 1024, UNIT_BYTES },
	{ "MiB", 1048576, UNIT_BYTES },	 { "GiB", 1073741824, UNIT_BYTES },
	{ "K", 1024, UNIT_BYTES },	 { "M", 1048576, UNIT_BYTES },
	{ "G", 1073741824, UNIT_BYTES }, { "%", 0.01, UNIT_TIME },
};

static const struct unit_row *find_unit(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strlen(units[i].name) == length && strncmp(units[i].name, name, length) == 0)
			return &units[i];
	}
	return NULL;
}

/* Digits with a point. Not strtod(): it knows a locale, "inf" and hexadecimal numbers. */
static double read_digits(struct formula *formula)
{
	double value = 0, place = 1;

	while (isdigit((unsigned char)*formula->at))
		value = value * 10 + (*formula->at++ - '0');
	if (*formula->at == '.' && isdigit((unsigned char)formula->at[1])) {
		formula->at++;
		while (isdigit((unsigned char)*formula->at)) {
			value = value * 10 + (*formula->at++ - '0');
			place *= 10;
		}
	}
	return value / place;
}

static enum model_unit parse_number(struct formula *formula)
{
	const char *start = formula->at;
	struct model_op op = { .kind = OP_NUMBER, .number = read_digits(formula) };
	const struct unit_row *unit;
	size_t length = 0;

	skip_blanks(formula);
	while (isalpha((unsigned char)formula->at[length]))
		length++;
	if (*formula->at == '%')
		length = 1;
	if (!(op.number < 1e18))
		COMPLAIN(formula, start, "the number is too large");
	if (!length) {
		emit(formula, op);
		return UNIT_PLAIN;
	}
	unit = find_unit(formula->at, length);
	if (!unit) {
		COMPLAIN(
			formula, formula->at,
			"there is no unit \"%.*s\"; times have ns, us, ms, s, min, h, sizes B, KiB, MiB, "
			"GiB, shares %%",
			(int)(length > 32 ? 32 : length), formula->at);
		return UNIT_ANY;
	}
	op.number *= unit->factor;
	if (*formula->at == '%')
		op.kind = OP_SHARE;
	formula->at += length;
	emit(formula, op);
	return unit->unit;
}

/* A metric without a name of its own: runs since the state was entered, or since a variable was. */
static uint32_t bare_metric(struct formula *formula, uint32_t metric, const char *name,
			    const char *at)
{
	struct build *build = formula->build;
	uint32_t since = formula->scope->since;
	AUTO_FREE char *full = since == NO_INDEX ? xstrdup(name)
						 : xasprintf("%s since %s", name,
							     build->model->variables[since].name);
	uint32_t found = build_find_variable(build, full);
	struct model_variable *variable;

	if (found != NO_INDEX)
		return found;
	found = build_add_variable(build, full, place_at(formula, at));
	if (found == NO_INDEX) {
		formula->failed = true;
		return found;
	}
	variable = &build->model->variables[found];
	variable->is_metric = true;
	variable->is_auto = since == NO_INDEX;
	variable->metric = metric;
	variable->unit = (enum model_unit)metric_row(build->model->metrics[metric].kind)->unit;
	build->follows[found] = since;
	return found;
}

static const struct {
	const char *name;
	enum model_op_kind op;
	enum model_unit unit;
} events_own[] = {
	{ "time", OP_TIME, UNIT_TIME },
	{ "cpu", OP_CPU, UNIT_PLAIN },
	{ "tid", OP_TID, UNIT_PLAIN },
};

static enum model_unit emit_variable(struct formula *formula, uint32_t variable)
{
	if (variable == NO_INDEX)
		return UNIT_ANY;
	emit(formula, (struct model_op){ .kind = OP_VARIABLE, .index = variable });
	return formula->build->model->variables[variable].unit;
}

static enum model_unit emit_field(struct formula *formula, const char *name, const char *at)
{
	uint32_t field = build_field(formula->build, name, place_at(formula, at));

	if (field == NO_INDEX)
		formula->failed = true;
	else
		emit(formula, (struct model_op){ .kind = OP_FIELD, .index = field });
	return UNIT_ANY;
}

/* What a name is: a variable, a metric, something every event has, else a field of the event. */
static enum model_unit emit_name(struct formula *formula, const char *name, const char *at)
{
	struct build *build = formula->build;
	bool has_argument = strchr(name, '(') != NULL;
	uint32_t variable = build_find_variable(build, name);
	enum metric_kind kind;

	if (variable != NO_INDEX && !build->model->variables[variable].is_auto &&
	    build->follows[variable] == NO_INDEX)
		return emit_variable(formula, variable);
	if (has_argument || metric_find(name, &kind)) {
		uint32_t metric = build_metric(build, name, place_at(formula, at));

		if (metric == NO_INDEX) {
			formula->failed = true;
			return UNIT_ANY;
		}
		return emit_variable(formula, bare_metric(formula, metric, name, at));
	}
	for (size_t i = 0; i < ARRAY_LEN(events_own); i++) {
		if (strcmp(events_own[i].name, name) == 0) {
			emit(formula, (struct model_op){ .kind = events_own[i].op });
			return events_own[i].unit;
		}
	}
	return emit_field(formula, name, at);
}

static bool formula_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* NAME, NAME(ARGUMENT), NAME[3], .NAME */
static enum model_unit parse_name(struct formula *formula)
{
	const char *start = formula->at;
	char name[NAME_BYTES];
	size_t length;

	while (formula_is_name(*formula->at))
		formula->at++;
	if (*formula->at == '(' || *formula->at == '[') {
		char end = *formula->at == '(' ? ')' : ']';
		size_t inner = strcspn(formula->at, ")]");

		if (formula->at[inner] != end) {
			COMPLAIN(formula, formula->at, "the \"%c\" is not closed", *formula->at);
			return UNIT_ANY;
		}
		formula->at += inner + 1;
	}
	length = (size_t)(formula->at - start);
	if (length >= sizeof(name)) {
		COMPLAIN(formula, start, "the name is too long");
		return UNIT_ANY;
	}
	memcpy(name, start, length);
	name[length] = '\0';
	if (name[0] == '.')
		return emit_field(formula, name, start);
	return emit_name(formula, name, start);
}

static enum model_unit parse_expr(struct formula *formula);

static enum model_unit parse_factor(struct formula *formula)
{
	enum model_unit unit = UNIT_ANY;

	skip_blanks(formula);
	if (formula->failed)
		return unit;
	if (++formula->nesting > MAX_NESTING)
		COMPLAIN(formula, formula->at, "the expression is nested too deep");
	else if (*formula->at == '-') {
		formula->at++;
		unit = parse_factor(formula);
		emit(formula, (struct model_op){ .kind = OP_NEGATE });
	} else if (*formula->at == '(') {
		formula->at++;
		unit = parse_expr(formula);
		if (*formula->at != ')')
			COMPLAIN(formula, formula->at, "\")\" is expected here");
		else
			formula->at++;
	} else if (isdigit((unsigned char)*formula->at)) {
		unit = parse_number(formula);
	} else if (isalpha((unsigned char)*formula->at) || *formula->at == '_' ||
		   *formula->at == '.') {
		unit = parse_name(formula);
	} else {
		COMPLAIN(formula, formula->at, "a name or a number is expected here");
	}
	formula->nesting--;
	skip_blanks(formula);
	return unit;
}

static enum model_unit unit_of_product(enum model_unit left, enum model_unit right, bool divides)
{
	if (left == UNIT_ANY || right == UNIT_ANY)
		return UNIT_ANY;
	if (right == UNIT_PLAIN)
		return left;
	if (divides)
		return left == right ? UNIT_PLAIN : UNIT_ANY;
	return left == UNIT_PLAIN ? right : UNIT_ANY;
}

static enum model_unit parse_term(struct formula *formula)
{
	enum model_unit unit = parse_factor(formula);

	while (!formula->failed && (*formula->at == '*' || *formula->at == '/')) {
		bool divides = *formula->at++ == '/';

		unit = unit_of_product(unit, parse_factor(formula), divides);
		emit(formula, (struct model_op){ .kind = divides ? OP_DIVIDE : OP_MULTIPLY });
	}
	return unit;
}

static bool is_zero(const struct model_expr *expr)
{
	return expr->count == 1 && expr->ops[0].kind == OP_NUMBER && expr->ops[0].number == 0;
}

/* Can the two stand on the sides of one sign? */
static bool units_agree(enum model_unit left, enum model_unit right)
{
	return left == right || left == UNIT_ANY || right == UNIT_ANY;
}

static enum model_unit parse_expr(struct formula *formula)
{
	enum model_unit unit = parse_term(formula);

	while (!formula->failed && (*formula->at == '+' || *formula->at == '-')) {
		const char *sign = formula->at++;
		enum model_unit right = parse_term(formula);

		if (!units_agree(unit, right))
			COMPLAIN(formula, sign, "%s and %s cannot be added", unit_names[unit],
				 unit_names[right]);
		emit(formula, (struct model_op){ .kind = *sign == '+' ? OP_ADD : OP_SUBTRACT });
		unit = unit == UNIT_ANY ? right : unit;
	}
	return unit;
}

bool formula_parse(struct build *build, const char *text, const struct formula_scope *scope,
		   struct model_expr *out_expr)
{
	struct formula formula = {
		.build = build, .scope = scope, .text = text, .at = text, .expr = out_expr
	};

	out_expr->unit = parse_expr(&formula);
	if (!formula.failed && *formula.at)
		COMPLAIN(&formula, formula.at, "the expression should end here");
	return !formula.failed;
}

static const char *const compares[] = {
	[CMP_EQUAL] = "==",   [CMP_DIFFERS] = "!=", [CMP_BELOW] = "<",
	[CMP_AT_MOST] = "<=", [CMP_ABOVE] = ">",    [CMP_AT_LEAST] = ">=",
};

/* The longest sign that stands here. */
static bool parse_compare(struct formula *formula, enum model_compare *out_compare)
{
	size_t best = 0;

	for (uint32_t i = 0; i < ARRAY_LEN(compares); i++) {
		size_t length = strlen(compares[i]);

		if (length > best && strncmp(formula->at, compares[i], length) == 0) {
			best = length;
			*out_compare = (enum model_compare)i;
		}
	}
	formula->at += best;
	return best > 0;
}

/* The value that a report shows: the first variable, where a metric goes before others. */
static uint32_t subject_of(const struct model *model, const struct model_constraint *constraint)
{
	const struct model_expr *const sides[] = { &constraint->left, &constraint->right };
	uint32_t found = NO_INDEX;

	for (size_t side = 0; side < ARRAY_LEN(sides); side++) {
		for (uint32_t i = 0; i < sides[side]->count; i++) {
			const struct model_op *op = &sides[side]->ops[i];

			if (op->kind != OP_VARIABLE)
				continue;
			if (model->variables[op->index].is_metric)
				return op->index;
			if (found == NO_INDEX)
				found = op->index;
		}
	}
	return found;
}

bool formula_parse_constraint(struct build *build, const char *text,
			      const struct formula_scope *scope,
			      struct model_constraint *out_constraint)
{
	struct formula formula = { .build = build,
				   .scope = scope,
				   .text = text,
				   .at = text,
				   .expr = &out_constraint->left };
	const char *sign;

	out_constraint->place = scope->place;
	out_constraint->subject = NO_INDEX;
	out_constraint->left.unit = parse_expr(&formula);
	sign = formula.at;
	if (!formula.failed && !parse_compare(&formula, &out_constraint->compare))
		COMPLAIN(&formula, sign, "one of == != < <= > >= is expected here");
	if (formula.failed)
		return false;
	formula.expr = &out_constraint->right;
	out_constraint->right.unit = parse_expr(&formula);
	if (!formula.failed && *formula.at)
		COMPLAIN(&formula, formula.at, "the constraint should end here");
	if (!formula.failed && !is_zero(&out_constraint->right) &&
	    !is_zero(&out_constraint->left) &&
	    !units_agree(out_constraint->left.unit, out_constraint->right.unit))
		COMPLAIN(&formula, sign, "%s is compared with %s%s",
			 unit_names[out_constraint->left.unit],
			 unit_names[out_constraint->right.unit],
			 out_constraint->left.unit == UNIT_TIME
				 ? ": a time has a unit, such as 10ms"
				 : "");
	out_constraint->subject = subject_of(build->model, out_constraint);
	return !formula.failed;
}
