/* save_svg.c - the lanes as a picture for a report: a path for each state of each lane. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why.h"
#include "ask/loaded.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/why.h"
#include "timeline/timeline.h"
#include "view/answer.h"
#include "view/save.h"
#include "view/saving.h"
#include "view/shares.h"

#define GUTTER	 180u
#define COLUMNS	 1000u
#define TOP	 64u
#define LANE	 22u
#define PITCH	 28u
#define FINENESS 100u /* heights are told in so many parts of a unit */

/* Paths of one lane while they grow. */
struct drawing {
	FILE *out[LANE_STATE_COUNT];
	char *text[LANE_STATE_COUNT];
	size_t bytes[LANE_STATE_COUNT];
};

static void draw_columns(void *context, uint32_t first, uint32_t count,
			 const struct lane_shares *shares)
{
	struct drawing *drawing = context;
	uint64_t sum = 0, below = 0;

	for (size_t i = 0; i < LANE_STATE_COUNT; i++)
		sum += shares->ns[i];
	for (size_t i = 0; sum && i < LANE_STATE_COUNT; i++) {
		uint64_t from = below * LANE * FINENESS / sum;
		uint64_t to = (below + shares->ns[i]) * LANE * FINENESS / sum;

		below += shares->ns[i];
		if (from == to)
			continue;
		if (!drawing->out[i])
			drawing->out[i] = open_memstream(&drawing->text[i], &drawing->bytes[i]);
		if (drawing->out[i])
			fprintf(drawing->out[i], "M%u %.2fh%uv%.2fh-%uz", first,
				LANE - (double)from / FINENESS, count,
				-(double)(to - from) / FINENESS, count);
	}
}

static void put_paths(FILE *out, struct drawing *drawing)
{
	for (size_t i = 0; i < LANE_STATE_COUNT; i++) {
		const struct lane_look *look = lane_look((enum lane_state)i);

		if (!drawing->out[i])
			continue;
		(void)fclose(drawing->out[i]);
		if (look->hatched)
			fprintf(out, "<path fill=\"url(#hatched)\" d=\"%s\"/>", drawing->text[i]);
		else if (look->light[0])
			fprintf(out, "<path fill=\"%s\" d=\"%s\"/>", look->light, drawing->text[i]);
		free(drawing->text[i]);
	}
}

static void put_name(FILE *out, const struct timeline *timeline, struct view_lane lane)
{
	AUTO_FREE char *name = NULL;

	if (lane.kind == 'c')
		name = xasprintf("CPU %u", lane.index);
	else
		name = xasprintf("%s[%d]", timeline_comm(timeline, lane.index),
				 timeline->threads[lane.index]->tid);
	fprintf(out, "<text x=\"-8\" y=\"15\" text-anchor=\"end\">");
	text_put_xml(out, name);
	fputs("</text>", out);
}

static void svg_put_lane(FILE *out, const struct saving *saving, uint32_t index, bool *used)
{
	const struct timeline *timeline = saving->view->loaded->timeline;
	struct view_lane lane = saving->lanes[index];
	struct drawing drawing = { 0 };
	const struct lane_window window = { saving->from_ns, saving->to_ns, COLUMNS, draw_columns,
					    &drawing };
	struct lane_shares sum;

	view_lane_columns(saving->view, lane, &window, &sum);
	for (size_t i = 0; i < LANE_STATE_COUNT; i++)
		used[i] |= sum.ns[i] != 0;
	if (lane.kind == 'c')
		fprintf(out, "<g data-cpu=\"%u\"", lane.index);
	else
		fprintf(out, "<g data-tid=\"%d\"", timeline->threads[lane.index]->tid);
	fprintf(out, " transform=\"translate(%u %u)\">", GUTTER, TOP + index * PITCH);
	put_name(out, timeline, lane);
	put_paths(out, &drawing);
	fputs("</g>\n", out);
}

static void put_head(FILE *out, const struct saving *saving, uint32_t height)
{
	const char *missing = verdict_missing(saving->view);
	AUTO_FREE char *words = NULL;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" "
		"font-family=\"DejaVu Sans, sans-serif\" font-size=\"12\" fill=\"#1c2329\">\n"
		"<defs><pattern id=\"hatched\" width=\"6\" height=\"6\" "
		"patternUnits=\"userSpaceOnUse\"><path d=\"M0 6L6 0\" stroke=\"#8a8a8a\" "
		"stroke-width=\"1.6\"/></pattern><pattern id=\"hatched-other\" width=\"6\" height=\"6\" "
		"patternUnits=\"userSpaceOnUse\"><path d=\"M0 6L6 0\" stroke=\"#e69f00\" "
		"stroke-width=\"1.6\"/></pattern></defs>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		"<text x=\"12\" y=\"22\" font-size=\"14\" font-weight=\"600\">",
		GUTTER + COLUMNS + 20, height);
	if (saving->answer->count) {
		words = report_why_headline(&saving->answer->results[0],
					    saving->view->loaded->facts, saving->view->to_ns != 0);
		text_put_xml(out, words);
	} else {
		fputs(missing ? missing : "", out);
	}
	fputs("</text>\n", out);
}

static void put_axis(FILE *out, const struct saving *saving, uint32_t height)
{
	uint64_t origin_ns = saving->view->loaded->timeline->origin_ns;
	uint64_t length_ns = saving->to_ns - saving->from_ns;

	for (uint32_t i = 0; i <= 5; i++) {
		uint64_t ns = saving->from_ns - origin_ns + length_ns / 5 * i;

		fprintf(out,
			"<path d=\"M%u %uV%u\" stroke=\"#dfe4e8\"/><text x=\"%u\" y=\"%u\" "
			"text-anchor=\"%s\" fill=\"#5c6873\">+%" PRIu64 ".%06" PRIu64 " s</text>\n",
			GUTTER + COLUMNS / 5 * i, TOP - 8, height, GUTTER + COLUMNS / 5 * i,
			TOP - 14, i == 5 ? "end" : "middle", ns / 1000000000u,
			ns % 1000000000u / 1000);
	}
}

static void put_legend(FILE *out, const bool *used, uint32_t top)
{
	uint32_t at = 0;

	for (size_t i = 0; i < LANE_STATE_COUNT; i++) {
		const struct lane_look *look = lane_look((enum lane_state)i);

		if (!used[i] || !look->light[0])
			continue;
		fprintf(out,
			"<rect x=\"%u\" y=\"%u\" width=\"22\" height=\"10\" fill=\"%s\"/><text "
			"x=\"%u\" y=\"%u\" fill=\"#5c6873\">%s</text>\n",
			GUTTER + at % 4 * 250, top + at / 4 * 20,
			look->hatched ? "url(#hatched)" : look->light, GUTTER + at % 4 * 250 + 28,
			top + at / 4 * 20 + 9, look->words);
		at++;
	}
}

void saving_put_svg(FILE *out, const struct saving *saving)
{
	bool used[LANE_STATE_COUNT] = { false };
	uint32_t threads = TOP + saving->count * PITCH, bottom;
	struct saving_others others;

	saving_choose_others(saving, &others);
	bottom = threads + saving_svg_others_height(&others);
	put_head(out, saving, bottom + 100);
	put_axis(out, saving, bottom);
	fputs("<g id=\"lanes\">\n", out);
	for (uint32_t i = 0; i < saving->count; i++)
		svg_put_lane(out, saving, i, used);
	fputs("</g>\n", out);
	(void)saving_put_svg_others(out, saving, &others, GUTTER, threads);
	saving_others_fini(&others);
	put_legend(out, used, bottom + 8);
	fputs("</svg>\n", out);
}

int view_save_svg(FILE *out, const struct view *view, const struct explanation *answer,
		  struct err *err)
{
	struct saving saving;
	int rc = saving_make(view, answer, &saving, err);

	if (rc < 0)
		return rc;
	saving_put_svg(out, &saving);
	saving_fini(&saving);
	return 0;
}
