/* viewer_screen.h - holdup view --tui on a terminal. */
#ifndef TUI_VIEWER_SCREEN_H
#define TUI_VIEWER_SCREEN_H

struct err;
struct view;

/* Can it be shown here at all? Before the trace is read. Returns 0, or -ENOTTY with err filled. */
int viewer_screen_check(struct err *err);

/*
 * Show the open trace until the user or a signal ends it; the terminal is then as it was. Returns 0, or a
 * negative errno with err filled: -ENOTTY when this is no terminal, or of no known kind.
 */
int viewer_screen_run(const struct view *view, struct err *err);

#endif
