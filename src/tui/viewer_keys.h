/* viewer_keys.h - what keys and the mouse do in holdup view --tui. */
#ifndef TUI_VIEWER_KEYS_H
#define TUI_VIEWER_KEYS_H

#include "tui/key.h"

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

#endif
