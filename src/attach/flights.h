/*
 * flights.h - what programs keep of their own events, as a copy: of all that keep the last ones and run, or did until lately.
 *
 * Whoever calls it needs the rights to look up names as other users, and limits its own time: files of others may be
 * any number, and lie where reading takes long.
 */
#ifndef ATTACH_FLIGHTS_H
#define ATTACH_FLIGHTS_H

#include <stdint.h>

#include "attach/trace.h"

struct user_known;

struct user_flights {
	uint32_t processes; /* whose events are there */
	uint32_t ended;	    /* of these, that have ended before */
	uint32_t streaming; /* that have all of theirs in folders of their own: left out */
	uint32_t failed;    /* left out as they could not be read */
	uint32_t no_room;   /* left out as there was no room */
	uint64_t bytes;
	uint64_t lost; /* events that found no room in their program */
};

/*
 * Copy them into the folder at 'to_fd', each process's into one of its own: PROGRAM-PID. A name that begins with a
 * dot is one that was not finished. 'known': these have ended, too, and may have been copied as they lived. 'out' is kept up
 * as it goes on.
 */
void user_flights_copy(int to_fd, const struct user_part *part, const struct user_known *known,
		       struct user_flights *out);

#endif
