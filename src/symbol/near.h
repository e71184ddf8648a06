/*
 * near.h - the few names of many that are most like a wanted one.
 */
#ifndef SYMBOL_NEAR_H
#define SYMBOL_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEAR_MAX	4
#define NEAR_NAME_BYTES 64

struct near {
	const char *wanted;
	bool takes_any; /* also names that are not like it at all */
	size_t count;
	struct {
		char name[NEAR_NAME_BYTES];
		size_t edits;
	} names[NEAR_MAX]; /* the most similar first; the earlier one of equals */
};

/* Look at one name; each is kept once. Long ones are passed over. */
void near_offer(struct near *near, const char *name);

struct near_text {
	char s[NEAR_MAX * (NEAR_NAME_BYTES + 2) + 1];
};

/* "work, worker"; safe on a terminal. */
struct near_text near_text(const struct near *near);

#endif
