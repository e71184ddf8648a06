/*
 * flight_model.h - violations of a model as a trigger of the flight recorder.
 *
 * A child runs "holdup watch" on the model, which records beside us and has its own rings: a check needs the events in
 * order, and ours are read only for a snapshot. It must be root, and has to be started again when it dies, while the
 * recorder gives up its rights. So it has a keeper (keeper.h).
 *
 *	recorder <- pipe <- watch     "N WHY": a violation, and N before it for which the pipe was full
 *	                 <- keeper    "=PID": it has begun one; "-": one has ended, or could not begin; "!TEXT": to be told
 */
#ifndef CLI_FLIGHT_MODEL_H
#define CLI_FLIGHT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct flight;
struct flight_on;

/* A line of the pipe. */
struct flight_model_line {
	enum {
		FLIGHT_MODEL_VIOLATION,
		FLIGHT_MODEL_BEGUN,
		FLIGHT_MODEL_ENDED,
		FLIGHT_MODEL_TOLD,
	} kind;
	uint64_t before;  /* violations that were not told */
	int32_t pid;	  /* begun */
	const char *text; /* a view */
};

struct flight_model {
	struct flight_on *on;
	pid_t keeper; /* 0 = none */
	int fd;
	int32_t pid; /* that watches; 0 = not known */
	char text[4096];
	size_t bytes;
};

struct flight_models {
	struct flight_model *items; /* owned */
	size_t count;
};

/* Is it a model? Tells its mistakes on stderr. Returns 0, or a negative errno with err filled. */
int flight_model_check(const char *path, struct err *err);

/* Start the children of these triggers. 'events': of the recorder; NULL = its own choice. */
int flight_models_start(struct flight_models *models, struct flight_on *ons, size_t count,
			const char *events, struct err *err);

/* That of this trigger; NULL = none. */
struct flight_model *flight_models_find(const struct flight_models *models,
					const struct flight_on *on);

/* More lines, as far as there are: -1 = there will be none, 0 = for now. */
int flight_model_read(struct flight_model *model);

/* The next whole line, good until the next call of either. */
bool flight_model_next(struct flight_model *model, struct flight_model_line *out_line);

/* CPU time of all these processes. */
uint64_t flight_models_cpu_ns(const struct flight_models *models);

/* They are no programs of a snapshot. */
void flight_models_note(const struct flight_models *models, struct flight *flight);

/* End them, and wait for it. */
void flight_models_end(struct flight_models *models);

/* In place; false = it is none. Exported for tests. */
bool flight_model_parse_line(char *line, struct flight_model_line *out_line);

#endif
