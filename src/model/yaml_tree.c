/*
 * yaml_tree.c - libyaml's events into nodes.
 *
 * The nodes that are open stand on a stack of fixed depth, so nothing here recurses but the end.
 */
#include "model/yaml_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/text.h"

struct builder {
	struct model_errors *errors;
	struct yaml_tree_node *open[YAML_MAX_DEPTH + 1];
	uint32_t depth;
	uint32_t nodes;
	char *key; /* owned; of the value that comes next in a mapping; NULL = a key comes */
	struct yaml_tree_node *root; /* owned */
	bool ended;
	bool failed;
};

static struct model_place mark_place(yaml_mark_t mark)
{
	return (struct model_place){ (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

static void refuse(struct builder *builder, yaml_mark_t mark, const char *text)
{
	model_errors_add(builder->errors, mark_place(mark), "%s", text);
	builder->failed = true;
}

void yaml_tree_free(struct yaml_tree_node *node)
{
	if (!node)
		return;
	for (size_t i = 0; i < node->count; i++)
		yaml_tree_free(node->items[i]);
	free(node->items);
	free(node->key);
	free(node->text);
	free(node);
}

/* The mapping that waits for a key, if this is the moment for one. */
static struct yaml_tree_node *wants_key(const struct builder *builder)
{
	struct yaml_tree_node *top = builder->depth ? builder->open[builder->depth - 1] : NULL;

	return top && top->kind == YAML_MAPPING && !builder->key ? top : NULL;
}

static void take_key(struct builder *builder, const struct yaml_tree_node *mapping,
		     const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	AUTO_FREE char *safe = text_escaped(text);

	if (yaml_tree_find(mapping, text)) {
		model_errors_add(builder->errors, mark_place(event->start_mark), "duplicate \"%s\"",
				 safe);
		builder->failed = true;
	}
	builder->key = xstrdup(text);
}

static void add_node(struct builder *builder, struct yaml_tree_node *node)
{
	struct yaml_tree_node *top = builder->depth ? builder->open[builder->depth - 1] : NULL;

	node->key = builder->key;
	builder->key = NULL;
	if (!top) {
		builder->root = node;
		return;
	}
	if (top->count >= YAML_MAX_ITEMS) {
		model_errors_add(builder->errors, node->place,
				 "the list or mapping has too many parts");
		builder->failed = true;
	}
	top->items = vec_room(top->items, top->count, &top->cap, sizeof(struct yaml_tree_node *));
	top->items[top->count++] = node;
}

static struct yaml_tree_node *new_node(struct builder *builder, const yaml_event_t *event,
				       enum yaml_kind kind)
{
	struct yaml_tree_node *node;

	if (builder->nodes++ >= YAML_MAX_NODES) {
		refuse(builder, event->start_mark, "the file has too many parts");
		return NULL;
	}
	if (kind != YAML_SCALAR && builder->depth >= YAML_MAX_DEPTH) {
		refuse(builder, event->start_mark, "it is nested too deep");
		return NULL;
	}
	node = xcalloc(1, sizeof(*node));
	node->kind = kind;
	node->place = mark_place(event->start_mark);
	add_node(builder, node);
	return node;
}

static void take_scalar(struct builder *builder, const yaml_event_t *event)
{
	struct yaml_tree_node *mapping = wants_key(builder), *node;
	size_t bytes = event->data.scalar.length;

	if (event->data.scalar.anchor || event->data.scalar.tag) {
		refuse(builder, event->start_mark, "anchors and tags are not allowed in a model");
		return;
	}
	if (bytes > YAML_MAX_TEXT) {
		refuse(builder, event->start_mark, "the text is too long");
		return;
	}
	if (memchr(event->data.scalar.value, '\0', bytes)) {
		refuse(builder, event->start_mark, "a text must not contain a zero byte");
		return;
	}
	if (mapping) {
		take_key(builder, mapping, event);
		return;
	}
	node = new_node(builder, event, YAML_SCALAR);
	if (!node)
		return;
	node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	node->text = xstrndup((const char *)event->data.scalar.value, bytes);
}

static void take_begin(struct builder *builder, const yaml_event_t *event, enum yaml_kind kind)
{
	bool has_extra =
		kind == YAML_LIST
			? event->data.sequence_start.anchor || event->data.sequence_start.tag
			: event->data.mapping_start.anchor || event->data.mapping_start.tag;
	struct yaml_tree_node *node;

	if (has_extra || wants_key(builder)) {
		refuse(builder, event->start_mark,
		       has_extra ? "anchors and tags are not allowed in a model"
				 : "expected a name, not a list or a mapping");
		return;
	}
	node = new_node(builder, event, kind);
	if (node)
		builder->open[builder->depth++] = node;
}

static void builder_take_event(struct builder *builder, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_STREAM_END_EVENT:
		builder->ended = true;
		return;
	case YAML_DOCUMENT_START_EVENT:
		if (builder->root)
			refuse(builder, event->start_mark, "a file holds one model");
		return;
	case YAML_ALIAS_EVENT:
		refuse(builder, event->start_mark, "aliases are not allowed in a model");
		return;
	case YAML_SCALAR_EVENT:
		take_scalar(builder, event);
		return;
	case YAML_SEQUENCE_START_EVENT:
		take_begin(builder, event, YAML_LIST);
		return;
	case YAML_MAPPING_START_EVENT:
		take_begin(builder, event, YAML_MAPPING);
		return;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		builder->depth--;
		return;
	default:
		return;
	}
}

static void build(struct builder *builder, yaml_parser_t *parser)
{
	yaml_event_t event;

	while (!builder->ended && !builder->failed) {
		if (!yaml_parser_parse(parser, &event)) {
			yaml_mark_t mark = parser->problem_mark;

			model_errors_add(builder->errors, mark_place(mark), "not YAML: %s%s%s",
					 parser->problem ? parser->problem : "damaged",
					 parser->context ? ", " : "",
					 parser->context ? parser->context : "");
			builder->failed = true;
			return;
		}
		builder_take_event(builder, &event);
		yaml_event_delete(&event);
	}
}

int yaml_tree_parse(const char *text, size_t bytes, struct yaml_tree_node **out_root,
		    struct model_errors *errors)
{
	struct builder builder = { .errors = errors };
	yaml_parser_t parser;

	if (bytes > MODEL_MAX_BYTES) {
		model_errors_add(errors, (struct model_place){ 1, 1 },
				 "the file is too large for a model");
		return -EINVAL;
	}
	if (!yaml_parser_initialize(&parser)) {
		model_errors_add(errors, (struct model_place){ 1, 1 }, "no memory to read YAML");
		return -EINVAL;
	}
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
	build(&builder, &parser);
	yaml_parser_delete(&parser);
	free(builder.key);
	if (!builder.failed && !builder.root) {
		model_errors_add(errors, (struct model_place){ 1, 1 }, "the file is empty");
		builder.failed = true;
	}
	if (builder.failed) {
		yaml_tree_free(builder.root);
		return -EINVAL;
	}
	*out_root = builder.root;
	return 0;
}

const struct yaml_tree_node *yaml_tree_find(const struct yaml_tree_node *mapping, const char *key)
{
	for (size_t i = 0; mapping && mapping->kind == YAML_MAPPING && i < mapping->count; i++) {
		if (strcmp(mapping->items[i]->key, key) == 0)
			return mapping->items[i];
	}
	return NULL;
}

const char *yaml_tree_kind(const struct yaml_tree_node *node)
{
	static const char *const names[] = { "a text", "a list", "a mapping" };

	return names[node->kind];
}
