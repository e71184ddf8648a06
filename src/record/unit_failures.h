/*
 * unit_failures.h - which units of systemd have failed, and whether that is new.
 *
 *	good      runs, starts, stops, is inactive: nothing is kept of it
 *	retries   it failed, and systemd is about to start it again
 *	failed    it failed, and stays so
 *
 * A failure is new when the unit was good before, or fared better, or was started since then: systemd gathers
 * changes, so that a short life between two failures may not be told.
 */
#ifndef RECORD_UNIT_FAILURES_H
#define RECORD_UNIT_FAILURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNIT_NAME_BYTES	  256 /* a name has less, by systemd's own limit */
#define UNIT_FAILURES_MAX 1024
#define UNIT_RUN_BYTES	  16

enum unit_level {
	UNIT_GOOD,
	UNIT_RETRIES,
	UNIT_FAILED,
};

struct unit_failure {
	char name[UNIT_NAME_BYTES];
	enum unit_level level;
	bool has_run, is_listed;
	uint8_t run[UNIT_RUN_BYTES]; /* systemd's InvocationID */
};

/* Zeroed is empty. */
struct unit_failures {
	struct unit_failure *items; /* owned; in order of their coming */
	size_t count, cap;
};

/*
 * By the unit's ActiveState, SubState and Result. A unit that is to be started again after a success, or after a
 * Result that is not known (""), is good.
 */
enum unit_level unit_level_of(const char *active, const char *sub, const char *result);

/*
 * The unit is in this state, in this run; NULL = not known in which. Returns whether it is a new failure. When there
 * are too many, the oldest is forgotten.
 */
bool unit_failures_note(struct unit_failures *failures, const char *name, enum unit_level level,
			const uint8_t *run);

/* What is known of it. */
enum unit_level unit_failures_level(const struct unit_failures *failures, const char *name);

/* All that have failed are listed anew: begin, list each one that is known, end: the others are good. */
void unit_failures_begin(struct unit_failures *failures);
void unit_failures_list(struct unit_failures *failures, const char *name);
void unit_failures_end(struct unit_failures *failures);

void unit_failures_fini(struct unit_failures *failures);

/* "nginx" becomes "nginx.service": what has no suffix of a type of unit, nor may match one, gets that. To be freed; NULL = this is no pattern of names. */
char *unit_pattern(const char *text);

/* '*' and '?' stand for what they do in the shell; nothing else does. */
bool unit_pattern_matches(const char *pattern, const char *name);

/* Is it one name alone? */
bool unit_pattern_is_name(const char *pattern);

/* May a unit have this name? */
bool unit_name_is_valid(const char *name);

/* The interface of D-Bus that has the Result of such a unit, to be freed; NULL = none has. */
char *unit_interface(const char *name);

/* Are all addresses of that list sockets of this machine, and no programs to run? */
bool unit_address_is_local(const char *address);

#endif
