/* Pictures of models: nothing lies on anything else, and any name is safe in them. */
#include "model/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/draw_int.h"
#include "model/model.h"

static struct model *parsed(const char *text)
{
	struct model_errors errors = { 0 };
	struct model *model = NULL;

	if (model_parse(text, strlen(text), &model, &errors) < 0)
		fail_msg("%u:%u: %s", errors.items[0].place.line, errors.items[0].place.column,
			 errors.items[0].text);
	model_errors_fini(&errors);
	return model;
}

static char *svg_of(const struct model_draw *draw)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct err err = { 0 };

	if (model_draw_svg(out, draw, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	return text;
}

static char *dot_of(const struct model_draw *draw)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	model_draw_dot(out, draw);
	fclose(out);
	return text;
}

/* Is it XML: tags in pairs, and nothing else in angle brackets? */
static void assert_xml(const char *text)
{
	char open[20][20];
	uint32_t depth = 0;
	const char *at = text;

	while ((at = strpbrk(at, "<&"))) {
		char name[20] = "";
		const char *end = strchr(at, '>');

		if (*at == '&') {
			assert_true(strncmp(at, "&lt;", 4) == 0 || strncmp(at, "&gt;", 4) == 0 ||
				    strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&quot;", 6) == 0);
			at++;
			continue;
		}
		assert_non_null(end);
		assert_int_equal(sscanf(at + 1, "%19[a-z/]", name), 1);
		if (name[0] == '/') {
			assert_true(depth > 0);
			assert_string_equal(name + 1, open[--depth]);
		} else if (end[-1] != '/') {
			assert_true(depth < 20);
			memcpy(open[depth++], name, sizeof(name));
		}
		at = end;
	}
	assert_int_equal(depth, 0);
}

static const char odd[] = "model: \"<&> \\\"q\\\" ]]>\"\n"
			  "description: a -> b & c\n"
			  "initial: a b\n"
			  "states:\n"
			  "  a b:\n"
			  "    transitions:\n"
			  "      - { event: 's:<x>', filter: 'f == \"\\\"', to: \"größe\" }\n"
			  "      - { event: s:y, to: \"größe\" }\n"
			  "      - { event: s:z, to: a b }\n"
			  "  \"größe\":\n"
			  "    transitions: [ { event: e, to: a b } ]\n"
			  "  alone:\n";

static void any_name_is_safe(void **unused)
{
	struct model *model = parsed(odd);
	struct model_draw draw = { .model = model };
	AUTO_FREE char *svg = svg_of(&draw), *dot = dot_of(&draw);

	assert_xml(svg);
	assert_non_null(strstr(svg, "s:&lt;x&gt;"));
	assert_non_null(strstr(svg, "größe"));
	assert_non_null(strstr(dot, "[label=\"s:<x>\\n[f == \\\"\\\\\\\"]\"]"));
	assert_non_null(strstr(dot, "digraph \"<&> \\\"q\\\" ]]>\""));
	model_free(model);
}

static void what_was_seen_stands_on_the_arrows(void **unused)
{
	struct model *model = parsed(odd);
	struct model_draw_seen seen[4] = {
		[0] = { .taken = 1200, .has_time = true, .median_ns = 1.5e6, .max_ns = 2e9 },
		[3] = { .taken = 7, .invalid = 2, .uncertain = 1 },
	};
	struct model_draw draw = { .model = model, .seen = seen };
	AUTO_FREE char *svg = svg_of(&draw), *dot = dot_of(&draw);

	assert_non_null(strstr(svg, ">1,200 x, 1.50 ms, at most 2.000 s<"));
	assert_non_null(strstr(svg, ">2 invalid<"));
	assert_non_null(strstr(dot, "7 x\\n2 invalid\\n1 uncertain\", color="));
	model_free(model);
}

static void a_state_that_cannot_be_reached_is_seen(void **unused)
{
	struct model *model = parsed(odd);
	bool reached[3];
	struct model_draw draw = { .model = model };
	AUTO_FREE char *svg = svg_of(&draw);

	model_reached(model, reached);
	assert_true(reached[0] && reached[1] && !reached[2]);
	assert_non_null(strstr(svg, "stroke-dasharray"));
	model_free(model);
}

/* A model of 'states' states whose transitions lead anywhere. */
static char *random_model(uint32_t states, uint32_t transitions, uint32_t seed)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	fputs("model: random\ninitial: s0\nstates:\n", out);
	for (uint32_t i = 0; i < states; i++) {
		fprintf(out, "  s%u:\n    transitions:\n", i);
		for (uint32_t j = 0; j < transitions; j++) {
			seed = seed * 1103515245u + 12345u;
			fprintf(out, "      - { event: e%u, to: s%u }\n", j,
				(seed >> 16) % 3 ? (i + (seed >> 18) % 4) % states
						 : (seed >> 16) % states);
		}
	}
	fclose(out);
	return text;
}

static void assert_no_overlap(const struct draw_layout *layout)
{
	for (uint32_t i = 0; i < layout->spot_count; i++) {
		const struct draw_spot *a = &layout->spots[i];

		assert_true(a->x - a->left >= 0 && a->x + a->right <= layout->width);
		assert_true(a->y - a->height / 2 >= 0 && a->y + a->height / 2 <= layout->height);
		for (uint32_t j = 0; j < i; j++) {
			const struct draw_spot *b = &layout->spots[j];

			if (a->rank == b->rank)
				assert_true(a->x + a->right <= b->x - b->left ||
					    b->x + b->right <= a->x - a->left);
			else
				assert_true((a->rank < b->rank) == (a->y < b->y));
		}
	}
}

/* Each edge goes down through its own places. */
static void assert_ways(const struct draw_graph *graph, const struct draw_layout *layout)
{
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct draw_edge *edge = &graph->edges[i];
		uint32_t top = edge->is_reversed ? edge->to : edge->from;
		uint32_t bottom = edge->is_reversed ? edge->from : edge->to;
		uint32_t rank = layout->spots[top].rank;

		if (edge->from == edge->to)
			continue;
		assert_true(edge->label >= edge->first && edge->label < edge->end);
		for (uint32_t spot = edge->first; spot < edge->end; spot++)
			assert_int_equal(layout->spots[spot].rank, ++rank);
		assert_int_equal(layout->spots[bottom].rank, rank + 1);
	}
}

static void nothing_lies_on_anything_else(void **unused)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 10, 20, 40, 60 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		for (uint32_t seed = 1; seed <= 5; seed++) {
			AUTO_FREE char *text = random_model(sizes[i], 1 + seed % 3, seed);
			struct model *model = parsed(text);
			struct model_draw draw = { .model = model };
			struct draw_graph graph;
			struct draw_layout layout;
			AUTO_FREE char *svg = svg_of(&draw);

			assert_xml(svg);
			draw_graph_make(&draw, &graph);
			draw_layout_make(&graph, &layout);
			assert_no_overlap(&layout);
			assert_ways(&graph, &layout);
			draw_layout_fini(&layout);
			draw_graph_fini(&graph);
			model_free(model);
		}
	}
}

static void too_large_a_model_is_refused_with_a_way_out(void **unused)
{
	AUTO_FREE char *text = random_model(MODEL_DRAW_MAX_STATES + 1, 1, 1);
	struct model *model = parsed(text);
	struct model_draw draw = { .model = model };
	AUTO_FREE char *dot = dot_of(&draw);
	struct err err = { 0 };

	assert_int_equal(model_draw_svg(stdout, &draw, &err), -7);
	assert_non_null(strstr(err.text, "use --dot"));
	assert_non_null(strstr(dot, "s120 ->"));
	model_free(model);
}

static void time_is_measured_whatever_is_asked_for(void **unused)
{
	struct model *model = parsed("model: m\ninitial: a\nstates:\n  a:\n    transitions:\n"
				     "      - { event: e, to: b }\n  b:\n    transitions:\n"
				     "      - { event: f, to: a, check: [ deadline: 5ms ] }\n");
	uint32_t variable = model_measure_elapsed(model);

	assert_string_equal(model->variables[variable].name, "elapsed");
	assert_int_equal(model->variable_count, 1);
	assert_int_equal(model->transitions[0].constraint_count, 0);
	assert_int_equal(model->transitions[1].constraint_count, 2);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_name_is_safe),
		cmocka_unit_test(what_was_seen_stands_on_the_arrows),
		cmocka_unit_test(a_state_that_cannot_be_reached_is_seen),
		cmocka_unit_test(nothing_lies_on_anything_else),
		cmocka_unit_test(too_large_a_model_is_refused_with_a_way_out),
		cmocka_unit_test(time_is_measured_whatever_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
