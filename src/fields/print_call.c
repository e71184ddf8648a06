/* print_call.c - the functions that print formats call. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fields/print_parser.h"

/*
 * "{ value, "text" }", behind its "{". 1 and *out_name; 0 for one without a text, with
 * which a list may end; -1 when it is neither.
 */
static int name_pair(struct parser *parser, struct node_name *out_name)
{
	struct node_name name = { 0 };
	struct node *value;
	bool has_text;

	if (parse_take(parser, "}"))
		return 0;
	value = parse_expression(parser);
	if (!value || !parse_need(parser, ","))
		return -1;
	parse_blanks(parser);
	has_text = *parser->at == '"';
	if (has_text ? !parse_string(parser, &name.text, &name.text_bytes)
		     : !parse_expression(parser))
		return -1;
	if (!parse_need(parser, "}"))
		return -1;
	name.known = value->kind == NODE_NUMBER && !value->is_address;
	name.value = value->number;
	*out_name = name;
	return has_text;
}

/* ", { value, "text" } ..." up to ")". */
static bool print_call_names(struct parser *parser, struct node *node)
{
	struct node_name *list = NULL;
	size_t count = 0, cap = 0;

	while (parse_take(parser, ",")) {
		struct node_name name;
		int got = parse_need(parser, "{") ? name_pair(parser, &name) : -1;

		if (got < 0)
			break;
		if (got == 0)
			continue;
		if (++parser->node_count > PARSE_MAX_NODES) {
			parse_wrong(parser, "it is too long");
			break;
		}
		list = vec_room(list, count, &cap, sizeof(*list));
		list[count++] = name;
	}
	node->name_count = (uint32_t)count;
	node->names = pool_take(parser->pool, (count + 1) * sizeof(*list));
	if (count)
		memcpy(node->names, list, count * sizeof(*list));
	free(list);
	return !parser->why;
}

static struct node *flags_call(struct parser *parser)
{
	struct node *node = parse_node(parser, NODE_FLAGS);

	if (!node)
		return NULL;
	node->a = parse_expression(parser);
	if (!node->a || !parse_need(parser, ",") ||
	    !parse_string(parser, &node->text, &node->text_bytes) ||
	    !print_call_names(parser, node) || !parse_need(parser, ")"))
		return NULL;
	return node;
}

static struct node *symbol_call(struct parser *parser)
{
	struct node *node = parse_node(parser, NODE_SYMBOL);

	if (!node)
		return NULL;
	node->a = parse_expression(parser);
	if (!node->a || !print_call_names(parser, node) || !parse_need(parser, ")"))
		return NULL;
	return node;
}

/* A call with 'count' expressions as its arguments. */
static struct node *print_call_of(struct parser *parser, enum node_kind kind, int count)
{
	struct node *node = parse_node(parser, kind);
	struct node **args[3];

	if (!node)
		return NULL;
	args[0] = &node->a;
	args[1] = &node->b;
	args[2] = &node->c;
	for (int i = 0; i < count; i++) {
		if (i > 0 && !parse_need(parser, ","))
			return NULL;
		*args[i] = parse_expression(parser);
		if (!*args[i])
			return NULL;
	}
	return parse_need(parser, ")") ? node : NULL;
}

static struct node *hex_call(struct parser *parser)
{
	return print_call_of(parser, NODE_HEX, 2);
}

static struct node *hex_string_call(struct parser *parser)
{
	return print_call_of(parser, NODE_HEX_STRING, 2);
}

static struct node *array_call(struct parser *parser)
{
	return print_call_of(parser, NODE_ARRAY, 3);
}

static struct node *field_call(struct parser *parser, enum node_kind kind)
{
	struct node *node = parse_field(parser, kind);

	return node && parse_need(parser, ")") ? node : NULL;
}

static struct node *dynamic_call(struct parser *parser)
{
	return field_call(parser, NODE_DYNAMIC);
}

static struct node *dynamic_bytes_call(struct parser *parser)
{
	return field_call(parser, NODE_DYNAMIC_BYTES);
}

static struct node *bitmask_call(struct parser *parser)
{
	return field_call(parser, NODE_BITMASK);
}

static struct node *cpumask_call(struct parser *parser)
{
	return field_call(parser, NODE_CPUMASK);
}

/* __builtin_expect(a, b) is a. */
static struct node *expect_call(struct parser *parser)
{
	struct node *node = parse_expression(parser);

	return node && parse_need(parser, ",") && parse_expression(parser) &&
			       parse_need(parser, ")")
		       ? node
		       : NULL;
}

static const struct {
	const char *name;
	struct node *(*parse)(struct parser *parser);
} calls[] = {
	{ "__print_flags", flags_call },
	{ "__print_flags_u64", flags_call },
	{ "__print_symbolic", symbol_call },
	{ "__print_symbolic_u64", symbol_call },
	{ "__print_hex", hex_call },
	{ "__print_hex_str", hex_string_call },
	{ "__print_array", array_call },
	{ "__get_str", dynamic_call },
	{ "__get_rel_str", dynamic_call },
	{ "__get_dynamic_array", dynamic_call },
	{ "__get_rel_dynamic_array", dynamic_call },
	{ "__get_sockaddr", dynamic_call },
	{ "__get_rel_sockaddr", dynamic_call },
	{ "__get_dynamic_array_len", dynamic_bytes_call },
	{ "__get_rel_dynamic_array_len", dynamic_bytes_call },
	{ "__get_bitmask", bitmask_call },
	{ "__get_rel_bitmask", bitmask_call },
	{ "__get_cpumask", cpumask_call },
	{ "__get_rel_cpumask", cpumask_call },
	{ "__builtin_expect", expect_call },
};

struct node *parse_call(struct parser *parser, const char *name, uint32_t bytes, bool *out_known)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (!parse_is(name, bytes, calls[i].name))
			continue;
		*out_known = true;
		return parse_need(parser, "(") ? calls[i].parse(parser) : NULL;
	}
	*out_known = false;
	return NULL;
}
