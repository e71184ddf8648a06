/*
 * flight_int.h - the flight recorder, for its own files.
 *
 *	flight.c           rings, snapshots
 *	flight_start.c     what is made at the start, and how much memory it may take
 *	flight_programs.c  what programs log themselves
 */
#ifndef RECORD_FLIGHT_INT_H
#define RECORD_FLIGHT_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "record/clock.h"
#include "record/flight.h"
#include "record/flight_memory.h"
#include "record/bpf_count.h"
#include "record/flight_user.h"
#include "record/record.h"
#include "record/session.h"
#include "record/waiting_snapshot.h"

struct wait_stacks;

#define SYNCS_MOST    64
#define HELPERS_MOST  64
#define SYNC_FIRST_NS UINT64_C(1000000000)

/* One CPU's ring by the kernel's count. */
struct ring_stats {
	uint64_t entries, overrun, bytes, oldest_raw, read;
	bool is_there;
};

struct flight {
	struct record_opts opts; /* what the session looks at */
	struct session session;
	char *events; /* owned; opts.events */
	int run_fd;   /* not owned */
	bool is_old;  /* of a killed one: nothing goes on */
	uint64_t on_ns;
	/* The clock: points at equal distances, of which every other one goes when there are too many. */
	struct sync_point syncs[SYNCS_MOST];
	size_t sync_count;
	uint64_t sync_every_ns;
	/* The manifest as it was before a snapshot. */
	size_t missing_count, tid_count;
	/* Children that worked for it; of more, the last ones are known. */
	int32_t helpers[HELPERS_MOST];
	size_t helper_count; /* of all */
	struct ring_stats
		*rings; /* owned; as they were read last, of every CPU that there can be */
	long cpus;
	/* Counts of all CPUs. */
	uint64_t events_before;		/* in snapshots */
	uint64_t rate_at_ns, rate_from; /* events since the start, then */
	uint64_t events_per_s;
	uint64_t steps;
	/* What BPF programs tell of names, calls and code, in memory. */
	struct wait_stacks *stacks; /* owned; NULL = none are taken */
	uint64_t beside_bytes;	    /* promised for it; 0 = nothing is told */
	struct flight_memory memory;
	/* What was open when names began to be told; early_ns: on CLOCK_BOOTTIME, 0 = nothing is known of it. */
	struct map early;
	uint64_t early_ns;
	uint64_t renewed_ns;
	struct waiting_snapshot looking; /* while a snapshot is taken */
	/* What programs keep of their own events. */
	struct flight_user user;
	uint64_t keeper_ns, keeper_at_ns; /* CPU time of who reads them, as it was then */
	struct bpf_count count;
	int user_dir_fd; /* while a snapshot is taken; -1 = there is none */
	uint64_t user_bytes;
};

/* ------------------------------------------------------------------ flight_start.c */

/* Nothing is made yet, and nothing open. */
struct flight *flight_new(const struct flight_opts *opts, const char *events);

/* Begin what BPF programs tell. Returns 0, or a negative errno with err filled. */
int flight_start_programs(struct flight *flight, struct err *err);

/* What every snapshot lacks. */
void flight_note_missing(struct flight *flight);

/* The rings get what is left of the bound. Returns 0, or a negative errno with err filled. */
int flight_fit_memory(struct flight *flight, uint64_t most_bytes, struct err *err);

/* ------------------------------------------------------------------ flight_programs.c */

/* As the rings are being switched off: programs' events of the time that these hold are copied from now on. */
void flight_programs_begin(struct flight *flight);

/* All is there, or noted in the manifest. Also of what was not begun. */
void flight_programs_end(struct flight *flight);

#endif
