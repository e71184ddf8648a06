/*
 * near.c - the few names of many that are most like a wanted one.
 */
#include "symbol/near.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define EDITS_MAX    3
#define EDITS_FAR    1000
#define CONTAINS_MIN 4 /* letters of a word that others may contain */

static size_t unlikeness(const struct near *near, const char *name)
{
	size_t bytes = strlen(near->wanted), edits;

	if (bytes >= NEAR_NAME_BYTES)
		return near->takes_any ? EDITS_FAR : SIZE_MAX;
	edits = text_edits(name, near->wanted);
	if (edits <= EDITS_MAX && edits < bytes)
		return edits;
	if (bytes >= CONTAINS_MIN && strstr(name, near->wanted))
		return EDITS_MAX + 1;
	return near->takes_any ? EDITS_FAR : SIZE_MAX;
}

void near_offer(struct near *near, const char *name)
{
	size_t edits, at = near->count;

	if (strlen(name) >= NEAR_NAME_BYTES)
		return;
	edits = unlikeness(near, name);
	if (edits == SIZE_MAX)
		return;
	for (size_t i = 0; i < near->count; i++) {
		if (!strcmp(near->names[i].name, name))
			return;
	}
	while (at > 0 && near->names[at - 1].edits > edits)
		at--;
	if (at == NEAR_MAX)
		return;
	near->count += near->count < NEAR_MAX;
	memmove(&near->names[at + 1], &near->names[at],
		(near->count - 1 - at) * sizeof(near->names[0]));
	strcpy(near->names[at].name, name);
	near->names[at].edits = edits;
}

struct near_text near_text(const struct near *near)
{
	struct near_text text = { "" };
	size_t used = 0;

	for (size_t i = 0; i < near->count; i++)
		used += (size_t)snprintf(text.s + used, sizeof(text.s) - used, "%s%s",
					 i ? ", " : "", near->names[i].name);
	for (char *at = text.s; *at; at++)
		*at = isprint((unsigned char)*at) ? *at : '?';
	return text;
}
