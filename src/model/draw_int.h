/* draw_int.h - what the parts of the drawing share. */
#ifndef MODEL_DRAW_INT_H
#define MODEL_DRAW_INT_H

#include <stddef.h>

#include "model/draw.h"
#include "model/model.h"

enum draw_style {
	DRAW_EVENT,
	DRAW_DETAIL,
	DRAW_BAD, /* what was not kept */
};

struct draw_line {
	char *text; /* owned; safe */
	enum draw_style style;
};

/* All transitions from one state to another. */
struct draw_edge {
	uint32_t from, to;
	struct draw_line *lines; /* owned */
	size_t line_count, line_cap;
	/* The layout: */
	bool is_reversed;    /* drawn upwards */
	uint32_t first, end; /* its spots, from the upper state to the lower one */
	uint32_t label;	     /* the spot of its label */
	double loop_x,
		loop_y; /* of a transition from a state to itself: left edge, middle of the label */
};

struct draw_graph {
	const struct model_draw *draw;
	struct draw_edge *edges; /* owned */
	size_t edge_count;
	bool *reached; /* owned; by state */
};

/* Merge the transitions of a model, and say what stands on them. */
void draw_graph_make(const struct model_draw *draw, struct draw_graph *out_graph);
void draw_graph_fini(struct draw_graph *graph);

/* A name that is safe in a picture, and not longer than it has room for. Free it with free(). */
char *draw_name(const char *name);

/* The lines of one transition. */
void draw_lines(const struct model_draw *draw, uint32_t transition, struct draw_edge *edge);

/* -------------------------------------------------------------------- layout */

/* All lengths in px. */
#define DRAW_COLUMN 7.3 /* of a character */
#define DRAW_LINE   15.0

/* A state, or a place that an edge passes. */
struct draw_spot {
	uint32_t rank;
	uint32_t order;	    /* in its rank */
	double x, y;	    /* middle */
	double left, right; /* room to both sides */
	double height;
};

struct draw_layout {
	struct draw_spot *spots; /* owned; the first ones are the states */
	uint32_t spot_count;
	double width, height;
};

double draw_text_width(const char *text);
void draw_edge_size(const struct draw_edge *edge, double *out_width, double *out_height);
void draw_layout_make(struct draw_graph *graph, struct draw_layout *out_layout);
void draw_layout_fini(struct draw_layout *layout);

#endif
