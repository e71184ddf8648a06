/* delays_trace.c - the states of each thread, added up by class and by process. */
#include "analyse/accounts/delays_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/delays_class.h"
#include "base/map.h"
#include "base/mem.h"
#include "timeline/timeline.h"

#define CLASSES (1u << DELAYS_CPU | 1u << DELAYS_DISK | 1u << DELAYS_IRQ)

static void add_delay(struct delays_delay *delay, uint64_t ns)
{
	delay->min_ns = delay->count && delay->min_ns < ns ? delay->min_ns : ns;
	delay->max_ns = delay->max_ns > ns ? delay->max_ns : ns;
	delay->total_ns += ns;
	delay->count++;
}

/* As the kernel counts it: asleep without being interruptible, until I/O is done. */
static void add_blocked(struct delays_trace_account *account, const struct timeline *timeline,
			uint32_t slot, const struct tl_interval *in)
{
	uint64_t ns = in->end_ns - in->start_ns;
	struct wait wait;

	timeline_wait(timeline, slot, word_arg(in->word), &wait);
	if (!(wait.flags & WAIT_DISK_SLEEP))
		return;
	if (!(DELAYS_SYNCED & 1u << wait_kind(&wait))) {
		account->other_sleep_ns += ns;
		return;
	}
	if (wait_kind(&wait) == WAIT_FOR_IO)
		account->soft_disk_ns += ns;
	add_delay(&account->stats.delay[DELAYS_DISK], ns);
}

static void add_interval(struct delays_trace_account *account, const struct timeline *timeline,
			 uint32_t slot, const struct tl_interval *in)
{
	uint64_t ns = in->end_ns - in->start_ns;
	struct delays_stats *stats = &account->stats;
	enum word_kind kind = word_kind(in->word);

	if (kind == WORD_NONE)
		return;
	if (kind == WORD_UNCERTAIN) {
		account->uncertain_ns += ns;
		if (word_arg(in->word) < DELAYS_TRACE_UNSURE)
			account->unsure_ns[word_arg(in->word)] += ns;
		return;
	}
	account->known_ns += ns;
	if (kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU)
		add_delay(&stats->delay[DELAYS_CPU], ns);
	else if (kind == WORD_BLOCKED)
		add_blocked(account, timeline, slot, in);
	else if (kind == WORD_IRQ || kind == WORD_VECTOR || kind == WORD_SOFTIRQ)
		add_delay(&stats->delay[DELAYS_IRQ], ns);
	if (kind >= WORD_RUN && kind <= WORD_SOFTIRQ)
		stats->run_ns += ns;
}

/* Spans of reclaim and compaction: whatever the thread was in meanwhile. */
static void add_memory(struct delays_trace_account *account, const struct memory_spans *memory,
		       int32_t tid, const struct tl_interval *window)
{
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		const struct memory_span *spans;
		size_t count;

		if (!(memory->classes & 1u << class))
			continue;
		account->stats.classes |= 1u << class;
		account->stats.ranges |= 1u << class;
		spans = memory_spans_find(memory, tid, class, &count);
		for (size_t i = 0; i < count; i++) {
			uint64_t start = spans[i].start_ns > window->start_ns ? spans[i].start_ns
									      : window->start_ns;
			uint64_t end =
				spans[i].end_ns < window->end_ns ? spans[i].end_ns : window->end_ns;

			if (start < end)
				add_delay(&account->stats.delay[class], end - start);
		}
	}
}

void delays_trace_account(const struct timeline *timeline, const struct memory_spans *memory,
			  uint32_t slot, const struct tl_interval *window,
			  struct delays_trace_account *out_account)
{
	const struct tl_thread *thread = timeline->threads[slot];
	struct delays_trace_account account = { .stats = { .classes = CLASSES,
							   .ranges = CLASSES,
							   .has = DELAYS_HAS_RUN |
								  DELAYS_HAS_TGID } };
	const struct delays_delay *disk = &account.stats.delay[DELAYS_DISK];
	bool is_after_disk = false;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, timeline, &thread->track, window->start_ns, window->end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t waits = disk->count;

		add_interval(&account, timeline, slot, &in);
		if (is_after_disk && word_kind(in.word) == WORD_WAIT_CPU)
			account.after_disk_ns += in.end_ns - in.start_ns;
		is_after_disk = disk->count != waits;
	}
	if (memory)
		add_memory(&account, memory, thread->tid, window);
	account.stats.life_us = account.known_ns / 1000;
	*out_account = account;
}

/* The name of a process is that of its main thread. */
static const char *process_name(const struct timeline *timeline, uint32_t slot)
{
	uint32_t main =
		timeline_find_thread(timeline, thread_process(timeline->threads[slot]), UINT64_MAX);

	return timeline_comm(timeline, main == SLOT_NONE ? slot : main);
}

static bool slot_is_wanted(const struct timeline *timeline, uint32_t slot,
			   const struct delays_trace_opts *opts)
{
	const struct tl_thread *thread = timeline->threads[slot];

	if (thread->tid <= 0)
		return false;
	for (size_t i = 0; i < opts->pid_count; i++) {
		if (opts->pids[i] == thread->tid || opts->pids[i] == thread_process(thread))
			return true;
	}
	if (opts->comm)
		return strcmp(process_name(timeline, slot), opts->comm) == 0;
	return opts->pid_count == 0;
}

static struct delays_task *new_task(struct delays_sample *sample, size_t *cap, int32_t tgid,
				    int32_t tid, const char *name)
{
	struct delays_task *task;

	sample->tasks = vec_room(sample->tasks, sample->count, cap, sizeof(*sample->tasks));
	task = &sample->tasks[sample->count++];
	*task = (struct delays_task){ .tid = tid, .tgid = tgid, .coverage = DELAYS_COVERED };
	task->stats.tid = tid;
	task->stats.tgid = tgid;
	snprintf(task->stats.name, sizeof(task->stats.name), "%s", name);
	return task;
}

static void add_account(struct delays_task *task, const struct delays_trace_account *account)
{
	uint64_t life_us = task->stats.life_us + account->stats.life_us;

	delays_stats_add(&task->stats, &account->stats);
	task->stats.life_us = life_us;
	task->wall_ns += account->known_ns;
	task->threads++;
}

/* By process, each before its threads. */
static int row_by_number(const void *a, const void *b)
{
	const struct delays_task *left = a, *right = b;

	if (left->tgid != right->tgid)
		return left->tgid < right->tgid ? -1 : 1;
	if (left->is_process != right->is_process)
		return left->is_process ? -1 : 1;
	return left->tid < right->tid ? -1 : left->tid > right->tid;
}

void delays_trace_run(const struct timeline *timeline, const struct delays_trace_opts *opts,
		      struct delays_trace *out_trace)
{
	struct delays_trace trace = { .sample = { .time_ns = timeline->end_ns,
						  .source = DELAYS_FROM_TRACE } };
	struct map processes = { 0 };
	size_t cap = 0;

	for (uint32_t slot = 0; slot < timeline->thread_count; slot++) {
		const struct tl_thread *thread = timeline->threads[slot];
		int32_t tgid = thread_process(thread);
		const struct tl_interval life = { thread->birth_ns, thread->death_ns, 0 };
		struct delays_trace_account account;
		bool is_new;
		uint64_t *index;

		if (!slot_is_wanted(timeline, slot, opts))
			continue;
		delays_trace_account(timeline, opts->memory, slot, &life, &account);
		trace.uncertain_ns += account.uncertain_ns;
		index = map_add(&processes, (uint64_t)tgid, &is_new);
		if (is_new) {
			*index = trace.sample.count;
			new_task(&trace.sample, &cap, tgid, tgid, process_name(timeline, slot))
				->is_process = true;
		}
		add_account(&trace.sample.tasks[*index], &account);
		if (opts->threads)
			add_account(new_task(&trace.sample, &cap, tgid, thread->tid,
					     timeline_comm(timeline, slot)),
				    &account);
	}
	map_fini(&processes);
	if (trace.sample.count)
		qsort(trace.sample.tasks, trace.sample.count, sizeof(*trace.sample.tasks),
		      row_by_number);
	*out_trace = trace;
}

void delays_trace_fini(struct delays_trace *trace)
{
	delays_sample_fini(&trace->sample);
}
