/* delays_compare.c - saved runs side by side: what differs, and by how much of what is usual. */
#include "report/delays_compare.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "accounts/saved.h"
#include "report/table.h"
#include "report/vocabulary.h"

static struct text signed_duration(double ns)
{
	struct text magnitude = text_duration((uint64_t)fabs(ns)), text;

	(void)snprintf(text.s, sizeof(text.s), "%c%.30s", ns < 0 ? '-' : '+', magnitude.s);
	return text;
}

/* "3.2 x": so many times what is usual. */
static struct text times_text(double score)
{
	struct text text = { "-" };

	if (score >= 0)
		(void)snprintf(text.s, sizeof(text.s), "%.1f x", fmin(score, 999999));
	return text;
}

/* What is more than that is hardly chance; negative = not known. */
static double chance_of(const struct delays_comparison *comparison)
{
	size_t first = comparison->first_count;

	return first ? delays_chance_difference(first, comparison->count - first)
		     : delays_chance_distance(comparison->count);
}

/* ------------------------------------------------------------- two groups of runs */

struct pair {
	struct delays_spread one, other;
	double difference;
	double score;
};

static struct pair pair_of(const struct delays_comparison *comparison, enum delays_part part)
{
	struct pair pair;

	delays_spread_make(comparison->runs, comparison->first_count, part, &pair.one);
	delays_spread_make(comparison->runs + comparison->first_count,
			   comparison->count - comparison->first_count, part, &pair.other);
	pair.difference = pair.other.mean - pair.one.mean;
	pair.score = delays_difference_score(&pair.one, comparison->first_count, &pair.other,
					     comparison->count - comparison->first_count);
	return pair;
}

/* The part that differs most; the whole is none. */
static enum delays_part largest_difference(const struct delays_comparison *comparison)
{
	enum delays_part largest = DELAYS_PART_RUN;
	double most = -1;

	for (enum delays_part part = 0; part < DELAYS_PART_WHOLE; part++) {
		struct pair pair = pair_of(comparison, part);

		if (!pair.one.is_known || !pair.other.is_known || fabs(pair.difference) <= most)
			continue;
		most = fabs(pair.difference);
		largest = part;
	}
	return largest;
}

/* Is there a part that only some of the runs know? The conclusion is about the others then. */
static bool knows_less(const struct delays_comparison *comparison)
{
	uint32_t any = 0, all = UINT32_MAX;

	for (size_t i = 0; i < comparison->count; i++) {
		any |= comparison->runs[i].known;
		all &= comparison->runs[i].known;
	}
	return (any & ~all) != 0;
}

static void pair_head(FILE *out, const struct delays_comparison *comparison)
{
	enum delays_part part = largest_difference(comparison);
	struct pair pair = pair_of(comparison, part);

	fprintf(out, "most of the difference%s: %s, %s (%s to %s)",
		knows_less(comparison) ? " in parts known in all runs" : "",
		delays_part_words(part), signed_duration(pair.difference).s,
		text_duration((uint64_t)pair.one.mean).s,
		text_duration((uint64_t)pair.other.mean).s);
	if (pair.score < 0)
		fputs("; the effect of chance is unknown with one run each\n", out);
	else
		fprintf(out, ", %s the deviation of one run%s\n", times_text(pair.score).s,
			pair.score < chance_of(comparison) ? "; this may be chance" : "");
}

static void pair_text(FILE *out, const struct delays_comparison *comparison)
{
	static const char *const titles[] = { "first", "second", "difference", "deviations" };
	struct table table = { 0 };

	pair_head(out, comparison);
	fputc('\n', out);
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		table_column(&table, titles[i], TABLE_RIGHT);
	table_column(&table, "", TABLE_TEXT);
	for (enum delays_part part = 0; part < DELAYS_PARTS; part++) {
		struct pair pair = pair_of(comparison, part);
		bool known = pair.one.is_known && pair.other.is_known;

		table_cell(&table, "%s",
			   pair.one.is_known ? text_duration((uint64_t)pair.one.mean).s : "-");
		table_cell(&table, "%s",
			   pair.other.is_known ? text_duration((uint64_t)pair.other.mean).s : "-");
		table_cell(&table, "%s", known ? signed_duration(pair.difference).s : "-");
		table_cell(&table, "%s", known ? times_text(pair.score).s : "-");
		table_cell(&table, "%s", delays_part_words(part));
	}
	table_print(&table, out);
	table_fini(&table);
	if (chance_of(comparison) >= 0)
		fprintf(out,
			"\nOf %zu and %zu runs, chance alone makes a difference of more than %s "
			"in 1 "
			"of 100 cases.\n",
			comparison->first_count, comparison->count - comparison->first_count,
			times_text(chance_of(comparison)).s);
}

/* ---------------------------------------------------------------------- many runs */

static struct delays_spread spread_of(const struct delays_comparison *comparison,
				      enum delays_part part)
{
	struct delays_spread spread;

	delays_spread_make(comparison->runs, comparison->count, part, &spread);
	return spread;
}

static double score_of(const struct delays_spread *spread)
{
	return spread->is_known ? fabs(spread->distance) / spread->scale : -1;
}

/* Of what stands out the part with the most time; else the farthest, in what is usual. */
static enum delays_part worst_part(const struct delays_comparison *comparison)
{
	enum delays_part worst = DELAYS_PART_RUN;
	double chance = chance_of(comparison), most = -1;
	bool is_out = false;

	for (enum delays_part part = 0; part < DELAYS_PART_WHOLE; part++) {
		struct delays_spread spread = spread_of(comparison, part);
		bool is_farther = score_of(&spread) > chance;
		double weight = is_farther ? fabs(spread.distance) : score_of(&spread);

		if ((is_out && !is_farther) || (is_out == is_farther && weight <= most))
			continue;
		is_out = is_farther;
		most = weight;
		worst = part;
	}
	return worst;
}

static void many_head(FILE *out, const struct delays_comparison *comparison)
{
	enum delays_part worst = worst_part(comparison);
	struct delays_spread spread = spread_of(comparison, worst);
	AUTO_FREE char *label = text_escaped(comparison->runs[spread.farthest].label);
	double score = score_of(&spread);

	if (score <= chance_of(comparison))
		fprintf(out,
			"none of %zu runs stands out; the most distant is %s in %s, %s the usual "
			"distance\n",
			comparison->count, label, delays_part_words(worst), times_text(score).s);
	else
		fprintf(out,
			"%s stands out: %s, %s against the median of %zu runs, %s the usual "
			"distance\n",
			label, delays_part_words(worst), signed_duration(spread.distance).s,
			comparison->count, times_text(score).s);
}

static void many_text(FILE *out, const struct delays_comparison *comparison)
{
	static const char *const titles[] = { "median", "usual +-", "farthest", "distance" };
	struct table table = { 0 };

	many_head(out, comparison);
	fputc('\n', out);
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		table_column(&table, titles[i], TABLE_RIGHT);
	table_column(&table, "", TABLE_TEXT);
	for (enum delays_part part = 0; part < DELAYS_PARTS; part++) {
		struct delays_spread spread = spread_of(comparison, part);

		if (!spread.is_known) {
			for (int i = 0; i < 4; i++)
				table_cell(&table, "-");
			table_cell(&table, "%s", delays_part_words(part));
			continue;
		}
		table_cell(&table, "%s", text_duration((uint64_t)spread.median).s);
		table_cell(&table, "%s", text_duration((uint64_t)spread.scale).s);
		table_cell(&table, "%s", signed_duration(spread.distance).s);
		table_cell(&table, "%s", times_text(score_of(&spread)).s);
		if (fabs(spread.distance) < 1)
			table_cell(&table, "%s", delays_part_words(part));
		else
			table_cell(&table, "%s: %s%s", delays_part_words(part),
				   comparison->runs[spread.farthest].label,
				   score_of(&spread) > chance_of(comparison) ? ", stands out" : "");
	}
	table_print(&table, out);
	table_fini(&table);
	fprintf(out,
		"\nOf %zu runs, chance alone puts one more than %s the usual distance away in 1 of "
		"100 cases.\n",
		comparison->count, times_text(chance_of(comparison)).s);
}

/* Sums that are too small: of some of the tasks this was not counted. */
static void print_partial(FILE *out, const struct delays_run *run)
{
	uint32_t partial = run->partial & run->known;
	const char *between = "; not counted for all tasks: ";

	for (enum delays_part part = 0; part < DELAYS_PARTS; part++) {
		if (!(partial & (1u << part)))
			continue;
		fprintf(out, "%s%s", between, delays_part_words(part));
		between = ", ";
	}
}

static void print_runs(FILE *out, const struct delays_comparison *comparison)
{
	fputs("\nRuns:\n", out);
	for (size_t i = 0; i < comparison->count; i++) {
		const struct delays_run *run = &comparison->runs[i];
		AUTO_FREE char *label = text_escaped(run->label);

		fprintf(out, "  %s%s: threads lived %s%s",
			!comparison->first_count      ? ""
			: i < comparison->first_count ? "first: "
						      : "second: ",
			label, text_duration(run->ns[DELAYS_PART_WHOLE]).s,
			run->certain ? "" : "; UNCERTAIN, records of exits were lost");
		print_partial(out, run);
		fputc('\n', out);
	}
}

/* ------------------------------------------------------------------------ JSON */

static void number_or_null(struct json *json, const char *key, double value, bool is_known)
{
	char text[48];

	if (!is_known || !isfinite(value)) {
		json_print_null(json, key);
		return;
	}
	(void)snprintf(text, sizeof(text), "%.3f", value);
	json_print_number(json, key, text);
}

static void part_json(struct json *json, const struct delays_comparison *comparison,
		      enum delays_part part)
{
	json_begin_object(json, NULL);
	json_print_string(json, "part", delays_part_words(part));
	if (comparison->first_count) {
		struct pair pair = pair_of(comparison, part);
		bool known = pair.one.is_known && pair.other.is_known;

		number_or_null(json, "first_ns", pair.one.mean, pair.one.is_known);
		number_or_null(json, "second_ns", pair.other.mean, pair.other.is_known);
		number_or_null(json, "difference_ns", pair.difference, known);
		number_or_null(json, "deviations", pair.score, known && pair.score >= 0);
	} else {
		struct delays_spread spread = spread_of(comparison, part);

		number_or_null(json, "median_ns", spread.median, spread.is_known);
		number_or_null(json, "usual_ns", spread.scale, spread.is_known);
		json_print_u64(json, "farthest", spread.farthest);
		number_or_null(json, "distance_ns", spread.distance, spread.is_known);
		number_or_null(json, "deviations", score_of(&spread), spread.is_known);
	}
	json_end_object(json);
}

static void compare_json(FILE *out, const struct delays_comparison *comparison)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "delays-compare");
	json_begin_array(&json, "runs");
	for (size_t i = 0; i < comparison->count; i++) {
		json_begin_object(&json, NULL);
		json_print_string(&json, "label", comparison->runs[i].label);
		json_print_bool(&json, "first", i < comparison->first_count);
		json_print_bool(&json, "certain", comparison->runs[i].certain);
		json_end_object(&json);
	}
	json_end_array(&json);
	number_or_null(&json, "chance", chance_of(comparison), chance_of(comparison) >= 0);
	json_begin_array(&json, "parts");
	for (enum delays_part part = 0; part < DELAYS_PARTS; part++)
		part_json(&json, comparison, part);
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}

void report_delays_compare(FILE *out, const struct delays_comparison *comparison, bool json)
{
	if (json) {
		compare_json(out, comparison);
		return;
	}
	if (comparison->first_count)
		pair_text(out, comparison);
	else
		many_text(out, comparison);
	print_runs(out, comparison);
}
