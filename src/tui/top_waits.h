/*
 * top_waits.h - what each task of the page waits for, and whom that leads to, as whoever looks puts it here.
 */
#ifndef TUI_TOP_WAITS_H
#define TUI_TOP_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct top_task;

struct top_waits {
	bool is_shown;	   /* there is a column for it */
	uint64_t every_ns; /* looks are that far apart, if not in each interval; 0 = they are */
	struct map texts;  /* key of a task: its text, owned */
};

/* Forget all texts, also in the end. */
void top_waits_clear(struct top_waits *waits);

/* The text is copied; it may hold anything. */
void top_waits_put(struct top_waits *waits, const struct top_task *task, const char *text);

/* "" = it was not looked at, or waits for nothing. */
const char *top_waits_of(const struct top_waits *waits, const struct top_task *task);

#endif
