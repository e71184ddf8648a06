/* verify.h - print the result of analyse/verify/verify.h, as text for people or as JSON. */
#ifndef REPORT_VERIFY_H
#define REPORT_VERIFY_H

#include <stdbool.h>
#include <stdio.h>

struct facts;
struct verify;
struct verify_broken;

struct report_verify_opts {
	const char *path; /* what the user called the trace */
	bool json;
};

void report_verify(FILE *out, const struct verify *verify, const struct facts *facts,
		   const struct report_verify_opts *opts);

/* What a check makes sure of: "time does not go back within a stream". By enum verify_check. */
extern const char *const report_verify_checks[];

/* What was found, as a sentence; free it. */
char *report_verify_broken(const struct verify *verify, const struct verify_broken *broken);

#endif
