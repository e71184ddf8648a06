/*
 * breakdown_int.h - what the files that print a struct breakdown share.
 */
#ifndef REPORT_BREAKDOWN_INT_H
#define REPORT_BREAKDOWN_INT_H

#include <stdio.h>

struct breakdown;
struct breakdown_line;
struct breakdown_wait;
struct facts;

/* What the process was in. */
const char *breakdown_line_name(const struct breakdown_line *line);

/* "wait4, a child; woken by make[512]": free it with free(). */
char *breakdown_wait_text(const struct breakdown_wait *wait);

void breakdown_json(FILE *out, const struct breakdown *breakdown, const struct facts *facts);

#endif
