/*
 * delays_metrics.h - sums of accounts as OpenMetrics text, version 1.0.0.
 *
 * Names are escaped as the format asks; bytes that are no UTF-8, and control characters, become
 * \xNN before that.
 */
#ifndef REPORT_DELAYS_METRICS_H
#define REPORT_DELAYS_METRICS_H

#include <stdio.h>

#define REPORT_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct delays_gather;

void report_delays_metrics(FILE *out, const struct delays_gather *gather);

#endif
