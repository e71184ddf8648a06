/* viewer_live.c - a picture of a recording that grows, made by one process and drawn by another. */
#include "tui/viewer_live.h"

#include <stdio.h>
#include <string.h>

#include "ask/loaded.h"
#include "event/facts.h"
#include "base/mem.h"
#include "base/text.h"
#include "timeline/timeline.h"
#include "tui/grid.h"
#include "tui/viewer_draw.h"
#include "tui/viewer_model.h"
#include "tui/viewer_others.h"
#include "tui/viewer_pane.h"
#include "view/answer.h"
#include "view/rows.h"
#include "view/saving.h"

#define THREADS	   24u
#define CPUS	   16u
#define OF_A_GROUP 4u /* other lanes */
#define HEAD	   3  /* rows above the lanes */
#define TALL	   30 /* rows: the legend has one more */
#define ROOM_BYTES offsetof(struct viewer_live_picture, rows)

/* ---------------------------------------------------------------------- making */

static struct viewer_live_row *add_row(struct viewer_live_picture *picture, uint8_t kind,
				       const char *name)
{
	struct viewer_live_row *row = &picture->rows[picture->row_count++];
	AUTO_FREE char *safe = text_escaped(name);

	*row = (struct viewer_live_row){ .kind = kind };
	(void)snprintf(row->name, sizeof(row->name), "%s", safe);
	return row;
}

static void add_lane(struct viewer_live_picture *picture, const struct viewer *looking,
		     struct view_lane lane, const char *name)
{
	struct viewer_live_row *row = add_row(picture, (uint8_t)lane.kind, name);
	struct viewer_cell cells[VIEWER_LIVE_COLUMNS];
	struct lane_shares sum;

	viewer_cells(looking, lane, cells, &sum);
	for (uint32_t i = 0; i < picture->width; i++)
		row->cells[i] = cells[i].state;
}

static void add_thread(struct viewer_live_picture *picture, const struct viewer *looking,
		       uint32_t slot)
{
	const struct timeline *timeline = looking->timeline;
	AUTO_FREE char *name =
		xasprintf("%s[%d]", timeline_comm(timeline, slot), timeline->threads[slot]->tid);

	add_lane(picture, looking, (struct view_lane){ 't', slot }, name);
}

/* That of the command is the first one. */
static void add_threads(struct viewer_live_picture *picture, const struct viewer *looking)
{
	const struct timeline *timeline = looking->timeline;
	int32_t target = looking->view->loaded->facts->target_tid;
	uint32_t own =
		target > 0 ? timeline_near_thread(timeline, target, looking->to_ns) : SLOT_NONE;
	uint32_t slots[THREADS];
	uint32_t count = rows_busiest(timeline, looking->from_ns, looking->to_ns, slots, THREADS);

	if (own != SLOT_NONE)
		add_thread(picture, looking, own);
	for (uint32_t i = 0; i < count && i < THREADS; i++) {
		if (slots[i] != own)
			add_thread(picture, looking, slots[i]);
	}
}

static void add_others(struct viewer_live_picture *picture, const struct viewer *looking)
{
	const struct saving saving = { .view = looking->view,
				       .from_ns = looking->from_ns,
				       .to_ns = looking->to_ns };
	const struct lane_window window = viewer_window(looking);
	uint32_t in_group[OTHER_GROUP_COUNT] = { 0 };
	struct saving_others chosen;

	saving_choose_others(&saving, &chosen);
	for (uint32_t i = 0; i < chosen.count; i++) {
		const struct other_lane *lane = others_lane(chosen.others, chosen.rows[i]);
		struct viewer_live_row *row;

		if (in_group[lane->group]++ >= OF_A_GROUP)
			continue;
		row = add_row(picture, 'o', lane->label);
		viewer_other_cells(lane, looking->timeline, &window, row->cells);
	}
	saving_others_fini(&chosen);
}

size_t viewer_live_make(const struct view *view, uint32_t width,
			struct viewer_live_picture *out_picture)
{
	const struct timeline *timeline = view->loaded->timeline;
	struct viewer looking = {
		.view = view, .timeline = timeline, .from_ns = view->from_ns, .to_ns = view->to_ns
	};

	_Static_assert(1 + THREADS + OF_A_GROUP * OTHER_GROUP_COUNT <= VIEWER_LIVE_ROWS,
		       "all have a place");
	width = width < 1 ? 1 : width > VIEWER_LIVE_COLUMNS ? VIEWER_LIVE_COLUMNS : width;
	looking.width = width;
	out_picture->from_ns = view->from_ns - timeline->origin_ns;
	out_picture->to_ns = view->to_ns - timeline->origin_ns;
	out_picture->width = width;
	out_picture->row_count = 0;
	add_threads(out_picture, &looking);
	add_others(out_picture, &looking);
	for (uint32_t cpu = 0;
	     cpu < timeline->cpu_count && cpu < CPUS && out_picture->row_count < VIEWER_LIVE_ROWS;
	     cpu++) {
		AUTO_FREE char *name = xasprintf("CPU %u", cpu);

		add_lane(out_picture, &looking, (struct view_lane){ 'c', cpu }, name);
	}
	return ROOM_BYTES + out_picture->row_count * sizeof(out_picture->rows[0]);
}

/* --------------------------------------------------------------------- drawing */

uint32_t viewer_live_width(int columns)
{
	int width = columns - viewer_gutter(columns);

	return width < 1			  ? 1
	       : width > (int)VIEWER_LIVE_COLUMNS ? VIEWER_LIVE_COLUMNS
						  : (uint32_t)width;
}

/* Cells of a picture that was made for another width are cut, or end early: the next one fits. */
static void draw_row(const struct viewer_live_row *row, uint32_t width, int line,
		     const struct viewer_live_look *look, struct viewer_sight *sight,
		     struct grid *grid)
{
	int gutter = viewer_gutter(grid->columns);
	char name[sizeof(row->name)], *id;
	int room;

	memcpy(name, row->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	id = row->kind == 't' ? strrchr(name, '[') : NULL;
	room = gutter - 2;
	grid_put_within(grid, line, 1, room, GRID_PLAIN, name);
	if (id && (int)strlen(name) > room && (int)strlen(id) < room) /* the number stays */
		grid_put(grid, line, 1 + room - (int)strlen(id), GRID_PLAIN, id);
	for (uint32_t i = 0; i < width && gutter + (int)i < grid->columns; i++) {
		uint8_t cell = row->cells[i];

		if (row->kind == 'o' && cell < VIEWER_MARK_COUNT) {
			sight->marks[cell] = true;
			grid_put(grid, line, gutter + (int)i,
				 viewer_mark_style((enum viewer_mark)cell),
				 viewer_mark_glyph((enum viewer_mark)cell, look->ascii));
		} else if (row->kind != 'o' && cell < LANE_STATE_COUNT) {
			sight->states[cell] = true;
			grid_put(grid, line, gutter + (int)i, (enum grid_style)(GRID_LANES + cell),
				 viewer_glyph((enum lane_state)cell, look->ascii));
		}
	}
}

static void draw_frame(const struct viewer_live_look *look, struct grid *grid)
{
	grid_printf(grid, 0, 0, GRID_BAR, " Recording, %.0f s: the answer comes at the end",
		    look->seconds);
	grid_paint(grid, 0, GRID_BAR);
	grid_put(grid, grid->rows - 1, 0, GRID_BAR,
		 look->is_ending ? " Ending the recording ...   q: do not wait for the command"
				 : " q: end it, and show the answer   Up Down: other lanes");
	grid_paint(grid, grid->rows - 1, GRID_BAR);
}

static void draw_axis(const struct viewer_live_picture *picture, struct grid *grid)
{
	int gutter = viewer_gutter(grid->columns);
	AUTO_FREE char *from = xasprintf("+%.1f s", (double)picture->from_ns / 1e9);
	AUTO_FREE char *to = xasprintf("+%.1f s", (double)picture->to_ns / 1e9);
	AUTO_FREE char *length =
		xasprintf("the last %s", text_duration(picture->to_ns - picture->from_ns).s);

	grid_put(grid, HEAD - 1, gutter, GRID_PLAIN, from);
	grid_put(grid, HEAD - 1, grid->columns - (int)strlen(to), GRID_PLAIN, to);
	grid_put(grid, HEAD - 1, 1, GRID_DIM, length);
}

uint32_t viewer_live_draw(const struct viewer_live_picture *picture, size_t bytes,
			  const struct viewer_live_look *look, struct grid *grid)
{
	int legend = grid->rows < TALL ? 2 : 3, end = grid->rows - 1 - legend;
	struct viewer_sight sight = { 0 };
	uint32_t count, width;

	draw_frame(look, grid);
	if (bytes < ROOM_BYTES || picture->to_ns < picture->from_ns) {
		grid_put(grid, HEAD, 1, GRID_PLAIN, "Lanes come within a second or two.");
		return 0;
	}
	count = picture->row_count < VIEWER_LIVE_ROWS ? picture->row_count : VIEWER_LIVE_ROWS;
	if (count > (bytes - ROOM_BYTES) / sizeof(picture->rows[0]))
		count = (uint32_t)((bytes - ROOM_BYTES) / sizeof(picture->rows[0]));
	width = picture->width < VIEWER_LIVE_COLUMNS ? picture->width : VIEWER_LIVE_COLUMNS;
	draw_axis(picture, grid);
	for (uint32_t i = look->first; i < count && HEAD + (int)(i - look->first) < end; i++)
		draw_row(&picture->rows[i], width, HEAD + (int)(i - look->first), look, &sight,
			 grid);
	viewer_put_legend(grid, end, legend, &sight, look->ascii, false);
	return count;
}
