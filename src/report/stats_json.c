/* stats_json.c - the statistics for programs. docs/man/holdup-stats.1 describes the keys. */
#include "analyse/stats/stats.h"
#include "event/facts.h"
#include "report/stats_page_int.h"
#include "report/vocabulary.h"

static void put_on_cpu(struct json *json, const struct stats_sums *sums)
{
	json_begin_object(json, "on_cpu");
	json_print_u64(json, "ns", sums->on_cpu_ns);
	json_print_u64(json, "own_ns", sums->own_ns);
	json_print_u64(json, "own_or_kernel_ns", sums->either_ns);
	json_print_u64(json, "syscalls_ns", sums->call_ns);
	json_print_u64(json, "faults_ns", sums->fault_ns);
	json_print_u64(json, "kernel_thread_ns", sums->thread_ns);
	json_print_u64(json, "work_ns", sums->work_ns);
	json_print_u64(json, "irq_ns", sums->irq_ns);
	json_print_u64(json, "softirq_ns", sums->softirq_ns);
	json_end_object(json);
}

static void put_off_cpu(struct json *json, const struct stats_sums *sums)
{
	json_begin_object(json, "waiting_for_cpu");
	json_print_u64(json, "ns", sums->waiting_ns);
	json_print_u64(json, "preempted_ns", sums->preempted_ns);
	json_print_u64(json, "queued_ns", sums->queued_ns);
	json_end_object(json);
	json_begin_object(json, "blocked");
	json_print_u64(json, "ns", sums->blocked_ns);
	json_print_u64(json, "io_ns", stats_io_ns(sums));
	json_begin_object(json, "kinds");
	for (uint32_t kind = 0; kind < WAIT_KIND_COUNT; kind++) {
		const struct stats_wait *wait = &sums->waits[kind];

		if (!wait->ns && !wait->count)
			continue;
		json_begin_object(json, wait_kind_name((enum wait_kind)kind));
		json_print_u64(json, "ns", wait->ns);
		json_print_u64(json, "count", wait->count);
		json_print_u64(json, "max_ns", wait->max_ns);
		json_end_object(json);
	}
	json_end_object(json);
	json_end_object(json);
	json_begin_object(json, "uncertain");
	json_print_u64(json, "ns", sums->uncertain_ns);
	json_begin_object(json, "reasons");
	for (uint32_t reason = 0; reason < STATS_REASONS; reason++) {
		if (sums->reasons_ns[reason])
			json_print_u64(json, stats_reason_name((enum unsure)reason),
				       sums->reasons_ns[reason]);
	}
	json_end_object(json);
	json_end_object(json);
}

static void stats_json_put_counts(struct json *json, const struct stats_sums *sums)
{
	json_begin_object(json, "counts");
	json_print_u64(json, "switches_in", sums->counts[COUNT_SWITCH_IN]);
	json_print_u64(json, "preemptions", sums->counts[COUNT_PREEMPTED]);
	json_print_u64(json, "waits", sums->counts[COUNT_WAITS]);
	json_print_u64(json, "migrations", sums->counts[COUNT_MIGRATIONS]);
	json_print_u64(json, "page_faults", sums->counts[COUNT_FAULTS]);
	json_end_object(json);
}

static void put_calls(struct json *json, const struct stats_row *row)
{
	json_begin_array(json, "syscalls");
	for (size_t i = 0; i < row->call_count; i++) {
		const struct stats_call *call = &row->calls[i];

		json_begin_object(json, NULL);
		json_print_string(json, "name", call->name);
		json_print_u64(json, "count", call->count);
		json_print_u64(json, "ns", call->ns);
		json_print_u64(json, "working_ns", call->working_ns);
		json_print_u64(json, "blocked_ns", call->blocked_ns);
		json_print_u64(json, "max_ns", call->max_ns);
		json_begin_object(json, "errors");
		for (size_t k = 0; k < call->error_kinds; k++)
			json_print_u64(json, call->errors[k].name, call->errors[k].count);
		json_end_object(json);
		json_end_object(json);
	}
	json_end_array(json);
}

static void stats_json_put_irqs(struct json *json, const struct stats_row *row)
{
	json_begin_array(json, "interrupts");
	for (size_t i = 0; i < row->irq_count; i++) {
		json_begin_object(json, NULL);
		json_print_string(json, "name", row->irqs[i].name);
		json_print_u64(json, "ns", row->irqs[i].ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void stats_json_put_charge(struct json *json, const struct stats *stats,
				  const struct stats_row *row)
{
	if (!stats->has_ps)
		return;
	json_begin_object(json, "ticks");
	json_print_u64(json, "user_ns", row->ticks.user * stats->tick_ns);
	json_print_u64(json, "system_ns", row->ticks.system * stats->tick_ns);
	json_print_u64(json, "user_or_system_ns", row->ticks.either * stats->tick_ns);
	json_print_u64(json, "count", charge_sum(&row->ticks));
	json_end_object(json);
}

static void stats_put_row(struct json *json, const char *key, const struct stats *stats,
			  const struct stats_row *row)
{
	json_begin_object(json, key);
	if (row->known)
		json_print_string(json, "name", row->name);
	else
		json_print_null(json, "name");
	if (row->tid) {
		json_print_i64(json, "tid", row->tid);
		json_print_i64(json, "tgid", row->tgid);
		json_print_string(json, "cmdline", row->cmdline);
	}
	json_print_u64(json, "threads", row->threads);
	json_print_u64(json, "life_ns", row->sums.life_ns);
	put_on_cpu(json, &row->sums);
	put_off_cpu(json, &row->sums);
	stats_json_put_counts(json, &row->sums);
	stats_json_put_irqs(json, row);
	put_calls(json, row);
	stats_json_put_charge(json, stats, row);
	json_end_object(json);
}

static void put_cpu_ticks(struct json *json, const struct stats *stats, const struct stats_cpu *cpu)
{
	json_begin_object(json, "ticks");
	json_print_u64(json, "user_ns", cpu->ticks.user * stats->tick_ns);
	json_print_u64(json, "system_ns", cpu->ticks.system * stats->tick_ns);
	json_print_u64(json, "user_or_system_ns", cpu->ticks.either * stats->tick_ns);
	json_print_u64(json, "idle_ns", cpu->ticks.idle * stats->tick_ns);
	json_print_u64(json, "unknown_ns", cpu->ticks.unknown * stats->tick_ns);
	json_end_object(json);
}

static void stats_json_put_cpu(struct json *json, const struct stats *stats,
			       const struct stats_cpu *cpu, int64_t number)
{
	json_begin_object(json, number < 0 ? "sum" : NULL);
	if (number >= 0)
		json_print_i64(json, "cpu", number);
	json_print_u64(json, "user_ns", cpu->mode_ns[MODE_USER]);
	json_print_u64(json, "kernel_ns", cpu->mode_ns[MODE_KERNEL]);
	json_print_u64(json, "user_or_kernel_ns", cpu->mode_ns[MODE_RUN]);
	json_print_u64(json, "irq_ns", cpu->mode_ns[MODE_IRQ]);
	json_print_u64(json, "softirq_ns", cpu->mode_ns[MODE_SOFTIRQ]);
	json_print_u64(json, "idle_ns", cpu->mode_ns[MODE_IDLE]);
	json_print_u64(json, "unknown_ns", cpu->unknown_ns);
	if (stats->has_ps)
		put_cpu_ticks(json, stats, cpu);
	json_end_object(json);
}

static void stats_json_put_system(struct json *json, const struct stats *stats)
{
	json_begin_object(json, "system");
	json_begin_array(json, "cpus");
	for (size_t i = 0; i < stats->cpu_count; i++)
		stats_json_put_cpu(json, stats, &stats->cpus[i], (int64_t)i);
	json_end_array(json);
	stats_json_put_cpu(json, stats, &stats->cpu_sum, -1);
	json_end_object(json);
}

static void put_events(struct json *json, const struct stats *stats)
{
	if (!stats->has_events)
		return;
	json_begin_object(json, "events");
	json_print_u64(json, "count", stats->event_sum);
	json_begin_object(json, "types");
	for (size_t i = 0; i < stats->event_count; i++)
		json_print_u64(json, stats->events[i].name, stats->events[i].count);
	json_end_object(json);
	json_end_object(json);
}

static void put_ps(struct json *json, const struct stats *stats)
{
	if (!stats->has_ps)
		return;
	json_begin_object(json, "ps");
	json_print_u64(json, "tick_ns", stats->tick_ns);
	json_print_string(json, "source", ps_source_name(stats->tick_source));
	json_end_object(json);
}

void stats_json(FILE *out, const struct stats *stats, const struct facts *facts)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "stats");
	report_json_window(&json, stats->start_ns, stats->end_ns);
	json_print_string(&json, "by", stats_by_name(stats->by));
	stats_json_put_system(&json, stats);
	put_ps(&json, stats);
	stats_put_row(&json, "all", stats, &stats->all);
	json_begin_array(&json, "rows");
	for (size_t i = 0; i < stats->row_count; i++)
		stats_put_row(&json, NULL, stats, &stats->rows[i]);
	json_end_array(&json);
	put_events(&json, stats);
	coverage_json(&json, &stats->coverage, facts);
	json_end_object(&json);
	json_fini(&json);
}
