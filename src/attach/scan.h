/*
 * scan.h - which processes use libholdup, found again and again.
 *
 * Each scan asks those that are new, a few times in a row as a program needs its time to begin, and of the others as many
 * as there is time for, in turn: they may execute another program.
 */
#ifndef ATTACH_SCAN_H
#define ATTACH_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct user_asked;

/* Zeroed: none was taken. */
struct user_scan {
	struct user_asked *asked; /* owned; by pid: those that were, and do not use it */
	size_t count;
	int32_t next_old; /* who is asked next of those who were often enough */
};

/* What is done with what is found; 'context' is given back. */
struct user_scan_ops {
	/* A process that is known to use it: true, and it has been looked after. */
	bool (*knows)(void *context, int32_t pid);
	/* Does it use it? Then it is known from now on. 'is_new': for the first time. */
	bool (*asks)(void *context, int32_t pid, bool is_new);
	uint64_t (*cpu_ns)(void *context); /* used so far */
	uint64_t ask_ns; /* so long those that are not new are asked in one scan */
};

void user_scan_take(struct user_scan *scan, const struct user_scan_ops *ops, void *context);

void user_scan_fini(struct user_scan *scan);

#endif
