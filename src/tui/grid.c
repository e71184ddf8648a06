/* grid.c - cells. */
#include "tui/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"

void grid_reset(struct grid *grid, int rows, int columns)
{
	rows = rows < 1 ? 1 : rows > GRID_ROWS_MAX ? GRID_ROWS_MAX : rows;
	columns = columns < 1 ? 1 : columns > GRID_COLUMNS_MAX ? GRID_COLUMNS_MAX : columns;
	if (rows != grid->rows || columns != grid->columns)
		grid->cells =
			xrealloc(grid->cells, (size_t)rows * (size_t)columns, sizeof(*grid->cells));
	grid->rows = rows;
	grid->columns = columns;
	for (int i = 0; i < rows * columns; i++)
		grid->cells[i] = (struct grid_cell){ ' ', GRID_PLAIN, 0 };
}

void grid_fini(struct grid *grid)
{
	free(grid->cells);
	*grid = (struct grid){ 0 };
}

/* Latin, Greek, Cyrillic, arrows, blocks: one column wide everywhere. */
static uint32_t safe_code(uint32_t code)
{
	if ((code >= 0x20 && code < 0x7f) || (code >= 0xa1 && code < 0x300 && code != 0xad) ||
	    (code >= 0x370 && code < 0x483) || (code >= 0x2190 && code < 0x2600))
		return code;
	return '?';
}

int grid_put(struct grid *grid, int row, int column, enum grid_style style, const char *text)
{
	while (*text) {
		uint32_t code = '?';
		size_t length = text_utf8(text, &code);

		text += length ? length : 1;
		if (row >= 0 && row < grid->rows && column >= 0 && column < grid->columns)
			grid->cells[row * grid->columns + column] =
				(struct grid_cell){ safe_code(code), (uint8_t)style, 0 };
		column++;
	}
	return column;
}

void grid_put_cut(struct grid *grid, int row, int column, enum grid_style style, const char *text)
{
	if (grid_put(grid, row, column, style, text) > grid->columns)
		grid_put(grid, row, grid->columns - 1, GRID_DIM, ">");
}

void grid_put_within(struct grid *grid, int row, int column, int room, enum grid_style style,
		     const char *text)
{
	struct grid cut = { 0 };

	grid_reset(&cut, 1, room);
	grid_put_cut(&cut, 0, 0, style, text);
	for (int i = 0; i < cut.columns && column + i < grid->columns; i++)
		grid->cells[row * grid->columns + column + i] = cut.cells[i];
	grid_fini(&cut);
}

int grid_printf(struct grid *grid, int row, int column, enum grid_style style, const char *format,
		...)
{
	char text[4 * GRID_COLUMNS_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return grid_put(grid, row, column, style, text);
}

void grid_paint(struct grid *grid, int row, enum grid_style style)
{
	for (int i = 0; i < grid->columns && row >= 0 && row < grid->rows; i++)
		grid->cells[row * grid->columns + i].style = (uint8_t)style;
}

void grid_mark(struct grid *grid, int row, int column, uint8_t marks)
{
	if (row >= 0 && row < grid->rows && column >= 0 && column < grid->columns)
		grid->cells[row * grid->columns + column].marks |= marks;
}

char *grid_text(const struct grid *grid, int row)
{
	const struct grid_cell *cells = &grid->cells[row * grid->columns];
	char *text = xmalloc((size_t)grid->columns * 3 + 1), *at = text;
	int count = grid->columns;

	while (count > 0 && cells[count - 1].code == ' ')
		count--;
	for (int i = 0; i < count; i++)
		at += text_put_utf8(at, cells[i].code); /* below 0x10000 */
	*at = '\0';
	return text;
}
