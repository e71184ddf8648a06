/*
 * flight_logged_reader.h - a process without any rights takes apart what programs logged.
 *
 * Who looks at programs' buffers must have the right to read them all, and their bytes may be anything. So bytes go
 * to a child, which can read, answer and nothing else, and what it answers is a number of times and threads. It may end, or
 * take too long: then whose bytes these were is not read again.
 */
#ifndef CLI_FLIGHT_LOGGED_READER_H
#define CLI_FLIGHT_LOGGED_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "read/ctf/pieces.h"

#define FLIGHT_LOGGED_SLOTS	 256u		   /* programs */
#define FLIGHT_LOGGED_TEXT_BYTES ((size_t)1 << 20) /* of one's descriptions */
#define FLIGHT_LOGGED_FOUND_MOST 16384u		   /* a packet has fewer events */

struct flight_logged_shared;

struct flight_logged_reader {
	pid_t pid;			     /* 0 = it does not run */
	int fd;				     /* to it */
	struct flight_logged_shared *shared; /* mapped */
	const char *const *names;	     /* views */
	size_t name_count;
};

/* 'names': of the events. It runs when it is first asked. False: no memory. */
bool flight_logged_reader_init(struct flight_logged_reader *reader, const char *const *names,
			       size_t count);

enum flight_logged_answer {
	FLIGHT_LOGGED_READ,
	FLIGHT_LOGGED_BAD,  /* it cannot be read, or not all of it */
	FLIGHT_LOGGED_DEAD, /* the reader has ended: all slots are empty */
};

/* What the program of the slot describes, instead of what it did. */
enum flight_logged_answer flight_logged_describe(struct flight_logged_reader *reader, uint32_t slot,
						 const char *text, size_t bytes);

/* Its events in a piece of a packet: views, until the next call. Of a bad one those in front of the damage. */
enum flight_logged_answer flight_logged_read(struct flight_logged_reader *reader, uint32_t slot,
					     const struct ctf_piece *piece,
					     const struct ctf_found **out_found, size_t *out_count,
					     uint64_t *out_last_ticks);

void flight_logged_drop(struct flight_logged_reader *reader, uint32_t slot);

/* CPU time of those that ran, as they said. */
uint64_t flight_logged_reader_cpu_ns(const struct flight_logged_reader *reader);

void flight_logged_reader_end(struct flight_logged_reader *reader);

#endif
