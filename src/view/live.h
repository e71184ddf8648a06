/*
 * live.h - lanes of a recording while it is made, from the process that records to the one that answers.
 *
 * Both share memory, which the recorder writes; who answers has given up its rights. Of what stands there the
 * recorder believes nothing: it reads the number of the last picture alone, of which only the lowest bit counts. The picture is what a saved file holds: window, threads, lanes at one resolution.
 */
#ifndef VIEW_LIVE_H
#define VIEW_LIVE_H

struct err;
struct view;
struct view_answer;
struct view_live;

/* Before the processes part. Returns 0, or a negative errno with err filled. */
int view_live_new(struct view_live **out_live, struct err *err);

/* The recorder: the view's window as it is now, and the end. 'failure' NULL: the trace is whole. */
void view_live_put(struct view_live *live, const struct view *view);
void view_live_end(struct view_live *live, const char *failure);

/* Who answers: the last picture; and until the end. Returns 0, or -EIO with err filled. */
void view_live_answer(const struct view_live *live, struct view_answer *out_answer);
int view_live_wait(const struct view_live *live, struct err *err);

#endif
