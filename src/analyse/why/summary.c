/*
 * summary.c - the WIB state summary: a tree of what the target was in, the
 * intervals of each line, and the system calls it made.
 *
 *	Working      own code | each system call | page fault
 *	Interrupted  each irq, softirq | preempted | waiting for a CPU
 *	Blocked      each system call or trap, under it each object
 *	Uncertain    each reason
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "timeline/totals.h"

#define INSTANCES_PER_LINE 1000 /* the longest are kept; why_line.count tells of all */
#define SECTIONS	   4
#define CALL_NAMES	   (2 * TL_SYSCALLS)

/* A line while it is added up. Lines are numbered as they appear, parents first. */
struct line {
	uint32_t parent; /* UINT32_MAX for the four sections */
	const char *name;
	bool is_call; /* a wait in a system call of that name */
	uint64_t ns, count;
	struct why_instance *longest; /* owned; a heap, the shortest first */
	uint32_t instances;	      /* in it */
	uint32_t cap;
};

#define MEMO 256 /* a power of two */

/* The line of a state that is no wait. */
struct word_memo {
	uint32_t word;
	uint32_t line; /* number + 1; 0 = empty */
};

/* The line of a wait, by all that it is told by. */
struct wait_memo {
	uint32_t in, object, flags;
	const struct stack_futex *futex; /* that the object is */
	int32_t fd;
	uint32_t line;	   /* number + 1; 0 = empty */
	uint8_t class;	   /* enum why_class */
	bool sleeps_there; /* for an open one: its code says so */
	bool signal_by_timer;
	bool is_idle; /* as its stack tells */
};

struct summary {
	struct query *query;
	struct line *lines;
	size_t line_count, line_cap;
	struct map index; /* (parent, text id) -> line */
	uint32_t instance_count;
	struct word_memo word_memo[MEMO];
	struct wait_memo wait_memo[MEMO];
	struct why_syscall calls[CALL_NAMES];
};

static const char *const section_names[SECTIONS] = { "Working", "Interrupted", "Blocked",
						     "Uncertain" };

static uint32_t line_of(struct summary *summary, uint32_t parent, const char *name)
{
	uint32_t text = names_add(&summary->query->why->texts, name, 8192);
	uint64_t key = (uint64_t)parent << 32 | text;
	uint64_t *found = map_find(&summary->index, key);

	if (found)
		return (uint32_t)*found;
	summary->lines = vec_room(summary->lines, summary->line_count, &summary->line_cap,
				  sizeof(*summary->lines));
	summary->lines[summary->line_count] = (struct line){
		.parent = parent,
		.name = names_text(&summary->query->why->texts, text),
	};
	map_put(&summary->index, key, summary->line_count);
	return (uint32_t)summary->line_count++;
}

/* The line of a state that is no wait. */
static uint32_t line_of_word(struct summary *summary, uint32_t word)
{
	struct word_memo *memo = &summary->word_memo[(word * 0x9e3779b1u) >> 24];
	struct query *query = summary->query;
	uint32_t line;

	if (memo->line && memo->word == word)
		return memo->line - 1;
	switch (word_wib(word)) {
	case WIB_WORKING:
		line = line_of(summary, 0, describe_word(query, word));
		break;
	case WIB_INTERRUPTED:
		line = line_of(summary, 1, describe_word(query, word));
		break;
	case WIB_NONE:
		line = line_of(summary, 3, "it was not there");
		break;
	default:
		line = line_of(summary, 3, why_unsure_name(word_arg(word)));
		break;
	}
	*memo = (struct word_memo){ word, line + 1 };
	return line;
}

/* The line and class of a wait. */
static const struct wait_memo *line_of_wait(struct summary *summary, uint32_t slot,
					    const struct wait *wait)
{
	const uint32_t telling = WAIT_DISK_SLEEP | WAIT_STOPPED | WAIT_SERVER | WAIT_TIMED_OUT |
				 WAIT_LOCK | WAIT_EXPECTS | WAIT_ASKED | WAIT_MANY;
	uint32_t hash = wait->in ^ wait->object * 31 ^ (wait->flags & telling) * 977 ^
			(uint32_t)wait->fd * 7919;
	/* What wait_class() looks at, beside the flags. */
	bool signal_by_timer =
		wait->woken_ns && wait->waker.kind == ACTOR_TIMER && wait->waker.signal;
	bool sleeps_there = !wait->woken_ns && wait_sleeps_there(summary->query, slot, wait);
	struct wait_memo *memo = &summary->wait_memo[(hash * 0x9e3779b1u) >> 24];
	struct query *query = summary->query;
	bool is_idle = wait_idle(query, slot, wait);
	const struct stack_futex *futex = wait_named_futex(query, slot, wait);
	const char *object;
	uint32_t line;

	if (memo->line && memo->in == wait->in && memo->object == wait->object &&
	    memo->futex == futex && memo->fd == wait->fd &&
	    memo->flags == (wait->flags & telling) && memo->signal_by_timer == signal_by_timer &&
	    memo->sleeps_there == sleeps_there && memo->is_idle == is_idle)
		return memo;
	object = describe_object(query, slot, wait);
	line = line_of(summary, 2, describe_in(query, wait));
	summary->lines[line].is_call = word_is_call(query, wait->in);
	if (*object)
		line = line_of(summary, line, object);
	*memo = (struct wait_memo){ .in = wait->in,
				    .object = wait->object,
				    .futex = futex,
				    .flags = wait->flags & telling,
				    .fd = wait->fd,
				    .signal_by_timer = signal_by_timer,
				    .sleeps_there = sleeps_there,
				    .is_idle = is_idle,
				    .line = line + 1,
				    .class = (uint8_t)wait_class(query, slot, wait) };
	return memo;
}

/* Longest first; of two alike the earlier one. */
static bool goes_before(const struct why_instance *x, const struct why_instance *y)
{
	uint64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

	return x_ns != y_ns ? x_ns > y_ns : x->start_ns < y->start_ns;
}

/* heap[0] is the one that goes last. Put 'instance' where heap[at] was, further down. */
static void sink(struct why_instance *heap, uint32_t count, const struct why_instance *instance)
{
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < count) {
		child += child + 1 < count && goes_before(&heap[child], &heap[child + 1]);
		if (!goes_before(instance, &heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = *instance;
}

static void keep_instance(struct line *line, const struct why_instance *instance)
{
	struct why_instance *heap = line->longest;
	uint32_t at = line->instances;

	if (at == INSTANCES_PER_LINE) {
		if (goes_before(instance, &heap[0]))
			sink(heap, at, instance);
		return;
	}
	if (at == line->cap) {
		line->cap = line->cap ? line->cap * 2 : 4;
		heap = line->longest = xrealloc(heap, line->cap, sizeof(*heap));
	}
	while (at > 0 && goes_before(&heap[(at - 1) / 2], instance)) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = *instance;
	line->instances++;
}

static void add_class(struct why *why, enum why_class class, uint64_t ns)
{
	if (class == WHY_ASKED)
		why->asked_ns += ns;
	else if (class == WHY_IDLE)
		why->idle_ns += ns;
	else
		why->held_up_ns += ns;
}

/* Blocked time by class, as the verdict has it. */
static void add_blocked(struct query *query, uint32_t slot, const struct tl_interval *in,
			const struct wait *wait, const struct wait_memo *memo)
{
	enum why_class class = (enum why_class)memo->class;
	uint64_t answered_ns = 0;
	struct answer answer;
	struct last_slice last;

	if (memo->is_idle)
		class = WHY_IDLE;
	else if (query_slice(query, slot, in->word, wait, &last))
		class = wait_class(query, last.slot, &last.wait);
	else if (query_answer(query, slot, in->word, wait, &answer) &&
		 answer.time_ns > in->start_ns)
		answered_ns =
			(answer.time_ns < in->end_ns ? answer.time_ns : in->end_ns) - in->start_ns;
	add_class(query->why, WHY_HELD_UP, answered_ns);
	add_class(query->why, class, in->end_ns - in->start_ns - answered_ns);
}

static void add_interval(struct summary *summary, uint32_t slot, const struct tl_interval *in)
{
	uint64_t ns = in->end_ns - in->start_ns;
	bool blocked = word_kind(in->word) == WORD_BLOCKED;
	struct why_instance instance = {
		.start_ns = in->start_ns,
		.end_ns = in->end_ns,
		.id = ++summary->instance_count,
		.wait = blocked ? (int32_t)word_arg(in->word) : -1,
	};

	if (blocked) {
		struct query *query = summary->query;
		const struct wait *wait = query_wait(query, slot, in->word, &(struct wait){ 0 });
		const struct wait_memo *memo = line_of_wait(summary, slot, wait);

		instance.line = memo->line - 1;
		add_blocked(query, slot, in, wait, memo);
	} else {
		instance.line = line_of_word(summary, in->word);
	}
	for (uint32_t at = instance.line; at != UINT32_MAX; at = summary->lines[at].parent) {
		summary->lines[at].ns += ns;
		summary->lines[at].count++;
	}
	keep_instance(&summary->lines[instance.line], &instance);
}

static struct why_syscall *call_of_word(struct summary *summary, uint32_t word)
{
	uint32_t nr = word_arg(word) & 0xffff;

	if (word_kind(word) != WORD_SYSCALL || nr >= TL_SYSCALLS)
		return NULL;
	return &summary->calls[nr + (word_arg(word) & WORD_COMPAT ? TL_SYSCALLS : 0)];
}

/* The timeline keeps the sums: calls begun, and those that ended with an error. */
static void count_calls(struct summary *summary, uint32_t slot, uint64_t start_ns, uint64_t end_ns)
{
	struct totals totals = { 0 };

	timeline_totals(summary->query->tl, slot, start_ns, end_ns, &totals);
	for (uint32_t i = 0; i < totals.count; i++) {
		const struct total *row = &totals.rows[i];
		uint32_t word = word_make(WORD_SYSCALL, total_a(row->key));
		enum total_kind kind = total_kind(row->key);
		struct why_syscall *call;

		if ((kind != TOTAL_CALL && kind != TOTAL_ERROR) || row->count == 0)
			continue;
		call = call_of_word(summary, word);
		if (!call)
			continue;
		call->name = describe_word(summary->query, word);
		if (kind == TOTAL_CALL)
			call->count += row->count;
		else
			call->errors += row->count;
	}
	totals_fini(&totals);
}

/* Before its birth a thread's parent stands in for it. */
static void walk(struct summary *summary, uint32_t slot, uint64_t start_ns, uint64_t end_ns)
{
	struct query *query = summary->query;
	const struct tl_thread *thread = query->tl->threads[slot];
	struct why_syscall *call;
	struct tl_iter iter;
	struct tl_interval in;

	count_calls(summary, slot, start_ns, end_ns);
	tl_iter_begin(&iter, query->tl, &thread->track, start_ns, end_ns);
	while (tl_iter_next(&iter, &in)) {
		if (word_kind(in.word) == WORD_NONE && thread->born &&
		    in.end_ns <= thread->birth_ns && thread->parent != SLOT_NONE) {
			walk(summary, thread->parent, in.start_ns, in.end_ns);
			continue;
		}
		add_interval(summary, slot, &in);
		call = call_of_word(summary, in.word);
		if (call) {
			if (!call->name)
				call->name = describe_word(query, in.word);
			call->ns += in.end_ns - in.start_ns;
		}
		if (word_kind(in.word) == WORD_UNCERTAIN && word_arg(in.word) == UNSURE_SWITCH)
			query->why->repairs_ns += in.end_ns - in.start_ns;
	}
}

/* ---------------------------------------------------------------- the result */

struct order {
	uint32_t line;
	uint64_t ns;
	const char *name;
};

ORDER_FUNCTION(compare_order, struct order, ORDER_DOWN(ns), ORDER_TEXT(name));

/* Append 'line' and, under it, its children, largest first. 'place' maps old to new numbers. */
static void publish_line(struct summary *summary, uint32_t line, uint32_t depth, uint32_t *place)
{
	struct why *why = summary->query->why;
	struct order *children = xcalloc(summary->line_count, sizeof(*children));
	size_t count = 0;

	place[line] = (uint32_t)why->line_count;
	why->lines[why->line_count++] = (struct why_line){
		.depth = depth,
		.name = summary->lines[line].name,
		.is_call = summary->lines[line].is_call,
		.ns = summary->lines[line].ns,
		.count = summary->lines[line].count,
	};
	for (uint32_t i = 0; i < summary->line_count; i++) {
		if (summary->lines[i].parent == line)
			children[count++] =
				(struct order){ i, summary->lines[i].ns, summary->lines[i].name };
	}
	qsort(children, count, sizeof(*children), compare_order);
	for (size_t i = 0; i < count; i++)
		publish_line(summary, children[i].line, depth + 1, place);
	free(children);
}

static int compare_instances(const void *a, const void *b)
{
	return goes_before(a, b) ? -1 : 1; /* no two are alike */
}

static void publish_instances(struct summary *summary, const uint32_t *place)
{
	struct why *why = summary->query->why;
	uint32_t *line_at = xcalloc(summary->line_count, sizeof(*line_at));
	size_t count = 0;

	for (uint32_t i = 0; i < summary->line_count; i++) {
		line_at[place[i]] = i;
		count += summary->lines[i].instances;
	}
	why->instances = xcalloc(count + 1, sizeof(*why->instances));
	for (uint32_t i = 0; i < summary->line_count; i++) {
		const struct line *line = &summary->lines[line_at[i]];
		struct why_line *published = &why->lines[i];

		if (!line->instances)
			continue;
		qsort(line->longest, line->instances, sizeof(*line->longest), compare_instances);
		published->first_instance = (uint32_t)why->instance_count;
		published->instance_count = line->instances;
		for (uint32_t j = 0; j < line->instances; j++) {
			line->longest[j].line = i;
			why->instances[why->instance_count++] = line->longest[j];
		}
	}
	free(line_at);
}

ORDER_FUNCTION(compare_calls, struct why_syscall, ORDER_DOWN(count), ORDER_TEXT(name));

static void publish_calls(struct summary *summary)
{
	struct why *why = summary->query->why;

	why->syscalls = xcalloc(CALL_NAMES, sizeof(*why->syscalls));
	for (size_t i = 0; i < CALL_NAMES; i++) {
		if (summary->calls[i].name)
			why->syscalls[why->syscall_count++] = summary->calls[i];
	}
	qsort(why->syscalls, why->syscall_count, sizeof(*why->syscalls), compare_calls);
}

void summarise_window(struct query *query)
{
	struct summary *summary = xcalloc(1, sizeof(*summary));
	struct why *why = query->why;
	uint32_t *place;

	summary->query = query;
	for (uint32_t i = 0; i < SECTIONS; i++)
		(void)line_of(summary, UINT32_MAX, section_names[i]);
	walk(summary, query->slot, query->start_ns, query->end_ns);
	why->working_ns = summary->lines[0].ns;
	why->interrupted_ns = summary->lines[1].ns;
	why->blocked_ns = summary->lines[2].ns;
	why->uncertain_ns = summary->lines[3].ns;

	place = xcalloc(summary->line_count, sizeof(*place));
	why->lines = xcalloc(summary->line_count, sizeof(*why->lines));
	for (uint32_t i = 0; i < SECTIONS; i++)
		publish_line(summary, i, 0, place);
	publish_instances(summary, place);
	publish_calls(summary);
	free(place);
	for (uint32_t i = 0; i < summary->line_count; i++)
		free(summary->lines[i].longest);
	free(summary->lines);
	map_fini(&summary->index);
	free(summary);
}
