/*
 * stuck_how.h - in words, from what it is known that somebody could end a wait (stuck/how.h).
 */
#ifndef REPORT_STUCK_HOW_H
#define REPORT_STUCK_HOW_H

#include "stuck/how.h"

struct stuck_edge;

/* "owns the mutex: its word": behind "it". */
const char *report_stuck_how_words(enum stuck_how how);

/* "owns the mutex: its word". Free it with free(). */
char *report_stuck_how(const struct stuck_edge *edge);

#endif
