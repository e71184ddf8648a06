/* follow_engine.c - one engine, and at times its successor. */
#include "ask/follow_engine.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "state/state.h"
#include "timeline/timeline.h"

#define MOST_BYTES ((size_t)64 << 20)
#define WARM_NS	   2000000000u

/* An engine and what it began with. */
struct engine {
	struct state *state;	   /* NULL = finished, or there is none */
	struct timeline *timeline; /* its own; owned once it is finished */
	struct facts *facts;	   /* owned; its lists are those of 'moved', or the recording's */
	struct facts moved;	   /* owned: these lists */
};

struct follow_engine {
	const struct facts *base;
	struct engine now, next;
	size_t most_bytes;
};

static void engine_begin(struct engine *engine, const struct facts *facts)
{
	engine->facts = xmalloc(sizeof(*facts));
	*engine->facts = *facts;
	engine->state = state_new(engine->facts);
	engine->timeline = state_timeline(engine->state);
}

/* Go on from what another one knows at 'time_ns'. */
static void engine_follow(struct engine *engine, const struct engine *before,
			  const struct facts *base, uint64_t time_ns)
{
	struct facts facts = *base;

	engine->moved = (struct facts){ 0 };
	state_snapshot(before->state, &engine->moved);
	facts.first_ns = time_ns;
	facts.threads = engine->moved.threads;
	facts.thread_count = engine->moved.thread_count;
	facts.fds = engine->moved.fds;
	facts.fd_count = engine->moved.fd_count;
	facts.epolls = engine->moved.epolls;
	facts.epoll_count = engine->moved.epoll_count;
	engine_begin(engine, &facts);
}

static void engine_fini(struct engine *engine)
{
	if (engine->state)
		engine->timeline = state_finish(engine->state);
	timeline_free(engine->timeline);
	facts_fini(&engine->moved);
	free(engine->facts);
	*engine = (struct engine){ 0 };
}

struct follow_engine *follow_engine_new(const struct facts *facts, size_t most_bytes)
{
	struct follow_engine *engine = xcalloc(1, sizeof(*engine));

	engine->base = facts;
	engine->most_bytes = most_bytes ? most_bytes : MOST_BYTES;
	engine_begin(&engine->now, facts);
	return engine;
}

void follow_engine_free(struct follow_engine *engine)
{
	if (!engine)
		return;
	engine_fini(&engine->now);
	engine_fini(&engine->next);
	free(engine);
}

void follow_engine_feed(struct follow_engine *engine, const struct event *event)
{
	state_feed(engine->now.state, event);
	if (engine->next.state)
		state_feed(engine->next.state, event);
}

void follow_engine_skip(struct follow_engine *engine, uint64_t since_ns, uint64_t until_ns)
{
	uint32_t count = engine->now.timeline->cpu_count;

	for (uint32_t cpu = 0; cpu < count; cpu++) {
		const struct event lost = {
			.time_ns = until_ns,
			.tid = -1,
			.cpu = (uint16_t)cpu,
			.type = EV_LOST,
			.lost.since_ns = since_ns,
		};

		follow_engine_feed(engine, &lost);
	}
}

/* What grows with the events. */
static size_t timeline_bytes(const struct timeline *timeline)
{
	size_t bytes = timeline->gap_cap * sizeof(*timeline->gaps);

	for (uint32_t i = 0; i < timeline->thread_count; i++) {
		const struct tl_thread *thread = timeline->threads[i];

		bytes += sizeof(*thread) + thread->track.cap * sizeof(struct track_entry) +
			 thread->wait_cap * sizeof(struct wait) +
			 thread->edge_cap * sizeof(struct tl_edge);
	}
	for (uint32_t i = 0; i < timeline->cpu_count; i++)
		bytes += timeline->cpus[i]->cap * sizeof(struct track_entry);
	return bytes;
}

void follow_engine_advance(struct follow_engine *engine, uint64_t until_ns)
{
	engine->now.timeline->end_ns = until_ns;
	if (engine->next.state)
		engine->next.timeline->end_ns = until_ns;
	else if (timeline_bytes(engine->now.timeline) > engine->most_bytes)
		engine_follow(&engine->next, &engine->now, engine->base, until_ns);
}

void follow_engine_end(struct follow_engine *engine, uint64_t end_ns)
{
	engine_fini(&engine->next);
	engine->now.facts->last_ns = end_ns;
	engine->now.timeline = state_finish(engine->now.state);
	engine->now.state = NULL;
}

const struct timeline *follow_engine_timeline(const struct follow_engine *engine)
{
	return engine->now.timeline;
}

const struct facts *follow_engine_facts(const struct follow_engine *engine)
{
	return engine->now.facts;
}

uint64_t watch_engine_origin_ns(const struct follow_engine *engine)
{
	return engine->now.timeline->origin_ns;
}

const struct timeline *follow_engine_next(const struct follow_engine *engine, uint64_t time_ns)
{
	const struct timeline *next = engine->next.timeline;

	return next && time_ns >= next->origin_ns + WARM_NS ? next : NULL;
}

void follow_engine_renewed(struct follow_engine *engine)
{
	struct engine old = engine->now;

	engine->now = engine->next;
	engine->next = (struct engine){ 0 };
	engine_fini(&old);
}
