/*
 * grid.h - a screen of cells in memory: drawn into without a terminal, read by tests as text.
 *
 * What does not fit is cut. Characters that a terminal might show in another width than one
 * column, and control characters, become "?".
 */
#ifndef TUI_GRID_H
#define TUI_GRID_H

#include <stdint.h>

#define GRID_ROWS_MAX	 100000
#define GRID_COLUMNS_MAX 1000

enum grid_style {
	GRID_PLAIN,
	GRID_BOLD,
	GRID_DIM,
	GRID_BAR,      /* titles of columns, the last line */
	GRID_SELECTED, /* the line that keys work on */
	GRID_WARNING,
	GRID_TIMES,		     /* + enum top_time */
	GRID_LANES = GRID_TIMES + 5, /* + enum lane_state */
	GRID_STYLES = GRID_LANES + 21,
};

/* Beside the style. */
enum grid_mark {
	GRID_CURSOR = 1 << 0,
	GRID_FAINT = 1 << 1,
	GRID_STRONG = 1 << 2,
};

struct grid_cell {
	uint32_t code; /* Unicode */
	uint8_t style; /* enum grid_style */
	uint8_t marks; /* enum grid_mark */
};

struct grid {
	int rows;
	int columns;
	struct grid_cell *cells; /* owned; row by row */
};

/* Make it blank and of that size, at least 1 x 1. Zeroed memory is a grid without cells. */
void grid_reset(struct grid *grid, int rows, int columns);
void grid_fini(struct grid *grid);

/* Write UTF-8 text; returns the column behind it, also when that lies outside. */
int grid_put(struct grid *grid, int row, int column, enum grid_style style, const char *text);
/* The same; ">" in the last column says that there was more. */
void grid_put_cut(struct grid *grid, int row, int column, enum grid_style style, const char *text);
/* The same in 'room' columns, at least 1; blanks fill what the text leaves. */
void grid_put_within(struct grid *grid, int row, int column, int room, enum grid_style style,
		     const char *text);
int grid_printf(struct grid *grid, int row, int column, enum grid_style style, const char *format,
		...) __attribute__((format(printf, 5, 6)));

/* One style for a whole row. */
void grid_paint(struct grid *grid, int row, enum grid_style style);

/* Add marks to what is there. */
void grid_mark(struct grid *grid, int row, int column, uint8_t marks);

/* A row as UTF-8 without blanks at its end; free with free(). */
char *grid_text(const struct grid *grid, int row);

#endif
