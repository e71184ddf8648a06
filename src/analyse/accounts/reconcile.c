/*
 * reconcile.c - accounts and events of the same threads over the same spans.
 *
 *	pair       records of a thread number to lives: start, then exit or end
 *	span       when the two questions were asked, on the trace clock
 *	compare    both values of each class, and what is known to set them apart
 */
#include "analyse/accounts/reconcile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/accounts/memory_spans.h"
#include "analyse/accounts/reconcile_int.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/facts.h"

#define BIRTH_SLACK_NS 20000000u /* births are told in us, and asked in batches */
#define BIRTH_LOOK_NS  1000000000u
#define EXIT_SLACK_NS  500000u /* from the birth's event to the moment that the kernel notes */

/* ----------------------------------------------------------------- pairing */

struct lives {
	struct reconcile_life *lives; /* owned */
	size_t count, cap;
	struct map open; /* tid -> index + 1 of the life that has no end yet */
};

static struct reconcile_life *new_life(struct lives *lives)
{
	lives->lives = vec_room(lives->lives, lives->count, &lives->cap, sizeof(*lives->lives));
	lives->lives[lives->count] = (struct reconcile_life){ 0 };
	return &lives->lives[lives->count++];
}

/* Is 'later' of the thread that had the number at the start? */
static bool recorded_is_same(const struct recorded_task *start, const struct recorded_task *later)
{
	return later->stats.life_us >= start->stats.life_us &&
	       later->stats.tgid == start->stats.tgid;
}

static void pair_one(struct lives *lives, const struct recorded_task *task)
{
	uint64_t tid = (uint32_t)task->stats.tid;
	const uint64_t *found = map_find(&lives->open, tid);
	struct reconcile_life *life = found ? &lives->lives[*found - 1] : NULL;

	if (task->when == RECORDED_START) {
		new_life(lives)->start = task;
		map_put(&lives->open, tid, lives->count);
		return;
	}
	if (!life || !recorded_is_same(life->start, task))
		life = new_life(lives);
	life->end = task;
	(void)map_remove(&lives->open, tid);
}

static void pair_all(struct lives *lives, const struct recorded *recorded)
{
	for (size_t i = 0; i < recorded->task_count; i++)
		pair_one(lives, &recorded->tasks[i]);
	map_fini(&lives->open);
}

/* The schedstat of both ends, by number: those of the start are replaced by the difference. */
static void add_scheds(struct lives *lives, const struct recorded *recorded)
{
	struct map starts = { 0 }, ends = { 0 };

	for (size_t i = 0; i < recorded->sched_count; i++) {
		const struct recorded_sched *sched = &recorded->scheds[i];

		map_put(sched->when == RECORDED_START ? &starts : &ends, (uint32_t)sched->tid,
			i + 1);
	}
	for (size_t i = 0; i < lives->count; i++) {
		struct reconcile_life *life = &lives->lives[i];
		const uint64_t *found;

		if (life->start) {
			found = map_find(&starts, (uint32_t)life->start->stats.tid);
			life->sched_start = found ? &recorded->scheds[*found - 1] : NULL;
		}
		if (life->end && life->end->when == RECORDED_END) {
			found = map_find(&ends, (uint32_t)life->end->stats.tid);
			life->sched_end = found ? &recorded->scheds[*found - 1] : NULL;
		}
	}
	map_fini(&starts);
	map_fini(&ends);
}

/* -------------------------------------------------------------------- spans */

static const struct recorded_task *any_of(const struct reconcile_life *life)
{
	return life->end ? life->end : life->start;
}

static uint64_t birth_of(const struct recorded_task *task)
{
	uint64_t life_ns = task->stats.life_us * 1000;

	return task->time_ns > life_ns ? task->time_ns - life_ns : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The age of a thread begins a moment before the event of its birth. If whoever made it lost its CPU in
 * between, that moment is long: how long it can be.
 */
static uint64_t birth_slack(const struct timeline *timeline, const struct tl_thread *thread)
{
	uint64_t from_ns = thread->birth_ns > BIRTH_LOOK_NS ? thread->birth_ns - BIRTH_LOOK_NS : 0;
	uint64_t slack_ns = EXIT_SLACK_NS;
	struct tl_interval in;
	struct tl_iter iter;

	if (thread->parent == SLOT_NONE)
		return slack_ns;
	tl_iter_thread(&iter, timeline, thread->parent, from_ns, thread->birth_ns);
	while (tl_iter_next(&iter, &in)) {
		enum word_kind kind = word_kind(in.word);

		if ((kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU || kind == WORD_BLOCKED) &&
		    in.end_ns + EXIT_SLACK_NS >= thread->birth_ns)
			slack_ns += in.end_ns - in.start_ns;
	}
	return slack_ns;
}

/* From the moment of one question to the other, as the age of the thread tells. */
static void set_span(const struct timeline *timeline, struct reconcile_life *life)
{
	const struct recorded_task *start = life->start, *end = life->end;
	const struct tl_thread *thread;
	uint64_t from_us = start ? start->stats.life_us : 0;

	life->slot = timeline_find_thread(timeline, any_of(life)->stats.tid, any_of(life)->time_ns);
	thread = life->slot == SLOT_NONE ? NULL : timeline->threads[life->slot];
	life->has_span = end && (start || (thread && thread->born));
	if (!life->has_span)
		return;
	life->span.start_ns = start ? start->time_ns : thread->birth_ns;
	life->span.end_ns = life->span.start_ns + (end->stats.life_us - from_us) * 1000;
	life->span.end_ns = least(life->span.end_ns, end->time_ns);
	life->slack_ns = start ? start->slack_ns : birth_slack(timeline, thread);
	life->slack_ns += end->when == RECORDED_END ? end->slack_ns : EXIT_SLACK_NS;
}

/*
 * The kernel does not tell since when it counts: some thread that counted anything was born then
 * or later. UINT64_MAX = none has.
 */
static uint64_t counting_since(const struct recorded *recorded)
{
	uint64_t since_ns = UINT64_MAX;

	for (size_t i = 0; i < recorded->task_count; i++) {
		if (delays_stats_counted(&recorded->tasks[i].stats))
			since_ns = least(since_ns, birth_of(&recorded->tasks[i]));
	}
	return since_ns;
}

/* --------------------------------------------------------------------- rows */

static bool is_chosen(const struct timeline *timeline, const struct reconcile_life *life,
		      const struct reconcile_opts *opts)
{
	const struct delays_stats *stats = &any_of(life)->stats;
	uint32_t main;

	for (size_t i = 0; i < opts->pid_count; i++) {
		if (opts->pids[i] == stats->tid || opts->pids[i] == stats->tgid)
			return true;
	}
	if (!opts->comm)
		return opts->pid_count == 0;
	main = timeline_find_thread(timeline, stats->tgid, UINT64_MAX);
	return strcmp(main == SLOT_NONE ? stats->name : timeline_comm(timeline, main),
		      opts->comm) == 0;
}

static void add_sched(struct reconcile_task *task, const struct reconcile_life *life)
{
	const struct recorded_sched *start = life->sched_start, *end = life->sched_end;
	uint64_t run_ns, account_ns, apart_ns;

	if (!end || (life->start && !start) || !life->has_span)
		return;
	run_ns = end->run_ns - (start ? start->run_ns : 0);
	task->has_sched = true;
	task->sched_run_ns += run_ns;
	task->sched_queued_ns += end->queued_ns - (start ? start->queued_ns : 0);
	task->sched_count += end->count - (start ? start->count : 0);
	/* It may have run between the two questions, at either end. */
	account_ns = life->end->stats.run_ns - (life->start ? life->start->stats.run_ns : 0);
	apart_ns = end->time_ns - life->end->time_ns + 2 * life->end->slack_ns;
	apart_ns += start ? start->time_ns - life->start->time_ns + 2 * life->start->slack_ns : 0;
	run_ns = run_ns > account_ns ? run_ns - account_ns : account_ns - run_ns;
	task->sched_off_ns += run_ns > apart_ns ? run_ns - apart_ns : 0;
}

static void add_value(struct reconcile_value *sum, const struct reconcile_value *more)
{
	sum->known = sum->known && more->known;
	sum->ns += more->ns;
	sum->count += more->count;
}

static void add_class(struct reconcile_class *sum, const struct reconcile_class *more)
{
	/* What is not known of one thread is told; the others still add up. */
	if (more->kernel.known && more->events.known) {
		add_value(&sum->kernel, &more->kernel);
		add_value(&sum->events, &more->events);
	}
	sum->whys |= more->whys;
	for (size_t i = 0; i < RECONCILE_WHYS; i++)
		sum->at_most_ns[i] += more->at_most_ns[i];
}

static void add_life(struct reconcile_task *task, const struct reconcile_life *life,
		     const struct reconcile_class *rows)
{
	task->threads++;
	task->began = task->began || (life->has_span && !life->start);
	task->ended = task->ended || (life->end && life->end->when == RECORDED_EXIT);
	task->span_ns += life->has_span ? life->span.end_ns - life->span.start_ns : 0;
	for (size_t i = 0; i < RECONCILE_ROWS; i++)
		add_class(&task->rows[i], &rows[i]);
	add_sched(task, life);
}

static struct reconcile_task *new_task(struct reconcile *result, size_t *cap,
				       const struct delays_stats *stats, bool is_process)
{
	struct reconcile_task *task;

	result->tasks = vec_room(result->tasks, result->count, cap, sizeof(*result->tasks));
	task = &result->tasks[result->count++];
	*task = (struct reconcile_task){ .tid = is_process ? stats->tgid : stats->tid,
					 .tgid = stats->tgid,
					 .is_process = is_process };
	memcpy(task->name, stats->name, sizeof(task->name));
	for (size_t i = 0; i < RECONCILE_ROWS; i++) {
		task->rows[i].kernel.known = true;
		task->rows[i].events.known = true;
	}
	return task;
}

/* Where no thread had both, neither is known: then the first thread's own values are told. */
static void reconcile_settle_task(struct reconcile_task *task, const struct reconcile_class *rows,
				  bool has_both[])
{
	for (size_t i = 0; i < RECONCILE_ROWS; i++) {
		if (!has_both[i]) {
			task->rows[i].kernel = rows[i].kernel;
			task->rows[i].events = rows[i].events;
		}
		reconcile_settle(&task->rows[i]);
	}
}

static void one_thread(struct reconcile *result, size_t *cap, const struct reconcile_life *life,
		       const struct reconcile_class *rows)
{
	struct reconcile_task *task = new_task(result, cap, &any_of(life)->stats, false);

	add_life(task, life, rows);
	for (size_t i = 0; i < RECONCILE_ROWS; i++) {
		task->rows[i] = rows[i];
		reconcile_settle(&task->rows[i]);
	}
}

static int task_by_number(const void *a, const void *b)
{
	const struct reconcile_task *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	if (x->is_process != y->is_process)
		return x->is_process ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Sums of one process while its threads are met, in any order. */
struct sum {
	struct reconcile_task task;
	struct reconcile_class one[RECONCILE_ROWS]; /* of the last thread without both values */
	bool has_both[RECONCILE_ROWS];
	bool has_one[RECONCILE_ROWS];
};

struct sums {
	struct sum *sums; /* owned */
	size_t count, cap;
	struct map by_tgid; /* -> index + 1 */
};

static struct sum *sum_of(struct sums *sums, const struct delays_stats *stats)
{
	bool is_new;
	uint64_t *found = map_add(&sums->by_tgid, (uint32_t)stats->tgid, &is_new);
	struct sum *sum;

	if (is_new) {
		sums->sums = vec_room(sums->sums, sums->count, &sums->cap, sizeof(*sums->sums));
		sum = &sums->sums[sums->count++];
		*sum = (struct sum){
			.task = { .tid = stats->tgid, .tgid = stats->tgid, .is_process = true }
		};
		for (size_t i = 0; i < RECONCILE_ROWS; i++) {
			sum->task.rows[i].kernel.known = true;
			sum->task.rows[i].events.known = true;
		}
		*found = sums->count;
	}
	sum = &sums->sums[*found - 1];
	if (!sum->task.name[0] || stats->tid == stats->tgid)
		memcpy(sum->task.name, stats->name, sizeof(sum->task.name));
	return sum;
}

static void add_to_process(struct sums *sums, const struct reconcile_life *life,
			   const struct reconcile_class *rows)
{
	struct sum *sum = sum_of(sums, &any_of(life)->stats);

	add_life(&sum->task, life, rows);
	for (size_t i = 0; i < RECONCILE_ROWS; i++) {
		bool both = rows[i].kernel.known && rows[i].events.known;

		sum->has_both[i] = sum->has_both[i] || both;
		if (both)
			continue;
		if (!sum->has_one[i]) {
			sum->one[i] = rows[i];
			sum->has_one[i] = true;
			continue;
		}
		sum->one[i].kernel.known = sum->one[i].kernel.known && rows[i].kernel.known;
		sum->one[i].kernel.ns += rows[i].kernel.ns;
		sum->one[i].kernel.count += rows[i].kernel.count;
		sum->one[i].events.known = sum->one[i].events.known && rows[i].events.known;
		sum->one[i].events.ns += rows[i].events.ns;
		sum->one[i].events.count += rows[i].events.count;
	}
}

static void publish_sums(struct sums *sums, struct reconcile *result, size_t *cap)
{
	for (size_t i = 0; i < sums->count; i++) {
		struct sum *sum = &sums->sums[i];

		reconcile_settle_task(&sum->task, sum->one, sum->has_both);
		result->tasks = vec_room(result->tasks, result->count, cap, sizeof(*result->tasks));
		result->tasks[result->count++] = sum->task;
	}
	free(sums->sums);
	map_fini(&sums->by_tgid);
}

/* ----------------------------------------------------------------- pressure */

static void add_pressures(const struct recorded *recorded, struct reconcile *result)
{
	result->pressures = xcalloc(recorded->pressure_count + 1, sizeof(*result->pressures));
	for (size_t i = 0; i < recorded->pressure_count; i++) {
		const struct recorded_pressure *end = &recorded->pressures[i];

		for (size_t k = 0; end->when == RECORDED_END && k < i && k < 64; k++) {
			const struct recorded_pressure *start = &recorded->pressures[k];

			if (start->when != RECORDED_START || end->time_ns < start->time_ns ||
			    end->some_ns < start->some_ns || end->full_ns < start->full_ns ||
			    strcmp(start->resource, end->resource) != 0 ||
			    strcmp(start->cgroup, end->cgroup) != 0)
				continue;
			result->pressures[result->pressure_count] = (struct reconcile_pressure){
				.resource = end->resource,
				.cgroup = end->cgroup,
				.span_ns = end->time_ns - start->time_ns,
				.has_some = end->has_some && start->has_some,
				.has_full = end->has_full && start->has_full,
				.some_ns = end->some_ns - start->some_ns,
				.full_ns = end->full_ns - start->full_ns,
			};
			result->pressure_count++;
			break;
		}
	}
}

/* --------------------------------------------------------------------- whole */

int reconcile_run(const struct reconcile_events *events, const struct recorded *recorded,
		  const struct reconcile_opts *opts, struct reconcile *out_result, struct err *err)
{
	struct reconcile result = { .state = recorded->state,
				    .since_boot = recorded->since_boot,
				    .complete = recorded->end_ns != 0 && !recorded->damage,
				    .lost_exits = recorded->lost,
				    .lost_events = events->timeline->lost_events,
				    .memory_cut = events->memory->cut,
				    .damage = recorded->damage };
	struct reconcile_ground ground = { .timeline = events->timeline,
					   .memory = events->memory,
					   .moved = events->moved,
					   .recorded = recorded,
					   .kernel = events->facts->kernel,
					   .since_ns = counting_since(recorded) };
	struct lives lives = { 0 };
	struct sums sums = { 0 };
	size_t cap = 0;

	ground.since_ns = ground.since_ns > BIRTH_SLACK_NS && ground.since_ns != UINT64_MAX
				  ? ground.since_ns - BIRTH_SLACK_NS
				  : ground.since_ns;
	pair_all(&lives, recorded);
	add_scheds(&lives, recorded);
	for (size_t i = 0; i < lives.count; i++)
		set_span(events->timeline, &lives.lives[i]);
	reconcile_measure(&ground, lives.lives, lives.count, &ground.scale);
	result.scale = ground.scale;
	for (size_t i = 0; i < lives.count; i++) {
		struct reconcile_class rows[RECONCILE_ROWS] = { 0 };
		struct reconcile_life *life = &lives.lives[i];

		if (!is_chosen(events->timeline, life, opts))
			continue;
		reconcile_compare(&ground, life, rows);
		add_to_process(&sums, life, rows);
		if (opts->threads)
			one_thread(&result, &cap, life, rows);
	}
	publish_sums(&sums, &result, &cap);
	free(lives.lives);
	if (result.count == 0)
		return err_set(err, -ESRCH,
			       "no such process is in the accounts of this recording%s%s",
			       recorded->damage ? ": " : "",
			       recorded->damage ? recorded->damage : "");
	qsort(result.tasks, result.count, sizeof(*result.tasks), task_by_number);
	add_pressures(recorded, &result);
	*out_result = result;
	return 0;
}

void reconcile_fini(struct reconcile *result)
{
	free(result->tasks);
	free(result->pressures);
	*result = (struct reconcile){ 0 };
}
