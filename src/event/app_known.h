/* app_known.h - the table of known points that is built in: known.app, as a text. */
#ifndef EVENT_APP_KNOWN_H
#define EVENT_APP_KNOWN_H

#include <stddef.h>

extern const unsigned char app_known[];
extern const size_t app_known_bytes;

#endif
