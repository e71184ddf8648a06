/*
 * watch_keep.h - of a recording that nobody asked to keep, only the end is on disk.
 *
 * Old sub-buffers of the kernel become holes in their files, and old packets of programs, too.
 */
#ifndef CLI_WATCH_KEEP_H
#define CLI_WATCH_KEEP_H

#include <stdint.h>

struct watch_keep;

/* 'keep_ns': of what was checked, for snapshots. */
struct watch_keep *watch_keep_new(const char *dir, uint64_t keep_ns);
void watch_keep_free(struct watch_keep *keep); /* NULL is fine */

/* Events before 'needed_ns' are not read any more, but for snapshots. */
void watch_keep_step(struct watch_keep *keep, uint64_t needed_ns);

#endif
