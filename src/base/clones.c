/* clones.c - see clones.h. */
#include "base/clones.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

static const char *const clones[] = { "constprop", "part", "isra",	 "cold",
				      "lto_priv",  "llvm", "localalias", "str" };

static bool clones_is_one(const char *word, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(clones); i++) {
		if (strlen(clones[i]) == bytes && strncmp(word, clones[i], bytes) == 0)
			return true;
	}
	return false;
}

size_t clones_plain_bytes(const char *symbol)
{
	const char *dot = symbol[0] ? strchr(symbol + 1, '.') : NULL;

	for (; dot; dot = strchr(dot + 1, '.')) {
		if (clones_is_one(dot + 1, strcspn(dot + 1, ".")))
			return (size_t)(dot - symbol);
	}
	return strlen(symbol);
}
