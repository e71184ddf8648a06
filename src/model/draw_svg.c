/* draw_svg.c - the layout as SVG: boxes, curves through the spots of an edge, labels on top. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/draw_int.h"

#define BOX_HEIGHT  34.0
#define BEGIN_WIDTH 34.0 /* as in the layout */

static const char *const colours[] = {
	[DRAW_EVENT] = "#1a1a1a",
	[DRAW_DETAIL] = "#666666",
	[DRAW_BAD] = "#b00020",
};

static void svg_put_text(FILE *out, double x, double y, const char *attributes, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	text_put_xml(out, text);
	fputs("</text>\n", out);
}

/* ------------------------------------------------------------------- states */

/* Half the width of the box: what is beside it belongs to its room, too. */
static double box_half(const struct model *model, uint32_t index)
{
	AUTO_FREE char *safe = draw_name(model->states[index].name);
	double width = draw_text_width(safe) + 28;

	return (width < 60 ? 60 : width) / 2;
}

static void put_box(FILE *out, const struct draw_spot *spot, double half, double inset,
		    const char *style)
{
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" %s/>\n",
		spot->x - half + inset, spot->y - BOX_HEIGHT / 2 + inset, 2 * (half - inset),
		BOX_HEIGHT - 2 * inset, 9 - inset, style);
}

static void put_state(FILE *out, const struct draw_graph *graph, const struct draw_layout *layout,
		      uint32_t index)
{
	const struct model *model = graph->draw->model;
	const struct draw_spot *spot = &layout->spots[index];
	AUTO_FREE char *safe = draw_name(model->states[index].name);
	double half = box_half(model, index);
	bool is_reached = graph->reached[index];

	put_box(out, spot, half, 0,
		is_reached ? "fill=\"#eef3fa\" stroke=\"#2b4a78\" stroke-width=\"1.5\""
			   : "fill=\"#f5f5f5\" stroke=\"#888888\" stroke-dasharray=\"5 4\"");
	if (model->states[index].is_final)
		put_box(out, spot, half, 3.5, "fill=\"none\" stroke=\"#2b4a78\"");
	svg_put_text(out, spot->x, spot->y + 4.5,
		     is_reached ? "text-anchor=\"middle\" font-weight=\"bold\" fill=\"#1a1a1a\""
				: "text-anchor=\"middle\" fill=\"#777777\"",
		     safe);
	if (index != model->initial)
		return;
	fprintf(out,
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"#2b4a78\"/>\n"
		"<path d=\"M %.1f %.1f H %.1f\" stroke=\"#2b4a78\" fill=\"none\" "
		"marker-end=\"url(#tip)\"/>\n",
		spot->x - half - BEGIN_WIDTH + 6, spot->y, spot->x - half - BEGIN_WIDTH + 11,
		spot->y, spot->x - half - 2);
}

/* -------------------------------------------------------------------- edges */

static bool is_bad(const struct draw_edge *edge)
{
	for (size_t i = 0; i < edge->line_count; i++) {
		if (edge->lines[i].style == DRAW_BAD)
			return true;
	}
	return false;
}

/*
 * Where the edge meets a state: all that meet it on this side share its width, in the order of
 * where they come from.
 */
static double port_x(const struct draw_graph *graph, const struct draw_layout *layout,
		     const struct draw_edge *edge, uint32_t state, bool is_below)
{
	double half = box_half(graph->draw->model, state);
	uint32_t spot = is_below ? edge->first : edge->end - 1;
	double mine = layout->spots[spot].x;
	uint32_t before = 0, count = 0;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct draw_edge *other = &graph->edges[i];
		uint32_t at = other->is_reversed == is_below ? other->to : other->from;
		uint32_t beside = is_below ? other->first : other->end - 1;

		if (other->from == other->to || at != state)
			continue;
		count++;
		before += other != edge && (layout->spots[beside].x < mine ||
					    (layout->spots[beside].x == mine && other < edge));
	}
	return layout->spots[state].x - half + 2 * half * (before + 1) / (count + 1);
}

/* Points from the upper state to the lower one. */
struct way {
	double *xs, *ys; /* owned */
	uint32_t count;
};

static void find_way(const struct draw_graph *graph, const struct draw_layout *layout,
		     const struct draw_edge *edge, struct way *out_way)
{
	uint32_t top = edge->is_reversed ? edge->to : edge->from;
	uint32_t bottom = edge->is_reversed ? edge->from : edge->to;
	uint32_t count = 0;

	out_way->xs = xcalloc(2 * (size_t)(edge->end - edge->first) + 2, sizeof(double));
	out_way->ys = xcalloc(2 * (size_t)(edge->end - edge->first) + 2, sizeof(double));
	out_way->xs[count] = port_x(graph, layout, edge, top, true);
	out_way->ys[count++] = layout->spots[top].y + BOX_HEIGHT / 2 + (edge->is_reversed ? 2 : 0);
	for (uint32_t i = edge->first; i < edge->end; i++) {
		const struct draw_spot *spot = &layout->spots[i];

		out_way->xs[count] = spot->x;
		out_way->ys[count++] = spot->y - spot->height / 2;
		if (spot->height > 0) {
			out_way->xs[count] = spot->x;
			out_way->ys[count++] = spot->y + spot->height / 2;
		}
	}
	out_way->xs[count] = port_x(graph, layout, edge, bottom, false);
	out_way->ys[count++] =
		layout->spots[bottom].y - BOX_HEIGHT / 2 - (edge->is_reversed ? 0 : 2);
	out_way->count = count;
}

static void put_way(FILE *out, const struct draw_edge *edge, const struct way *way)
{
	const char *colour = is_bad(edge) ? colours[DRAW_BAD] : "#4a6591";

	fprintf(out, "<path d=\"");
	for (uint32_t i = 0; i < way->count; i++) {
		/* The tip is at the end: a reversed one is drawn from below. */
		uint32_t at = edge->is_reversed ? way->count - 1 - i : i;
		uint32_t before = edge->is_reversed ? at + 1 : at - 1;
		double middle;

		if (i == 0) {
			fprintf(out, "M %.1f %.1f", way->xs[at], way->ys[at]);
			continue;
		}
		middle = (way->ys[at] + way->ys[before]) / 2;
		fprintf(out, " C %.1f %.1f %.1f %.1f %.1f %.1f", way->xs[before], middle,
			way->xs[at], middle, way->xs[at], way->ys[at]);
	}
	fprintf(out,
		"\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.3\" marker-end=\"url(#%s)\"/>\n",
		colour, is_bad(edge) ? "bad" : "tip");
}

static void put_loop(FILE *out, const struct draw_graph *graph, const struct draw_layout *layout,
		     const struct draw_edge *edge)
{
	const struct draw_spot *spot = &layout->spots[edge->from];
	double x = spot->x + box_half(graph->draw->model, edge->from);

	fprintf(out,
		"<path d=\"M %.1f %.1f C %.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" "
		"stroke=\"%s\" stroke-width=\"1.3\" marker-end=\"url(#%s)\"/>\n",
		x, spot->y - 8, x + 32, spot->y - 16, x + 32, spot->y + 16, x + 2, spot->y + 8,
		is_bad(edge) ? colours[DRAW_BAD] : "#4a6591", is_bad(edge) ? "bad" : "tip");
}

static void put_label(FILE *out, const struct draw_edge *edge, double x, double y, bool is_loop)
{
	double width, height, line;
	char attributes[100];

	draw_edge_size(edge, &width, &height);
	if (!is_loop)
		fprintf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"fill=\"#ffffff\"/>\n",
			x - width / 2, y - height / 2, width, height);
	line = y - height / 2 + 13;
	for (size_t i = 0; i < edge->line_count; i++, line += DRAW_LINE) {
		(void)snprintf(attributes, sizeof(attributes), "text-anchor=\"%s\" fill=\"%s\"",
			       is_loop ? "start" : "middle", colours[edge->lines[i].style]);
		svg_put_text(out, x, line, attributes, edge->lines[i].text);
	}
}

static void put_edges(FILE *out, const struct draw_graph *graph, const struct draw_layout *layout)
{
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct draw_edge *edge = &graph->edges[i];
		struct way way;

		if (edge->from == edge->to) {
			put_loop(out, graph, layout, edge);
			continue;
		}
		find_way(graph, layout, edge, &way);
		put_way(out, edge, &way);
		free(way.xs);
		free(way.ys);
	}
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct draw_edge *edge = &graph->edges[i];

		if (edge->from == edge->to)
			put_label(out, edge, edge->loop_x + 2, edge->loop_y, true);
		else
			put_label(out, edge, layout->spots[edge->label].x,
				  layout->spots[edge->label].y, false);
	}
}

/* -------------------------------------------------------------------- whole */

static void put_tip(FILE *out, const char *name, const char *colour)
{
	fprintf(out,
		"<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" "
		"markerHeight=\"7\" orient=\"auto\"><path d=\"M 0 0 L 10 5 L 0 10 z\" "
		"fill=\"%s\"/></marker>\n",
		name, colour);
}

static void put_picture(FILE *out, const struct draw_graph *graph, struct draw_layout *layout)
{
	const struct model *model = graph->draw->model;
	AUTO_FREE char *name = draw_name(model->name);
	AUTO_FREE char *description = draw_name(model->description);
	double title = draw_text_width(name) * 1.3 + 48;
	double words = draw_text_width(description) + 48;

	layout->width = layout->width > title ? layout->width : title;
	layout->width = layout->width > words ? layout->width : words;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"12\">\n<title>",
		layout->width, layout->height, layout->width, layout->height);
	text_put_xml(out, name);
	fputs("</title>\n<defs>\n", out);
	put_tip(out, "tip", "#4a6591");
	put_tip(out, "bad", colours[DRAW_BAD]);
	fputs("</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", out);
	svg_put_text(out, 24, 26, "font-size=\"15\" font-weight=\"bold\" fill=\"#1a1a1a\"", name);
	svg_put_text(out, 24, 42, "fill=\"#666666\"", description);
	put_edges(out, graph, layout);
	for (uint32_t i = 0; i < model->state_count; i++)
		put_state(out, graph, layout, i);
	fputs("</svg>\n", out);
}

int model_draw_svg(FILE *out, const struct model_draw *draw, struct err *err)
{
	struct draw_graph graph;
	struct draw_layout layout;
	int rc = 0;

	draw_graph_make(draw, &graph);
	if (draw->model->state_count > MODEL_DRAW_MAX_STATES ||
	    graph.edge_count > MODEL_DRAW_MAX_EDGES) {
		rc = err_set(err, -E2BIG,
			     "%u states and %zu arrows are too many for an SVG picture (at most "
			     "%u, %u); use --dot",
			     draw->model->state_count, graph.edge_count, MODEL_DRAW_MAX_STATES,
			     MODEL_DRAW_MAX_EDGES);
	} else {
		draw_layout_make(&graph, &layout);
		put_picture(out, &graph, &layout);
		draw_layout_fini(&layout);
	}
	draw_graph_fini(&graph);
	return rc;
}
