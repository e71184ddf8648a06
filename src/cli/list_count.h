/* list_count.h - count lines by their values. */
#ifndef CLI_LIST_COUNT_H
#define CLI_LIST_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct line_reader;

/*
 * Read all lines and print how many there are of each value of 'fields' ("comm,event").
 * Memory is bounded: values beyond the first LIST_COUNT_MAX are counted together.
 */
#define LIST_COUNT_MAX 200000u
int list_count(struct line_reader *reader, const char *fields, uint32_t top, bool json,
	       struct err *err);

#endif
