/* functions.h - print the result of analyse/profile/functions.h, as text for people or as JSON. */
#ifndef REPORT_FUNCTIONS_H
#define REPORT_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyse/profile/hot.h"

struct facts;
struct functions;

struct report_functions_opts {
	bool json;    /* with all rows */
	uint32_t top; /* rows of the text; 0 = default */
	bool all;     /* all of them */
	enum hot_scope scope;
};

void report_functions(FILE *out, const struct functions *functions, const struct facts *facts,
		      const struct report_functions_opts *opts);

#endif
