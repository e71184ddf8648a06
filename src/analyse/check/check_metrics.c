/*
 * check_metrics.c - metrics as sums from the start of the trace.
 *
 * One walk over the rows of a thread's sums gives all metrics of a model: rows are added up in
 * a few groups first, and a metric is one of the groups, or one row. Between two entries of the
 * thread's track each metric grows with the time or stays: so the walk is done once for each
 * entry at most, however many events of the program come in between.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "timeline/totals.h"

#define CALLS_MAX 1024
#define PACES	  256u	/* a power of two: threads whose pace is at hand */
#define LATELY	  4096u /* threads whose sums are kept; others are found anew */

/* What rows are added up to. */
struct groups {
	uint64_t ns[METRIC_KIND_COUNT];
	uint64_t count[METRIC_KIND_COUNT];
	uint64_t wait_ns[WAIT_KIND_COUNT];
	uint64_t unsure_ns, blurred_ns;
};

static int32_t find_call(const struct facts *facts, const char *name, bool is_compat)
{
	for (int32_t nr = 0; nr < CALLS_MAX; nr++) {
		const char *found = facts ? facts_syscall(facts, nr, is_compat) : NULL;

		if (found && strcmp(found, name) == 0)
			return is_compat ? nr | (int32_t)WORD_COMPAT : nr;
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

/* transfers: what is counted of a call; NO_TRANSFER = nothing. */
#define NO_TRANSFER METRIC_KIND_COUNT

static void find_transfers(struct check_metrics *metrics)
{
	metrics->transfers = xmalloc((size_t)2 * CALLS_MAX);
	memset(metrics->transfers, NO_TRANSFER, (size_t)2 * CALLS_MAX);
	for (uint32_t nr = 0; nr < 2 * CALLS_MAX; nr++) {
		const char *name = metrics->facts ? facts_syscall(metrics->facts, nr % CALLS_MAX,
								  nr >= CALLS_MAX)
						  : NULL;

		for (size_t i = 0; name && i < ARRAY_LEN(transfers); i++) {
			if (strcmp(name, transfers[i].name) == 0)
				metrics->transfers[nr] = (uint8_t)transfers[i].kind;
		}
	}
}

static void add_paces(struct check_metrics *metrics)
{
	uint32_t count = metrics->model->metric_count;

	metrics->lately = xmalloc(LATELY * sizeof(*metrics->lately));
	memset(metrics->lately, 0xff, LATELY * sizeof(*metrics->lately)); /* SLOT_NONE */
	metrics->paces = xcalloc(PACES, sizeof(*metrics->paces));
	metrics->growths = xcalloc((size_t)PACES * count, sizeof(*metrics->growths));
	for (uint32_t i = 0; i < PACES; i++)
		metrics->paces[i].growths = metrics->growths + (size_t)i * count;
}

void check_metrics_init(struct check_metrics *metrics, const struct model *model,
			const struct check_opts *opts)
{
	*metrics = (struct check_metrics){ .model = model,
					   .timeline = opts->timeline,
					   .facts = opts->facts,
					   .missing = opts->missing };
	for (int is_user = 0; is_user < 2; is_user++)
		check_holes_init(&metrics->holes[is_user], opts->holes, opts->hole_count, is_user);
	metrics->has_holes = opts->hole_count > 0;
	metrics->took[0] = opts->took_kernel;
	metrics->took[1] = opts->took_user;
	metrics->is_one_thread = true;
	for (uint32_t i = 0; i < model->pattern_count; i++) {
		metrics->is_one_thread &= model->patterns[i].key == KEY_THREAD;
		metrics->took[0] |= model->patterns[i].take != TAKE_EVENT;
	}
	metrics->numbers = xcalloc(model->metric_count + 1, sizeof(*metrics->numbers));
	metrics->rows = xcalloc(model->metric_count + 1, sizeof(struct metric_row *));
	for (uint32_t i = 0; i < model->metric_count; i++) {
		const struct model_metric *metric = &model->metrics[i];
		const struct metric_row *row = metric_row(metric->kind);

		metrics->rows[i] = row;
		metrics->wants_timeline |= row->origin == FROM_TIMELINE;
		metrics->wants_events |= row->origin == FROM_EVENTS;
		if (row->origin == FROM_LOCKS && !metrics->locks)
			metrics->locks = check_locks_new();
		if (row->origin == FROM_RSS && !metrics->rss)
			metrics->rss = check_rss_new();
		metrics->numbers[i] = (struct check_number){ -1, -1 };
		if (row->argument == ARG_CALL && metric->argument)
			metrics->numbers[i] = (struct check_number){
				find_call(opts->facts, metric->argument, false),
				find_call(opts->facts, metric->argument, true)
			};
		if (row->argument == ARG_WAIT && metric->argument)
			metrics->numbers[i].number = find_wait(metric->argument);
	}
	if (!opts->timeline)
		metrics->wants_timeline = false;
	else
		metrics->sum_count = opts->timeline->thread_count;
	metrics->sums = xcalloc(metrics->sum_count + 1, sizeof(struct tl_sums *));
	if (metrics->wants_timeline)
		add_paces(metrics);
	if (metrics->wants_events)
		find_transfers(metrics);
}

void check_metrics_forget(struct check_metrics *metrics)
{
	if (!metrics->wants_timeline)
		return;
	memset(metrics->lately, 0xff, LATELY * sizeof(*metrics->lately));
	for (uint32_t i = 0; i < PACES; i++)
		metrics->paces[i].timeline = NULL;
}

void check_metrics_fini(struct check_metrics *metrics)
{
	for (uint32_t i = 0; i < metrics->sum_count; i++)
		tl_sums_free(metrics->sums[i]);
	free(metrics->sums);
	check_locks_free(metrics->locks);
	check_rss_free(metrics->rss);
	check_holes_fini(&metrics->holes[0]);
	check_holes_fini(&metrics->holes[1]);
	free(metrics->lately);
	free(metrics->paces);
	free(metrics->growths);
	free(metrics->transfers);
	free(metrics->rows);
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

static void count_transfer(struct check_metrics *metrics, const struct event *event)
{
	const struct ev_syscall *call = &event->syscall;
	uint8_t kind;

	if (call->ret <= 0 || call->nr < 0 || call->nr >= CALLS_MAX)
		return;
	kind = metrics->transfers[call->nr + (call->compat ? CALLS_MAX : 0)];
	if (kind != NO_TRANSFER)
		counts_of(metrics, event->tid)[kind] += (uint64_t)call->ret;
}

void check_metrics_count(struct check_metrics *metrics, const struct event *event)
{
	if (metrics->locks && event->type == EV_SCHED_EXIT)
		check_locks_exit(metrics->locks, event->task.tid, event->time_ns);
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
	/* Not from the timeline: a softirq that was interrupted begins there once more. */
	case EV_FAULT_USER:
	case EV_FAULT_KERNEL:
		counts_of(metrics, event->tid)[METRIC_FAULTS]++;
		return;
	case EV_IRQ_ENTRY:
	case EV_VECTOR_ENTRY:
		counts_of(metrics, event->tid)[METRIC_INTERRUPTS]++;
		return;
	case EV_SOFTIRQ_ENTRY:
		counts_of(metrics, event->tid)[METRIC_SOFTIRQS]++;
		return;
	case EV_BLOCK_ISSUE:
		counts_of(metrics, event->tid)[METRIC_BLOCK_REQUESTS]++;
		return;
	default:
		return;
	}
}

void check_metrics_add(struct check_metrics *metrics, int32_t tid, enum metric_kind kind,
		       uint64_t amount)
{
	if (metrics->wants_events && tid >= 0)
		counts_of(metrics, tid)[kind] += amount;
}

/* -------------------------------------------------------------- timeline */

static void add_state(struct groups *groups, const struct total *row)
{
	switch (word_kind(total_a(row->key))) {
	case WORD_NONE: /* dead: it does nothing any more */
		return;
	case WORD_UNCERTAIN:
		groups->unsure_ns += row->ns;
		return;
	case WORD_RUN:
		groups->blurred_ns += row->ns;
		break;
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
		break;
	case WORD_SOFTIRQ:
		groups->ns[METRIC_IN_SOFTIRQ] += row->ns;
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
		[COUNT_FAULTS] = METRIC_KIND_COUNT,
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
static uint64_t call_of(const struct totals *totals, int32_t call, bool is_time)
{
	const struct total *row =
		call < 0 ? NULL : totals_find(totals, total_key(TOTAL_CALL, (uint32_t)call, 0));

	if (!row)
		return 0;
	return is_time ? row->ns : row->count;
}

static uint64_t value_of(const struct check_metrics *metrics, uint32_t index,
			 const struct groups *groups, const struct totals *totals)
{
	const struct model_metric *metric = &metrics->model->metrics[index];
	const struct metric_row *row = metrics->rows[index];

	if (metric->argument && row->argument == ARG_WAIT)
		return groups->wait_ns[metrics->numbers[index].number];
	if (metric->argument && row->argument == ARG_CALL)
		return call_of(totals, metrics->numbers[index].number, row->unit == UNIT_TIME) +
		       call_of(totals, metrics->numbers[index].compat, row->unit == UNIT_TIME);
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

static struct tl_sums *sums_of(struct check_metrics *metrics, uint32_t slot)
{
	uint32_t *place, old;

	if (metrics->sums[slot])
		return metrics->sums[slot];
	place = &metrics->lately[metrics->lately_at++ % LATELY];
	old = *place;
	if (old < metrics->sum_count && metrics->sums[old]) {
		tl_sums_free(metrics->sums[old]);
		metrics->sums[old] = NULL;
	}
	*place = slot;
	metrics->sums[slot] = tl_sums_new(metrics->timeline, slot);
	return metrics->sums[slot];
}

/* What each metric grows by in one ns while 'pace' goes on: 1 or 0. */
static void find_growth(const struct check_metrics *metrics, const struct tl_pace *pace,
			struct check_pace *out)
{
	struct total state = { .key = total_key(TOTAL_STATE, pace->word, 0), .ns = 1 };
	struct groups groups = { 0 };

	add_state(&groups, &state);
	if (word_kind(pace->word) == WORD_BLOCKED && pace->wait < WAIT_KIND_COUNT)
		groups.wait_ns[pace->wait] = 1;
	groups.ns[METRIC_IN_SYSCALLS] = pace->call != SLOT_NONE;
	for (uint32_t i = 0; i < metrics->model->metric_count; i++) {
		const struct model_metric *metric = &metrics->model->metrics[i];

		if (metrics->rows[i]->origin != FROM_TIMELINE)
			continue;
		if (metric->kind == METRIC_IN_SYSCALLS && metric->argument)
			out->growths[i].grows =
				pace->call != SLOT_NONE &&
				(metrics->numbers[i].number == (int32_t)pace->call ||
				 metrics->numbers[i].compat == (int32_t)pace->call);
		else if (metrics->rows[i]->unit == UNIT_TIME)
			out->growths[i].grows = value_of(metrics, i, &groups, NULL);
		else
			out->growths[i].grows = false;
	}
	out->is_unsure = groups.unsure_ns;
	out->is_blurred = groups.blurred_ns;
	out->is_vague = pace->vague;
	out->is_untold = groups.wait_ns[WAIT_FOR_UNKNOWN];
}

/* The sums of a thread at 'time_ns', and how they go on. */
static void take_pace(struct check_metrics *metrics, uint32_t slot, uint64_t time_ns,
		      struct check_pace *out)
{
	const struct timeline *timeline = metrics->timeline;
	uint64_t until = time_ns < timeline->end_ns ? time_ns : timeline->end_ns;
	struct tl_sums *sums = sums_of(metrics, slot);
	const struct totals *totals = tl_sums_at(sums, until);
	struct groups groups = { 0 };
	struct tl_pace pace;

	add_rows(&groups, totals);
	for (uint32_t i = 0; i < metrics->model->metric_count; i++) {
		if (metrics->rows[i]->origin == FROM_TIMELINE)
			out->growths[i].value = value_of(metrics, i, &groups, totals);
	}
	out->timeline = timeline;
	out->events = timeline->events;
	out->slot = slot;
	out->from_ns = out->until_ns = time_ns;
	out->blurred_ns = groups.blurred_ns;
	out->vague_ns = tl_sums_vague_ns(sums);
	out->untold_ns = groups.wait_ns[WAIT_FOR_UNKNOWN];
	out->unsure_ns = groups.unsure_ns + outside_ns(timeline, time_ns);
	if (time_ns != until || time_ns <= timeline->origin_ns || !tl_sums_pace(sums, &pace))
		return;
	out->until_ns = pace.until_ns < timeline->end_ns ? pace.until_ns : timeline->end_ns;
	find_growth(metrics, &pace, out);
}

static void from_timeline(struct check_metrics *metrics, uint32_t slot, uint64_t time_ns,
			  struct check_sums *out_sums)
{
	struct check_pace *pace = &metrics->paces[slot & (PACES - 1)];
	uint64_t ns;

	if (pace->timeline != metrics->timeline || pace->slot != slot ||
	    pace->events != metrics->timeline->events || time_ns < pace->from_ns ||
	    time_ns > pace->until_ns)
		take_pace(metrics, slot, time_ns, pace);
	ns = time_ns - pace->from_ns;
	for (uint32_t i = 0; i < metrics->model->metric_count; i++)
		out_sums->values[i] = pace->growths[i].value + (pace->growths[i].grows ? ns : 0);
	out_sums->unsure_ns = pace->unsure_ns + (pace->is_unsure ? ns : 0);
	out_sums->blurred_ns = pace->blurred_ns + (pace->is_blurred ? ns : 0);
	out_sums->vague_ns = pace->vague_ns + (pace->is_vague ? ns : 0);
	out_sums->untold_ns = pace->untold_ns + (pace->is_untold ? ns : 0);
}

static void rss_at(struct check_metrics *metrics, uint32_t slot, struct check_sums *out_sums)
{
	const struct timeline *timeline = metrics->timeline;
	int32_t tgid =
		timeline && slot < timeline->thread_count ? timeline->threads[slot]->tgid : -1;
	uint64_t bytes;

	out_sums->has_rss = check_rss_at(metrics->rss, tgid, &bytes, &out_sums->rss_jump);
	for (uint32_t i = 0; i < metrics->model->metric_count; i++) {
		if (metrics->rows[i]->origin == FROM_RSS)
			out_sums->values[i] = bytes;
	}
}

void check_metrics_at(struct check_metrics *metrics, uint32_t slot, int32_t tid, uint64_t time_ns,
		      struct check_sums *out_sums)
{
	uint32_t count = metrics->model->metric_count;

	if (metrics->wants_timeline && slot < metrics->sum_count) {
		from_timeline(metrics, slot, time_ns, out_sums);
	} else {
		memset(out_sums->values, 0, count * sizeof(*out_sums->values));
		out_sums->unsure_ns = time_ns;
		out_sums->blurred_ns = out_sums->vague_ns = out_sums->untold_ns = 0;
	}
	if (metrics->wants_events && tid >= 0) {
		const uint64_t *counted = counts_of(metrics, tid);

		for (uint32_t i = 0; i < count; i++) {
			if (metrics->rows[i]->origin == FROM_EVENTS)
				out_sums->values[i] = counted[metrics->model->metrics[i].kind];
		}
	}
	for (uint32_t i = 0; metrics->locks && i < count; i++) {
		if (metrics->rows[i]->origin == FROM_LOCKS)
			out_sums->values[i] =
				check_locks_at(metrics->locks, tid, time_ns,
					       metrics->model->metrics[i].kind == METRIC_LOCK_HELD);
	}
	if (metrics->rss)
		rss_at(metrics, slot, out_sums);
	out_sums->time_ns = time_ns;
	out_sums->slot = slot;
	out_sums->tid = tid;
	out_sums->known = true;
}
