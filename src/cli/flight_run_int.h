/*
 * flight_run_int.h - the flight recorder that runs, for its own files.
 *
 *	flight_run.c         begin, snapshots, the loop
 *	flight_run_on.c      triggers
 *	flight_run_answer.c  who asks: status, a snapshot, an end
 */
#ifndef CLI_FLIGHT_RUN_INT_H
#define CLI_FLIGHT_RUN_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/flight_logged.h"
#include "cli/flight_model.h"
#include "cli/flight_run.h"
#include "cli/flight_store.h"
#include "cli/flight_why.h"
#include "record/flight_on.h"
#include "record/flight_unit.h"
#include "report/flight.h"

struct flight;

#define MESSAGES     32
#define WAITING_MOST 16 /* snapshots that wait to be explained */

/* A snapshot, until it is explained. */
struct waiting {
	struct flight_row row; /* owned strings */
	const struct flight_on *on;
	int32_t tid;
	bool is_process;		 /* all threads of it */
	int32_t others[UNIT_GROUP_PIDS]; /* more processes */
	size_t other_count;
	uint64_t from_ns, to_ns;
};

struct running {
	const struct flight_run_opts *opts;
	int run_fd, lock_fd, dir_fd, signal_fd, listen_fd;
	int stop_fd; /* who asked it to end; -1 = nobody */
	struct flight *flight;
	const char *events; /* a view */
	struct flight_looks looks;
	struct flight_models models;
	struct flight_units units;
	struct flight_logged logged;
	struct flight_on *fired;		    /* its wait has not ended yet; NULL = none */
	struct flight_seen seen;		    /* that wait */
	const struct flight_unit_told *failed_unit; /* one, while it fires; NULL = none */
	char *place;	    /* owned; where in the kernel; NULL = not known */
	uint64_t settle_ns; /* it is waited for until then */
	struct waiting waiting[WAITING_MOST];
	size_t waiting_count;
	struct flight_why why; /* of waiting[0] */
	struct flight_message messages[MESSAGES];
	size_t message_count;
	uint64_t begun_ns, begun_real_ns, last_ns; /* last_ns: the last snapshot; 0 = none */
	uint64_t cpu_ns;			   /* that beginning took */
	uint64_t noted_ns; /* when CPU time of helpers was last told to the recorder */
	uint64_t number;   /* of the newest snapshot of the folder */
	uint64_t snapshots, failed, last_gap_ns;
	bool done;
};

/* ------------------------------------------------------------------ flight_run.c */

/* For who asks for the status, and on stderr in the foreground. */
void flight_say(struct running *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * 'why' is anybody's text. Returns 0 and the snapshot's name (to be freed), or a negative errno with err
 * filled, which is told in status, too.
 */
int flight_run_snapshot(struct running *run, struct flight *flight, const char *why,
			const struct flight_on *on, char **out_name, struct err *err);

/* ------------------------------------------------------------------ flight_run_on.c */

/* Its descriptor is ready. */
void flight_run_trigger(struct running *run, struct flight_on *on, short events);

/* What nobody wakes us for, as far as it is due. */
void flight_run_look(struct running *run);

/* When that is; CLOCK_MONOTONIC. */
uint64_t flight_run_look_ns(const struct running *run);

/* Those that have happened wait until the next one could be told. */
void flight_run_arm(struct running *run);

/* ------------------------------------------------------------------ flight_run_answer.c */

/* Somebody asks. */
void flight_run_question(struct running *run);

/* Their CPU time counts for the budget. A model's does not: it needs all of its events. */
void flight_run_note_helpers(struct running *run);

#endif
