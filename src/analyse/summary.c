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

#include "analyse/why_int.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/facts.h"

#define INSTANCES_PER_LINE 1000 /* the longest are kept; why_line.count tells of all */
#define SECTIONS	   4
#define CALL_NAMES	   (2 * TL_SYSCALLS)

/* A line while it is added up. Lines are numbered as they appear, parents first. */
struct line {
	uint32_t parent; /* UINT32_MAX for the four sections */
	const char *name;
	uint64_t ns, count;
	uint32_t instances;
};

struct summary {
	struct query *query;
	struct line *lines;
	size_t line_count, line_cap;
	struct map index;		/* (parent, text id) -> line */
	struct why_instance *instances; /* 'line' is a number of 'lines' until the end */
	size_t instance_count, instance_cap;
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

/* The line that an interval belongs to. */
static uint32_t line_for(struct summary *summary, uint32_t slot, const struct tl_interval *in)
{
	struct query *query = summary->query;
	const struct wait *wait;
	uint32_t line;

	switch (word_wib(in->word)) {
	case WIB_WORKING:
		return line_of(summary, 0, describe_word(query, in->word));
	case WIB_INTERRUPTED:
		return line_of(summary, 1, describe_word(query, in->word));
	case WIB_BLOCKED:
		wait = query_wait(query, slot, in->word, &(struct wait){ 0 });
		line = line_of(summary, 2, describe_in(query, wait));
		return *describe_object(query, wait)
			       ? line_of(summary, line, describe_object(query, wait))
			       : line;
	case WIB_NONE:
		return line_of(summary, 3, "it was not there");
	default:
		return line_of(summary, 3, describe_unsure(in->word));
	}
}

static void add_interval(struct summary *summary, uint32_t slot, const struct tl_interval *in)
{
	uint32_t line = line_for(summary, slot, in);
	uint64_t ns = in->end_ns - in->start_ns;
	bool blocked = word_kind(in->word) == WORD_BLOCKED;

	for (uint32_t at = line; at != UINT32_MAX; at = summary->lines[at].parent) {
		summary->lines[at].ns += ns;
		summary->lines[at].count++;
	}
	summary->lines[line].instances++;
	summary->instances = vec_room(summary->instances, summary->instance_count,
				      &summary->instance_cap, sizeof(*summary->instances));
	summary->instances[summary->instance_count] = (struct why_instance){
		.start_ns = in->start_ns,
		.end_ns = in->end_ns,
		.id = (uint32_t)summary->instance_count + 1,
		.line = line,
		.wait = blocked ? (int32_t)word_arg(in->word) : -1,
	};
	summary->instance_count++;
}

static struct why_syscall *call_of_word(struct summary *summary, uint32_t word)
{
	uint32_t nr = word_arg(word) & 0xffff;

	if (word_kind(word) != WORD_SYSCALL || nr >= TL_SYSCALLS)
		return NULL;
	return &summary->calls[nr + (word_arg(word) & WORD_COMPAT ? TL_SYSCALLS : 0)];
}

/*
 * A call begins where its word follows the base of the stack: an interrupt or a
 * wait in between shows the same call again, not a new one. Looked at entry by
 * entry, for between two events at one instant the base has no length.
 */
static void count_calls(struct summary *summary, const struct tl_thread *thread, uint64_t start_ns,
			uint64_t end_ns)
{
	const struct timeline *tl = summary->query->tl;
	struct tl_iter iter;
	struct tl_interval in;
	uint32_t before;

	tl_iter_begin(&iter, tl, &thread->track, start_ns, end_ns);
	before = iter.word;
	while (tl_iter_entry(&iter, &in)) {
		struct why_syscall *call = call_of_word(summary, in.word);
		enum word_kind base = word_kind(before);

		before = in.word;
		if (call && (base == WORD_USER || base == WORD_RUN || base == WORD_TRAP)) {
			call->name = describe_word(summary->query, word_plain(in.word));
			call->count++;
		}
	}
}

static void add_class(struct summary *summary, uint32_t slot, const struct tl_interval *in)
{
	struct query *query = summary->query;
	uint64_t ns = in->end_ns - in->start_ns;

	switch (wait_class(query, query_wait(query, slot, in->word, &(struct wait){ 0 }))) {
	case WHY_ASKED:
		query->why->asked_ns += ns;
		break;
	case WHY_IDLE:
		query->why->idle_ns += ns;
		break;
	default:
		query->why->held_up_ns += ns;
		break;
	}
}

/* Before its birth a thread's parent stands in for it. */
static void walk(struct summary *summary, uint32_t slot, uint64_t start_ns, uint64_t end_ns)
{
	struct query *query = summary->query;
	const struct tl_thread *thread = query->tl->threads[slot];
	struct why_syscall *call;
	struct tl_iter iter;
	struct tl_interval in;

	count_calls(summary, thread, start_ns, end_ns);
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
			call->name = describe_word(query, in.word);
			call->ns += in.end_ns - in.start_ns;
		}
		if (word_kind(in.word) == WORD_BLOCKED)
			add_class(summary, slot, &in);
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

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

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
	const struct why_instance *x = a, *y = b;
	uint64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void publish_instances(struct summary *summary, const uint32_t *place)
{
	struct why *why = summary->query->why;
	size_t kept = 0;
	uint32_t in_line = 0;

	for (size_t i = 0; i < summary->instance_count; i++)
		summary->instances[i].line = place[summary->instances[i].line];
	if (summary->instance_count)
		qsort(summary->instances, summary->instance_count, sizeof(*summary->instances),
		      compare_instances);
	for (size_t i = 0; i < summary->instance_count; i++) {
		struct why_line *line = &why->lines[summary->instances[i].line];

		in_line = i && summary->instances[i].line == summary->instances[i - 1].line
				  ? in_line + 1
				  : 0;
		if (in_line >= INSTANCES_PER_LINE)
			continue;
		if (in_line == 0)
			line->first_instance = (uint32_t)kept;
		line->instance_count++;
		summary->instances[kept++] = summary->instances[i];
	}
	why->instances = summary->instances;
	why->instance_count = kept;
	summary->instances = NULL;
}

static int compare_calls(const void *a, const void *b)
{
	const struct why_syscall *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

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
	free(summary->lines);
	map_fini(&summary->index);
	free(summary);
}
