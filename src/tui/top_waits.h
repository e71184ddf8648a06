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
	bool is_shown;	    /* there is a column for it */
	uint64_t every_ns;  /* looks are that far apart, if not in each interval; 0 = they are */
	struct map by_task; /* key of a task: its struct top_wait, owned */
};

struct top_wait {
	bool is_deadlock;
	char text[]; /* may hold anything */
};

/* Forget all, also in the end. */
void top_waits_clear(struct top_waits *waits);

/* The text is copied. */
void top_waits_put(struct top_waits *waits, const struct top_task *task, bool is_deadlock,
		   const char *text);

/* NULL = it was not looked at, or waits for nothing. */
const struct top_wait *top_waits_of(const struct top_waits *waits, const struct top_task *task);

#endif
