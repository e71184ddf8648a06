/* draw.c - what stands on the arrows, and DOT. */
#include "model/draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/draw_int.h"

#define MAX_CONSTRAINTS 4  /* that are written out */
#define MAX_LETTERS	80 /* of a line */

void model_reached(const struct model *model, bool *out_reached)
{
	bool is_more = true;

	memset(out_reached, 0, model->state_count * sizeof(bool));
	out_reached[model->initial] = true;
	while (is_more) {
		is_more = false;
		for (uint32_t i = 0; i < model->transition_count; i++) {
			const struct model_transition *transition = &model->transitions[i];

			if (!out_reached[transition->from] || out_reached[transition->to])
				continue;
			out_reached[transition->to] = true;
			is_more = true;
		}
	}
}

/* -------------------------------------------------------------------- lines */

/* At most MAX_LETTERS characters of a text, which is freed. */
static char *shortened(char *text)
{
	const char *at = text;
	size_t letters = 0, bytes;
	char *made;

	while (*at && letters < MAX_LETTERS && (bytes = text_utf8(at, &(uint32_t){ 0 }))) {
		at += bytes;
		letters++;
	}
	if (!*at)
		return text;
	made = xasprintf("%.*s...", (int)(at - text), text);
	free(text);
	return made;
}

char *draw_name(const char *name)
{
	return shortened(text_escaped(name));
}

static void edge_add_line(struct draw_edge *edge, enum draw_style style, char *text)
{
	AUTO_FREE char *given = text;

	edge->lines =
		vec_room(edge->lines, edge->line_count, &edge->line_cap, sizeof(*edge->lines));
	edge->lines[edge->line_count++] =
		(struct draw_line){ .text = draw_name(given), .style = style };
}

static void add_seen(struct draw_edge *edge, const struct model_draw_seen *seen)
{
	char *text = xasprintf("%s x", text_count(seen->taken).s);

	if (seen->has_time && seen->taken) {
		char *longer = xasprintf("%s, %s, at most %s", text,
					 text_duration((uint64_t)seen->median_ns).s,
					 text_duration((uint64_t)seen->max_ns).s);

		free(text);
		text = longer;
	}
	edge_add_line(edge, DRAW_DETAIL, text);
	if (seen->invalid)
		edge_add_line(edge, DRAW_BAD, xasprintf("%s invalid", text_count(seen->invalid).s));
	if (seen->uncertain)
		edge_add_line(edge, DRAW_BAD,
			      xasprintf("%s uncertain", text_count(seen->uncertain).s));
}

static void add_constraints(struct draw_edge *edge, const struct model_transition *transition)
{
	uint32_t count = transition->constraint_count;
	uint32_t shown = count <= MAX_CONSTRAINTS ? count : MAX_CONSTRAINTS - 1;

	for (uint32_t i = 0; i < shown; i++)
		edge_add_line(edge, DRAW_DETAIL, xstrdup(transition->constraints[i].text));
	if (shown < count)
		edge_add_line(edge, DRAW_DETAIL, xasprintf("and %u more", count - shown));
}

void draw_lines(const struct model_draw *draw, uint32_t index, struct draw_edge *edge)
{
	static const char *const before[] = { "", "syscall ", "end of syscall " };
	const struct model_transition *transition = &draw->model->transitions[index];
	const struct model_pattern *pattern = &draw->model->patterns[transition->pattern];

	edge_add_line(edge, DRAW_EVENT, xasprintf("%s%s", before[pattern->take], pattern->name));
	if (pattern->filter)
		edge_add_line(edge, DRAW_DETAIL, xasprintf("[%s]", pattern->filter));
	if (draw->seen)
		add_seen(edge, &draw->seen[index]);
	else
		add_constraints(edge, transition);
}

/* -------------------------------------------------------------------- graph */

static struct draw_edge *edge_of(struct draw_graph *graph, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].from == from && graph->edges[i].to == to)
			return &graph->edges[i];
	}
	graph->edges[graph->edge_count] = (struct draw_edge){ .from = from, .to = to };
	return &graph->edges[graph->edge_count++];
}

void draw_graph_make(const struct model_draw *draw, struct draw_graph *out_graph)
{
	const struct model *model = draw->model;

	*out_graph = (struct draw_graph){ .draw = draw };
	out_graph->edges = xcalloc(model->transition_count + 1, sizeof(*out_graph->edges));
	out_graph->reached = xcalloc(model->state_count + 1, sizeof(bool));
	model_reached(model, out_graph->reached);
	for (uint32_t i = 0; i < model->transition_count; i++)
		draw_lines(draw, i,
			   edge_of(out_graph, model->transitions[i].from,
				   model->transitions[i].to));
}

static void free_lines(struct draw_edge *edge)
{
	for (size_t i = 0; i < edge->line_count; i++)
		free(edge->lines[i].text);
	free(edge->lines);
}

void draw_graph_fini(struct draw_graph *graph)
{
	for (size_t i = 0; i < graph->edge_count; i++)
		free_lines(&graph->edges[i]);
	free(graph->edges);
	free(graph->reached);
}

/* ---------------------------------------------------------------------- DOT */

/* Within quotes of DOT. */
static void put_dot(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void put_state(FILE *out, const struct model *model, uint32_t index, bool is_reached)
{
	const struct model_state *state = &model->states[index];
	AUTO_FREE char *safe = draw_name(state->name);

	fprintf(out, "\ts%u [label=\"", index);
	put_dot(out, safe);
	fprintf(out, "\"%s%s];\n", state->is_final ? ", peripheries=2" : "",
		is_reached ? "" : ", style=\"rounded,dashed\", color=gray50, fontcolor=gray50");
}

static void put_transition(FILE *out, const struct model_draw *draw, uint32_t index)
{
	const struct model_transition *transition = &draw->model->transitions[index];
	struct draw_edge edge = { 0 };
	bool is_bad = false;

	draw_lines(draw, index, &edge);
	fprintf(out, "\ts%u -> s%u [label=\"", transition->from, transition->to);
	for (size_t i = 0; i < edge.line_count; i++) {
		put_dot(out, edge.lines[i].text);
		fputs(i + 1 < edge.line_count ? "\\n" : "", out);
		is_bad |= edge.lines[i].style == DRAW_BAD;
	}
	fprintf(out, "\"%s];\n", is_bad ? ", color=\"#b00020\", fontcolor=\"#b00020\"" : "");
	free_lines(&edge);
}

void model_draw_dot(FILE *out, const struct model_draw *draw)
{
	const struct model *model = draw->model;
	AUTO_FREE char *name = draw_name(model->name);
	AUTO_FREE bool *reached = xcalloc(model->state_count + 1, sizeof(bool));

	model_reached(model, reached);
	fputs("digraph \"", out);
	put_dot(out, name);
	fputs("\" {\n\tlabel=\"", out);
	put_dot(out, name);
	fputs("\";\n\tnode [shape=box, style=rounded, fontname=monospace];\n"
	      "\tedge [fontname=monospace, fontsize=10];\n"
	      "\tbegin [shape=point, width=0.12, label=\"\"];\n",
	      out);
	for (uint32_t i = 0; i < model->state_count; i++)
		put_state(out, model, i, reached[i]);
	fprintf(out, "\tbegin -> s%u;\n", model->initial);
	for (uint32_t i = 0; i < model->transition_count; i++)
		put_transition(out, draw, i);
	fputs("}\n", out);
}
