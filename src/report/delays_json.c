/* delays_json.c - the accounts as JSON: times in ns, null for what is not counted. */
#include "base/json.h"
#include "report/delays.h"
#include "report/delays_int.h"
#include "report/vocabulary.h"

static const char *const coverage_names[] = {
	[DELAYS_COVERED] = "covered",
	[DELAYS_PARTLY] = "partly",
	[DELAYS_OLDER] = "older",
	[DELAYS_OFF] = "off",
};

static const char *const state_names[] = {
	[DELAYS_ACCOUNT_NONE] = "none",
	[DELAYS_ACCOUNT_OFF] = "off",
	[DELAYS_ACCOUNT_ON] = "on",
};

static const char *const source_names[] = {
	[DELAYS_FROM_TASKSTATS] = "taskstats",
	[DELAYS_FROM_PROC] = "proc",
	[DELAYS_FROM_TRACE] = "trace",
};

void delays_json_source(struct json *json, const struct delays_sample *sample)
{
	const struct delays_account *account = &sample->account;

	json_print_string(json, "source", source_names[sample->source]);
	if (sample->count && sample->source == DELAYS_FROM_TASKSTATS)
		json_print_u64(json, "version", sample->tasks[0].stats.version);
	else
		json_print_null(json, "version");
	json_print_u64(json, "time_ns", sample->time_ns);
	json_begin_object(json, "accounting");
	json_print_string(json, "state", state_names[account->state]);
	json_print_bool(json, "since_boot", account->since_boot);
	if (account->has_since)
		json_print_u64(json, "since_ns", account->since_ns);
	else
		json_print_null(json, "since_ns");
	json_end_object(json);
}

static void print_class(struct json *json, const struct delays_stats *stats,
			enum delays_class class)
{
	const struct delays_delay *delay = &stats->delay[class];
	const char *name = delays_class_name(class);
	bool ranged = (stats->ranges & (1u << class)) && delay->count;

	if (!delays_has_class(stats, class)) {
		json_print_null(json, name);
		return;
	}
	json_begin_object(json, name);
	json_print_u64(json, "count", delay->count);
	json_print_u64(json, "total_ns", delay->total_ns);
	if (delay->count)
		json_print_u64(json, "average_ns", delay->total_ns / delay->count);
	else
		json_print_null(json, "average_ns");
	if (ranged) {
		json_print_u64(json, "min_ns", delay->min_ns);
		json_print_u64(json, "max_ns", delay->max_ns);
	} else {
		json_print_null(json, "min_ns");
		json_print_null(json, "max_ns");
	}
	json_end_object(json);
}

void delays_json_classes(struct json *json, const struct delays_stats *stats)
{
	json_begin_object(json, "delays");
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++)
		print_class(json, stats, class);
	json_end_object(json);
}

static void delays_json_print_io(struct json *json, const struct delays_stats *stats, bool exact)
{
	if (!(stats->has & (DELAYS_HAS_IO | DELAYS_HAS_CALLS))) {
		json_print_null(json, "io");
		return;
	}
	json_begin_object(json, "io");
	json_print_bool(json, "exact", exact);
	json_print_u64(json, "read_chars", stats->read_chars);
	json_print_u64(json, "write_chars", stats->write_chars);
	json_print_u64(json, "read_calls", stats->read_calls);
	json_print_u64(json, "write_calls", stats->write_calls);
	json_print_u64(json, "read_bytes", stats->read_bytes);
	json_print_u64(json, "write_bytes", stats->write_bytes);
	json_print_u64(json, "cancelled_bytes", stats->cancelled_bytes);
	json_end_object(json);
}

void delays_json_rest(struct json *json, const struct delays_stats *stats, bool exact)
{
	delays_json_print_io(json, stats, exact);
	if (stats->has & DELAYS_HAS_MEMORY) {
		json_begin_object(json, "memory");
		json_print_u64(json, "peak_rss_bytes", stats->peak_rss_kb * 1024);
		json_print_u64(json, "peak_vm_bytes", stats->peak_vm_kb * 1024);
		json_end_object(json);
	} else {
		json_print_null(json, "memory");
	}
	if (stats->has & DELAYS_HAS_SWITCHES) {
		json_begin_object(json, "switches");
		json_print_u64(json, "voluntary", stats->voluntary);
		json_print_u64(json, "involuntary", stats->involuntary);
		json_end_object(json);
	} else {
		json_print_null(json, "switches");
	}
	json_begin_object(json, "faults");
	json_print_u64(json, "minor", stats->minor_faults);
	json_print_u64(json, "major", stats->major_faults);
	json_end_object(json);
}

static void delays_json_print_task(struct json *json, const struct delays_row *row)
{
	const struct delays_task *task = row->task;
	const struct delays_stats *stats = row->stats;

	json_begin_object(json, NULL);
	json_print_bool(json, "process", task->is_process);
	json_print_i64(json, "pid", task->tgid);
	json_print_i64(json, "tid", task->tid);
	json_print_i64(json, "ppid", stats->ppid);
	json_print_string(json, "name", stats->name);
	json_print_u64(json, "uid", stats->uid);
	json_print_u64(json, "threads", task->is_process ? task->threads : 1);
	json_print_bool(json, "born", row->born);
	json_print_string(json, "coverage", coverage_names[task->coverage]);
	json_print_u64(json, "birth_ns", task->birth_ns);
	json_print_u64(json, "wall_ns", task->wall_ns);
	json_print_u64(json, "base_ns", row->base_ns);
	json_print_u64(json, "run_ns", stats->run_ns);
	if (stats->has & DELAYS_HAS_REAL)
		json_print_u64(json, "run_real_ns", stats->run_real_ns);
	else
		json_print_null(json, "run_real_ns");
	json_print_u64(json, "user_ns", stats->user_us * 1000);
	json_print_u64(json, "system_ns", stats->system_us * 1000);
	delays_json_classes(json, stats);
	json_print_bool(json, "impossible", stats->impossible != 0);
	json_print_u64(json, "rest_ns", delays_rest_ns(stats, row->base_ns));
	delays_json_rest(json, stats, task->io_exact);
	json_end_object(json);
}

void delays_json(FILE *out, const struct delays_sample *sample, const struct delays_delta *delta,
		 const struct delays_rows *rows, const struct report_delays_opts *opts)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, delta ? "delays-interval" : "delays");
	if (opts->host)
		json_print_string(&json, "host", opts->host);
	delays_json_source(&json, sample);
	if (opts->trace) {
		json_print_u64(&json, "uncertain_ns", opts->uncertain_ns);
		json_print_u64(&json, "lost_events", opts->lost);
	}
	if (delta) {
		json_print_u64(&json, "interval", opts->interval);
		json_print_u64(&json, "span_ns", delta->span_ns);
		json_print_u64(&json, "born", delta->born);
		json_print_u64(&json, "ended", delta->ended);
	}
	json_print_u64(&json, "missing", sample->missing);
	json_print_u64(&json, "gone", sample->gone);
	json_begin_array(&json, "tasks");
	for (size_t i = 0; i < rows->count; i++)
		delays_json_print_task(&json, &rows->rows[i]);
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}
