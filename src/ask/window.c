/* window.c - recognise a moment by its shape. */
#include "ask/window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask/loaded.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/window.h"
#include "event/facts.h"
#include "fields/find.h"
#include "read/read.h"
#include "timeline/timeline.h"

#define SECOND_NS 1000000000u

/* Whether 'text' consists of 'set' only. */
static bool made_of(const char *text, const char *set)
{
	return text[0] && text[strspn(text, set)] == '\0';
}

/* ".5" or "": the part of a second. */
static bool parse_fraction(const char *text, uint64_t *out_ns)
{
	AUTO_FREE char *padded = xasprintf("0%s", text);

	*out_ns = 0;
	return text[0] == '\0' || (text[0] == '.' && made_of(padded, "0123456789.") &&
				   text_parse_duration(padded, out_ns) && *out_ns < SECOND_NS);
}

static bool in_range(const struct when *when)
{
	return when->hour >= 0 && when->hour < 24 && when->minute >= 0 && when->minute < 60 &&
	       when->second >= 0 && when->second < 61 &&
	       (when->year == 0 || (when->year >= 1970 && when->month >= 1 && when->month <= 12 &&
				    when->day >= 1 && when->day <= 31));
}

/* "[2026-01-02T]14:03:12[.5]" */
static bool parse_wall_clock(const char *text, struct when *when)
{
	int used = 0;

	if (!made_of(text, "0123456789-T:. "))
		return false;
	if (sscanf(text, "%4d-%2d-%2d%*1[T ]%n", &when->year, &when->month, &when->day, &used) <
		    3 ||
	    used == 0)
		when->year = used = 0;
	text += used;
	used = 0;
	if (sscanf(text, "%2d:%2d:%2d%n", &when->hour, &when->minute, &when->second, &used) != 3)
		return false;
	return parse_fraction(text + used, &when->ns) && in_range(when);
}

static void parse_event(const char *text, bool is_end, struct when *when)
{
	bool first = strncmp(text, "first:", 6) == 0;
	bool last = strncmp(text, "last:", 5) == 0;

	when->kind = WHEN_EVENT;
	when->is_chosen = first || last;
	when->last = last || (is_end && !first);
	when->event = text + (first ? 6 : last ? 5 : 0);
}

/* "1@3f20" */
static bool parse_place(const char *text, struct when *when)
{
	const char *at = strchr(text, '@');
	AUTO_FREE char *cpu = at ? xstrndup(text, (size_t)(at - text)) : NULL;
	uint64_t number;

	if (!at || !text_parse_u64(cpu, &number) || number > UINT32_MAX || strlen(at + 1) > 16 ||
	    !made_of(at + 1, "0123456789abcdef"))
		return false;
	when->kind = WHEN_PLACE;
	when->cpu = (uint32_t)number;
	when->ns = strtoull(at + 1, NULL, 16);
	return true;
}

int when_parse(const char *text, bool is_end, struct when *out_when, struct err *err)
{
	struct when when = { 0 };
	bool looks_like_time = text && made_of(text, "0123456789.:-T");

	if (!text) {
		*out_when = when;
		return 0;
	}
	if (text[0] == '+' && text_parse_duration(text + 1, &when.ns)) {
		when.kind = WHEN_SINCE_START;
	} else if (text_parse_duration(text, &when.ns)) {
		when.kind = WHEN_TRACE_CLOCK;
	} else if (parse_wall_clock(text, &when)) {
		when.kind = WHEN_WALL_CLOCK;
	} else if (parse_place(text, &when)) {
		/* filled */
	} else if (text[0] == '+' || looks_like_time) {
		AUTO_FREE char *safe = text_escaped(text);

		return err_set(err, -EINVAL,
			       "\"%s\" is not a time such as 12.345, +1.2s, 14:03:12.5 or "
			       "2026-01-02T14:03:12",
			       safe);
	} else {
		parse_event(text, is_end, &when);
	}
	*out_when = when;
	return 0;
}

/* Local time to ns since 1970; the day of 'start' when none was given. */
static int64_t wall_clock_ns(const struct when *when, time_t start)
{
	struct tm tm = { 0 };
	time_t at;

	(void)localtime_r(&start, &tm);
	if (when->year) {
		tm.tm_year = when->year - 1900;
		tm.tm_mon = when->month - 1;
		tm.tm_mday = when->day;
	}
	tm.tm_hour = when->hour;
	tm.tm_min = when->minute;
	tm.tm_sec = when->second;
	tm.tm_isdst = -1;
	at = mktime(&tm);
	if (!when->year && at < start) { /* the recording went past midnight */
		tm.tm_mday++;
		tm.tm_isdst = -1;
		if (mktime(&tm) - start < 12 * 3600)
			at = mktime(&tm);
	}
	return (int64_t)at * SECOND_NS + (int64_t)when->ns;
}

static int resolve_wall_clock(const struct when *when, const struct facts *facts, uint64_t *out_ns,
			      struct err *err)
{
	int64_t offset_ns = facts->realtime_offset_ns;
	int64_t at_ns;

	if (offset_ns == 0)
		return err_set(err, -ERANGE, "the recording has no wall clock");
	at_ns = wall_clock_ns(when, (time_t)(((int64_t)facts->first_ns + offset_ns) / SECOND_NS)) -
		offset_ns;
	if (at_ns <= 0)
		return err_set(err, -ERANGE, "that time of day is long before the recording");
	*out_ns = (uint64_t)at_ns;
	return 0;
}

int when_resolve(const struct when *when, const struct facts *facts, uint64_t *out_ns,
		 struct err *err)
{
	switch (when->kind) {
	case WHEN_TRACE_CLOCK:
		*out_ns = when->ns;
		return 0;
	case WHEN_SINCE_START:
		if (__builtin_add_overflow(facts->first_ns, when->ns, out_ns))
			return err_set(err, -ERANGE, "the time is too large");
		return 0;
	case WHEN_WALL_CLOCK:
		return resolve_wall_clock(when, facts, out_ns, err);
	case WHEN_NONE:
	case WHEN_EVENT:
	case WHEN_PLACE:
		break;
	}
	return err_set(err, -ERANGE, "not a time");
}

/* ---------------------------------------------------------------- in a trace */

int when_find(struct trace *trace, const struct when *when, uint64_t from_ns, uint64_t otherwise,
	      uint64_t *out_ns, struct err *err)
{
	int rc;

	*out_ns = otherwise;
	if (when->kind == WHEN_NONE)
		return 0;
	if (when->kind == WHEN_TRACE_CLOCK) { /* for this no trace is needed */
		*out_ns = when->ns;
		return 0;
	}
	if (when->kind == WHEN_PLACE)
		return trace_find_place(trace, when->cpu, when->ns, out_ns, err);
	if (when->kind != WHEN_EVENT)
		return when_resolve(when, trace_facts(trace), out_ns, err);
	rc = trace_find_event(trace, when->event, when->last, from_ns, out_ns, err);
	if (rc == 0)
		return err_set(err, -ENOENT, "no event matches \"%s\"", when->event);
	return rc < 0 ? rc : 0;
}

int when_window(const struct loaded *loaded, const struct when *from, const struct when *to,
		uint64_t *out_start_ns, uint64_t *out_end_ns, struct err *err)
{
	const struct timeline *tl = loaded->timeline;
	uint64_t start, end;
	int rc = when_find(loaded->trace, from, 0, tl->origin_ns, &start, err);

	if (rc < 0)
		return err_wrap(err, "searching for the start of the window (--from)");
	rc = when_find(loaded->trace, to, start, tl->end_ns, &end, err);
	if (rc < 0)
		return err_wrap(err, "searching for the end of the window (--to)");
	if (end <= start || end <= tl->origin_ns || start >= tl->end_ns)
		return window_refuse(err, -EINVAL, start, end, tl->origin_ns, tl->end_ns);
	if (start < tl->origin_ns)
		start = tl->origin_ns;
	if (end > tl->end_ns)
		end = tl->end_ns;
	*out_start_ns = start;
	*out_end_ns = end;
	return 0;
}
