/* check_json.c - the whole result as JSON. Times in ns, values as numbers in the unit named. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/why/why.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/check_int.h"
#include "report/vocabulary.h"
#include "report/why_int.h"
#include "report/why_reason.h"

static const char *unit_name(enum model_unit unit)
{
	static const char *const names[] = { "", "", "ns", "bytes" };

	return names[unit];
}

static void metric_put_number(struct json *json, const char *key, double value)
{
	char digits[40];

	if (!isfinite(value)) {
		json_print_null(json, key);
		return;
	}
	if (floor(value) == value && fabs(value) < 9e15)
		snprintf(digits, sizeof(digits), "%" PRId64, (int64_t)value);
	else
		snprintf(digits, sizeof(digits), "%.17g", value);
	json_print_number(json, key, digits);
}

static void check_json_put_counts(struct json *json, const uint64_t *count)
{
	json_print_u64(json, "valid", count[CHECK_VALID]);
	json_print_u64(json, "uncertain", count[CHECK_UNCERTAIN]);
	json_print_u64(json, "invalid", count[CHECK_INVALID]);
}

static void check_json_put_value(struct json *json, const struct model *model,
				 struct check_value *value)
{
	const struct model_variable *variable = &model->variables[value->variable];

	json_begin_object(json, NULL);
	json_print_string(json, "name", variable->name);
	json_print_string(json, "unit", unit_name(variable->unit));
	json_print_u64(json, "count", value->stats.count);
	json_print_u64(json, "uncertain", value->uncertain);
	if (value->stats.count) {
		metric_put_number(json, "min", value->stats.min);
		metric_put_number(json, "median", check_stats_quantile(&value->stats, 500));
		metric_put_number(json, "p99", check_stats_quantile(&value->stats, 990));
		metric_put_number(json, "max", value->stats.max);
		json_print_bool(json, "exact", check_stats_is_exact(&value->stats));
		json_print_u64(json, "worst_instance", value->worst_instance);
		json_print_string(json, "worst_key", value->worst_key);
	}
	json_end_object(json);
}

static void check_json_put_transition(struct json *json, const struct check_result *result,
				      uint32_t index)
{
	const struct model *model = result->model;
	const struct model_transition *row = &model->transitions[index];
	const struct check_transition *transition = &result->transitions[index];

	json_begin_object(json, NULL);
	json_print_string(json, "from", model->states[row->from].name);
	json_print_string(json, "to", model->states[row->to].name);
	json_print_string(json, "event", model->patterns[row->pattern].name);
	json_print_u64(json, "line", row->place.line);
	json_print_u64(json, "taken", transition->taken);
	check_json_put_counts(json, transition->count);
	json_begin_array(json, "constraints");
	for (uint32_t i = 0; i < row->constraint_count; i++) {
		json_begin_object(json, NULL);
		json_print_string(json, "text", row->constraints[i].text);
		json_print_u64(json, "line", row->constraints[i].place.line);
		check_json_put_counts(json, transition->constraints[i].count);
		json_end_object(json);
	}
	json_end_array(json);
	json_begin_array(json, "values");
	for (uint32_t i = 0; i < transition->value_count; i++)
		check_json_put_value(json, model, &transition->values[i]);
	json_end_array(json);
	json_end_object(json);
}

static void put_range(struct json *json, const char *key, struct check_range range)
{
	json_begin_object(json, key);
	metric_put_number(json, "low", range.low);
	metric_put_number(json, "high", range.high);
	json_end_object(json);
}

static void put_root(struct json *json, const char *key, const struct report_check *report,
		     const struct why_root *root)
{
	json_begin_object(json, key);
	json_print_u64(json, "ns", root->ns);
	json_print_string(json, "kind", why_kind_name(root->kind));
	report_json_thread(json, "who", &root->who);
	report_json_what(json, root);
	report_json_object(json, root->object, root->objects);
	if (report->why_facts)
		why_json_root_code(json, report->why_facts, root, false);
	json_end_object(json);
}

static void check_json_put_why(struct json *json, const struct report_check *report,
			       const struct check_finding *finding)
{
	const struct why *why = finding->why;

	json_begin_array(json, "verdict");
	for (size_t i = 0; i < why->root_count; i++)
		put_root(json, NULL, report, &why->roots[i]);
	json_end_array(json);
	if (finding->grown == UINT32_MAX)
		return;
	json_begin_object(json, "unlike_valid");
	put_root(json, "root", report, &why->roots[finding->grown]);
	json_print_u64(json, "usual_ns", finding->usual_ns);
	json_print_u64(json, "compared_with", finding->compared_with);
	json_end_object(json);
}

void report_check_put_finding(struct json *json, const char *key, const struct report_check *report,
			      const struct check_finding *finding)
{
	const struct check_result *result = report->result;
	AUTO_FREE char *reason = report_check_reason(result, finding);
	const struct model *model = result->model;

	json_begin_object(json, key);
	json_print_string(json, "status", check_status_name((enum check_status)finding->status));
	json_print_u64(json, "instance", finding->instance);
	json_print_string(json, "key", finding->key);
	json_print_i64(json, "tid", finding->tid);
	json_print_string(json, "state", model->states[finding->state].name);
	if (finding->transition != UINT32_MAX) {
		const struct model_constraint *constraint =
			&model->transitions[finding->transition].constraints[finding->constraint];

		json_print_u64(json, "transition", finding->transition);
		json_print_string(json, "constraint", constraint->text);
		put_range(json, "value", finding->left);
		put_range(json, "limit", finding->right);
	}
	json_print_string(json, "reason", reason);
	json_print_u64(json, "start_ns", finding->start_ns);
	json_print_u64(json, "end_ns", finding->end_ns);
	if (finding->why)
		check_json_put_why(json, report, finding);
	json_end_object(json);
}

static void put_instance(struct json *json, const struct model *model,
			 const struct check_instance *instance)
{
	static const char *const ends[] = { "ended", "open", "dropped" };

	json_begin_object(json, NULL);
	json_print_u64(json, "instance", instance->number);
	json_print_string(json, "key", instance->key);
	json_print_string(json, "status", check_status_name((enum check_status)instance->status));
	json_print_string(json, "end", ends[instance->end]);
	json_print_string(json, "state", model->states[instance->state].name);
	json_print_u64(json, "transitions", instance->transitions);
	json_print_u64(json, "start_ns", instance->begin_ns);
	json_print_u64(json, "end_ns", instance->end_ns);
	json_print_i64(json, "tid", instance->tid);
	json_end_object(json);
}

static void put_unexpected(struct json *json, const struct check_result *result)
{
	json_begin_array(json, "unexpected");
	for (size_t i = 0; i < result->unexpected_count; i++) {
		const struct check_unexpected *row = &result->unexpected[i];

		json_begin_object(json, NULL);
		json_print_string(json, "event", result->model->patterns[row->pattern].name);
		json_print_string(json, "state", result->model->states[row->state].name);
		json_print_u64(json, "count", row->count);
		json_end_object(json);
	}
	json_end_array(json);
}

static void check_put_head(struct json *json, const struct report_check *report)
{
	const struct check_result *result = report->result;

	json_print_string(json, "model", result->model->name);
	json_print_string(json, "status", check_status_name(result->status));
	json_print_u64(json, "instances", result->instances);
	check_json_put_counts(json, result->count);
	json_print_u64(json, "open", result->open);
	json_print_u64(json, "dropped", result->dropped);
	json_print_u64(json, "events", result->events);
	json_print_u64(json, "events_without_key", result->no_key);
	json_print_u64(json, "lost_events", result->lost);
	json_begin_array(json, "notes");
	for (size_t i = 0; i < report->note_count; i++)
		json_print_string(json, NULL, report->notes[i]);
	json_end_array(json);
}

void report_check_put(struct json *json, const char *key, const struct report_check *report)
{
	const struct check_result *result = report->result;

	report_json_begin(json, key, "check");
	check_put_head(json, report);
	put_unexpected(json, result);
	json_begin_array(json, "transitions");
	for (uint32_t i = 0; i < result->model->transition_count; i++)
		check_json_put_transition(json, result, i);
	json_end_array(json);
	json_begin_array(json, "findings");
	for (size_t i = 0; i < result->finding_count; i++)
		report_check_put_finding(json, NULL, report, &result->findings[i]);
	json_end_array(json);
	json_print_u64(json, "findings_left_out",
		       result->findings_left_out[CHECK_INVALID] +
			       result->findings_left_out[CHECK_UNCERTAIN]);
	json_begin_array(json, "list");
	for (size_t i = 0; i < result->list_count; i++)
		put_instance(json, result->model, &result->list[i]);
	json_end_array(json);
	json_print_u64(json, "list_left_out", result->instances - result->list_count);
	json_end_object(json);
}

void report_check_json(FILE *out, const struct report_check *report)
{
	struct json json = { .out = out };

	report_check_put(&json, NULL, report);
	json_fini(&json);
}
