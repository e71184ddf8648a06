/* breakdown.c - lines, interrupts and threads of one process, and the events inside them. */
#include "analyse/stats/breakdown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stats/breakdown_int.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/event.h"
#include "event/source.h"

const char *breakdown_kind_name(enum breakdown_kind kind)
{
	static const char *const names[] = {
		[LINE_OWN] = "own_code",	 [LINE_EITHER] = "own_code_or_kernel",
		[LINE_CALL] = "syscall",	 [LINE_FAULT] = "fault",
		[LINE_KERNEL] = "kernel_thread", [LINE_WORK] = "work",
		[LINE_NEW] = "not_run_yet",	 [LINE_UNKNOWN] = "unknown",
	};

	return (unsigned int)kind < ARRAY_LEN(names) ? names[kind] : "unknown";
}

/* -------------------------------------------------------------- the threads */

/* The life of a thread inside the window; false when it has none. */
static bool life_of(const struct breakdown_query *query, uint32_t slot, uint64_t *out_start_ns,
		    uint64_t *out_end_ns)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	const struct breakdown *result = query->result;

	*out_start_ns = thread->birth_ns > result->start_ns ? thread->birth_ns : result->start_ns;
	*out_end_ns = thread->death_ns < result->end_ns ? thread->death_ns : result->end_ns;
	return *out_start_ns < *out_end_ns;
}

/* A tid is used again: the process meant is the one that the thread found belongs to. */
static bool is_of_process(const struct breakdown_query *query, uint32_t slot, uint32_t main)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	const struct tl_thread *known = query->tl->threads[main];
	uint32_t leader;

	if (slot == main)
		return true;
	if (known->tgid <= 0 || thread->tgid != known->tgid)
		return false;
	leader = timeline_find_thread(query->tl, known->tgid, thread->birth_ns);
	return leader == timeline_find_thread(query->tl, known->tgid, known->birth_ns);
}

static int find_threads(struct breakdown_query *query, int32_t pid, struct err *err)
{
	uint32_t found = timeline_find_thread(query->tl, pid, query->result->end_ns - 1);
	uint64_t start_ns, end_ns;

	if (found == SLOT_NONE)
		found = timeline_find_thread(query->tl, pid, UINT64_MAX);
	if (found == SLOT_NONE || pid <= 0)
		return err_set(err, -ESRCH, "no process %d in this recording", pid);
	for (uint32_t slot = 0; slot < query->tl->thread_count; slot++) {
		if (!is_of_process(query, slot, found) || !life_of(query, slot, &start_ns, &end_ns))
			continue;
		query->slots = vec_room(query->slots, query->slot_count, &query->slot_cap,
					sizeof(*query->slots));
		map_put(&query->of_slot, slot, query->slot_count);
		query->slots[query->slot_count++] = slot;
	}
	if (!query->slot_count)
		return err_set(err, -EINVAL, "%s[%d] did not exist in the window",
			       timeline_comm(query->tl, found), pid);
	return 0;
}

/* -------------------------------------------------------------------- lines */

static enum breakdown_kind context_kind(uint32_t context)
{
	switch (word_kind(context)) {
	case WORD_USER:
		return LINE_OWN;
	case WORD_RUN:
		return LINE_EITHER;
	case WORD_SYSCALL:
		return LINE_CALL;
	case WORD_TRAP:
		return LINE_FAULT;
	case WORD_KERNEL:
	case WORD_IDLE:
		return LINE_KERNEL;
	case WORD_WORK:
		return LINE_WORK;
	case WORD_WAIT_CPU:
		return LINE_NEW;
	default:
		return LINE_UNKNOWN;
	}
}

static const char *line_name(struct breakdown_query *query, uint32_t context)
{
	switch (context_kind(context)) {
	case LINE_EITHER:
	case LINE_FAULT:
	case LINE_NEW:
	case LINE_UNKNOWN:
		return "";
	case LINE_CALL:
		if (word_call(context) & WORD_COMPAT)
			return why_keep(&query->why,
					xasprintf("%s (32-bit)",
						  describe_word(&query->words, context)));
		return describe_word(&query->words, context);
	default:
		return describe_word(&query->words, context);
	}
}

static struct breakdown_line *line_of(struct breakdown_query *query, uint32_t context)
{
	struct breakdown *result = query->result;
	uint64_t *found;

	if (context_kind(context) == LINE_FAULT)
		context = word_make(WORD_TRAP, 0);
	found = map_find(&query->line_of, context);
	if (found)
		return &result->lines[*found];
	map_put(&query->line_of, context, result->line_count);
	result->lines = vec_room(result->lines, result->line_count, &query->line_cap,
				 sizeof(*result->lines));
	result->lines[result->line_count] = (struct breakdown_line){
		.kind = context_kind(context),
		.name = line_name(query, context),
	};
	return &result->lines[result->line_count++];
}

static struct breakdown_irq *irq_of(struct breakdown_query *query, uint32_t word)
{
	struct breakdown *result = query->result;
	uint64_t *found = map_find(&query->irq_of, word);

	if (found)
		return &result->irqs[*found];
	map_put(&query->irq_of, word, result->irq_count);
	result->irqs =
		vec_room(result->irqs, result->irq_count, &query->irq_cap, sizeof(*result->irqs));
	result->irqs[result->irq_count] =
		(struct breakdown_irq){ .name = describe_word(&query->words, word) };
	return &result->irqs[result->irq_count++];
}

static void add_segment(struct breakdown_query *query, struct breakdown_thread *thread,
			uint32_t slot, const struct segment *segment)
{
	uint64_t ns = segment->end_ns - segment->start_ns;
	enum breakdown_part part = segment_part(segment->word);
	struct breakdown_line *line;
	struct code_at at;

	if (part == PART_IRQ) {
		struct breakdown_irq *irq = irq_of(query, segment->word);

		irq->ns += ns;
		irq->count += segment->begins;
	}
	if (!ns)
		return;
	line = line_of(query, segment->context);
	line->ns += ns;
	line->parts[part] += ns;
	thread->parts[part] += ns;
	at = (struct code_at){ (size_t)(line - query->result->lines),
			       (size_t)(thread - query->result->threads) };
	if (part == PART_BLOCKED)
		breakdown_code_wait(query, &at, others_add_wait(query, slot, segment), slot,
				    segment);
	else if (part == PART_WORKING)
		breakdown_code_work(query, &at, slot, segment);
}

/* Counts of calls, their errors and of faults: the timeline keeps them. */
static void add_counts(struct breakdown_query *query, const struct totals *totals)
{
	for (uint32_t i = 0; i < totals->count; i++) {
		const struct total *row = &totals->rows[i];
		uint32_t a = total_a(row->key);
		struct breakdown_line *line;

		switch (total_kind(row->key)) {
		case TOTAL_CALL:
			line = line_of(query, word_make(WORD_SYSCALL, a));
			line->count += row->count;
			if (row->max_ns > line->max_ns)
				line->max_ns = row->max_ns;
			break;
		case TOTAL_ERROR:
			line_of(query, word_make(WORD_SYSCALL, a))->errors += row->count;
			break;
		case TOTAL_COUNTER:
			if (a == COUNT_FAULTS && row->count)
				line_of(query, word_make(WORD_TRAP, 0))->count += row->count;
			break;
		default:
			break;
		}
	}
}

static uint64_t sum_of(const uint64_t parts[PART_COUNT])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < PART_COUNT; i++)
		sum += parts[i];
	return sum;
}

static void breakdown_add_thread(struct breakdown_query *query, struct breakdown_thread *thread,
				 uint32_t slot)
{
	const struct total *none;
	struct totals totals = { 0 };
	struct segment segment;
	struct walk walk;
	uint64_t life;

	thread->who = why_thread(&query->words, slot);
	(void)life_of(query, slot, &thread->start_ns, &thread->end_ns);
	thread->ns = thread->end_ns - thread->start_ns;
	walk_begin(&walk, query->tl, slot, thread->start_ns, thread->end_ns);
	while (walk_next(&walk, &segment))
		add_segment(query, thread, slot, &segment);
	timeline_totals(query->tl, slot, thread->start_ns, thread->end_ns, &totals);
	totals_sort(&totals);
	add_counts(query, &totals);
	none = totals_find(&totals, total_key(TOTAL_STATE, word_make(WORD_NONE, 0), 0));
	life = totals_ns(&totals, TOTAL_STATE) - (none ? none->ns : 0);
	thread->adds_up = sum_of(thread->parts) == thread->ns && life == thread->ns;
	totals_fini(&totals);
}

/* ------------------------------------------------------------------- events */

/* Where in its life a thread is as the events pass. */
struct cursor {
	struct walk walk;
	struct segment now, before;
	bool open;
};

/* An event that ends something belongs to what it ends. */
static bool is_closing(const struct event *ev)
{
	switch (ev->type) {
	case EV_SYS_EXIT:
	case EV_IRQ_EXIT:
	case EV_VECTOR_EXIT:
	case EV_SOFTIRQ_EXIT:
	case EV_SCHED_SWITCH:
	case EV_WORK_END:
		return true;
	default:
		return false;
	}
}

static void advance(struct cursor *cursor, uint64_t time_ns, bool closing)
{
	struct segment next;

	while (cursor->open &&
	       (closing ? cursor->now.end_ns < time_ns : cursor->now.end_ns <= time_ns)) {
		cursor->open = walk_next(&cursor->walk, &next);
		if (!cursor->open)
			return;
		if (cursor->now.end_ns > cursor->now.start_ns)
			cursor->before = cursor->now;
		cursor->now = next;
	}
}

static void place_event(struct breakdown_query *query, struct cursor *cursor,
			const struct event *ev)
{
	bool closing = is_closing(ev);
	const struct segment *in = &cursor->now;

	advance(cursor, ev->time_ns, closing);
	if (closing && cursor->now.start_ns >= ev->time_ns && cursor->before.end_ns)
		in = &cursor->before;
	if (segment_part(in->word) == PART_IRQ)
		irq_of(query, in->word)->events++;
	else
		line_of(query, in->context)->events++;
}

/* The index of the thread that recorded the event; -1 = none of the process. */
static int64_t recorder_of(struct breakdown_query *query, const struct event *ev)
{
	uint64_t *index;
	uint32_t slot;

	if (ev->tid <= 0 || ev->type == EV_LOST || ev->type == EV_FD_NAME)
		return -1;
	slot = timeline_find_thread(query->tl, ev->tid, ev->time_ns);
	/* The last event of a thread is at the moment of its death. */
	if (slot == SLOT_NONE || !map_find(&query->of_slot, slot))
		slot = timeline_find_thread(query->tl, ev->tid, ev->time_ns - 1);
	index = slot == SLOT_NONE ? NULL : map_find(&query->of_slot, slot);
	return index ? (int64_t)*index : -1;
}

static int count_events(struct breakdown_query *query, struct source *source, struct err *err)
{
	struct breakdown *result = query->result;
	struct cursor *cursors = xcalloc(query->slot_count, sizeof(*cursors));
	struct map tids = { 0 };
	const struct event *ev;
	int rc;

	for (size_t i = 0; i < query->slot_count; i++) {
		struct breakdown_thread *thread = &result->threads[i];

		walk_begin(&cursors[i].walk, query->tl, query->slots[i], thread->start_ns,
			   thread->end_ns);
		cursors[i].open = walk_next(&cursors[i].walk, &cursors[i].now);
		map_put(&tids, (uint32_t)thread->who.tid, 1);
	}
	rc = source_seek(source, result->start_ns, err);
	while (rc >= 0 && (rc = source_next(source, &ev, err)) > 0 &&
	       ev->time_ns < result->end_ns) {
		int64_t i = map_find(&tids, (uint32_t)ev->tid) ? recorder_of(query, ev) : -1;

		if (i < 0)
			continue;
		result->threads[i].events++;
		result->events++;
		place_event(query, &cursors[i], ev);
	}
	free(cursors);
	map_fini(&tids);
	return rc < 0 ? err_wrap(err, "counting events") : 0;
}

/* --------------------------------------------------------------- the result */

/* Own code and faults stand first, then the longest. */
static uint32_t kind_place(enum breakdown_kind kind)
{
	switch (kind) {
	case LINE_OWN:
		return 0;
	case LINE_EITHER:
		return 1;
	case LINE_FAULT:
		return 2;
	default:
		return 3;
	}
}

static int compare_lines(const void *a, const void *b)
{
	const struct breakdown_line *x = a, *y = b;
	uint32_t x_place = kind_place(x->kind), y_place = kind_place(y->kind);

	if (x_place != y_place)
		return x_place < y_place ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

ORDER_FUNCTION(compare_irqs, struct breakdown_irq, ORDER_DOWN(ns), ORDER_TEXT(name));

/* The same sums, three ways. */
static bool check(const struct breakdown *result)
{
	uint64_t lines = 0, irqs = 0, waits = 0, parts[PART_COUNT] = { 0 };
	bool good = sum_of(result->parts) == result->life_ns;

	for (size_t i = 0; i < result->thread_count; i++)
		good &= result->threads[i].adds_up;
	for (size_t i = 0; i < result->line_count; i++) {
		lines += result->lines[i].ns;
		good &= sum_of(result->lines[i].parts) == result->lines[i].ns;
		for (size_t k = 0; k < PART_COUNT; k++)
			parts[k] += result->lines[i].parts[k];
	}
	for (size_t i = 0; i < result->irq_count; i++)
		irqs += result->irqs[i].ns;
	for (size_t i = 0; i < result->wait_count; i++)
		waits += result->waits[i].ns;
	return good && lines == result->life_ns && irqs == result->parts[PART_IRQ] &&
	       waits == result->parts[PART_BLOCKED] &&
	       memcmp(parts, result->parts, sizeof(parts)) == 0;
}

static void breakdown_finish(struct breakdown_query *query)
{
	struct breakdown *result = query->result;
	uint64_t first = UINT64_MAX, last = 0;

	breakdown_code_finish(query);
	others_finish(query);
	if (result->line_count)
		qsort(result->lines, result->line_count, sizeof(*result->lines), compare_lines);
	if (result->irq_count)
		qsort(result->irqs, result->irq_count, sizeof(*result->irqs), compare_irqs);
	for (size_t i = 0; i < result->thread_count; i++) {
		const struct breakdown_thread *thread = &result->threads[i];

		first = thread->start_ns < first ? thread->start_ns : first;
		last = thread->end_ns > last ? thread->end_ns : last;
		result->life_ns += thread->ns;
		for (size_t k = 0; k < PART_COUNT; k++)
			result->parts[k] += thread->parts[k];
	}
	result->wall_ns = last - first;
	result->adds_up = check(result);
}

/* The thread that names the process: the main one, if it lived in the window. */
static uint32_t naming_slot(const struct breakdown_query *query)
{
	for (size_t i = 0; i < query->slot_count; i++) {
		const struct tl_thread *thread = query->tl->threads[query->slots[i]];

		if (thread->tid == thread->tgid)
			return query->slots[i];
	}
	return query->slots[0];
}

static int break_down(struct breakdown_query *query, struct source *source, int32_t pid,
		      struct err *err)
{
	struct breakdown *result = query->result;
	int rc = find_threads(query, pid, err);
	uint32_t slot;

	if (rc < 0)
		return rc;
	slot = naming_slot(query);
	result->process = why_thread(&query->words, slot);
	result->cmdline = why_keep(
		&query->why, xstrdup(timeline_name(query->tl, query->tl->threads[slot]->cmdline)));
	result->thread_count = query->slot_count;
	result->threads = xcalloc(query->slot_count, sizeof(*result->threads));
	for (size_t i = 0; i < query->slot_count; i++)
		breakdown_add_thread(query, &result->threads[i], query->slots[i]);
	rc = count_events(query, source, err);
	if (rc < 0)
		return rc;
	breakdown_finish(query);
	return 0;
}

static void query_fini(struct breakdown_query *query)
{
	free(query->slots);
	free(query->helps);
	breakdown_code_fini(query);
	map_fini(&query->line_of);
	map_fini(&query->irq_of);
	map_fini(&query->of_slot);
	map_fini(&query->wait_of);
}

int breakdown_run(const struct timeline *timeline, const struct facts *facts, struct source *source,
		  const struct breakdown_opts *opts, struct breakdown *out_breakdown,
		  struct err *err)
{
	struct breakdown result = { .start_ns = opts->start_ns, .end_ns = opts->end_ns };
	struct breakdown_query query = { .tl = timeline, .facts = facts, .result = &result };
	int rc = coverage_window(timeline, &result.start_ns, &result.end_ns, err);

	if (rc < 0)
		return rc;
	query.words = (struct query){ .tl = timeline, .facts = facts, .why = &query.why };
	rc = break_down(&query, source, opts->pid, err);
	result.texts = query.why.texts;
	query_fini(&query);
	if (rc < 0) {
		breakdown_fini(&result);
		return rc;
	}
	result.coverage = coverage_of(timeline, result.start_ns, result.end_ns);
	*out_breakdown = result;
	return 0;
}

void breakdown_fini(struct breakdown *breakdown)
{
	free(breakdown->lines);
	free(breakdown->irqs);
	free(breakdown->waits);
	free(breakdown->others);
	free(breakdown->threads);
	names_fini(&breakdown->texts);
	*breakdown = (struct breakdown){ 0 };
}
