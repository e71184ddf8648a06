/*
 * cut_state.c - the facts of a cut: those of the trace, brought forward by its events to the start
 * of the window, all that was under way there, and how what is under way at its end goes on.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "event/event.h"
#include "event/source.h"
#include "export/cut_int.h"
#include "read/read.h"
#include "state/moment.h"
#include "state/state.h"
#include "timeline/index.h"
#include "timeline/timeline.h"

#define PROGRESS_EVENTS (UINT64_C(1) << 20)

/* The lists that the engine filled; all others stay the trace's. */
static void take_lists(struct cut *cut, const struct facts *moved)
{
	struct facts *facts = &cut->facts;

	facts->threads = moved->threads;
	facts->thread_count = moved->thread_count;
	facts->fds = moved->fds;
	facts->fd_count = moved->fd_count;
	facts->epolls = moved->epolls;
	facts->epoll_count = moved->epoll_count;
	facts->moments = moved->moments;
	facts->moment_count = moved->moment_count;
	facts->owned = moved->owned; /* their texts */
	facts->owned_count = moved->owned_count;
	facts->owned_cap = moved->owned_cap;
}

static bool cut_state_is_detailed(void *context, int tid, int tgid)
{
	const struct cut *cut = context;

	return !cut->tids.count || map_find(&cut->tids, (uint32_t)tid) ||
	       map_find(&cut->tgids, (uint32_t)tgid);
}

/* Whoever was on a CPU that is left out would be there for ever. */
static void cut_state_save(struct cut *cut, struct state *state, struct facts *moved)
{
	const struct moment_filter filter = { cut_state_is_detailed, cut };

	state_snapshot(state, moved);
	take_lists(cut, moved);
	cut->known_threads = state_timeline(state)->thread_count;
	cut_filter_init(cut);
	if (!cut->opts->cpus && !cut->is_start)
		moment_save(state, &filter, moved);
	take_lists(cut, moved);
}

/* All events; what is known at the start of the window is saved on the way. */
static int cut_feed(struct cut *cut, struct state *state, struct facts *moved, struct err *err)
{
	struct source *source = trace_source(cut->trace);
	const struct event *event;
	uint64_t seen = 0;
	bool saved = false;
	int rc = source_seek(source, 0, err);

	while (rc >= 0 && (rc = source_next(source, &event, err)) > 0) {
		/* Names that were told before the first event of the kernel stay events. */
		if ((event->time_ns >= cut->opts->from_ns || cut->is_start) && !saved) {
			cut_state_save(cut, state, moved);
			saved = true;
		}
		state_feed(state, event);
		if (++seen % PROGRESS_EVENTS == 0 && cut->opts->progress)
			cut->opts->progress(cut->opts->context, event->time_ns);
	}
	if (!saved)
		cut_state_save(cut, state, moved);
	return rc < 0 ? err_wrap(err, "reading what is around the window") : 0;
}

/* How what was under way at the end of the window went on. Frees the timeline. */
static int save_end(struct cut *cut, struct timeline *timeline, struct index_writer *writer,
		    struct facts *moved, struct err *err)
{
	const uint32_t first = cut->known_threads;
	const struct moment_filter filter = { cut_state_is_detailed, cut };
	int rc = index_commit(writer, timeline, err);

	if (rc == 0 && !cut->opts->cpus) {
		if (!cut->is_start)
			moment_save_late(timeline, first, cut->opts->from_ns, moved);
		moment_save_end(timeline, cut->opts->to_ns, &filter, moved);
	}
	take_lists(cut, moved);
	timeline_free(timeline);
	return rc < 0 ? err_wrap(err, "keeping what is around the window") : 0;
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
	take_lists(cut, &moved);
	cut->is_start = cut->opts->from_ns <= whole->first_ns;
	moved.target_tid = whole->target_tid;
	cut->facts.first_ns = cut->opts->from_ns;
	if (cut->opts->to_ns < whole->last_ns)
		cut->facts.last_ns = cut->opts->to_ns;
	/* The timeline of before goes to a file without a name, so that memory stays flat. */
	rc = index_begin(NULL, &key, true, &writer, err);
	if (rc < 0)
		return rc;
	state = state_new(whole);
	index_attach(writer, state_timeline(state));
	rc = cut_feed(cut, state, &moved, err);
	if (rc == 0) {
		rc = save_end(cut, state_finish(state), writer, &moved, err);
	} else {
		take_lists(cut, &moved);
		timeline_free(state_finish(state));
		index_abort(writer);
	}
	cut->facts.calls = whole->calls; /* those that were met on the way, too */
	cut->facts.call_count = whole->call_count;
	return rc;
}

void cut_state_fini(struct cut *cut)
{
	struct facts moved = {
		.threads = cut->facts.threads,
		.fds = cut->facts.fds,
		.epolls = cut->facts.epolls,
		.moments = cut->facts.moments,
		.owned = cut->facts.owned,
		.owned_count = cut->facts.owned_count,
	};

	facts_fini(&moved);
	map_fini(&cut->tids);
	map_fini(&cut->tgids);
}
