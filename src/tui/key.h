/* key.h - keys that are no character, and what is typed into a line. */
#ifndef TUI_KEY_H
#define TUI_KEY_H

#include <stdbool.h>
#include <stddef.h>

enum tui_key {
	TUI_KEY_TAB = '\t',
	TUI_KEY_ENTER = '\n',
	TUI_KEY_ESCAPE = 27,
	TUI_KEY_BACKSPACE = 127,
	TUI_KEY_UP = 0x110000,
	TUI_KEY_DOWN,
	TUI_KEY_LEFT,
	TUI_KEY_RIGHT,
	TUI_KEY_PAGE_UP,
	TUI_KEY_PAGE_DOWN,
	TUI_KEY_HOME,
	TUI_KEY_END,
	TUI_KEY_F1,
	TUI_KEY_F2,
	TUI_KEY_F3,
	TUI_KEY_F4,
	TUI_KEY_F5,
	TUI_KEY_F6,
	TUI_KEY_F7,
	TUI_KEY_F8,
	TUI_KEY_F9,
	TUI_KEY_F10,
};

/*
 * Change a line of at most 'bytes' with its end by a key; bytes of UTF-8 come one by one. Returns
 * whether the key is of that kind.
 */
bool tui_key_edit(char *text, size_t bytes, int key);

#endif
