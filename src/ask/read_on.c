/* read_on.c - see read_on.h. */
#include "ask/read_on.h"

#include "base/clock.h"
#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "read/read.h"

#define LOOK_EVENTS 1024u /* between two looks at the clock */

int read_on(struct trace *trace, uint64_t *from_ns, uint64_t until_ns, uint64_t stop_ns,
	    void (*each)(void *context, const struct event *event), void *context, struct err *err)
{
	struct source *source = trace_source(trace);
	const struct event *event;
	uint64_t count = 0;
	int rc = source_seek(source, *from_ns, err);

	while (rc >= 0 && (rc = source_next(source, &event, err)) > 0) {
		if (event->time_ns >= until_ns)
			break;
		each(context, event);
		if (++count % LOOK_EVENTS == 0 && until_ns > event->time_ns + 1 &&
		    clock_now_ns() > stop_ns)
			until_ns = event->time_ns + 1;
	}
	*from_ns = until_ns;
	return rc < 0 ? err_wrap(err, "reading the recording as it grows") : 0;
}
