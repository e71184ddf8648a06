/* info.c - what is in a trace, for people: the conclusion, then what it rests on. */
#include "report/info.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/stats/info.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "report/info_int.h"
#include "report/table.h"
#include "report/vocabulary.h"

#define NS_PER_S   1000000000u
#define KEY_COLUMN 14

/* "  recorded by   ..." */
static void info_put_row(FILE *out, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void info_put_row(FILE *out, const char *key, const char *format, ...)
{
	AUTO_FREE char *safe = NULL;
	char *text = NULL;
	va_list args;
	int rc;

	va_start(args, format);
	rc = vasprintf(&text, format, args);
	va_end(args);
	if (rc < 0)
		return;
	safe = text_escaped(text);
	free(text);
	fprintf(out, "  %-*s", KEY_COLUMN, key);
	table_wrap(out, safe, KEY_COLUMN + 2);
}

static const char *or_unknown(const char *text)
{
	return text && *text ? text : "not known";
}

static uint64_t info_length_of(const struct facts *facts)
{
	return facts->last_ns > facts->first_ns ? facts->last_ns - facts->first_ns : 0;
}

static void put_conclusion(FILE *out, const struct info *info, const char *path)
{
	const struct facts *facts = info->facts;
	AUTO_FREE char *safe = text_escaped(path);

	fprintf(out, "%s: %s events in %s", safe, text_count(info->events).s,
		text_duration(info_length_of(facts)).s);
	if (info_is_whole(info))
		fputs("; complete, nothing lost", out);
	if (info->lost_events)
		fprintf(out, "; %s%s events lost", info->holes_unknown ? "at least " : "",
			text_count(info->lost_events).s);
	if (facts->damage_count)
		fprintf(out, "; damaged in %zu place%s", facts->damage_count,
			facts->damage_count == 1 ? "" : "s");
	if (!facts->complete)
		fputs("; the recorder did not finish", out);
	fputs("\n\n", out);
}

/* A moment of the trace clock as UTC; "" when the trace does not tell. */
static struct text wall_of(const struct facts *facts, uint64_t ns)
{
	struct text text = { "" };
	int64_t wall = (int64_t)((uint64_t)facts->realtime_offset_ns + ns);
	time_t seconds = (time_t)(wall / NS_PER_S);
	struct tm tm;
	size_t used;

	if (facts->realtime_offset_ns <= 0 || wall < 0 || !gmtime_r(&seconds, &tm))
		return text;
	used = strftime(text.s, sizeof(text.s), "%Y-%m-%d %H:%M:%S", &tm);
	(void)snprintf(text.s + used, sizeof(text.s) - used, ".%09lld",
		       (long long)(wall % NS_PER_S));
	return text;
}

static void info_put_status(FILE *out, const struct facts *facts)
{
	int status = facts->target_status;

	if (facts->target_tid == 0)
		return;
	if (status < 0)
		info_put_row(out, "command", "%s (thread %d)", or_unknown(facts->target_cmdline),
			     facts->target_tid);
	else if ((status & 0x7f) == 0)
		info_put_row(out, "command", "%s (thread %d), exit status %d",
			     or_unknown(facts->target_cmdline), facts->target_tid,
			     status >> 8 & 0xff);
	else
		info_put_row(out, "command", "%s (thread %d), killed by signal %d",
			     or_unknown(facts->target_cmdline), facts->target_tid, status & 0x7f);
}

static uint64_t bytes_a_second(const struct info *info, uint64_t length_ns)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < info->stream_count; i++)
		bytes += info->streams[i].bytes;
	return (uint64_t)((double)bytes * NS_PER_S / (double)length_ns);
}

/* What those paid who had the events, and all together. */
static void put_events_cost(FILE *out, const struct info *info)
{
	const struct fact_cost *cost = &info->facts->cost;
	double all_ns = (double)info_length_of(info->facts) * cost->cpus;

	if (!cost->events_ns || !(all_ns > 0))
		return;
	info_put_row(
		out, "",
		"about %s of the programs' time for the events, estimated: %s ns each, %s ns of a system call",
		text_duration(cost->events_ns).s, text_count(cost->event_ns).s,
		text_count(cost->call_event_ns).s);
	info_put_row(out, "", "all together about %.2f %% of the time of %s CPUs",
		     100.0 * (double)fact_cost_all_ns(cost) / all_ns, text_count(cost->cpus).s);
	if (cost->budget_ns)
		info_put_row(out, "",
			     "without beginning and ending about %.2f %%; the budget is %g %%",
			     fact_cost_kept(cost), cost->budget_ppm / 1e4);
}

static void info_put_cost(FILE *out, const struct info *info)
{
	const struct fact_cost *cost = &info->facts->cost;
	uint64_t length_ns = info_length_of(info->facts);

	if (!cost->cpu_ns || !length_ns)
		return;
	info_put_row(out, "cost", "%s of CPU time of the recorder, %.1f %% of a CPU",
		     text_duration(cost->cpu_ns).s,
		     100.0 * (double)cost->cpu_ns / (double)length_ns);
	if (cost->bpf_window_ns)
		info_put_row(out, "", "%s in its BPF programs, %.1f %% of a CPU, in the first %s",
			     text_duration(cost->bpf_ns).s,
			     100.0 * (double)cost->bpf_ns / (double)cost->bpf_window_ns,
			     text_duration(cost->bpf_window_ns).s);
	put_events_cost(out, info);
	info_put_row(out, "", "%s events and %s a second",
		     text_count((uint64_t)((double)info->events * NS_PER_S / (double)length_ns)).s,
		     text_size(bytes_a_second(info, length_ns)).s);
}

static void info_put_head(FILE *out, const struct info *info)
{
	const struct facts *facts = info->facts;
	struct text wall = wall_of(facts, facts->first_ns);

	info_put_row(out, "format", "%s", or_unknown(facts->format));
	info_put_row(out, "recorded by", "%s%s%s", or_unknown(facts->tracer),
		     facts->recorder && *facts->recorder ? ": " : "",
		     facts->recorder ? facts->recorder : "");
	info_put_row(out, "host", "%s, Linux %s, %s", or_unknown(facts->host),
		     or_unknown(facts->kernel), or_unknown(facts->arch));
	info_put_status(out, facts);
	info_put_row(out, "began", "%s%s%" PRIu64 ".%09" PRIu64 " s on the trace clock", wall.s,
		     *wall.s ? " UTC, " : "", facts->first_ns / NS_PER_S,
		     facts->first_ns % NS_PER_S);
	info_put_row(out, "lasted", "%s", text_duration(info_length_of(facts)).s);
	info_put_row(out, "clock", "%s", or_unknown(facts->clock));
	if (facts->is_lean)
		info_put_row(out, "events", "%s",
			     "lean: of system calls, the one that a thread waits in");
	info_put_cost(out, info);
	if (facts->thread_count || facts->fd_count || facts->symbol_count)
		info_put_row(out, "state dump", "%s threads, %s descriptors, %s kernel functions",
			     text_count(facts->thread_count).s, text_count(facts->fd_count).s,
			     text_count(facts->symbol_count).s);
}

/* ------------------------------------------------------------------ streams */

static void put_moment(struct table *table, const struct info *info, uint64_t ns)
{
	uint64_t first = info->facts->first_ns;

	if (ns == 0)
		table_cell(table, "-");
	else if (ns < first)
		table_cell(table, "-%s", text_duration(first - ns).s);
	else
		table_cell(table, "+%s", text_duration(ns - first).s);
}

/* Each change of what is recorded. */
static void put_steps(FILE *out, const struct info *info)
{
	const struct facts *facts = info->facts;
	struct table table = { 0 };

	if (!facts->step_count)
		return;
	fprintf(out, "\nSteps of the budget, %g %% of the CPUs' time, times since the start:\n",
		facts->cost.budget_ppm / 1e4);
	table_column(&table, "from", TABLE_RIGHT);
	table_column(&table, "cost", TABLE_RIGHT);
	table_column(&table, "recorded", TABLE_LEFT);
	table_column(&table, "cannot be told", TABLE_TEXT);
	for (size_t i = 0; i < facts->step_count; i++) {
		const struct fact_step *step = &facts->steps[i];

		put_moment(&table, info, step->since_ns);
		table_cell(&table, "%.2f %%", step->cost_ppm / 1e4);
		table_cell(&table, "%s", report_step_words(step->step, facts->has_lean_steps));
		table_cell(&table, "%s", report_step_lacks(step->step, facts->has_lean_steps));
	}
	table_print(&table, out);
	table_fini(&table);
}

static void info_put_streams(FILE *out, const struct info *info)
{
	struct table table = { 0 };

	fputs("\nStreams, times since the start of the recording:\n", out);
	table_column(&table, "events", TABLE_RIGHT);
	table_column(&table, "size", TABLE_RIGHT);
	table_column(&table, "lost", TABLE_RIGHT);
	table_column(&table, "first", TABLE_RIGHT);
	table_column(&table, "last", TABLE_RIGHT);
	table_column(&table, "of", TABLE_TEXT);
	for (size_t i = 0; i < info->stream_count; i++) {
		const struct info_stream *stream = &info->streams[i];

		table_cell(&table, "%s", text_count(stream->events).s);
		table_cell(&table, "%s", stream->bytes ? text_size(stream->bytes).s : "-");
		table_cell(&table, "%s", text_count(stream->lost).s);
		put_moment(&table, info, stream->first_ns);
		put_moment(&table, info, stream->last_ns);
		if (stream->name)
			table_cell(&table, "%s", stream->name);
		else
			table_cell(&table, "CPU %d%s", stream->cpu,
				   stream->is_user ? ", programs" : "");
	}
	table_print(&table, out);
	table_fini(&table);
}

/* ------------------------------------------------------------------ events */

static void info_put_types(FILE *out, const struct info *info, uint32_t top)
{
	size_t count = top && top < info->type_count ? top : info->type_count;
	struct table table = { 0 };

	fprintf(out, "\nEvents, %s type%s:\n", text_count(info->type_count).s,
		info->type_count == 1 ? "" : "s");
	table_column(&table, "events", TABLE_RIGHT);
	table_column(&table, "share", TABLE_RIGHT);
	table_column(&table, "type", TABLE_TEXT);
	for (size_t i = 0; i < count; i++) {
		table_cell(&table, "%s", text_count(info->types[i].count).s);
		table_cell(&table, "%s", text_percent(info->types[i].count, info->events).s);
		table_cell(&table, "%s", info->types[i].title);
	}
	table_print(&table, out);
	table_fini(&table);
	if (count < info->type_count)
		fprintf(out, "  and %zu more types (--all)\n", info->type_count - count);
}

/* ------------------------------------------------------------------ what it allows */

static void info_put_abilities(FILE *out, const struct info *info)
{
	struct table table = { 0 };
	size_t missing = 0;

	fputs("\nKnown from this trace:\n", out);
	table_column(&table, "", TABLE_LEFT);
	table_column(&table, "", TABLE_TEXT);
	for (size_t i = 0; i < INFO_QUESTIONS; i++) {
		const struct info_words *words = info_question_words((enum info_question)i);

		missing += info->abilities[i].lack != INFO_LACKS_NOTHING;
		if (info->abilities[i].lack != INFO_LACKS_NOTHING)
			continue;
		table_cell(&table, "%s", words->name);
		table_cell(&table, "%s", words->gives);
	}
	if (table.cell_count)
		table_print(&table, out);
	else
		fputs("  nothing that the analyses need\n", out);
	table_fini(&table);
	if (!missing)
		return;
	table = (struct table){ 0 };
	fputs("\nNot known from this trace:\n", out);
	table_column(&table, "", TABLE_LEFT);
	table_column(&table, "", TABLE_TEXT);
	for (size_t i = 0; i < INFO_QUESTIONS; i++) {
		const struct info_words *words = info_question_words((enum info_question)i);
		AUTO_FREE char *lack = info_missing_words(&info->abilities[i]);

		if (!lack)
			continue;
		table_cell(&table, "%s", words->name);
		table_cell(&table, "%s; missing: %s; to record: %s",
			   i == INFO_SYSTEM_CALLS && info->facts->is_lean
				   ? "which call a thread worked in"
				   : words->gives,
			   lack, words->remedy);
	}
	table_print(&table, out);
	table_fini(&table);
}

static void put_problems(FILE *out, const struct info *info)
{
	const struct facts *facts = info->facts;
	AUTO_FREE char *unnamed = report_unnamed_words(facts);

	if (info->holes || info->lost_events)
		fprintf(out, "\nLost: %s%s events in %s hole%s; %s of unknown size.\n",
			info->holes_unknown ? "at least " : "", text_count(info->lost_events).s,
			text_count(info->holes).s, info->holes == 1 ? "" : "s",
			text_count(info->holes_unknown).s);
	if (facts->damage_count)
		fputs("\nDamaged:\n", out);
	for (size_t i = 0; i < facts->damage_count; i++) {
		AUTO_FREE char *safe = text_escaped(facts->damage[i]);

		fputs("  ", out);
		table_wrap(out, safe, 2);
	}
	if (facts->unshown_count)
		fputs("\nIn the trace but not read:\n", out);
	for (size_t i = 0; i < facts->unshown_count; i++) {
		fputs("  ", out);
		table_wrap(out, facts->unshown[i], 2);
	}
	if (unnamed) {
		fputs("\nNames of code:\n  ", out);
		table_wrap(out, unnamed, 2);
	}
	if (facts->missing_count)
		fputs("\nNot recorded:\n", out);
	for (size_t i = 0; i < facts->missing_count; i++) {
		AUTO_FREE char *text =
			xasprintf("%s: %s", facts->missing[i].what, facts->missing[i].why);
		AUTO_FREE char *safe = text_escaped(text);

		fputs("  ", out);
		table_wrap(out, safe, 2);
	}
}

void report_info(FILE *out, const struct info *info, const struct report_info_opts *opts)
{
	if (opts->json) {
		report_info_json(out, info);
		return;
	}
	put_conclusion(out, info, opts->path);
	info_put_head(out, info);
	put_problems(out, info);
	put_steps(out, info);
	info_put_streams(out, info);
	info_put_types(out, info, opts->top);
	info_put_abilities(out, info);
}
