/*
 * flight_logged_look.h - the process that looks at what programs log: see flight_logged.h.
 */
#ifndef CLI_FLIGHT_LOGGED_LOOK_H
#define CLI_FLIGHT_LOGGED_LOOK_H

#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/flight_logged_match.h"
#include "guard/caps.h"

struct flight_logged_counts;
struct flight_on;

/* What it needs. */
#define FLIGHT_LOGGED_RIGHTS                                                         \
	(GUARD_CAP(CAP_SETUID) | GUARD_CAP(CAP_SETGID) | GUARD_CAP(CAP_SYS_PTRACE) | \
	 GUARD_CAP(CAP_DAC_READ_SEARCH) | GUARD_CAP(CAP_DAC_OVERRIDE) | GUARD_CAP(CAP_KILL))

/* What is looked for, and who is told. */
struct flight_logged_looking {
	struct flight_logged_trigger *triggers; /* owned, as what follows; each has its pipe */
	int *fds;
	size_t count;
	char **names; /* owned, each; "class:event" */
	size_t name_count;
	uint64_t cost_part; /* of a CPU, as flight_logged_cost_part() */
};

/* Zeroed: nothing. 'fd' is taken. */
void flight_logged_looking_add(struct flight_logged_looking *looking, const struct flight_on *on,
			       int fd);
void flight_logged_looking_fini(struct flight_logged_looking *looking);

/* In a child of its keeper. */
void __attribute__((noreturn))
flight_logged_look(struct flight_logged_looking *looking, struct flight_logged_counts *counts,
		   pid_t keeper);

#endif
