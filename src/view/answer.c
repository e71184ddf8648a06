/* answer.c - the table of questions, and what their answers have in common. */
#include "view/answer.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "base/text.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/crew.h"

#define TEXT_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE "application/json"

/* The desk answers it while it is true. */
static void view_answer_live(const struct view *view, const struct view_query *query,
			     struct view_answer *out_answer)
{
	(void)view;
	(void)query;
	view_answer_say(out_answer, 404, "the recording is over");
}

static const struct question {
	const char *route;
	void (*answer)(const struct view *view, const struct view_query *query,
		       struct view_answer *out_answer);
	enum view_clerk clerk;
} questions[] = {
	{ "start", view_answer_start, VIEW_QUICK },
	{ "verdict", view_answer_verdict, VIEW_SLOW },
	{ "sums", view_answer_sums, VIEW_SLOW },
	{ "save", view_answer_save, VIEW_SLOW },
	{ "flame", view_answer_flame, VIEW_SLOW },
	{ "processes", view_answer_processes, VIEW_QUICK },
	{ "threads", view_answer_threads, VIEW_QUICK },
	{ "lanes", view_answer_lanes, VIEW_QUICK },
	{ "live", view_answer_live, VIEW_QUICK },
	{ "others", view_answer_others, VIEW_QUICK },
	{ "series", view_answer_series, VIEW_QUICK },
	{ "other", view_answer_other, VIEW_QUICK },
	{ "rows", view_answer_rows, VIEW_QUICK },
	{ "spans", view_answer_spans, VIEW_QUICK },
	{ "details", view_answer_details, VIEW_QUICK },
	{ "search", view_answer_search, VIEW_QUICK },
	{ "events", view_answer_events, VIEW_EVENTS },
};

void view_answer_fini(struct view_answer *answer)
{
	free(answer->bytes);
	*answer = (struct view_answer){ 0 };
}

void view_answer_say(struct view_answer *out_answer, int status, const char *text)
{
	AUTO_FREE char *safe = text_escaped(text);

	out_answer->status = status;
	out_answer->type = TEXT_TYPE;
	out_answer->bytes = xasprintf("%s\n", safe);
	out_answer->count = strlen(out_answer->bytes);
}

void view_answer_fail(struct view_answer *out_answer, const struct err *err)
{
	view_answer_say(out_answer, err->code == -ESRCH || err->code == -ENOENT ? 404 : 400,
			err->text);
}

void view_bytes_begin(struct outbuf *out, const char *mark, uint64_t width, uint32_t rows,
		      uint32_t values)
{
	outbuf_to_memory(out);
	outbuf_put(out, mark, 4);
	outbuf_little(out, width, 4);
	outbuf_little(out, rows, 4);
	outbuf_little(out, values, 4);
}

void view_answer_bytes(struct view_answer *out_answer, struct outbuf *bytes)
{
	out_answer->status = 200;
	out_answer->type = "application/octet-stream";
	out_answer->count = outbuf_bytes(bytes);
	out_answer->bytes = xmalloc(out_answer->count);
	memcpy(out_answer->bytes, bytes->start, out_answer->count);
	outbuf_fini(bytes);
}

static const struct question *find_question(const char *route)
{
	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		if (strcmp(questions[i].route, route) == 0)
			return &questions[i];
	}
	return NULL;
}

bool view_is_question(const char *route, enum view_clerk *out_clerk)
{
	const struct question *question = find_question(route);

	*out_clerk = question ? question->clerk : VIEW_QUICK;
	return question != NULL;
}

/* What was read of a damaged index may be wrong: it is not said. */
static void refuse_damaged(const struct view *view, struct view_answer *out_answer)
{
	const char *damage = timeline_damage(view->loaded->timeline);
	AUTO_FREE char *text = NULL;

	if (!damage)
		damage = view_crew_damage(view->crew);
	if (!damage)
		return;
	text = xasprintf("the index is damaged, \"holdup index --force\" rebuilds it: %s", damage);
	view_answer_fini(out_answer);
	view_answer_say(out_answer, 500, text);
}

void view_answer_route(const struct view *view, const char *route, const char *query,
		       struct view_answer *out_answer)
{
	const struct question *question = find_question(route);
	struct view_query parsed;
	struct err err = { 0 };

	*out_answer = (struct view_answer){ 0 };
	if (!question)
		view_answer_say(out_answer, 404, "page not found");
	else if (view_query_parse(query, &parsed, &err) < 0)
		view_answer_fail(out_answer, &err);
	else
		question->answer(view, &parsed, out_answer);
	if (!question || question->clerk != VIEW_EVENTS) /* whose timeline is read by another */
		refuse_damaged(view, out_answer);
}

int view_window(const struct view *view, const struct view_query *query, uint64_t *out_from_ns,
		uint64_t *out_to_ns, struct err *err)
{
	const struct timeline *timeline = view->loaded->timeline;
	uint64_t from, to;
	int rc = view_query_number(query, "from", timeline->origin_ns, timeline->end_ns,
				   timeline->origin_ns, &from, err);

	if (rc == 0)
		rc = view_query_number(query, "to", timeline->origin_ns, timeline->end_ns,
				       timeline->end_ns, &to, err);
	if (rc == 0 && from >= to)
		rc = err_set(err, -EINVAL, "the window is empty");
	if (rc < 0)
		return rc;
	*out_from_ns = from;
	*out_to_ns = to;
	return 0;
}

/* ---------------------------------------------------------------------- JSON */

void view_json_open(struct view_json *json)
{
	*json = (struct view_json){ 0 };
	json->out = open_memstream(&json->bytes, &json->count);
	if (!json->out) {
		perror("holdup: cannot write to memory");
		abort();
	}
	(void)__fsetlocking(json->out, FSETLOCKING_BYCALLER); /* nobody else writes to it */
	json->json.out = json->out;
}

char *view_json_close(struct view_json *json)
{
	(void)fclose(json->out); /* of memory: what could not be written ended the program */
	return json->bytes;
}

void view_json_begin(struct view_json *json)
{
	view_json_open(json);
	json_begin_object(&json->json, NULL);
}

void view_json_end(struct view_json *json, struct view_answer *out_answer)
{
	json_end_object(&json->json);
	json_fini(&json->json);
	(void)view_json_close(json);
	*out_answer = (struct view_answer){ 200, JSON_TYPE, json->bytes, json->count };
}

void view_json_text(struct json *json, const char *key, const char *text)
{
	AUTO_FREE char *safe = text ? text_escaped(text) : NULL;

	json_print_string(json, key, safe);
}

void view_json_own_text(struct json *json, const char *key, char *text)
{
	view_json_text(json, key, text);
	free(text);
}

void view_json_time(struct json *json, const char *key, const struct view *view, uint64_t time_ns)
{
	uint64_t origin_ns = view->loaded->timeline->origin_ns;

	json_print_u64(json, key, time_ns > origin_ns ? time_ns - origin_ns : 0);
}

static void put_thread(struct json *json, const char *key, uint32_t slot, int32_t tid, int32_t tgid,
		       const char *comm)
{
	AUTO_FREE char *lane = slot == SLOT_NONE ? NULL : xasprintf("t%u", slot);

	json_begin_object(json, key);
	json_print_string(json, "lane", lane);
	json_print_i64(json, "tid", tid);
	json_print_i64(json, "tgid", tgid);
	view_json_text(json, "comm", comm);
	json_end_object(json);
}

void view_json_thread(struct json *json, const char *key, const struct view *view,
		      const struct why_thread *thread, uint64_t time_ns)
{
	uint32_t slot;

	if (!thread->tid) {
		json_print_null(json, key);
		return;
	}
	slot = timeline_near_thread(view->loaded->timeline, thread->tid, time_ns);
	put_thread(json, key, slot, thread->tid, thread->tgid, thread->comm);
}

void view_json_slot(struct json *json, const char *key, const struct view *view, uint32_t slot)
{
	const struct timeline *timeline = view->loaded->timeline;
	const struct tl_thread *thread;

	if (slot >= timeline->thread_count) {
		json_print_null(json, key);
		return;
	}
	thread = timeline->threads[slot];
	put_thread(json, key, slot, thread->tid, thread_process(thread),
		   timeline_comm(timeline, slot));
}
