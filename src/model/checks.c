/*
 * checks.c - the list under "check": constraints, and the ready forms, which stand for some.
 *
 *	- elapsed <= 10ms
 *	- { that: preemptions == 0, since: request }
 *	- deadline: 10ms
 *	- preemption: none
 *	- usage: { cpu: 50%, read: 1MiB, written: 64K, requests: 10 }
 *	- wait: 5ms
 *	- wait: { disk: 2ms, lock: none }
 *	- syscalls: none
 *	- syscalls: { read: 3, futex: none }
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/build_int.h"
#include "model/yaml_tree.h"

/* A ready form: what stands before the limit. */
struct form {
	const char *name;
	const char *metric; /* for a limit alone; NULL = it takes a mapping only */
	bool has_each;	    /* takes a mapping, too: METRIC(KEY) for each key */
};

static const struct form forms[] = {
	{ "deadline", "elapsed", false }, { "preemption", "preemptions", false },
	{ "usage", NULL, false },	  { "wait", "blocked", true },
	{ "syscalls", "syscalls", true },
};

/* What "usage" can limit. */
static const struct {
	const char *name, *metric;
} usages[] = {
	{ "cpu", "on_cpu" },
	{ "read", "bytes_read" },
	{ "written", "bytes_written" },
	{ "io", "bytes_read + bytes_written" },
	{ "memory", "allocated" },
	{ "rss", "rss_grown" },
	{ "requests", "block_requests" },
};

struct checks {
	struct build *build;
	struct model_transition *transition;
	size_t cap;
	uint32_t since;
	const char *name; /* of the constraint, as the user calls it; NULL = its text */
};

static struct model_place text_place(const struct yaml_tree_node *node)
{
	struct model_place place = node->place;

	place.column += node->is_quoted;
	return place;
}

static void add_constraint(struct checks *checks, const char *text, struct model_place place)
{
	struct model_transition *transition = checks->transition;
	struct formula_scope scope = { .place = place, .since = checks->since };
	struct model_constraint *constraint;

	transition->constraints = vec_room(transition->constraints, transition->constraint_count,
					   &checks->cap, sizeof(*constraint));
	constraint = &transition->constraints[transition->constraint_count++];
	memset(constraint, 0, sizeof(*constraint));
	constraint->text = checks->name ? xasprintf("%s: %s", checks->name, text) : xstrdup(text);
	(void)formula_parse_constraint(checks->build, text, &scope,
				       constraint); /* errors are noted */
}

/* METRIC <= LIMIT, where "none" is 0. */
static void add_limit(struct checks *checks, const char *metric, const struct yaml_tree_node *limit)
{
	AUTO_FREE char *text = NULL;
	struct model_place place = text_place(limit);

	if (limit->kind != YAML_SCALAR) {
		model_errors_add(checks->build->errors, limit->place,
				 "a limit is expected here, such as 10ms, 10%% or none, not %s",
				 yaml_tree_kind(limit));
		return;
	}
	text = xasprintf("%s <= %s", metric, strcmp(limit->text, "none") == 0 ? "0" : limit->text);
	/* A mistake in the limit is told where the limit stands. */
	place.column =
		place.column > strlen(metric) + 4 ? place.column - (uint32_t)strlen(metric) - 4 : 1;
	add_constraint(checks, text, place);
}

static void add_usage(struct checks *checks, const struct yaml_tree_node *node)
{
	for (size_t i = 0; i < ARRAY_LEN(usages); i++) {
		if (strcmp(node->key, usages[i].name) == 0) {
			add_limit(checks, usages[i].metric, node);
			return;
		}
	}
	AUTO_FREE char *safe = text_escaped(node->key);

	model_errors_add(checks->build->errors, node->place,
			 "usage knows cpu, read, written, io, memory, rss and requests, not \"%s\"",
			 safe);
}

static void add_form(struct checks *checks, const struct form *form,
		     const struct yaml_tree_node *value)
{
	bool is_usage = strcmp(form->name, "usage") == 0;

	if (value->kind == YAML_MAPPING && (form->has_each || is_usage)) {
		for (size_t i = 0; i < value->count; i++) {
			const struct yaml_tree_node *item = value->items[i];
			AUTO_FREE char *metric =
				is_usage ? NULL : xasprintf("%s(%s)", form->metric, item->key);

			if (is_usage)
				add_usage(checks, item);
			else
				add_limit(checks, metric, item);
		}
		return;
	}
	if (!form->metric) {
		model_errors_add(checks->build->errors, value->place,
				 "%s takes a mapping such as { cpu: 50%% }", form->name);
		return;
	}
	add_limit(checks, form->metric, value);
}

static const struct form *find_form(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	}
	return NULL;
}

/* "since" and "name" of a mapping. False with an error. */
static bool take_scope(struct checks *checks, const struct yaml_tree_node *node)
{
	const struct yaml_tree_node *since = yaml_tree_find(node, "since");
	const struct yaml_tree_node *name = yaml_tree_find(node, "name");
	const struct model *model = checks->build->model;

	checks->since = NO_INDEX;
	checks->name = NULL;
	if (name && name->kind == YAML_SCALAR)
		checks->name = name->text;
	else if (name)
		model_errors_add(checks->build->errors, name->place,
				 "the name of a constraint is a text, not %s",
				 yaml_tree_kind(name));
	if (!since)
		return true;
	if (since->kind == YAML_SCALAR)
		checks->since = build_find_variable(checks->build, since->text);
	if (checks->since != NO_INDEX && model->variables[checks->since].is_metric &&
	    !model->variables[checks->since].is_auto)
		return true;
	AUTO_FREE char *near =
		build_near_variable(checks->build, since->kind == YAML_SCALAR ? since->text : "");

	model_errors_add(checks->build->errors, since->place,
			 "\"since\" names one of the variables that stand under \"variables\"%s",
			 near);
	return false;
}

static void add_mapping(struct checks *checks, const struct yaml_tree_node *node)
{
	if (!take_scope(checks, node))
		return;
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_tree_node *item = node->items[i];
		const struct form *form = find_form(item->key);

		if (strcmp(item->key, "since") == 0 || strcmp(item->key, "name") == 0)
			continue;
		if (strcmp(item->key, "that") == 0 && item->kind == YAML_SCALAR) {
			add_constraint(checks, item->text, text_place(item));
		} else if (form) {
			add_form(checks, form, item);
		} else {
			AUTO_FREE char *safe = text_escaped(item->key);

			model_errors_add(
				checks->build->errors, item->place,
				"a constraint is that, deadline, preemption, usage, wait or "
				"syscalls, not \"%s\"",
				safe);
		}
	}
}

void build_checks(struct build *build, const struct yaml_tree_node *node,
		  struct model_transition *transition)
{
	struct checks checks = { .build = build, .transition = transition };

	if (node->kind != YAML_LIST) {
		model_errors_add(build->errors, node->place,
				 "\"check\" takes a list of constraints, not %s",
				 yaml_tree_kind(node));
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_tree_node *item = node->items[i];

		checks.since = NO_INDEX;
		checks.name = NULL;
		if (item->kind == YAML_SCALAR)
			add_constraint(&checks, item->text, text_place(item));
		else if (item->kind == YAML_MAPPING)
			add_mapping(&checks, item);
		else
			model_errors_add(build->errors, item->place,
					 "a constraint is a text or a mapping, not a list");
	}
}
