/* top_lines.h - the lines of holdup top out of its tasks: filter, order, tree, groups. */
#ifndef TUI_TOP_LINES_H
#define TUI_TOP_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct top_model;
struct top_task;

/* Make model->lines and model->groups, as the model says to show them. */
void top_lines_make(struct top_model *model);

/* Its number, with a bit for processes; of a group (tid 0) a checksum of its cgroup. */
uint64_t top_task_key(const struct top_task *task);

/* Whether a task of the same key, born then, is the same: numbers are used again. */
bool top_task_is_same(uint64_t birth_ns, const struct top_task *task);

/* Whether its name, number or cgroup has the text, in capitals or not. */
bool top_task_has_text(const struct top_task *task, const char *text);

#endif
