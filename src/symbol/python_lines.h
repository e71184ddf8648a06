/*
 * python_lines.h - in which line of its file an instruction of a CPython code object stands (3.11 and later).
 *
 * A table of entries: how many code units, and by how much the line differs from that of the entry before;
 * see InternalDocs/code_objects.md of CPython (Objects/locations.md in 3.11). The bytes may be anything.
 */
#ifndef SYMBOL_PYTHON_LINES_H
#define SYMBOL_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of code unit 'unit', where 'first_line' is that of the whole function; 0 = it has none, or the table
 * does not reach that far.
 */
uint32_t python_line(const uint8_t *table, size_t bytes, uint32_t first_line, uint32_t unit);

#endif
