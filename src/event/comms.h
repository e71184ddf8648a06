/*
 * comms.h - the name that every thread has at the moment, learnt from the events.
 *
 *	comms = comms_new(facts);
 *	while (source_next(...) > 0) {
 *		name = comms_find(comms, ev->tid);
 *		...
 *		comms_feed(comms, ev);
 *	}
 *
 * Used by one thread at a time. Memory grows with the range of thread ids in use: 16 bytes
 * each, 64 MiB when all of the kernel's ids are.
 */
#ifndef EVENT_COMMS_H
#define EVENT_COMMS_H

#include <stdbool.h>
#include <stdint.h>

#define COMMS_BYTES 16

struct comms;
struct event;
struct facts;

/* Begins with the threads that lived when the state was dumped; 'facts' may be freed. */
struct comms *comms_new(const struct facts *facts);
void comms_free(struct comms *comms);

/* Learn from an event what it tells. */
void comms_feed(struct comms *comms, const struct event *ev);

/*
 * COMMS_BYTES bytes, without a terminator when the name is so long: "<idle>" for thread 0,
 * "<...>" when it is not known. Valid until the next comms_feed().
 */
const char *comms_find(const struct comms *comms, int32_t tid);
bool comms_knows(const struct comms *comms, int32_t tid);

#endif
