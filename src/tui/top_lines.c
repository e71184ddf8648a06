/*
 * top_lines.c - filter, order, tree, groups.
 *
 * Tasks are chosen and put in order first. The tree and the groups then hang them below
 * each other without changing that order among those that hang at the same place.
 */
#include "tui/top_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "tui/top_model.h"

#define NONE SIZE_MAX

bool top_task_has_text(const struct top_task *task, const char *text)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", task->tid);
	return strcasestr(task->name, text) || strcasestr(task->cgroup, text) ||
	       (task->tid && strstr(number, text));
}

/*
 * Without threads: processes. With them: threads, since a process is the sum of its own; in the tree
 * they hang below their process.
 */
static bool is_shown(const struct top_model *model, const struct top_task *task)
{
	bool tree = model->tree && !model->cgroups;

	if (!model->threads && !task->is_process)
		return false;
	if (model->threads && !tree && task->is_process)
		return false;
	if (model->threads && tree && !task->is_process && task->threads < 2)
		return false;
	return !model->filter[0] || top_task_has_text(task, model->filter);
}

/* ----------------------------------------------------------------------- order */

static double share(const struct top_task *task, uint64_t ns)
{
	return task->base_ns ? (double)ns / (double)task->base_ns : 0;
}

static double weight(const struct top_task *task, enum top_sort sort)
{
	switch (sort) {
	case TOP_SORT_WAITED:
		return share(task, task->ns[TOP_CPU] + task->ns[TOP_DISK] + task->ns[TOP_MEMORY]);
	case TOP_SORT_READ:
		return (double)task->read_bytes;
	case TOP_SORT_WRITE:
		return (double)task->write_bytes;
	case TOP_SORT_SWITCHES:
		return (double)task->switches;
	case TOP_SORT_THREADS:
		return task->threads;
	case TOP_SORT_PID:
		return -(double)task->tid;
	case TOP_SORT_COMMAND:
		return 0;
	default:
		return share(task, task->ns[TOP_RUN + (sort - TOP_SORT_RUN)]);
	}
}

struct weighted {
	const struct top_task *task;
	double weight;
	bool by_name;
	bool backwards;
};

/* Ties by number, forwards in both directions, so that idle rows stay where they are. */
static int by_weight(const void *a, const void *b)
{
	const struct weighted *left = a, *right = b;
	int order = (left->weight < right->weight) - (left->weight > right->weight);

	if (left->by_name)
		order = strcasecmp(left->task->name, right->task->name);
	if (order)
		return left->backwards ? -order : order;
	if (left->task->tid != right->task->tid)
		return left->task->tid < right->task->tid ? -1 : 1;
	if (left->task->is_process != right->task->is_process)
		return left->task->is_process ? -1 : 1;
	return strcmp(left->task->cgroup, right->task->cgroup);
}

static struct weighted weigh(const struct top_model *model, const struct top_task *task)
{
	return (struct weighted){
		.task = task,
		.weight = weight(task, model->sort),
		.by_name = model->sort == TOP_SORT_COMMAND,
		.backwards = model->backwards,
	};
}

/* Those that are shown, in order. Free it with free(). */
static struct weighted *ordered(const struct top_model *model, size_t *out_count)
{
	struct weighted *all = xcalloc(model->task_count + 1, sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < model->task_count; i++) {
		if (is_shown(model, &model->tasks[i]))
			all[count++] = weigh(model, &model->tasks[i]);
	}
	qsort(all, count, sizeof(*all), by_weight);
	*out_count = count;
	return all;
}

static void add_line(struct top_model *model, struct top_line line)
{
	line.folded = line.below && map_find(&model->folded, top_task_key(line.task));
	model->lines[model->line_count++] = line;
}

/* ------------------------------------------------------------------------ tree */

struct node {
	size_t parent;
	size_t first;
	size_t last;
	size_t next;
	uint32_t children;
	uint32_t depth;
};

static uint64_t process_key(int32_t tgid)
{
	return (uint64_t)(uint32_t)tgid << 1 | 1;
}

/*
 * The nearest ancestor that is shown. 'all': tasks of the model by key, 'shown': nodes by key. Bounded,
 * since numbers that are used again can make a circle of parents.
 */
static size_t parent_of(const struct top_model *model, const struct top_task *task,
			const struct map *all, const struct map *shown)
{
	for (size_t steps = 0; steps < model->task_count; steps++) {
		uint64_t key = process_key(task->is_process ? task->ppid : task->tgid);
		const uint64_t *node = map_find(shown, key), *at = map_find(all, key);

		if (node)
			return (size_t)*node;
		if (!at)
			return NONE;
		task = &model->tasks[*at];
	}
	return NONE;
}

static bool is_below(const struct node *nodes, size_t node, size_t ancestor)
{
	while (node != NONE && node != ancestor)
		node = nodes[node].parent;
	return node == ancestor;
}

static void hang(struct node *nodes, size_t child, size_t parent)
{
	struct node *above = &nodes[parent];

	nodes[child].parent = parent;
	above->children++;
	if (above->first == NONE)
		above->first = child;
	else
		nodes[above->last].next = child;
	above->last = child;
}

static struct node *make_nodes(const struct top_model *model, const struct weighted *rows,
			       size_t count)
{
	struct node *nodes = xcalloc(count + 1, sizeof(*nodes));
	struct map all = { 0 }, shown = { 0 };

	for (size_t i = 0; i < model->task_count; i++)
		map_put(&all, top_task_key(&model->tasks[i]), i);
	for (size_t i = 0; i < count; i++) {
		map_put(&shown, top_task_key(rows[i].task), i);
		nodes[i] = (struct node){ NONE, NONE, NONE, NONE, 0, 0 };
	}
	for (size_t i = 0; i < count; i++) {
		size_t parent = parent_of(model, rows[i].task, &all, &shown);

		if (parent != NONE && !is_below(nodes, parent, i))
			hang(nodes, i, parent);
	}
	map_fini(&all);
	map_fini(&shown);
	return nodes;
}

/* What comes after 'at' with all that is below it. */
static size_t behind(const struct node *nodes, size_t at)
{
	while (at != NONE && nodes[at].next == NONE)
		at = nodes[at].parent;
	return at == NONE ? NONE : nodes[at].next;
}

static void add_tree(struct top_model *model, const struct weighted *rows, struct node *nodes,
		     size_t root)
{
	size_t at = root;

	while (at != NONE) {
		struct node *node = &nodes[at];
		struct top_line line = { rows[at].task, 0, node->children, false, false };

		node->depth = node->parent == NONE ? 0 : nodes[node->parent].depth + 1;
		line.depth = node->depth;
		add_line(model, line);
		at = node->first != NONE && !model->lines[model->line_count - 1].folded
			     ? node->first
			     : behind(nodes, at);
	}
}

static void make_tree(struct top_model *model, const struct weighted *rows, size_t count)
{
	AUTO_FREE struct node *nodes = make_nodes(model, rows, count);

	for (size_t i = 0; i < count; i++) {
		if (nodes[i].parent == NONE)
			add_tree(model, rows, nodes, i);
	}
}

/* ---------------------------------------------------------------------- groups */

/* Rows are all processes or all threads here: nothing is in a sum twice. */
static void add_to_group(struct top_task *group, const struct top_task *task)
{
	group->threads += task->is_process ? task->threads : 1;
	group->base_ns += task->base_ns;
	group->known |= task->known;
	group->has_io = group->has_io || task->has_io;
	group->read_bytes += task->read_bytes;
	group->write_bytes += task->write_bytes;
	group->switches += task->switches;
	for (int time = 0; time < TOP_TIMES; time++)
		group->ns[time] += task->ns[time];
}

/* Sums by cgroup; *out_group_of[row] = its group. */
static void sum_groups(struct top_model *model, const struct weighted *rows, size_t count,
		       size_t *out_group_of)
{
	struct map map = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct top_task group = { 0 };
		bool is_new;
		uint64_t *at;

		snprintf(group.cgroup, sizeof(group.cgroup), "%s", rows[i].task->cgroup);
		at = map_add(&map, top_task_key(&group), &is_new);
		if (is_new) {
			*at = model->group_count;
			model->groups[model->group_count++] = group;
		}
		out_group_of[i] = (size_t)*at;
		add_to_group(&model->groups[*at], rows[i].task);
	}
	map_fini(&map);
}

static void add_members(struct top_model *model, const struct weighted *rows, size_t count,
			const size_t *group_of, const struct top_task *group)
{
	size_t head = model->line_count;

	add_line(model, (struct top_line){ .task = group, .below = 1, .is_group = true });
	model->lines[head].below = 0;
	for (size_t i = 0; i < count; i++) {
		if (&model->groups[group_of[i]] != group)
			continue;
		model->lines[head].below++;
		if (!model->lines[head].folded)
			add_line(model, (struct top_line){ .task = rows[i].task, .depth = 1 });
	}
}

static void make_groups(struct top_model *model, const struct weighted *rows, size_t count)
{
	AUTO_FREE size_t *group_of = xcalloc(count + 1, sizeof(*group_of));
	AUTO_FREE struct weighted *order = xcalloc(count + 1, sizeof(*order));

	model->groups = xcalloc(count + 1, sizeof(*model->groups));
	sum_groups(model, rows, count, group_of);
	for (size_t i = 0; i < model->group_count; i++)
		order[i] = weigh(model, &model->groups[i]);
	qsort(order, model->group_count, sizeof(*order), by_weight);
	for (size_t i = 0; i < model->group_count; i++)
		add_members(model, rows, count, group_of, order[i].task);
}

void top_lines_make(struct top_model *model)
{
	size_t count;
	AUTO_FREE struct weighted *rows = NULL;

	free(model->groups);
	free(model->lines);
	model->groups = NULL;
	model->group_count = model->line_count = 0;
	rows = ordered(model, &count);
	model->lines = xcalloc(2 * count + 1, sizeof(*model->lines));
	if (model->cgroups)
		make_groups(model, rows, count);
	else if (model->tree)
		make_tree(model, rows, count);
	for (size_t i = 0; i < count && !model->cgroups && !model->tree; i++)
		add_line(model, (struct top_line){ .task = rows[i].task });
}
