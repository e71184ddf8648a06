/* json_text.c - \xNN for bytes within a string, \uNNNN for characters of a whole file. */
#include "store/json_text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define CODED_BYTES 4u /* \xNN */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that "\xNN" at 'text' stands for; -1 when it is just text. */
static int coded_byte(const char *text)
{
	int high, low, byte;

	if (text[0] != '\\' || text[1] != 'x' || (high = digit(text[2])) < 0 ||
	    (low = digit(text[3])) < 0)
		return -1;
	byte = high << 4 | low;
	return byte >= 0x80 || byte == '\\' ? byte : -1;
}

char *json_text_coded(const char *bytes)
{
	size_t count = bytes ? strlen(bytes) : 0;
	char *coded = xmalloc(count * CODED_BYTES + 1), *to = coded;

	for (size_t at = 0; at < count;) {
		uint32_t code;
		size_t len = text_utf8(bytes + at, &code);

		if (len && coded_byte(bytes + at) < 0) {
			memcpy(to, bytes + at, len);
			to += len;
		} else {
			to += sprintf(to, "\\x%02x", (unsigned char)bytes[at]);
		}
		at += len ? len : 1;
	}
	*to = '\0';
	return coded;
}

char *json_text_bytes(const char *text)
{
	char *bytes = xmalloc(strlen(text) + 1), *to = bytes;

	while (*text) {
		int byte = coded_byte(text);

		*to++ = byte < 0 ? *text : (char)byte;
		text += byte < 0 ? 1 : CODED_BYTES;
	}
	*to = '\0';
	return bytes;
}

/* The character at 'at', which may be cut by the end. */
static size_t character(const char *json, size_t bytes, size_t at, uint32_t *out_code)
{
	char copy[5] = { 0 };

	memcpy(copy, json + at, bytes - at < 4 ? bytes - at : 4);
	return text_utf8(copy, out_code);
}

char *json_text_ascii(const char *json, size_t bytes, size_t *out_bytes, size_t *out_bad)
{
	char *ascii = xmalloc(bytes * 3 + 1), *to = ascii; /* 2 bytes become 6, 4 become 12 */

	for (size_t at = 0; at < bytes;) {
		uint32_t code;
		size_t len;

		if ((unsigned char)json[at] < 0x80) {
			*to++ = json[at++];
			continue;
		}
		len = character(json, bytes, at, &code);
		if (!len) {
			*out_bad = at;
			free(ascii);
			return NULL;
		}
		to = stpcpy(to, text_json_escape(code).s);
		at += len;
	}
	*to = '\0';
	*out_bytes = (size_t)(to - ascii);
	return ascii;
}
