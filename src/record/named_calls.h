/*
 * named_calls.h - the system calls of this architecture that are looked at for the names of things.
 */
#ifndef RECORD_NAMED_CALLS_H
#define RECORD_NAMED_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "record/bpf/raw.h"

struct named_call {
	const char *name;
	int nr;
	enum raw_call call;
};

struct named_calls {
	const struct named_call *at;
	size_t count;
};

extern const struct named_calls named_calls_opening; /* of which a descriptor comes */
extern const struct named_calls named_calls_making;  /* of which names of files change */
extern const struct named_calls named_calls_looking; /* that may be asked again and again */

/* Those that may block, on the descriptor that is their first argument. */
const int *named_calls_on_fd(size_t *out_count);
bool named_calls_is_on_fd(int nr);

#endif
