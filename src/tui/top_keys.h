/* top_keys.h - what keys and the mouse do in holdup top. */
#ifndef TUI_TOP_KEYS_H
#define TUI_TOP_KEYS_H

#include <stdbool.h>

#include "tui/key.h"

struct top_view;

enum top_action {
	TOP_NOTHING, /* the key has no meaning here */
	TOP_REDRAW,
	TOP_CGROUPS, /* cgroups are wanted: see top_source_fill_cgroups() */
	TOP_SAMPLE,  /* threads are wanted: ask about them at once */
	TOP_RECORD,  /* record model.followed, or the selected task */
	TOP_STUCK,   /* likewise: show what it waits for now */
	TOP_WAITS,   /* the column of what tasks wait for is wanted */
	TOP_QUIT,
};

/* 'key': a character, or enum tui_key. */
enum top_action top_key_press(struct top_view *view, int key);

/* A click, with the size of the screen; 'twice': a double click. */
struct top_click {
	int row;
	int column;
	int rows;
	int columns;
	bool twice;
};

enum top_action top_mouse_click(struct top_view *view, const struct top_click *click);

#endif
