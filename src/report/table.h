/*
 * table.h - aligned columns of numbers with a sentence at the end of each row.
 *
 * Numbers stand on the left, so that they line up; the last column is text that
 * may be long: it is wrapped at the width of the page, under itself. Leading
 * blanks of that text are kept, also on the lines it wraps to: trees are made so.
 *
 *	struct table table = { 0 };
 *
 *	table_column(&table, "time", TABLE_RIGHT);
 *	table_column(&table, "held up by", TABLE_TEXT);
 *	table_cell(&table, "%s", text_duration(ns).s);
 *	table_cell(&table, "%s", sentence);
 *	table_print(&table, out);
 *	table_fini(&table);
 *
 * Cells are made safe for a terminal (text_escaped()). A row ends by itself when
 * each column has its cell.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define REPORT_COLUMNS 100 /* width of the page */

enum table_align {
	TABLE_RIGHT,
	TABLE_LEFT,
	TABLE_TEXT, /* the last column: left, wrapped */
};

struct table_column {
	const char *title; /* "" = none */
	enum table_align align;
	size_t width; /* of the widest cell so far */
};

struct table {
	struct table_column columns[12];
	size_t column_count;
	char **cells; /* owned; row by row; NULL in the first cell = a rule */
	size_t cell_count;
	size_t cell_cap;
	bool is_tight; /* one blank between columns, not two: for a narrow terminal */
};

void table_column(struct table *table, const char *title, enum table_align align);

/* The next cell, printf style. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A row of dashes under the numbers: what follows is their sum. */
void table_rule(struct table *table);

/* Print titles (unless all are "") and rows, indented by two. */
void table_print(const struct table *table, FILE *out);

void table_fini(struct table *table);

/*
 * Print 'text' wrapped at the width of the page. The first line starts at column
 * 'at', where the output stands already; the next ones at 'at' plus the leading
 * blanks of the text plus two. Ends the line.
 */
void table_wrap(FILE *out, const char *text, size_t at);

#endif
