/*
 * reconcile.c - both values of each class side by side, and in words what sets them apart.
 */
#include "report/reconcile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/accounts/memory_spans.h"
#include "analyse/accounts/reconcile.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/table.h"
#include "report/vocabulary.h"

#define TASKS_DEFAULT 5u

static const char *class_words(size_t row)
{
	return row == RECONCILE_RUN ? "running" : delays_class_words((enum delays_class)row);
}

static const char *const why_words[RECONCILE_WHYS] = {
	[RECONCILE_OFF] = "the accounting was off (kernel.task_delayacct)",
	[RECONCILE_OLDER] = "the task is older than the accounting, so the kernel never counts it",
	[RECONCILE_NO_CLASS] = "this kernel has no count",
	[RECONCILE_NO_START] =
		"the thread existed before the recording, and its account then is unknown",
	[RECONCILE_NO_END] = "the last account is missing: the exit record was lost",
	[RECONCILE_NO_THREAD] = "no events of the thread",
	[RECONCILE_NO_EVENTS] = "the needed events were not recorded",
	[RECONCILE_UNTOLD] = "there is no such kernel event",
	[RECONCILE_LOST] = "events were lost",
	[RECONCILE_OMITTED] = "this kernel omits switches out of idle from its events",
	[RECONCILE_BEGAN] = "the state of the thread was unknown when the recording began",
	[RECONCILE_UNSURE] = "the events contradict each other, lack a wake-up, or cannot be read",
	[RECONCILE_ASKED] = "the account was read slightly before or after the events' span",
	[RECONCILE_OPEN] = "the kernel counts a pending wait only at its end",
	[RECONCILE_EDGES] = "each event is slightly before or after the kernel's clock reading",
	[RECONCILE_IRQ_TIME] = "the kernel counts interrupts with CONFIG_IRQ_TIME_ACCOUNTING only",
	[RECONCILE_MARKED] = "the kernel counts waits marked as I/O, and no event tells which "
			     "waits these are",
	[RECONCILE_DELAYED] =
		"Linux 6.12 and later may start a disk wait on another thread's account, when the "
		"sleeper is dequeued late",
	[RECONCILE_IMPOSSIBLE] = "the kernel counted a wait longer than the thread's life",
	[RECONCILE_ZONES] = "the kernel also counts the choice of zones",
	[RECONCILE_QUEUED] = "the kernel ends a disk wait when the thread is queued, perhaps by "
			     "another CPU's interrupt: less time is waiting for a CPU",
	[RECONCILE_STOLEN] = "a hypervisor stole CPU time: it is not run time, and interrupts "
			     "were late",
	[RECONCILE_MOVED] =
		"Linux 6.12 and later count a sleeping thread as waiting for a CPU, if it is "
		"migrated before it is dequeued",
	[RECONCILE_IRQ_RUN] = "the kernel subtracts interrupts from the run time",
};

/* What stands for all threads of the report, and is not said at each of them. */
static bool is_sized(enum reconcile_why why)
{
	return why >= RECONCILE_LOST && why != RECONCILE_IMPOSSIBLE;
}

/* The largest reason that is not told yet; of those without a size the first. */
static enum reconcile_why next_why(const struct reconcile_class *row, uint32_t told)
{
	enum reconcile_why best = RECONCILE_WHYS;

	for (enum reconcile_why why = 0; why < RECONCILE_WHYS; why++) {
		if (!(row->whys & ~told & 1u << why))
			continue;
		if (best == RECONCILE_WHYS || row->at_most_ns[why] > row->at_most_ns[best])
			best = why;
	}
	return best;
}

static void reconcile_put_why(FILE *out, const struct reconcile_class *row, size_t index,
			      enum reconcile_why why)
{
	if (is_sized(why))
		fprintf(out, "up to %s: ", text_duration(row->at_most_ns[why]).s);
	fputs(why_words[why], out);
	if (why == RECONCILE_NO_EVENTS)
		fprintf(out, " (%s)", memory_class_events((enum delays_class)index));
}

/* Reasons, the largest first, until the difference is explained. Free it with free(). */
static char *reconcile_explain(const struct reconcile_class *row, size_t index)
{
	bool both = row->kernel.known && row->events.known;
	int64_t difference = reconcile_difference(row);
	uint64_t left = (uint64_t)(difference < 0 ? -difference : difference);
	enum reconcile_why why;
	uint32_t told = 0;
	char *text = NULL;
	size_t bytes;
	FILE *out;

	if (reconcile_agrees(row))
		return xstrdup("");
	out = open_memstream(&text, &bytes);
	if (!out)
		abort();
	while ((!both || left) && (why = next_why(row, told)) != RECONCILE_WHYS) {
		fputs(told ? "; " : "", out);
		reconcile_put_why(out, row, index, why);
		told |= 1u << why;
		left -= left < row->at_most_ns[why] ? left : row->at_most_ns[why];
	}
	if (row->unexplained_ns)
		fprintf(out, "%sunexplained: %s", told ? "; " : "",
			text_duration(row->unexplained_ns).s);
	fclose(out);
	return text;
}

/* ------------------------------------------------------------------------- text */

static void value_cells(struct table *table, const struct reconcile_value *value, bool has_count)
{
	table_cell(table, "%s", value->known ? text_duration(value->ns).s : "-");
	table_cell(table, "%s", value->known && has_count ? text_count(value->count).s : "-");
}

static void difference_cells(struct table *table, const struct reconcile_class *row)
{
	int64_t difference = reconcile_difference(row);
	uint64_t size = (uint64_t)(difference < 0 ? -difference : difference);
	uint64_t larger = row->kernel.ns > row->events.ns ? row->kernel.ns : row->events.ns;

	if (!row->kernel.known || !row->events.known) {
		table_cell(table, "-");
		table_cell(table, "-");
		return;
	}
	table_cell(table, "%s%s", difference < 0 ? "-" : "", text_duration(size).s);
	table_cell(table, "%s", size ? text_percent(size, larger).s : "0 %");
}

static void reconcile_print_rows(FILE *out, const struct reconcile_task *task)
{
	static const char *const titles[] = { "kernel", "count", "events", "count", "differ", "" };
	struct table table = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		table_column(&table, titles[i], TABLE_RIGHT);
	table_column(&table, "", TABLE_TEXT);
	for (size_t at = 0; at < RECONCILE_ROWS; at++) {
		size_t i = at == 0 ? RECONCILE_RUN : at - 1;
		const struct reconcile_class *row = &task->rows[i];
		AUTO_FREE char *words = reconcile_explain(row, i);

		if (!row->kernel.known && !row->events.known)
			continue;
		value_cells(&table, &row->kernel, i != RECONCILE_RUN);
		value_cells(&table, &row->events, i != RECONCILE_RUN);
		difference_cells(&table, row);
		table_cell(&table, "%s%s%s", class_words(i), words[0] ? ": " : "", words);
	}
	table_print(&table, out);
	table_fini(&table);
}

/* The classes that neither tells, and why the kernel does not. */
static void print_untold(FILE *out, const struct reconcile_task *task)
{
	const struct reconcile_class *first = NULL;
	AUTO_FREE char *text = xstrdup("known to neither:");
	AUTO_FREE char *whole = NULL;
	enum reconcile_why why;

	for (size_t i = 0; i < RECONCILE_ROWS; i++) {
		const struct reconcile_class *row = &task->rows[i];
		char *longer;

		if (row->kernel.known || row->events.known)
			continue;
		longer = xasprintf("%s%s %s", text, first ? "," : "", class_words(i));
		free(text);
		text = longer;
		first = first ? first : row;
	}
	if (!first)
		return;
	why = next_why(first, 1u << RECONCILE_UNTOLD);
	whole = xasprintf("%s: %s", text,
			  why_words[why == RECONCILE_WHYS ? RECONCILE_UNTOLD : why]);
	fputs("  ", out);
	table_wrap(out, whole, 2);
}

static void print_sched(FILE *out, const struct reconcile_task *task)
{
	if (!task->has_sched)
		return;
	fprintf(out, "  schedstat: ran %s, waited for a CPU %s, was scheduled %s times",
		text_duration(task->sched_run_ns).s, text_duration(task->sched_queued_ns).s,
		text_count(task->sched_count).s);
	if (task->sched_off_ns)
		fprintf(out, "; taskstats differs by %s more than the time between the queries\n",
			text_duration(task->sched_off_ns).s);
	else
		fputs(", equal to taskstats\n", out);
}

static void reconcile_print_task(FILE *out, const struct reconcile_task *task)
{
	AUTO_FREE char *safe = text_escaped(task->name);

	if (task->is_process)
		fprintf(out, "\n%s[%d]", safe, task->tgid);
	else
		fprintf(out, "\nthread %d (%s) of %d", task->tid, safe, task->tgid);
	if (task->is_process && task->threads > 1)
		fprintf(out, ", %u threads", task->threads);
	fprintf(out, ", compared over %s%s:\n", text_duration(task->span_ns).s,
		task->began && task->ended ? ", from creation to exit"
		: task->began		   ? " since creation"
		: task->ended		   ? " up to exit"
					   : "");
	reconcile_print_rows(out, task);
	print_untold(out, task);
	print_sched(out, task);
}

static void print_pressure(FILE *out, const struct reconcile *result)
{
	struct table table = { 0 };

	if (!result->pressure_count)
		return;
	table_column(&table, "some", TABLE_RIGHT);
	table_column(&table, "full", TABLE_RIGHT);
	table_column(&table, "of", TABLE_RIGHT);
	table_column(&table, "", TABLE_TEXT);
	for (size_t i = 0; i < result->pressure_count; i++) {
		const struct reconcile_pressure *row = &result->pressures[i];

		table_cell(&table, "%s", row->has_some ? text_duration(row->some_ns).s : "-");
		table_cell(&table, "%s", row->has_full ? text_duration(row->full_ns).s : "-");
		table_cell(&table, "%s", text_duration(row->span_ns).s);
		table_cell(&table, "%s, %s", row->resource,
			   row->cgroup[0] ? row->cgroup : "the machine");
	}
	fputs("\nPressure while recording (some: at least one task stalled; full: all did)\n", out);
	table_print(&table, out);
	table_fini(&table);
}

struct counts {
	size_t agree, explained, unexplained, one_sided;
	uint64_t unexplained_ns;
};

static void count_rows(const struct reconcile *result, struct counts *out_counts)
{
	struct counts counts = { 0 };

	for (size_t i = 0; i < result->count; i++) {
		for (size_t k = 0; result->tasks[i].is_process && k < RECONCILE_ROWS; k++) {
			const struct reconcile_class *row = &result->tasks[i].rows[k];

			if (!row->kernel.known || !row->events.known)
				counts.one_sided++;
			else if (reconcile_agrees(row))
				counts.agree++;
			else if (row->unexplained_ns)
				counts.unexplained++;
			else
				counts.explained++;
			counts.unexplained_ns += row->unexplained_ns;
		}
	}
	*out_counts = counts;
}

static void reconcile_print_conclusion(FILE *out, const struct reconcile *result)
{
	struct counts counts;

	count_rows(result, &counts);
	fprintf(out,
		"Of %zu numbers known to both kernel and events, %zu agree within 1 %% or 0.1 "
		"ms,\n%zu differ for known reasons, %zu differ unexplained",
		counts.agree + counts.explained + counts.unexplained, counts.agree,
		counts.explained, counts.unexplained);
	if (counts.unexplained_ns)
		fprintf(out, " (by %s together)", text_duration(counts.unexplained_ns).s);
	fprintf(out, "; %zu are known to only one.\n", counts.one_sided);
}

/* Processes by how long they waited or ran by either account, the first ones first. */
static int reconcile_by_size(const void *a, const void *b)
{
	const struct reconcile_task *x = *(const struct reconcile_task *const *)a;
	const struct reconcile_task *y = *(const struct reconcile_task *const *)b;
	uint64_t left = 0, right = 0;

	for (size_t i = 0; i < RECONCILE_ROWS; i++) {
		left += x->rows[i].kernel.ns;
		right += y->rows[i].kernel.ns;
	}
	if (left != right)
		return left < right ? 1 : -1;
	return x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
}

static void reconcile_note(FILE *out, const char *text)
{
	fputs("  ", out);
	table_wrap(out, text, 2);
}

static void print_scale(FILE *out, const struct reconcile_scale *scale)
{
	AUTO_FREE char *text =
		scale->threads
			? xasprintf(
				  "CPU time of %s threads that switched often differs per switch "
				  "by less than %s for half of them and less than %s for 90 %%. "
				  "At each wait, %s is assumed between the event and the kernel's "
				  "clock reading.",
				  text_count(scale->threads).s, text_duration(scale->apart_ns).s,
				  text_duration(scale->most_ns).s, text_duration(scale->edge_ns).s)
			: xasprintf(
				  "The time between events and the kernel's clock readings could "
				  "not be measured: fewer than five threads switched often. %s is "
				  "assumed at each wait.",
				  text_duration(scale->edge_ns).s);

	reconcile_note(out, text);
}

static void reconcile_print_notes(FILE *out, const struct reconcile *result)
{
	fputs("\nNotes:\n", out);
	reconcile_note(
		out, "Running, waiting for a CPU and for disk never overlap; the other classes are "
		     "contained in these. The kernel also counts blocking waits for swap and "
		     "thrashing pages as waits for disk.");
	if (result->state != DELAYS_ACCOUNT_ON)
		reconcile_note(
			out,
			"kernel.task_delayacct was off when the recording began: the kernel then "
			"counts CPUs only. holdup delays --enable turns it on.");
	if (!result->complete)
		reconcile_note(out, "The accounts do not cover the end of the recording.");
	if (result->damage)
		reconcile_note(out, result->damage);
	print_scale(out, &result->scale);
	if (result->lost_exits) {
		AUTO_FREE char *text =
			xasprintf("%s exit records were lost: the accounts do not cover these "
				  "threads.",
				  text_count(result->lost_exits).s);

		reconcile_note(out, text);
	}
	if (result->lost_events) {
		AUTO_FREE char *text =
			xasprintf("%s events were lost.", text_count(result->lost_events).s);

		reconcile_note(out, text);
	}
	if (result->memory_cut) {
		AUTO_FREE char *text = xasprintf(
			"%s spans of reclaim or compaction with only one end in the recording are "
			"omitted.",
			text_count(result->memory_cut).s);

		reconcile_note(out, text);
	}
}

static void reconcile_print_text(FILE *out, const struct reconcile *result,
				 const struct report_reconcile_opts *opts)
{
	const struct reconcile_task **order =
		xcalloc(result->count, sizeof(struct reconcile_task *));
	size_t top = opts->top ? opts->top : TASKS_DEFAULT, count = 0;

	for (size_t i = 0; i < result->count; i++) {
		if (result->tasks[i].is_process)
			order[count++] = &result->tasks[i];
	}
	qsort(order, count, sizeof(struct reconcile_task *), reconcile_by_size);
	reconcile_print_conclusion(out, result);
	for (size_t i = 0; i < count && i < top; i++) {
		const struct reconcile_task *end = result->tasks + result->count;

		reconcile_print_task(out, order[i]);
		for (const struct reconcile_task *thread = order[i] + 1;
		     thread < end && !thread->is_process; thread++)
			reconcile_print_task(out, thread);
	}
	if (count > top)
		fprintf(out, "\n  %zu more processes: --top %zu shows all\n", count - top, count);
	free(order);
	print_pressure(out, result);
	reconcile_print_notes(out, result);
}

/* ------------------------------------------------------------------------- JSON */

static void json_value(struct json *json, const char *key, const struct reconcile_value *value)
{
	if (!value->known) {
		json_print_null(json, key);
		return;
	}
	json_begin_object(json, key);
	json_print_u64(json, "total_ns", value->ns);
	json_print_u64(json, "count", value->count);
	json_end_object(json);
}

static void json_whys(struct json *json, const struct reconcile_class *row)
{
	json_begin_array(json, "reasons");
	for (enum reconcile_why why = 0; why < RECONCILE_WHYS; why++) {
		if (!(row->whys & 1u << why))
			continue;
		json_begin_object(json, NULL);
		json_print_string(json, "reason", reconcile_why_name(why));
		json_print_string(json, "words", why_words[why]);
		if (is_sized(why))
			json_print_u64(json, "at_most_ns", row->at_most_ns[why]);
		else
			json_print_null(json, "at_most_ns");
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_class(struct json *json, const char *key, const struct reconcile_class *row)
{
	bool both = row->kernel.known && row->events.known;

	json_begin_object(json, key);
	json_value(json, "kernel", &row->kernel);
	json_value(json, "events", &row->events);
	if (both)
		json_print_i64(json, "difference_ns", reconcile_difference(row));
	else
		json_print_null(json, "difference_ns");
	json_print_bool(json, "agrees", reconcile_agrees(row));
	json_whys(json, row);
	if (both)
		json_print_u64(json, "unexplained_ns", row->unexplained_ns);
	else
		json_print_null(json, "unexplained_ns");
	json_end_object(json);
}

static void json_task(struct json *json, const struct reconcile_task *task)
{
	json_begin_object(json, NULL);
	json_print_bool(json, "process", task->is_process);
	json_print_i64(json, "pid", task->tgid);
	json_print_i64(json, "tid", task->tid);
	json_print_string(json, "name", task->name);
	json_print_u64(json, "threads", task->is_process ? task->threads : 1);
	json_print_u64(json, "span_ns", task->span_ns);
	json_print_bool(json, "began", task->began);
	json_print_bool(json, "ended", task->ended);
	json_class(json, "run", &task->rows[RECONCILE_RUN]);
	json_begin_object(json, "delays");
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++)
		json_class(json, delays_class_name(class), &task->rows[class]);
	json_end_object(json);
	if (task->has_sched) {
		json_begin_object(json, "schedstat");
		json_print_u64(json, "run_ns", task->sched_run_ns);
		json_print_u64(json, "queued_ns", task->sched_queued_ns);
		json_print_u64(json, "count", task->sched_count);
		json_print_u64(json, "off_ns", task->sched_off_ns);
		json_end_object(json);
	} else {
		json_print_null(json, "schedstat");
	}
	json_end_object(json);
}

static void json_pressure(struct json *json, const struct reconcile_pressure *row)
{
	json_begin_object(json, NULL);
	json_print_string(json, "resource", row->resource);
	json_print_string(json, "cgroup", row->cgroup);
	json_print_u64(json, "span_ns", row->span_ns);
	if (row->has_some)
		json_print_u64(json, "some_ns", row->some_ns);
	else
		json_print_null(json, "some_ns");
	if (row->has_full)
		json_print_u64(json, "full_ns", row->full_ns);
	else
		json_print_null(json, "full_ns");
	json_end_object(json);
}

static void reconcile_print_json(FILE *out, const struct reconcile *result)
{
	static const char *const states[] = { [DELAYS_ACCOUNT_NONE] = "none",
					      [DELAYS_ACCOUNT_OFF] = "off",
					      [DELAYS_ACCOUNT_ON] = "on" };
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "delays-reconcile");
	json_begin_object(&json, "accounting");
	json_print_string(&json, "state", states[result->state]);
	json_print_bool(&json, "since_boot", result->since_boot);
	json_end_object(&json);
	json_print_bool(&json, "complete", result->complete);
	json_print_string(&json, "damage", result->damage);
	json_print_u64(&json, "lost_exits", result->lost_exits);
	json_print_u64(&json, "lost_events", result->lost_events);
	json_print_u64(&json, "cut_spans", result->memory_cut);
	json_begin_object(&json, "scale");
	json_print_u64(&json, "edge_ns", result->scale.edge_ns);
	json_print_u64(&json, "apart_ns", result->scale.apart_ns);
	json_print_u64(&json, "most_ns", result->scale.most_ns);
	json_print_u64(&json, "threads", result->scale.threads);
	json_print_u64(&json, "tick_ns", result->scale.tick_ns);
	json_end_object(&json);
	json_begin_array(&json, "tasks");
	for (size_t i = 0; i < result->count; i++)
		json_task(&json, &result->tasks[i]);
	json_end_array(&json);
	json_begin_array(&json, "pressure");
	for (size_t i = 0; i < result->pressure_count; i++)
		json_pressure(&json, &result->pressures[i]);
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}

void report_reconcile(FILE *out, const struct reconcile *result,
		      const struct report_reconcile_opts *opts)
{
	if (opts->json)
		reconcile_print_json(out, result);
	else
		reconcile_print_text(out, result, opts);
}
