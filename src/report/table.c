/* table.c - measure all cells, then print them. */
#include "report/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/terminal.h"
#include "base/text.h"

#define INDENT 2 /* before the first column */

#define NARROWEST 60 /* columns of a terminal that pages are made for */
#define TEXT_ROOM 20 /* columns that a text needs to be wrapped in */

static void put_blanks(FILE *out, size_t count)
{
	fprintf(out, "%*s", (int)count, "");
}

void table_column(struct table *table, const char *title, enum table_align align)
{
	assert(table->column_count < ARRAY_LEN(table->columns));
	table->columns[table->column_count++] =
		(struct table_column){ title, align, text_columns(title) };
}

static void add_cell(struct table *table, char *text)
{
	struct table_column *column = &table->columns[table->cell_count % table->column_count];
	size_t width = text ? text_columns(text) : 0;

	if (width > column->width)
		column->width = width;
	table->cells =
		vec_room(table->cells, table->cell_count, &table->cell_cap, sizeof(*table->cells));
	table->cells[table->cell_count++] = text;
}

void table_cell(struct table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_cell(table, text_vescaped(format, args));
	va_end(args);
}

void table_rule(struct table *table)
{
	assert(table->cell_count % table->column_count == 0);
	for (size_t i = 0; i < table->column_count; i++)
		add_cell(table, NULL);
}

/* Bytes of the first word of 'text', with the blanks before it. */
static size_t word_bytes(const char *text)
{
	size_t blanks = strspn(text, " ");

	return blanks + strcspn(text + blanks, " ");
}

static size_t word_columns(const char *text, size_t bytes)
{
	AUTO_FREE char *word = xstrndup(text, bytes);

	return text_columns(word);
}

/*
 * Of a terminal that is narrower than the page its own width, unless what begins at column 'at' has no room
 * there.
 */
static size_t page_columns(FILE *out, size_t at)
{
	unsigned int columns = terminal_columns(out);

	return columns < NARROWEST || columns < at + TEXT_ROOM || columns > REPORT_COLUMNS
		       ? REPORT_COLUMNS
		       : columns;
}

void table_wrap(FILE *out, const char *text, size_t at)
{
	size_t hang = at + strspn(text, " ") + 2;
	size_t column = at, most = page_columns(out, at);
	bool fresh = true; /* no word on this line yet */

	while (*text) {
		size_t bytes = word_bytes(text);
		size_t wide = word_columns(text, bytes);

		/* A word too long for any line stands alone on one. */
		if (!fresh && column + wide > most) {
			fputc('\n', out);
			put_blanks(out, hang);
			column = hang;
			wide -= strspn(text, " ");
			bytes -= strspn(text, " ");
			text += strspn(text, " ");
		}
		(void)fwrite(text, 1, bytes, out);
		column += wide;
		text += bytes;
		fresh = false;
	}
	fputc('\n', out);
}

/* One cell of a column of numbers or of short text, padded. Returns the columns used. */
static size_t put_cell(FILE *out, const struct table_column *column, const char *text, bool last)
{
	size_t pad = column->width - text_columns(text);

	if (column->align == TABLE_RIGHT)
		put_blanks(out, pad);
	fputs(text, out);
	if (column->align == TABLE_LEFT && !last)
		put_blanks(out, pad);
	return column->width;
}

/* Between two columns. */
static size_t table_gap(const struct table *table)
{
	return table->is_tight ? 1 : 2;
}

static void put_rule(const struct table *table, FILE *out)
{
	put_blanks(out, INDENT);
	for (size_t i = 0; i < table->column_count; i++) {
		const struct table_column *column = &table->columns[i];

		if (column->align != TABLE_RIGHT)
			break;
		if (i)
			put_blanks(out, table_gap(table));
		for (size_t k = 0; k < column->width; k++)
			fputc('-', out);
	}
	fputc('\n', out);
}

/* Whether nothing but empty cells follow. */
static bool table_is_last(const char *const *cells, size_t from, size_t count)
{
	for (size_t i = from; i < count; i++) {
		if (cells[i][0])
			return false;
	}
	return true;
}

static void table_put_row(const struct table *table, FILE *out, const char *const *cells)
{
	size_t at = INDENT;

	put_blanks(out, INDENT);
	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].align == TABLE_TEXT) {
			table_wrap(out, cells[i], at);
			return;
		}
		if (table_is_last(cells, i + 1, table->column_count)) {
			(void)put_cell(out, &table->columns[i], cells[i], true);
			break;
		}
		at += put_cell(out, &table->columns[i], cells[i], false) + table_gap(table);
		put_blanks(out, table_gap(table));
	}
	fputc('\n', out);
}

void table_print(const struct table *table, FILE *out)
{
	const char *titles[ARRAY_LEN(table->columns)];
	bool titled = false;

	for (size_t i = 0; i < table->column_count; i++) {
		titles[i] = table->columns[i].title;
		titled |= titles[i][0] != '\0';
	}
	if (titled)
		table_put_row(table, out, titles);
	for (size_t i = 0; i < table->cell_count; i += table->column_count) {
		if (!table->cells[i])
			put_rule(table, out);
		else
			table_put_row(table, out, (const char *const *)table->cells + i);
	}
}

void table_fini(struct table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){ 0 };
}
