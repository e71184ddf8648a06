/* build_int.h - what the parts that make a model share. */
#ifndef MODEL_BUILD_INT_H
#define MODEL_BUILD_INT_H

#include "model/model.h"

struct yaml_tree_node;

#define NO_INDEX UINT32_MAX

struct build {
	struct model *model;
	struct model_errors *errors;
	uint32_t *follows; /* owned; by variable: runs since this one was started; NO_INDEX = not */
};

/* A variable by name, or NO_INDEX. */
uint32_t build_find_variable(const struct build *build, const char *name);

/* "; did you mean "work"?" for a name that no variable has, or "". Free it with free(). */
char *build_near_variable(const struct build *build, const char *name);

/* Index of a new variable; NO_INDEX, with an error, when there are too many. */
uint32_t build_add_variable(struct build *build, const char *name, struct model_place place);

/*
 * Understand "blocked(disk)". Returns the index into metrics[], or NO_INDEX with an error when
 * it is none.
 */
uint32_t build_metric(struct build *build, const char *text, struct model_place place);

/* Index of field 'name', added when it is new. NO_INDEX, with an error: too many. */
uint32_t build_field(struct build *build, const char *name, struct model_place place);

/* Where formulas stand. */
struct formula_scope {
	struct model_place place; /* of the text's first character */
	uint32_t since; /* bare metrics run since this variable was started; NO_INDEX = the state */
};

/* "2 * limit + 1ms". False with errors. */
bool formula_parse(struct build *build, const char *text, const struct formula_scope *scope,
		   struct model_expr *out_expr);

/* "elapsed <= 10ms". False with errors; the constraint is then to be freed all the same. */
bool formula_parse_constraint(struct build *build, const char *text,
			      const struct formula_scope *scope,
			      struct model_constraint *out_constraint);

/* The list under "check": appends to the transition's constraints. */
void build_checks(struct build *build, const struct yaml_tree_node *node,
		  struct model_transition *transition);

#endif
