/*
 * snap.h - one whole look at the threads that are asked for, and at those that they wait for.
 */
#ifndef STUCK_SNAP_H
#define STUCK_SNAP_H

#include "stuck/snap_int.h"

/* How far a look goes. */
struct snap_bounds {
	uint64_t budget_ns, until_ns; /* as of struct look */
	size_t most;
};

/*
 * Look at all of 'tgids', and follow. 'before' is the look before this one, or NULL. The snapshot
 * is to be ended with snap_fini().
 */
void snap_take(struct snap *snap, int proc_fd, struct worker *worker, const struct snap *before,
	       const int32_t *tgids, size_t count, struct snap_bounds bounds);

void snap_fini(struct snap *snap);

#endif
