/*
 * pidns.h - process ids of a container against those that the kernel records.
 *
 * Events carry the ids of the first pid namespace. Within another one the recorder
 * knows its command by an id that means nothing in the trace. So the command's
 * process writes a mark into a tracing instance made for that, and the kernel puts
 * its own id for the writer beside the mark:
 *
 *	pidns_open    an instance with a file that a child of ours inherits
 *	pidns_mark    in the child: write the mark
 *	pidns_find    in the parent: wait for the mark and read who wrote it
 */
#ifndef RECORD_PIDNS_H
#define RECORD_PIDNS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/instance.h"

struct err;

struct pidns {
	struct instance instance;
	int mark_fd; /* -1 = not open */
};

#define PIDNS_NONE ((struct pidns){ .instance = INSTANCE_NONE, .mark_fd = -1 })

/* Returns 0, or a negative errno with err filled and nothing left behind. */
int pidns_open(const char *tracing_dir, struct pidns *out_pidns, struct err *err);

/*
 * In a forked child: write the mark, if it is open, and close what was inherited,
 * for which the parent's pidns_close() waits.
 */
void pidns_mark(const struct pidns *pidns);

/* Wait, a second at most, for a mark. Returns the kernel's id of its writer; 0 = none came. */
int32_t pidns_find(const struct pidns *pidns);

/* Safe to call twice. */
void pidns_close(struct pidns *pidns);

/* The writer in the text of 'trace'; 0 = no mark is in it. */
int32_t pidns_parse(const char *trace);

#endif
