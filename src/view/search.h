/* search.h - is a thread meant by what was typed? */
#ifndef VIEW_SEARCH_H
#define VIEW_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

struct timeline;

/* By its number, that of its process, its name or its command line; idle tasks never are. */
bool view_thread_is_sought(const struct timeline *timeline, uint32_t slot, const char *sought);

#endif
