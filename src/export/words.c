/* words.c - names of states and calls, and text that is UTF-8 in any case. */
#include "export/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"

#define REPLACEMENT "\xef\xbf\xbd"

const char *export_class_name(uint32_t class)
{
	static const char *const names[] = {
		[WHY_HELD_UP] = "held_up",
		[WHY_ASKED] = "asked",
		[WHY_IDLE] = "idle",
		[WHY_RUNS] = "runs",
	};

	return class < ARRAY_LEN(names) ? names[class] : "held_up";
}

const char *export_call_name(const struct facts *facts, int64_t nr, bool compat,
			     char buffer[EXPORT_NAME_BYTES])
{
	const char *name = facts_syscall(facts, nr, compat);

	if (name)
		return name;
	(void)snprintf(buffer, EXPORT_NAME_BYTES, "system call %" PRId64, nr);
	return buffer;
}

/* Length of what is valid from the start of 'text' on. */
static size_t valid_bytes(const char *text, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		uint32_t code;
		size_t step = (unsigned char)text[at] < 0x80 ? 1 : text_utf8(text + at, &code);

		if (step == 0 || step > bytes - at)
			break;
		at += step;
	}
	return at;
}

const char *export_utf8(const char *text, size_t max, char **room)
{
	size_t bytes = strnlen(text, max), good = valid_bytes(text, bytes);
	char *copy, *to;

	if (good == bytes && text[bytes] == '\0')
		return text;
	/* With a terminator, which text_utf8() relies on; a byte becomes three at most. */
	copy = xstrndup(text, bytes);
	free(*room);
	*room = to = xmalloc(3 * bytes + 1);
	for (size_t at = 0; at < bytes;) {
		good = valid_bytes(copy + at, bytes - at);
		memcpy(to, copy + at, good);
		to += good;
		at += good;
		if (at < bytes) {
			memcpy(to, REPLACEMENT, 3);
			to += 3;
			at++;
		}
	}
	*to = '\0';
	free(copy);
	return *room;
}
