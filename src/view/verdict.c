/* verdict.c - what held it up, where in time that was, and who is to be shown. */
#include "view/verdict.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/why/process.h"
#include "analyse/why/why.h"
#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "report/why.h"
#include "report/why_reason.h"
#include "timeline/timeline.h"
#include "view/answer_int.h"

#define ROWS_MAX  1000u /* causes that are told */
#define ROWS_SEEN 200u	/* of these, whose place in time is told */
#define SPANS_MAX 2000u /* places of one cause */
#define WAITS_MAX 300u	/* waits of the target, whose chains are told: the longest */
#define NODES_MAX 64u	/* of one such chain */

const struct why *verdict_told(const struct why *why)
{
	return why->process ? &why->process->told : why;
}

uint64_t verdict_ns(const struct why *why)
{
	return why->class_ns;
}

static struct when when_at(uint64_t ns)
{
	return (struct when){ .kind = ns ? WHEN_TRACE_CLOCK : WHEN_NONE, .ns = ns };
}

const char *verdict_missing(const struct view *view)
{
	const struct facts *facts = view->loaded->facts;

	if (facts->only_programs)
		return "No verdict: the trace has only events of programs, no sched_switch events of the "
		       "kernel, so runs and waits of threads are unknown";
	return facts->target_tid ? NULL : "No command was recorded";
}

int verdict_of(const struct view *view, const struct verdict_ask *ask,
	       struct explanation *out_answer, struct err *err)
{
	const struct timeline *timeline = view->loaded->timeline;
	const struct beside none = { 0 };
	uint64_t length_ns =
		ask->to_ns ? ask->to_ns - ask->from_ns : timeline->end_ns - timeline->origin_ns;
	const struct explain_opts opts = {
		.target = { .at_slot = ask->slot },
		.from = when_at(ask->from_ns),
		.to = when_at(ask->to_ns),
		.want_waits = true,
		.min_ns = length_ns / VERDICT_PARTS,
		.span_parts = VERDICT_PARTS,
	};

	if (view->loaded->facts->only_programs)
		return err_set(err, -ESRCH, "%s", verdict_missing(view));
	return explain_loaded(view->loaded, view->beside ? view->beside : &none, &opts, out_answer,
			      err);
}

/* ------------------------------------------------------------- who is shown */

struct slots {
	uint32_t *at;
	uint32_t count, most;
};

static void add_slot(struct slots *slots, uint32_t slot)
{
	for (uint32_t i = 0; i < slots->count; i++) {
		if (slots->at[i] == slot)
			return;
	}
	if (slot != SLOT_NONE && slots->count < slots->most)
		slots->at[slots->count++] = slot;
}

static void add_thread(struct slots *slots, const struct view *view,
		       const struct why_thread *thread, uint64_t time_ns)
{
	if (thread->tid)
		add_slot(slots, timeline_near_thread(view->loaded->timeline, thread->tid, time_ns));
}

static void add_spans(struct slots *slots, const struct view *view, const struct why_root *root)
{
	int32_t last = 0;

	for (size_t i = 0; i < root->span_count; i++) {
		const struct why_thread thread = { .tid = root->spans[i].tid };

		if (thread.tid != last)
			add_thread(slots, view, &thread, root->spans[i].start_ns);
		last = thread.tid;
	}
}

uint32_t verdict_slots(const struct view *view, const struct explanation *answer,
		       uint32_t *out_slots, uint32_t most)
{
	const struct why *why = &answer->results[0], *told = verdict_told(why);
	struct slots slots = { .at = out_slots, .most = most };

	add_thread(&slots, view, &why->target, why->end_ns - 1);
	add_thread(&slots, view, &told->target, told->end_ns - 1);
	for (size_t i = 0; i < told->chain_count; i++)
		add_thread(&slots, view, &told->chain[i].who, told->end_ns - 1);
	for (size_t i = 0; i < why->root_count; i++) {
		if (why->roots[i].ns < verdict_ns(why) / 200)
			break;
		add_spans(&slots, view, &why->roots[i]);
		add_thread(&slots, view, &why->roots[i].who, why->end_ns - 1);
	}
	return slots.count;
}

static void put_lanes(struct json *json, const struct view *view, const struct explanation *answer)
{
	uint32_t slots[32];
	uint32_t count = verdict_slots(view, answer, slots, ARRAY_LEN(slots));

	json_begin_array(json, "lanes");
	for (uint32_t i = 0; i < count; i++)
		view_json_slot(json, NULL, view, slots[i]);
	json_end_array(json);
}

/* ----------------------------------------------------------------- the rows */

static void verdict_put_spans(struct json *json, const struct view *view,
			      const struct why_root *root)
{
	json_begin_array(json, "spans");
	for (size_t i = 0; i < root->span_count && i < SPANS_MAX; i++) {
		const struct why_span *span = &root->spans[i];

		json_begin_array(json, NULL);
		view_json_time(json, NULL, view, span->start_ns);
		view_json_time(json, NULL, view, span->end_ns);
		json_print_u64(json, NULL, span->ns);
		json_print_i64(json, NULL, span->tid);
		json_end_array(json);
	}
	json_end_array(json);
}

static void put_row(struct json *json, const struct view *view, const struct why *why, size_t index)
{
	const struct why_root *root = &why->roots[index];

	json_begin_object(json, NULL);
	json_print_u64(json, "ns", root->ns);
	json_print_share(json, "share", root->ns, verdict_ns(why));
	json_print_string(json, "kind", why_kind_name(root->kind));
	json_print_string(json, "class", why_wait_class_name(root->class));
	view_json_thread(json, "who", view, &root->who, why->end_ns - 1);
	view_json_own_text(json, "what", report_why_what(root));
	view_json_own_text(json, "object", report_why_object(root->object, root->objects));
	json_print_u64(json, "count", root->count);
	json_print_u64(json, "longest_ns", root->longest_ns);
	if (root->inferred)
		view_json_own_text(json, "inferred", report_why_reason(root->inferred));
	view_json_own_text(json, "text", report_why_root(why, root));
	if (index < ROWS_SEEN)
		verdict_put_spans(json, view, root);
	json_end_object(json);
}

/* ---------------------------------------------------------------- the chain */

static void put_chain(struct json *json, const struct why *told)
{
	json_begin_array(json, "chain");
	for (size_t i = 0; i < report_why_hops(told); i++)
		view_json_own_text(json, NULL, report_why_hop(told, i));
	json_end_array(json);
}

static void put_wait(struct json *json, const struct view *view, const struct why_wait *wait)
{
	json_begin_object(json, NULL);
	json_print_u64(json, "depth", wait->depth);
	view_json_time(json, "start_ns", view, wait->start_ns);
	view_json_time(json, "end_ns", view, wait->end_ns);
	view_json_thread(json, "who", view, &wait->who, wait->start_ns);
	view_json_text(json, "in", wait->in);
	view_json_text(json, "object", wait->object);
	json_print_string(json, "by", why_waker_name(wait->waker));
	view_json_thread(json, "waker", view, &wait->woken_by, wait->end_ns);
	view_json_text(json, "waker_name", wait->waker_name);
	view_json_own_text(json, "text", report_why_wait(wait));
	json_end_object(json);
}

/* The target's own waits, longest first. */
struct own_wait {
	uint64_t ns;
	size_t index;
};

ORDER_FUNCTION(compare_own, struct own_wait, ORDER_DOWN(ns), ORDER_UP(index));

/* Each with what its waker did meanwhile, and so on: a list with depths. */
static void put_waits(struct json *json, const struct view *view, const struct why *told)
{
	AUTO_FREE struct own_wait *own = xcalloc(told->wait_count + 1, sizeof(*own));
	size_t count = 0;

	for (size_t i = 0; i < told->wait_count; i++) {
		if (told->waits[i].depth == 0)
			own[count++] =
				(struct own_wait){ told->waits[i].end_ns - told->waits[i].start_ns,
						   i };
	}
	qsort(own, count, sizeof(*own), compare_own);
	json_begin_array(json, "waits");
	for (size_t i = 0; i < count && i < WAITS_MAX; i++) {
		put_wait(json, view, &told->waits[own[i].index]);
		for (size_t k = 1; k < NODES_MAX && own[i].index + k < told->wait_count &&
				   told->waits[own[i].index + k].depth > 0;
		     k++)
			put_wait(json, view, &told->waits[own[i].index + k]);
	}
	json_end_array(json);
}

void verdict_json(struct json *json, const struct view *view, const struct explanation *answer,
		  bool is_chosen)
{
	const struct why *why = &answer->results[0], *told = verdict_told(why);

	view_json_own_text(json, "headline",
			   report_why_headline(why, view->loaded->facts, is_chosen));
	view_json_text(json, "note", answer->note);
	view_json_time(json, "from_ns", view, why->start_ns);
	view_json_time(json, "to_ns", view, why->end_ns);
	view_json_thread(json, "target", view, &why->target, why->end_ns - 1);
	json_print_u64(json, "of_ns", verdict_ns(why));
	json_print_u64(json, "uncertain_ns", why->uncertain_ns);
	json_print_u64(json, "lost_events", why->lost_events);
	json_print_u64(json, "more", why->root_count > ROWS_MAX ? why->root_count - ROWS_MAX : 0);
	json_begin_array(json, "rows");
	for (size_t i = 0; i < why->root_count && i < ROWS_MAX; i++)
		put_row(json, view, why, i);
	json_end_array(json);
	view_json_thread(json, "told", view, &told->target, told->end_ns - 1);
	put_chain(json, told);
	put_waits(json, view, told);
	put_lanes(json, view, answer);
}

static void put_sum(struct json *json, const struct why_line *line)
{
	json_begin_object(json, NULL);
	json_print_u64(json, "depth", line->depth);
	view_json_text(json, "text", line->name);
	json_print_u64(json, "ns", line->ns);
	json_print_u64(json, "count", line->count);
	json_end_object(json);
}

static int ask_parse(const struct view *view, const struct view_query *query,
		     struct verdict_ask *out_ask, struct err *err)
{
	const struct timeline *timeline = view->loaded->timeline;
	uint64_t slot = 0;
	int rc = 0;

	*out_ask = (struct verdict_ask){ 0 };
	if (view_query_text(query, "from") || view_query_text(query, "to"))
		rc = view_window(view, query, &out_ask->from_ns, &out_ask->to_ns, err);
	if (rc == 0 && view_query_text(query, "slot") && timeline->thread_count) {
		rc = view_query_number(query, "slot", 0, timeline->thread_count - 1, 0, &slot, err);
		out_ask->slot = (uint32_t)slot + 1;
	}
	return rc;
}

/* The answer to what 'query' asks; false: out_answer says why there is none. */
static bool ask_answered(const struct view *view, const struct view_query *query,
			 struct verdict_ask *out_ask, struct explanation *out_explanation,
			 struct view_answer *out_answer)
{
	struct err err = { 0 };
	int rc = ask_parse(view, query, out_ask, &err);

	if (rc == 0)
		rc = verdict_of(view, out_ask, out_explanation, &err);
	if (rc < 0)
		view_answer_fail(out_answer, &err);
	return rc == 0;
}

/* How the window's time is divided, as in why --summary. */
void view_answer_sums(const struct view *view, const struct view_query *query,
		      struct view_answer *out_answer)
{
	struct explanation answer = { 0 };
	const struct why *told;
	struct verdict_ask ask;
	struct view_json json;

	if (!ask_answered(view, query, &ask, &answer, out_answer))
		return;
	told = verdict_told(&answer.results[0]);
	view_json_begin(&json);
	view_json_thread(&json.json, "who", view, &told->target, told->end_ns - 1);
	view_json_time(&json.json, "from_ns", view, told->start_ns);
	view_json_time(&json.json, "to_ns", view, told->end_ns);
	json_begin_array(&json.json, "lines");
	for (size_t i = 0; i < told->line_count; i++)
		put_sum(&json.json, &told->lines[i]);
	json_end_array(&json.json);
	view_json_end(&json, out_answer);
	explanation_fini(&answer);
}

void view_answer_verdict(const struct view *view, const struct view_query *query,
			 struct view_answer *out_answer)
{
	struct explanation answer = { 0 };
	struct verdict_ask ask;
	struct view_json json;

	if (!ask_answered(view, query, &ask, &answer, out_answer))
		return;
	view_json_begin(&json);
	verdict_json(&json.json, view, &answer, ask.to_ns || ask.slot);
	view_json_end(&json, out_answer);
	explanation_fini(&answer);
}
