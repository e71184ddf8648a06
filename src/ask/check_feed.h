/*
 * check_feed.h - the events of a trace, for the engine of analyse/check/check.h.
 *
 * Names of events, fields and filters of a model are looked up in the trace once; then each kind
 * of event knows its patterns, and an event that the model does not ask about costs one look-up.
 */
#ifndef ASK_CHECK_FEED_H
#define ASK_CHECK_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check;
struct check_feed;
struct check_hole;
struct check_reader;
struct err;
struct event;
struct model;
struct model_errors;
struct trace;

/*
 * Look the model's names up. Returns 0 and *out_feed (free with check_feed_free()), -EINVAL with
 * errors filled when a filter is wrong, or negative with err filled. 'trace' and 'model' must
 * outlive it.
 */
int check_feed_new(struct trace *trace, const struct model *model, struct check_feed **out_feed,
		   struct model_errors *errors, struct err *err);
void check_feed_free(struct check_feed *feed); /* NULL is fine */

/* For the engine's opts. */
struct check_reader check_feed_reader(struct check_feed *feed);
const char *const *check_feed_missing(const struct check_feed *feed);

/* What threads did is told by another trace, on the same clock. */
int check_feed_use_kernel(struct check_feed *feed, struct trace *kernel, struct err *err);

/* Does the trace have events of the scheduler? */
bool check_feed_has_kernel(const struct check_feed *feed);

/* What the user should know: events and fields of the model that the trace does not have. */
size_t check_feed_notes(const struct check_feed *feed, const char *const **out_notes);

/* Where events were lost, as far as it was read. For the engine's opts of another run. */
size_t check_feed_holes(const struct check_feed *feed, const struct check_hole **out_holes);

/*
 * Of a recording that is read while it grows: the events come from 'trace', which has the same
 * kinds of events as the one that the feed was made with; that one stays open. False: it has
 * other kinds of events; the feed must be made anew.
 */
bool check_feed_use_trace(struct check_feed *feed, struct trace *trace);

/* Take over what 'before' learnt of the names of threads. */
void check_feed_take_over(struct check_feed *feed, struct check_feed *before);

/* One event, which the source of the trace gave last, for the engine. */
void check_feed_event(struct check_feed *feed, struct check *check, const struct event *event);

/* Read the whole trace into 'check', and end it. It can be done again. */
int check_feed_run(struct check_feed *feed, struct check *check, struct err *err);

#endif
