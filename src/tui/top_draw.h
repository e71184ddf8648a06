/*
 * top_draw.h - holdup top as a grid of cells.
 *
 *	title, threads, pressure, its own cost, a note when there is one
 *	titles of the columns
 *	lines ...			or help, or one task, or the menu of orders over them
 *	keys, or what is typed
 */
#ifndef TUI_TOP_DRAW_H
#define TUI_TOP_DRAW_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/top_model.h"
#include "tui/top_proc.h"
#include "tui/top_waits.h"

struct grid;

enum top_mode {
	TOP_LISTING,
	TOP_HELPING,
	TOP_SORTING,
	TOP_SEARCHING,
	TOP_FILTERING,
	TOP_FOLLOWING,
};

/* All that is drawn. */
struct top_view {
	struct top_model model;
	enum top_mode mode;
	char input[TOP_TEXT_BYTES]; /* searching: what is typed */
	size_t menu_at;		    /* sorting: which enum top_sort */
	struct top_pressure pressure[TOP_PRESSURES];
	struct top_details details; /* following */
	struct top_waits waits;
	struct top_own own;
	const char *note;  /* a view; NULL or "" = none */
	char message[120]; /* about the last key */
	double interval_s;
	bool paused;
	bool ascii; /* the terminal has no UTF-8 */
	bool batch; /* no keys */
};

void top_draw(const struct top_view *view, struct grid *grid);

/* How many lines of tasks fit on so many rows. */
size_t top_draw_page(const struct top_view *view, int rows);

/* Rows above the tasks, the titles of the columns included. */
int top_draw_head(const struct top_view *view);

/* The order that a title stands for. Returns whether there is one at that column. */
bool top_draw_sort_at(const struct top_view *view, int columns, int column,
		      enum top_sort *out_sort);

/* The key that the last row explains at that column, 0 = none: as struct top_key has it. */
int top_draw_key_at(int column);

#endif
