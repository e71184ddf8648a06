/*
 * tracker.c - processes, their threads, and which of these have to be asked about.
 *
 * Of a process: sum over all threads, ended ones included (one answer)
 *		 - counts of the threads as they were last told
 *		 = counts of those that have ended: the same as ever, unless someone ran unseen.
 * Answers are not of one moment: a thread that gets a CPU between its answer and the sum makes the
 * difference larger, never smaller. So a difference that is no larger than the smallest one seen is
 * fine; it is the truth when the sum was the same before and after all threads were asked.
 */
#include "accounts/tracker.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "accounts/list.h"
#include "accounts/proc.h"
#include "accounts/sample_int.h"
#include "accounts/socket.h"

#define CHUNK	     64u /* requests at once: their answers stay in the cache */
#define MANY	     48u /* threads; of fewer all are asked */
#define TRIES	     3u	 /* to catch a moment without a switch */
#define QUIET_ROUNDS 3u	 /* who slept for so many is expected to sleep on */
#define WHOLE_ROUNDS 20u

struct tracked {
	struct delays_task task;
	struct delays_stats before; /* of the round before; when it was asked about in this one */
	struct delays_change change;
	uint64_t asked_round; /* the last in which it was asked; 0 = never */
	uint32_t quiet;	      /* rounds without a change */
	bool is_new;	      /* in this round */
	bool gone;
};

struct group {
	int32_t tgid;
	bool has_process; /* else only single threads of it were chosen */
	bool known;	  /* all of it was asked, and listed since */
	struct tracked process;
	struct tracked *threads; /* owned; by number */
	size_t count;
	struct delays_stats sum; /* over all threads */
	int sum_error;
	int64_t ended_runs; /* the smallest difference seen since all were asked; at least the truth */
	bool is_exact;	    /* it is the truth */
	uint32_t rounds;    /* since all were asked */
};

struct asked {
	struct group *group;
	struct tracked *thread; /* NULL = the sum */
};

struct delays_tracker {
	struct delays_sampler *sampler; /* a view */
	struct delays_tracker_ops ops;
	struct group *groups; /* owned; by number */
	size_t group_count;
	uint64_t round;
	struct delays_sample now; /* without tasks: what it is to make one */
	uint64_t time_ns;	  /* of the round before */
	size_t asked_count;
	struct delays_request requests[CHUNK];
	struct asked asked[CHUNK];
	size_t queued;
	const struct delays_change **changes; /* owned */
	size_t change_count;
	size_t change_cap;
};

/* --------------------------------------------------------------------- answers */

static uint64_t tracker_runs_of(const struct delays_stats *stats)
{
	return stats->delay[DELAYS_CPU].count;
}

static bool has_run(const struct delays_stats *before, const struct delays_stats *after)
{
	return tracker_runs_of(before) != tracker_runs_of(after) ||
	       before->run_ns != after->run_ns || before->voluntary != after->voluntary ||
	       before->involuntary != after->involuntary;
}

static void tracker_settle(struct delays_tracker *tracker, const struct group *group,
			   struct tracked *thread, const struct delays_request *request)
{
	const struct delays_id id = { .tgid = group->tgid, .tid = request->id };
	struct delays_task task;

	thread->gone = request->error != 0;
	if (thread->gone)
		return;
	delays_task_make(&id, &tracker->now, &request->stats, NULL, &task);
	if (thread->asked_round != tracker->round) {
		thread->is_new = !thread->asked_round || !delays_task_is_same(&thread->task, &task);
		thread->before = thread->task.stats;
	}
	thread->task = task;
	thread->asked_round = tracker->round;
}

static int tracker_flush(struct delays_tracker *tracker, struct err *err)
{
	int rc = tracker->ops.ask(tracker->ops.context, tracker->requests, tracker->queued, err);

	if (rc < 0)
		return rc;
	tracker->now.time_ns = tracker->ops.now_ns(tracker->ops.context);
	for (size_t i = 0; i < tracker->queued; i++) {
		const struct asked *asked = &tracker->asked[i];
		const struct delays_request *request = &tracker->requests[i];

		if (asked->thread) {
			tracker_settle(tracker, asked->group, asked->thread, request);
			continue;
		}
		asked->group->sum_error = request->error;
		if (!request->error)
			asked->group->sum = request->stats;
	}
	tracker->asked_count += tracker->queued;
	tracker->queued = 0;
	return 0;
}

/* thread == NULL: the sum. */
static int tracker_ask(struct delays_tracker *tracker, struct group *group, struct tracked *thread,
		       struct err *err)
{
	size_t at = tracker->queued++;

	tracker->requests[at].id = thread ? thread->task.tid : group->tgid;
	tracker->requests[at].is_process = !thread;
	tracker->asked[at] = (struct asked){ group, thread };
	return tracker->queued == CHUNK ? tracker_flush(tracker, err) : 0;
}

/* ---------------------------------------------------------------------- listing */

ORDER_FUNCTION(by_tid, struct delays_id, ORDER_UP(tid));

/* The threads that there are now; what is known of them is kept. */
static void take_ids(struct group *group, const struct delays_ids *ids)
{
	struct tracked *threads = xcalloc(ids->count + 1, sizeof(*threads));
	size_t old = 0;

	for (size_t i = 0; i < ids->count; i++) {
		int32_t tid = ids->ids[i].tid;

		while (old < group->count && group->threads[old].task.tid < tid)
			old++;
		if (old < group->count && group->threads[old].task.tid == tid)
			threads[i] = group->threads[old];
		threads[i].task.tid = tid;
	}
	free(group->threads);
	group->threads = threads;
	group->count = ids->count;
}

static void tracker_list_threads(struct delays_tracker *tracker, struct group *group)
{
	struct delays_ids ids = { 0 };

	tracker->ops.threads(tracker->ops.context, group->tgid, &ids);
	if (ids.count)
		qsort(ids.ids, ids.count, sizeof(*ids.ids), by_tid);
	take_ids(group, &ids);
	delays_ids_fini(&ids);
}

/* The rows of 'ids' from 'first' on that are of one process. */
static size_t rows_of_process(const struct delays_ids *ids, size_t first)
{
	size_t end = first;

	while (end < ids->count && ids->ids[end].tgid == ids->ids[first].tgid)
		end++;
	return end - first;
}

/* The process that these rows are of, with what is known of it. */
static void begin_group(struct delays_tracker *tracker, struct group *old, struct delays_ids rows,
			struct group *out_group)
{
	*out_group = (struct group){ .tgid = rows.ids[0].tgid };
	if (old) {
		*out_group = *old;
		old->threads = NULL;
	}
	out_group->has_process = rows.ids[0].is_process;
	out_group->process.task.threads = rows.ids[0].threads;
	if (rows.ids[0].is_process && rows.ids[0].threads == 1) {
		rows.count = 1; /* its only thread is the main one */
		take_ids(out_group, &rows);
	} else if (!out_group->has_process) {
		take_ids(out_group, &rows);
	} else if (!out_group->known || out_group->count < MANY ||
		   out_group->count != rows.ids[0].threads) {
		tracker_list_threads(tracker, out_group);
		out_group->known = false;
	}
}

static void free_groups(struct group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(groups[i].threads);
	free(groups);
}

/* Both are in order of their numbers. */
static void update_groups(struct delays_tracker *tracker, const struct delays_ids *ids)
{
	struct group *groups = xcalloc(ids->count + 1, sizeof(*groups));
	size_t count = 0, old = 0;

	for (size_t i = 0; i < ids->count;) {
		struct delays_ids rows = { .ids = ids->ids + i, .count = rows_of_process(ids, i) };
		int32_t tgid = rows.ids[0].tgid;

		while (old < tracker->group_count && tracker->groups[old].tgid < tgid)
			old++;
		begin_group(tracker,
			    old < tracker->group_count && tracker->groups[old].tgid == tgid
				    ? &tracker->groups[old]
				    : NULL,
			    rows, &groups[count++]);
		i += rows.count;
	}
	free_groups(tracker->groups, tracker->group_count);
	tracker->groups = groups;
	tracker->group_count = count;
}

/* ----------------------------------------------------------------------- asking */

static bool is_awake(const struct tracked *thread)
{
	return thread->quiet < QUIET_ROUNDS;
}

/* Its account tells of the process, such as its parent, which others change. */
static bool tracker_is_main(const struct group *group, const struct tracked *thread)
{
	return thread->task.tid == group->tgid;
}

/* Ask about those that ran lately, or all of them, and the sum behind them. */
static int ask_threads(struct delays_tracker *tracker, struct group *group, bool all,
		       struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < group->count && rc == 0; i++) {
		if (all || is_awake(&group->threads[i]) ||
		    tracker_is_main(group, &group->threads[i]))
			rc = tracker_ask(tracker, group, &group->threads[i], err);
	}
	if (rc == 0 && group->has_process && group->count != 1)
		rc = tracker_ask(tracker, group, NULL, err);
	return rc;
}

static int64_t ended_runs(const struct group *group)
{
	uint64_t living = 0;

	for (size_t i = 0; i < group->count; i++)
		living += tracker_runs_of(&group->threads[i].task.stats);
	return (int64_t)(tracker_runs_of(&group->sum) - living);
}

/* The threads that are awake, and the sum right behind them. */
static int try_once(struct delays_tracker *tracker, struct group *group, int64_t *out_ended,
		    struct err *err)
{
	int rc = ask_threads(tracker, group, false, err);

	if (rc == 0)
		rc = tracker_flush(tracker, err);
	*out_ended = ended_runs(group);
	return rc;
}

/* *out_slept: those that slept lately have slept on. */
static int ask_awake(struct delays_tracker *tracker, struct group *group, bool *out_slept,
		     struct err *err)
{
	*out_slept = false;
	for (uint32_t i = 0; i < TRIES && !*out_slept; i++) {
		int64_t ended;
		int rc = try_once(tracker, group, &ended, err);

		if (rc < 0)
			return rc;
		if (group->sum_error)
			return 0;
		if (ended <= group->ended_runs) {
			group->ended_runs = ended;
			*out_slept = true;
		}
	}
	return 0;
}

static size_t count_awake(const struct group *group)
{
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++)
		count += is_awake(&group->threads[i]);
	return count;
}

/* Take those that are gone out of the list: what they counted is that of ended ones now. */
static void drop_gone(struct group *group)
{
	size_t kept = 0;

	for (size_t i = 0; i < group->count; i++) {
		if (group->threads[i].gone) {
			group->ended_runs +=
				(int64_t)tracker_runs_of(&group->threads[i].task.stats);
			continue;
		}
		if (kept != i)
			group->threads[kept] = group->threads[i];
		kept++;
	}
	group->count = kept;
}

static bool may_skip(const struct group *group)
{
	return group->known && group->count >= MANY && tracker_runs_of(&group->sum) &&
	       (group->is_exact || group->rounds < WHOLE_ROUNDS) &&
	       count_awake(group) < group->count / 2;
}

static void update_change(struct delays_tracker *tracker, struct tracked *thread, uint64_t span_ns)
{
	struct delays_change *change = &thread->change;

	change->task = &thread->task;
	change->span_ns = span_ns;
	if (thread->asked_round != tracker->round) {
		thread->quiet++; /* the change is of zeros since the last answer */
		change->born = false;
		return;
	}
	if (thread->is_new)
		thread->quiet = QUIET_ROUNDS - 1; /* most sleep: one more answer will tell */
	else if (has_run(&thread->before, &thread->task.stats))
		thread->quiet = 0;
	else
		thread->quiet++;
	delays_change_make(thread->is_new ? NULL : &thread->before, &thread->task, span_ns, change);
}

/* All were asked: from now on the sum can tell. 'runs': of the sum before that. */
static int begin_skipping(struct delays_tracker *tracker, struct group *group, uint64_t runs,
			  struct err *err)
{
	int64_t ended;
	int rc;

	drop_gone(group);
	group->ended_runs = ended_runs(group);
	group->is_exact = runs == tracker_runs_of(&group->sum);
	group->rounds = 0;
	group->known = !group->sum_error;
	if (!may_skip(group) || group->is_exact)
		return 0;
	/* Asking all took long; asking those that are awake is closer to the truth. */
	rc = try_once(tracker, group, &ended, err);
	if (rc == 0 && ended < group->ended_runs)
		group->ended_runs = ended;
	return rc;
}

static int ask_many(struct delays_tracker *tracker, struct group *group, struct err *err)
{
	int rc = tracker_ask(tracker, group, NULL, err);
	uint64_t runs;

	if (rc == 0)
		rc = tracker_flush(tracker, err);
	runs = tracker_runs_of(&group->sum);
	if (rc == 0)
		rc = ask_threads(tracker, group, true, err);
	if (rc == 0)
		rc = tracker_flush(tracker, err);
	return rc < 0 ? rc : begin_skipping(tracker, group, runs, err);
}

static int ask_group(struct delays_tracker *tracker, struct group *group, struct err *err)
{
	bool slept = false;

	group->rounds++;
	if (may_skip(group)) {
		int rc = ask_awake(tracker, group, &slept, err);

		if (rc < 0 || slept)
			return rc;
		tracker_list_threads(tracker, group);
	}
	return group->count >= MANY && group->has_process ? ask_many(tracker, group, err)
							  : ask_threads(tracker, group, true, err);
}

/* ---------------------------------------------------------------------- a round */

static void add_change(struct delays_tracker *tracker, const struct delays_change *change)
{
	tracker->changes = vec_room(tracker->changes, tracker->change_count, &tracker->change_cap,
				    sizeof(const struct delays_change *));
	tracker->changes[tracker->change_count++] = change;
}

static const struct tracked *main_thread(const struct group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		if (tracker_is_main(group, &group->threads[i]))
			return &group->threads[i];
	}
	return NULL;
}

/* The process: the account of its main thread, and the sum. */
static void tracker_add_exited(struct delays_tracker *tracker, struct group *group,
			       uint64_t span_ns)
{
	const struct tracked *main = main_thread(group);
	struct tracked *process = &group->process;
	struct delays_id id = { group->tgid, group->tgid, process->task.threads, true };
	bool is_many = group->count > 1, had = process->asked_round != 0;
	struct delays_stats before = process->task.stats;
	struct delays_task task;

	if (!main || (is_many && group->sum_error))
		return;
	if (!is_many)
		id.threads = 1;
	delays_task_make(&id, &tracker->now, &main->task.stats, is_many ? &group->sum : NULL,
			 &task);
	/* As of its main thread, whose answer is of an earlier moment of this round. */
	task.birth_ns = main->task.birth_ns;
	task.wall_ns = tracker->now.time_ns - task.birth_ns;
	had = had && delays_task_is_same(&process->task, &task);
	process->task = task;
	process->asked_round = tracker->round;
	delays_change_make(had ? &before : NULL, &process->task, span_ns, &process->change);
	add_change(tracker, &process->change);
}

static void add_group(struct delays_tracker *tracker, struct group *group, uint64_t span_ns)
{
	drop_gone(group);
	if (group->has_process)
		tracker_add_exited(tracker, group, span_ns);
	for (size_t i = 0; i < group->count; i++) {
		update_change(tracker, &group->threads[i], span_ns);
		add_change(tracker, &group->threads[i].change);
	}
}

static void begin_round(struct delays_tracker *tracker)
{
	delays_sampler_look(tracker->sampler);
	/* Whether a task is covered is decided when it is asked about. */
	if (tracker->now.account.state != tracker->sampler->account.state ||
	    tracker->now.account.since_ns != tracker->sampler->account.since_ns) {
		for (size_t i = 0; i < tracker->group_count; i++)
			tracker->groups[i].known = false;
	}
	tracker->now.account = tracker->sampler->account;
	tracker->round++;
	tracker->asked_count = 0;
	tracker->change_count = 0;
}

static int ask_groups(struct delays_tracker *tracker, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < tracker->group_count && rc == 0; i++)
		rc = ask_group(tracker, &tracker->groups[i], err);
	return rc == 0 ? tracker_flush(tracker, err) : rc;
}

int delays_tracker_take(struct delays_tracker *tracker, const struct delays_select *select,
			struct delays_round *out_round, struct err *err)
{
	struct delays_select processes = *select;
	struct delays_ids ids;
	uint64_t span_ns = 0;
	int rc;

	processes.threads = false;
	rc = tracker->ops.list(tracker->ops.context, &processes, &ids, err);
	if (rc < 0)
		return rc;
	begin_round(tracker);
	update_groups(tracker, &ids);
	delays_ids_fini(&ids);
	rc = ask_groups(tracker, err);
	if (rc < 0) {
		tracker->queued = 0;
		return err_wrap(err, "querying %zu processes", tracker->group_count);
	}
	if (tracker->time_ns)
		span_ns = tracker->now.time_ns - tracker->time_ns;
	for (size_t i = 0; i < tracker->group_count; i++)
		add_group(tracker, &tracker->groups[i], span_ns);
	tracker->time_ns = tracker->now.time_ns;
	*out_round = (struct delays_round){ .span_ns = span_ns,
					    .time_ns = tracker->time_ns,
					    .account = tracker->now.account,
					    .changes = tracker->changes,
					    .count = tracker->change_count,
					    .asked = tracker->asked_count };
	return 0;
}

/* ------------------------------------------------------------------ new and free */

static int real_list(void *context, const struct delays_select *select, struct delays_ids *out_ids,
		     struct err *err)
{
	(void)context;
	return delays_list(select, out_ids, err);
}

static void real_threads(void *context, int32_t tgid, struct delays_ids *ids)
{
	(void)context;
	delays_list_threads(tgid, ids);
}

static int real_ask(void *context, struct delays_request *requests, size_t count, struct err *err)
{
	const struct delays_sampler *sampler = context;

	return delays_socket_ask(sampler->socket, requests, count, err);
}

static uint64_t real_now_ns(void *context)
{
	(void)context;
	return delays_now_ns();
}

struct delays_tracker *delays_tracker_new_ops(struct delays_sampler *sampler,
					      const struct delays_tracker_ops *ops)
{
	struct delays_tracker *tracker = xcalloc(1, sizeof(*tracker));

	tracker->sampler = sampler;
	tracker->ops = *ops;
	tracker->now.source = DELAYS_FROM_TASKSTATS;
	return tracker;
}

struct delays_tracker *delays_tracker_new(struct delays_sampler *sampler)
{
	const struct delays_tracker_ops ops = { sampler, real_list, real_threads, real_ask,
						real_now_ns };

	return delays_tracker_new_ops(sampler, &ops);
}

void delays_tracker_free(struct delays_tracker *tracker)
{
	if (!tracker)
		return;
	free_groups(tracker->groups, tracker->group_count);
	free(tracker->changes);
	free(tracker);
}
