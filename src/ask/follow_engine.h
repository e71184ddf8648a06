/*
 * follow_engine.h - the state engine over a recording without end.
 *
 * The timeline is in memory and grows. When it has become too large, a second engine begins with
 * what the first one knows (state_snapshot()); both are fed until the second one has seen nearly
 * every thread do something, and then takes over:
 *
 *	first   ─────────────────────────────┐ given up
 *	second              └ begins ── warm ─┴─────────────────▶
 */
#ifndef ASK_FOLLOW_ENGINE_H
#define ASK_FOLLOW_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;
struct facts;
struct timeline;
struct follow_engine;

/* 'facts' must outlive it. 'most_bytes': of a timeline; 0 = default. */
struct follow_engine *follow_engine_new(const struct facts *facts, size_t most_bytes);
void follow_engine_free(struct follow_engine *engine); /* NULL is fine */

void follow_engine_feed(struct follow_engine *engine, const struct event *event);

/* Nothing is known of [since, until): events of it were not read. */
void follow_engine_skip(struct follow_engine *engine, uint64_t since_ns, uint64_t until_ns);

/* All events before 'until_ns' were fed. */
void follow_engine_advance(struct follow_engine *engine, uint64_t until_ns);

/* No more events come; the last instant is 'end_ns'. */
void follow_engine_end(struct follow_engine *engine, uint64_t end_ns);

/* What may be asked up to where it was advanced. */
const struct timeline *follow_engine_timeline(const struct follow_engine *engine);
const struct facts *follow_engine_facts(const struct follow_engine *engine);

/* Where what is known begins that can be explained. */
uint64_t watch_engine_origin_ns(const struct follow_engine *engine);

/*
 * The timeline that should be used from 'time_ns' on, or NULL: that of before is fine.
 * Once the caller uses it, follow_engine_renewed() frees the old one.
 */
const struct timeline *follow_engine_next(const struct follow_engine *engine, uint64_t time_ns);
void follow_engine_renewed(struct follow_engine *engine);

#endif
