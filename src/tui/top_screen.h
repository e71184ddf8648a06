/* top_screen.h - holdup top on a terminal, or as text frame by frame. */
#ifndef TUI_TOP_SCREEN_H
#define TUI_TOP_SCREEN_H

#include <stdint.h>

struct err;
struct top_source;
struct top_task;
struct top_view;

struct top_screen_opts {
	uint64_t interval_ns;
	uint64_t count; /* end after so many intervals; 0 = by a key or signal */
	int columns;	/* of text frames */
	/*
	 * Called with the terminal as it was; prints on it and waits for the user. Signals of the terminal
	 * are blocked: a child must unblock them.
	 */
	void (*on_record)(const struct top_task *task);
	void (*on_stuck)(const struct top_task *task); /* likewise */
	/* Where view->waits.is_shown, before each frame: put there what tasks of the page wait for. */
	void (*on_waits)(void *context, struct top_view *view);
	void *context;
};

/*
 * Show it until the user or a signal ends it; the terminal is then as it was. Returns 0, or a
 * negative errno with err filled: -ENOTTY when this is no terminal, or of no known kind.
 */
int top_screen_run(struct top_view *view, struct top_source *source,
		   const struct top_screen_opts *opts, struct err *err);

/* Print each interval on stdout. Returns 0, or a negative errno with err filled. */
int top_batch_run(struct top_view *view, struct top_source *source,
		  const struct top_screen_opts *opts, struct err *err);

#endif
