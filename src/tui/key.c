/* key.c - see key.h. */
#include "tui/key.h"

#include <string.h>

bool tui_key_edit(char *text, size_t bytes, int key)
{
	size_t length = strlen(text);

	if (key == TUI_KEY_BACKSPACE) {
		while (length && ((unsigned char)text[--length] & 0xc0) == 0x80) /* a whole one */
			;
		text[length] = '\0';
		return true;
	}
	if (key < ' ' || key > 255 || length + 1 >= bytes)
		return false;
	text[length] = (char)key;
	text[length + 1] = '\0';
	return true;
}
