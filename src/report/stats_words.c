/* stats_words.c - numbers, headings and notes that stats, breakdown and states share. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trust.h"
#include "base/mem.h"
#include "event/facts.h"
#include "report/stats_int.h"
#include "report/table.h"
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
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *safe = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = xstrdup("");
	va_end(args);
	safe = text_escaped(text);
	fputc('\n', out);
	table_wrap(out, safe, 0);
}

void stats_say(FILE *out, const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *safe = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = xstrdup("");
	va_end(args);
	safe = text_escaped(text);
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
static FILE *note(struct notes *notes)
{
	if (!notes->any)
		stats_heading(notes->out, "Notes:");
	notes->any = true;
	return notes->out;
}

static void note_lost(struct notes *notes, const struct trust *trust, const struct facts *facts)
{
	bool full = facts->damage_count == 0; /* the buffer was; else the file is cut */

	if (trust->lost_events == 0 && trust->lost_span_ns == 0)
		return;
	stats_say(
		note(notes),
		"%s event%s lost; %s of the window lies in holes of the recording. What depends on "
		"them is counted as uncertain.%s",
		text_count(trust->lost_events).s, trust->lost_events == 1 ? " was" : "s were",
		text_duration(trust->lost_span_ns).s, full ? " A larger --buffer loses less." : "");
	for (size_t i = 0; i < facts->cpu_count; i++) {
		if (facts->cpus[i].lost > 0)
			stats_say(notes->out, "CPU %zu lost %s events in the whole recording.", i,
				  text_count(facts->cpus[i].lost).s);
	}
}

void trust_text(FILE *out, const struct trust *trust, const struct facts *facts, bool missing)
{
	struct notes notes = { .out = out };

	if (!facts->complete)
		stats_say(note(&notes), "The recorder was cut short: the recording ends at %s.",
			  page_since(facts->first_ns, facts->last_ns).s);
	for (size_t i = 0; i < facts->damage_count; i++)
		stats_say(note(&notes), "Damaged: %s.", facts->damage[i]);
	if (trust->damage)
		stats_say(note(&notes), "Damaged: %s.", trust->damage);
	note_lost(&notes, trust, facts);
	if (trust->repairs > trust->repairs_exact)
		stats_say(note(&notes),
			  "%s switch%s to a thread %s not recorded, in the whole recording; "
			  "other events placed %s of them exactly, the others leave some time "
			  "uncertain.",
			  text_count(trust->repairs).s, trust->repairs == 1 ? "" : "es",
			  trust->repairs == 1 ? "was" : "were", text_count(trust->repairs_exact).s);
	for (size_t i = 0; i < facts->missing_count && missing; i++)
		stats_say(note(&notes), "Not recorded: %s (%s).", facts->missing[i].what,
			  facts->missing[i].why);
}

void trust_json(struct json *json, const struct trust *trust, const struct facts *facts)
{
	json_print_u64(json, "lost_events", trust->lost_events);
	json_print_u64(json, "lost_span_ns", trust->lost_span_ns);
	json_begin_object(json, "repairs");
	json_print_u64(json, "count", trust->repairs);
	json_print_u64(json, "exact", trust->repairs_exact);
	json_end_object(json);
	json_print_bool(json, "complete", facts->complete);
	json_begin_array(json, "missing");
	for (size_t i = 0; i < facts->missing_count; i++) {
		json_begin_object(json, NULL);
		json_print_string(json, "what", facts->missing[i].what);
		json_print_string(json, "why", facts->missing[i].why);
		json_end_object(json);
	}
	json_end_array(json);
	json_begin_array(json, "damage");
	for (size_t i = 0; i < facts->damage_count; i++)
		json_print_string(json, NULL, facts->damage[i]);
	if (trust->damage)
		json_print_string(json, NULL, trust->damage);
	json_end_array(json);
}

void window_json(struct json *json, uint64_t start_ns, uint64_t end_ns)
{
	json_begin_object(json, "window");
	json_print_u64(json, "start_ns", start_ns);
	json_print_u64(json, "end_ns", end_ns);
	json_end_object(json);
}
