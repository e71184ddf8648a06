/*
 * top_model.h - what holdup top shows, without a terminal: which rows, in which order, which of them is
 * selected.
 *
 *	top_model_init(&model);
 *	top_model_feed(&model, tasks, count, span_ns);	... at each interval
 *	model.sort = TOP_SORT_DISK;
 *	top_model_rebuild(&model);			... after any change of how to show them
 *	... model.lines ...
 *	top_model_fini(&model);
 *
 * The selection is a task, not a place: it stays on its task when the order changes. When its
 * task has ended it stays at its place. Nothing here is read from the system.
 */
#ifndef TUI_TOP_MODEL_H
#define TUI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* Where the time of a task went; each ns is in one of them. */
enum top_time {
	TOP_RUN,    /* on a CPU, without what counts as memory */
	TOP_CPU,    /* could run, had no CPU */
	TOP_DISK,   /* blocked for a disk, without what counts as memory */
	TOP_MEMORY, /* swap-in, thrashing, reclaim, compaction */
	TOP_OTHER,  /* the rest: asleep, or blocked for anything else */
	TOP_TIMES,
};

enum top_sort {
	TOP_SORT_WAITED, /* CPU, disk and memory together */
	TOP_SORT_RUN,
	TOP_SORT_CPU,
	TOP_SORT_DISK,
	TOP_SORT_MEMORY,
	TOP_SORT_OTHER,
	TOP_SORT_READ,
	TOP_SORT_WRITE,
	TOP_SORT_SWITCHES,
	TOP_SORT_THREADS,
	TOP_SORT_PID,
	TOP_SORT_COMMAND,
	TOP_SORTS,
};

#define TOP_NAME_BYTES	 32
#define TOP_CGROUP_BYTES 96
#define TOP_TEXT_BYTES	 64
#define TOP_HISTORY	 120u

/* The intervals of a task up to now: top_history_at(). */
struct top_history {
	uint32_t count; /* at most TOP_HISTORY */
	uint32_t first;
	uint8_t percent[TOP_HISTORY][TOP_TIMES];
};

/* A process or thread in the last interval. */
struct top_task {
	int32_t tid; /* of a process: its main thread */
	int32_t tgid;
	int32_t ppid;
	bool is_process;
	bool is_new;	   /* born in the interval */
	uint32_t threads;  /* of its process */
	uint64_t birth_ns; /* since boot */
	char name[TOP_NAME_BYTES];
	char cgroup[TOP_CGROUP_BYTES]; /* "" = not known; of a long path the end */
	uint64_t base_ns;	/* what shares are of: the interval, of each of its threads */
	uint64_t ns[TOP_TIMES]; /* add up to base_ns */
	uint32_t known;		/* a bit for each enum top_time that is counted */
	bool has_io;
	uint64_t read_bytes;
	uint64_t write_bytes;
	uint64_t switches;
	struct top_history *history; /* owned by the model, NULL outside of model->tasks */
};

/* One row. */
struct top_line {
	const struct top_task *task; /* of a group: its sum */
	uint32_t depth;
	uint32_t below; /* tasks of a group, children in the tree */
	bool is_group;
	bool folded;
};

struct top_model {
	/* How to show: change them, then top_model_rebuild(). */
	enum top_sort sort;
	bool backwards; /* the smallest first */
	bool threads;
	bool tree;
	bool cgroups;
	char filter[TOP_TEXT_BYTES]; /* part of a name, number or cgroup; "" = all */

	/* What is shown. */
	struct top_line *lines; /* owned */
	size_t line_count;
	size_t selected; /* index in lines */
	size_t first;	 /* line at the top of the page */
	size_t page;	 /* lines that fit */

	/* What there is. */
	struct top_task *tasks; /* owned */
	size_t task_count;
	size_t process_count;
	uint64_t span_ns;	   /* of the last interval; 0 = none yet */
	double average[TOP_TIMES]; /* threads that did this, at any moment of the interval */
	struct top_task followed;  /* with tid 0: none */
	struct top_history followed_history;
	bool followed_ended;

	/* Its own. */
	struct top_task *groups; /* owned */
	size_t group_count;
	struct map folded; /* keys of lines */
	uint64_t selected_key;
	uint64_t selected_birth_ns;
};

void top_model_init(struct top_model *model);
void top_model_fini(struct top_model *model);

/* Charge the times of task->ns, which overlap, to one each, and set base_ns no smaller than them. */
void top_task_charge(struct top_task *task);

/* Tenths of a percent; they add up to 1000, or to 0 when the task did not live. */
void top_task_shares(const struct top_task *task, uint64_t out_permille[TOP_TIMES]);

/* Percents of interval 'i' of history->count; 0 is the oldest. */
const uint8_t *top_history_at(const struct top_history *history, uint32_t i);

/* A new interval; the tasks are copied, their histories go on. Rebuilds. */
void top_model_feed(struct top_model *model, const struct top_task *tasks, size_t count,
		    uint64_t span_ns);

/* Make the lines again. */
void top_model_rebuild(struct top_model *model);

/* So many lines fit on the screen. */
void top_model_set_page(struct top_model *model, size_t page);

/* Select the line that is 'lines' farther; stops at the ends. */
void top_model_move(struct top_model *model, long lines);

/* Select a line, if there is one of that index. */
void top_model_select(struct top_model *model, size_t line);

/* Select the next line from the selected one on (or behind it) that has the text. */
bool top_model_find(struct top_model *model, const char *text, bool behind);

/* Hide or show what is below the selected line. */
void top_model_fold(struct top_model *model);

/* NULL when there is none. */
const struct top_line *top_model_selected(const struct top_model *model);

/* Follow the selected task: model->followed is kept up to date. False when it is none. */
bool top_model_follow(struct top_model *model);
void top_model_unfollow(struct top_model *model);

/* "waited" ... */
const char *top_sort_name(enum top_sort sort);

#endif
