/*
 * event_filter.h - libtraceevent's filter language over the records of a recording.
 *
 * The library trusts formats and records; what it is given here is made anew from
 * the fields that were found sound, and records lie in a buffer that any offset a
 * format can hold stays within.
 */
#ifndef READ_EVENT_FILTER_H
#define READ_EVENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct event_filter;
struct formats;

/*
 * Compile 'expression': "EVENT", "EVENT:FIELD OP VALUE ...", "SYSTEM/EVENT:..." or
 * "SYSTEM:EVENT:...". Returns 0 and *out_filter (free with event_filter_free()), or
 * -EINVAL with err filled. Not shared between threads.
 */
int event_filter_new(const char *expression, const struct formats *formats, bool big_endian,
		     uint32_t long_bytes, struct event_filter **out_filter, struct err *err);
void event_filter_free(struct event_filter *filter);

/* Does the filter say anything about events with this number? */
bool event_filter_wants(const struct event_filter *filter, uint16_t id);

/* Does it match this record? Costs some 100 ns: ask event_filter_wants() first. */
bool event_filter_match(struct event_filter *filter, const uint8_t *data, uint32_t bytes);

#endif
