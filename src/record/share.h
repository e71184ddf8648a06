/*
 * share.h - threads that take what the kernel's buffers hold get to a CPU before those buffers are full.
 *
 * docs/decisions/share.md
 */
#ifndef RECORD_SHARE_H
#define RECORD_SHARE_H

#include <stdbool.h>

/* Raise the calling thread's share of a CPU, where it may be. Before its rights are given up. */
void share_raise(void);

/*
 * Where the kernel shares CPUs out by session (sched_autogroup), raise that of the calling process, too: if the
 * session is its own. Before its rights are given up.
 */
void share_raise_session(void);

/* Whether a session of its own would get a larger share: the kernel goes by sessions, and we may raise it. */
bool share_goes_by_session(void);

/* The calling process, a child of one that raised its share, works at a low one, in a session of its own. */
void share_lower(void);

#endif
