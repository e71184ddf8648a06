/*
 * app_events.h - what programs said at known points, out of a trace.
 */
#ifndef ASK_APP_EVENTS_H
#define ASK_APP_EVENTS_H

#include "event/app_table.h"

struct app_spans;
struct err;
struct facts;

/* Zero-initialised: nothing was said. It stays where it is: spans view the table in it. */
struct app_events {
	struct app_table table;	 /* the trace's own */
	struct app_spans *spans; /* owned; views of the table; NULL = nothing */
};

/*
 * Read the events of the trace at 'path' whose meaning its facts tell; nothing is read when they tell
 * of none. Lines of the trace that are wrong are left out. Returns 0, or negative with err filled.
 */
int app_events_read(const char *path, const struct facts *facts, struct app_events *out_events,
		    struct err *err);
void app_events_fini(struct app_events *events);

#endif
