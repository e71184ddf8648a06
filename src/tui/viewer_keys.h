/* viewer_keys.h - what keys and the mouse do in holdup view --tui. */
#ifndef TUI_VIEWER_KEYS_H
#define TUI_VIEWER_KEYS_H

#include "tui/key.h"

struct err;
struct explanation;
struct verdict_ask;
struct viewer;

enum viewer_action {
	VIEWER_NOTHING, /* the key has no meaning here */
	VIEWER_REDRAW,
	VIEWER_EXPLAIN, /* ask for another answer, which takes time: viewer_key_explain() */
	VIEWER_QUIT,
};

/* 'key': a character, or enum tui_key. */
enum viewer_action viewer_key_press(struct viewer *viewer, int key);

/* What VIEWER_EXPLAIN wants; should it fail, the message says why. */
void viewer_key_explain(struct viewer *viewer);
/* The same when somebody else explained viewer->wanted: what verdict_of() said, and its answer. */
void viewer_key_explained(struct viewer *viewer, const struct verdict_ask *ask, int rc,
			  const struct explanation *answer, const struct err *err);

#endif
