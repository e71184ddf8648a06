/*
 * events.h - the reader of single events that stays open between two questions of the same kind.
 */
#ifndef VIEW_EVENTS_H
#define VIEW_EVENTS_H

#include "ask/line_reader.h"

/* Zeroed: none is open. For one thread; its choice views what is beside it. */
struct view_events {
	char *key; /* owned; of what it reads */
	struct line_reader *reader;
	struct line_choice choice;
	char *filter, *cpus; /* owned; of the choice */
	int32_t tid;
};

void view_events_fini(struct view_events *events);

#endif
