/* stats.c - rows out of the sums that the timeline keeps of each thread. */
#include "analyse/stats/stats.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/stats/stats_int.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"

const char *stats_by_name(enum stats_by by)
{
	static const char *const names[STATS_BY_COUNT] = { "process", "thread", "cgroup", "user",
							   "comm" };

	return (unsigned int)by < STATS_BY_COUNT ? names[by] : "process";
}

const char *stats_reason(enum unsure reason)
{
	return why_unsure_name(reason);
}

const char *stats_reason_name(enum unsure reason)
{
	static const char *const names[STATS_REASONS] = {
		[UNSURE_LOST] = "lost",	  [UNSURE_START] = "start",	[UNSURE_SWITCH] = "switch",
		[UNSURE_ORDER] = "order", [UNSURE_DAMAGED] = "damaged", [UNSURE_WAKING] = "waking",
	};

	return (unsigned int)reason < STATS_REASONS ? names[reason] : "unknown";
}

/* ------------------------------------------------------------------- states */

static void add_state(struct stats_sums *sums, uint32_t word, uint64_t ns)
{
	uint64_t *const places[WORD_KIND_COUNT] = {
		[WORD_RUN] = &sums->either_ns,	    [WORD_USER] = &sums->own_ns,
		[WORD_SYSCALL] = &sums->call_ns,    [WORD_TRAP] = &sums->fault_ns,
		[WORD_KERNEL] = &sums->thread_ns,   [WORD_WORK] = &sums->work_ns,
		[WORD_IRQ] = &sums->irq_ns,	    [WORD_VECTOR] = &sums->irq_ns,
		[WORD_SOFTIRQ] = &sums->softirq_ns, [WORD_PREEMPTED] = &sums->preempted_ns,
		[WORD_WAIT_CPU] = &sums->queued_ns,
	};
	enum word_kind kind = word_kind(word);
	uint32_t reason = word_arg(word);

	if (kind == WORD_NONE)
		return;
	sums->life_ns += ns;
	if (kind == WORD_BLOCKED) {
		sums->blocked_ns += ns;
	} else if (kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU) {
		*places[kind] += ns;
		sums->waiting_ns += ns;
	} else if (kind < WORD_KIND_COUNT && places[kind]) {
		*places[kind] += ns;
		sums->on_cpu_ns += ns;
	} else {
		sums->uncertain_ns += ns;
		sums->reasons_ns[kind == WORD_UNCERTAIN && reason < STATS_REASONS ? reason
										  : UNSURE_ORDER] +=
			ns;
	}
}

static void add_wait(struct stats_sums *sums, const struct total *row)
{
	uint32_t kind = total_b(row->key);
	struct stats_wait *wait =
		&sums->waits[kind < WAIT_KIND_COUNT ? kind : (uint32_t)WAIT_FOR_UNKNOWN];

	wait->ns += row->ns;
	wait->count += row->count;
	if (row->max_ns > wait->max_ns)
		wait->max_ns = row->max_ns;
}

static void fill_sums(struct stats_sums *sums, const struct totals *totals)
{
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct total *row = &totals->rows[i];
		uint32_t a = total_a(row->key);

		switch (total_kind(row->key)) {
		case TOTAL_STATE:
			add_state(sums, a, row->ns);
			break;
		case TOTAL_WAIT:
			add_wait(sums, row);
			break;
		case TOTAL_COUNTER:
			if (a < COUNT_COUNTERS)
				sums->counts[a] += row->count;
			break;
		default:
			break;
		}
	}
}

/* ------------------------------------------------------------- system calls */

ORDER_FUNCTION(compare_calls, struct stats_call, ORDER_DOWN(ns), ORDER_DOWN(count),
	       ORDER_TEXT(name));

ORDER_FUNCTION(compare_errors, struct stats_error, ORDER_DOWN(count), ORDER_UP(code));

static void add_error(struct stats_query *query, struct stats_call *call, const struct total *row)
{
	int32_t code = (int32_t)total_b(row->key);

	call->errors = xrealloc(call->errors, call->error_kinds + 1, sizeof(*call->errors));
	call->errors[call->error_kinds++] = (struct stats_error){
		.code = code,
		.name = describe_error(&query->why, (uint32_t)code),
		.count = row->count,
	};
	call->error_count += row->count;
}

/* The call that a row is about; -1 = none. */
static int64_t call_of_row(const struct total *row)
{
	uint32_t a = total_a(row->key);

	switch (total_kind(row->key)) {
	case TOTAL_CALL:
	case TOTAL_ERROR:
		return a;
	case TOTAL_STATE:
	case TOTAL_WAIT:
		return word_kind(a) == WORD_SYSCALL ? (int64_t)word_call(a) : -1;
	default:
		return -1;
	}
}

static struct stats_call *find_call(struct stats_query *query, struct stats_row *out_row,
				    struct map *calls, uint32_t number)
{
	uint64_t *found = map_find(calls, number);
	const char *name;

	if (found)
		return &out_row->calls[*found];
	name = describe_word(&query->words, word_make(WORD_SYSCALL, number));
	if (number & WORD_COMPAT)
		name = why_keep(&query->why, xasprintf("%s (32-bit)", name));
	map_put(calls, number, out_row->call_count);
	out_row->calls = xrealloc(out_row->calls, out_row->call_count + 1, sizeof(*out_row->calls));
	out_row->calls[out_row->call_count] = (struct stats_call){ .name = name };
	return &out_row->calls[out_row->call_count++];
}

static void add_to_call(struct stats_query *query, struct stats_call *call, const struct total *row)
{
	switch (total_kind(row->key)) {
	case TOTAL_CALL:
		call->count += row->count;
		call->ns += row->ns;
		if (row->max_ns > call->max_ns)
			call->max_ns = row->max_ns;
		break;
	case TOTAL_ERROR:
		if (row->count)
			add_error(query, call, row);
		break;
	case TOTAL_STATE:
		call->working_ns += row->ns;
		break;
	default:
		call->blocked_ns += row->ns;
		break;
	}
}

static void fill_calls(struct stats_query *query, struct stats_row *out_row,
		       const struct totals *totals)
{
	struct map calls = { 0 };

	for (uint32_t i = 0; i < totals->count; i++) {
		const struct total *row = &totals->rows[i];
		int64_t number = call_of_row(row);

		if (number >= 0 && (row->ns || row->count))
			add_to_call(query, find_call(query, out_row, &calls, (uint32_t)number),
				    row);
	}
	map_fini(&calls);
	for (size_t i = 0; i < out_row->call_count; i++) {
		struct stats_call *call = &out_row->calls[i];

		/* Of a call that began unseen the sum may know less than its parts. */
		if (call->ns < call->working_ns + call->blocked_ns)
			call->ns = call->working_ns + call->blocked_ns;
		if (call->error_kinds)
			qsort(call->errors, call->error_kinds, sizeof(*call->errors),
			      compare_errors);
	}
	if (out_row->call_count)
		qsort(out_row->calls, out_row->call_count, sizeof(*out_row->calls), compare_calls);
}

/* --------------------------------------------------------------- interrupts */

ORDER_FUNCTION(compare_irqs, struct stats_irq, ORDER_DOWN(ns), ORDER_TEXT(name));

static void fill_irqs(struct stats_query *query, struct stats_row *out_row,
		      const struct totals *totals)
{
	size_t cap = 0;

	for (uint32_t i = 0; i < totals->count; i++) {
		const struct total *row = &totals->rows[i];
		enum word_kind kind = word_kind(total_a(row->key));

		if (total_kind(row->key) != TOTAL_STATE || !row->ns ||
		    (kind != WORD_IRQ && kind != WORD_VECTOR && kind != WORD_SOFTIRQ))
			continue;
		out_row->irqs =
			vec_room(out_row->irqs, out_row->irq_count, &cap, sizeof(*out_row->irqs));
		out_row->irqs[out_row->irq_count++] = (struct stats_irq){
			.name = describe_word(&query->words, total_a(row->key)),
			.ns = row->ns,
		};
	}
	if (out_row->irq_count)
		qsort(out_row->irqs, out_row->irq_count, sizeof(*out_row->irqs), compare_irqs);
}

/* --------------------------------------------------------------------- rows */

static void fill_row(struct stats_query *query, struct stats_row *out_row, struct totals *totals)
{
	totals_sort(totals);
	fill_sums(&out_row->sums, totals);
	fill_calls(query, out_row, totals);
	fill_irqs(query, out_row, totals);
}

static const char *user_name(struct stats_query *query, uint32_t uid)
{
	return uid == 0 ? "root" : why_keep(&query->why, xasprintf("uid %u", uid));
}

static void name_row(struct stats_query *query, struct stats_row *row, const struct group *group)
{
	const struct tl_thread *thread = query->tl->threads[group->slot];
	const struct fact_thread *fact =
		group->fact ? &query->facts->threads[group->fact - 1] : NULL;
	enum stats_by by = query->opts->by;
	const char *cgroup = fact && fact->cgroup ? fact->cgroup : "";

	row->known = true;
	row->cmdline = "";
	if (by == STATS_CGROUP) {
		row->known = cgroup[0] != '\0';
		row->name = row->known ? why_keep(&query->why, xstrdup(cgroup)) : "?";
	} else if (by == STATS_USER) {
		row->known = fact != NULL;
		row->name = fact ? user_name(query, fact->uid) : "?";
	} else {
		row->name = why_keep(&query->why, xstrdup(timeline_comm(query->tl, group->slot)));
	}
	if (by == STATS_PROCESS || by == STATS_THREAD) {
		row->tid = thread->tid;
		row->tgid = thread_process(thread);
		row->cmdline =
			why_keep(&query->why, xstrdup(timeline_name(query->tl, thread->cmdline)));
	}
}

static uint64_t sort_value(const struct stats_sums *sums, enum stats_sort sort)
{
	switch (sort) {
	case STATS_BY_OWN:
		return sums->own_ns;
	case STATS_BY_KERNEL:
		return sums->call_ns + sums->fault_ns + sums->thread_ns + sums->work_ns;
	case STATS_BY_CALLS:
		return sums->call_ns;
	case STATS_BY_IRQ:
		return sums->irq_ns + sums->softirq_ns;
	case STATS_BY_WAITING:
		return sums->waiting_ns;
	case STATS_BY_BLOCKED:
		return sums->blocked_ns;
	case STATS_BY_IO:
		return sums->waits[WAIT_FOR_DISK].ns + sums->waits[WAIT_FOR_IO].ns;
	case STATS_BY_UNCERTAIN:
		return sums->uncertain_ns;
	case STATS_BY_SWITCHES:
		return sums->counts[COUNT_SWITCH_IN];
	case STATS_BY_FAULTS:
		return sums->counts[COUNT_FAULTS];
	case STATS_BY_NAME:
		return 0;
	default:
		return sums->on_cpu_ns;
	}
}

static int compare_stats_rows(const void *a, const void *b, void *context)
{
	const struct stats_row *x = a, *y = b;
	const enum stats_sort *sort = context;
	uint64_t x_value = sort_value(&x->sums, *sort), y_value = sort_value(&y->sums, *sort);
	int names = strcmp(x->name, y->name);

	if (x_value != y_value)
		return x_value < y_value ? 1 : -1;
	if (names)
		return names;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->sums.life_ns < y->sums.life_ns ? 1 : x->sums.life_ns > y->sums.life_ns ? -1 : 0;
}

static void fill_rows(struct stats_query *query)
{
	struct stats *stats = query->stats;
	enum stats_sort sort = query->opts->sort;

	stats->rows = xcalloc(query->group_count + 1, sizeof(*stats->rows));
	for (size_t i = 0; i < query->group_count; i++) {
		struct group *group = &query->groups[i];
		struct stats_row *row = &stats->rows[stats->row_count++];

		row->threads = group->threads;
		row->kernel = group->kernel;
		row->ticks = group->ticks;
		name_row(query, row, group);
		fill_row(query, row, &group->totals);
	}
	qsort_r(stats->rows, stats->row_count, sizeof(*stats->rows), compare_stats_rows, &sort);
}

static bool lived(const struct tl_thread *thread, const struct stats_opts *opts)
{
	return thread->birth_ns < opts->end_ns && thread->death_ns > opts->start_ns;
}

static void add_charge(struct ps_charge *sum, const struct ps_charge *charge)
{
	sum->user += charge->user;
	sum->system += charge->system;
	sum->either += charge->either;
}

/* Each thread's sums to its group; 'cpus' gets those of the idle tasks, too. */
static void add_threads(struct stats_query *query, const struct ps_charge *charges,
			struct totals *out_cpus)
{
	struct stats_row *all = &query->stats->all;
	struct totals totals = { 0 }, sum = { 0 };

	for (uint32_t slot = 0; slot < query->tl->thread_count; slot++) {
		struct group *group;

		if (!lived(query->tl->threads[slot], query->opts))
			continue;
		timeline_totals(query->tl, slot, query->opts->start_ns, query->opts->end_ns,
				&totals);
		totals_add(out_cpus, &totals);
		if (query->tl->threads[slot]->tid == 0)
			continue;
		group = group_of(query, slot);
		group->threads++;
		totals_add(&group->totals, &totals);
		totals_add(&sum, &totals);
		all->threads++;
		if (charges) {
			add_charge(&group->ticks, &charges[slot]);
			add_charge(&all->ticks, &charges[slot]);
		}
	}
	all->name = "all";
	all->cmdline = "";
	all->known = true;
	fill_row(query, all, &sum);
	totals_fini(&totals);
	totals_fini(&sum);
}

static void add_all(struct stats_query *query)
{
	const struct stats_opts *opts = query->opts;
	struct ps_charge *charges = NULL;
	struct ps_cpu *cpus = NULL;
	struct totals totals = { 0 };

	if (opts->ticks) {
		charges = xcalloc(query->tl->thread_count + 1u, sizeof(*charges));
		cpus = xcalloc(query->tl->cpu_count + 1u, sizeof(*cpus));
		ps_charge(query->tl, opts->ticks, opts->start_ns, opts->end_ns, charges, cpus);
		query->stats->has_ps = true;
		query->stats->tick_ns = opts->ticks->period_ns;
		query->stats->tick_source = opts->ticks->source;
	}
	add_threads(query, charges, &totals);
	fill_rows(query);
	stats_fill_cpus(query, &totals, cpus);
	totals_fini(&totals);
	free(charges);
	free(cpus);
}

int stats_run(const struct timeline *timeline, const struct facts *facts,
	      const struct stats_opts *opts, struct stats *out_stats, struct err *err)
{
	struct stats_opts cut = *opts;
	struct stats stats = { .by = opts->by, .sort = opts->sort };
	struct stats_query query = {
		.tl = timeline,
		.facts = facts,
		.opts = &cut,
		.stats = &stats,
	};
	int rc = coverage_window(timeline, &cut.start_ns, &cut.end_ns, err);

	if (rc < 0)
		return rc;
	query.words = (struct query){ .tl = timeline, .facts = facts, .why = &query.why };
	stats.start_ns = cut.start_ns;
	stats.end_ns = cut.end_ns;
	group_init(&query);
	add_all(&query);
	group_fini(&query);
	stats.coverage = coverage_of(timeline, stats.start_ns, stats.end_ns);
	stats.texts = query.why.texts;
	*out_stats = stats;
	return 0;
}

static void row_fini(struct stats_row *row)
{
	for (size_t i = 0; i < row->call_count; i++)
		free(row->calls[i].errors);
	free(row->calls);
	free(row->irqs);
}

void stats_fini(struct stats *stats)
{
	for (size_t i = 0; i < stats->row_count; i++)
		row_fini(&stats->rows[i]);
	row_fini(&stats->all);
	free(stats->rows);
	free(stats->cpus);
	free(stats->events);
	names_fini(&stats->texts);
	*stats = (struct stats){ 0 };
}
