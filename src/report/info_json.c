/* info_json.c - what is in a trace, for programs. */
#include <string.h>

#include "analyse/info.h"
#include "base/json.h"
#include "event/facts.h"
#include "report/info.h"

static void put_types(struct json *json, const struct info *info)
{
	json_begin_object(json, "events_by_type");
	for (size_t i = 0; i < info->type_count; i++)
		json_print_u64(json, info->types[i].title, info->types[i].count);
	json_end_object(json);
}

static void put_streams(struct json *json, const struct info *info)
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

static void put_machine(struct json *json, const struct facts *facts)
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

static void put_abilities(struct json *json, const struct info *info)
{
	json_begin_array(json, "analyses");
	for (size_t i = 0; i < info->ability_count; i++) {
		const struct info_ability *ability = &info->abilities[i];

		json_begin_object(json, NULL);
		json_print_string(json, "name", ability->name);
		json_print_bool(json, "possible", ability->possible);
		json_print_string(json, "missing", ability->missing);
		json_print_string(json, "to_record", ability->remedy);
		json_end_object(json);
	}
	json_end_array(json);
}

static void put_missing(struct json *json, const struct facts *facts)
{
	json_begin_array(json, "missing");
	for (size_t i = 0; i < facts->missing_count; i++) {
		json_begin_object(json, NULL);
		json_print_string(json, "what", facts->missing[i].what);
		json_print_string(json, "why", facts->missing[i].why);
		json_end_object(json);
	}
	json_end_array(json);
}

void report_info_json(FILE *out, const struct info *info)
{
	const struct facts *facts = info->facts;
	struct json json = { .out = out };

	json_begin_object(&json, NULL);
	json_print_string(&json, "format", facts->format);
	json_print_string(&json, "recorded_by", facts->tracer);
	json_print_u64(&json, "events", info->events);
	put_types(&json, info);
	json_print_u64(&json, "first_ns", info->first_ns);
	json_print_u64(&json, "last_ns", info->last_ns);
	json_print_u64(&json, "lost_events", info->lost_events);
	json_print_u64(&json, "lost_packets", info->lost_packets);
	put_streams(&json, info);
	json_begin_array(&json, "damage");
	for (size_t i = 0; i < facts->damage_count; i++)
		json_print_string(&json, NULL, facts->damage[i]);
	json_end_array(&json);
	json_print_bool(&json, "complete", facts->complete);
	json_print_u64(&json, "begin_ns", facts->first_ns);
	json_print_u64(&json, "end_ns", facts->last_ns);
	json_print_u64(&json, "holes", info->holes);
	json_print_u64(&json, "holes_unknown", info->holes_unknown);
	put_machine(&json, facts);
	put_abilities(&json, info);
	put_missing(&json, facts);
	json_end_object(&json);
	json_fini(&json);
}
