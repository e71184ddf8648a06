/*
 * flight.h - ring buffers that are written over and over, and snapshots of what they hold.
 *
 * Nothing is on disk until a snapshot is taken; then recording stops for as long as it takes to copy the
 * rings, and goes on with empty ones. A snapshot is a trace directory as record_run() makes it. It begins
 * where the events of all CPUs begin: a busy CPU overwrites sooner than one that idles.
 *
 *	before          /proc is read: who lives
 *	off ... on      the rings are copied; what happens meanwhile is lost, and the caller told how long
 *	                what programs log themselves is copied (flight_user.h)
 *	                who waits for whom is looked at (waiting_snapshot.h)
 *	behind          formats, symbols; the rings are packed (pack.h); trace.json
 *
 * While it runs, a small file says what a killed one leaves in the kernel, so that the next one can take
 * a snapshot of that. One thread; its signals should be blocked.
 */
#ifndef RECORD_FLIGHT_H
#define RECORD_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/facts.h"

struct err;
struct flight;

struct flight_opts {
	const char *events;    /* as record_opts.events; a view */
	uint64_t memory_bytes; /* of all, as in flight_memory.h */
	uint64_t user_bytes; /* of a snapshot, at most so many of programs' own events; 0 = none */
	uint32_t budget_ppm; /* as record_opts.budget_ppm */
	int run_fd;	     /* folder for the file that outlives us; not owned */
};

/* What the rings hold. */
struct flight_held {
	uint64_t since_ns; /* CLOCK_MONOTONIC, when they were last empty */
	uint64_t held_ns;  /* all CPUs hold at least the last so many */
	uint64_t
		lasts_ns; /* they will at the rate of now, when full; UINT64_MAX = nothing happens */
	uint64_t memory_bytes; /* of all, at most; and what is used now of it: */
	uint64_t ring_bytes, bpf_bytes, own_bytes;
	uint64_t bytes;	       /* in them */
	uint64_t events;       /* since the start, snapshots included */
	uint64_t events_per_s; /* lately */
	uint64_t bytes_per_s;  /* as above */
	struct fact_cost cost; /* since the start */
	uint64_t helper_ns;    /* CPU time of who knows and copies programs' own events */
	uint32_t step;	       /* enum record_step, of now */
	bool has_lean_steps;   /* as fact of a trace */
	uint64_t steps;	       /* changes so far */
};

struct flight_taken {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; all CPUs are whole between them */
	uint64_t gap_ns; /* nothing was recorded for so long; 0 of rings of a killed one */
	uint64_t events, bytes;
	uint64_t overwritten; /* events before it */
};

/*
 * Make the rings and begin. Returns 0 and *out_flight, to be freed with flight_close(), or as
 * record_run() without anything left behind.
 */
int flight_open(const struct flight_opts *opts, struct flight **out_flight, struct err *err);

/*
 * The rings that a killed flight recorder left; its file is in opts->run_fd, all else is not used.
 * Returns 1 and *out_flight, good for one flight_snapshot(); 0: there are none; or a negative errno with
 * err filled: there were, and they cannot be read.
 */
int flight_open_old(const struct flight_opts *opts, struct flight **out_flight, struct err *err);

/* So often shall flight_tick() be called. */
uint64_t flight_tick_ns(const struct flight *flight);

/* Measures, notes how the clocks go, and keeps to the budget. */
void flight_tick(struct flight *flight);

/* Processes of the caller that work for it have taken so much CPU time: it counts as ours, and so does that of our own ones. */
void flight_note_beside(struct flight *flight, uint64_t cpu_ns);

void flight_held(struct flight *flight, struct flight_held *out_held);

/*
 * Make the trace 'dir', which must not exist, of all that is held. Recording goes on in any case. Returns
 * 0, or a negative errno with err filled and nothing left at 'dir': then what was held is lost, unless
 * 'out_taken', which is always filled, has a gap of 0.
 */
int flight_snapshot(struct flight *flight, const char *dir, struct flight_taken *out_taken,
		    struct err *err);

/* A child of the caller works for the flight recorder: it is one of its threads in the next snapshots. */
void flight_note_helper(struct flight *flight, int32_t pid);

/*
 * The functions of the last snapshot are being given names: it is whole when this is readable, and flight_named() was
 * called; -1 = it is. That waits for it, and returns 0, or a negative errno with err filled: some have no names.
 */
int flight_named_fd(const struct flight *flight);
int flight_named(struct flight *flight, struct err *err);

/* Stop, remove the rings, free. NULL is fine. */
void flight_close(struct flight *flight);

/* Free what flight_open_old() has found, for another one to find. Returns the path of the rings, to be freed. */
char *flight_leave(struct flight *flight);

#endif
