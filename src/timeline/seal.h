/*
 * seal.h - let the old parts of tracks go to the store while the timeline is written.
 *
 *	writer of the timeline          sealer thread                 store
 *	tail full ─ piece ─▶ queue ───▶ sums, packing, checksum ───▶ write
 *
 * What is sealed can still be amended: seal_undo() brings the last chunk of a track
 * back. Its place in the store is lost; that is rare, and a track's last entries and
 * the waits that may still change are kept.
 *
 * All functions are for the thread that writes the timeline. On a machine with one CPU
 * there is no sealer thread.
 */
#ifndef TIMELINE_SEAL_H
#define TIMELINE_SEAL_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct seal;
struct timeline;
struct track;

#define SEAL_ENTRIES 256u  /* of a chunk, when there are very many threads */
#define SEAL_CHUNK   2048u /* when there are not */
#define SEAL_KEEP    24u   /* last entries of a track that are not sealed */

/* Seal what 'timeline' is told into 'fd', from 'offset' on. Both must outlive it. */
struct seal *seal_new(struct timeline *timeline, int fd, uint64_t offset);

/* Seal the old part of a full tail. False: nothing can go yet. */
bool seal_track(struct track *track);

/* Bring back the last chunk of the track. */
void seal_undo(struct track *track);

/*
 * Seal all that is left and hand the places of all chunks to their tracks.
 * *out_end: where the store ends now. Returns 0, or what writing failed with at any time.
 */
int seal_finish(struct seal *seal, uint64_t *out_end, struct err *err);

/* For tests: from now on writing fails with 'rc'. Before the first piece. */
void seal_fail(struct seal *seal, int rc);

/* Stop and free it, whether finished or not. NULL is fine. */
void seal_free(struct seal *seal);

#endif
