/*
 * sampled.h - print what looks at intervals found (stuck/sampled.h), as text or as JSON.
 */
#ifndef REPORT_SAMPLED_H
#define REPORT_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sampled;

/* 'is_command': they were begun for this, and can be begun again. */
void report_sampled_text(FILE *out, const struct sampled *sampled, uint32_t top, bool is_command);
void report_sampled_json(FILE *out, const struct sampled *sampled);

#endif
