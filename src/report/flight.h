/* flight.h - the state of the flight recorder and its snapshots, as text and as JSON. */
#ifndef REPORT_FLIGHT_H
#define REPORT_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event/facts.h"

/* A snapshot. */
struct flight_row {
	char *name; /* owned; below the folder, without ending */
	uint64_t
		number; /* snapshots of the folder are counted, from 1; 0 = not known: older than all others */
	uint64_t real_ns;  /* when it was taken, CLOCK_REALTIME */
	uint64_t begin_ns; /* its window, on the trace clock */
	uint64_t end_ns;
	uint64_t gap_ns; /* nothing was recorded for so long meanwhile */
	uint64_t bytes;	 /* on disk, index included */
	char *why;	 /* owned; what asked for it */
	char *verdict;	 /* owned; "" = none was made */
};

struct flight_trigger_row {
	const char *text;
	uint64_t fired, suppressed;
	bool is_on; /* the kernel wakes us, or we look */
};

/* Looks at what programs log, for triggers. Programs are counted since the recorder runs, but for those of now. */
struct flight_logged_row {
	uint64_t programs; /* now, that have such events */
	uint64_t look_ns;
	uint64_t lost;	     /* packets that were not seen whole */
	uint64_t unread;     /* programs whose packets cannot be read */
	uint64_t other_time; /* programs whose clock is not ours */
	uint64_t no_room;    /* programs that were too many */
};

struct flight_message {
	uint64_t real_ns;
	char *text; /* owned */
};

struct flight_status_report {
	int32_t pid;
	const char *dir, *events;
	uint64_t since_real_ns, age_ns;	     /* of the recorder */
	uint64_t held_ns, keep_ns, lasts_ns; /* lasts_ns: UINT64_MAX = nothing happens */
	uint64_t memory_bytes;		     /* at most; and what is used of it: */
	uint64_t ring_bytes, bpf_bytes, own_bytes;
	bool has_lean_steps; /* calls that block are told at steps without the others */
	uint64_t recorded_events, events_per_s, bytes_per_s;
	uint64_t cpu_ns, explain_cpu_ns; /* of the recorder; of who explained its snapshots */
	struct fact_cost cost;		 /* since it runs */
	uint32_t step;			 /* enum record_step, of now */
	uint64_t steps;			 /* changes so far */
	uint64_t snapshots, failed, last_gap_ns, disk_bytes, disk_most_bytes, pause_ns;
	uint64_t look_ns;	/* between two looks at all threads; 0 = nobody asked */
	uint64_t look_named_ns; /* the same at those that a trigger names */
	const struct flight_trigger_row *triggers;
	size_t trigger_count;
	const struct flight_logged_row
		*logged;		       /* NULL = no trigger is about programs' own events */
	const struct flight_message *messages; /* oldest first */
	size_t message_count;
};

void report_flight_status(FILE *out, const struct flight_status_report *status, bool json);

/* 'dir': where the snapshots are. */
void report_flight_list(FILE *out, const char *dir, const struct flight_row *rows, size_t count,
			bool json);

#endif
