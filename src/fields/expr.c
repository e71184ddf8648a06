/*
 * expr.c - filter expressions, worked out.
 *
 * For each kind of event, the expression is first worked out with what is the same for
 * all of its events: which event it is and which fields it has. Often that decides, and
 * such events cost nothing.
 *
 * Not-known is the third truth value: neither a comparison with a field that is not there
 * nor its opposite holds.
 */
#include "fields/expr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/pattern.h"
#include "base/text.h"
#include "event/comms.h"
#include "fields/expr_int.h"
#include "fields/print.h"

enum truth {
	NO,
	YES,
	UNKNOWN,
	MAYBE, /* it depends on the event */
};

/* What is known of a kind of event. */
struct bound {
	bool done;
	enum truth truth;
	struct value_place *places; /* owned; one for each test */
	bool *by_words;		    /* owned; the test compares the words of a number */
};

struct expr {
	struct expr_node *root; /* owned */
	const struct value_context *context;
	uint32_t test_count;
	struct bound *bounds; /* owned; value_kind_count() of them */
	uint32_t bound_count;
	struct outbuf made;
};

static bool expr_is_event(const struct expr_node *node, const struct print_event *kind)
{
	return text_glob(node->text, kind->name, strlen(kind->name)) ||
	       text_glob(node->text, kind->title, kind->title_bytes);
}

static enum truth both(enum truth a, enum truth b)
{
	if (a == NO || b == NO)
		return NO;
	if (a == MAYBE || b == MAYBE)
		return MAYBE;
	return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : YES;
}

static enum truth either(enum truth a, enum truth b)
{
	if (a == YES || b == YES)
		return YES;
	if (a == MAYBE || b == MAYBE)
		return MAYBE;
	return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : NO;
}

static enum truth expr_opposite(enum truth a)
{
	return a == YES ? NO : a == NO ? YES : a;
}

/* Compare two numbers, each of its own sign. */
static int order(uint64_t a, bool a_signed, uint64_t b, bool b_negative)
{
	bool a_negative = a_signed && (int64_t)a < 0;

	if (a_negative != b_negative)
		return a_negative ? -1 : 1;
	return a < b ? -1 : a > b;
}

static bool test_number(const struct expr_node *node, const struct value_place *place,
			uint64_t number)
{
	uint64_t value = place->is_time && node->is_time ? node->time_ns : node->number;
	int compared = order(number, place->is_signed, value, node->is_negative);

	switch (node->op) {
	case EXPR_SET:
		return number != 0;
	case EXPR_EQ:
		return compared == 0 ||
		       (place->field && place->field->bytes < 8 && node->is_negative &&
			!place->is_signed && place->index == UINT32_MAX &&
			number == (value & ((UINT64_C(1) << place->field->bytes * 8) - 1)));
	case EXPR_NE:
		return compared != 0;
	case EXPR_LT:
		return compared < 0;
	case EXPR_LE:
		return compared <= 0;
	case EXPR_GT:
		return compared > 0;
	case EXPR_GE:
		return compared >= 0;
	case EXPR_BITS:
		return (number & node->mask) != 0;
	case EXPR_BITS_EQ:
		return (number & node->mask) == node->number;
	default:
		return false;
	}
}

static int text_order(const char *text, size_t bytes, const char *other)
{
	size_t other_bytes = strlen(other);
	int compared = memcmp(text, other, bytes < other_bytes ? bytes : other_bytes);

	return compared ? compared : bytes < other_bytes ? -1 : bytes > other_bytes;
}

static bool test_text(const struct expr_node *node, const char *text, size_t bytes)
{
	switch (node->op) {
	case EXPR_SET:
		return bytes > 0;
	case EXPR_EQ:
		return text_order(text, bytes, node->text) == 0;
	case EXPR_NE:
		return text_order(text, bytes, node->text) != 0;
	case EXPR_LT:
		return text_order(text, bytes, node->text) < 0;
	case EXPR_LE:
		return text_order(text, bytes, node->text) <= 0;
	case EXPR_GT:
		return text_order(text, bytes, node->text) > 0;
	case EXPR_GE:
		return text_order(text, bytes, node->text) >= 0;
	case EXPR_GLOB:
		return text_glob(node->text, text, bytes);
	case EXPR_NOT_GLOB:
		return !text_glob(node->text, text, bytes);
	case EXPR_REGEX:
		return pattern_matches(node->pattern, text, bytes);
	default:
		return false;
	}
}

/* A text out of the record itself, without a copy. */
static bool test_bytes(const struct expr *expr, const struct expr_node *node,
		       const struct value_place *place, const struct value_line *line)
{
	const uint8_t *data = (const uint8_t *)line->comm;
	uint32_t bytes = COMMS_BYTES;

	if (place->field &&
	    !print_field_bytes(expr->context->printer, place->field, &line->record, &data, &bytes))
		return false;
	bytes = (uint32_t)strnlen((const char *)data, bytes);
	return test_text(node, (const char *)data, bytes);
}

static bool test(struct expr *expr, const struct expr_node *node, const struct bound *bound,
		 const struct value_line *line)
{
	const struct value_place *place = &bound->places[node->index];
	bool by_words = bound->by_words[node->index];

	if (place->kind == VALUE_NUMBER && !by_words)
		return test_number(node, place, value_number(expr->context, place, line));
	if (place->kind == VALUE_TEXT && (place->field || place->column == COLUMN_COMM))
		return test_bytes(expr, node, place, line);
	if (node->op == EXPR_EQ && place->column == COLUMN_EVENT)
		return expr_is_event(node, line->kind);
	outbuf_reset(&expr->made);
	value_text(expr->context, place, line, by_words, &expr->made);
	return test_text(node, expr->made.start, outbuf_bytes(&expr->made));
}

/* 'line' NULL: as far as it is the same for all events of the kind. */
static enum truth expr_work_out(struct expr *expr, const struct expr_node *node,
				const struct bound *bound, const struct print_event *kind,
				const struct value_line *line)
{
	enum truth a;

	switch (node->kind) {
	case EXPR_NOT:
		return expr_opposite(expr_work_out(expr, node->a, bound, kind, line));
	case EXPR_AND:
		a = expr_work_out(expr, node->a, bound, kind, line);
		return a == NO ? NO : both(a, expr_work_out(expr, node->b, bound, kind, line));
	case EXPR_OR:
		a = expr_work_out(expr, node->a, bound, kind, line);
		return a == YES ? YES : either(a, expr_work_out(expr, node->b, bound, kind, line));
	case EXPR_EVENT:
		return expr_is_event(node, kind) ? YES : NO;
	case EXPR_TEST:
		break;
	}
	if (bound->places[node->index].kind == VALUE_NONE)
		return UNKNOWN;
	return !line ? MAYBE : test(expr, node, bound, line) ? YES : NO;
}

/* A number is compared by its words when the value is none. */
static bool goes_by_words(const struct expr_node *node, const struct value_place *place)
{
	switch (node->op) {
	case EXPR_SET:
	case EXPR_BITS:
	case EXPR_BITS_EQ:
		return false;
	case EXPR_GLOB:
	case EXPR_NOT_GLOB:
	case EXPR_REGEX:
		return place->kind == VALUE_NUMBER;
	default:
		return place->kind == VALUE_NUMBER && !node->is_number;
	}
}

static void bind_tests(struct bound *bound, const struct expr_node *node,
		       const struct print_event *kind)
{
	if (node->a)
		bind_tests(bound, node->a, kind);
	if (node->b)
		bind_tests(bound, node->b, kind);
	if (node->kind != EXPR_TEST)
		return;
	bound->places[node->index] = value_place(node->name, kind);
	bound->by_words[node->index] = goes_by_words(node, &bound->places[node->index]);
}

static struct bound *bound_of(struct expr *expr, const struct print_event *kind)
{
	struct bound *bound = &expr->bounds[value_kind_index(expr->context->printer, kind)];

	if (bound->done)
		return bound;
	bound->done = true;
	bound->places = xcalloc(expr->test_count + 1, sizeof(*bound->places));
	bound->by_words = xcalloc(expr->test_count + 1, sizeof(*bound->by_words));
	bind_tests(bound, expr->root, kind);
	bound->truth = expr_work_out(expr, expr->root, bound, kind, NULL);
	return bound;
}

bool expr_match(struct expr *expr, const struct value_line *line)
{
	const struct bound *bound = bound_of(expr, line->kind);

	if (bound->truth != MAYBE)
		return bound->truth == YES;
	return expr_work_out(expr, expr->root, bound, line->kind, line) == YES;
}

static bool is_column(const struct value_name *name, int column)
{
	return (int)value_name_column(name) == column ||
	       (column == COLUMN_COMM && value_name_shows_comm(name));
}

static bool uses(const struct expr_node *node, int column)
{
	return node && ((node->kind == EXPR_TEST && is_column(node->name, column)) ||
			uses(node->a, column) || uses(node->b, column));
}

bool expr_uses(const struct expr *expr, int column)
{
	return uses(expr->root, column);
}

static bool names(const struct expr_node *node, const char *event)
{
	if (!node)
		return false;
	if (node->text &&
	    (node->kind == EXPR_EVENT || value_name_column(node->name) == COLUMN_EVENT) &&
	    (strcmp(node->text, event) == 0 ||
	     (strchr(node->text, ':') && strcmp(strchr(node->text, ':') + 1, event) == 0)))
		return true;
	return names(node->a, event) || names(node->b, event);
}

bool expr_names(const struct expr *expr, const char *event)
{
	return names(expr->root, event);
}

/* Does the test make sense for the events of a kind that have the field? */
static bool has_sense(const struct expr_node *node, const struct print_event *kind)
{
	struct value_place place = value_place(node->name, kind);

	return place.kind != VALUE_NUMBER || value_has_words(&place, kind);
}

/* A number is compared with a word, and no event has words for it: a mistake. */
static int check_words(const struct expr *expr, const struct expr_node *node, struct err *err)
{
	const struct printer *printer = expr->context->printer;
	const struct print_event *kind = NULL, *example = NULL;
	int rc = 0;

	if (node->a)
		rc = check_words(expr, node->a, err);
	if (rc == 0 && node->b)
		rc = check_words(expr, node->b, err);
	if (rc < 0 || node->kind != EXPR_TEST || node->is_number ||
	    (node->op != EXPR_EQ && node->op != EXPR_NE && node->op != EXPR_LT &&
	     node->op != EXPR_LE && node->op != EXPR_GT && node->op != EXPR_GE))
		return rc;
	while ((kind = printer_next(printer, kind))) {
		if (value_place(node->name, kind).kind == VALUE_NONE)
			continue;
		if (has_sense(node, kind))
			return 0;
		example = kind;
	}
	if (!example)
		return 0;
	return err_set(err, -EINVAL, "%s is a number in %s and cannot be \"%.40s\"",
		       value_name_text(node->name), example->title, node->text);
}

int expr_new(const char *text, const struct value_context *context, struct expr **out_expr,
	     struct err *err)
{
	struct expr *expr = xcalloc(1, sizeof(*expr));
	int rc = expr_parse(text, context, &expr->root, &expr->test_count, err);

	if (rc < 0) {
		free(expr);
		return rc;
	}
	expr->context = context;
	rc = check_words(expr, expr->root, err);
	if (rc < 0) {
		expr_free(expr);
		return rc;
	}
	expr->bound_count = value_kind_count(context->printer);
	expr->bounds = xcalloc(expr->bound_count, sizeof(*expr->bounds));
	outbuf_to_memory(&expr->made);
	*out_expr = expr;
	return 0;
}

void expr_free(struct expr *expr)
{
	if (!expr)
		return;
	for (uint32_t i = 0; i < expr->bound_count; i++) {
		free(expr->bounds[i].places);
		free(expr->bounds[i].by_words);
	}
	outbuf_fini(&expr->made);
	free(expr->bounds);
	expr_node_free(expr->root);
	free(expr);
}
