/*
 * check_metrics.c - metrics as sums from the start of the trace.
 *
 * One walk over the rows of a thread's sums gives all metrics of a model: rows are added up in
 * a few groups first, and a metric is one of the groups, or one row.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/check_int.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "timeline/totals.h"

#define CALLS_MAX 1024

/* What rows are added up to. */
struct groups {
	uint64_t ns[METRIC_KIND_COUNT];
	uint64_t count[METRIC_KIND_COUNT];
	uint64_t wait_ns[WAIT_KIND_COUNT];
	uint64_t unsure_ns;
};

static int32_t find_call(const struct facts *facts, const char *name)
{
	for (int32_t nr = 0; nr < CALLS_MAX; nr++) {
		const char *found = facts ? facts_syscall(facts, nr, false) : NULL;

		if (found && strcmp(found, name) == 0)
			return nr;
	}
	return -1;
}

static int32_t find_wait(const char *name)
{
	int32_t kind = 0;

	while (kind < WAIT_KIND_COUNT - 1 &&
	       strcmp(wait_kind_name((enum wait_kind)kind), name) != 0)
		kind++;
	return kind;
}

void check_metrics_init(struct check_metrics *metrics, const struct model *model,
			const struct check_opts *opts)
{
	*metrics = (struct check_metrics){ .model = model,
					   .timeline = opts->timeline,
					   .facts = opts->facts,
					   .missing = opts->missing };
	metrics->numbers = xcalloc(model->metric_count + 1, sizeof(*metrics->numbers));
	for (uint32_t i = 0; i < model->metric_count; i++) {
		const struct model_metric *metric = &model->metrics[i];
		const struct metric_row *row = metric_row(metric->kind);

		metrics->wants_timeline |= row->origin == FROM_TIMELINE;
		metrics->wants_events |= row->origin == FROM_EVENTS;
		metrics->numbers[i] = -1;
		if (row->argument == ARG_CALL && metric->argument)
			metrics->numbers[i] = find_call(opts->facts, metric->argument);
		if (row->argument == ARG_WAIT && metric->argument)
			metrics->numbers[i] = find_wait(metric->argument);
	}
	if (!opts->timeline)
		metrics->wants_timeline = false;
	else
		metrics->sum_count = opts->timeline->thread_count;
	metrics->sums = xcalloc(metrics->sum_count + 1, sizeof(struct tl_sums *));
}

void check_metrics_fini(struct check_metrics *metrics)
{
	for (uint32_t i = 0; i < metrics->sum_count; i++)
		tl_sums_free(metrics->sums[i]);
	free(metrics->sums);
	free(metrics->numbers);
	free(metrics->counts);
	map_fini(&metrics->counters);
}

/* ---------------------------------------------------------------- events */

static uint64_t *counts_of(struct check_metrics *metrics, int32_t tid)
{
	bool is_new;
	uint64_t *index = map_add(&metrics->counters, (uint32_t)tid, &is_new);

	if (is_new) {
		metrics->counts = vec_room(metrics->counts, metrics->count_count,
					   &metrics->count_cap, sizeof(*metrics->counts));
		memset(metrics->counts[metrics->count_count], 0, sizeof(*metrics->counts));
		*index = metrics->count_count++;
	}
	return metrics->counts[*index];
}

/* Calls whose result is a number of bytes. */
static const struct {
	const char *name;
	enum metric_kind kind;
} transfers[] = {
	{ "read", METRIC_BYTES_READ },	      { "pread64", METRIC_BYTES_READ },
	{ "readv", METRIC_BYTES_READ },	      { "preadv", METRIC_BYTES_READ },
	{ "preadv2", METRIC_BYTES_READ },     { "recvfrom", METRIC_BYTES_READ },
	{ "recvmsg", METRIC_BYTES_READ },     { "write", METRIC_BYTES_WRITTEN },
	{ "pwrite64", METRIC_BYTES_WRITTEN }, { "writev", METRIC_BYTES_WRITTEN },
	{ "pwritev", METRIC_BYTES_WRITTEN },  { "pwritev2", METRIC_BYTES_WRITTEN },
	{ "sendto", METRIC_BYTES_WRITTEN },   { "sendmsg", METRIC_BYTES_WRITTEN },
};

static void count_transfer(struct check_metrics *metrics, const struct event *event)
{
	const char *name;

	if (event->syscall.ret <= 0 || !metrics->facts)
		return;
	name = facts_syscall(metrics->facts, event->syscall.nr, event->syscall.compat);
	for (size_t i = 0; name && i < ARRAY_LEN(transfers); i++) {
		if (strcmp(name, transfers[i].name) == 0) {
			counts_of(metrics, event->tid)[transfers[i].kind] +=
				(uint64_t)event->syscall.ret;
			return;
		}
	}
}

void check_metrics_count(struct check_metrics *metrics, const struct event *event)
{
	if (!metrics->wants_events)
		return;
	switch (event->type) {
	case EV_SYS_EXIT:
		count_transfer(metrics, event);
		return;
	case EV_SIGNAL_DELIVER:
		counts_of(metrics, event->tid)[METRIC_SIGNALS]++;
		return;
	case EV_SCHED_WAKING:
		counts_of(metrics, event->wake.tid)[METRIC_WAKEUPS]++;
		return;
	case EV_BLOCK_ISSUE:
		counts_of(metrics, event->tid)[METRIC_BLOCK_REQUESTS]++;
		return;
	default:
		return;
	}
}

/* -------------------------------------------------------------- timeline */

static void add_state(struct groups *groups, const struct total *row)
{
	switch (word_kind(total_a(row->key))) {
	case WORD_NONE:
	case WORD_UNCERTAIN:
		groups->unsure_ns += row->ns;
		return;
	case WORD_USER:
		groups->ns[METRIC_USER] += row->ns;
		break;
	case WORD_SYSCALL:
	case WORD_TRAP:
	case WORD_KERNEL:
	case WORD_WORK:
		groups->ns[METRIC_SYSTEM] += row->ns;
		break;
	case WORD_IRQ:
	case WORD_VECTOR:
		groups->ns[METRIC_IN_IRQ] += row->ns;
		groups->count[METRIC_INTERRUPTS] += row->count;
		break;
	case WORD_SOFTIRQ:
		groups->ns[METRIC_IN_SOFTIRQ] += row->ns;
		groups->count[METRIC_SOFTIRQS] += row->count;
		break;
	case WORD_PREEMPTED:
		groups->ns[METRIC_PREEMPTED] += row->ns;
		groups->ns[METRIC_WAIT_CPU] += row->ns;
		return;
	case WORD_WAIT_CPU:
		groups->ns[METRIC_WAIT_CPU] += row->ns;
		return;
	case WORD_BLOCKED:
		groups->ns[METRIC_BLOCKED] += row->ns;
		return;
	default:
		break;
	}
	groups->ns[METRIC_ON_CPU] += row->ns;
}

static void add_counter(struct groups *groups, const struct total *row)
{
	static const uint8_t kinds[COUNT_COUNTERS] = {
		[COUNT_SWITCH_IN] = METRIC_KIND_COUNT, [COUNT_PREEMPTED] = METRIC_PREEMPTIONS,
		[COUNT_WAITS] = METRIC_SWITCHES,       [COUNT_MIGRATIONS] = METRIC_MIGRATIONS,
		[COUNT_FAULTS] = METRIC_FAULTS,
	};
	uint32_t counter = total_a(row->key);

	if (counter < COUNT_COUNTERS && kinds[counter] < METRIC_KIND_COUNT)
		groups->count[kinds[counter]] += row->count;
}

static void add_rows(struct groups *groups, const struct totals *totals)
{
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct total *row = &totals->rows[i];

		switch (total_kind(row->key)) {
		case TOTAL_STATE:
			add_state(groups, row);
			break;
		case TOTAL_WAIT:
			if (total_b(row->key) < WAIT_KIND_COUNT)
				groups->wait_ns[total_b(row->key)] += row->ns;
			break;
		case TOTAL_CALL:
			groups->ns[METRIC_IN_SYSCALLS] += row->ns;
			groups->count[METRIC_SYSCALLS] += row->count;
			break;
		case TOTAL_COUNTER:
			add_counter(groups, row);
			break;
		default:
			break;
		}
	}
}

/* One call: its own row. */
static uint64_t call_of(const struct totals *totals, int32_t call, bool time)
{
	const struct total *row =
		call < 0 ? NULL : totals_find(totals, total_key(TOTAL_CALL, (uint32_t)call, 0));

	if (!row)
		return 0;
	return time ? row->ns : row->count;
}

static uint64_t value_of(const struct check_metrics *metrics, uint32_t index,
			 const struct groups *groups, const struct totals *totals)
{
	const struct model_metric *metric = &metrics->model->metrics[index];
	const struct metric_row *row = metric_row(metric->kind);

	if (metric->argument && row->argument == ARG_WAIT)
		return groups->wait_ns[metrics->numbers[index]];
	if (metric->argument && row->argument == ARG_CALL)
		return totals ? call_of(totals, metrics->numbers[index], row->unit == UNIT_TIME)
			      : 0;
	if (metric->kind == METRIC_UNCERTAIN)
		return groups->unsure_ns;
	return row->unit == UNIT_TIME ? groups->ns[metric->kind] : groups->count[metric->kind];
}

/* Time outside of what the timeline covers, up to 'time_ns'. */
static uint64_t outside_ns(const struct timeline *timeline, uint64_t time_ns)
{
	uint64_t before = time_ns < timeline->origin_ns ? time_ns : timeline->origin_ns;
	uint64_t behind = time_ns > timeline->end_ns ? time_ns - timeline->end_ns : 0;

	return before + behind;
}

void check_metrics_at(struct check_metrics *metrics, uint32_t slot, int32_t tid, uint64_t time_ns,
		      struct check_sums *out_sums)
{
	const struct timeline *timeline = metrics->timeline;
	const struct totals *totals = NULL;
	const uint64_t *counted = NULL;
	struct groups groups = { 0 };

	if (metrics->wants_timeline && slot < metrics->sum_count) {
		uint64_t until = time_ns < timeline->end_ns ? time_ns : timeline->end_ns;

		if (!metrics->sums[slot])
			metrics->sums[slot] = tl_sums_new(timeline, slot);
		totals = tl_sums_at(metrics->sums[slot], until);
		add_rows(&groups, totals);
		groups.unsure_ns += outside_ns(timeline, time_ns);
	} else {
		groups.unsure_ns = time_ns;
	}
	if (metrics->wants_events && tid >= 0)
		counted = counts_of(metrics, tid);
	for (uint32_t i = 0; i < metrics->model->metric_count; i++) {
		enum metric_kind kind = metrics->model->metrics[i].kind;
		uint8_t origin = metric_row(kind)->origin;

		if (origin == FROM_CLOCK)
			out_sums->values[i] = time_ns;
		else if (origin == FROM_EVENTS)
			out_sums->values[i] = counted ? counted[kind] : 0;
		else
			out_sums->values[i] = value_of(metrics, i, &groups, totals);
	}
	out_sums->unsure_ns = groups.unsure_ns;
	out_sums->time_ns = time_ns;
	out_sums->slot = slot;
	out_sums->tid = tid;
	out_sums->known = true;
}
