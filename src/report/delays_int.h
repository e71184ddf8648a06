/* delays_int.h - what the files that print delays share. */
#ifndef REPORT_DELAYS_INT_H
#define REPORT_DELAYS_INT_H

#include <stdint.h>
#include <stdio.h>

#include "accounts/rank.h"
#include "accounts/sample.h"

struct json;
struct report_delays_opts;

/* The members of an object that every report has about the accounting. */
void delays_json_source(struct json *json, const struct delays_sample *sample);

/* "delays": an object with a member for each class, null where it is not counted. */
void delays_json_classes(struct json *json, const struct delays_stats *stats);

/* "io", "memory", "switches", "faults": objects, or null. 'exact': I/O was not rounded. */
void delays_json_rest(struct json *json, const struct delays_stats *stats, bool exact);

void delays_json(FILE *out, const struct delays_sample *sample, const struct delays_delta *delta,
		 const struct delays_rows *rows, const struct report_delays_opts *opts);

/* Total, share of 'base_ns', count, average, min and max of each class. */
void delays_text_classes(FILE *out, const struct delays_stats *stats, uint64_t base_ns);

/* Lines on switches, faults, I/O and memory. */
void delays_text_rest(FILE *out, const struct delays_stats *stats, bool exact);

#endif
