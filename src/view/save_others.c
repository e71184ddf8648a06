/*
 * save_others.c - the lanes of a file that are no threads and no CPUs: of each group the largest that have
 * anything in the window, at a resolution that keeps the file small.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analyse/others/others.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/text.h"
#include "view/answer_int.h"
#include "view/others.h"
#include "view/saving.h"

#define WIDTH	     1600u
#define WIDTH_LEAST  100u
#define SERIES_BYTES (512u << 10)
#define SPANS	     20u /* of a lane */

static void ignore_columns(void *context, uint32_t columns, const struct series_column *column)
{
	(void)context;
	(void)columns;
	(void)column;
}

struct series_column saving_other_sum(const struct saving *saving, const struct other_lane *lane)
{
	struct series_column sum;

	series_columns(&lane->series, saving->from_ns, saving->to_ns, 1, ignore_columns, NULL,
		       &sum);
	return sum;
}

/* What the largest of a group is told by: of locks how long they were waited for. */
static uint64_t size_of(const struct saving *saving, const struct other_lane *lane)
{
	struct series_column sum = saving_other_sum(saving, lane);

	return lane->group == OTHER_LOCKS ? sum.sums[1] + sum.sums[2] : sum.sums[0];
}

struct candidate {
	const struct other_lane *lane;
	uint64_t size;
	size_t index;
};

ORDER_FUNCTION(compare_candidates, struct candidate, ORDER_UP(lane->group), ORDER_DOWN(size),
	       ORDER_UP(index));

static int compare_saved_rows(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

static size_t find_candidates(const struct saving *saving, const struct others *others,
			      struct candidate *out_candidates)
{
	size_t count = 0;

	for (size_t i = 0; i < others_count(others); i++) {
		const struct other_lane *lane = others_lane(others, i);
		struct series_column sum = saving_other_sum(saving, lane);

		if (sum.sums[0] || sum.sums[1] || sum.sums[2])
			out_candidates[count++] =
				(struct candidate){ lane, size_of(saving, lane), i };
	}
	if (count)
		qsort(out_candidates, count, sizeof(*out_candidates), compare_candidates);
	return count;
}

void saving_choose_others(const struct saving *saving, struct saving_others *out_chosen)
{
	const struct others *others = view_others_lanes(saving->view->others);
	size_t all = others ? others_count(others) : 0;
	AUTO_FREE struct candidate *candidates = xcalloc(all + 1, sizeof(*candidates));
	uint32_t in_group[OTHER_GROUP_COUNT] = { 0 };
	size_t count = others ? find_candidates(saving, others, candidates) : 0;

	*out_chosen = (struct saving_others){ .others = others };
	out_chosen->is = xcalloc(all + 1, sizeof(*out_chosen->is));
	for (size_t i = 0; i < count; i++) {
		if (in_group[candidates[i].lane->group]++ >= SAVING_OF_A_GROUP)
			continue;
		out_chosen->is[candidates[i].index] = true;
		out_chosen->rows[out_chosen->count++] = candidates[i].index;
	}
	if (out_chosen->count)
		qsort(out_chosen->rows, out_chosen->count, sizeof(*out_chosen->rows),
		      compare_saved_rows);
}

void saving_others_fini(struct saving_others *chosen)
{
	free(chosen->is);
}

static void ask_series(const struct saving *saving, const struct saving_others *chosen,
		       uint32_t width, struct view_answer *out_answer)
{
	AUTO_FREE char *query =
		xasprintf("from=%" PRIu64 "&to=%" PRIu64 "&width=%u&rows=", saving->from_ns,
			  saving->to_ns, width);

	for (uint32_t i = 0; i < chosen->count; i++) {
		char *longer = xasprintf("%s%so%zu", query, i ? "," : "", chosen->rows[i]);

		free(query);
		query = longer;
	}
	view_answer_route(saving->view, "series", query, out_answer);
}

static void put_series(FILE *out, const struct saving *saving, const struct saving_others *chosen)
{
	struct view_answer answer;
	uint32_t width = WIDTH;

	ask_series(saving, chosen, width, &answer);
	while (answer.count > SERIES_BYTES && width / 2 >= WIDTH_LEAST) {
		view_answer_fini(&answer);
		width /= 2;
		ask_series(saving, chosen, width, &answer);
	}
	fputs(",\"series\":\"", out);
	saving_put_base64(out, answer.bytes, answer.count);
	fputc('"', out);
	view_answer_fini(&answer);
}

/* What lies behind each lane: the longest spans in the window. */
static void put_behind(FILE *out, const struct saving *saving, const struct saving_others *chosen)
{
	fputs(",\"behind\":{", out);
	for (uint32_t i = 0; i < chosen->count; i++) {
		AUTO_FREE char *query =
			xasprintf("from=%" PRIu64 "&to=%" PRIu64 "&most=%u&lane=o%zu",
				  saving->from_ns, saving->to_ns, SPANS, chosen->rows[i]);
		struct view_answer answer;

		view_answer_route(saving->view, "other", query, &answer);
		fprintf(out, "%s\"o%zu\":", i ? "," : "", chosen->rows[i]);
		saving_put_json(out, answer.bytes, answer.count);
		view_answer_fini(&answer);
	}
	fputc('}', out);
}

void saving_put_others(FILE *out, const struct saving *saving)
{
	struct view_answer answer;
	struct view_json json;
	struct saving_others chosen;

	saving_choose_others(saving, &chosen);
	if (chosen.count) {
		view_json_begin(&json);
		view_others_json(&json.json, saving->view->others, chosen.is);
		view_json_end(&json, &answer);
		fputs(",\"others\":", out);
		saving_put_json(out, answer.bytes, answer.count);
		view_answer_fini(&answer);
		put_series(out, saving, &chosen);
		put_behind(out, saving, &chosen);
	}
	saving_others_fini(&chosen);
}

/* -------------------------------------------------------------- without script */

void saving_put_other_words(FILE *out, const struct saving *saving, const struct other_lane *lane)
{
	struct series_column sum = saving_other_sum(saving, lane);
	AUTO_FREE char *words = view_others_sum_words(lane, &sum, saving->to_ns - saving->from_ns);

	text_put_xml(out, words);
}

void saving_put_other_data(FILE *out, const struct saving *saving, const struct other_lane *lane,
			   size_t index)
{
	struct series_column sum = saving_other_sum(saving, lane);

	fprintf(out, " data-lane=\"o%zu\" data-group=\"%s\" data-kind=\"%s\" data-sums=\"", index,
		view_others_group(lane->group), view_others_kind(lane->series.kind));
	for (uint32_t i = 0; i < SERIES_SUMS && view_others_values(lane->group)[i]; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", sum.sums[i]);
	fprintf(out, "\" data-most=\"%" PRIu64 "\"", sum.most);
}

void saving_put_others_table(FILE *out, const struct saving *saving)
{
	struct saving_others chosen;

	saving_choose_others(saving, &chosen);
	if (chosen.count)
		fputs("<table id=\"others-told\"><thead><tr><th>Lane</th><th>In this "
		      "window</th></tr></thead><tbody>\n",
		      out);
	for (uint32_t i = 0; i < chosen.count; i++) {
		const struct other_lane *lane = others_lane(chosen.others, chosen.rows[i]);

		fputs("<tr", out);
		saving_put_other_data(out, saving, lane, chosen.rows[i]);
		fputs("><th>", out);
		text_put_xml(out, lane->label);
		fputs("</th><td>", out);
		saving_put_other_words(out, saving, lane);
		fputs("</td></tr>\n", out);
	}
	if (chosen.count)
		fputs("</tbody></table>", out);
	saving_others_fini(&chosen);
}
