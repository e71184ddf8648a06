/* hot_rows.c - rows of a profile: what is the same, added up; see hot_int.h. */
#include <stdlib.h>
#include <string.h>

#include "analyse/profile/hot_int.h"
#include "analyse/profile/hot_tree.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/stacks.h"
#include "timeline/timeline.h"

/* Texts of stacks are there once: their addresses tell them apart. */
uint64_t hot_frame_key(enum hot_by by, const struct stack_frame *frame)
{
	bool by_line = by == HOT_LINE;
	const uint64_t parts[] = {
		(uintptr_t)frame->module,
		by == HOT_MODULE ? 0 : (uintptr_t)frame->function,
		by == HOT_MODULE || frame->function ? 0 : frame->start,
		by_line ? (uintptr_t)frame->file : 0,
		by_line ? frame->line : 0,
		by_line && !frame->line ? frame->offset : 0,
	};

	return hash_bytes(parts, sizeof(parts), 1);
}

static size_t hot_row_of_key(struct hot_rows *rows, uint64_t key, const struct hot_row *new_row)
{
	bool is_new;
	uint64_t *index = map_add(&rows->index, key, &is_new);

	if (!is_new)
		return *index;
	*index = rows->count;
	rows->last_added =
		vec_room(rows->last_added, rows->count, &rows->last_cap, sizeof(*rows->last_added));
	rows->last_added[rows->count] = 0;
	rows->rows = vec_room(rows->rows, rows->count, &rows->cap, sizeof(*rows->rows));
	rows->rows[rows->count] = *new_row;
	return rows->count++;
}

uint32_t hot_place(const struct stack *stack, bool waits, bool native)
{
	if (waits && stack->place != FRAME_NONE)
		return stack->place;
	return stack->script != FRAME_NONE && !native ? stack->script : 0;
}

void hot_rows_stack(struct hot_rows *rows, uint32_t stack, uint64_t ns, uint64_t samples)
{
	const struct stack *of = &rows->stacks->stacks[stack];
	uint32_t self = hot_place(of, rows->waits, rows->native);

	if (!of->count) {
		hot_rows_unseen(rows, ns);
		return;
	}
	if (rows->tree)
		hot_tree_add(rows->tree, stack, self, ns, samples);
	rows->added++;
	for (uint32_t i = 0; i < of->count; i++) {
		const struct stack_frame *frame = stacks_frame(rows->stacks, stack, i);
		size_t at = hot_row_of_key(rows, hot_frame_key(rows->by, frame),
					   &(struct hot_row){ .frame = frame });

		if (rows->last_added[at] != rows->added)
			rows->rows[at].total_ns += ns;
		rows->last_added[at] = rows->added;
		if (i != self)
			continue;
		rows->rows[at].self_ns += ns;
		rows->rows[at].samples += samples;
	}
}

void hot_rows_thread(struct hot_rows *rows, uint32_t slot, uint64_t ns, uint64_t samples)
{
	const struct tl_thread *thread = rows->timeline->threads[slot];
	int32_t tgid = thread_process(thread);
	struct hot_row row = {
		.who = { thread->tid, tgid, timeline_comm(rows->timeline, slot) },
	};
	uint64_t of = rows->by == HOT_PROCESS ? (uint64_t)tgid : slot;
	size_t at = hot_row_of_key(rows, hash_bytes(&of, sizeof(of), 2), &row);

	/* A process is named by its main thread, where that is among them. */
	if (thread->tid == tgid)
		rows->rows[at].who = row.who;
	else if (rows->by == HOT_PROCESS)
		rows->rows[at].who.tid = tgid;
	rows->rows[at].self_ns += ns;
	rows->rows[at].total_ns += ns;
	rows->rows[at].samples += samples;
}

void hot_rows_unseen(struct hot_rows *rows, uint64_t ns)
{
	size_t at;

	if (!ns)
		return;
	if (rows->tree)
		hot_tree_unseen(rows->tree, ns);
	at = hot_row_of_key(rows, 0, &(struct hot_row){ 0 });
	rows->rows[at].self_ns += ns;
	rows->rows[at].total_ns += ns;
}

static int compare_texts(const char *one, const char *other)
{
	return strcmp(one ? one : "", other ? other : "");
}

int hot_compare_frames(const struct stack_frame *x, const struct stack_frame *y)
{
	int by = x && y ? compare_texts(x->function, y->function) : (x != NULL) - (y != NULL);

	if (!x || !y || by)
		return by;
	by = compare_texts(x->module, y->module);
	by = by ? by : compare_texts(x->file, y->file);
	if (by)
		return by;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_hot_rows(const void *a, const void *b)
{
	const struct hot_row *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->who.tid != y->who.tid)
		return x->who.tid < y->who.tid ? -1 : 1;
	return hot_compare_frames(x->frame, y->frame);
}

void hot_rows_end(struct hot_rows *rows, struct hot *hot)
{
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_hot_rows);
	hot->rows = rows->rows;
	hot->row_count = rows->count;
	free(rows->last_added);
	map_fini(&rows->index);
	if (rows->tree)
		hot_tree_end(rows->tree, hot);
}
