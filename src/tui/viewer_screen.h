/* viewer_screen.h - holdup view --tui on a terminal. */
#ifndef TUI_VIEWER_SCREEN_H
#define TUI_VIEWER_SCREEN_H

#include <stdint.h>

struct err;
struct view;
struct view_live;
struct viewer_screen;

/* Can it be shown here at all? Before the trace is read. Returns 0, or -ENOTTY with err filled. */
int viewer_screen_check(struct err *err);

/*
 * Show the open trace until the user or a signal ends it; the terminal is then as it was. Returns 0, or a
 * negative errno with err filled: -ENOTTY when this is no terminal, or of no known kind.
 */
int viewer_screen_run(const struct view *view, struct err *err);

/*
 * The same in steps, for a recording that is made meanwhile: lanes of 'live' until it is over, what is done then, and
 * the trace. Each returns 0, or a negative errno with err filled; viewer_screen_close() in any case.
 */
int viewer_screen_open(struct viewer_screen **out_screen, struct err *err);
int viewer_screen_live(struct viewer_screen *screen, struct view_live *live, struct err *err);
/* While the index is built; of 0 ns nothing is known yet. */
void viewer_screen_say_read(struct viewer_screen *screen, uint64_t done_ns, uint64_t whole_ns);
int viewer_screen_show(struct viewer_screen *screen, const struct view *view, struct err *err);
void viewer_screen_close(struct viewer_screen *screen); /* NULL is fine */

#endif
