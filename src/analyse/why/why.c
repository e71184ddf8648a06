/* why.c - put the answer together. */
#include "analyse/why/why.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/why/why_int.h"
#include "analyse/why/process.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/window.h"

#define STAND_INS 16 /* generations */

const char *why_kind_name(enum why_kind kind)
{
	static const char *const names[WHY_KIND_COUNT] = {
		[WHY_WORKING] = "working",
		[WHY_CPU_QUEUE] = "cpu_queue",
		[WHY_PREEMPTED] = "preempted",
		[WHY_IRQ] = "irq",
		[WHY_SOFTIRQ] = "softirq",
		[WHY_TIMER] = "timer",
		[WHY_DISK] = "disk",
		[WHY_NETWORK] = "network",
		[WHY_IPI] = "ipi",
		[WHY_LOCK] = "lock",
		[WHY_OTHER_THREAD] = "other_thread",
		[WHY_STUCK] = "stuck",
		[WHY_STOPPED] = "stopped",
		[WHY_UNKNOWN] = "unknown",
		[WHY_GRACE] = "grace_period",
		[WHY_THROTTLED] = "throttled",
	};

	return (unsigned int)kind < WHY_KIND_COUNT ? names[kind] : "unknown";
}

const char *why_wait_class_name(enum why_class class)
{
	static const char *const names[] = {
		[WHY_HELD_UP] = "held_up",
		[WHY_ASKED] = "asked",
		[WHY_IDLE] = "idle",
		[WHY_RUNS] = "runs",
	};

	return (unsigned int)class < ARRAY_LEN(names) ? names[class] : "held_up";
}

const char *why_waker_name(enum why_waker waker)
{
	static const char *const names[] = {
		[WHY_WAKER_THREAD] = "thread",	 [WHY_WAKER_TIMER] = "timer",
		[WHY_WAKER_DISK] = "disk",	 [WHY_WAKER_NETWORK] = "network",
		[WHY_WAKER_IRQ] = "irq",	 [WHY_WAKER_SOFTIRQ] = "softirq",
		[WHY_WAKER_IPI] = "ipi",	 [WHY_WAKER_SIGNAL] = "signal",
		[WHY_WAKER_WORK] = "work",	 [WHY_WAKER_NONE] = "none",
		[WHY_WAKER_UNKNOWN] = "unknown",
	};

	return (unsigned int)waker < ARRAY_LEN(names) ? names[waker] : "unknown";
}

/* Events lost within the window, and the time that a hole on any CPU touches. */
static void add_losses(struct query *query)
{
	const struct timeline *tl = query->tl;
	struct why *why = query->why;
	uint64_t from = query->end_ns;

	/* Holes are in order of their end: from the last back, joined where they overlap. */
	for (size_t i = tl->gap_count; i > 0; i--) {
		const struct tl_gap *gap = &tl->gaps[i - 1];
		uint64_t start = gap->since_ns > query->start_ns ? gap->since_ns : query->start_ns;
		uint64_t end = gap->until_ns < from ? gap->until_ns : from;

		if (gap->until_ns <= query->start_ns || gap->since_ns >= query->end_ns)
			continue;
		why->lost_events += gap->lost ? gap->lost : 1;
		if (start < end) {
			why->lost_span_ns += end - start;
			from = start;
		}
	}
}

/*
 * The part of the window in which the target did not live yet is answered by its
 * closest living ancestor: the whole window is, when the target came late.
 */
static uint32_t stand_in(struct query *query)
{
	const struct timeline *tl = query->tl;
	uint32_t slot = query->slot;

	while (tl->threads[slot]->born && tl->threads[slot]->birth_ns >= query->end_ns &&
	       tl->threads[slot]->parent != SLOT_NONE)
		slot = tl->threads[slot]->parent;
	return slot;
}

/* Who stands in when: from the last ancestor that is needed back to the first. */
static void tell_stand_ins(struct query *query, uint32_t asked)
{
	struct why_stand_in found[STAND_INS];
	const struct timeline *tl = query->tl;
	struct why *why = query->why;
	uint64_t end_ns = query->end_ns;
	uint32_t slot = asked;
	size_t count = 0;

	while (count < STAND_INS && tl->threads[slot]->born &&
	       tl->threads[slot]->birth_ns > query->start_ns &&
	       tl->threads[slot]->parent != SLOT_NONE &&
	       tl->threads[tl->threads[slot]->parent]->tid != 0) {
		if (tl->threads[slot]->birth_ns < end_ns)
			end_ns = tl->threads[slot]->birth_ns;
		slot = tl->threads[slot]->parent;
		found[count++] = (struct why_stand_in){ why_thread(query, slot),
							tl->threads[slot]->birth_ns, end_ns };
		if (found[count - 1].start_ns < query->start_ns)
			found[count - 1].start_ns = query->start_ns;
		count -= found[count - 1].start_ns >= end_ns;
	}
	why->stand_ins = xcalloc(count + 1, sizeof(*why->stand_ins));
	why->stand_in_count = count;
	for (size_t i = 0; i < count; i++)
		why->stand_ins[i] = found[count - 1 - i];
	if (count)
		why->stood_in_for = tl->threads[asked]->tid;
}

/* What of the sums is of ancestors: the window from the target's birth on is added up by itself. */
static void split_sums(struct query *query)
{
	uint64_t birth_ns = query->tl->threads[query->slot]->birth_ns;
	struct why *why = query->why, own = { 0 };
	struct query living = *query;

	if (!why->stand_in_count || birth_ns <= query->start_ns || birth_ns >= query->end_ns)
		return;
	living.why = &own;
	living.start_ns = birth_ns;
	living.fact_of = NULL;
	living.slices = NULL;
	living.nothing = NULL;
	living.sets = NULL;
	living.asks = NULL;
	living.idle = NULL;
	summarise_window(&living);
	why->before = (struct why_before){
		.working_ns = why->working_ns - own.working_ns,
		.interrupted_ns = why->interrupted_ns - own.interrupted_ns,
		.uncertain_ns = why->uncertain_ns - own.uncertain_ns,
		.held_up_ns = why->held_up_ns - own.held_up_ns,
		.asked_ns = why->asked_ns - own.asked_ns,
		.idle_ns = why->idle_ns - own.idle_ns,
	};
	free(living.fact_of);
	slice_runs_free(living.slices);
	nothing_sums_free(living.nothing);
	shared_sets_free(living.sets);
	idle_objects_free(living.idle);
	asks_runs_free(living.asks);
	why_fini(&own);
}

static int set_window(struct query *query, struct err *err)
{
	const struct tl_thread *thread = query->tl->threads[query->slot];
	uint64_t end = thread->death_ns < query->tl->end_ns ? thread->death_ns : query->tl->end_ns;
	uint64_t start;

	query->start_ns = query->opts->start_ns ? query->opts->start_ns : thread->birth_ns;
	query->end_ns = query->opts->end_ns ? query->opts->end_ns : end;
	start = query->start_ns;
	if (query->start_ns < query->tl->origin_ns)
		query->start_ns = query->tl->origin_ns;
	/* The command's end as its parent saw it lies a little after its thread's own. */
	if (query->end_ns > end && query->start_ns < end)
		query->end_ns = end;
	if (query->end_ns > query->tl->end_ns)
		query->end_ns = query->tl->end_ns;
	if (query->start_ns >= query->end_ns)
		return window_refuse(err, -EINVAL, start,
				     query->opts->end_ns ? query->opts->end_ns : end,
				     query->tl->origin_ns, query->tl->end_ns);
	return 0;
}

int why_run(const struct timeline *timeline, const struct facts *facts, const struct why_opts *opts,
	    struct why *out_why, struct err *err)
{
	struct why why = { 0 };
	struct query query = {
		.tl = timeline, .facts = facts, .opts = opts, .why = &why, .slot = opts->slot
	};
	int rc;

	if (opts->slot >= timeline->thread_count)
		return err_set(err, -ESRCH, "no such thread in the recording");
	rc = set_window(&query, err);
	if (rc < 0)
		return rc;
	query.slot = stand_in(&query);
	tell_stand_ins(&query, opts->slot);
	why.target = why_thread(&query, query.slot);
	why.cmdline = why_keep(
		&why, xstrdup(timeline_name(timeline, timeline->threads[query.slot]->cmdline)));
	why.start_ns = query.start_ns;
	why.end_ns = query.end_ns;
	why.classes = opts->classes;
	why.class_ns = query.end_ns - query.start_ns;
	summarise_window(&query);
	split_sums(&query);
	charge_window(&query);
	explain_waits(&query);
	add_losses(&query);
	free(query.fact_of);
	slice_runs_free(query.slices);
	nothing_sums_free(query.nothing);
	shared_sets_free(query.sets);
	idle_objects_free(query.idle);
	asks_runs_free(query.asks);
	why.repairs = timeline->repairs;
	why.repairs_exact = timeline->repairs_exact;
	*out_why = why;
	return 0;
}

void why_fini(struct why *why)
{
	free(why->stand_ins);
	free(why->people);
	for (size_t i = 0; i < why->root_count; i++)
		free(why->roots[i].spans);
	free(why->roots);
	for (size_t i = 0; i < why->chain_count; i++) {
		free(why->chain[i].code);
		free(why->chain[i].waker_code);
	}
	free(why->chain);
	free(why->lines);
	free(why->instances);
	free(why->waits);
	free(why->owners);
	free(why->paths);
	free(why->steps);
	free(why->syscalls);
	why_process_free(why->process);
	free(why->worst);
	why_reasons_fini(&why->reasons);
	names_fini(&why->texts);
	*why = (struct why){ 0 };
}
