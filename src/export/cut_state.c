/* cut_state.c - the facts at the start of a cut: those of the trace, brought forward by its events. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "export/cut_int.h"
#include "read/read.h"
#include "state/state.h"
#include "timeline/index.h"
#include "timeline/timeline.h"

#define PROGRESS_EVENTS (UINT64_C(1) << 20)

static int feed(struct cut *cut, struct state *state, struct err *err)
{
	struct source *source = trace_source(cut->trace);
	const struct event *event;
	uint64_t seen = 0;
	int rc = source_seek(source, 0, err);

	while (rc >= 0 && (rc = source_next(source, &event, err)) > 0) {
		if (event->time_ns >= cut->opts->from_ns)
			return 0;
		state_feed(state, event);
		if (++seen % PROGRESS_EVENTS == 0 && cut->opts->progress)
			cut->opts->progress(cut->opts->context, event->time_ns);
	}
	return rc < 0 ? err_wrap(err, "reading what was before the window") : 0;
}

int cut_find_state(struct cut *cut, struct err *err)
{
	const struct facts *whole = trace_facts(cut->trace);
	const struct index_key key = { { 0 } };
	struct index_writer *writer = NULL;
	struct facts moved = { 0 };
	struct state *state;
	int rc;

	cut->facts = *whole;
	cut->facts.first_ns = cut->opts->from_ns;
	if (cut->opts->to_ns < whole->last_ns)
		cut->facts.last_ns = cut->opts->to_ns;
	/* The timeline of before goes to a file without a name, so that memory stays flat. */
	rc = index_begin(NULL, &key, true, &writer, err);
	if (rc < 0)
		return rc;
	state = state_new(whole);
	index_attach(writer, state_timeline(state));
	rc = feed(cut, state, err);
	if (rc == 0)
		state_snapshot(state, &moved);
	timeline_free(state_finish(state));
	index_abort(writer);
	cut->facts.threads = moved.threads;
	cut->facts.thread_count = moved.thread_count;
	cut->facts.fds = moved.fds;
	cut->facts.fd_count = moved.fd_count;
	cut->facts.epolls = moved.epolls;
	cut->facts.epoll_count = moved.epoll_count;
	/* The texts of the lists; all other lists stay the trace's. */
	cut->facts.owned = moved.owned;
	cut->facts.owned_count = moved.owned_count;
	return rc;
}

void cut_state_fini(struct cut *cut)
{
	struct facts moved = {
		.threads = cut->facts.threads,
		.fds = cut->facts.fds,
		.epolls = cut->facts.epolls,
		.owned = cut->facts.owned,
		.owned_count = cut->facts.owned_count,
	};

	if (cut->facts.threads != trace_facts(cut->trace)->threads)
		facts_fini(&moved);
	map_fini(&cut->tids);
	map_fini(&cut->tgids);
}
