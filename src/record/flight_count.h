/*
 * flight_count.h - triggers on numbers that the kernel counts and tells nobody of: runq, oom.
 *
 *	runq   /proc/loadavg, ten times in the time of the trigger: threads that run or can run
 *	oom    /proc/vmstat, or memory.events of a cgroup, twice a second: processes that were killed
 *
 * One look costs some microseconds; those of a trigger cost at most 1 % of a CPU.
 */
#ifndef RECORD_FLIGHT_COUNT_H
#define RECORD_FLIGHT_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct flight_on;

/* Open what oom looks at. Returns 0, or a negative errno with err filled: there is no such count. */
int flight_count_open(struct flight_on *on, struct err *err);

/* When a look is due; CLOCK_MONOTONIC, UINT64_MAX = never. */
uint64_t flight_count_next_ns(const struct flight_on *ons, size_t count);

/*
 * Take the looks that are due at 'now_ns'. Returns the first trigger that fires, and in *out_why, to be
 * freed, what it saw; or NULL. The others are due still: call it until it is NULL.
 */
struct flight_on *flight_count_take(struct flight_on *ons, size_t count, uint64_t now_ns,
				    char **out_why);

/* ------------------------------------------------------------- exported for tests */

/* "0.20 0.18 0.12 3/80 11206": 3, less the one that looks. Returns whether it says so. */
bool flight_count_parse_running(const char *text, uint64_t *out_running);

/* So many threads run or can run: returns whether it were too many at all looks of on->min_ns; it begins anew then. */
bool flight_count_is_long(struct flight_on *on, uint64_t running, uint64_t now_ns);

#endif
