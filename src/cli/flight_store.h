/*
 * flight_store.h - the folder of snapshots.
 *
 *	DIR/20261126-210501-123.holdup/   the trace
 *	DIR/20261126-210501-123.txt       what holdup why says of it
 *	DIR/20261126-210501-123.flight    when, why, verdict; what has none is half a snapshot
 *
 * Root's, closed to others. Names are times of day, UTC. Which one is older is told by a number in the note: the
 * machine's clock may have been set back.
 */
#ifndef CLI_FLIGHT_STORE_H
#define CLI_FLIGHT_STORE_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct flight_row;

#define FLIGHT_TRACE  ".holdup"
#define FLIGHT_REPORT ".txt"
#define FLIGHT_NOTE   ".flight"
#define FLIGHT_NEW    ".flight-new" /* a note that is being written */

struct flight_list {
	struct flight_row *rows; /* owned; oldest first */
	size_t count, cap;
};

/* The name of a snapshot taken at this moment of CLOCK_REALTIME, or a little later where there is one of that name. Free it. */
char *flight_store_name(int dir_fd, uint64_t real_ns);

/* The number of the newest snapshot; 0 = there is none that has one. */
uint64_t flight_store_last(int dir_fd);

/* Write the note of a snapshot, or a new one in its place; whole or not at all. Returns 0, or a negative errno with err filled. */
int flight_store_note(int dir_fd, const struct flight_row *row, struct err *err);

/* Read all notes, and how much is on disk of each: of a file that several have, its part. Returns 0, or a negative errno. */
int flight_store_list(int dir_fd, struct flight_list *out_list);
void flight_list_fini(struct flight_list *list);

/* Remove what killed ones left half. */
void flight_store_sweep(int dir_fd);

/*
 * Remove the oldest ones until they and 'more_bytes' take at most 'most_bytes'. Not the one named 'but'
 * (NULL = none). Returns how many were removed.
 */
size_t flight_store_bound(int dir_fd, uint64_t most_bytes, uint64_t more_bytes, const char *but);

/* Remove all of one. */
void flight_store_remove(int dir_fd, const char *name);

#endif
