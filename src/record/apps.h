/*
 * apps.h - known points of known programs (event/app_table.h) in the files that run.
 *
 * Files come into question by the last part of their path: the command and the libraries that it
 * needs, what the processes of --pid execute, and what any process runs. Each is opened once and
 * looked into; a point that a build does not have is left out without a word.
 */
#ifndef RECORD_APPS_H
#define RECORD_APPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app_table;
struct err;
struct manifest;
struct probes;
struct probes_wish;

struct apps_wish {
	const struct app_table *table; /* NULL = none */
	bool costly;		       /* those, too, that may cost more than a percent */
};

/*
 * Add the points that are there to 'probes', behind those of probes_choose(), and tell the manifest
 * what they mean. Returns 0, or a negative errno with err filled.
 */
int apps_choose(struct probes *probes, int tracing_fd, const struct probes_wish *wish,
		const struct apps_wish *apps, struct manifest *manifest, struct err *err);

/* A point of the table in a file that is there; what holdup doctor lists. */
struct app_found {
	const char *path;
	uint32_t point;	     /* index into the table */
	const char *why_not; /* NULL = it is there */
};
typedef void app_found_fn(void *context, const struct app_found *found);

/* Look for the points in the same files, without adding any; each is told, found or not. */
void apps_look(const struct probes_wish *wish, const struct app_table *table, app_found_fn *tell,
	       void *context);

#endif
