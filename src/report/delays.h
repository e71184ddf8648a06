/* delays.h - print the accounts of delays/, as text for people or as JSON. */
#ifndef REPORT_DELAYS_H
#define REPORT_DELAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct delays_delta;
struct delays_heard;
struct delays_message;
struct delays_rows;
struct delays_sample;

struct report_delays_opts {
	bool json;
	uint32_t top;	       /* rows of text; 0 = as many as fit a page */
	const char *why_not;   /* why it is not from the kernel's accounting; NULL = it is */
	const char *host;      /* JSON: where it was saved; NULL = not told */
	const char *trace;     /* it is computed from this; NULL = it is not */
	uint64_t uncertain_ns; /* with trace: of all tasks, in no time here */
	uint64_t lost;	       /* with trace: events */
	const char *needs; /* with trace: what is missing for classes that are; NULL = nothing */
	uint64_t interval; /* number of this one, from 1; 0 = since the start of each task */
};

/* Since the start of each task. */
void report_delays(FILE *out, const struct delays_sample *sample, const struct delays_rows *rows,
		   const struct report_delays_opts *opts);

/* What came between two samples; 'after' is the later one. JSON: one line for each interval. */
void report_delays_delta(FILE *out, const struct delays_sample *after,
			 const struct delays_delta *delta, const struct delays_rows *rows,
			 const struct report_delays_opts *opts);

/* Exits added up. */
void report_delays_heard(FILE *out, const struct delays_heard *heard,
			 const struct report_delays_opts *opts);

/* One exit as a line of JSON. */
void report_delays_exit(FILE *out, const struct delays_message *exit, uint64_t time_ns);

#endif
