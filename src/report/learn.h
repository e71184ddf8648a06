/* learn.h - what was learned, as a model that a person can read and edit. */
#ifndef REPORT_LEARN_H
#define REPORT_LEARN_H

#include <stdbool.h>
#include <stdio.h>

struct learn;

struct report_learn {
	struct learn *learn;
	const char *name; /* of the model */
	const char *key;  /* as in a model */
	double margin;
	/* Only what is to be measured, with constraints that always hold. */
	bool is_measuring;
};

void report_learn(FILE *out, const struct report_learn *report);

#endif
