/*
 * window.h - what to say of a span of time with nothing in it.
 */
#ifndef BASE_WINDOW_H
#define BASE_WINDOW_H

#include <stdint.h>

struct err;

/*
 * Say why nothing of [start_ns, end_ns) lies in the recording, which is
 * [first_ns, last_ns); all on the trace clock. Returns 'rc', with err filled.
 */
int window_refuse(struct err *err, int rc, uint64_t start_ns, uint64_t end_ns, uint64_t first_ns,
		  uint64_t last_ns);

#endif
