/* top_model.c - tasks kept over intervals, selected, and what was chosen to be shown. */
#include "tui/top_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "tui/top_lines.h"

#define BIRTH_SLACK_NS 20000000u /* births are told by the tick where there are no rights */

static const char *const sort_names[] = {
	[TOP_SORT_WAITED] = "waited",	  [TOP_SORT_RUN] = "run",
	[TOP_SORT_CPU] = "cpu",		  [TOP_SORT_DISK] = "disk",
	[TOP_SORT_MEMORY] = "memory",	  [TOP_SORT_OTHER] = "else",
	[TOP_SORT_READ] = "read",	  [TOP_SORT_WRITE] = "write",
	[TOP_SORT_SWITCHES] = "switches", [TOP_SORT_THREADS] = "threads",
	[TOP_SORT_PID] = "pid",		  [TOP_SORT_COMMAND] = "command",
};

const char *top_sort_name(enum top_sort sort)
{
	return sort_names[sort];
}

void top_model_init(struct top_model *model)
{
	*model = (struct top_model){ .page = 20 };
}

static void free_tasks(struct top_model *model)
{
	for (size_t i = 0; i < model->task_count; i++)
		free(model->tasks[i].history);
	free(model->tasks);
}

void top_model_fini(struct top_model *model)
{
	free(model->lines);
	free_tasks(model);
	free(model->groups);
	map_fini(&model->folded);
	*model = (struct top_model){ 0 };
}

/* ----------------------------------------------------------------------- tasks */

void top_task_charge(struct top_task *task)
{
	uint64_t sum = 0;

	for (int time = 0; time < TOP_OTHER; time++)
		sum += task->ns[time];
	if (task->base_ns < sum)
		task->base_ns = sum; /* threads have ended in the interval */
	task->ns[TOP_OTHER] = task->base_ns - sum;
}

void top_task_shares(const struct top_task *task, uint64_t out_permille[TOP_TIMES])
{
	if (task->ns[TOP_OTHER] != task->base_ns || !task->base_ns) {
		text_apportion(task->ns, TOP_TIMES, 1000, out_permille);
		return;
	}
	memset(out_permille, 0, TOP_TIMES * sizeof(*out_permille)); /* most tasks are idle */
	out_permille[TOP_OTHER] = 1000;
}

uint64_t top_task_key(const struct top_task *task)
{
	if (task->tid == 0)
		return hash_bytes(task->cgroup, strlen(task->cgroup), 0) | 1ull << 63;
	return (uint64_t)(uint32_t)task->tid << 1 | task->is_process;
}

bool top_task_is_same(uint64_t birth_ns, const struct top_task *task)
{
	uint64_t low = birth_ns < task->birth_ns ? birth_ns : task->birth_ns;

	return birth_ns - low <= BIRTH_SLACK_NS && task->birth_ns - low <= BIRTH_SLACK_NS;
}

const uint8_t *top_history_at(const struct top_history *history, uint32_t i)
{
	return history->percent[(history->first + i) % TOP_HISTORY];
}

static void add_history(struct top_task *task)
{
	struct top_history *history = task->history;
	uint64_t permille[TOP_TIMES];
	uint8_t *percent;

	if (!history)
		history = task->history = xcalloc(1, sizeof(*history));
	percent = history->percent[(history->first + history->count) % TOP_HISTORY];
	if (history->count < TOP_HISTORY)
		history->count++;
	else
		history->first = (history->first + 1) % TOP_HISTORY;
	top_task_shares(task, permille);
	for (int time = 0; time < TOP_TIMES; time++)
		percent[time] = (uint8_t)((permille[time] + 5) / 10);
}

/* Threads count once: of processes that have rows for their threads, these. */
static void add_average(struct top_model *model, const struct top_task *task)
{
	model->process_count += task->is_process;
	for (int time = 0; time < TOP_TIMES && task->is_process && model->span_ns; time++)
		model->average[time] += (double)task->ns[time] / (double)model->span_ns;
}

static void follow(struct top_model *model, const struct top_task *task)
{
	model->followed = *task;
	model->followed.history = NULL;
	model->followed_history = task->history ? *task->history : (struct top_history){ 0 };
	model->followed_ended = false;
}

static void update_followed(struct top_model *model)
{
	const uint64_t key = top_task_key(&model->followed);

	if (model->followed.tid == 0)
		return;
	for (size_t i = 0; i < model->task_count; i++) {
		const struct top_task *task = &model->tasks[i];

		if (top_task_key(task) == key && top_task_is_same(model->followed.birth_ns, task)) {
			follow(model, task);
			return;
		}
	}
	model->followed_ended = true;
}

/* Tasks of the interval before, by key. They come in the same order mostly: 'next' is tried first. */
struct before {
	struct top_task *tasks;
	size_t count;
	size_t next;
	struct map map; /* made when it is needed */
};

static struct top_task *find_before(struct before *before, const struct top_task *task)
{
	uint64_t key = top_task_key(task);
	const uint64_t *at;

	if (before->next < before->count && top_task_key(&before->tasks[before->next]) == key)
		return &before->tasks[before->next++];
	for (size_t i = 0; i < before->count && !before->map.count; i++)
		map_put(&before->map, top_task_key(&before->tasks[i]), i);
	at = map_find(&before->map, key);
	if (!at)
		return NULL;
	before->next = (size_t)*at + 1;
	return &before->tasks[*at];
}

void top_model_feed(struct top_model *model, const struct top_task *tasks, size_t count,
		    uint64_t span_ns)
{
	struct before before = { .tasks = model->tasks, .count = model->task_count };
	struct top_task *fresh = xmalloc((count + 1) * sizeof(*fresh));

	memset(model->average, 0, sizeof(model->average));
	model->process_count = 0;
	model->span_ns = span_ns;
	for (size_t i = 0; i < count; i++) {
		struct top_task *old = find_before(&before, &tasks[i]);

		fresh[i] = tasks[i];
		fresh[i].history = NULL;
		if (old && top_task_is_same(old->birth_ns, &tasks[i])) {
			fresh[i].history = old->history;
			old->history = NULL;
		}
		add_history(&fresh[i]);
		add_average(model, &fresh[i]);
	}
	map_fini(&before.map);
	free_tasks(model);
	model->tasks = fresh;
	model->task_count = count;
	model->line_count = 0; /* they pointed to the tasks before */
	update_followed(model);
	top_model_rebuild(model);
}

/* ------------------------------------------------------------------- selection */

static void scroll_to_selected(struct top_model *model)
{
	size_t page = model->page ? model->page : 1;

	if (model->first > model->selected)
		model->first = model->selected;
	if (model->selected - model->first >= page)
		model->first = model->selected - page + 1;
	if (model->line_count <= page)
		model->first = 0;
	else if (model->first > model->line_count - page)
		model->first = model->line_count - page;
}

void top_model_select(struct top_model *model, size_t line)
{
	if (line >= model->line_count)
		return;
	model->selected = line;
	model->selected_key = top_task_key(model->lines[line].task);
	model->selected_birth_ns = model->lines[line].task->birth_ns;
	scroll_to_selected(model);
}

/* Find the task that was selected, else stay at the place. The top stays the top. */
static void select_again(struct top_model *model)
{
	bool was_first = model->selected == 0 && model->first == 0 && !model->selected_key;

	if (model->line_count == 0) {
		model->selected = model->first = 0;
		return;
	}
	for (size_t i = 0; i < model->line_count && !was_first; i++) {
		const struct top_task *task = model->lines[i].task;

		if (top_task_key(task) == model->selected_key &&
		    top_task_is_same(model->selected_birth_ns, task)) {
			top_model_select(model, i);
			return;
		}
	}
	if (model->selected >= model->line_count)
		model->selected = model->line_count - 1;
	if (!was_first)
		top_model_select(model, model->selected);
	scroll_to_selected(model);
}

void top_model_rebuild(struct top_model *model)
{
	top_lines_make(model);
	select_again(model);
}

void top_model_set_page(struct top_model *model, size_t page)
{
	model->page = page;
	scroll_to_selected(model);
}

void top_model_move(struct top_model *model, long lines)
{
	long last = (long)model->line_count - 1, to = (long)model->selected + lines;

	if (last < 0)
		return;
	to = to < 0 ? 0 : to;
	top_model_select(model, (size_t)(to > last ? last : to));
}

bool top_model_find(struct top_model *model, const char *text, bool behind)
{
	for (size_t i = 0; i < model->line_count && text[0]; i++) {
		size_t line = (model->selected + i + behind) % model->line_count;

		if (top_task_has_text(model->lines[line].task, text)) {
			top_model_select(model, line);
			return true;
		}
	}
	return false;
}

void top_model_fold(struct top_model *model)
{
	const struct top_line *line = top_model_selected(model);

	if (!line || !line->below)
		return;
	top_model_select(model, model->selected);
	if (!map_remove(&model->folded, top_task_key(line->task)))
		map_put(&model->folded, top_task_key(line->task), 1);
	top_model_rebuild(model);
}

const struct top_line *top_model_selected(const struct top_model *model)
{
	return model->selected < model->line_count ? &model->lines[model->selected] : NULL;
}

bool top_model_follow(struct top_model *model)
{
	const struct top_line *line = top_model_selected(model);

	if (!line || line->is_group)
		return false;
	top_model_select(model, model->selected);
	follow(model, line->task);
	return true;
}

void top_model_unfollow(struct top_model *model)
{
	model->followed = (struct top_task){ 0 };
}
