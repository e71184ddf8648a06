/* stored.h - a trace as a timeline on disk, in chunks of a few entries. */
#ifndef STORED_H
#define STORED_H

#include "timeline/index.h"
#include "told.h"

/* In 'dir', or in a file without a name where that is NULL. */
static inline struct timeline *stored_timeline(struct text_trace *trace, const char *dir,
					       const struct index_key *key, uint32_t chunk)
{
	struct state *state = state_new(&trace->facts);
	struct index_writer *writer;
	struct timeline *tl;
	struct err err = { 0 };

	state_timeline(state)->chunk_entries = chunk;
	state_timeline(state)->mark_every = 1 + chunk % 5;
	if (index_begin(dir, key, true, &writer, &err) < 0)
		fail_msg("%s", err.text);
	index_attach(writer, state_timeline(state));
	assert_int_equal(source_seek(&trace->source, 0, &err), 0);
	if (state_drain(state, &trace->source, NULL, NULL, &tl, &err) < 0 ||
	    index_commit(writer, tl, &err) < 0)
		fail_msg("%s", err.text);
	return tl;
}

#endif
