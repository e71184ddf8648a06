/* lane.c - the memory of a batch. */
#include "read/lane.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "event/event.h"
#include "read/read.h"

void batch_init(struct batch *batch, const struct lane *lane)
{
	*batch = (struct batch){ 0 };
	/* Not cleared: most of it is never touched. */
	batch->events = xmalloc(lane->max_events * sizeof(*batch->events));
	if (lane->keep_records)
		batch->records = xcalloc(lane->max_events, sizeof(*batch->records));
	batch->max = lane->max_events;
	batch->chunk = xcalloc(lane->chunk_bytes ? lane->chunk_bytes : 1, 1);
}

void batch_fini(struct batch *batch)
{
	free(batch->events);
	free(batch->records);
	free(batch->chunk);
	*batch = (struct batch){ 0 };
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
