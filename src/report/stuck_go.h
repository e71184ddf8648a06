/* stuck_go.h - what goroutines wait for now, as text and as JSON. */
#ifndef REPORT_STUCK_GO_H
#define REPORT_STUCK_GO_H

#include <stdint.h>
#include <stdio.h>

struct json;
struct report_stuck;

/* Of processes whose goroutines wait for each other alone. */
void report_stuck_go_deadlocks(FILE *out, const struct report_stuck *report);

/* Of the other ones. */
void report_stuck_go_rest(FILE *out, const struct report_stuck *report);

/* In words: "deadlock: the 2 goroutines of a[3] wait for each other, by exclusion". Owned; as it comes from the program. */
char *report_stuck_go_reason(const struct report_stuck *report, int32_t tgid);

/* The goroutines of one such process. */
void report_stuck_go_met(FILE *out, const struct report_stuck *report, int32_t tgid);

/* The key "goroutines". */
void report_stuck_go_json(struct json *json, const struct report_stuck *report);

#endif
