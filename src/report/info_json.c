/* info_json.c - what is in a trace, for programs. */
#include <string.h>

#include "analyse/stats/info.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/facts.h"
#include "report/info.h"
#include "report/info_int.h"
#include "report/vocabulary.h"

static void info_json_put_types(struct json *json, const struct info *info)
{
	json_begin_object(json, "events_by_type");
	for (size_t i = 0; i < info->type_count; i++)
		json_print_u64(json, info->types[i].title, info->types[i].count);
	json_end_object(json);
}

static void info_json_put_streams(struct json *json, const struct info *info)
{
	json_begin_array(json, "streams");
	for (size_t i = 0; i < info->stream_count; i++) {
		const struct info_stream *stream = &info->streams[i];

		json_begin_object(json, NULL);
		json_print_string(json, "kind", stream->is_user ? "user" : "kernel");
		json_print_string(json, "name", stream->name);
		json_print_i64(json, "cpu", stream->name ? -1 : stream->cpu);
		json_print_u64(json, "events", stream->events);
		json_print_u64(json, "bytes", stream->bytes);
		json_print_u64(json, "first_ns", stream->first_ns);
		json_print_u64(json, "last_ns", stream->last_ns);
		json_print_u64(json, "lost_events", stream->lost);
		json_end_object(json);
	}
	json_end_array(json);
}

static void info_json_put_machine(struct json *json, const struct facts *facts)
{
	json_print_string(json, "host", facts->host);
	json_print_string(json, "kernel", facts->kernel);
	json_print_string(json, "arch", facts->arch);
	json_print_string(json, "recorder", facts->recorder);
	json_print_string(json, "clock", facts->clock);
	json_print_i64(json, "realtime_offset_ns", facts->realtime_offset_ns);
	json_begin_object(json, "command");
	json_print_i64(json, "tid", facts->target_tid);
	json_print_string(json, "cmdline", facts->target_cmdline);
	json_print_i64(json, "wait_status", facts->target_status);
	json_end_object(json);
	json_begin_object(json, "state_dump");
	json_print_u64(json, "threads", facts->thread_count);
	json_print_u64(json, "descriptors", facts->fd_count);
	json_print_u64(json, "kernel_functions", facts->symbol_count);
	json_end_object(json);
}

static void info_json_put_cost(struct json *json, const struct fact_cost *cost)
{
	if (!cost->cpu_ns) {
		json_print_null(json, "cost");
		return;
	}
	json_begin_object(json, "cost");
	json_print_u64(json, "recorder_cpu_ns", cost->cpu_ns);
	json_print_u64(json, "bpf_ns", cost->bpf_ns);
	json_print_u64(json, "bpf_runs", cost->bpf_runs);
	json_print_u64(json, "bpf_window_ns", cost->bpf_window_ns);
	json_print_u64(json, "bpf_on_ns", cost->bpf_on_ns);
	json_print_u64(json, "event_ns", cost->event_ns);
	json_print_u64(json, "call_event_ns", cost->call_event_ns);
	json_print_u64(json, "events_cpu_ns", cost->events_ns);
	json_print_u64(json, "cost_ns", fact_cost_all_ns(cost));
	json_print_u64(json, "cost_cpus", cost->cpus);
	json_print_u64(json, "budget_ppm", cost->budget_ppm);
	json_print_u64(json, "budget_ns", cost->budget_ns);
	json_print_u64(json, "budget_cost_ns", cost->budget_cost_ns);
	json_end_object(json);
}

static void info_json_put_abilities(struct json *json, const struct info *info)
{
	json_begin_array(json, "analyses");
	for (size_t i = 0; i < INFO_QUESTIONS; i++) {
		const struct info_words *words = info_question_words((enum info_question)i);
		AUTO_FREE char *missing = info_missing_words(&info->abilities[i]);

		json_begin_object(json, NULL);
		json_print_string(json, "name", words->name);
		json_print_bool(json, "possible", !missing);
		json_print_string(json, "missing", missing);
		json_print_string(json, "to_record", missing ? words->remedy : NULL);
		json_end_object(json);
	}
	json_end_array(json);
}

void report_info_json(FILE *out, const struct info *info)
{
	const struct facts *facts = info->facts;
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "info");
	json_print_string(&json, "format", facts->format);
	json_print_string(&json, "recorded_by", facts->tracer);
	json_print_u64(&json, "events", info->events);
	info_json_put_types(&json, info);
	json_print_u64(&json, "first_ns", info->first_ns);
	json_print_u64(&json, "last_ns", info->last_ns);
	json_print_u64(&json, "lost_events", info->lost_events);
	json_print_u64(&json, "lost_packets", info->lost_packets);
	info_json_put_streams(&json, info);
	report_json_damage(&json, facts, NULL);
	json_print_bool(&json, "complete", facts->complete);
	report_json_window(&json, facts->first_ns, facts->last_ns);
	json_print_u64(&json, "holes", info->holes);
	json_print_u64(&json, "holes_of_unknown_size", info->holes_unknown);
	info_json_put_machine(&json, facts);
	json_print_bool(&json, "lean", facts->is_lean);
	info_json_put_cost(&json, &facts->cost);
	report_json_steps(&json, facts);
	info_json_put_abilities(&json, info);
	report_json_missing(&json, facts);
	json_end_object(&json);
	json_fini(&json);
}
