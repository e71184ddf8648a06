/* window.c - see window.h. */
#include "base/window.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/err.h"

#define AT	  "%" PRIu64 ".%09" PRIu64
#define SPLIT(ns) (ns) / 1000000000u, (ns) % 1000000000u

int window_refuse(struct err *err, int rc, uint64_t start_ns, uint64_t end_ns, uint64_t first_ns,
		  uint64_t last_ns)
{
	bool before = end_ns <= first_ns;

	if (before || start_ns >= last_ns)
		return err_set(err, rc,
			       "the window is empty: it %s at " AT " on the trace clock, and the "
			       "recording is from " AT " to " AT "; +1.5s counts from its start",
			       before ? "ends" : "begins", SPLIT(before ? end_ns : start_ns),
			       SPLIT(first_ns), SPLIT(last_ns));
	return err_set(err, rc,
		       "the window is empty: it begins at " AT " and ends at " AT
		       " on the trace clock",
		       SPLIT(start_ns), SPLIT(end_ns));
}
