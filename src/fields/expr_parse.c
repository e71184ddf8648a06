/* expr_parse.c - the text of a filter expression, read. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "base/text.h"
#include "fields/expr.h"
#include "fields/expr_int.h"
#include "fields/print.h"

#define MAX_DEPTH 100
#define MAX_NODES 1000
#define MAX_BYTES 65536u

struct reader {
	const struct value_context *context;
	const char *text;
	const char *at;
	uint32_t depth;
	uint32_t node_count;
	uint32_t test_count;
	struct err *err;
	bool failed;
};

static struct expr_node *alternatives(struct reader *reader);

/* What is wrong, and where. Returns NULL. */
static struct expr_node *expr_wrong(struct reader *reader, const char *what)
{
	AUTO_FREE char *before = xstrndup(reader->text, (size_t)(reader->at - reader->text));
	AUTO_FREE char *safe = text_escaped(before), *rest = text_escaped(reader->at);

	if (!reader->failed)
		err_set(reader->err, -EINVAL, "%s, at \"%s\" >>> \"%s\"", what, safe, rest);
	reader->failed = true;
	return NULL;
}

void expr_node_free(struct expr_node *node)
{
	if (!node)
		return;
	expr_node_free(node->a);
	expr_node_free(node->b);
	value_name_free(node->name);
	pattern_free(node->pattern);
	free(node->text);
	free(node);
}

static struct expr_node *node_new(struct reader *reader, enum expr_kind kind)
{
	struct expr_node *node;

	if (++reader->node_count > MAX_NODES)
		return expr_wrong(reader, "it is too long");
	node = xcalloc(1, sizeof(*node));
	node->kind = kind;
	node->at = (size_t)(reader->at - reader->text);
	return node;
}

static void expr_parse_skip_blanks(struct reader *reader)
{
	while (isspace((unsigned char)*reader->at))
		reader->at++;
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Take a sign such as "&&", or a word such as "and". */
static bool expr_take_token(struct reader *reader, const char *token)
{
	size_t bytes = strlen(token);

	expr_parse_skip_blanks(reader);
	if (strncmp(reader->at, token, bytes) != 0)
		return false;
	if (is_word_char(token[0]) && is_word_char(reader->at[bytes]))
		return false;
	reader->at += bytes;
	return true;
}

/* "name", ".name", "args[0]", "sched_*", "sched:sched_switch". Free it. */
static char *expr_parse_take_name(struct reader *reader)
{
	const char *start, *at;

	expr_parse_skip_blanks(reader);
	start = at = reader->at;
	while (is_word_char(*at) || (*at && strchr(".*?[]-/", *at)))
		at++;
	if (at == start)
		return NULL;
	reader->at = at;
	return xstrndup(start, (size_t)(at - start));
}

static bool expr_parse_has_event(const struct reader *reader, const char *glob)
{
	const struct print_event *kind = NULL;

	while ((kind = printer_next(reader->context->printer, kind))) {
		if (text_glob(glob, kind->name, strlen(kind->name)) ||
		    text_glob(glob, kind->title, kind->title_bytes))
			return true;
	}
	return text_glob(glob, "lost_events", 11) || text_glob(glob, "fd_name", 7) ||
	       text_glob(glob, "holdup:lost_events", 18) || text_glob(glob, "holdup:fd_name", 14);
}

/* Quoted, or up to a blank, a parenthesis or an operator. Free it. */
static char *expr_take_value(struct reader *reader, bool *out_quoted)
{
	const char *start, *end;
	char quote, *text;

	expr_parse_skip_blanks(reader);
	start = end = reader->at;
	quote = *start;
	*out_quoted = quote == '"' || quote == '\'';
	if (*out_quoted) {
		end = strchr(start + 1, quote);
		if (!end) {
			expr_wrong(reader, "a text does not end");
			return NULL;
		}
		reader->at = end + 1;
		return xstrndup(start + 1, (size_t)(end - start - 1));
	}
	while (*end && !isspace((unsigned char)*end) && *end != ')' && strncmp(end, "&&", 2) != 0 &&
	       strncmp(end, "||", 2) != 0)
		end++;
	if (end == start) {
		expr_wrong(reader, "a value is missing");
		return NULL;
	}
	reader->at = end;
	text = xstrndup(start, (size_t)(end - start));
	return text;
}

/* "12", "0x1f", "-1", "017"; all of it. */
static bool expr_parse_number(const char *text, struct expr_node *node)
{
	const char *digits = text + (*text == '-');
	char *end;
	uint64_t number;

	if (!isdigit((unsigned char)*digits))
		return false;
	errno = 0;
	number = strtoull(digits, &end, 0);
	if (*end || errno)
		return false;
	node->is_negative = *text == '-' && number;
	node->number = *text == '-' ? 0 - number : number;
	return true;
}

static void understand_value(struct expr_node *node, bool quoted)
{
	node->is_number = !quoted && expr_parse_number(node->text, node);
	node->is_time = !quoted && isdigit((unsigned char)node->text[0]) &&
			text_parse_duration(node->text, &node->time_ns);
	if (!node->is_number && node->is_time) { /* 5ms: a number of ns */
		node->is_number = true;
		node->number = node->time_ns;
	}
}

static const struct {
	const char *text;
	enum expr_op op;
} operators[] = {
	{ "==", EXPR_EQ },    { "!=", EXPR_NE },       { "<=", EXPR_LE },  { ">=", EXPR_GE },
	{ "=~", EXPR_REGEX }, { "!~", EXPR_NOT_GLOB }, { "~", EXPR_GLOB }, { "<", EXPR_LT },
	{ ">", EXPR_GT },     { "=", EXPR_EQ },
};

static bool compile_regex(struct reader *reader, struct expr_node *node)
{
	const char *why = NULL;

	node->pattern = pattern_new(node->text, &why);
	if (!node->pattern)
		expr_wrong(reader, why);
	return node->pattern;
}

/* "& MASK" and perhaps "== VALUE". */
static bool mask(struct reader *reader, struct expr_node *node)
{
	bool quoted;

	node->op = EXPR_BITS;
	free(node->text);
	node->text = expr_take_value(reader, &quoted);
	if (!node->text)
		return false;
	if (!expr_parse_number(node->text, node))
		return expr_wrong(reader, "a mask is a number") != NULL;
	node->mask = node->number;
	if (!expr_take_token(reader, "=="))
		return true;
	node->op = EXPR_BITS_EQ;
	free(node->text);
	node->text = expr_take_value(reader, &quoted);
	if (node->text && !expr_parse_number(node->text, node))
		expr_wrong(reader, "bits need a number");
	return !reader->failed;
}

/* What follows a name. */
static bool operation(struct reader *reader, struct expr_node *node)
{
	bool quoted;

	node->op = EXPR_SET;
	expr_parse_skip_blanks(reader);
	if (reader->at[0] == '&' && reader->at[1] != '&') {
		reader->at++;
		return mask(reader, node);
	}
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		if (!expr_take_token(reader, operators[i].text))
			continue;
		node->op = operators[i].op;
		node->text = expr_take_value(reader, &quoted);
		if (!node->text)
			return false;
		understand_value(node, quoted);
		return node->op != EXPR_REGEX || compile_regex(reader, node);
	}
	return true;
}

static struct expr_node *event_node(struct reader *reader, char *glob)
{
	struct expr_node *node = node_new(reader, EXPR_EVENT);

	if (node)
		node->text = glob;
	else
		free(glob);
	return node;
}

static bool followed_by_operator(struct reader *reader)
{
	expr_parse_skip_blanks(reader);
	return *reader->at && strchr("=!<>~&", *reader->at) && strncmp(reader->at, "&&", 2) != 0 &&
	       (reader->at[0] != '!' || reader->at[1] == '=' || reader->at[1] == '~');
}

/* "EVENT: expression": all that follows is about that event. */
static struct expr_node *scope(struct reader *reader, struct expr_node *event)
{
	struct expr_node *both = node_new(reader, EXPR_AND);

	if (!both) {
		expr_node_free(event);
		return NULL;
	}
	both->a = event;
	both->b = alternatives(reader);
	if (!both->b) {
		expr_node_free(both);
		return NULL;
	}
	return both;
}

/* Is it "SYSTEM:EVENT"? Then the second word is taken and the two are joined. */
static bool join_system(struct reader *reader, char **name)
{
	const char *before = reader->at;
	AUTO_FREE char *event = NULL, *joined = NULL;

	if (*reader->at != ':')
		return false;
	reader->at++;
	event = isspace((unsigned char)*reader->at) ? NULL : expr_parse_take_name(reader);
	joined = event ? xasprintf("%s:%s", *name, event) : NULL;
	if (!joined || !expr_parse_has_event(reader, joined)) {
		reader->at = before;
		return false;
	}
	free(*name);
	*name = joined;
	joined = NULL;
	return true;
}

#define NO_SUCH_NAME "the trace has no event or field with this name"

/* A name has been read. */
static struct expr_node *expr_parse_named(struct reader *reader, char *name)
{
	char *slash = strchr(name, '/');
	struct expr_node *node;
	struct err why = { 0 };

	if (slash)
		*slash = ':'; /* "sched/sched_switch" is how files are called */
	(void)join_system(reader, &name);
	if (!followed_by_operator(reader) && expr_parse_has_event(reader, name)) {
		node = event_node(reader, name);
		return node && expr_take_token(reader, ":") ? scope(reader, node) : node;
	}
	node = node_new(reader, EXPR_TEST);
	if (node && value_name_new(reader->context, name, &node->name, &why) < 0)
		expr_wrong(reader, followed_by_operator(reader) ? why.text : NO_SUCH_NAME);
	free(name);
	if (node && !reader->failed && operation(reader, node)) {
		node->index = reader->test_count++;
		return node;
	}
	expr_node_free(node);
	return NULL;
}

static struct expr_node *negation(struct reader *reader)
{
	struct expr_node *node = NULL;
	char *name;

	if (++reader->depth > MAX_DEPTH)
		return expr_wrong(reader, "it nests too deep");
	if (expr_take_token(reader, "!") || expr_take_token(reader, "not")) {
		node = node_new(reader, EXPR_NOT);
		if (node)
			node->a = negation(reader);
		if (node && !node->a) {
			expr_node_free(node);
			node = NULL;
		}
	} else if (expr_take_token(reader, "(")) {
		node = alternatives(reader);
		if (node && !expr_take_token(reader, ")")) {
			expr_node_free(node);
			node = expr_wrong(reader, "a parenthesis is not closed");
		}
	} else {
		name = expr_parse_take_name(reader);
		node = name ? expr_parse_named(reader, name)
			    : expr_wrong(reader, "a field or an event is missing");
	}
	reader->depth--;
	return node;
}

/* a OP b OP c ... */
static struct expr_node *chain(struct reader *reader, enum expr_kind kind, const char *sign,
			       const char *word, struct expr_node *(*part)(struct reader *reader))
{
	struct expr_node *left = part(reader);

	while (left && (expr_take_token(reader, sign) || expr_take_token(reader, word))) {
		struct expr_node *both = node_new(reader, kind);

		if (!both) {
			expr_node_free(left);
			return NULL;
		}
		both->a = left;
		both->b = part(reader);
		left = both;
		if (!both->b) {
			expr_node_free(both);
			return NULL;
		}
	}
	return left;
}

static struct expr_node *conjunction(struct reader *reader)
{
	return chain(reader, EXPR_AND, "&&", "and", negation);
}

static struct expr_node *alternatives(struct reader *reader)
{
	struct expr_node *node;

	if (++reader->depth > MAX_DEPTH)
		return expr_wrong(reader, "it nests too deep");
	node = chain(reader, EXPR_OR, "||", "or", conjunction);
	reader->depth--;
	return node;
}

int expr_parse(const char *text, const struct value_context *context, struct expr_node **out_node,
	       uint32_t *out_test_count, struct err *err)
{
	struct reader reader = { .context = context, .text = text, .at = text, .err = err };
	struct expr_node *node;

	if (strlen(text) > MAX_BYTES)
		return err_set(err, -EINVAL, "the filter is too long");
	node = alternatives(&reader);
	expr_parse_skip_blanks(&reader);
	if (node && *reader.at) {
		expr_node_free(node);
		node = expr_wrong(&reader, "\"and\" or \"or\" is missing");
	}
	if (!node)
		return -EINVAL;
	*out_node = node;
	*out_test_count = reader.test_count;
	return 0;
}
