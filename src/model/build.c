/*
 * build.c - from the tree of a YAML text to the tables of a model.
 *
 * Three passes, so that a state or a variable can be used before it stands: names of states,
 * names of variables, transitions. A mistake is noted, and the rest is looked at all the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/build_int.h"
#include "model/yaml_tree.h"

#define MAX_FIELDS 256u

/* ------------------------------------------------------------------- names */

uint32_t build_find_variable(const struct build *build, const char *name)
{
	for (uint32_t i = 0; i < build->model->variable_count; i++) {
		if (strcmp(build->model->variables[i].name, name) == 0)
			return i;
	}
	return NO_INDEX;
}

char *build_near_variable(const struct build *build, const char *name)
{
	size_t best = strlen(name) / 3 + 2;
	const char *near = NULL;

	for (uint32_t i = 0; i < build->model->variable_count; i++) {
		const struct model_variable *variable = &build->model->variables[i];
		size_t edits = text_edits(name, variable->name);

		if (variable->is_auto || strchr(variable->name, ' ') || edits >= best)
			continue;
		best = edits;
		near = variable->name;
	}
	return near ? xasprintf("; did you mean \"%s\"?", near) : xstrdup("");
}

uint32_t build_add_variable(struct build *build, const char *name, struct model_place place)
{
	struct model *model = build->model;
	struct model_variable *variable;

	if (model->variable_count >= MODEL_MAX_VARIABLES) {
		model_errors_add(build->errors, place, "a model has at most %u variables",
				 MODEL_MAX_VARIABLES);
		return NO_INDEX;
	}
	model->variables = vec_room(model->variables, model->variable_count, &model->variable_cap,
				    sizeof(*model->variables));
	variable = &model->variables[model->variable_count];
	*variable = (struct model_variable){ .name = xstrdup(name), .place = place };
	build->follows[model->variable_count] = NO_INDEX;
	return model->variable_count++;
}

uint32_t build_field(struct build *build, const char *name, struct model_place place)
{
	struct model *model = build->model;

	for (uint32_t i = 0; i < model->field_count; i++) {
		if (strcmp(model->fields[i].name, name) == 0)
			return i;
	}
	if (model->field_count >= MAX_FIELDS) {
		model_errors_add(build->errors, place, "a model uses at most %u fields of events",
				 MAX_FIELDS);
		return NO_INDEX;
	}
	model->fields = vec_room(model->fields, model->field_count, &model->field_cap,
				 sizeof(*model->fields));
	model->fields[model->field_count] =
		(struct model_field){ .name = xstrdup(name), .place = place };
	return model->field_count++;
}

static uint32_t add_metric(struct model *model, enum metric_kind kind, const char *argument)
{
	for (uint32_t i = 0; i < model->metric_count; i++) {
		const char *other = model->metrics[i].argument;

		if (model->metrics[i].kind == kind && !argument == !other &&
		    (!argument || strcmp(argument, other) == 0))
			return i;
	}
	model->metrics = vec_room(model->metrics, model->metric_count, &model->metric_cap,
				  sizeof(*model->metrics));
	model->metrics[model->metric_count] =
		(struct model_metric){ .kind = kind,
				       .argument = argument ? xstrdup(argument) : NULL };
	return model->metric_count++;
}

static bool is_wait(const char *name)
{
	for (size_t i = 0; metric_waits[i]; i++) {
		if (strcmp(metric_waits[i], name) == 0)
			return true;
	}
	return false;
}

/* Is the argument, NULL when there is none, one for the metric? Else an error. */
static bool argument_fits(struct build *build, enum metric_kind kind, const char *argument,
			  struct model_place place)
{
	const struct metric_row *row = metric_row(kind);
	AUTO_FREE char *safe = argument ? text_escaped(argument) : NULL;

	if (!argument)
		return true;
	if (row->argument == ARG_NONE) {
		model_errors_add(build->errors, place, "%s takes nothing in parentheses",
				 row->name);
		return false;
	}
	if (row->argument == ARG_WAIT && !is_wait(argument)) {
		model_errors_add(
			build->errors, place,
			"there is no kind of wait \"%s\"; there are stopped, lock, disk, idle, "
			"time, network, thread, io, interrupt, unknown",
			safe);
		return false;
	}
	if (!argument[0]) {
		model_errors_add(build->errors, place, "the name of a system call is missing");
		return false;
	}
	return true;
}

uint32_t build_metric(struct build *build, const char *text, struct model_place place)
{
	AUTO_FREE char *name = xstrdup(text);
	AUTO_FREE char *safe = text_escaped(text);
	char *argument = strchr(name, '('), *end;
	enum metric_kind kind;

	if (argument) {
		*argument++ = '\0';
		end = strchr(argument, ')');
		if (!end || end[1]) {
			model_errors_add(build->errors, place,
					 "\"%s\" is no metric: NAME(ARGUMENT)", safe);
			return NO_INDEX;
		}
		*end = '\0';
	}
	if (!metric_find(name, &kind)) {
		const char *near = metric_near(name);

		model_errors_add(build->errors, place, "there is no metric \"%s\"%s%s%s", safe,
				 near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
		return NO_INDEX;
	}
	if (!argument_fits(build, kind, argument, place))
		return NO_INDEX;
	return add_metric(build->model, kind, argument);
}

static uint32_t find_state(const struct model *model, const char *name)
{
	for (uint32_t i = 0; i < model->state_count; i++) {
		if (strcmp(model->states[i].name, name) == 0)
			return i;
	}
	return NO_INDEX;
}

/* A state that somebody names: an error suggests the nearest one. */
static uint32_t named_state(struct build *build, const struct yaml_tree_node *node)
{
	const struct model *model = build->model;
	const char *near = NULL;
	size_t best = SIZE_MAX;
	uint32_t found;

	if (node->kind != YAML_SCALAR) {
		model_errors_add(build->errors, node->place,
				 "the name of a state is expected here");
		return NO_INDEX;
	}
	found = find_state(model, node->text);
	if (found != NO_INDEX)
		return found;
	for (uint32_t i = 0; i < model->state_count; i++) {
		size_t edits = text_edits(node->text, model->states[i].name);

		if (edits < best) {
			best = edits;
			near = model->states[i].name;
		}
	}
	AUTO_FREE char *safe = text_escaped(node->text);
	AUTO_FREE char *safe_near = near ? text_escaped(near) : NULL;

	model_errors_add(build->errors, node->place, "there is no state \"%s\"%s%s%s", safe,
			 near ? "; did you mean \"" : "", near ? safe_near : "", near ? "\"?" : "");
	return NO_INDEX;
}

/* --------------------------------------------------------------- mappings */

/* A key that a mapping may have. */
struct rule {
	const char *key;
	enum yaml_kind kind;
};

static const struct rule *find_rule(const struct rule *rules, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rules[i].key, key) == 0)
			return &rules[i];
	}
	return NULL;
}

static void unknown_key(struct build *build, const struct rule *rules, size_t count,
			const struct yaml_tree_node *item)
{
	AUTO_FREE char *safe = text_escaped(item->key);
	const char *near = NULL;
	size_t best = 4;

	for (size_t i = 0; i < count; i++) {
		size_t edits = text_edits(item->key, rules[i].key);

		if (edits < best) {
			best = edits;
			near = rules[i].key;
		}
	}
	model_errors_add(build->errors, item->place, "\"%s\" means nothing here%s%s%s", safe,
			 near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* Is it a mapping of these keys only, each of its kind? Tells what is not. */
static bool check_keys(struct build *build, const struct yaml_tree_node *node,
		       const struct rule *rules, size_t count)
{
	uint32_t before = build->errors->count + build->errors->more;

	if (node->kind != YAML_MAPPING) {
		model_errors_add(build->errors, node->place, "a mapping is expected here, not %s",
				 yaml_tree_kind(node));
		return false;
	}
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_tree_node *item = node->items[i];
		const struct rule *rule = find_rule(rules, count, item->key);

		if (!rule) {
			unknown_key(build, rules, count, item);
		} else if (item->kind != rule->kind) {
			static const char *const names[] = { "a text", "a list", "a mapping" };

			model_errors_add(build->errors, item->place, "\"%s\" takes %s, not %s",
					 rule->key, names[rule->kind], yaml_tree_kind(item));
		}
	}
	return build->errors->count + build->errors->more == before;
}

static bool read_bool(struct build *build, const struct yaml_tree_node *node)
{
	bool is_true = node && node->kind == YAML_SCALAR && strcmp(node->text, "true") == 0;

	if (node && node->kind == YAML_SCALAR && !is_true && strcmp(node->text, "false") != 0)
		model_errors_add(build->errors, node->place, "\"%s\" is true or false", node->key);
	return is_true;
}

/* ------------------------------------------------------------- transitions */

static const struct rule transition_rules[] = {
	{ "event", YAML_SCALAR },    { "usdt", YAML_SCALAR },
	{ "function", YAML_SCALAR }, { "function_return", YAML_SCALAR },
	{ "syscall", YAML_SCALAR },  { "syscall_exit", YAML_SCALAR },
	{ "filter", YAML_SCALAR },   { "key", YAML_SCALAR },
	{ "to", YAML_SCALAR },	     { "start", YAML_LIST },
	{ "set", YAML_MAPPING },     { "check", YAML_LIST },
};

/* The ways to name what takes a transition. "%s": the name; functions are probes of record. */
static const struct take_row {
	const char *key;
	enum model_take take;
	const char *before, *behind;
} takes[] = {
	{ "event", TAKE_EVENT, "", "" },
	{ "usdt", TAKE_EVENT, "", "" },
	{ "function", TAKE_EVENT, "probe:", "" },
	{ "function_return", TAKE_EVENT, "probe:", "__return" },
	{ "syscall", TAKE_SYSCALL, "", "" },
	{ "syscall_exit", TAKE_SYSCALL_EXIT, "", "" },
};

static void read_key(struct build *build, const struct yaml_tree_node *node,
		     struct model_pattern *pattern)
{
	static const char *const words[] = { "thread", "process", "cpu", "all" };
	const char *name = node->text;

	for (uint32_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i], name) == 0) {
			pattern->key = (enum model_key)i;
			return;
		}
	}
	pattern->key = KEY_FIELD;
	pattern->field =
		build_field(build, strncmp(name, "field:", 6) == 0 ? name + 6 : name, node->place);
}

/* What takes the transition: exactly one of the keys in takes[]. */
static bool read_take(struct build *build, const struct yaml_tree_node *node,
		      struct model_pattern *pattern)
{
	for (size_t i = 0; i < ARRAY_LEN(takes); i++) {
		const struct yaml_tree_node *item = yaml_tree_find(node, takes[i].key);
		const char *before = takes[i].before;

		if (!item)
			continue;
		if (pattern->name) {
			model_errors_add(
				build->errors, item->place,
				"a transition is taken by one event: event, usdt, function, "
				"function_return, syscall or syscall_exit");
			return false;
		}
		if (!item->text[0]) {
			model_errors_add(build->errors, item->place,
					 "the name of an event is missing");
			return false;
		}
		if (strchr(item->text, ':'))
			before = "";
		pattern->take = takes[i].take;
		pattern->name = xasprintf("%s%s%s", before, item->text, takes[i].behind);
		pattern->place = item->place;
	}
	if (!pattern->name)
		model_errors_add(
			build->errors, node->place,
			"a transition needs an event that takes it: event, usdt, function, "
			"function_return, syscall or syscall_exit");
	return pattern->name;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static uint32_t add_pattern(struct model *model, struct model_pattern *pattern)
{
	for (uint32_t i = 0; i < model->pattern_count; i++) {
		const struct model_pattern *other = &model->patterns[i];

		if (other->take == pattern->take && other->key == pattern->key &&
		    other->field == pattern->field && strcmp(other->name, pattern->name) == 0 &&
		    same_text(other->filter, pattern->filter)) {
			free(pattern->name);
			free(pattern->filter);
			return i;
		}
	}
	model->patterns = vec_room(model->patterns, model->pattern_count, &model->pattern_cap,
				   sizeof(*model->patterns));
	model->patterns[model->pattern_count] = *pattern;
	return model->pattern_count++;
}

static uint32_t read_pattern(struct build *build, const struct yaml_tree_node *node,
			     const struct yaml_tree_node *model_key)
{
	const struct yaml_tree_node *filter = yaml_tree_find(node, "filter");
	const struct yaml_tree_node *key = yaml_tree_find(node, "key");
	struct model_pattern pattern = { 0 };

	key = key ? key : model_key;
	if (key && key->kind == YAML_SCALAR)
		read_key(build, key, &pattern);
	if (!read_take(build, node, &pattern)) {
		free(pattern.name);
		return NO_INDEX;
	}
	if (filter) {
		pattern.filter = xstrdup(filter->text);
		pattern.filter_place = filter->place;
	}
	return add_pattern(build->model, &pattern);
}

static bool has_started(const struct model_transition *transition, uint32_t variable)
{
	for (uint32_t i = 0; i < transition->start_count; i++) {
		if (transition->starts[i] == variable)
			return true;
	}
	return false;
}

static void wrong_start(struct build *build, const struct yaml_tree_node *item)
{
	AUTO_FREE char *near =
		build_near_variable(build, item->kind == YAML_SCALAR ? item->text : "");

	model_errors_add(build->errors, item->place,
			 "\"start\" names variables that stand under \"variables\"%s", near);
}

static void read_starts(struct build *build, const struct yaml_tree_node *node,
			struct model_transition *transition)
{
	transition->starts = xcalloc(node->count + MODEL_MAX_VARIABLES, sizeof(uint32_t));
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_tree_node *item = node->items[i];
		uint32_t variable = item->kind == YAML_SCALAR
					    ? build_find_variable(build, item->text)
					    : NO_INDEX;

		if (variable == NO_INDEX || !build->model->variables[variable].is_metric)
			wrong_start(build, item);
		else if (!has_started(transition, variable))
			transition->starts[transition->start_count++] = variable;
	}
}

static void read_sets(struct build *build, const struct yaml_tree_node *node,
		      struct model_transition *transition)
{
	transition->sets = xcalloc(node->count + 1, sizeof(*transition->sets));
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_tree_node *item = node->items[i];
		struct formula_scope scope = { .place = item->place, .since = NO_INDEX };
		struct model_set *set = &transition->sets[transition->set_count];
		uint32_t variable = build_find_variable(build, item->key);

		if (variable == NO_INDEX)
			continue; /* told when the names were collected */
		scope.place.column += item->is_quoted;
		if (item->kind != YAML_SCALAR) {
			model_errors_add(build->errors, item->place,
					 "\"set\" gives a variable an expression, not %s",
					 yaml_tree_kind(item));
			continue;
		}
		set->variable = variable;
		transition->set_count++;
		(void)formula_parse(build, item->text, &scope, &set->value); /* errors are noted */
	}
}

/* The parts of a transition whose keys are known to be right. */
static void fill_transition(struct build *build, const struct yaml_tree_node *node,
			    struct model_transition *transition)
{
	const struct yaml_tree_node *start = yaml_tree_find(node, "start");
	const struct yaml_tree_node *set = yaml_tree_find(node, "set");
	const struct yaml_tree_node *check = yaml_tree_find(node, "check");

	if (start)
		read_starts(build, start, transition);
	if (set)
		read_sets(build, set, transition);
	if (check)
		build_checks(build, check, transition);
}

static void read_transition(struct build *build, const struct yaml_tree_node *node, uint32_t from,
			    const struct yaml_tree_node *model_key)
{
	struct model *model = build->model;
	const struct yaml_tree_node *to;
	struct model_transition *transition;
	struct model_transition made = { .from = from, .to = from, .place = node->place };

	if (!check_keys(build, node, transition_rules, ARRAY_LEN(transition_rules)))
		return;
	if (model->transition_count >= MODEL_MAX_TRANSITIONS) {
		model_errors_add(build->errors, node->place, "a model has at most %u transitions",
				 MODEL_MAX_TRANSITIONS);
		return;
	}
	to = yaml_tree_find(node, "to");
	if (!to)
		model_errors_add(build->errors, node->place,
				 "a transition needs the state it leads to: \"to\"");
	else
		made.to = named_state(build, to);
	made.pattern = read_pattern(build, node, model_key);
	model->transitions = vec_room(model->transitions, model->transition_count,
				      &model->transition_cap, sizeof(*model->transitions));
	transition = &model->transitions[model->transition_count++];
	*transition = made;
	fill_transition(build, node, transition);
}

/* ------------------------------------------------------------------ states */

static const struct rule state_rules[] = {
	{ "final", YAML_SCALAR },
	{ "may_end", YAML_SCALAR },
	{ "transitions", YAML_LIST },
};

static bool is_null(const struct yaml_tree_node *node)
{
	return node->kind == YAML_SCALAR && !node->is_quoted &&
	       (!node->text[0] || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

static void read_state(struct build *build, const struct yaml_tree_node *node, uint32_t state,
		       const struct yaml_tree_node *model_key)
{
	const struct yaml_tree_node *list = yaml_tree_find(node, "transitions");

	if (is_null(node)) /* "done:" alone is a state without transitions */
		return;
	if (!check_keys(build, node, state_rules, ARRAY_LEN(state_rules)))
		return;
	build->model->states[state].is_final = read_bool(build, yaml_tree_find(node, "final"));
	build->model->states[state].may_end = read_bool(build, yaml_tree_find(node, "may_end"));
	for (size_t i = 0; list && i < list->count; i++)
		read_transition(build, list->items[i], state, model_key);
	if (build->model->states[state].is_final && list && list->count)
		model_errors_add(build->errors, list->place, "a final state has no transitions");
}

static void name_states(struct build *build, const struct yaml_tree_node *states)
{
	struct model *model = build->model;

	for (size_t i = 0; i < states->count; i++) {
		const struct yaml_tree_node *item = states->items[i];

		if (model->state_count >= MODEL_MAX_STATES) {
			model_errors_add(build->errors, item->place,
					 "a model has at most %u states", MODEL_MAX_STATES);
			return;
		}
		model->states = vec_room(model->states, model->state_count, &model->state_cap,
					 sizeof(*model->states));
		model->states[model->state_count++] =
			(struct model_state){ .name = xstrdup(item->key), .place = item->place };
	}
}

/* --------------------------------------------------------------- variables */

static bool is_plain_name(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return name[0] && strspn(name, letters) == strlen(name) &&
	       !(name[0] >= '0' && name[0] <= '9') && strlen(name) < 64;
}

/* A new variable of the user's; its name must not hide what has that name already. */
static uint32_t name_variable(struct build *build, const char *name, struct model_place place)
{
	AUTO_FREE char *safe = text_escaped(name);
	enum metric_kind kind;

	if (!is_plain_name(name)) {
		model_errors_add(build->errors, place,
				 "\"%s\" is no name of a variable: letters, digits and _", safe);
		return NO_INDEX;
	}
	if (metric_find(name, &kind) || strcmp(name, "time") == 0 || strcmp(name, "cpu") == 0 ||
	    strcmp(name, "tid") == 0) {
		model_errors_add(build->errors, place,
				 "\"%s\" has a meaning of its own: choose another name", safe);
		return NO_INDEX;
	}
	return build_add_variable(build, name, place);
}

static void name_metrics(struct build *build, const struct yaml_tree_node *variables)
{
	for (size_t i = 0; variables && i < variables->count; i++) {
		const struct yaml_tree_node *item = variables->items[i];
		uint32_t variable = name_variable(build, item->key, item->place);
		uint32_t metric;

		if (variable == NO_INDEX)
			continue;
		build->model->variables[variable].is_metric = true;
		if (item->kind != YAML_SCALAR) {
			model_errors_add(build->errors, item->place,
					 "a variable is a metric such as on_cpu, not %s",
					 yaml_tree_kind(item));
			continue;
		}
		metric = build_metric(build, item->text, item->place);
		if (metric == NO_INDEX)
			continue;
		build->model->variables[variable].metric = metric;
		build->model->variables[variable].unit =
			(enum model_unit)metric_row(build->model->metrics[metric].kind)->unit;
	}
}

/* What any transition sets is a variable. */
static void name_values(struct build *build, const struct yaml_tree_node *transition)
{
	const struct yaml_tree_node *set = yaml_tree_find(transition, "set");

	for (size_t i = 0; set && set->kind == YAML_MAPPING && i < set->count; i++) {
		const struct yaml_tree_node *item = set->items[i];
		uint32_t variable = build_find_variable(build, item->key);

		if (variable == NO_INDEX)
			(void)name_variable(build, item->key, item->place);
		else if (build->model->variables[variable].is_metric)
			model_errors_add(build->errors, item->place,
					 "\"%s\" is measured: it is started, not set", item->key);
	}
}

static void name_variables(struct build *build, const struct yaml_tree_node *root)
{
	const struct yaml_tree_node *states = yaml_tree_find(root, "states");

	name_metrics(build, yaml_tree_find(root, "variables"));
	for (size_t i = 0; i < states->count; i++) {
		const struct yaml_tree_node *list = yaml_tree_find(states->items[i], "transitions");

		for (size_t j = 0; list && list->kind == YAML_LIST && j < list->count; j++)
			name_values(build, list->items[j]);
	}
}

/* ------------------------------------------------------------------- whole */

/* Variables that run since another one start where that one does. */
static void start_followers(struct build *build, struct model_transition *transition)
{
	uint32_t named = transition->start_count;

	for (uint32_t i = 0; i < named; i++) {
		for (uint32_t v = 0; v < build->model->variable_count; v++) {
			if (build->follows[v] == transition->starts[i])
				transition->starts[transition->start_count++] = v;
		}
	}
}

/* An event is used once per state; every variable is started or set somewhere. */
static void check_uses(struct build *build)
{
	struct model *model = build->model;
	bool started[MODEL_MAX_VARIABLES] = { false };

	for (uint32_t i = 0; i < model->transition_count; i++) {
		struct model_transition *transition = &model->transitions[i];

		for (uint32_t j = 0; j < transition->start_count; j++)
			started[transition->starts[j]] = true;
		start_followers(build, transition);
		for (uint32_t j = i; j > 0; j--) {
			const struct model_transition *other = &model->transitions[j - 1];

			if (other->from != transition->from)
				break;
			if (other->pattern == transition->pattern && other->pattern != NO_INDEX) {
				model_errors_add(
					build->errors, transition->place,
					"state \"%s\" has a transition for this event already: "
					"an event is used once per state",
					model->states[other->from].name);
				break;
			}
		}
	}
	for (uint32_t i = 0; i < model->variable_count; i++) {
		const struct model_variable *variable = &model->variables[i];

		if (variable->is_metric && !variable->is_auto && !started[i] &&
		    build->follows[i] == NO_INDEX)
			model_errors_add(build->errors, variable->place,
					 "no transition starts the variable \"%s\"",
					 variable->name);
	}
}

static const struct rule root_rules[] = {
	{ "model", YAML_SCALAR },     { "description", YAML_SCALAR }, { "key", YAML_SCALAR },
	{ "instances", YAML_SCALAR }, { "strict", YAML_SCALAR },      { "variables", YAML_MAPPING },
	{ "initial", YAML_SCALAR },   { "states", YAML_MAPPING },
};

static void read_head(struct build *build, const struct yaml_tree_node *root)
{
	const struct yaml_tree_node *name = yaml_tree_find(root, "model");
	const struct yaml_tree_node *description = yaml_tree_find(root, "description");
	const struct yaml_tree_node *instances = yaml_tree_find(root, "instances");
	const struct yaml_tree_node *initial = yaml_tree_find(root, "initial");
	struct model *model = build->model;

	if (!name || !name->text[0])
		model_errors_add(build->errors, name ? name->place : root->place,
				 "a model has a name: \"model\"");
	model->name = xstrdup(name ? name->text : "");
	model->description = xstrdup(description ? description->text : "");
	model->is_strict = read_bool(build, yaml_tree_find(root, "strict"));
	model->is_overlap = instances && strcmp(instances->text, "overlap") == 0;
	if (instances && !model->is_overlap && strcmp(instances->text, "one") != 0)
		model_errors_add(build->errors, instances->place,
				 "\"instances\" is one (at a time for each key) or overlap");
	if (!initial)
		model_errors_add(build->errors, root->place,
				 "a model has a state in which it begins: \"initial\"");
	else
		model->initial = named_state(build, initial);
}

static void read_root(struct build *build, const struct yaml_tree_node *root)
{
	const struct yaml_tree_node *states = yaml_tree_find(root, "states");

	if (!check_keys(build, root, root_rules, ARRAY_LEN(root_rules)))
		return;
	if (!states || !states->count) {
		model_errors_add(build->errors, states ? states->place : root->place,
				 "a model has states: \"states\"");
		return;
	}
	name_states(build, states);
	read_head(build, root);
	name_variables(build, root);
	for (uint32_t i = 0; i < build->model->state_count; i++)
		read_state(build, states->items[i], i, yaml_tree_find(root, "key"));
	check_uses(build);
	if (!build->errors->count && !build->model->transition_count)
		model_errors_add(build->errors, states->place, "no state has a transition");
	if (!build->errors->count && build->model->states[build->model->initial].is_final)
		model_errors_add(build->errors, states->place,
				 "the initial state is not a final one");
}

int model_parse(const char *text, size_t bytes, struct model **out_model,
		struct model_errors *errors)
{
	struct yaml_tree_node *root;
	struct build build = { .errors = errors };

	if (yaml_tree_parse(text, bytes, &root, errors) < 0)
		return -EINVAL;
	build.model = xcalloc(1, sizeof(*build.model));
	build.follows = xcalloc(MODEL_MAX_VARIABLES, sizeof(uint32_t));
	read_root(&build, root);
	yaml_tree_free(root);
	free(build.follows);
	if (errors->count) {
		model_free(build.model);
		return -EINVAL;
	}
	*out_model = build.model;
	return 0;
}
