/*
 * state.h - turn events into what every thread was in, and why it waited.
 *
 * The engine keeps a control-flow stack per thread, as in "The LTTV Delay
 * Analyzer", and writes each change of its top into a timeline, each wait with
 * who ended it. It never assumes that it saw the start of anything, nor that
 * every switch was recorded: the thread recorded with any event runs on that CPU.
 *
 *	state = state_new(facts);
 *	while (source_next(...) > 0)
 *		state_feed(state, ev);
 *	timeline = state_finish(state);
 *
 * One thread at a time. After set-up it allocates only when a thread, a wait or
 * a name is new, in doubling steps: nothing per event.
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include <stdint.h>

struct err;
struct event;
struct facts;
struct source;
struct state;
struct timeline;

/* 'facts' may be empty and must live until state_finish(). */
struct state *state_new(const struct facts *facts);

/* Take one event. Events come in time order. Never fails: what cannot be true is counted. */
void state_feed(struct state *state, const struct event *ev);

/*
 * The control-flow stack of thread 'tid' (0: the idle task of 'cpu') as it is now: words of
 * timeline.h, the outermost first, the scheduled-out state last when it is not on a CPU.
 * Returns how many there are, at most STATE_FRAMES; 0 = the thread is not known.
 */
#define STATE_FRAMES 13
uint32_t state_frames(const struct state *state, int32_t tid, uint32_t cpu,
		      uint32_t out_words[STATE_FRAMES]);

/*
 * The threads that live now, and what the descriptors of their processes name: appended to the
 * empty lists of 'out', which keeps the texts. For a recording that begins at this moment.
 */
void state_snapshot(const struct state *state, struct facts *out);

/* What is written so far: to be given a store (timeline/index.h) before the first event. */
struct timeline *state_timeline(struct state *state);

/* End: everything open is closed at the last instant known. Frees the engine. */
struct timeline *state_finish(struct state *state);

/*
 * Feed 'source' to its end and finish. 'progress' may be NULL; it is called about every million
 * events. Returns 0 with *out_timeline, or what source_next() failed with. The engine is freed.
 */
int state_drain(struct state *state, struct source *source,
		void (*progress)(void *context, uint64_t time_ns), void *context,
		struct timeline **out_timeline, struct err *err);

/*
 * All of it: read 'source' to its end. 'progress' may be NULL; it is called about every million
 * events. Returns 0 with *out_timeline (free with timeline_free()) or what source_next() failed with.
 */
int state_run(struct source *source, const struct facts *facts,
	      void (*progress)(void *context, uint64_t time_ns), void *context,
	      struct timeline **out_timeline, struct err *err);

#endif
