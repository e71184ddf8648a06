/* list.c - the table of holdup list --count-by. */
#include "report/list.h"

#include "base/json.h"
#include "base/text.h"
#include "report/table.h"
#include "report/vocabulary.h"

static size_t shown_rows(const struct list_counts *counts, uint32_t top)
{
	return top && top < counts->row_count ? top : counts->row_count;
}

static void list_print_rows(FILE *out, const struct list_counts *counts, size_t shown)
{
	struct table table = { 0 };

	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table, "events", TABLE_RIGHT);
	for (size_t i = 0; i < counts->name_count; i++)
		table_column(&table, counts->names[i],
			     i + 1 == counts->name_count ? TABLE_TEXT : TABLE_LEFT);
	for (size_t i = 0; i < shown; i++) {
		const struct list_count *row = &counts->rows[i];

		table_cell(&table, "%s", text_percent(row->count, counts->total).s);
		table_cell(&table, "%s", text_count(row->count).s);
		for (size_t j = 0; j < counts->name_count; j++)
			table_cell(&table, "%s", row->values[j] ? row->values[j] : "-");
	}
	table_print(&table, out);
	table_fini(&table);
}

static void list_print_text(FILE *out, const struct list_counts *counts, size_t shown)
{
	uint64_t rest = 0;

	fprintf(out, "%s event%s.\n", text_count(counts->total).s, counts->total == 1 ? "" : "s");
	if (counts->holes)
		fprintf(out,
			"The recording has %s hole%s here; at least %s event%s lost and not "
			"counted.\n",
			text_count(counts->holes).s, counts->holes == 1 ? "" : "s",
			text_count(counts->lost).s, counts->lost == 1 ? " was" : "s were");
	if (counts->row_count == 0)
		return;
	fputc('\n', out);
	list_print_rows(out, counts, shown);
	for (size_t i = shown; i < counts->row_count; i++)
		rest += counts->rows[i].count;
	if (rest)
		fprintf(out, "  and %s events of %s more (--top %zu shows all)\n",
			text_count(rest).s, text_count(counts->row_count - shown).s,
			counts->row_count);
	if (counts->uncounted)
		fprintf(out,
			"  and %s events with other values: more than %s values cannot be "
			"separated\n",
			text_count(counts->uncounted).s, text_count(counts->row_count).s);
}

static void list_print_json(FILE *out, const struct list_counts *counts, size_t shown)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "list");
	json_print_u64(&json, "events", counts->total);
	json_print_u64(&json, "uncounted", counts->uncounted);
	json_print_u64(&json, "holes", counts->holes);
	json_print_u64(&json, "lost_events", counts->lost);
	json_begin_array(&json, "counts");
	for (size_t i = 0; i < shown; i++) {
		json_begin_object(&json, NULL);
		for (size_t j = 0; j < counts->name_count; j++)
			json_print_string(&json, counts->names[j], counts->rows[i].values[j]);
		json_print_u64(&json, "count", counts->rows[i].count);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}

void report_list_counts(FILE *out, const struct list_counts *counts, uint32_t top, bool json)
{
	if (json)
		list_print_json(out, counts, shown_rows(counts, top));
	else
		list_print_text(out, counts, shown_rows(counts, top));
}
