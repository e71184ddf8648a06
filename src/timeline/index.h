/*
 * index.h - the timeline of a trace on disk: timeline/index in the trace directory.
 *
 * Built once, from the events; reused while its key matches: the version of the
 * format and of the engine, and what the trace was when it was built. It is written
 * under another name and renamed when whole, so a reader sees all of it or nothing;
 * a lock keeps two builders from doing the same work. docs/FORMAT.md has the bytes.
 *
 * A timeline that was opened is used by one thread at a time.
 */
#ifndef TIMELINE_INDEX_H
#define TIMELINE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct timeline;

/* What the index belongs to. Two traces of equal keys give equal timelines. */
struct index_key {
	uint8_t bytes[16];
};

/* Bump it with every change of what the engine makes of events. */
#define INDEX_ENGINE 35

/*
 * Open the index in 'dir', when it is a file of ours, root's or of who owns the folder above. Returns
 * 0, or
 *   -ENOENT   there is none,
 *   -EPERM    it is somebody else's, or no file,
 *   -ESTALE   it belongs to another trace, version or engine,
 *   -EBADMSG  it is damaged,
 * or what open(2), read(2) report; err says which and where.
 */
int index_open(const char *dir, const struct index_key *key, struct timeline **out_timeline,
	       struct err *err);

/* The index that is behind 'timeline' once more, for another thread. -ENOENT: it is in memory; or as index_open(). */
int index_open_again(const struct timeline *timeline, struct timeline **out_timeline,
		     struct err *err);

struct index_writer;

/*
 * Begin to build the index in 'dir', which is made when missing; in a folder that others can
 * change nothing is made (guard/place.h). 'dir' NULL: a file without a name, in memory or $TMPDIR.
 * 'again': even if there is one that fits; it may be damaged inside. Returns 0; -EEXIST when
 * another builder has just made it (open it); -EBUSY while another one builds, or has the lock;
 * -EPERM, -EROFS, -EACCES, -ENOSPC ... when there is no place.
 */
int index_begin(const char *dir, const struct index_key *key, bool again,
		struct index_writer **out_writer, struct err *err);

/* Let 'timeline', still empty, go to the store as it grows. The writer must outlive it. */
void index_attach(struct index_writer *writer, struct timeline *timeline);

/*
 * The timeline is complete: write its tables and put the index in place. The timeline can
 * then be asked as if it had been opened. Frees the writer, also on failure, after
 * which the timeline is useless. -ENOSPC, -EIO ... also for what failed since index_begin().
 */
int index_commit(struct index_writer *writer, struct timeline *timeline, struct err *err);

/* Give up: nothing stays behind. NULL is fine. */
void index_abort(struct index_writer *writer);

/* For tests: from now on writing fails with 'rc'. */
void index_fail_writes(struct index_writer *writer, int rc);

/* Bytes of the store behind 'timeline'; 0 = it is in memory. */
uint64_t index_bytes(const struct timeline *timeline);

#endif
