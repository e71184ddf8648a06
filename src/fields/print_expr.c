/*
 * print_expr.c - the expressions of C that a print format may have.
 *
 * Types are followed as far as they change a value: integer promotion, sign, casts. What
 * is constant is worked out at once.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fields/print_parser.h"

#define MAX_DEPTH 200u

/* Values that formats name but do not explain. */
static const struct {
	const char *name;
	uint64_t value;
} constants[] = {
	{ "HI_SOFTIRQ", 0 },
	{ "TIMER_SOFTIRQ", 1 },
	{ "NET_TX_SOFTIRQ", 2 },
	{ "NET_RX_SOFTIRQ", 3 },
	{ "BLOCK_SOFTIRQ", 4 },
	{ "IRQ_POLL_SOFTIRQ", 5 },
	{ "TASKLET_SOFTIRQ", 6 },
	{ "SCHED_SOFTIRQ", 7 },
	{ "HRTIMER_SOFTIRQ", 8 },
	{ "RCU_SOFTIRQ", 9 },
	{ "HRTIMER_NORESTART", 0 },
	{ "HRTIMER_RESTART", 1 },
	{ "HRTIMER_MODE_ABS", 0 },
	{ "HRTIMER_MODE_REL", 1 },
	{ "HRTIMER_MODE_ABS_PINNED", 2 },
	{ "HRTIMER_MODE_REL_PINNED", 3 },
	{ "HRTIMER_MODE_ABS_SOFT", 4 },
	{ "HRTIMER_MODE_REL_SOFT", 5 },
	{ "HRTIMER_MODE_ABS_PINNED_SOFT", 6 },
	{ "HRTIMER_MODE_REL_PINNED_SOFT", 7 },
	{ "HRTIMER_MODE_ABS_HARD", 8 },
	{ "HRTIMER_MODE_REL_HARD", 9 },
	{ "HRTIMER_MODE_ABS_PINNED_HARD", 10 },
	{ "HRTIMER_MODE_REL_PINNED_HARD", 11 },
	{ "IOPRIO_CLASS_NONE", 0 },
	{ "IOPRIO_CLASS_RT", 1 },
	{ "IOPRIO_CLASS_BE", 2 },
	{ "IOPRIO_CLASS_IDLE", 3 },
	{ "IOPRIO_CLASS_INVALID", 7 },
};

static struct node *print_expr_unary(struct parser *parser);

static uint32_t promoted(const struct node *node)
{
	return node->bits < 32 ? 32 : node->bits;
}

/* A type narrower than int becomes int. */
static bool promoted_sign(const struct node *node)
{
	return node->bits < 32 || node->is_signed;
}

/* What C makes of two operands. */
static void common_type(struct node *node, const struct node *a, const struct node *b)
{
	uint32_t a_bits = promoted(a), b_bits = promoted(b);

	node->bits = (uint8_t)(a_bits > b_bits ? a_bits : b_bits);
	node->is_signed = (promoted_sign(a) || a_bits < node->bits) &&
			  (promoted_sign(b) || b_bits < node->bits);
	node->is_address = a->is_address || b->is_address;
}

static const struct print_field *field_named(const struct print_event *event, const char *name,
					     uint32_t bytes)
{
	for (uint32_t i = 0; i < event->field_count; i++) {
		if (parse_is(name, bytes, event->fields[i].name))
			return &event->fields[i];
	}
	return NULL;
}

struct node *parse_field(struct parser *parser, enum node_kind kind)
{
	const struct print_field *field;
	struct node *node;
	uint32_t bytes;

	parse_blanks(parser);
	bytes = parse_word(parser->at);
	field = field_named(parser->event, parser->at, bytes);
	if (!field)
		return parse_wrong(parser, "it names a field that there is not");
	parser->at += bytes;
	node = parse_node(parser, kind);
	if (!node)
		return NULL;
	node->field = field;
	if (kind == NODE_FIELD && !field->is_array) {
		node->bits = (uint8_t)(field->bytes * 8);
		node->is_signed = field->is_signed;
		node->is_address = field->is_pointer;
	} else if (kind == NODE_FIELD || kind == NODE_DYNAMIC) {
		node->bits = (uint8_t)parser->long_bits;
		node->is_signed = false;
		node->is_address = true;
		node->element_bytes = field->element_bytes;
	}
	return node;
}

static struct node *cast(struct parser *parser, const struct parse_type *type)
{
	struct node *item = print_expr_unary(parser), *node;

	if (!item)
		return NULL;
	node = parse_node(parser, NODE_CAST);
	if (!node)
		return NULL;
	node->a = item;
	node->bits = (uint8_t)type->bits;
	node->is_signed = type->is_signed;
	node->is_address = type->is_pointer;
	node->element_bytes = type->is_pointer ? type->element_bytes : 0;
	return node;
}

static struct node *print_expr_size_of(struct parser *parser)
{
	struct parse_type type;

	if (!parse_need(parser, "("))
		return NULL;
	if (!parse_type(parser, &type)) {
		struct node *node = parse_expression(parser);

		if (!node || !parse_need(parser, ")"))
			return NULL;
		if (node->kind == NODE_FIELD)
			return parse_number_node(parser, node->field->bytes, parser->long_bits,
						 false);
		return parse_number_node(parser, node->bits / 8, parser->long_bits, false);
	}
	if (!parse_need(parser, ")"))
		return NULL;
	return parse_number_node(parser, type.bits / 8, parser->long_bits, false);
}

/* "1234", "0x1fUL", "0777" */
static struct node *print_expr_number(struct parser *parser)
{
	bool is_octal_or_hex = *parser->at == '0', is_unsigned = false;
	uint32_t longs = 0, bits;
	char *end;
	uint64_t value = strtoull(parser->at, &end, 0), most;

	for (parser->at = end; isalpha((unsigned char)*parser->at); parser->at++) {
		is_unsigned |= *parser->at == 'u' || *parser->at == 'U';
		longs += *parser->at == 'l' || *parser->at == 'L';
	}
	bits = longs == 0 ? 32 : longs == 1 ? parser->long_bits : 64;
	if (value > (is_unsigned || is_octal_or_hex ? UINT32_MAX : INT32_MAX))
		bits = 64;
	most = bits == 32 ? INT32_MAX : INT64_MAX;
	return parse_number_node(parser, value, bits, !is_unsigned && value <= most);
}

static struct node *text_node(struct parser *parser)
{
	struct node *node = parse_node(parser, NODE_TEXT);

	if (!node || !parse_string(parser, &node->text, &node->text_bytes))
		return NULL;
	node->is_address = true;
	node->bits = (uint8_t)parser->long_bits;
	return node;
}

static struct node *print_expr_character(struct parser *parser)
{
	char c;

	if (!parse_need(parser, "'") || !*parser->at)
		return parse_wrong(parser, "a character does not end");
	c = *parser->at++;
	if (c == '\\' && *parser->at)
		c = parse_escaped(&parser->at);
	return parse_need(parser, "'") ? parse_number_node(parser, (uint64_t)c, 32, true) : NULL;
}

/* ({ int x = (REC->a); ...; value; }) */
static struct node *statements(struct parser *parser)
{
	uint32_t before = parser->local_count;
	struct node *value = NULL;
	struct parse_type type;

	while (!parser->why && !parse_take(parser, "}")) {
		if (parse_type(parser, &type)) {
			struct local *local = &parser->locals[parser->local_count];

			parse_blanks(parser);
			if (parser->local_count == PARSE_LOCALS)
				return parse_wrong(parser, "it has too many variables");
			local->name = parser->at;
			local->name_bytes = parse_word(parser->at);
			parser->at += local->name_bytes;
			if (local->name_bytes == 0 || !parse_need(parser, "="))
				return parse_wrong(parser, "it is no C that is known here");
			local->value = parse_expression(parser);
			parser->local_count++;
		} else {
			value = parse_expression(parser);
		}
		if (!parse_take(parser, ";"))
			break;
	}
	if (parser->why)
		return NULL;
	parse_take(parser, "}");
	parser->local_count = before;
	return value && parse_need(parser, ")")
		       ? value
		       : parse_wrong(parser, "it is no C that is known here");
}

/* A word: a call, a variable, a constant, REC. */
static struct node *word(struct parser *parser, uint32_t bytes)
{
	const char *name = parser->at;
	struct node *node;
	bool known;

	parser->at += bytes;
	if (parse_is(name, bytes, "REC"))
		return parse_need(parser, "->") ? parse_field(parser, NODE_FIELD) : NULL;
	if (parse_is(name, bytes, "sizeof"))
		return print_expr_size_of(parser);
	if (parse_is(name, bytes, "true") || parse_is(name, bytes, "false"))
		return parse_number_node(parser, *name == 't', 32, true);
	node = parse_call(parser, name, bytes, &known);
	if (known)
		return node;
	for (uint32_t i = parser->local_count; i > 0; i--) {
		const struct local *local = &parser->locals[i - 1];

		if (local->name_bytes == bytes && memcmp(local->name, name, bytes) == 0)
			return local->value;
	}
	parse_blanks(parser);
	if (*parser->at == '(')
		return parse_wrong(parser, "it calls a function of the kernel");
	for (size_t i = 0; i < ARRAY_LEN(constants); i++) {
		if (parse_is(name, bytes, constants[i].name))
			return parse_number_node(parser, constants[i].value, 32, true);
	}
	/* A variable or an enum of the kernel: 0, as others take it; as a name it matches nothing. */
	node = parse_number_node(parser, 0, parser->long_bits, false);
	if (node)
		node->is_address = true;
	return node;
}

static struct node *primary(struct parser *parser)
{
	uint32_t bytes;

	parse_blanks(parser);
	bytes = parse_word(parser->at);
	if (bytes)
		return word(parser, bytes);
	if (isdigit((unsigned char)*parser->at))
		return print_expr_number(parser);
	if (*parser->at == '"')
		return text_node(parser);
	if (*parser->at == '\'')
		return print_expr_character(parser);
	if (parse_take(parser, "(REC)")) /* "(REC)->field" */
		return parse_need(parser, "->") ? parse_field(parser, NODE_FIELD) : NULL;
	if (parse_take(parser, "(")) {
		struct node *node = parse_take(parser, "{") ? statements(parser) : NULL;

		if (node || parser->why)
			return node;
		node = parse_expression(parser);
		return node && parse_need(parser, ")") ? node : NULL;
	}
	return parse_wrong(parser, "it is no C that is known here");
}

static uint64_t narrowed(const struct node *node, uint64_t value)
{
	switch (node->bits) {
	case 8:
		return node->is_signed ? (uint64_t)(int8_t)value : (uint8_t)value;
	case 16:
		return node->is_signed ? (uint64_t)(int16_t)value : (uint16_t)value;
	case 32:
		return node->is_signed ? (uint64_t)(int32_t)value : (uint32_t)value;
	default:
		return value;
	}
}

/* Bound what it takes to work it out: depth for the stack, weight for the time. */
static struct node *print_expr_settled(struct parser *parser, struct node *node)
{
	const struct node *parts[] = { node->a, node->b, node->c };

	node->depth = 0;
	node->weight = 1;
	for (size_t i = 0; i < ARRAY_LEN(parts) && node->kind != NODE_NUMBER; i++) {
		if (!parts[i])
			continue;
		if (parts[i]->depth >= node->depth)
			node->depth = parts[i]->depth + 1;
		node->weight += parts[i]->weight;
	}
	if (node->depth > MAX_DEPTH || node->weight > PARSE_MAX_NODES)
		return parse_wrong(parser, "it is too long");
	return node;
}

/* What is constant is worked out once. */
static struct node *folded(struct node *node)
{
	const struct node *a = node->a, *b = node->b;
	struct print_record nothing = { 0 };

	if (a && a->kind != NODE_NUMBER)
		return node;
	if (node->kind != NODE_UNARY && node->kind != NODE_CAST &&
	    (node->kind != NODE_BINARY || b->kind != NODE_NUMBER))
		return node;
	node->number = narrowed(node, print_number(&nothing, node));
	node->kind = NODE_NUMBER;
	return node;
}

/* The element of an array; its size is that of the pointer it is taken from. */
static struct node *element(struct parser *parser, struct node *array)
{
	struct node *node = parse_node(parser, NODE_ELEMENT);
	const struct node *from = array;

	if (!node)
		return NULL;
	node->a = array;
	node->b = parse_expression(parser);
	if (!node->b || !parse_need(parser, "]"))
		return NULL;
	while (from->kind == NODE_CAST && !from->element_bytes)
		from = from->a;
	node->element_bytes = from->element_bytes;
	node->is_signed = from->field && from->field->is_signed;
	if (node->element_bytes != 1 && node->element_bytes != 2 && node->element_bytes != 4 &&
	    node->element_bytes != 8)
		return parse_wrong(parser, "it takes an element of a value that is no array");
	node->bits = (uint8_t)(node->element_bytes * 8);
	return print_expr_settled(parser, node);
}

static struct node *postfix(struct parser *parser)
{
	struct node *node = primary(parser);

	while (node && parse_take(parser, "["))
		node = element(parser, node);
	parse_blanks(parser);
	if (node && (*parser->at == '.' || strncmp(parser->at, "->", 2) == 0))
		return parse_wrong(parser, "it looks into a struct of the kernel");
	return node;
}

static struct node *operator1(struct parser *parser, char op)
{
	struct node *item = print_expr_unary(parser), *node;

	if (!item || op == '+')
		return item;
	/* "&REC->array" is the array; "*" of a pointer is not in the record. */
	if (op == '&')
		return item->is_address || item->kind == NODE_FIELD || item->kind == NODE_ELEMENT
			       ? item
			       : parse_wrong(parser, "it takes an address");
	if (op == '*')
		return parse_wrong(parser, "it follows a pointer");
	node = parse_node(parser, NODE_UNARY);
	if (!node)
		return NULL;
	node->a = item;
	node->op = (uint8_t)op;
	if (op != '!') {
		node->bits = (uint8_t)promoted(item);
		node->is_signed = promoted_sign(item);
	}
	return folded(node);
}

static struct node *print_expr_unary(struct parser *parser)
{
	struct node *node = NULL;
	struct parse_type type;

	if (parser->why)
		return NULL;
	if (++parser->depth > MAX_DEPTH)
		return parse_wrong(parser, "it nests too deep");
	parse_blanks(parser);
	if (*parser->at == '(' && parse_cast(parser, &type))
		node = cast(parser, &type);
	else if (*parser->at && strchr("-+!~&*", *parser->at))
		node = operator1(parser, *parser->at++);
	else
		node = postfix(parser);
	parser->depth--;
	if (node && node->kind == NODE_CAST && !node->a->is_address)
		node = folded(node);
	return node ? print_expr_settled(parser, node) : NULL;
}

static const struct {
	const char *text;
	uint8_t op;
	uint8_t level; /* higher binds tighter */
} operators[] = {
	{ "||", OP_OR, 1 }, { "&&", OP_AND, 2 }, { "==", OP_EQ, 6 },  { "!=", OP_NE, 6 },
	{ "<=", OP_LE, 7 }, { ">=", OP_GE, 7 },	 { "<<", OP_SHL, 8 }, { ">>", OP_SHR, 8 },
	{ "|", '|', 3 },    { "^", '^', 4 },	 { "&", '&', 5 },     { "<", '<', 7 },
	{ ">", '>', 7 },    { "+", '+', 9 },	 { "-", '-', 9 },     { "*", '*', 10 },
	{ "/", '/', 10 },   { "%", '%', 10 },
};

/* The operator that comes next and binds at least as tight as 'level'; -1 = none. */
static int next_operator(struct parser *parser, uint32_t level)
{
	parse_blanks(parser);
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		size_t bytes = strlen(operators[i].text);

		if (strncmp(parser->at, operators[i].text, bytes) != 0)
			continue;
		if (operators[i].level < level)
			return -1;
		parser->at += bytes;
		return (int)i;
	}
	return -1;
}

static struct node *binary_node(struct parser *parser, uint8_t op, struct node *a, struct node *b)
{
	struct node *node = parse_node(parser, NODE_BINARY);

	if (!node)
		return NULL;
	node->op = op;
	node->a = a;
	node->b = b;
	if (op == OP_SHL || op == OP_SHR) {
		node->bits = (uint8_t)promoted(a);
		node->is_signed = promoted_sign(a);
	} else if (op < OP_LE) {
		common_type(node, a, b);
	}
	return print_expr_settled(parser, folded(node));
}

static struct node *print_expr_binary(struct parser *parser, uint32_t level)
{
	struct node *left = print_expr_unary(parser);
	int index;

	while (left && !parser->why && (index = next_operator(parser, level)) >= 0) {
		struct node *right;

		if (++parser->depth > MAX_DEPTH)
			return parse_wrong(parser, "it nests too deep");
		right = print_expr_binary(parser, operators[index].level + 1u);
		parser->depth--;
		if (!right)
			return NULL;
		left = binary_node(parser, operators[index].op, left, right);
	}
	return parser->why ? NULL : left;
}

static struct node *conditional(struct parser *parser, struct node *test)
{
	struct node *node = parse_node(parser, NODE_COND);

	if (!node)
		return NULL;
	node->a = test;
	node->b = parse_take(parser, ":") ? test : NULL; /* "a ?: b" */
	if (!node->b) {
		node->b = parse_expression(parser);
		if (!node->b || !parse_need(parser, ":"))
			return NULL;
	}
	node->c = parse_expression(parser);
	if (!node->c)
		return NULL;
	common_type(node, node->b, node->c);
	return test->kind == NODE_NUMBER && !test->is_address ? (test->number ? node->b : node->c)
							      : node;
}

struct node *parse_expression(struct parser *parser)
{
	struct node *node;

	if (parser->why)
		return NULL;
	if (++parser->depth > MAX_DEPTH)
		return parse_wrong(parser, "it nests too deep");
	node = print_expr_binary(parser, 1);
	if (node && parse_take(parser, "?"))
		node = conditional(parser, node);
	parser->depth--;
	return parser->why || !node ? NULL : print_expr_settled(parser, node);
}
