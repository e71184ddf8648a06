/*
 * futex_place.h - in which mapping a word lies that a living process waits for.
 */
#ifndef RECORD_FUTEX_PLACE_H
#define RECORD_FUTEX_PLACE_H

#include <stdint.h>

struct raw_futex;

/*
 * Of a shared mapping that is told with the last part of its path: the path, where the process is still there, and
 * has it mapped in the same way.
 */
void futex_place_path(int32_t tgid, struct raw_futex *futex);

/* By /proc/TGID/maps: fills all but the address, which is given; 0 = there is none. Gone: it stays as it is. */
void futex_place_read(int32_t tgid, struct raw_futex *futex);

/* The same of the text of one such line after the other; 'before': zeroed before the first. True = it is found. */
struct futex_map {
	uint64_t start, end, offset;
	int is_file, is_shared;
	const char *path; /* in the line; "" = none */
};

int futex_place_line(const char *line, struct futex_map *before, struct raw_futex *futex);

#endif
