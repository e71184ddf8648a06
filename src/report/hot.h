/* hot.h - print the result of ask/hot.h, as text for people or as JSON. */
#ifndef REPORT_HOT_H
#define REPORT_HOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyse/profile/hot.h"

struct facts;

struct report_hot_opts {
	bool json; /* with all rows */
	bool waits;
	enum hot_by by;
	uint32_t states; /* HOT_... */
	uint32_t top;	 /* rows of the text; 0 = default */
	enum hot_scope scope;
	const char *note; /* NULL = none */
};

void report_hot(FILE *out, const struct hot *hot, const struct facts *facts,
		const struct report_hot_opts *opts);

/* "the command and its descendants"; "tree". */
const char *report_hot_scope_words(enum hot_scope scope);
const char *report_hot_scope_name(enum hot_scope scope);

#endif
