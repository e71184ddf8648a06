/*
 * flight_unit.h - a unit of systemd that fails, as a trigger of the flight recorder.
 *
 * A child listens to systemd (unit_bus.h): anybody on the system bus may send it messages, and the recorder has rights
 * that nobody else may have. The child is the user "nobody", has no right, and of ours only a socket for each trigger. What
 * it says is no more trusted than the bus. What a unit's cgroup has, everybody may read. One that ends is followed by another one (keeper.h).
 *
 *	recorder <- socket <- child <- system bus <- systemd
 */
#ifndef RECORD_FLIGHT_UNIT_H
#define RECORD_FLIGHT_UNIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/unit_group.h"

struct err;
struct flight_on;

/* What the child says. */
struct flight_unit_told {
	enum {
		FLIGHT_UNIT_FAILED,
		FLIGHT_UNIT_HEARS, /* from now on, again */
		FLIGHT_UNIT_DEAF,  /* for now it hears nothing */
		FLIGHT_UNIT_REFUSED,
	} kind;
	int32_t pid;		     /* the main process, which may have ended; 0 = not known */
	uint64_t begun_ns, ended_ns; /* of that, CLOCK_MONOTONIC; 0 = not yet, or not known */
	uint64_t before;	     /* failures before it that could not be told */
	int32_t others
		[UNIT_GROUP_PIDS]; /* more processes of the unit, which did not end, or late */
	uint32_t other_count;
	char text[512]; /* anybody's; "unit nginx.service failed: timeout" */
};

struct flight_units {
	pid_t pid;   /* the child's keeper (keeper.h); 0 = nobody asked for units */
	int life_fd; /* the child ends when it is closed */
	char text[sizeof(((struct flight_unit_told *)NULL)->text)]; /* of the start, to be said */
};

#define FLIGHT_UNITS_NONE ((struct flight_units){ .life_fd = -1 })

/* "unit:nginx" without "unit": the pattern of names, to be freed; NULL = it is none. */
char *flight_unit_parse(const char *text);

/*
 * Start the child when there are such triggers, and wait until it listens. It needs all rights, and gives them up. Returns
 * 0, or a negative errno with err filled: there is no bus, no systemd, or no libsystemd to ask with.
 */
int flight_units_start(struct flight_units *units, struct flight_on *ons, size_t count,
		       struct err *err);

/* When on->fd is readable. Returns 1 and *out_told; 0: that was all for now; -1: there will be no child any more. */
int flight_unit_take(const struct flight_on *on, struct flight_unit_told *out_told);

void flight_units_end(struct flight_units *units);

#endif
