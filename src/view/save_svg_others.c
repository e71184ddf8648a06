/*
 * save_svg_others.c - locks, disks and other lanes that are no threads, as a part of the picture.
 *
 * Each group has a heading with its colours. A lane has its name and its sums above it, and is drawn as on the
 * page: states by their shares, a level or an amount as a step graph by its largest value.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ask/loaded.h"
#include "base/mem.h"
#include "base/text.h"
#include "timeline/timeline.h"
#include "view/answer.h"
#include "view/others.h"
#include "view/saving.h"

#define COLUMNS	  1000u
#define HEADING	  30u
#define WORDS	  14u /* above a lane */
#define LANE	  18u
#define PITCH	  (WORDS + LANE + 8u)
#define FINENESS  100u /* heights are told in so many parts of a unit */
#define CHARACTER 7u   /* about as wide */

/* Those of the page; the third one is hatched. */
static const char *const colours[SERIES_SUMS] = { "#56b4e9", "#d55e00", "#e69f00" };

/* Columns of a lane, all of them. */
struct gathering {
	struct series_column *columns; /* owned by the caller */
	uint32_t at;
	uint64_t most; /* the scale of a level or an amount */
	bool has_bytes;
};

static uint64_t amount_of(const struct gathering *gathering, const struct series_column *column)
{
	return column->sums[gathering->has_bytes ? 1 : 0];
}

static void gather(void *context, uint32_t count, const struct series_column *column)
{
	struct gathering *gathering = context;

	for (uint32_t i = 0; i < count && gathering->at < COLUMNS; i++)
		gathering->columns[gathering->at++] = *column;
}

static uint64_t find_most(const struct gathering *gathering, enum series_kind kind)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < gathering->at; i++) {
		const struct series_column *column = &gathering->columns[i];
		uint64_t value = kind == SERIES_LEVEL ? column->most : amount_of(gathering, column);

		most = value > most ? value : most;
	}
	return most;
}

/* The height of a part of a column, of LANE * FINENESS. 'ns' is the length of the column. */
static uint32_t height_of(const struct gathering *gathering, enum series_kind kind,
			  const struct series_column *column, uint32_t part, double ns)
{
	double share = 0;

	if (kind == SERIES_STATES)
		share = (double)column->sums[part] / ns;
	else if (part == 0 && gathering->most && kind == SERIES_LEVEL)
		share = (double)column->sums[0] / ns / (double)gathering->most;
	else if (part == 0 && gathering->most)
		share = (double)amount_of(gathering, column) / (double)gathering->most;
	if (share <= 0)
		return 0;
	share = share < 1 ? share : 1;
	return share * LANE < 1 ? FINENESS : (uint32_t)(share * LANE * FINENESS);
}

static uint64_t column_start(const struct saving *saving, uint32_t column)
{
	return saving->from_ns +
	       (uint64_t)((unsigned __int128)(saving->to_ns - saving->from_ns) * column / COLUMNS);
}

/* Neighbours that are alike are one rectangle. */
static void put_part(FILE *out, const uint32_t *bottoms, const uint32_t *heights)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i <= COLUMNS; i++) {
		if (i < COLUMNS && heights[i] == heights[first] && bottoms[i] == bottoms[first])
			continue;
		if (heights[first])
			fprintf(out, "M%u %.2fh%uv%.2fh-%uz", first,
				WORDS + LANE - (double)bottoms[first] / FINENESS, i - first,
				-(double)heights[first] / FINENESS, i - first);
		first = i;
	}
}

static void put_paths(FILE *out, const struct saving *saving, const struct other_lane *lane,
		      const struct gathering *gathering)
{
	AUTO_FREE uint32_t *bottoms = xcalloc(COLUMNS, sizeof(*bottoms));
	AUTO_FREE uint32_t *heights = xcalloc(COLUMNS, sizeof(*heights));
	struct series_column sum = saving_other_sum(saving, lane);

	for (uint32_t part = 0; part < SERIES_SUMS; part++) {
		for (uint32_t i = 0; i < gathering->at; i++) {
			double ns = (double)(column_start(saving, i + 1) - column_start(saving, i));

			bottoms[i] += heights[i];
			heights[i] = ns > 0 ? height_of(gathering, lane->series.kind,
							&gathering->columns[i], part, ns)
					    : 0;
		}
		if (!sum.sums[part] || (part && lane->series.kind != SERIES_STATES))
			continue;
		fprintf(out, "<path data-part=\"%u\" fill=\"%s\" d=\"", part,
			part == 2 ? "url(#hatched-other)" : colours[part]);
		put_part(out, bottoms, heights);
		fputs("\"/>", out);
	}
}

static void svg_put_other_lane(FILE *out, const struct saving *saving,
			       const struct other_lane *lane, size_t index, uint32_t left,
			       uint32_t top)
{
	AUTO_FREE struct series_column *columns = xcalloc(COLUMNS, sizeof(*columns));
	struct gathering gathering = { .columns = columns };
	struct series_column sum;

	series_columns(&lane->series, saving->from_ns, saving->to_ns, COLUMNS, gather, &gathering,
		       &sum);
	gathering.has_bytes = lane->series.kind == SERIES_AMOUNT && sum.sums[1];
	gathering.most = find_most(&gathering, lane->series.kind);
	fputs("<g", out);
	saving_put_other_data(out, saving, lane, index);
	fprintf(out,
		" transform=\"translate(%u %u)\"><text y=\"10\" font-size=\"11\"><tspan "
		"font-weight=\"600\">",
		left, top);
	text_put_xml(out, lane->label);
	fputs("</tspan><tspan dx=\"10\" fill=\"#5c6873\">", out);
	saving_put_other_words(out, saving, lane);
	fprintf(out, "</tspan></text><path d=\"M0 %u.5h%u\" stroke=\"#dfe4e8\"/>", WORDS + LANE,
		COLUMNS);
	put_paths(out, saving, lane, &gathering);
	fputs("</g>\n", out);
}

/* "Locks  # held  # held, and waited for" */
static void put_heading(FILE *out, enum other_group group, uint32_t left, uint32_t top)
{
	const char *const *values = view_others_values(group);
	uint32_t at = 0;

	fprintf(out,
		"<g transform=\"translate(%u %u)\" font-size=\"12\"><text x=\"-8\" y=\"20\" "
		"text-anchor=\"end\" font-weight=\"600\">",
		left, top);
	text_put_xml(out, group == OTHER_PROGRAMS ? "Events, probes" : view_others_words(group));
	fputs("</text>", out);
	for (uint32_t i = 0; i < SERIES_SUMS && values[i]; i++) {
		if (i && group == OTHER_NETWORK) /* one step graph, of bytes */
			break;
		fprintf(out,
			"<rect x=\"%u\" y=\"10\" width=\"22\" height=\"10\" fill=\"%s\"/><text "
			"x=\"%u\" y=\"20\" fill=\"#5c6873\">%s</text>",
			at, i == 2 ? "url(#hatched-other)" : colours[i], at + 28,
			group == OTHER_NETWORK ? "bytes, or packets" : values[i]);
		at += 28 + 30 + (uint32_t)strlen(values[i]) * CHARACTER;
	}
	fputs("</g>\n", out);
}

/* Where events were lost: over all of these lanes. */
static void put_holes(FILE *out, const struct saving *saving, uint32_t left, uint32_t top,
		      uint32_t height)
{
	const struct timeline *timeline = saving->view->loaded->timeline;
	AUTO_FREE bool *lost = xcalloc(COLUMNS + 1, sizeof(*lost));
	uint64_t length_ns = saving->to_ns - saving->from_ns;
	bool any = false;

	for (size_t i = 0; i < timeline->gap_count; i++) {
		uint64_t since_ns = timeline->gaps[i].since_ns,
			 until_ns = timeline->gaps[i].until_ns;

		since_ns = since_ns > saving->from_ns ? since_ns : saving->from_ns;
		until_ns = until_ns < saving->to_ns ? until_ns : saving->to_ns;
		if (until_ns <= since_ns)
			continue;
		any = true;
		for (uint32_t column = (uint32_t)((unsigned __int128)(since_ns - saving->from_ns) *
						  COLUMNS / length_ns);
		     column < COLUMNS && column_start(saving, column) < until_ns; column++)
			lost[column] = true;
	}
	if (!any)
		return;
	fprintf(out, "<path id=\"lost\" transform=\"translate(%u %u)\" fill=\"url(#hatched)\" d=\"",
		left, top);
	for (uint32_t first = 0, i = 1; i <= COLUMNS; i++) {
		if (i < COLUMNS && lost[i] == lost[first])
			continue;
		if (lost[first])
			fprintf(out, "M%u 0h%uv%uh-%uz", first, i - first, height, i - first);
		first = i;
	}
	fputs("\"><title>events were lost</title></path>\n", out);
}

static uint32_t groups_of(const struct saving_others *chosen)
{
	bool is_there[OTHER_GROUP_COUNT] = { false };
	uint32_t count = 0;

	for (uint32_t i = 0; i < chosen->count; i++) {
		bool *is = &is_there[others_lane(chosen->others, chosen->rows[i])->group];

		count += !*is;
		*is = true;
	}
	return count;
}

uint32_t saving_svg_others_height(const struct saving_others *chosen)
{
	return chosen->count * PITCH + groups_of(chosen) * HEADING;
}

uint32_t saving_put_svg_others(FILE *out, const struct saving *saving,
			       const struct saving_others *chosen, uint32_t left, uint32_t top)
{
	uint32_t at = top;

	if (!chosen->count)
		return 0;
	fputs("<g id=\"others\">\n", out);
	for (uint32_t i = 0; i < chosen->count; i++) {
		const struct other_lane *lane = others_lane(chosen->others, chosen->rows[i]);

		if (!i || others_lane(chosen->others, chosen->rows[i - 1])->group != lane->group) {
			put_heading(out, lane->group, left, at);
			at += HEADING;
		}
		svg_put_other_lane(out, saving, lane, chosen->rows[i], left, at);
		at += PITCH;
	}
	put_holes(out, saving, left, top, at - top);
	fputs("</g>\n", out);
	return at - top;
}
