/*
 * search.c - threads by number, name or command line, and waits by what they were for.
 *
 * Waits are looked for in the lanes that are shown, from the begin of the window on, as far as
 * SEEN_MAX spans lead: the answer says when that was not all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stats/states.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"
#include "view/lanes.h"
#include "view/search.h"

#define TEXT_MAX    200u
#define THREADS_MAX 50u
#define WAITS_MAX   100u
#define SEEN_MAX    200000u

static bool has(const char *text, const char *sought)
{
	return text && strcasestr(text, sought);
}

bool view_thread_is_sought(const struct timeline *timeline, uint32_t slot, const char *sought)
{
	const struct tl_thread *thread = timeline->threads[slot];
	uint64_t tid;

	if (thread->tid == 0)
		return false;
	if (text_parse_u64(sought, &tid) &&
	    (tid == (uint64_t)thread->tid || tid == (uint64_t)thread_process(thread)))
		return true;
	return has(timeline_comm(timeline, slot), sought) ||
	       has(timeline_name(timeline, thread->cmdline), sought);
}

/* Returns whether that was all. */
static bool put_threads(struct json *json, const struct view *view, const char *sought)
{
	const struct timeline *timeline = view->loaded->timeline;
	uint32_t told = 0;

	for (uint32_t slot = 0; slot < timeline->thread_count; slot++) {
		const struct tl_thread *thread = timeline->threads[slot];

		if (!view_thread_is_sought(timeline, slot, sought))
			continue;
		if (told++ == THREADS_MAX)
			return false;
		json_begin_object(json, NULL);
		json_print_string(json, "kind", "thread");
		view_json_slot(json, "who", view, slot);
		view_json_text(json, "text", timeline_name(timeline, thread->cmdline));
		view_json_time(json, "start_ns", view, thread->birth_ns);
		view_json_time(json, "end_ns", view, thread->death_ns);
		json_end_object(json);
	}
	return true;
}

/* What is looked for in the spans of one lane after the other. */
struct hunt {
	struct json *json;
	const struct view *view;
	const char *sought;
	uint32_t slot, told, seen;
};

static void look_at(void *context, const struct states_span *span)
{
	struct hunt *hunt = context;

	if (!has(span->state, hunt->sought) &&
	    !(span->is_wait &&
	      (has(span->wait.object, hunt->sought) || has(span->wait.waker_name, hunt->sought) ||
	       has(span->wait.stack, hunt->sought))))
		return;
	hunt->told++;
	json_begin_object(hunt->json, NULL);
	json_print_string(hunt->json, "kind", "span");
	view_json_slot(hunt->json, "who", hunt->view, hunt->slot);
	view_json_own_text(hunt->json, "text",
			   xasprintf("%s%s%s", span->state,
				     span->is_wait && span->wait.object[0] ? " " : "",
				     span->is_wait ? span->wait.object : ""));
	view_json_time(hunt->json, "start_ns", hunt->view, span->start_ns);
	view_json_time(hunt->json, "end_ns", hunt->view, span->end_ns);
	json_end_object(hunt->json);
}

/* Span by span, for it may end at any. Returns whether that was all. */
static bool search_put_spans(struct hunt *hunt, const struct tl_interval *window)
{
	const struct timeline *timeline = hunt->view->loaded->timeline;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_thread(&iter, timeline, hunt->slot, window->start_ns, window->end_ns);
	while (tl_iter_next(&iter, &in)) {
		struct states_opts opts = { hunt->slot, in.start_ns, in.end_ns, 1 };
		struct states_sum sum;

		if (hunt->told == WAITS_MAX || hunt->seen++ == SEEN_MAX)
			return false;
		if (word_kind(in.word) != WORD_NONE)
			states_run(timeline, hunt->view->loaded->facts, &opts, look_at, hunt, &sum);
	}
	return true;
}

static bool put_lanes(struct json *json, const struct view *view, const char *sought,
		      const struct view_lane *lanes, uint32_t count,
		      const struct tl_interval *window)
{
	struct hunt hunt = { .json = json, .view = view, .sought = sought };
	bool all = true;

	for (uint32_t i = 0; i < count && all; i++) {
		hunt.slot = lanes[i].index;
		if (lanes[i].kind == 't')
			all = search_put_spans(&hunt, window);
	}
	return all;
}

void view_answer_search(const struct view *view, const struct view_query *query,
			struct view_answer *out_answer)
{
	const char *sought = view_query_text(query, "q"), *rows = view_query_text(query, "rows");
	struct view_lane lanes[VIEW_LANES_MAX];
	struct tl_interval window = { 0 };
	uint32_t count = 0;
	struct err err = { 0 };
	struct view_json json;
	bool all;
	int rc = view_window(view, query, &window.start_ns, &window.end_ns, &err);

	if (rc == 0)
		rc = view_lanes_parse(view, rows ? rows : "", lanes, &count, &err);
	if (rc == 0 && (!sought || !*sought || strlen(sought) > TEXT_MAX))
		rc = err_set(&err, -EINVAL, "expected a search text of 1 to %u bytes", TEXT_MAX);
	if (rc < 0) {
		view_answer_fail(out_answer, &err);
		return;
	}
	view_json_begin(&json);
	json_begin_array(&json.json, "results");
	all = put_threads(&json.json, view, sought);
	all &= put_lanes(&json.json, view, sought, lanes, count, &window);
	json_end_array(&json.json);
	json_print_bool(&json.json, "all", all);
	view_json_end(&json, out_answer);
}
