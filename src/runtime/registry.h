/*
 * registry.h - the events that the process has declared, and their description as metadata.
 *
 * Copies everything: the library that declared an event may be unloaded.
 * Any thread, but not in signal handlers; one at a time (registry_lock()).
 */
#ifndef RUNTIME_REGISTRY_H
#define RUNTIME_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct holdup_control_;
struct holdup_event_;

/*
 * Take up the events between the two places: sets event->number. Returns true when one was
 * not known yet; their descriptions then end the text of registry_metadata(). What there is no
 * room for (64th class, 1025th event of a class) keeps number 0, and is never on.
 */
bool registry_add(struct holdup_event_ *const *from, struct holdup_event_ *const *to);

/* Forget the places, which go away; not the events. */
void registry_remove(struct holdup_event_ *const *from);

/* Is the event of this number on, by the rules of 'control'? Signal safe. */
bool registry_allows(const struct holdup_control_ *control, uint32_t number);

/* Descriptions of all events so far, as TSDL. Grows, never moves. Signal safe. */
const char *registry_metadata(size_t *out_bytes);

/* Write mask and names of 'control', and the events' ids, as its rules say. Signal safe. */
void registry_apply(struct holdup_control_ *control);

#endif
