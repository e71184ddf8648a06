/*
 * watch_flight.h - violations of a model, told to the flight recorder: holdup watch --flight.
 *
 * A child asks it by its socket for a snapshot, since that takes as long as the snapshot. A flight recorder that has
 * started us itself (flight_model.h) gets a line of each violation by a pipe, and decides. The environment names the pipe.
 */
#ifndef CLI_WATCH_FLIGHT_H
#define CLI_WATCH_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WATCH_FLIGHT_FD "HOLDUP_FLIGHT_FD"

struct watch_flight {
	int pipe_fd; /* of who started us; -1 = nobody did; not owned */
	uint64_t
		untold; /* violations that the pipe had no room for, since the last one that it had */
	uint64_t asked_ns; /* CLOCK_MONOTONIC; 0 = never */
	uint64_t done, failed, left_out;
	bool is_none_told; /* that no flight recorder runs */
};

void watch_flight_begin(struct watch_flight *flight);

/*
 * "model requests.yaml: key=7: elapsed <= 50ms broken, thread 4711", escaped, to be freed. 'is_proven': the kernel says
 * that it is that thread; else "by the program's own word" is behind it.
 */
char *watch_flight_why(const char *model_path, const char *key, const char *what, int32_t tid,
		       bool is_proven);

/* A line: the number of violations that were not told before, a blank, 'why'. */
void watch_flight_tell(struct watch_flight *flight, const char *why);

/* By --max-snapshots and --snapshot-gap. */
bool watch_flight_may_ask(const struct watch_flight *flight, uint32_t most, double gap_s);

/* Returns the child, or 0: it could not begin, which is counted. */
pid_t watch_flight_ask(struct watch_flight *flight, const char *why);

/* The child has ended so: count, and tell once when there is no flight recorder. */
void watch_flight_ended(struct watch_flight *flight, int status);

#endif
