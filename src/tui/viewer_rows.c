/*
 * viewer_rows.c - the lanes: threads below their process, CPUs at the end, and what is found among them.
 *
 * As on the page: threads that the answer is about have lanes, the others are counted; with 'all' every process has a
 * heading.
 */
#include "tui/viewer_model.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "tui/viewer_others.h"
#include "view/details.h"
#include "view/search.h"

#define THREADS_MAX 128u /* of a process that is unfolded */
#define DEPTH_MAX   4u

static int32_t process_of(const struct viewer *viewer, uint32_t slot)
{
	const struct tl_thread *thread = viewer->timeline->threads[slot];

	return thread->kernel ? 0 : thread_process(thread);
}

static void add_row(struct viewer *viewer, struct viewer_row row)
{
	viewer->rows =
		vec_room(viewer->rows, viewer->row_count, &viewer->row_cap, sizeof(*viewer->rows));
	viewer->rows[viewer->row_count++] = row;
}

static uint32_t add_once(uint32_t *slots, uint32_t count, uint32_t most, uint32_t slot)
{
	for (uint32_t i = 0; i < count; i++) {
		if (slots[i] == slot)
			return count;
	}
	if (count < most)
		slots[count++] = slot;
	return count;
}

static void add_process(struct viewer *viewer, uint32_t index)
{
	const struct view_process *process = &viewer->processes.at[index];
	enum viewer_fold fold = viewer->folds[index];
	uint32_t slots[THREADS_MAX + VIEWER_SHOWN_MAX], count = 0, own = 0, idle;
	uint32_t depth =
		viewer->all ? (process->depth < DEPTH_MAX ? process->depth : DEPTH_MAX) : 0;
	struct viewer_row heading = { VIEWER_PROCESS, index, depth, 0, 0, false };

	if (fold == VIEWER_OPEN)
		count = view_process_threads(viewer->timeline, process->tgid, &viewer->busy, slots,
					     THREADS_MAX);
	for (uint32_t i = 0; i < viewer->shown_count; i++) {
		if (process_of(viewer, viewer->shown[i]) != process->tgid)
			continue;
		own++;
		if (fold != VIEWER_CLOSED)
			count = add_once(slots, count, ARRAY_LEN(slots), viewer->shown[i]);
	}
	if (!own && !viewer->all && fold == VIEWER_AS_SHOWN)
		return;
	heading.open = fold == VIEWER_OPEN || count > 0;
	heading.hidden = process->threads > count ? process->threads - count : 0;
	idle = process->threads - process->active;
	heading.idle = idle < heading.hidden ? idle : heading.hidden;
	add_row(viewer, heading);
	for (uint32_t i = 0; i < count; i++)
		add_row(viewer, (struct viewer_row){ VIEWER_THREAD, slots[i], depth + 1 });
}

static bool is_listed(const struct viewer *viewer, int32_t tgid)
{
	for (uint32_t i = 0; i < viewer->processes.count; i++) {
		if (viewer->processes.at[i].tgid == tgid)
			return true;
	}
	return false;
}

static void add_cpus(struct viewer *viewer)
{
	uint32_t count = viewer->timeline->cpu_count;

	if (!count)
		return;
	add_row(viewer, (struct viewer_row){ VIEWER_CPUS, 0, 0, count, 0, viewer->cpus_open });
	for (uint32_t cpu = 0; viewer->cpus_open && cpu < count; cpu++)
		add_row(viewer, (struct viewer_row){ VIEWER_CPU, cpu, 1 });
}

static void add_other(struct viewer *viewer, uint32_t index, bool is_heading, uint32_t hidden,
		      bool is_open)
{
	add_row(viewer, (struct viewer_row){ is_heading ? VIEWER_OTHERS : VIEWER_OTHER, index,
					     is_heading ? 0 : 1, hidden, 0, is_open });
}

/* The row that was selected stays selected, where it still is. */
static void keep_selected(struct viewer *viewer, const struct viewer_row *selected)
{
	for (size_t i = 0; i < viewer->row_count; i++) {
		if (viewer->rows[i].kind == selected->kind &&
		    viewer->rows[i].index == selected->index) {
			viewer_select_row(viewer, i);
			return;
		}
	}
	viewer_select_row(viewer, viewer->row);
}

void viewer_rows_build(struct viewer *viewer)
{
	const struct viewer_row *row = viewer_row(viewer);
	const struct viewer_row selected = row ? *row : (struct viewer_row){ .index = SLOT_NONE };

	viewer->row_count = 0;
	for (uint32_t i = 0; i < viewer->processes.count; i++)
		add_process(viewer, i);
	for (uint32_t i = 0; viewer->processes.more && i < viewer->shown_count; i++) {
		if (!is_listed(viewer, process_of(viewer, viewer->shown[i])))
			add_row(viewer, (struct viewer_row){ VIEWER_THREAD, viewer->shown[i], 0 });
	}
	add_cpus(viewer);
	viewer_others_add_rows(viewer, add_other);
	keep_selected(viewer, &selected);
}

const struct viewer_row *viewer_row(const struct viewer *viewer)
{
	return viewer->row < viewer->row_count ? &viewer->rows[viewer->row] : NULL;
}

struct view_lane viewer_lane(const struct viewer_row *row)
{
	char kind = '\0';

	if (row && row->kind == VIEWER_THREAD)
		kind = 't';
	else if (row && row->kind == VIEWER_CPU)
		kind = 'c';
	else if (row && row->kind == VIEWER_OTHER)
		kind = 'o';
	return (struct view_lane){ kind, row ? row->index : 0 };
}

void viewer_toggle_row(struct viewer *viewer)
{
	const struct viewer_row *row = viewer_row(viewer);

	if (row && row->kind == VIEWER_CPUS) {
		viewer->cpus_open = !viewer->cpus_open;
	} else if (row && row->kind == VIEWER_OTHERS) {
		viewer->others_closed ^= 1u << row->index;
	} else if (row && row->kind == VIEWER_PROCESS) {
		uint8_t *fold = &viewer->folds[row->index];

		*fold = *fold == VIEWER_OPEN	 ? VIEWER_CLOSED
			: *fold == VIEWER_CLOSED ? VIEWER_AS_SHOWN
						 : VIEWER_OPEN;
	}
	viewer_rows_build(viewer);
}

bool viewer_show_thread(struct viewer *viewer, uint32_t slot)
{
	uint32_t before = viewer->shown_count;

	if (slot >= viewer->timeline->thread_count || viewer->timeline->threads[slot]->tid == 0)
		return false;
	viewer->shown_count = add_once(viewer->shown, before, VIEWER_SHOWN_MAX, slot);
	return viewer->shown_count != before;
}

static size_t find_row(const struct viewer *viewer, uint32_t slot)
{
	for (size_t i = 0; i < viewer->row_count; i++) {
		if (viewer->rows[i].kind == VIEWER_THREAD && viewer->rows[i].index == slot)
			return i;
	}
	return SIZE_MAX;
}

/* Unfold the process of a thread that is to be seen. */
static void unfold(struct viewer *viewer, uint32_t slot)
{
	for (uint32_t i = 0; i < viewer->processes.count; i++) {
		if (viewer->processes.at[i].tgid == process_of(viewer, slot) &&
		    viewer->folds[i] == VIEWER_CLOSED)
			viewer->folds[i] = VIEWER_AS_SHOWN;
	}
}

void viewer_select_thread(struct viewer *viewer, uint32_t slot)
{
	if (slot >= viewer->timeline->thread_count)
		return;
	if (find_row(viewer, slot) == SIZE_MAX) {
		viewer_show_thread(viewer, slot);
		unfold(viewer, slot);
		viewer_rows_build(viewer);
	}
	if (find_row(viewer, slot) != SIZE_MAX)
		viewer_select_row(viewer, find_row(viewer, slot));
}

struct viewer_spot viewer_spot(const struct viewer *viewer)
{
	struct viewer_spot spot = { .lane = viewer_lane(viewer_row(viewer)) };
	struct tl_interval span;

	if (!spot.lane.kind)
		return spot;
	if (spot.lane.kind == 'o') {
		spot.start_ns = spot.end_ns = viewer->cursor_ns;
		return spot;
	}
	view_span_around(viewer->timeline, spot.lane, viewer->cursor_ns, &span);
	spot.start_ns = span.start_ns;
	spot.end_ns = span.end_ns;
	spot.word = span.word;
	spot.is_wait = spot.lane.kind == 't' && word_kind(span.word) == WORD_BLOCKED;
	return spot;
}

/* ---------------------------------------------------------------------- search */

static void show_found(struct viewer *viewer)
{
	uint32_t slot = viewer->found[viewer->found_at];
	const struct tl_thread *thread = viewer->timeline->threads[slot];
	AUTO_FREE char *comm = text_escaped(timeline_comm(viewer->timeline, slot));

	if (thread->death_ns <= viewer->from_ns || thread->birth_ns >= viewer->to_ns)
		viewer_look_at(viewer, thread->birth_ns, thread->death_ns);
	viewer_select_thread(viewer, slot);
	viewer->focus = VIEWER_LANES;
	snprintf(viewer->message, sizeof(viewer->message), "%u of %u found: %.80s[%d]",
		 viewer->found_at + 1, viewer->found_count, comm, thread->tid);
}

void viewer_find(struct viewer *viewer)
{
	AUTO_FREE char *safe = text_escaped(viewer->input);

	viewer->found_count = viewer->found_at = 0;
	for (uint32_t slot = 0; viewer->input[0] && slot < viewer->timeline->thread_count; slot++) {
		if (viewer->found_count < VIEWER_FOUND_MAX &&
		    view_thread_is_sought(viewer->timeline, slot, viewer->input))
			viewer->found[viewer->found_count++] = slot;
	}
	if (viewer->found_count)
		show_found(viewer);
	else if (viewer->input[0])
		snprintf(viewer->message, sizeof(viewer->message), "no thread is named \"%.80s\"",
			 safe);
}

void viewer_find_step(struct viewer *viewer, int by)
{
	uint32_t count = viewer->found_count;

	if (!count) {
		snprintf(viewer->message, sizeof(viewer->message), "/ searches threads");
		return;
	}
	viewer->found_at = (viewer->found_at + count + (uint32_t)(by < 0 ? count - 1 : 1)) % count;
	show_found(viewer);
}
