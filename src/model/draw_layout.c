/*
 * draw_layout.c - where states and labels stand: in layers, from the initial state down.
 *
 * After Sugiyama, Tagawa, Toda (1981): edges that would lead back are reversed for the layout; a
 * state is below all that lead to it; an edge has a spot in each layer that it passes, its label
 * is in one of these, so labels have room as states have; the order within layers follows the
 * mean of the neighbours; so do the places, as near to it as the order and the widths
 * allow (least squares with order kept: pool adjacent violators).
 *
 * States are in even layers, labels in odd ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/draw_int.h"

#define STATE_HEIGHT 34.0
#define SPACE_X	     26.0
#define SPACE_Y	     22.0
#define MARGIN	     24.0
#define LOOP_WIDTH   30.0
#define BEGIN_WIDTH  34.0 /* the dot before the initial state */
#define SWEEPS	     24
#define EDGE_WEIGHT  3.0 /* edges are to be straight more than states to be centred */

struct layout {
	struct draw_graph *graph;
	const struct model *model;
	struct draw_layout *out;
	uint32_t rank_count;
	uint32_t *sorted; /* owned; spots, by rank and order */
	uint32_t *starts; /* owned; by rank: where it begins in sorted[] */
	/* Neighbours above and below, in pairs: spot, next pair + 1. */
	struct link {
		uint32_t spot, next;
	} * links; /* owned */
	uint32_t link_count;
	size_t link_cap;
	uint32_t *up, *down; /* owned; by spot: first link + 1 */
};

double draw_text_width(const char *text)
{
	return (double)text_columns(text) * DRAW_COLUMN;
}

void draw_edge_size(const struct draw_edge *edge, double *out_width, double *out_height)
{
	*out_width = 0;
	for (size_t i = 0; i < edge->line_count; i++) {
		double width = draw_text_width(edge->lines[i].text) + 8;

		*out_width = width > *out_width ? width : *out_width;
	}
	*out_height = (double)edge->line_count * DRAW_LINE + 4;
}

/* -------------------------------------------------------------------- ranks */

enum visit {
	UNSEEN,
	ON_WAY,
	DONE
};

/* Depth first: an edge to a state on the way leads back. Without recursion: models may be deep. */
static void find_back_edges(struct layout *layout, uint32_t root, uint8_t *visits, uint32_t *way)
{
	struct draw_graph *graph = layout->graph;
	AUTO_FREE size_t *next = xcalloc(layout->model->state_count + 1, sizeof(*next));
	uint32_t depth = 0;

	if (visits[root] != UNSEEN)
		return;
	way[depth++] = root;
	visits[root] = ON_WAY;
	while (depth > 0) {
		uint32_t state = way[depth - 1];
		struct draw_edge *edge = &graph->edges[next[state]];

		if (next[state]++ >= graph->edge_count) {
			visits[state] = DONE;
			depth--;
			continue;
		}
		if (edge->from != state || edge->to == state)
			continue;
		if (visits[edge->to] == ON_WAY) {
			edge->is_reversed = true;
		} else if (visits[edge->to] == UNSEEN) {
			visits[edge->to] = ON_WAY;
			way[depth++] = edge->to;
		}
	}
}

static uint32_t upper(const struct draw_edge *edge)
{
	return edge->is_reversed ? edge->to : edge->from;
}

static uint32_t lower(const struct draw_edge *edge)
{
	return edge->is_reversed ? edge->from : edge->to;
}

/* Each state is two layers below the lowest that leads to it. */
static void rank_states(struct layout *layout)
{
	struct draw_graph *graph = layout->graph;
	struct draw_spot *spots = layout->out->spots;
	bool is_more = true;

	while (is_more) {
		is_more = false;
		for (size_t i = 0; i < graph->edge_count; i++) {
			const struct draw_edge *edge = &graph->edges[i];
			struct draw_spot *below = &spots[lower(edge)];

			if (edge->from == edge->to || below->rank >= spots[upper(edge)].rank + 2)
				continue;
			below->rank = spots[upper(edge)].rank + 2;
			is_more = true;
		}
	}
	for (uint32_t i = 0; i < layout->model->state_count; i++)
		if (spots[i].rank >= layout->rank_count)
			layout->rank_count = spots[i].rank + 1;
}

/* -------------------------------------------------------------------- spots */

static void add_link(struct layout *layout, uint32_t above, uint32_t below)
{
	layout->links = vec_room(layout->links, layout->link_count + 1u, &layout->link_cap,
				 sizeof(*layout->links));
	layout->links[layout->link_count] = (struct link){ above, layout->up[below] };
	layout->up[below] = ++layout->link_count;
	layout->links = vec_room(layout->links, layout->link_count + 1u, &layout->link_cap,
				 sizeof(*layout->links));
	layout->links[layout->link_count] = (struct link){ below, layout->down[above] };
	layout->down[above] = ++layout->link_count;
}

static uint32_t passed(const struct layout *layout, const struct draw_edge *edge)
{
	const struct draw_spot *spots = layout->out->spots;

	return edge->from == edge->to ? 0 : spots[lower(edge)].rank - spots[upper(edge)].rank - 1;
}

/* A spot in each layer between, the label in the odd one that is nearest to the middle. */
static void pass_layers(struct layout *layout, struct draw_edge *edge)
{
	struct draw_layout *out = layout->out;
	uint32_t count = passed(layout, edge), before = upper(edge);
	double width, height;

	draw_edge_size(edge, &width, &height);
	edge->first = out->spot_count;
	edge->label = edge->first + ((count / 2) & ~1u);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t spot = out->spot_count++;
		bool is_label = spot == edge->label;

		out->spots[spot] = (struct draw_spot){
			.rank = out->spots[upper(edge)].rank + 1 + i,
			.left = is_label ? width / 2 : 4,
			.right = is_label ? width / 2 : 4,
			.height = is_label ? height : 0,
		};
		add_link(layout, before, spot);
		before = spot;
	}
	edge->end = out->spot_count;
	add_link(layout, before, lower(edge));
}

static void size_state(struct layout *layout, uint32_t index)
{
	AUTO_FREE char *safe = draw_name(layout->model->states[index].name);
	struct draw_spot *spot = &layout->out->spots[index];
	double width = draw_text_width(safe) + 28;

	spot->left = spot->right = (width < 60 ? 60 : width) / 2;
	spot->height = STATE_HEIGHT;
}

/* Beside the box: the dot before the initial state, and what leads from the state to itself. */
static void add_beside(struct layout *layout)
{
	struct draw_graph *graph = layout->graph;
	struct draw_spot *spots = layout->out->spots;

	spots[layout->model->initial].left += BEGIN_WIDTH;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct draw_edge *edge = &graph->edges[i];
		double width, height;

		if (edge->from != edge->to)
			continue;
		draw_edge_size(edge, &width, &height);
		spots[edge->from].right += LOOP_WIDTH + width;
		if (spots[edge->from].height < height)
			spots[edge->from].height = height;
	}
}

static void make_spots(struct layout *layout)
{
	struct draw_graph *graph = layout->graph;
	struct draw_layout *out = layout->out;
	uint32_t count = layout->model->state_count;
	AUTO_FREE uint8_t *visits = xcalloc(count, 1);
	AUTO_FREE uint32_t *way = xcalloc(count, sizeof(*way));
	size_t all = count;

	out->spots = xcalloc(count, sizeof(*out->spots));
	out->spot_count = count;
	find_back_edges(layout, layout->model->initial, visits, way);
	for (uint32_t i = 0; i < count; i++) {
		size_state(layout, i);
		find_back_edges(layout, i, visits, way);
	}
	rank_states(layout);
	for (size_t i = 0; i < graph->edge_count; i++)
		all += passed(layout, &graph->edges[i]);
	out->spots = xrealloc(out->spots, all, sizeof(*out->spots));
	layout->up = xcalloc(all, sizeof(*layout->up));
	layout->down = xcalloc(all, sizeof(*layout->down));
	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].from != graph->edges[i].to)
			pass_layers(layout, &graph->edges[i]);
	}
	add_beside(layout);
}

/* -------------------------------------------------------------------- order */

static void fill_ranks(struct layout *layout)
{
	struct draw_layout *out = layout->out;

	layout->sorted = xcalloc(out->spot_count, sizeof(*layout->sorted));
	layout->starts = xcalloc(layout->rank_count + 1, sizeof(*layout->starts));
	for (uint32_t i = 0; i < out->spot_count; i++)
		layout->starts[out->spots[i].rank + 1]++;
	for (uint32_t i = 0; i < layout->rank_count; i++)
		layout->starts[i + 1] += layout->starts[i];
	for (uint32_t i = 0; i < out->spot_count; i++) {
		struct draw_spot *spot = &out->spots[i];

		/* 'order' counts up to the next free place here. */
		for (spot->order = 0; layout->sorted[layout->starts[spot->rank] + spot->order];)
			spot->order++;
		layout->sorted[layout->starts[spot->rank] + spot->order] = i + 1;
	}
	for (uint32_t i = 0; i < out->spot_count; i++)
		layout->sorted[i]--;
}

/* The mean of the neighbours' 'what' on one side, or its own. */
static double mean_order(const struct layout *layout, uint32_t spot, bool is_up)
{
	double sum = 0, count = 0;

	for (uint32_t at = (is_up ? layout->up : layout->down)[spot]; at;
	     at = layout->links[at - 1].next, count++)
		sum += layout->out->spots[layout->links[at - 1].spot].order;
	return count > 0 ? sum / count : layout->out->spots[spot].order;
}

static void order_rank(struct layout *layout, uint32_t rank, bool is_up)
{
	uint32_t *row = layout->sorted + layout->starts[rank];
	uint32_t count = layout->starts[rank + 1] - layout->starts[rank];

	/* Insertion: stable, and rows are nearly in order. 'x' holds the mean meanwhile. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t spot = row[i], at = i;

		layout->out->spots[spot].x = mean_order(layout, spot, is_up);
		for (; at > 0 && layout->out->spots[row[at - 1]].x > layout->out->spots[spot].x;
		     at--)
			row[at] = row[at - 1];
		row[at] = spot;
	}
	for (uint32_t i = 0; i < count; i++)
		layout->out->spots[row[i]].order = i;
}

/* Pairs of edges between this rank and the next that cross. */
static uint64_t crossings(const struct layout *layout, uint32_t rank)
{
	const struct draw_spot *spots = layout->out->spots;
	uint64_t count = 0;

	for (uint32_t i = layout->starts[rank]; i < layout->starts[rank + 1]; i++) {
		for (uint32_t j = layout->starts[rank]; j < i; j++) {
			for (uint32_t a = layout->down[layout->sorted[i]]; a;
			     a = layout->links[a - 1].next)
				for (uint32_t b = layout->down[layout->sorted[j]]; b;
				     b = layout->links[b - 1].next)
					count += spots[layout->links[a - 1].spot].order <
						 spots[layout->links[b - 1].spot].order;
		}
	}
	return count;
}

static uint64_t all_crossings(const struct layout *layout)
{
	uint64_t count = 0;

	for (uint32_t rank = 0; rank + 1 < layout->rank_count; rank++)
		count += crossings(layout, rank);
	return count;
}

static void take_order(struct layout *layout, const uint32_t *sorted)
{
	memcpy(layout->sorted, sorted, layout->out->spot_count * sizeof(*sorted));
	for (uint32_t rank = 0; rank < layout->rank_count; rank++)
		for (uint32_t i = layout->starts[rank]; i < layout->starts[rank + 1]; i++)
			layout->out->spots[sorted[i]].order = i - layout->starts[rank];
}

/* Down and up again; the best order of all counts. */
static void order_spots(struct layout *layout)
{
	size_t bytes = layout->out->spot_count * sizeof(uint32_t);
	AUTO_FREE uint32_t *best = xmalloc(bytes);
	uint64_t fewest = all_crossings(layout);

	memcpy(best, layout->sorted, bytes);
	for (int sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
		uint64_t count;

		for (uint32_t i = 1; i < layout->rank_count; i++)
			order_rank(layout, sweep % 2 ? layout->rank_count - 1 - i : i,
				   !(sweep % 2));
		count = all_crossings(layout);
		if (count >= fewest)
			continue;
		fewest = count;
		memcpy(best, layout->sorted, bytes);
	}
	take_order(layout, best);
}

/* ------------------------------------------------------------------- places */

static double mean_x(const struct layout *layout, uint32_t spot, bool *out_known)
{
	double sum = 0, count = 0;

	for (int side = 0; side < 2; side++)
		for (uint32_t at = (side ? layout->up : layout->down)[spot]; at;
		     at = layout->links[at - 1].next, count++)
			sum += layout->out->spots[layout->links[at - 1].spot].x;
	*out_known = count > 0;
	return count > 0 ? sum / count : layout->out->spots[spot].x;
}

/* A group of neighbours that touch each other. */
struct block {
	double place, weight;
	uint32_t count;
};

/* Places as near to the wanted ones as order and widths allow. */
static void place_rank(struct layout *layout, uint32_t rank, struct block *blocks)
{
	struct draw_spot *spots = layout->out->spots;
	const uint32_t *row = layout->sorted + layout->starts[rank];
	uint32_t count = layout->starts[rank + 1] - layout->starts[rank], block_count = 0;
	double offset = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is_known;
		double wanted = mean_x(layout, row[i], &is_known);
		double weight = row[i] < layout->model->state_count ? 1 : EDGE_WEIGHT;
		struct block block = { .count = 1, .weight = is_known ? weight : 0.01 };

		offset += i ? spots[row[i - 1]].right + SPACE_X + spots[row[i]].left : 0;
		block.place = wanted - offset;
		while (block_count && blocks[block_count - 1].place > block.place) {
			const struct block *other = &blocks[--block_count];
			double sum = block.weight + other->weight;

			block.place =
				(block.place * block.weight + other->place * other->weight) / sum;
			block.weight = sum;
			block.count += other->count;
		}
		blocks[block_count++] = block;
	}
	offset = 0;
	for (uint32_t i = 0, at = 0, left = block_count ? blocks[0].count : 0; i < count; i++) {
		offset += i ? spots[row[i - 1]].right + SPACE_X + spots[row[i]].left : 0;
		if (!left)
			left = blocks[++at].count;
		spots[row[i]].x = blocks[at].place + offset;
		left--;
	}
}

static void place_x(struct layout *layout)
{
	struct draw_spot *spots = layout->out->spots;
	AUTO_FREE struct block *blocks = xcalloc(layout->out->spot_count + 1u, sizeof(*blocks));

	for (uint32_t rank = 0; rank < layout->rank_count; rank++) {
		double x = 0;

		for (uint32_t i = layout->starts[rank]; i < layout->starts[rank + 1]; i++) {
			struct draw_spot *spot = &spots[layout->sorted[i]];

			spot->x = x + spot->left;
			x += spot->left + spot->right + SPACE_X;
		}
	}
	for (int sweep = 0; sweep < 2 * SWEEPS; sweep++) {
		for (uint32_t i = 0; i < layout->rank_count; i++)
			place_rank(layout, sweep % 2 ? layout->rank_count - 1 - i : i, blocks);
	}
}

static void place_y(struct layout *layout)
{
	struct draw_spot *spots = layout->out->spots;
	double y = MARGIN + 2 * DRAW_LINE; /* the title */

	for (uint32_t rank = 0; rank < layout->rank_count; rank++) {
		double height = 0;

		for (uint32_t i = layout->starts[rank]; i < layout->starts[rank + 1]; i++)
			height = fmax(height, spots[layout->sorted[i]].height);
		for (uint32_t i = layout->starts[rank]; i < layout->starts[rank + 1]; i++)
			spots[layout->sorted[i]].y = y + height / 2;
		y += height + SPACE_Y;
	}
	layout->out->height = y + MARGIN;
}

/* From the left margin on. */
static void move_to_margin(struct layout *layout)
{
	struct draw_layout *out = layout->out;
	double left = INFINITY, right = 0;

	for (uint32_t i = 0; i < out->spot_count; i++)
		left = fmin(left, out->spots[i].x - out->spots[i].left);
	for (uint32_t i = 0; i < out->spot_count; i++) {
		out->spots[i].x += MARGIN - left;
		right = fmax(right, out->spots[i].x + out->spots[i].right);
	}
	out->width = right + MARGIN;
}

static void place_loops(struct layout *layout)
{
	struct draw_graph *graph = layout->graph;

	for (size_t i = 0; i < graph->edge_count; i++) {
		struct draw_edge *edge = &graph->edges[i];
		const struct draw_spot *spot = &layout->out->spots[edge->from];
		double width, height;

		if (edge->from != edge->to)
			continue;
		draw_edge_size(edge, &width, &height);
		edge->loop_x = spot->x + spot->right - width;
		edge->loop_y = spot->y;
	}
}

void draw_layout_make(struct draw_graph *graph, struct draw_layout *out_layout)
{
	struct layout layout = { .graph = graph, .model = graph->draw->model, .out = out_layout };

	*out_layout = (struct draw_layout){ 0 };
	make_spots(&layout);
	fill_ranks(&layout);
	order_spots(&layout);
	place_x(&layout);
	place_y(&layout);
	move_to_margin(&layout);
	place_loops(&layout);
	free(layout.sorted);
	free(layout.starts);
	free(layout.links);
	free(layout.up);
	free(layout.down);
}

void draw_layout_fini(struct draw_layout *layout)
{
	free(layout->spots);
}
