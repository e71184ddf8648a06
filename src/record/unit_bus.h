/*
 * unit_bus.h - what systemd tells on the system bus of its units, for a process without any right.
 *
 *	owner of org.freedesktop.systemd1    only what it sends is heard
 *	PropertiesChanged                    of a unit: first what its type has (Result, the main process), then its state
 *	ListUnitsByPatterns                  all that have failed: at the begin, behind each hole, once a minute
 *	GetAll                               the Result of one, where that did not come along
 *	Get                                  the cgroup of one that is being stopped: its processes are read
 *
 * Everybody on the bus can send us anything: one message is read at a time, and nothing of others is looked into.
 */
#ifndef RECORD_UNIT_BUS_H
#define RECORD_UNIT_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/unit_failures.h"
#include "record/unit_group.h"

struct err;

/* How a unit failed. */
struct unit_outcome {
	char result[64];	     /* systemd's word; "" = not known */
	bool is_retried;	     /* systemd starts it again */
	int32_t pid;		     /* its main process, which may have ended; 0 = none is known */
	uint64_t begun_ns, ended_ns; /* of that, CLOCK_MONOTONIC; 0 = not yet, or not known */
	struct unit_group others;    /* that were there while it was being stopped */
};

/* Who is told. 'context' is given back. */
struct unit_listener {
	void *context;
	const char *const *patterns; /* views */
	size_t count;
	/* Trigger 'i' has one. */
	void (*failed)(void *context, size_t i, const char *unit,
		       const struct unit_outcome *outcome);
	/* From now on it hears, or does not. 'text': what is to be said of it; "" = nothing. */
	void (*hears)(void *context, bool hears, const char *text);
	void (*told)(void *context, const char *text);
};

/* Was it built with libsystemd? */
bool unit_bus_is_built(void);

/*
 * Listen for good; a connection that is lost is made again, after 1 s, then 2 s, up to a minute. Returns only a negative
 * errno with err filled, when it could not begin: there is no bus, or no systemd.
 */
int unit_bus_run(const struct unit_listener *listener, struct err *err);

#endif
