/* stats_words.c - numbers, headings and notes that stats, breakdown and states share. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/coverage.h"
#include "base/mem.h"
#include "event/facts.h"
#include "report/stats_int.h"
#include "report/table.h"
#include "report/vocabulary.h"
#include "report/why_int.h"

const char *unit_name(enum text_unit unit)
{
	static const char *const names[] = { [TEXT_US] = "us", [TEXT_MS] = "ms", [TEXT_S] = "s" };

	return names[unit];
}

struct text bare_time(uint64_t places, uint64_t ns)
{
	struct text text = { "0" };

	if (places == 0)
		return ns ? (struct text){ "<0.001" } : text;
	(void)snprintf(text.s, sizeof(text.s), "%" PRIu64 ".%03" PRIu64, places / 1000,
		       places % 1000);
	return text;
}

struct text bare_ns(uint64_t ns, enum text_unit unit)
{
	return bare_time(unit_places(ns, unit), ns);
}

void stats_heading(FILE *out, const char *format, ...)
{
	AUTO_FREE char *safe = NULL;
	va_list args;

	va_start(args, format);
	safe = text_vescaped(format, args);
	va_end(args);
	fputc('\n', out);
	table_wrap(out, safe, 0);
}

void stats_say(FILE *out, const char *format, ...)
{
	AUTO_FREE char *safe = NULL;
	va_list args;

	va_start(args, format);
	safe = text_vescaped(format, args);
	va_end(args);
	fputs("  ", out);
	table_wrap(out, safe, 2);
}

char *stats_name(const char *comm, int32_t tid)
{
	return tid ? xasprintf("%s[%d]", comm[0] ? comm : "?", tid) : xstrdup(comm[0] ? comm : "?");
}

/* -------------------------------------------------------------------- notes */

struct notes {
	FILE *out;
	bool any;
};

/* The heading comes with the first one. */
static FILE *stats_note(struct notes *notes)
{
	if (!notes->any)
		stats_heading(notes->out, "Notes:");
	notes->any = true;
	return notes->out;
}

static void stats_words_note_lost(struct notes *notes, const struct coverage *coverage,
				  const struct facts *facts)
{
	bool full = facts->damage_count == 0; /* the buffer was; else the file is cut */

	if (coverage->lost_events == 0 && coverage->lost_span_ns == 0)
		return;
	stats_say(stats_note(notes),
		  "%s event%s lost; %s of the window lies in holes of the recording. Affected time "
		  "is uncertain.%s",
		  text_count(coverage->lost_events).s,
		  coverage->lost_events == 1 ? " was" : "s were",
		  text_duration(coverage->lost_span_ns).s,
		  full ? " A larger --buffer loses fewer." : "");
	for (size_t i = 0; i < facts->cpu_count; i++) {
		if (facts->cpus[i].lost > 0)
			stats_say(notes->out, "CPU %zu lost %s events in the whole recording.", i,
				  text_count(facts->cpus[i].lost).s);
	}
}

void coverage_text(FILE *out, const struct coverage *coverage, const struct facts *facts,
		   bool missing)
{
	struct notes notes = { .out = out };

	if (!facts->complete)
		stats_say(stats_note(&notes),
			  "The recorder did not finish: the recording ends at %s.",
			  page_since(facts->first_ns, facts->last_ns).s);
	for (size_t i = 0; i < facts->damage_count; i++)
		stats_say(stats_note(&notes), "Damaged: %s.", facts->damage[i]);
	if (coverage->damage)
		stats_say(stats_note(&notes), "Damaged: %s.", coverage->damage);
	stats_words_note_lost(&notes, coverage, facts);
	if (coverage->repairs > coverage->repairs_exact)
		stats_say(stats_note(&notes),
			  "%s context switch%s to a thread %s not recorded in the whole "
			  "recording; other events give the exact time of %s. The others leave "
			  "some time uncertain.",
			  text_count(coverage->repairs).s, coverage->repairs == 1 ? "" : "es",
			  coverage->repairs == 1 ? "was" : "were",
			  text_count(coverage->repairs_exact).s);
	for (size_t i = 0; i < facts->missing_count && missing; i++)
		stats_say(stats_note(&notes), "Not recorded: %s (%s).", facts->missing[i].what,
			  facts->missing[i].why);
}

void coverage_json(struct json *json, const struct coverage *coverage, const struct facts *facts)
{
	json_print_u64(json, "lost_events", coverage->lost_events);
	json_print_u64(json, "lost_span_ns", coverage->lost_span_ns);
	report_json_repairs(json, coverage->repairs, coverage->repairs_exact);
	json_print_bool(json, "complete", facts->complete);
	report_json_missing(json, facts);
	report_json_damage(json, facts, coverage->damage);
}
