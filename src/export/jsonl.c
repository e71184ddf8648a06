/* jsonl.c - one JSON object a line: intervals, wake-ups or waits, with the keys of the reports. */
#include "base/json.h"

#include <stdbool.h>

#include "export/export.h"
#include "export/table.h"
#include "export/words.h"
#include "report/vocabulary.h"
#include "report/why_reason.h"

static bool jsonl_has_failed(void *context)
{
	return ferror((FILE *)context);
}

static void jsonl_put_span(struct json *json, const struct states_span *span)
{
	json_print_u64(json, "start_ns", span->start_ns);
	json_print_u64(json, "end_ns", span->end_ns);
	json_print_u64(json, "ns", span->end_ns - span->start_ns);
}

static void jsonl_put_interval(void *context, const struct why_thread *who,
			       const struct states_span *span)
{
	struct json json = { .out = context };

	json_begin_object(&json, NULL);
	report_json_thread(&json, "who", who);
	report_json_span(&json, span);
	json_end_object(&json);
	json_fini(&json);
}

static void jsonl_put_edge(void *context, const struct table_edge *edge)
{
	struct json json = { .out = context };

	json_begin_object(&json, NULL);
	json_print_u64(&json, "time_ns", edge->time_ns);
	report_json_thread(&json, "who", &edge->to);
	report_json_begin_waker(&json, &edge->span->wait);
	json_end_object(&json);
	json_print_u64(&json, "waited_ns", edge->waited_ns);
	json_end_object(&json);
	json_fini(&json);
}

static void jsonl_put_root(struct json *json, const struct why_root *root)
{
	if (!root) {
		json_print_null(json, "root");
		return;
	}
	json_begin_object(json, "root");
	json_print_string(json, "kind", why_kind_name(root->kind));
	report_json_thread(json, "who", &root->who);
	report_json_what(json, root);
	report_json_object(json, root->object, root->objects);
	report_json_reason(json, "why", root->why);
	json_print_u64(json, "ns", root->ns);
	json_end_object(json);
}

static void jsonl_put_wait(void *context, const struct table_wait *row)
{
	struct json json = { .out = context };
	const struct why_wait *wait = &row->span->wait;

	json_begin_object(&json, NULL);
	report_json_thread(&json, "who", &row->who);
	jsonl_put_span(&json, row->span);
	json_print_string(&json, "in", wait->in);
	json_print_string(&json, "object", wait->object);
	json_print_string(&json, "class", export_class_name(wait->class));
	if (*row->lock)
		json_print_string(&json, "lock", row->lock);
	json_print_string(&json, "stack", wait->stack);
	report_json_begin_waker(&json, wait);
	json_end_object(&json);
	jsonl_put_root(&json, row->root);
	json_end_object(&json);
	json_fini(&json);
}

int export_jsonl(struct export_job *job, FILE *out, struct err *err)
{
	const struct table_ops ops = {
		.interval = job->what == EXPORT_INTERVALS ? jsonl_put_interval : NULL,
		.wait = job->what == EXPORT_WAITS ? jsonl_put_wait : NULL,
		.edge = job->what == EXPORT_EDGES ? jsonl_put_edge : NULL,
		.failed = jsonl_has_failed,
	};

	return table_run(job, &ops, out, err);
}
