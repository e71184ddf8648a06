/*
 * share.h - threads that take what the kernel's buffers hold get to a CPU before those buffers are full.
 *
 * docs/decisions/share.md
 */
#ifndef RECORD_SHARE_H
#define RECORD_SHARE_H

/* Raise the calling thread's share of a CPU, where it may be. Before its rights are given up. */
void share_raise(void);

#endif
