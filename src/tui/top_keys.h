/* top_keys.h - what keys and the mouse do in holdup top. */
#ifndef TUI_TOP_KEYS_H
#define TUI_TOP_KEYS_H

#include <stdbool.h>

struct top_view;

/* Keys that are no character. */
enum top_key {
	TOP_KEY_ENTER = '\n',
	TOP_KEY_ESCAPE = 27,
	TOP_KEY_BACKSPACE = 127,
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_F1,
	TOP_KEY_F2,
	TOP_KEY_F3,
	TOP_KEY_F4,
	TOP_KEY_F5,
	TOP_KEY_F6,
	TOP_KEY_F7,
	TOP_KEY_F8,
	TOP_KEY_F9,
	TOP_KEY_F10,
};

enum top_action {
	TOP_NOTHING, /* the key has no meaning here */
	TOP_REDRAW,
	TOP_CGROUPS, /* cgroups are wanted: see top_source_fill_cgroups() */
	TOP_SAMPLE,  /* threads are wanted: ask about them at once */
	TOP_RECORD,  /* record model.followed, or the selected task */
	TOP_QUIT,
};

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
