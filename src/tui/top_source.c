/* top_source.c - two samples, their differences, and these as tasks. */
#include "tui/top_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "accounts/proc.h"
#include "accounts/sample.h"
#include "accounts/tracker.h"
#include "tui/top_model.h"

struct top_source {
	struct delays_select select;
	struct delays_sampler *sampler; /* owned */
	struct delays_sample before;	/* owned */
	struct delays_tracker *tracker; /* owned; of threads, while they are shown; else NULL */
	struct map read_bytes;		/* of processes of several threads, by number: so far */
	struct map write_bytes;
	char note[160];
};

static uint64_t class_ns(const struct delays_stats *stats, enum delays_class class)
{
	return delays_has_class(stats, class) ? stats->delay[class].total_ns : 0;
}

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* 'what' is in *from, too, mostly: it counts once. */
static uint64_t taken_from(uint64_t *from, uint64_t what)
{
	*from -= what < *from ? what : *from;
	return what;
}

static void fill_known(const struct delays_stats *stats, struct top_task *task)
{
	const uint32_t memory = 1u << DELAYS_SWAPIN | 1u << DELAYS_RECLAIM |
				1u << DELAYS_THRASHING | 1u << DELAYS_COMPACTION;

	task->known = 1u << TOP_OTHER;
	task->known |= (uint32_t)((stats->has & DELAYS_HAS_RUN) != 0) << TOP_RUN;
	task->known |= (uint32_t)delays_has_class(stats, DELAYS_CPU) << TOP_CPU;
	task->known |= (uint32_t)delays_has_class(stats, DELAYS_DISK) << TOP_DISK;
	task->known |= (uint32_t)((stats->classes & memory) != 0) << TOP_MEMORY;
}

/*
 * Waiting for a page to come back is in the time for disk, too, and freeing or moving
 * memory in run time (accounts/stats.h): both count as memory here, and once.
 */
static void fill_times(const struct delays_stats *stats, struct top_task *task)
{
	uint64_t back = longer(class_ns(stats, DELAYS_SWAPIN), class_ns(stats, DELAYS_THRASHING));
	uint64_t work = longer(class_ns(stats, DELAYS_RECLAIM), class_ns(stats, DELAYS_COMPACTION));

	task->ns[TOP_RUN] = stats->run_ns;
	task->ns[TOP_CPU] = class_ns(stats, DELAYS_CPU);
	task->ns[TOP_DISK] = class_ns(stats, DELAYS_DISK);
	task->ns[TOP_MEMORY] =
		taken_from(&task->ns[TOP_DISK], back) + taken_from(&task->ns[TOP_RUN], work);
}

void top_task_of_change(const struct delays_change *change, struct top_task *out_task)
{
	const struct delays_task *from = change->task;
	struct top_task task = {
		.tid = from->tid,
		.tgid = from->tgid,
		.ppid = from->stats.ppid,
		.is_process = from->is_process,
		.is_new = change->born,
		.threads = from->threads,
		.birth_ns = from->birth_ns,
		.base_ns =
			change->span_ns * (from->is_process && from->threads ? from->threads : 1),
		.has_io = (change->stats.has & DELAYS_HAS_IO) != 0,
		.read_bytes = change->stats.read_bytes,
		.write_bytes = change->stats.write_bytes,
		.switches = change->stats.voluntary + change->stats.involuntary,
	};

	_Static_assert(sizeof(task.name) == sizeof(from->stats.name), "both terminated");
	memcpy(task.name, from->stats.name, sizeof(task.name));
	fill_known(&change->stats, &task);
	fill_times(&change->stats, &task);
	*out_task = task;
}

/* A thread adds to its process what the kernel does not sum up. */
static void add_thread(struct top_task *process, struct top_task *thread, bool is_first)
{
	if (is_first) {
		process->base_ns = 0;
		process->read_bytes = process->write_bytes = 0;
		process->has_io = false;
	}
	thread->threads = process->threads;
	process->base_ns += thread->base_ns;
	process->read_bytes += thread->read_bytes;
	process->write_bytes += thread->write_bytes;
	process->has_io = process->has_io || thread->has_io;
}

/* What came to a total since it was looked at last; *out_known = it was. */
static uint64_t since_last(const struct map *before, struct map *after, int32_t pid, uint64_t total,
			   bool *out_known)
{
	const uint64_t *last = map_find(before, (uint64_t)pid);

	map_put(after, (uint64_t)pid, total);
	*out_known = last != NULL;
	return last && total > *last ? total - *last : 0;
}

static uint64_t io_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* The kernel's sum over threads has no I/O, and asking each thread costs much more than this file. */
static void fill_io(struct top_source *source, struct top_task *tasks, size_t count)
{
	struct map read_bytes = { 0 }, write_bytes = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct top_task *task = &tasks[i];
		char path[64], text[512];

		if (!task->is_process || task->threads < 2 || task->has_io)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/io", task->tgid);
		if (delays_proc_read(path, text, sizeof(text)) <= 0)
			continue;
		task->read_bytes = since_last(&source->read_bytes, &read_bytes, task->tgid,
					      io_number(text, "\nread_bytes: "), &task->has_io);
		task->write_bytes = since_last(&source->write_bytes, &write_bytes, task->tgid,
					       io_number(text, "\nwrite_bytes: "), &task->has_io);
	}
	map_fini(&source->read_bytes);
	map_fini(&source->write_bytes);
	source->read_bytes = read_bytes;
	source->write_bytes = write_bytes;
}

/* So that the first interval has I/O, too. */
static void begin_io(struct top_source *source, const struct delays_sample *sample)
{
	struct top_task *tasks = xcalloc(sample->count + 1, sizeof(*tasks));

	for (size_t i = 0; i < sample->count; i++) {
		tasks[i].tgid = sample->tasks[i].tgid;
		tasks[i].is_process = sample->tasks[i].is_process;
		tasks[i].threads = sample->tasks[i].threads;
	}
	fill_io(source, tasks, sample->count);
	free(tasks);
}

static size_t fill_tasks(const struct delays_change *const *changes, size_t change_count,
			 bool with_cgroups, struct top_task *tasks)
{
	struct top_task *process = NULL;
	bool is_first = false;
	size_t count = 0;

	for (size_t i = 0; i < change_count; i++) {
		struct top_task *task = &tasks[count];

		if (changes[i]->ended)
			continue;
		top_task_of_change(changes[i], task);
		count++;
		if (task->is_process) {
			process = task;
			is_first = true;
			if (with_cgroups)
				delays_proc_cgroup(task->tgid, task->cgroup, sizeof(task->cgroup));
		} else if (process && process->tgid == task->tgid) {
			add_thread(process, task, is_first);
			is_first = false;
			memcpy(task->cgroup, process->cgroup, sizeof(task->cgroup));
		}
	}
	return count;
}

static void note_account(struct top_source *source, const struct delays_account *account)
{
	const char *text = "";

	if (delays_sampler_source(source->sampler) == DELAYS_FROM_PROC)
		return; /* said already */
	if (account->state == DELAYS_ACCOUNT_NONE)
		text = "this kernel counts only waits for a CPU: the rest is in ELSE%";
	else if (account->state == DELAYS_ACCOUNT_OFF)
		text = "task_delayacct is off: disk, memory are in ELSE%; holdup delays --enable";
	else if (!account->since_boot)
		text = "\"-\": older than the accounting; disk, memory are in ELSE%";
	snprintf(source->note, sizeof(source->note), "%s", text);
}

/* Of threads, which may be thousands, only those that ran are asked about. */
static bool by_tracker(const struct top_source *source)
{
	return source->select.threads &&
	       delays_sampler_source(source->sampler) == DELAYS_FROM_TASKSTATS;
}

static int take_round(struct top_source *source, struct delays_round *out_round, struct err *err)
{
	int rc;

	if (!source->tracker)
		source->tracker = delays_tracker_new(source->sampler);
	rc = delays_tracker_take(source->tracker, &source->select, out_round, err);
	if (rc == 0)
		note_account(source, &out_round->account);
	return rc;
}

static int first_look(struct top_source *source, struct err *err)
{
	struct delays_round round;
	int rc;

	if (by_tracker(source))
		return take_round(source, &round, err);
	rc = delays_sample_take(source->sampler, &source->select, 0, &source->before, err);
	if (rc < 0)
		return rc;
	note_account(source, &source->before.account);
	begin_io(source, &source->before);
	return 0;
}

/* In 80 columns. */
static const char *why_proc(const struct err *why)
{
	if (delays_proc_hides())
		return "no CAP_NET_ADMIN, and /proc hides others (hidepid): disk, memory in ELSE%";
	switch (why->code) {
	case -EPERM:
		return "no CAP_NET_ADMIN (sudo), using /proc: disk, memory are in ELSE%";
	case -ENOENT:
		return "no taskstats in this kernel or network namespace: disk, memory in ELSE%";
	default:
		return "taskstats does not answer, using /proc: disk, memory are in ELSE%";
	}
}

int top_source_open(const struct delays_select *select, struct top_source **out_source,
		    struct err *err)
{
	struct top_source *source = xcalloc(1, sizeof(*source));
	struct err why = { 0 };
	int rc;

	source->select = *select;
	(void)delays_sampler_open(&source->sampler, &why); /* falls back to /proc */
	if (delays_sampler_source(source->sampler) == DELAYS_FROM_PROC)
		snprintf(source->note, sizeof(source->note), "%s", why_proc(&why));
	rc = first_look(source, err);
	if (rc < 0) {
		top_source_close(source);
		return rc;
	}
	*out_source = source;
	return 0;
}

void top_source_close(struct top_source *source)
{
	if (!source)
		return;
	delays_tracker_free(source->tracker);
	delays_sampler_close(source->sampler);
	delays_sample_fini(&source->before);
	map_fini(&source->read_bytes);
	map_fini(&source->write_bytes);
	free(source);
}

static void feed_changes(struct top_source *source, struct top_model *model,
			 const struct delays_change *const *changes, size_t change_count,
			 uint64_t span_ns)
{
	struct top_task *tasks = xmalloc((change_count + 1) * sizeof(*tasks));
	size_t count = fill_tasks(changes, change_count, model->cgroups, tasks);

	fill_io(source, tasks, count);
	for (size_t i = 0; i < count; i++)
		top_task_charge(&tasks[i]);
	top_model_feed(model, tasks, count, span_ns);
	free(tasks);
}

/* Two samples, and all that is different. */
static int feed_samples(struct top_source *source, struct top_model *model, bool is_new,
			struct err *err)
{
	const struct delays_change **changes;
	struct delays_sample after;
	struct delays_delta delta;
	int rc = delays_sample_take(source->sampler, &source->select, 0, &after, err);

	if (rc < 0)
		return rc;
	note_account(source, &after.account);
	if (!is_new) {
		delays_delta_make(&source->before, &after, &delta);
		changes = xcalloc(delta.count + 1, sizeof(const struct delays_change *));
		for (size_t i = 0; i < delta.count; i++)
			changes[i] = &delta.tasks[i];
		feed_changes(source, model, changes, delta.count, delta.span_ns);
		free(changes);
		delays_delta_fini(&delta);
	}
	delays_sample_fini(&source->before);
	source->before = after;
	return 0;
}

int top_source_feed(struct top_source *source, struct top_model *model, struct err *err)
{
	bool is_other = model->threads != source->select.threads;
	struct delays_round round;
	int rc;

	source->select.threads = model->threads;
	if (!by_tracker(source)) {
		delays_tracker_free(source->tracker);
		source->tracker = NULL;
		return feed_samples(source, model, is_other, err);
	}
	rc = take_round(source, &round, err);
	if (rc == 0 && round.span_ns)
		feed_changes(source, model, round.changes, round.count, round.span_ns);
	return rc;
}

void top_source_fill_cgroups(struct top_model *model)
{
	const struct top_task *process = NULL;

	for (size_t i = 0; i < model->task_count; i++) {
		struct top_task *task = &model->tasks[i];

		if (process && !task->is_process && process->tgid == task->tgid)
			memcpy(task->cgroup, process->cgroup, sizeof(task->cgroup));
		else
			delays_proc_cgroup(task->tgid, task->cgroup, sizeof(task->cgroup));
		if (task->is_process)
			process = task;
	}
	top_model_rebuild(model);
}

const char *top_source_note(const struct top_source *source)
{
	return source->note;
}
