/* lane.c - the memory of batches. */
#include "read/lane.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define BATCH_BYTES (BATCH_EVENTS * sizeof(struct cell))

struct chunk *chunk_get(struct lane *lane)
{
	struct chunk *chunk = lane->spare;

	if (chunk)
		lane->spare = chunk->next;
	else
		chunk = xmalloc(sizeof(*chunk) + lane->chunk_bytes);
	chunk->next = NULL;
	chunk->uses = 1;
	return chunk;
}

/* The one used last is the next one used: it is still in the cache. */
void chunk_put(struct lane *lane, struct chunk *chunk)
{
	if (!chunk || --chunk->uses)
		return;
	chunk->next = lane->spare;
	lane->spare = chunk;
}

void lane_fini(struct lane *lane)
{
	while (lane->spare) {
		struct chunk *chunk = lane->spare;

		lane->spare = chunk->next;
		free(chunk);
	}
}

void batch_init(struct batch *batch)
{
	*batch = (struct batch){ .max = BATCH_EVENTS, .cells = mem_pages(BATCH_BYTES) };
}

void batch_fini(struct batch *batch, struct lane *lane)
{
	batch_clear(batch, lane);
	mem_pages_free(batch->cells, BATCH_BYTES);
	*batch = (struct batch){ 0 };
}

void batch_clear(struct batch *batch, struct lane *lane)
{
	chunk_put(lane, batch->chunk);
	batch->chunk = NULL;
	batch->count = 0;
	batch->note_count = 0;
}

void batch_note(struct batch *batch, uint64_t place, const char *format, ...)
{
	struct batch_note *note = &batch->notes[batch->note_count];
	va_list args;

	if (batch->note_count == BATCH_NOTES)
		return;
	note->place = place;
	va_start(args, format);
	vsnprintf(note->text, sizeof(note->text), format, args);
	va_end(args);
	batch->note_count++;
}
