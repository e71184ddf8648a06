/*
 * why_reason.h - the words of reasons: "SIGTERM of timeout[12] ended it". Made here alone.
 */
#ifndef REPORT_WHY_REASON_H
#define REPORT_WHY_REASON_H

struct json;
struct why_hop;
struct why_reason;
struct why_root;

/* "" for NULL. Free it with free(). */
char *report_why_reason(const struct why_reason *reason);

/* What a root did, or where that is "" the reason for it. Free it with free(). */
char *report_why_did(const char *what, const struct why_reason *why);

/* What a root did, or why its idle CPU did not take the thread; and the same under "what". Free it with free(). */
char *report_why_what(const struct why_root *root);
void report_json_what(struct json *json, const struct why_root *root);

/* The same of a hop; of the last one of a chain also who had no CPU meanwhile. Free it with free(). */
char *report_why_hop_did(const struct why_hop *hop);

/* A text under 'key', and where there is one its data under 'key' with "_data" behind. */
void report_json_reason(struct json *json, const char *key, const struct why_reason *reason);

#endif
