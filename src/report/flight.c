/* flight.c - what the flight recorder holds, and a line for each of its snapshots. */
#include "report/flight.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/vocabulary.h"

static void print_messages(FILE *out, const struct flight_status_report *status)
{
	if (status->message_count)
		fputs("  lately:\n", out);
	for (size_t i = 0; i < status->message_count; i++) {
		AUTO_FREE char *safe = text_escaped(status->messages[i].text);

		fprintf(out, "    %s  %s\n", text_local_time(status->messages[i].real_ns).s, safe);
	}
}

static void print_if(FILE *out, uint64_t count, const char *one, const char *more)
{
	if (count)
		fprintf(out, "    %s %s\n", text_count(count).s, count == 1 ? one : more);
}

static void print_logged(FILE *out, const struct flight_logged_row *logged)
{
	fprintf(out, "  looks at what %s program%s log every %s\n", text_count(logged->programs).s,
		logged->programs == 1 ? "" : "s", text_duration(logged->look_ns).s);
	print_if(out, logged->lost, "packet of them could not be seen whole",
		 "packets of them could not be seen whole");
	print_if(out, logged->unread, "program logs what cannot be read",
		 "programs log what cannot be read");
	print_if(out, logged->other_time, "program has a clock that cannot be converted",
		 "programs have a clock that cannot be converted");
	print_if(out, logged->no_room,
		 "program is not looked at: there is room for 256, 128 of a user",
		 "programs are not looked at: there is room for 256, 128 of a user");
}

static void print_triggers(FILE *out, const struct flight_status_report *status)
{
	for (size_t i = 0; i < status->trigger_count; i++) {
		const struct flight_trigger_row *row = &status->triggers[i];
		AUTO_FREE char *safe = text_escaped(row->text);

		fprintf(out, "  on %s: fired %s, suppressed %s%s\n", safe, text_count(row->fired).s,
			text_count(row->suppressed).s, row->is_on ? "" : "; off: see below");
	}
	if (status->look_ns)
		fprintf(out, "  looks at all threads every %s%s%s\n",
			text_duration(status->look_ns).s,
			status->look_named_ns ? ", at the named ones every " : "",
			status->look_named_ns ? text_duration(status->look_named_ns).s : "");
	if (status->logged)
		print_logged(out, status->logged);
}

static void print_held(FILE *out, const struct flight_status_report *status)
{
	fprintf(out, "  holds the last %s of all CPUs in %s of memory\n",
		text_duration(status->held_ns).s, text_size(status->memory_bytes).s);
	fprintf(out, "  of that: rings %s, BPF programs %s, the recorder itself %s\n",
		text_size(status->ring_bytes).s, text_size(status->bpf_bytes).s,
		text_size(status->own_bytes).s);
	if (status->lasts_ns < status->keep_ns)
		fprintf(out,
			"  fewer than the %s asked for: at this rate the memory lasts %s; a larger "
			"--memory or fewer events (-e) hold more\n",
			text_duration(status->keep_ns).s, text_duration(status->lasts_ns).s);
	fprintf(out, "  records %s events and %s a second, %s events so far\n",
		text_count(status->events_per_s).s, text_size(status->bytes_per_s).s,
		text_count(status->recorded_events).s);
}

/* Also what those paid who had the events. */
static void print_cost(FILE *out, const struct flight_status_report *status)
{
	double all_ns = (double)status->age_ns * status->cost.cpus;

	if (!status->cost.events_ns || !(all_ns > 0))
		return;
	fprintf(out,
		"  events cost the programs about %s, estimated; BPF programs used %s; all together about %.2f %% of the CPUs' time",
		text_duration(status->cost.events_ns).s,
		text_duration(fact_cost_bpf_ns(&status->cost)).s,
		100 * (double)fact_cost_all_ns(&status->cost) / all_ns);
	if (status->cost.budget_ns)
		fprintf(out, ", since the budget began %.2f %%; the budget is %g %%",
			fact_cost_kept(&status->cost), status->cost.budget_ppm / 1e4);
	fputc('\n', out);
	if (status->steps)
		fprintf(out, "  the budget changed what is recorded %s times; now: %s\n",
			text_count(status->steps).s,
			report_step_words(status->step, status->has_lean_steps));
}

static void print_status(FILE *out, const struct flight_status_report *status)
{
	AUTO_FREE char *dir = text_escaped(status->dir);
	AUTO_FREE char *events = text_escaped(status->events);

	fprintf(out, "The flight recorder runs since %s (process %d, %s), events: %s\n",
		text_local_time(status->since_real_ns).s, status->pid,
		text_duration(status->age_ns).s, events);
	print_held(out, status);
	fprintf(out, "  used %s of CPU time itself (%s), %s to explain snapshots\n",
		text_duration(status->cpu_ns).s,
		text_percent(status->cpu_ns, status->age_ns ? status->age_ns : 1).s,
		text_duration(status->explain_cpu_ns).s);
	print_cost(out, status);
	fprintf(out, "  %s snapshots, %s failed, %s of at most %s in %s\n",
		text_count(status->snapshots).s, text_count(status->failed).s,
		text_size(status->disk_bytes).s, text_size(status->disk_most_bytes).s, dir);
	if (status->last_gap_ns)
		fprintf(out, "  the last one kept it from recording for %s\n",
			text_duration(status->last_gap_ns).s);
	print_triggers(out, status);
	print_messages(out, status);
}

static void json_triggers(struct json *json, const struct flight_status_report *status)
{
	json_begin_array(json, "triggers");
	for (size_t i = 0; i < status->trigger_count; i++) {
		const struct flight_trigger_row *row = &status->triggers[i];

		json_begin_object(json, NULL);
		json_print_string(json, "on", row->text);
		json_print_bool(json, "works", row->is_on);
		json_print_u64(json, "fired", row->fired);
		json_print_u64(json, "suppressed", row->suppressed);
		json_end_object(json);
	}
	json_end_array(json);
	json_begin_array(json, "messages");
	for (size_t i = 0; i < status->message_count; i++) {
		json_begin_object(json, NULL);
		json_print_u64(json, "real_ns", status->messages[i].real_ns);
		json_print_string(json, "text", status->messages[i].text);
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_logged(struct json *json, const struct flight_logged_row *logged)
{
	if (!logged) {
		json_print_null(json, "logged");
		return;
	}
	json_begin_object(json, "logged");
	json_print_u64(json, "programs", logged->programs);
	json_print_u64(json, "look_ns", logged->look_ns);
	json_print_u64(json, "lost_packets", logged->lost);
	json_print_u64(json, "unread", logged->unread);
	json_print_u64(json, "other_time", logged->other_time);
	json_print_u64(json, "no_room", logged->no_room);
	json_end_object(json);
}

static void json_status(FILE *out, const struct flight_status_report *status)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "since_real_ns", status->since_real_ns },
		{ "age_ns", status->age_ns },
		{ "held_ns", status->held_ns },
		{ "keep_ns", status->keep_ns },
		{ "memory_bytes", status->memory_bytes },
		{ "ring_bytes", status->ring_bytes },
		{ "bpf_bytes", status->bpf_bytes },
		{ "own_bytes", status->own_bytes },
		{ "recorded_events", status->recorded_events },
		{ "events_per_second", status->events_per_s },
		{ "bytes_per_second", status->bytes_per_s },
		{ "cpu_ns", status->cpu_ns },
		{ "explain_cpu_ns", status->explain_cpu_ns },
		{ "events_cpu_ns", status->cost.events_ns },
		{ "bpf_cpu_ns", fact_cost_bpf_ns(&status->cost) },
		{ "cost_ns", fact_cost_all_ns(&status->cost) },
		{ "cost_cpus", status->cost.cpus },
		{ "budget_ppm", status->cost.budget_ppm },
		{ "budget_ns", status->cost.budget_ns },
		{ "budget_cost_ns", status->cost.budget_cost_ns },
		{ "step", status->step },
		{ "steps", status->steps },
		{ "snapshots", status->snapshots },
		{ "failed", status->failed },
		{ "last_gap_ns", status->last_gap_ns },
		{ "disk_bytes", status->disk_bytes },
		{ "disk_most_bytes", status->disk_most_bytes },
		{ "pause_ns", status->pause_ns },
		{ "look_ns", status->look_ns },
		{ "look_named_ns", status->look_named_ns },
	};
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "flight-status");
	json_print_i64(&json, "pid", status->pid);
	json_print_string(&json, "dir", status->dir);
	json_print_string(&json, "events", status->events);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		json_print_u64(&json, numbers[i].key, numbers[i].value);
	if (status->lasts_ns == UINT64_MAX)
		json_print_null(&json, "lasts_ns");
	else
		json_print_u64(&json, "lasts_ns", status->lasts_ns);
	json_logged(&json, status->logged);
	json_triggers(&json, status);
	json_end_object(&json);
	json_fini(&json);
}

void report_flight_status(FILE *out, const struct flight_status_report *status, bool json)
{
	if (json)
		json_status(out, status);
	else
		print_status(out, status);
}

static void json_list(FILE *out, const char *dir, const struct flight_row *rows, size_t count)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "flight-list");
	json_begin_array(&json, "snapshots");
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *trace = xasprintf("%s/%s.holdup", dir, rows[i].name);

		json_begin_object(&json, NULL);
		json_print_string(&json, "trace", trace);
		json_print_u64(&json, "real_ns", rows[i].real_ns);
		report_json_window(&json, rows[i].begin_ns, rows[i].end_ns);
		json_print_u64(&json, "gap_ns", rows[i].gap_ns);
		json_print_u64(&json, "bytes", rows[i].bytes);
		json_print_string(&json, "why", rows[i].why);
		json_print_string(&json, "verdict", rows[i].verdict[0] ? rows[i].verdict : NULL);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}

void report_flight_list(FILE *out, const char *dir, const struct flight_row *rows, size_t count,
			bool json)
{
	AUTO_FREE char *safe = text_escaped(dir);

	if (json) {
		json_list(out, dir, rows, count);
		return;
	}
	if (!count)
		fprintf(out, "There are no snapshots in %s.\n", safe);
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *why = text_escaped(rows[i].why);
		AUTO_FREE char *verdict = text_escaped(rows[i].verdict);

		fprintf(out, "%s  %s  %s  %s: %s\n", rows[i].name,
			text_duration(rows[i].end_ns - rows[i].begin_ns).s,
			text_size(rows[i].bytes).s, why, *verdict ? verdict : "not explained");
	}
	if (count)
		fprintf(out, "see: holdup why -a %s/%s.holdup\n", safe, rows[count - 1].name);
}
