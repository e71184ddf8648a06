/*
 * asking.h - random traces to ask through the public API, and what is so, as plain lists.
 *
 * A trace goes through the engine twice: into memory, where the lists are taken from the raw
 * entries, and into a store with chunks of a few entries, which the API asks. With holes every
 * second time.
 *
 *	struct asking asking = asking_begin(seed);
 *	...
 *	asking_end(&asking);
 */
#ifndef ASKING_H
#define ASKING_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "query/read_int.h"
#include "random_trace.h"
#include "state/state.h"
#include "timeline/index.h"
#include "totals_twin.h"

#define ASKING_SEEDS 60
#define ASKING_STEPS 600

struct asking {
	struct text_trace *text;
	struct timeline *memory;
	struct hr_trace *trace; /* what is tested */
	struct plain *plains;	/* of each thread */
	uint64_t dice;
	uint64_t seed;
};

static inline uint64_t asking_random(struct asking *asking, uint64_t below)
{
	asking->dice ^= asking->dice << 13;
	asking->dice ^= asking->dice >> 7;
	asking->dice ^= asking->dice << 17;
	return (asking->dice >> 7) % below;
}

/* Thirty events of one CPU are taken out, and a hole says so. */
static inline void asking_cut_hole(struct asking *asking)
{
	struct text_trace *text = asking->text;
	size_t from = asking_random(asking, text->count - 40), kept = from;
	uint32_t cpu = text->events[from].cpu, lost = 0;
	uint64_t since = text->events[from].time_ns, until = 0;

	for (size_t i = from; i < text->count; i++) {
		if (i < from + 30 && text->events[i].cpu == cpu) {
			lost++;
			until = text->events[i].time_ns;
			continue;
		}
		if (lost && i >= from + 30) {
			text->events[kept++] =
				(struct event){ .type = EV_LOST,
						.tid = -1,
						.cpu = (uint16_t)cpu,
						.time_ns = until > text->events[i - 1].time_ns
								   ? until
								   : text->events[i - 1].time_ns,
						.lost = { .since_ns = since, .count = lost } };
			lost = 0;
		}
		text->events[kept++] = text->events[i];
	}
	text->count = kept;
}

static inline struct timeline *asking_store(struct text_trace *text, uint32_t chunk)
{
	static const struct index_key key = { "a key, 16 bytes" };
	struct state *state = state_new(&text->facts);
	struct index_writer *writer;
	struct timeline *tl;
	struct err err = { 0 };

	state_timeline(state)->chunk_entries = chunk;
	if (index_begin(NULL, &key, true, &writer, &err) < 0)
		fail_msg("%s", err.text);
	index_attach(writer, state_timeline(state));
	assert_int_equal(source_seek(&text->source, 0, &err), 0);
	if (state_drain(state, &text->source, NULL, NULL, &tl, &err) < 0 ||
	    index_commit(writer, tl, &err) < 0)
		fail_msg("%s", err.text);
	return tl;
}

/* The raw entries of a track in memory. */
static inline struct plain asking_plain(const struct timeline *tl, const struct track *track)
{
	bool is_cpu = track->id & TRACK_CPU;
	uint32_t none = is_cpu ? SLOT_NONE : word_make(WORD_NONE, 0);
	struct plain plain = { .is_cpu = is_cpu };

	assert_int_equal(track->base, 0); /* nothing is sealed */
	plain_add(&plain, tl->origin_ns, tl->end_ns, none);
	for (uint32_t i = 0; i < track->count; i++) {
		uint64_t at = track->tail[i].time + tl->origin_ns;

		plain.spans[plain.count - 1].end_ns = at;
		plain_add(&plain, at, tl->end_ns, track->tail[i].word);
	}
	plain.lead = 1;
	return plain;
}

static inline struct plain asking_thread(const struct timeline *tl, uint32_t slot)
{
	const struct tl_thread *thread = tl->threads[slot];
	struct plain plain = asking_plain(tl, &thread->track);

	plain.idle = thread->tid == 0;
	plain.idle_cpu = thread->idle_cpu;
	plain.wait_count = thread->wait_count;
	plain.waits = xcalloc(thread->wait_count + 1, sizeof(*plain.waits));
	for (uint32_t i = 0; i < thread->wait_count; i++)
		plain.waits[i] = thread->waits[i];
	return plain;
}

/* A trace of the API over 'tl', which it takes over. */
static inline struct hr_trace *asking_trace(struct text_trace *text, struct timeline *tl)
{
	const struct loaded loaded = { .facts = &text->facts, .timeline = tl };

	return read_trace_new(&loaded);
}

static inline struct asking asking_text(struct text_trace *text, uint64_t seed)
{
	struct asking asking = { .text = text, .seed = seed, .dice = seed * 77 + 5 };
	struct err err = { 0 };

	if (seed % 2)
		for (int i = 0; i < 3; i++)
			asking_cut_hole(&asking);
	if (state_run(&text->source, &text->facts, NULL, NULL, &asking.memory, &err) < 0)
		fail_msg("%s", err.text);
	asking.trace = asking_trace(text, asking_store(text, 4 + (uint32_t)(seed % 13)));
	asking.plains = xcalloc(asking.memory->thread_count, sizeof(*asking.plains));
	for (uint32_t slot = 0; slot < asking.memory->thread_count; slot++)
		asking.plains[slot] = asking_thread(asking.memory, slot);
	return asking;
}

static inline struct asking asking_begin(uint64_t seed)
{
	return asking_text(random_trace(seed, ASKING_STEPS, seed % 3 == 0, true), seed);
}

static inline void asking_end(struct asking *asking)
{
	for (uint32_t slot = 0; slot < asking->memory->thread_count; slot++)
		plain_fini(&asking->plains[slot]);
	free(asking->plains);
	hr_close(asking->trace);
	timeline_free(asking->memory);
	text_trace_free(asking->text);
}

static inline uint32_t asking_threads(const struct asking *asking)
{
	return asking->memory->thread_count;
}

/* A moment of the recording: any, or one at or beside which something of 'plain' begins. */
static inline uint64_t asking_moment(struct asking *asking, const struct plain *plain)
{
	uint64_t begin = asking->memory->origin_ns, end = asking->memory->end_ns;
	uint64_t at = plain->spans[asking_random(asking, plain->count)].start_ns;

	if (asking_random(asking, 3) == 0)
		at = begin + asking_random(asking, end - begin + 1);
	else
		at += asking_random(asking, 3) - 1;
	return at < begin ? begin : at > end ? end : at;
}

static inline void asking_window(struct asking *asking, const struct plain *plain,
				 uint64_t *out_start_ns, uint64_t *out_end_ns)
{
	uint64_t a = asking_moment(asking, plain), b = asking_moment(asking, plain);

	*out_start_ns = a < b ? a : b;
	*out_end_ns = a < b ? b : a;
	/* What lies outside the recording changes nothing. */
	if (asking_random(asking, 8) == 0)
		*out_start_ns = 0;
	if (asking_random(asking, 8) == 0)
		*out_end_ns = UINT64_MAX;
}

/* The last entry at or before 'at_ns'. */
static inline uint32_t asking_word(const struct plain *plain, uint64_t at_ns)
{
	uint32_t word = plain->spans[0].word;

	for (size_t i = 0; i < plain->count && plain->spans[i].start_ns <= at_ns; i++)
		word = plain->spans[i].word;
	return plain->is_cpu ? word : word_plain(word);
}

#endif
