/*
 * draw.h - a model as a picture: states are boxes, transitions arrows with their events.
 *
 * SVG is laid out here; DOT is for graphviz. What runs measured can stand on the arrows.
 */
#ifndef MODEL_DRAW_H
#define MODEL_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct model;

/* Of larger models only DOT is made. */
#define MODEL_DRAW_MAX_STATES 120u
#define MODEL_DRAW_MAX_EDGES  400u

/* What was seen of a transition. */
struct model_draw_seen {
	uint64_t taken, invalid, uncertain;
	bool has_time;
	double median_ns, max_ns; /* in the state before it */
};

struct model_draw {
	const struct model *model;
	const struct model_draw_seen *seen; /* by transition; NULL = no trace */
};

void model_draw_dot(FILE *out, const struct model_draw *draw);

/* Returns 0, or -E2BIG with err filled. */
int model_draw_svg(FILE *out, const struct model_draw *draw, struct err *err);

/* By state: can it be reached from the initial one? 'out_reached' has room for all. */
void model_reached(const struct model *model, bool *out_reached);

#endif
