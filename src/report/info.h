/*
 * info.h - print what is in a trace.
 */
#ifndef REPORT_INFO_H
#define REPORT_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct info;

struct report_info_opts {
	const char *path;
	uint32_t top; /* rows of event types in text; 0 = all */
	bool json;
};

void report_info(FILE *out, const struct info *info, const struct report_info_opts *opts);

/* report_info() as JSON: info_json.c */
void report_info_json(FILE *out, const struct info *info);

#endif
