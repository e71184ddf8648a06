/* hot.c - which code had the CPU, or was waited in: a table, or JSON. */
#include "report/hot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "report/frames.h"
#include "report/stats_int.h"
#include "report/table.h"
#include "report/vocabulary.h"
#include "report/why_int.h"

#define HOT_TOP	     20
#define HOT_TREE_TOP 60

struct hot_words {
	const char *title; /* of the column */
	const char *rows;  /* key in JSON */
};

static const struct hot_words hot_words[HOT_BY_COUNT] = {
	[HOT_FUNCTION] = { "function", "functions" }, [HOT_LINE] = { "line", "lines" },
	[HOT_MODULE] = { "file of code", "modules" }, [HOT_PROCESS] = { "process", "processes" },
	[HOT_THREAD] = { "thread", "threads" },
};

/* ------------------------------------------------------------------ text */

/* "inflate_fast (libz.so.1)", "inffast.c:212 in inflate_fast (libz.so.1)" */
static void hot_put_frame(FILE *out, const struct stack_frame *frame, enum hot_by by)
{
	const char *module = frame->module ? frame->module : "?";

	if (by == HOT_MODULE) {
		fputs(module, out);
		return;
	}
	if (by == HOT_LINE && frame->file && frame->line)
		fprintf(out, "%s:%" PRIu32 " in ", text_base_name(frame->file), frame->line);
	else if (by == HOT_LINE)
		fprintf(out, "%s+0x%" PRIx64 "%s", module, frame->offset,
			frame->function ? " in " : "");
	if (by == HOT_LINE && !frame->function)
		fputs(frame->line ? module : "", out);
	else
		frame_put_named(out, frame);
}

static char *hot_row_text(const struct hot_row *row, const struct report_hot_opts *opts)
{
	struct words words;

	words_begin(&words);
	if (opts->by >= HOT_PROCESS)
		fprintf(words.out, "%s[%d]", row->who.comm, row->who.tid);
	else if (row->frame)
		hot_put_frame(words.out, row->frame, opts->by);
	else
		fputs(opts->waits ? "unknown: shorter waits, and waits without a stack"
				  : "unknown: threads without a sample",
		      words.out);
	return words_end(&words);
}

static const struct {
	const char *name; /* in JSON */
	const char *words;
} hot_scopes[] = {
	[HOT_OF_TREE] = { "tree", "the command and its descendants" },
	[HOT_OF_ALL] = { "all", "all threads" },
	[HOT_OF_CHOSEN] = { "threads", "the chosen threads" },
	[HOT_OF_VERDICT] = { "verdict", "code that held up the target" },
};

const char *report_hot_scope_words(enum hot_scope scope)
{
	return hot_scopes[scope].words;
}

const char *report_hot_scope_name(enum hot_scope scope)
{
	return hot_scopes[scope].name;
}

static const char *hot_state_words(const struct report_hot_opts *opts)
{
	if (opts->waits)
		return "Waits";
	switch (opts->states) {
	case HOT_USER:
		return "Work in own code";
	case HOT_SYSCALL:
		return "Work in the kernel";
	case HOT_IRQ:
		return "Interrupts";
	default:
		return "Work";
	}
}

static void hot_print_head(FILE *out, const struct hot *hot, const struct facts *facts,
			   const struct report_hot_opts *opts)
{
	AUTO_FREE char *text =
		xasprintf("%s of %s: %s; %s %s%s", hot_state_words(opts),
			  hot_scopes[opts->scope].words, text_duration(hot->total_ns).s,
			  text_count(hot->samples).s, opts->waits ? "stack" : "sample",
			  hot->samples == 1 ? "" : "s");

	table_wrap(out, text, 0);
	fprintf(out, "  Window: %s to %s of the recording.\n",
		text_duration(hot->start_ns - facts->first_ns).s,
		text_duration(hot->end_ns - facts->first_ns).s);
}

static void hot_print_table(FILE *out, const struct hot *hot, const struct report_hot_opts *opts)
{
	enum text_unit unit = text_unit_for(hot->total_ns);
	size_t top = opts->top ? opts->top : HOT_TOP;
	bool by_code = opts->by < HOT_PROCESS;
	struct table table = { 0 };

	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table,
		     unit == TEXT_S    ? "self s"
		     : unit == TEXT_MS ? "self ms"
				       : "self us",
		     TABLE_RIGHT);
	if (by_code)
		table_column(&table, "with callees", TABLE_RIGHT);
	table_column(&table, opts->waits ? "waits" : "samples", TABLE_RIGHT);
	table_column(&table, hot_words[opts->by].title, TABLE_TEXT);
	for (size_t i = 0; i < hot->row_count && i < top; i++) {
		const struct hot_row *row = &hot->rows[i];
		AUTO_FREE char *text = hot_row_text(row, opts);

		table_cell(&table, "%s", text_percent(row->self_ns, hot->total_ns).s);
		table_cell(&table, "%s", bare_ns(row->self_ns, unit).s);
		if (by_code)
			table_cell(&table, "%s", text_percent(row->total_ns, hot->total_ns).s);
		table_cell(&table, "%s", text_count(row->samples).s);
		table_cell(&table, "%s", text);
	}
	table_print(&table, out);
	table_fini(&table);
	if (hot->row_count > top)
		fprintf(out, "  and %zu more row%s (--top %zu shows all)\n", hot->row_count - top,
			hot->row_count - top == 1 ? "" : "s", hot->row_count);
}

#define HOT_TREE_SHARE	100 /* a node of less than one part in so many is left out */
#define HOT_TREE_INDENT 40  /* deeper ones stand below each other */

/* The tree; of what was spent in a function itself its own column tells. */
static void hot_print_tree(FILE *out, const struct hot *hot, const struct report_hot_opts *opts)
{
	enum text_unit unit = text_unit_for(hot->total_ns);
	size_t top = opts->top ? opts->top : HOT_TREE_TOP, shown = 0, left = 0;
	struct table table = { 0 };

	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table, unit == TEXT_S ? "s" : unit == TEXT_MS ? "ms" : "us", TABLE_RIGHT);
	table_column(&table, "self", TABLE_RIGHT);
	table_column(&table, hot_words[opts->by].title, TABLE_TEXT);
	for (size_t i = 0; i < hot->node_count; i++) {
		const struct hot_node *node = &hot->nodes[i];
		const struct hot_row row = { .frame = node->frame };
		AUTO_FREE char *text = hot_row_text(&row, opts);
		uint32_t indent = node->depth < HOT_TREE_INDENT ? node->depth : HOT_TREE_INDENT;

		if (node->total_ns < hot->total_ns / HOT_TREE_SHARE || shown >= top) {
			left++;
			continue;
		}
		shown++;
		table_cell(&table, "%s", text_percent(node->total_ns, hot->total_ns).s);
		table_cell(&table, "%s", bare_ns(node->total_ns, unit).s);
		table_cell(&table, "%s", text_percent(node->self_ns, hot->total_ns).s);
		table_cell(&table, "%*s%s", (int)indent, "", text);
	}
	table_print(&table, out);
	table_fini(&table);
	if (left)
		fprintf(out, "  and %zu more row%s below 1 %%%s\n", left, left == 1 ? "" : "s",
			shown >= top ? " or after the last (--top N)" : "");
}

static void hot_print_notes(FILE *out, const struct hot *hot, const struct facts *facts,
			    const struct report_hot_opts *opts)
{
	AUTO_FREE char *unnamed = report_unnamed_words(facts);

	if (opts->note)
		stats_say(out, "%s", opts->note);
	if (hot->doubtful)
		stats_say(out,
			  "Not counted: %" PRIu64 " sample%s of threads that had no CPU according "
			  "to the events.",
			  hot->doubtful, hot->doubtful == 1 ? "" : "s");
	if (hot->lost)
		stats_say(out, "Lost: %" PRIu64 " samples in the whole recording.", hot->lost);
	if (unnamed)
		stats_say(out, "%s.", unnamed);
}

/* ------------------------------------------------------------------ JSON */

static void hot_json_u64(struct json *json, const char *key, uint64_t value)
{
	if (value)
		json_print_u64(json, key, value);
	else
		json_print_null(json, key);
}

static void hot_json_frame(struct json *json, const struct stack_frame *known, enum hot_by by)
{
	const struct stack_frame none = { 0 };
	const struct stack_frame *frame = known ? known : &none;

	if (by != HOT_MODULE)
		json_print_string(json, "function", frame->function);
	json_print_string(json, "module", frame->module);
	if (by != HOT_MODULE)
		hot_json_u64(json, "start", frame->start);
	if (by != HOT_LINE)
		return;
	json_print_string(json, "file", frame->file);
	hot_json_u64(json, "line", frame->line);
	hot_json_u64(json, "offset", frame->line ? 0 : frame->offset);
}

static void hot_json_row(struct json *json, const struct hot_row *row, enum hot_by by)
{
	json_begin_object(json, NULL);
	if (by >= HOT_PROCESS)
		report_json_thread_keys(json, &row->who);
	else
		hot_json_frame(json, row->frame, by);
	json_print_u64(json, "self_ns", row->self_ns);
	json_print_u64(json, "total_ns", row->total_ns);
	json_print_u64(json, "samples", row->samples);
	json_end_object(json);
}

static void hot_json_node(struct json *json, const struct hot_node *node, enum hot_by by)
{
	json_begin_object(json, NULL);
	json_print_u64(json, "depth", node->depth);
	hot_json_frame(json, node->frame, by);
	json_print_u64(json, "self_ns", node->self_ns);
	json_print_u64(json, "total_ns", node->total_ns);
	json_print_u64(json, "samples", node->samples);
	json_end_object(json);
}

static void hot_json(FILE *out, const struct hot *hot, const struct facts *facts,
		     const struct report_hot_opts *opts)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "hot");
	report_json_window(&json, hot->start_ns, hot->end_ns);
	json_print_string(&json, "scope", hot_scopes[opts->scope].name);
	json_print_u64(&json, "period_ns", hot->period_ns);
	json_print_u64(&json, "samples", hot->samples);
	json_print_u64(&json, "lost", hot->lost);
	json_print_u64(&json, "doubtful", hot->doubtful);
	json_print_u64(&json, "total_ns", hot->total_ns);
	json_begin_array(&json, hot_words[opts->by].rows);
	for (size_t i = 0; i < hot->row_count; i++)
		hot_json_row(&json, &hot->rows[i], opts->by);
	json_end_array(&json);
	if (hot->nodes) {
		json_begin_array(&json, "tree");
		for (size_t i = 0; i < hot->node_count; i++)
			hot_json_node(&json, &hot->nodes[i], opts->by);
		json_end_array(&json);
	}
	report_json_missing(&json, facts);
	report_json_damage(&json, facts, NULL);
	json_end_object(&json);
	json_fini(&json);
}

void report_hot(FILE *out, const struct hot *hot, const struct facts *facts,
		const struct report_hot_opts *opts)
{
	if (opts->json) {
		hot_json(out, hot, facts, opts);
		return;
	}
	hot_print_head(out, hot, facts, opts);
	if (hot->nodes)
		hot_print_tree(out, hot, opts);
	else
		hot_print_table(out, hot, opts);
	hot_print_notes(out, hot, facts, opts);
}
