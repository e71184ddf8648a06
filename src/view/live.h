/*
 * live.h - lanes of a recording while it is made, from the process that records to the one that answers.
 *
 * Both share memory, which the recorder writes; who answers has given up its rights. Of what stands there the
 * recorder believes nothing: it reads the number of the last picture alone, of which only the lowest bit counts. The picture is what a saved file holds: window, threads, lanes at one resolution.
 */
#ifndef VIEW_LIVE_H
#define VIEW_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIEW_LIVE_BYTES (4u << 20)

struct err;
struct view;
struct view_answer;
struct view_live;

/* Before the processes part. Returns 0, or a negative errno with err filled. */
int view_live_new(struct view_live **out_live, struct err *err);

/* The recorder: the view's window as it is now, and the end. 'failure' NULL: the trace is whole. */
void view_live_put(struct view_live *live, const struct view *view);
void view_live_end(struct view_live *live, const char *failure);
/* A picture of another kind, at most VIEW_LIVE_BYTES of it; what is larger is left out. */
void view_live_put_bytes(struct view_live *live, const void *bytes, size_t count);

/* Who answers: the last picture; and until the end. Returns 0, or -EIO with err filled. */
void view_live_answer(const struct view_live *live, struct view_answer *out_answer);
int view_live_wait(const struct view_live *live, struct err *err);
/* 1 = recording goes on, 0 = it is over, -EIO with err filled. */
int view_live_check(const struct view_live *live, struct err *err);
/* The last picture, up to 'most' bytes. Returns how many; 0 = there is none, or a newer one took its place. */
size_t view_live_take(const struct view_live *live, void *out_bytes, size_t most);

/*
 * Of who looks in a terminal, for the recorder, who believes nothing of it: how wide pictures are to be, and how often
 * the user wanted the recording to end.
 */
void view_live_want(struct view_live *live, uint32_t width, uint32_t ends);
uint32_t view_live_width(const struct view_live *live);
uint32_t view_live_ends(const struct view_live *live);

#endif
