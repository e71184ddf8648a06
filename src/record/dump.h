/*
 * dump.h - the state dump: who lived and what was open when recording began.
 *
 * Taken from /proc while events are already recorded, so nothing falls between the
 * two. What the lines are: store/dump.h.
 */
#ifndef RECORD_DUMP_H
#define RECORD_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct map;
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

struct dump;
struct last_calls;

/*
 * The same when the recording lies behind: of threads that were born until 'born_ns' of CLOCK_MONOTONIC
 * (UINT64_MAX: of all). What is open now says nothing of what was open then: only of what threads wait for
 * in a call on a descriptor is the name of that read. Returns 0 and *out_dump, to be freed with
 * dump_late_free(), or a negative errno with err filled.
 */
int dump_late_read(uint64_t born_ns, struct manifest *manifest, struct dump **out_dump,
		   struct err *err);

/*
 * Where new descriptors are told of by somebody else, as they are made, one of which nothing is told is open since before:
 * it was open already when that began, and named the same; or its process was born later, has it from who made it, and
 * cannot have got it by a message.
 */
struct dump_since {
	const struct map *early; /* as dump_late_note() has made it when that began */
	uint64_t early_ns;	 /* on CLOCK_BOOTTIME */
	const struct map *told;	 /* process << 32 | descriptor -> 1: told of */
	bool is_whole;		 /* nothing that was told of was lost */
};

/* Add what is open. */
void dump_late_note(const struct dump *dump, struct map *early);

/*
 * Write it as dump_write(). 'calls': in which call each thread was last before 'begin_ns'; NULL = not known. 'since': NULL =
 * nobody tells of new descriptors.
 */
int dump_late_write(struct dump *dump, const char *dir, const struct last_calls *calls,
		    const struct dump_since *since, uint64_t begin_ns, struct err *err);

void dump_late_free(struct dump *dump); /* NULL is fine */

#endif
