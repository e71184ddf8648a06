/*
 * locks.h - which locks were waited for, and who had them: those of programs, and the kernel's.
 */
#ifndef ASK_LOCKS_H
#define ASK_LOCKS_H

#include <stdbool.h>

#include "analyse/locks/kernel_locks.h"
#include "analyse/locks/locks.h"

struct err;
struct facts;
struct source;
struct trace;

/* Zeroed is empty. */
struct locks_asked {
	struct locks programs;	   /* owned; what programs told */
	struct klocks_sum kernel;  /* owned; the kernel's own, whoever recorded them */
	const struct facts *facts; /* of the events of programs */
	struct source *source;	   /* owned; of these events */
	struct trace *trace;	   /* owned; of the kernel's; NULL = was not asked for */
};

/*
 * Read the trace at 'path'. Returns 0 (free with locks_asked_fini()), or negative with err filled.
 * Waits that programs did not tell the end of are ended by the kernel's events, where there are any.
 */
int locks_ask(const char *path, enum locks_sort sort, struct locks_asked *out_asked,
	      struct err *err);

/*
 * The same of a trace that has no events of the kernel (holdup run --locks), without the kernel's
 * locks. False, and nothing to free: it is no such trace, or has no locks.
 */
bool locks_ask_alone(const char *path, enum locks_sort sort, struct locks_asked *out_asked);

void locks_asked_fini(struct locks_asked *asked);

#endif
