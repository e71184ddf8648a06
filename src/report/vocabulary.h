/*
 * vocabulary.h - the objects that all JSON reports share, so that each has one shape.
 *
 * docs/schema/common.schema.json describes them; times are integers in ns on the trace's clock.
 */
#ifndef REPORT_VOCABULARY_H
#define REPORT_VOCABULARY_H

#include <stdint.h>

#include "analyse/stats/states.h"
#include "base/json.h"

struct facts;
struct why_thread;
struct why_wait;

/* Raised when a key of any report changes its meaning or goes. docs/json-changes.tsv has all changes. */
#define VOCABULARY_VERSION 2

/* Begin a report, which is the object 'key' or NULL: {"holdup": VERSION, "report": NAME ... */
void report_json_begin(struct json *json, const char *key, const char *name);

/* {"tid","tgid","comm"}; null where no thread is known. */
void report_json_thread(struct json *json, const char *key, const struct why_thread *thread);

/* "tid", "tgid" and "comm" as keys of the object that is open, 0 and "" where no thread is known. */
void report_json_thread_keys(struct json *json, const struct why_thread *thread);

/* The object "woken_by" is begun, with "kind", the thread's keys, "name" and "state": what ended a wait. */
void report_json_begin_waker(struct json *json, const struct why_wait *wait);

/* "window":{"start_ns","end_ns"} */
void report_json_window(struct json *json, uint64_t start_ns, uint64_t end_ns);

/* "working_ns", "interrupted_ns", "blocked_ns", "uncertain_ns" as keys of the object that is open. */
void report_json_wib(struct json *json, uint64_t working_ns, uint64_t interrupted_ns,
		     uint64_t blocked_ns, uint64_t uncertain_ns);

/* "start_ns", "end_ns", "ns", "wib", "state", "cpu" and of a wait "object", "stack", "woken_by". */
void report_json_span(struct json *json, const struct states_span *span);

/* "working", "interrupted", "blocked", "uncertain"; "" = the thread was not there. */
const char *report_wib_name(enum wib wib);

/* "repairs":{"count","exact"}: switches that were not recorded, and placed exactly. */
void report_json_repairs(struct json *json, uint64_t count, uint64_t exact);

/* How many frames have no name because that was left to later; NULL = none. Free it. */
char *report_unnamed_words(const struct facts *facts);

/* "missing":[{"what","why"}]: what was not recorded, and the same of names. */
void report_json_missing(struct json *json, const struct facts *facts);

/* "damage":[text]: of the trace, and 'more' if it is not NULL. */
void report_json_damage(struct json *json, const struct facts *facts, const char *more);

/* "steps":[{"since_ns","step","cost_ppm","records","lacks"}]: when a budget changed what was recorded. */
void report_json_steps(struct json *json, const struct facts *facts);

/* What a step of a budget records: "all that was asked for"; enum record_step. */
const char *report_step_words(uint32_t step, bool has_lean_steps);

/* And what cannot be told of that time; "" = nothing is missing. */
const char *report_step_lacks(uint32_t step, bool has_lean_steps);

#endif
