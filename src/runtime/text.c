/* text.c - text without allocating. */
#include "runtime/text.h"

#include <string.h>

void text_begin(struct text *text, char *data, size_t size)
{
	*text = (struct text){ .data = data, .size = size };
	if (size)
		data[0] = '\0';
}

void text_bytes(struct text *text, const char *bytes, size_t count)
{
	if (text->size - text->length <= count) {
		text->cut = true;
		return;
	}
	memcpy(text->data + text->length, bytes, count);
	text->length += count;
	text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
	text_bytes(text, string, strlen(string));
}

void text_number(struct text *text, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	text_bytes(text, digits + at, sizeof(digits) - at);
}

void text_signed(struct text *text, int64_t number)
{
	if (number < 0)
		text_add(text, "-");
	text_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void text_hex(struct text *text, uint64_t number, unsigned digits)
{
	while (digits--)
		text_bytes(text, &"0123456789abcdef"[number >> (4 * digits) & 15], 1);
}
