/*
 * sample.c - list, ask in one go, put together.
 *
 * A process of one thread is asked about as a thread: that answer has names, memory and I/O,
 * too. One of several threads takes two answers, since the kernel's sum over the threads has
 * only delays, times and switches.
 */
#include "accounts/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "accounts/proc.h"
#include "accounts/sample_int.h"
#include "accounts/socket.h"

#define FAULTS_OF_A_PROGRAM 50u

int delays_sampler_open(struct delays_sampler **out_sampler, struct err *out_why)
{
	struct delays_sampler *sampler = xcalloc(1, sizeof(*sampler));

	delays_account_read(&sampler->account);
	if (delays_socket_open(&sampler->socket, out_why) < 0)
		sampler->socket = NULL;
	else
		(void)delays_account_find_since(&sampler->account, sampler->socket, NULL);
	*out_sampler = sampler;
	return 0;
}

void delays_sampler_close(struct delays_sampler *sampler)
{
	if (!sampler)
		return;
	delays_socket_close(sampler->socket);
	free(sampler);
}

enum delays_source delays_sampler_source(const struct delays_sampler *sampler)
{
	return sampler->socket ? DELAYS_FROM_TASKSTATS : DELAYS_FROM_PROC;
}

/*
 * A program that was loaded has written to shared pages by then; without a single copy on
 * write it started while the accounting was off, whenever that was.
 */
static bool sample_lacks_copies(const struct delays_task *task)
{
	return delays_has_class(&task->stats, DELAYS_COW) && task->tid == task->tgid &&
	       task->stats.minor_faults >= FAULTS_OF_A_PROGRAM;
}

static enum delays_coverage coverage_of(const struct delays_account *account,
					const struct delays_task *task)
{
	bool is_young = account->has_since && task->birth_ns + BIRTH_SLACK_NS >= account->since_ns;
	bool is_many = task->is_process && task->threads > 1;

	if (account->state != DELAYS_ACCOUNT_ON)
		return DELAYS_OFF;
	if (account->since_boot)
		return DELAYS_COVERED;
	/* Counted, but older than all that is known: a process by its younger threads. */
	if (delays_stats_counted(&task->stats))
		return is_many && !is_young ? DELAYS_PARTLY : DELAYS_COVERED;
	return is_young && !sample_lacks_copies(task) ? DELAYS_COVERED : DELAYS_OLDER;
}

/* The facts that do not come from an answer as it is. */
static void sample_complete(struct delays_task *task, const struct delays_sample *sample,
			    uint64_t thread_life_us)
{
	task->wall_ns = thread_life_us * 1000;
	task->birth_ns = sample->time_ns > task->wall_ns ? sample->time_ns - task->wall_ns : 0;
	delays_stats_check(&task->stats, task->wall_ns, task->is_process && task->threads > 1);
	if (sample->source == DELAYS_FROM_PROC) {
		task->coverage = DELAYS_OFF;
	} else {
		task->coverage = coverage_of(&sample->account, task);
		if (task->coverage >= DELAYS_OLDER) {
			task->stats.classes &= 1u << DELAYS_CPU;
			task->stats.ranges &= 1u << DELAYS_CPU;
		}
	}
	if (task->is_process && task->threads > 1)
		task->stats.has &= ~(uint32_t)(DELAYS_HAS_IO | DELAYS_HAS_CALLS);
}

/* What the kernel sums over the threads of a process, into the account of its main thread. */
static void take_sum(struct delays_stats *stats, const struct delays_stats *sum)
{
	memcpy(stats->delay, sum->delay, sizeof(stats->delay));
	stats->run_ns = sum->run_ns;
	stats->run_real_ns = sum->run_real_ns;
	stats->user_us = sum->user_us;
	stats->system_us = sum->system_us;
	stats->voluntary = sum->voluntary;
	stats->involuntary = sum->involuntary;
	/* Zero in kernels that do not sum it up. */
	if (sum->life_us)
		stats->life_us = sum->life_us;
}

static bool asks_for_sum(const struct delays_id *id)
{
	return id->is_process && id->threads > 1;
}

void delays_task_make(const struct delays_id *id, const struct delays_sample *sample,
		      const struct delays_stats *own, const struct delays_stats *sum,
		      struct delays_task *out_task)
{
	*out_task = (struct delays_task){
		.tid = id->tid,
		.tgid = id->tgid,
		.is_process = id->is_process,
		.threads = id->threads,
		.stats = *own,
	};
	if (sum)
		take_sum(&out_task->stats, sum);
	out_task->stats.tgid = id->tgid;
	sample_complete(out_task, sample, own->life_us);
}

static void add_task(struct delays_sample *sample, const struct delays_id *id,
		     const struct delays_request *own, const struct delays_request *sum,
		     uint32_t flags)
{
	struct delays_task *task = &sample->tasks[sample->count];

	if (own->error || (sum && sum->error)) {
		sample->gone++;
		return;
	}
	delays_task_make(id, sample, &own->stats, sum ? &sum->stats : NULL, task);
	if (flags & DELAYS_TAKE_IO)
		task->io_exact =
			delays_proc_io(task->tgid, task->tid, task->is_process, &task->stats);
	sample->count++;
}

static int sample_ask_kernel(struct delays_sampler *sampler, const struct delays_ids *ids,
			     uint32_t flags, struct delays_sample *sample, struct err *err)
{
	AUTO_FREE struct delays_request *requests = xcalloc(2 * ids->count + 1, sizeof(*requests));
	size_t count = 0;
	int rc;

	for (size_t i = 0; i < ids->count; i++) {
		requests[count++].id = ids->ids[i].tid;
		if (asks_for_sum(&ids->ids[i])) {
			requests[count].id = ids->ids[i].tgid;
			requests[count++].is_process = true;
		}
	}
	rc = delays_socket_ask(sampler->socket, requests, count, err);
	if (rc < 0)
		return err_wrap(err, "querying %zu tasks", ids->count);
	sample->time_ns = delays_now_ns();
	count = 0;
	for (size_t i = 0; i < ids->count; i++) {
		const struct delays_request *own = &requests[count++];
		bool has_sum = asks_for_sum(&ids->ids[i]);

		add_task(sample, &ids->ids[i], own, has_sum ? &requests[count] : NULL, flags);
		count += has_sum;
	}
	return 0;
}

/* ------------------------------------------------------------------- from /proc */

static bool sum_threads(const struct delays_id *id, struct delays_stats *out_sum)
{
	const struct delays_select select = { .pids = &id->tgid, .pid_count = 1, .threads = true };
	struct delays_ids threads;
	struct delays_stats stats;
	bool found = false;

	if (delays_list(&select, &threads, NULL) < 0)
		return false;
	for (size_t i = 0; i < threads.count; i++) {
		if (threads.ids[i].is_process ||
		    !delays_proc_thread(id->tgid, threads.ids[i].tid, &stats))
			continue;
		delays_stats_add(out_sum, &stats);
		found = true;
	}
	delays_ids_fini(&threads);
	return found;
}

static void read_proc(const struct delays_ids *ids, uint32_t flags, struct delays_sample *sample)
{
	for (size_t i = 0; i < ids->count; i++) {
		const struct delays_id *id = &ids->ids[i];
		struct delays_request own = { .id = id->tid }, sum = { .id = id->tgid };

		if (!delays_proc_thread(id->tgid, id->tid, &own.stats))
			own.error = -ESRCH;
		if (asks_for_sum(id) && !sum_threads(id, &sum.stats))
			sum.error = -ESRCH;
		sample->time_ns = delays_now_ns();
		add_task(sample, id, &own, asks_for_sum(id) ? &sum : NULL, flags);
	}
	sample->time_ns = delays_now_ns();
}

/* The switch may be turned while we look. */
void delays_sampler_look(struct delays_sampler *sampler)
{
	struct delays_account account;

	delays_account_read(&account);
	sampler->account.state = account.state;
	if (sampler->socket && account.state == DELAYS_ACCOUNT_ON && !sampler->account.has_since)
		(void)delays_account_find_since(&sampler->account, sampler->socket, NULL);
}

int delays_sample_take(struct delays_sampler *sampler, const struct delays_select *select,
		       uint32_t flags, struct delays_sample *out_sample, struct err *err)
{
	struct delays_sample sample = { .source = delays_sampler_source(sampler) };
	struct delays_ids ids;
	int rc = delays_list(select, &ids, err);

	if (rc < 0)
		return rc;
	delays_sampler_look(sampler);
	sample.account = sampler->account;
	sample.missing = ids.missing;
	sample.tasks = xcalloc(ids.count + 1, sizeof(*sample.tasks));
	if (sampler->socket)
		rc = sample_ask_kernel(sampler, &ids, flags, &sample, err);
	else
		read_proc(&ids, flags, &sample);
	delays_ids_fini(&ids);
	if (rc < 0)
		delays_sample_fini(&sample);
	else
		*out_sample = sample;
	return rc;
}

void delays_sample_fini(struct delays_sample *sample)
{
	free(sample->tasks);
	*sample = (struct delays_sample){ 0 };
}

/* ---------------------------------------------------------------- differences */

static uint64_t task_key(const struct delays_task *task)
{
	return (uint64_t)(uint32_t)task->tid << 1 | task->is_process;
}

bool delays_task_is_same(const struct delays_task *before, const struct delays_task *after)
{
	uint64_t low = before->birth_ns < after->birth_ns ? before->birth_ns : after->birth_ns;

	return before->birth_ns - low <= BIRTH_SLACK_NS && after->birth_ns - low <= BIRTH_SLACK_NS;
}

void delays_change_make(const struct delays_stats *before, const struct delays_task *after,
			uint64_t span_ns, struct delays_change *out_change)
{
	out_change->task = after;
	out_change->born = !before;
	out_change->ended = false;
	if (before) {
		delays_stats_since(before, &after->stats, &out_change->stats);
		out_change->stats.classes &= before->classes;
		out_change->span_ns = span_ns;
		return;
	}
	out_change->stats = after->stats;
	out_change->stats.ranges = 0;
	out_change->span_ns = after->wall_ns < span_ns ? after->wall_ns : span_ns;
	/* It lived before the first sample and was not of the chosen ones then. */
	if (after->wall_ns > span_ns + BIRTH_SLACK_NS)
		delays_stats_since(&after->stats, &after->stats, &out_change->stats);
}

void delays_delta_make(const struct delays_sample *before, const struct delays_sample *after,
		       struct delays_delta *out_delta)
{
	struct delays_delta delta = { .span_ns = after->time_ns - before->time_ns };
	AUTO_FREE bool *seen = xcalloc(before->count + 1, sizeof(*seen));
	struct map map = { 0 };

	delta.tasks = xcalloc(before->count + after->count + 1, sizeof(*delta.tasks));
	for (size_t i = 0; i < before->count; i++)
		map_put(&map, task_key(&before->tasks[i]), i);
	for (size_t i = 0; i < after->count; i++) {
		const struct delays_task *task = &after->tasks[i];
		const uint64_t *at = map_find(&map, task_key(task));
		bool known = at && delays_task_is_same(&before->tasks[*at], task);

		if (known)
			seen[*at] = true;
		delays_change_make(known ? &before->tasks[*at].stats : NULL, task, delta.span_ns,
				   &delta.tasks[delta.count++]);
		delta.born += !known;
	}
	for (size_t i = 0; i < before->count; i++) {
		if (seen[i])
			continue;
		delta.tasks[delta.count++] =
			(struct delays_change){ .task = &before->tasks[i], .ended = true };
		delta.ended++;
	}
	map_fini(&map);
	*out_delta = delta;
}

void delays_delta_fini(struct delays_delta *delta)
{
	free(delta->tasks);
	*delta = (struct delays_delta){ 0 };
}
