/*
 * flight_event.h - a kernel event, or a point in a program, as a trigger: a tracefs instance in which it alone is on.
 *
 * The kernel filters, and wakes who polls. After the first event it is switched off until it is armed
 * again, so that an event that happens all the time costs next to nothing between two snapshots.
 */
#ifndef RECORD_FLIGHT_EVENT_H
#define RECORD_FLIGHT_EVENT_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct flight_event;

/*
 * 'name': "system/event". 'filter': as the kernel takes it; NULL = none. It is armed. Call it before threads
 * are started. Returns 0 and *out_event, to be freed with flight_event_close(), or a negative errno with
 * err filled: -ENOENT there is no such event, -EINVAL the kernel refuses the filter.
 */
int flight_event_open(const char *name, const char *filter, struct flight_event **out_event,
		      struct err *err);

/*
 * The same of a point in a program: 'point' as --probe or, with 'is_usdt', --usdt of record take it, with the
 * program named. The kernel knows it as long as it is open. -ENOENT: there is no such program or point.
 */
int flight_event_open_point(const char *point, bool is_usdt, struct flight_event **out_event,
			    struct err *err);

/*
 * The point alone, switched off: as long as it is open, the kernel has an event flight_event_place(event, 0), 1 ... for
 * each of its places; NULL behind the last one. Views.
 */
int flight_event_make_point(const char *point, bool is_usdt, struct flight_event **out_event,
			    struct err *err);
const char *flight_event_group(const struct flight_event *event);
const char *flight_event_place(const struct flight_event *event, size_t index);

/* Ready for POLLIN when it has happened; -1 = it is not armed, or 'event' is NULL. */
int flight_event_fd(const struct flight_event *event);

/*
 * It has happened: switch it off. Returns the kernel's line about the first one, in which the thread has its name of now,
 * and which is anybody's text, to be freed; NULL: it has not.
 */
char *flight_event_take(struct flight_event *event);

/* Wait for the next one. NULL and an armed one are fine. */
void flight_event_arm(struct flight_event *event);

/* NULL is fine. */
void flight_event_close(struct flight_event *event);

/* Each run of spaces is one, none in front and none at the end, in place. Exported for tests. */
void flight_event_squeeze(char *line);

#endif
