/*
 * stalls.h - which threads have not run for how long: a cheap look, to know when a whole one is due.
 *
 *	struct stalls *stalls = stalls_new(&select);
 *
 *	for (;;) {
 *		rc = stalls_look(stalls, err);
 *		count = stalls_due(stalls, least_ns, least_count, &tgids);
 *		if (count)
 *			... stuck_look() at these, then stalls_done() ...
 *	}
 *
 * It reads how often each thread was put on a CPU: one read of an open file for each. A thread is due once
 * for each limit that its sleep has passed.
 */
#ifndef STUCK_STALLS_H
#define STUCK_STALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct stalls;
struct stuck_select;

/* 'select' and what it points to must live on. NULL with err filled: no /proc. */
struct stalls *stalls_new(const struct stuck_select *select, struct err *err);

/* Returns 0, or a negative errno with err filled: -ESRCH = no process is there. */
int stalls_look(struct stalls *stalls, struct err *err);

/*
 * Processes with a thread that is due: its sleep is longer than one of 'leasts', or it was there before the
 * first look, and it was not looked at since. Returns their number; *out_tgids ascending, to be freed.
 */
size_t stalls_due(const struct stalls *stalls, const uint64_t *leasts, size_t least_count,
		  int32_t **out_tgids);

/* Whether all its threads that are known slept from the look before this one, at least. */
bool stalls_is_still(const struct stalls *stalls, int32_t tgid);

/* These were looked at, all that was due in them. */
void stalls_done(struct stalls *stalls, const int32_t *tgids, size_t count);

void stalls_free(struct stalls *stalls); /* NULL is fine */

#endif
