/*
 * why_reason.h - the words of reasons: "SIGTERM of timeout[12] ended it". Made here alone.
 */
#ifndef REPORT_WHY_REASON_H
#define REPORT_WHY_REASON_H

#include <stdint.h>

struct json;
struct why_hop;
struct why_reason;
struct why_root;

/* "" for NULL. Free it with free(). */
char *report_why_reason(const struct why_reason *reason);

/* The name, or where there is none what its data say. Free it with free(). */
char *report_why_named(const char *name, const struct why_reason *data);

/* What a root did, or where that is "" the reason for it. Free it with free(). */
char *report_why_did(const struct why_root *root);

/* What a root did, or why its idle CPU did not take the thread. Free it with free(). */
char *report_why_what(const struct why_root *root);

/* "3 things, mostly for fd 3 = /x". Free it with free(). */
char *report_why_object(const char *object, uint32_t objects);

/* The two of a root under "what" and "object", and their data. */
void report_json_what(struct json *json, const struct why_root *root);
void report_json_object(struct json *json, const char *object, uint32_t objects);

/* The same of a hop; of the last one of a chain also who had no CPU meanwhile. Free it with free(). */
char *report_why_hop_did(const struct why_hop *hop);

/* The name under 'key', or the words of its data, and these. */
void report_json_named(struct json *json, const char *key, const char *name,
		       const struct why_reason *data);

/* A text under 'key', and where there is one its data under 'key' with "_data" behind. */
void report_json_reason(struct json *json, const char *key, const struct why_reason *reason);

#endif
