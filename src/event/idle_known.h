/* idle_known.h - where threads of known programs wait for work: known.idle, as a text. */
#ifndef EVENT_IDLE_KNOWN_H
#define EVENT_IDLE_KNOWN_H

#include <stddef.h>

extern const unsigned char idle_known[];
extern const size_t idle_known_bytes;

#endif
