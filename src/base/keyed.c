/* keyed.c - look for the line of a key. */
#include "base/keyed.h"

#include <string.h>

#include "base/text.h"

bool keyed_find(const char *text, const char *key, char *out, size_t room)
{
	size_t length = strlen(key), bytes;

	while (*text && (strncmp(text, key, length) != 0 || text[length] != ' ')) {
		text = strchrnul(text, '\n');
		text += *text == '\n';
	}
	if (!*text)
		return false;
	text += length + 1;
	bytes = strcspn(text, "\n");
	if (bytes == 0 || bytes >= room || text[bytes] != '\n')
		return false;
	memcpy(out, text, bytes);
	out[bytes] = '\0';
	return true;
}

bool keyed_find_u64(const char *text, const char *key, uint64_t *out_value)
{
	char word[32];

	return keyed_find(text, key, word, sizeof(word)) && text_parse_u64(word, out_value);
}
