/* answer_int.h - what the files that answer share. */
#ifndef VIEW_ANSWER_INT_H
#define VIEW_ANSWER_INT_H

#include <stdio.h>

#include "base/json.h"
#include "view/answer.h"
#include "view/query.h"

struct outbuf;
struct err;
struct timeline;
struct why_thread;

/* A JSON answer while it is written. */
struct view_json {
	struct json json;
	FILE *out;
	char *bytes;
	size_t count;
};

void view_json_begin(struct view_json *json);
void view_json_end(struct view_json *json, struct view_answer *out_answer);

/* A part of an answer: nothing is begun, and nothing ended. Returns the text, which is the caller's. */
void view_json_open(struct view_json *json);
char *view_json_close(struct view_json *json);

/* A text out of the trace: escaped as for a terminal. NULL prints null. */
void view_json_text(struct json *json, const char *key, const char *text);
/* The same of a text that is owned: it is freed. */
void view_json_own_text(struct json *json, const char *key, char *text);

/* ns since the begin of the timeline. */
void view_json_time(struct json *json, const char *key, const struct view *view, uint64_t time_ns);

/* {"lane","tid","tgid","comm"}, as it was called at 'time_ns'; null where no thread is known. */
void view_json_thread(struct json *json, const char *key, const struct view *view,
		      const struct why_thread *thread, uint64_t time_ns);
/* The same of a slot. */
void view_json_slot(struct json *json, const char *key, const struct view *view, uint32_t slot);

/* Negative with err filled: the answer is 400, or 404 for -ESRCH and -ENOENT. */
void view_answer_fail(struct view_answer *out_answer, const struct err *err);

/* A table of bytes: its mark, and how many columns, rows and values a row it has. */
void view_bytes_begin(struct outbuf *out, const char *mark, uint64_t width, uint32_t rows,
		      uint32_t values);
/* They are the answer. Frees 'bytes'. */
void view_answer_bytes(struct view_answer *out_answer, struct outbuf *bytes);

/* The window asked for; whole when none is. -EINVAL with err filled: it lies outside. */
int view_window(const struct view *view, const struct view_query *query, uint64_t *out_from_ns,
		uint64_t *out_to_ns, struct err *err);

void view_answer_start(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer);
void view_answer_verdict(const struct view *view, const struct view_query *query,
			 struct view_answer *out_answer);
void view_answer_lanes(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer);
void view_answer_rows(const struct view *view, const struct view_query *query,
		      struct view_answer *out_answer);
void view_answer_spans(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer);
void view_answer_details(const struct view *view, const struct view_query *query,
			 struct view_answer *out_answer);
void view_answer_events(const struct view *view, const struct view_query *query,
			struct view_answer *out_answer);
void view_answer_processes(const struct view *view, const struct view_query *query,
			   struct view_answer *out_answer);
void view_answer_threads(const struct view *view, const struct view_query *query,
			 struct view_answer *out_answer);
void view_answer_save(const struct view *view, const struct view_query *query,
		      struct view_answer *out_answer);
void view_answer_flame(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer);
void view_answer_sums(const struct view *view, const struct view_query *query,
		      struct view_answer *out_answer);
void view_answer_others(const struct view *view, const struct view_query *query,
			struct view_answer *out_answer);
void view_answer_series(const struct view *view, const struct view_query *query,
			struct view_answer *out_answer);
void view_answer_other(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer);
void view_answer_search(const struct view *view, const struct view_query *query,
			struct view_answer *out_answer);

#endif
