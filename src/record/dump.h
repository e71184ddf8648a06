/*
 * dump.h - the state dump: who lived and what was open when recording began.
 *
 * Taken from /proc while events are already recorded, so nothing falls between the
 * two. What the lines are: store/dump.h.
 */
#ifndef RECORD_DUMP_H
#define RECORD_DUMP_H

#include <stdint.h>

struct err;
struct manifest;

/*
 * Write DIR/kernel/dump.jsonl (made, mode 0600; DIR/kernel must exist). What could
 * not be read (no right, a process that hangs in the kernel) is noted with
 * manifest_add_missing(). Processes that end meanwhile are left out. Returns 0, or a
 * negative errno with err filled when the file could not be written or /proc not read.
 *
 * Reading some files of a process may block for as long as that process likes; that
 * is done in a thread of its own, which is left behind when it takes too long: then
 * it lives until the read ends, or until the recorder does.
 */
int dump_write(const char *dir, struct manifest *manifest, struct err *err);

/*
 * The same when the recording lies behind: of threads that were born until 'born_ns' of CLOCK_MONOTONIC
 * (UINT64_MAX: of all), without what is open now, which says nothing of what was open then.
 */
int dump_write_late(const char *dir, uint64_t born_ns, struct manifest *manifest, struct err *err);

#endif
