/*
 * delays_heard.c - exits added up, as time(1) does for CPU time: where the lives of all threads of
 * a command went.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "accounts/heard.h"
#include "report/delays.h"
#include "report/delays_int.h"
#include "report/table.h"
#include "report/vocabulary.h"

#define ROWS_DEFAULT   20u
#define LOSSES_DEFAULT 10u

static uint64_t life_ns(const struct delays_group *group)
{
	return group->stats.life_us * 1000;
}

static uint64_t rest_ns(const struct delays_group *group)
{
	return delays_rest_ns(&group->stats, life_ns(group));
}

/* Longest life first; ties by name. */
static int by_life(const void *a, const void *b)
{
	const struct delays_group *left = *(const struct delays_group *const *)a;
	const struct delays_group *right = *(const struct delays_group *const *)b;

	if (left->stats.life_us != right->stats.life_us)
		return left->stats.life_us > right->stats.life_us ? -1 : 1;
	return strcmp(left->name, right->name);
}

static const struct delays_group **delays_heard_sorted(const struct delays_groups *groups)
{
	const struct delays_group **order =
		xcalloc(groups->count + 1, sizeof(struct delays_group *));

	for (size_t i = 0; i < groups->count; i++)
		order[i] = &groups->groups[i];
	qsort(order, groups->count, sizeof(struct delays_group *), by_life);
	return order;
}

static void share_cell(struct table *table, const struct delays_group *group,
		       enum delays_class class)
{
	if (delays_has_class(&group->stats, class))
		table_cell(table, "%s",
			   text_percent(group->stats.delay[class].total_ns, life_ns(group)).s);
	else
		table_cell(table, "-");
}

static void group_row(struct table *table, const struct delays_group *group)
{
	table_cell(table, "%s", text_duration(life_ns(group)).s);
	table_cell(table, "%s", text_percent(group->stats.run_ns, life_ns(group)).s);
	share_cell(table, group, DELAYS_CPU);
	share_cell(table, group, DELAYS_DISK);
	table_cell(table, "%s", text_percent(rest_ns(group), life_ns(group)).s);
	table_cell(table, "%s", text_count(group->processes).s);
	table_cell(table, "%s", text_count(group->threads).s);
	table_cell(table, "%s", group->name);
}

static void print_groups(FILE *out, const struct delays_heard *heard,
			 const struct report_delays_opts *opts)
{
	static const char *const titles[] = { "lived", "ran",	    "cpu",    "disk",
					      "rest",  "processes", "threads" };
	AUTO_FREE const struct delays_group **order = delays_heard_sorted(heard->groups);
	size_t top = opts->top ? opts->top : ROWS_DEFAULT, count = heard->groups->count;
	struct table table = { 0 };

	fputs("\nBy name:\n", out);
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		table_column(&table, titles[i], TABLE_RIGHT);
	table_column(&table, "name", TABLE_TEXT);
	for (size_t i = 0; i < count && i < top; i++)
		group_row(&table, order[i]);
	table_print(&table, out);
	table_fini(&table);
	if (count > top)
		fprintf(out, "  %zu more: --top %zu shows all\n", count - top, count);
}

static void heard_print_head(FILE *out, const struct delays_heard *heard)
{
	const struct delays_group *sum = &heard->sum;
	uint64_t life = life_ns(sum);
	AUTO_FREE char *command = heard->command ? text_escaped(heard->command) : NULL;

	if (command)
		fprintf(out, "%s took %s", command, text_duration(heard->wall_ns).s);
	else
		fprintf(out, "in %s", text_duration(heard->wall_ns).s);
	fprintf(out, "%s %s thread%s of %s process%s exited after living %s%s\n",
		command ? ";" : "", text_count(sum->threads).s, sum->threads == 1 ? "" : "s",
		text_count(sum->processes).s, sum->processes == 1 ? "" : "es",
		heard->lost ? "at least " : "", text_duration(life).s);
	fprintf(out, "they ran %s of that, waited for a CPU %s, for disk %s, ",
		text_percent(sum->stats.run_ns, life).s,
		text_percent(sum->stats.delay[DELAYS_CPU].total_ns, life).s,
		delays_has_class(&sum->stats, DELAYS_DISK)
			? text_percent(sum->stats.delay[DELAYS_DISK].total_ns, life).s
			: "(not counted)");
	fprintf(out, "and were asleep or blocked otherwise %s\n",
		text_percent(rest_ns(sum), life).s);
}

static void heard_note(FILE *out, const char *text)
{
	fputs("  ", out);
	table_wrap(out, text, 2);
}

static void delays_heard_print_losses(FILE *out, const struct delays_heard *heard)
{
	AUTO_FREE char *all = NULL;

	if (!heard->lost && !heard->damaged)
		return;
	all = xasprintf(
		"UNCERTAIN: %s exit records were lost, %s could not be read: all sums are too "
		"small. Use a larger --buffer.",
		text_count(heard->lost).s, text_count(heard->damaged).s);
	heard_note(out, all);
	for (size_t i = 0; i < heard->loss_count && i < LOSSES_DEFAULT; i++)
		fprintf(out, "    %s lost on CPUs %s, noticed %s after boot\n",
			text_count(heard->losses[i].lost_count).s, heard->losses[i].cpus,
			text_duration(heard->losses[i].time_ns).s);
	if (heard->loss_count > LOSSES_DEFAULT)
		fprintf(out, "    and %zu more times\n", heard->loss_count - LOSSES_DEFAULT);
}

static void heard_print_notes(FILE *out, const struct delays_heard *heard)
{
	fputs("\nNotes:\n", out);
	delays_heard_print_losses(out, heard);
	if (heard->account.state != DELAYS_ACCOUNT_ON)
		heard_note(out, "kernel.task_delayacct is off: only waits for a CPU were counted. "
				"holdup delays --enable turns it on.");
	if (heard->cpus) {
		AUTO_FREE char *text =
			xasprintf("Only exits on CPUs %s were counted.", heard->cpus);

		heard_note(out, text);
	}
	if (heard->sum.impossible) {
		AUTO_FREE char *text = xasprintf(
			"For %s threads the kernel counts a wait longer than their life (a known "
			"kernel bug). That class is omitted for them.",
			text_count(heard->sum.impossible).s);

		heard_note(out, text);
	}
	if (heard->living) {
		AUTO_FREE char *text = xasprintf("%s threads of the command still run; the sums "
						 "include their time up to now.",
						 text_count(heard->living).s);

		heard_note(out, text);
	}
	if (heard->command)
		heard_note(out,
			   "The sum covers the command and all descendants, including daemons; not "
			   "work of other processes on their behalf.");
	else
		heard_note(out, "Living tasks are not in the sums.");
}

static void heard_text(FILE *out, const struct delays_heard *heard,
		       const struct report_delays_opts *opts)
{
	heard_print_head(out, heard);
	fputc('\n', out);
	delays_text_classes(out, &heard->sum.stats, life_ns(&heard->sum));
	delays_text_rest(out, &heard->sum.stats, false);
	print_groups(out, heard, opts);
	heard_print_notes(out, heard);
}

/* ------------------------------------------------------------------------ JSON */

static void group_json(struct json *json, const char *key, const struct delays_group *group)
{
	json_begin_object(json, key);
	if (!key)
		json_print_string(json, "name", group->name);
	json_print_u64(json, "processes", group->processes);
	json_print_u64(json, "threads", group->threads);
	json_print_u64(json, "impossible", group->impossible);
	json_print_u64(json, "base_ns", life_ns(group));
	json_print_u64(json, "run_ns", group->stats.run_ns);
	json_print_u64(json, "run_real_ns", group->stats.run_real_ns);
	json_print_u64(json, "user_ns", group->stats.user_us * 1000);
	json_print_u64(json, "system_ns", group->stats.system_us * 1000);
	delays_json_classes(json, &group->stats);
	json_print_u64(json, "rest_ns", rest_ns(group));
	delays_json_rest(json, &group->stats, false);
	json_end_object(json);
}

static void losses_json(struct json *json, const struct delays_heard *heard)
{
	json_print_u64(json, "lost_records", heard->lost);
	json_print_u64(json, "damaged_records", heard->damaged);
	json_begin_array(json, "losses");
	for (size_t i = 0; i < heard->loss_count; i++) {
		json_begin_object(json, NULL);
		json_print_string(json, "cpus", heard->losses[i].cpus);
		json_print_u64(json, "time_ns", heard->losses[i].time_ns);
		json_print_u64(json, "lost_records", heard->losses[i].lost_count);
		json_end_object(json);
	}
	json_end_array(json);
}

static void heard_json(FILE *out, const struct delays_heard *heard,
		       const struct report_delays_opts *opts)
{
	AUTO_FREE const struct delays_group **order = delays_heard_sorted(heard->groups);
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "delays-exits");
	if (opts->host)
		json_print_string(&json, "host", opts->host);
	json_print_string(&json, "command", heard->command);
	json_print_u64(&json, "wall_ns", heard->wall_ns);
	json_print_bool(&json, "accounting", heard->account.state == DELAYS_ACCOUNT_ON);
	json_print_u64(&json, "cpus", heard->cpu_count);
	json_print_bool(&json, "all_cpus", !heard->cpus);
	json_print_u64(&json, "exits", heard->exits);
	json_print_u64(&json, "living", heard->living);
	json_print_bool(&json, "certain", !heard->lost && !heard->damaged);
	losses_json(&json, heard);
	group_json(&json, "sum", &heard->sum);
	json_begin_array(&json, "names");
	for (size_t i = 0; i < heard->groups->count; i++)
		group_json(&json, NULL, order[i]);
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}

void report_delays_heard(FILE *out, const struct delays_heard *heard,
			 const struct report_delays_opts *opts)
{
	if (opts->json)
		heard_json(out, heard, opts);
	else
		heard_text(out, heard, opts);
}

void report_delays_exit(FILE *out, const struct delays_message *exit, uint64_t time_ns)
{
	const struct delays_stats *stats = &exit->thread;
	struct json json = { .out = out };

	json_begin_object(&json, NULL);
	json_print_u64(&json, "time_ns", time_ns);
	json_print_i64(&json, "tid", exit->tid);
	json_print_i64(&json, "pid", stats->has & DELAYS_HAS_TGID ? stats->tgid : exit->tid);
	json_print_i64(&json, "ppid", stats->ppid);
	json_print_bool(&json, "last", (stats->flags & DELAYS_FLAG_LAST) != 0);
	json_print_string(&json, "name", stats->name);
	json_print_u64(&json, "uid", stats->uid);
	json_print_u64(&json, "exit_status", stats->exit_status);
	json_print_u64(&json, "base_ns", stats->life_us * 1000);
	json_print_u64(&json, "run_ns", stats->run_ns);
	delays_json_classes(&json, stats);
	delays_json_rest(&json, stats, false);
	json_end_object(&json);
	json_fini(&json);
}
