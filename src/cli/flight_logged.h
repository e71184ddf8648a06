/*
 * flight_logged.h - events that programs log with libholdup, as triggers of the flight recorder.
 *
 *	recorder <- pipe <- looker <-> reader
 *
 * The looker finds the programs of all users that log, and reads what is new in their buffers some times a second
 * (attach/follow.h). It keeps the rights for that and nothing else of the recorder's, takes no byte of a program apart, and
 * has a child for that without any rights (flight_logged_reader.h). A message to the recorder has a fixed size; each value of
 * it may be what a program made up.
 */
#ifndef CLI_FLIGHT_LOGGED_H
#define CLI_FLIGHT_LOGGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct flight;
struct flight_logged_row;
struct flight_run_opts;
struct flight_on;

/* A trigger has fired; or, for all of them, who looks was begun or has ended. */
struct flight_logged_message {
	enum {
		FLIGHT_LOGGED_FIRED,
		FLIGHT_LOGGED_LOOKS,
		FLIGHT_LOGGED_ENDED, /* 'tid': its status; 'count': the next one in so many s; 0 = that is not told once more */
	} kind;
	int32_t pid, tid; /* tid: 0 = not known */
	uint64_t count;	  /* since the message before; this is the first of them */
	uint64_t first_ns,
		second_ns; /* CLOCK_MONOTONIC; second: 0 = there is none, or it has not come */
	char comm[16];	   /* of the thread, else of the process */
};

/* What the looker does, as it goes on: it alone writes. */
struct flight_logged_counts {
	_Atomic uint64_t programs;   /* that have such events and are looked at */
	_Atomic uint64_t look_ns;    /* between two looks */
	_Atomic uint64_t cpu_ns;     /* of it and of its child */
	_Atomic uint64_t lost;	     /* packets that were not seen whole */
	_Atomic uint64_t unread;     /* programs whose packets cannot be read, so far */
	_Atomic uint64_t other_time; /* programs whose clock is not ours, so far */
	_Atomic int32_t reader;	     /* its child; 0 = there is none now */
	_Atomic uint64_t no_room;    /* programs beyond what one looks at, so far */
};

struct flight_logged {
	pid_t pid; /* of the looker's keeper (keeper.h); 0 = nobody asked for one */
	const struct flight_logged_counts *counts; /* mapped */
};

/* Start it if a trigger needs it. Its pipes are the 'fd' of the triggers. Returns 0, or a negative errno with err filled. */
int flight_logged_start(struct flight_logged *logged, const struct flight_run_opts *opts,
			struct err *err);

/* The next message: 1, 0 = none for now, -1 = there will be none. */
int flight_logged_take(int fd, struct flight_logged_message *out_message);

/* "user:shop:paid: thread 7 (name) of process 5", to be freed; of a pair how long it was, too. */
char *flight_logged_text(const struct flight_on *on, const struct flight_logged_message *message);

/* What its looks saw, in 'row'; NULL = there are none. */
const struct flight_logged_row *flight_logged_tell(const struct flight_logged *logged,
						   struct flight_logged_row *row);

/* They are no programs of a snapshot. */
void flight_logged_note(const struct flight_logged *logged, struct flight *flight);

uint64_t flight_logged_cpu_ns(const struct flight_logged *logged);

void flight_logged_end(struct flight_logged *logged);

/*
 * The looks may take one in so many of a CPU's time, and the search for programs as much: 20, and with a budget of so many
 * millionths of all CPUs half of it for both. Exported for tests.
 */
uint64_t flight_logged_cost_part(uint32_t budget_ppm, uint64_t cpus);

/* Can it be true? Exported for tests. */
bool flight_logged_is_sane(const struct flight_logged_message *message, uint64_t now_ns);

#endif
