/*
 * json.h - write JSON to a FILE as it comes, without building it in memory.
 *
 *	struct json json = { .out = stdout };
 *
 *	json_begin_object(&json, NULL);
 *	json_print_u64(&json, "lost_events", 0);
 *	json_begin_array(&json, "verdict");
 *	json_print_string(&json, NULL, "an element has no key");
 *	json_end_array(&json);
 *	json_end_object(&json);
 *	json_fini(&json);
 *
 * The key is NULL for the outermost value and inside arrays. Strings that are not
 * valid UTF-8 have the bad bytes replaced by U+FFFD, so that the output always
 * parses; characters that a terminal would obey, or not show, are \u escapes. Failures of the FILE stay in the FILE: see ferror().
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 1024 /* going deeper is a mistake of the caller: asserted */

struct json {
	FILE *out;
	uint32_t depth;
	bool filled[JSON_MAX_DEPTH]; /* something stands at this depth already */
};

void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);
void json_print_u64(struct json *json, const char *key, uint64_t value);
void json_print_i64(struct json *json, const char *key, int64_t value);
/* 'digits': a number as JSON writes it. */
void json_print_number(struct json *json, const char *key, const char *digits);
/* A value that is JSON already. */
void json_print_made(struct json *json, const char *key, const char *text);
void json_print_bool(struct json *json, const char *key, bool value);
void json_print_null(struct json *json, const char *key);
void json_print_string(struct json *json, const char *key,
		       const char *value); /* NULL prints null */

/* part / whole with six decimals; 0 when 'whole' is 0. */
void json_print_share(struct json *json, const char *key, uint64_t part, uint64_t whole);

/* End the line. Everything begun must have been ended. */
void json_fini(struct json *json);

#endif
