/*
 * lock_source.h - the events of libholdup-locks in any trace, as EV_USER_LOCK.
 *
 * The clock of DIR/user alone is the programs' own, which is not the recording's.
 *
 * They are read by the names of their fields, as any event of a program. Holes in the recording
 * come along (EV_LOST), and so do ends of threads (EV_SCHED_EXIT); other events are left out.
 */
#ifndef ASK_LOCK_SOURCE_H
#define ASK_LOCK_SOURCE_H

#include <stdbool.h>

struct err;
struct facts;
struct lock_owners;
struct source;

/*
 * Open the trace at 'path'; of a recording of the system, what its programs told (DIR/user).
 * Returns 0 and *out_source (free with source_close()), or negative with err filled. It cannot
 * seek.
 */
int lock_source_open(const char *path, struct source **out_source, struct err *err);

/*
 * The same of a recording of the system at 'path', on the recording's clock and with the kernel's
 * numbers of threads, as its timeline has them: reads the kernel's events, too. NULL, without an
 * error, when no program told of locks: that is found out by a look at DIR/user alone.
 */
int lock_source_open_beside(const char *path, struct source **out_source, struct err *err);

/*
 * Who owned which lock when, as the programs of the recording at 'path' told: lock_source_open_beside(),
 * read whole. Returns 0 and *out_owners (free with lock_owners_free()), which is NULL when no program
 * told of locks; or negative with err filled.
 */
int lock_owners_read(const char *path, struct lock_owners **out_owners, struct err *err);

/* Is 'path' a folder of a trace that holdup did not record of the system: without trace.json? */
bool lock_source_is_of_programs(const char *path);

/* Has the trace events of locks, by the kinds it declares, and no switch of the kernel's? */
bool lock_source_is_alone(const struct source *source);

/* Beside the events: damage, the time of the last one. Owned by the source. */
const struct facts *lock_source_facts(const struct source *source);

#endif
