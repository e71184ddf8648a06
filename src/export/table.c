/* table.c - walk the threads and give what was asked for. */
#include "export/table.h"

#include <errno.h>

#include "analyse/locks/lock_owner.h"
#include "base/err.h"
#include "export/export.h"
#include "timeline/timeline.h"

struct table {
	struct export_job *job;
	const struct table_ops *ops;
	void *context;
	uint32_t slot;
	struct why_thread who;
};

/* Which root the wait is charged to most; the result is ended by the caller. */
static const struct why_root *table_find_root(const struct table *table,
					      const struct states_span *span, struct why *why)
{
	const struct why_opts opts = {
		.slot = table->slot,
		.start_ns = span->start_ns,
		.end_ns = span->end_ns,
		.lock_owners = table->job->locks,
	};

	if (why_run(table->job->timeline, table->job->facts, &opts, why, NULL) < 0)
		return NULL;
	return why->root_count ? &why->roots[0] : NULL;
}

static void table_give_wait(const struct table *table, const struct states_span *span)
{
	struct why why = { 0 };
	struct table_wait row = { .span = span, .who = table->who, .lock = "" };
	struct lock_owner_wait lock;

	row.root = table_find_root(table, span, &why);
	if (table->job->locks && lock_owners_find(table->job->locks, table->who.tid, span->start_ns,
						  span->end_ns, &lock))
		row.lock = lock_owners_name(table->job->locks, &lock);
	table->ops->wait(table->context, &row);
	why_fini(&why);
}

static void give_edge(const struct table *table, const struct states_span *span)
{
	const struct timeline *tl = table->job->timeline;
	uint32_t word = timeline_state_at(tl, table->slot, span->start_ns);
	struct table_edge edge = { .to = table->who, .span = span, .from = span->wait.woken_by };
	struct wait wait;

	if (word_kind(word) != WORD_BLOCKED)
		return;
	timeline_wait(tl, table->slot, word_arg(word), &wait);
	if (wait.woken_ns == 0 || wait.woken_ns != span->end_ns)
		return; /* not its last interval, or it did not end in the window */
	edge.time_ns = wait.woken_ns;
	edge.waited_ns = wait.woken_ns - wait.begin_ns;
	table->ops->edge(table->context, &edge);
}

static void give_span(void *context, const struct states_span *span)
{
	const struct table *table = context;

	if (table->ops->failed(table->context))
		return;
	if (table->ops->interval)
		table->ops->interval(table->context, &table->who, span);
	if (span->is_wait && table->ops->wait)
		table_give_wait(table, span);
	if (span->is_wait && table->ops->edge)
		give_edge(table, span);
}

int table_run(struct export_job *job, const struct table_ops *ops, void *context, struct err *err)
{
	const struct timeline *tl = job->timeline;
	struct table table = { .job = job, .ops = ops, .context = context };
	struct states_sum sum;

	for (uint32_t slot = 0; slot < tl->thread_count && !ops->failed(context); slot++) {
		const struct tl_thread *thread = tl->threads[slot];
		struct states_opts opts = { .slot = slot,
					    .start_ns = job->start_ns,
					    .end_ns = job->end_ns };

		if (thread->tid == 0 || !export_is_chosen(job, slot) ||
		    states_window(tl, &opts, NULL) < 0)
			continue;
		table.slot = slot;
		table.who =
			(struct why_thread){ thread->tid, thread->tgid, timeline_comm(tl, slot) };
		states_run(tl, job->facts, &opts, give_span, &table, &sum);
	}
	if (timeline_damage(tl))
		return err_set(err, -EIO, "%s: holdup index builds it again", timeline_damage(tl));
	return 0;
}
