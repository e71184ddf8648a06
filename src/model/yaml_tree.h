/*
 * yaml_tree.h - a YAML text as a tree of nodes that know where they stand.
 *
 * Refused: aliases and anchors, tags, several documents, a key twice, and what is deeper or
 * larger than any model needs.
 */
#ifndef MODEL_YAML_TREE_H
#define MODEL_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

#define YAML_MAX_DEPTH 16u
#define YAML_MAX_NODES 100000u
#define YAML_MAX_TEXT  65536u /* bytes of one key or value */
#define YAML_MAX_ITEMS 4096u  /* of one list or mapping */

enum yaml_kind {
	YAML_SCALAR,
	YAML_LIST,
	YAML_MAPPING,
};

struct yaml_tree_node {
	enum yaml_kind kind;
	bool is_quoted;
	struct model_place place;
	char *key;		       /* owned; in a mapping: its key; else NULL */
	char *text;		       /* owned; SCALAR */
	struct yaml_tree_node **items; /* owned; LIST, MAPPING */
	size_t count, cap;
};

/* Returns 0 and *out_root (free with yaml_tree_free()), or -EINVAL with errors filled. */
int yaml_tree_parse(const char *text, size_t bytes, struct yaml_tree_node **out_root,
		    struct model_errors *errors);
void yaml_tree_free(struct yaml_tree_node *node);

/* The value of 'key' in a mapping, or NULL. */
const struct yaml_tree_node *yaml_tree_find(const struct yaml_tree_node *mapping, const char *key);

/* "a text", "a list", "a mapping" */
const char *yaml_tree_kind(const struct yaml_tree_node *node);

#endif
