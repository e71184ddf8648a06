/*
 * verify.c - whether a trace is whole: the conclusion, the holes, the damage, what does
 * not hold, and what all that rests on.
 */
#include "report/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/verify/verify.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/facts.h"
#include "report/table.h"
#include "report/vocabulary.h"

#define HOLES_SHOWN 50

struct page {
	FILE *out;
	const struct verify *verify;
	const struct facts *facts;
	const char *path;
};

static const char *verify_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static uint64_t holes_of(const struct verify *verify)
{
	uint64_t holes = 0;

	for (size_t i = 0; i < verify->cpu_count; i++)
		holes += verify->cpus[i].holes;
	return holes;
}

static uint64_t failed_of(const struct verify *verify)
{
	uint64_t failed = 0;

	for (size_t i = 0; i < VERIFY_CHECKS; i++)
		failed += verify->checks[i].failed > 0;
	return failed;
}

/* Read once for the timeline and once more here, the same damage is noted twice. */
static bool is_repeated(const struct facts *facts, size_t damage)
{
	for (size_t i = 0; i < damage; i++) {
		if (strcmp(facts->damage[i], facts->damage[damage]) == 0)
			return true;
	}
	return false;
}

static size_t damage_of(const struct facts *facts)
{
	size_t count = 0;

	for (size_t i = 0; i < facts->damage_count; i++)
		count += !is_repeated(facts, i);
	return count;
}

static size_t cpus_of(const struct verify *verify)
{
	size_t count = 0;

	for (size_t i = 0; i < verify->cpu_count; i++)
		count += verify->cpus[i].events || verify->cpus[i].holes;
	return count;
}

/* "+0.217345678 s": since the start of the recording. */
static struct text since_start(const struct page *page, uint64_t time_ns)
{
	uint64_t first = page->facts->first_ns;
	uint64_t ns = time_ns < first ? first - time_ns : time_ns - first;
	struct text text;

	(void)snprintf(text.s, sizeof(text.s), "%c%" PRIu64 ".%09" PRIu64 " s",
		       time_ns < first ? '-' : '+', ns / 1000000000u, ns % 1000000000u);
	return text;
}

/* ---------------------------------------------------------------- conclusion */

/* Clauses with "; " between them. */
struct clauses {
	FILE *out;
	size_t count;
};

__attribute__((format(printf, 2, 3))) static void clause(struct clauses *clauses,
							 const char *format, ...)
{
	va_list args;

	fputs(clauses->count++ ? "; " : ": ", clauses->out);
	va_start(args, format);
	vfprintf(clauses->out, format, args);
	va_end(args);
}

static void verify_put_lost(struct clauses *clauses, const struct verify *verify)
{
	uint64_t lost = verify_lost(verify), unknown = verify_unknown(verify);
	uint64_t holes = holes_of(verify), packets = verify_packets(verify);

	if (lost)
		clause(clauses, "%s event%s lost%s in %s hole%s", text_count(lost).s,
		       lost == 1 ? " was" : "s were", unknown ? " and an unknown number more" : "",
		       text_count(holes).s, verify_plural(holes));
	else if (unknown)
		clause(clauses, "an unknown number of events was lost in %s hole%s",
		       text_count(holes).s, verify_plural(holes));
	if (packets)
		clause(clauses, "%s packet%s missing", text_count(packets).s,
		       packets == 1 ? " is" : "s are");
}

static void put_faults(struct clauses *clauses, const struct page *page)
{
	const struct verify *verify = page->verify;
	size_t damage = damage_of(page->facts);
	uint64_t failed = failed_of(verify);
	uint64_t unread = verify_unread(verify, page->facts);

	verify_put_lost(clauses, verify);
	if (unread)
		clause(clauses, "%s recorded event%s cannot be read", text_count(unread).s,
		       verify_plural(unread));
	if (damage)
		clause(clauses, "%zu place%s damaged", damage, damage == 1 ? " is" : "s are");
	if (!page->facts->complete)
		clause(clauses, "the recorder did not finish");
	if (verify->index_damage)
		clause(clauses, "the stored index %s damaged",
		       verify->index_rebuilt ? "was" : "is");
	if (failed)
		clause(clauses, "%s of %d checks of the index fail%s", text_count(failed).s,
		       VERIFY_CHECKS, failed == 1 ? "s" : "");
}

static void verify_print_conclusion(const struct page *page)
{
	const struct verify *verify = page->verify;
	AUTO_FREE char *path = text_escaped(page->path);
	AUTO_FREE char *text = NULL;
	struct clauses clauses = { 0 };
	size_t bytes, cpus = cpus_of(verify);

	clauses.out = open_memstream(&text, &bytes);
	if (!clauses.out)
		return;
	if (verify_is_whole(verify, page->facts)) {
		fprintf(clauses.out,
			"%s is complete: %s event%s of %zu CPU%s, nothing lost, nothing damaged; "
			"all checks of the index pass.",
			path, text_count(verify->events).s, verify_plural(verify->events), cpus,
			verify_plural(cpus));
	} else {
		fprintf(clauses.out, "%s is not complete", path);
		put_faults(&clauses, page);
		fputc('.', clauses.out);
	}
	fclose(clauses.out);
	table_wrap(page->out, text, 0);
}

/* --------------------------------------------------------------------- parts */

static void print_holes(const struct page *page)
{
	const struct verify *verify = page->verify;
	uint64_t holes = holes_of(verify);
	size_t shown = verify->hole_count < HOLES_SHOWN ? verify->hole_count : HOLES_SHOWN;
	struct table table = { 0 };

	if (holes == 0)
		return;
	fputs("\nHoles with missing events:\n", page->out);
	table_column(&table, "CPU", TABLE_RIGHT);
	table_column(&table, "from", TABLE_RIGHT);
	table_column(&table, "to", TABLE_RIGHT);
	table_column(&table, "length", TABLE_RIGHT);
	table_column(&table, "events lost", TABLE_RIGHT);
	for (size_t i = 0; i < shown; i++) {
		const struct verify_hole *hole = &verify->holes[i];

		table_cell(&table, "%u", hole->cpu);
		table_cell(&table, "%s", since_start(page, hole->since_ns).s);
		table_cell(&table, "%s", since_start(page, hole->until_ns).s);
		table_cell(&table, "%s", text_duration(hole->until_ns - hole->since_ns).s);
		table_cell(&table, "%s",
			   hole->is_step ? "none: budget"
			   : hole->lost	 ? text_count(hole->lost).s
					 : "unknown");
	}
	table_print(&table, page->out);
	table_fini(&table);
	if (holes > shown)
		fprintf(page->out, "  and %s more; --json lists the first %d\n",
			text_count(holes - shown).s, VERIFY_MAX_HOLES);
}

static void print_item(const struct page *page, const char *text)
{
	AUTO_FREE char *safe = text_escaped(text);

	fputs("  ", page->out);
	table_wrap(page->out, safe, 2);
}

static void print_damage(const struct page *page)
{
	const struct facts *facts = page->facts;
	const struct verify *verify = page->verify;

	if (facts->damage_count == 0 && facts->complete && !verify->index_damage)
		return;
	fputs("\nDamage:\n", page->out);
	if (!facts->complete) {
		AUTO_FREE char *text =
			xasprintf("the recorder did not finish: the recording ends at %s",
				  since_start(page, facts->last_ns).s);

		print_item(page, text);
	}
	for (size_t i = 0; i < facts->damage_count; i++) {
		if (!is_repeated(facts, i))
			print_item(page, facts->damage[i]);
	}
	if (verify->index_damage) {
		AUTO_FREE char *text = xasprintf(
			"the stored index: %s%s", verify->index_damage,
			verify->index_rebuilt ? "" : " (holdup index --force rebuilds it)");

		print_item(page, text);
	}
}

/* The faults that were kept of a check, and how many there were not. */
static void print_check_failures(const struct page *page, enum verify_check check)
{
	const struct verify *verify = page->verify;
	uint64_t shown = 0;

	for (size_t i = 0; i < verify->broken_count; i++) {
		AUTO_FREE char *text = NULL;

		if (verify->broken[i].check != check)
			continue;
		text = report_verify_broken(verify, &verify->broken[i]);
		print_item(page, text);
		shown++;
	}
	if (verify->checks[check].failed > shown)
		fprintf(page->out, "  and %s more\n",
			text_count(verify->checks[check].failed - shown).s);
}

static void print_broken(const struct page *page)
{
	for (size_t i = 0; i < VERIFY_CHECKS; i++) {
		if (page->verify->checks[i].failed == 0)
			continue;
		fprintf(page->out, "\nFailed: %s:\n", report_verify_checks[i]);
		print_check_failures(page, (enum verify_check)i);
	}
}

static void verify_print_cpus(const struct page *page)
{
	const struct verify *verify = page->verify;
	struct table table = { 0 };

	table_column(&table, "CPU", TABLE_RIGHT);
	table_column(&table, "events read", TABLE_RIGHT);
	table_column(&table, "recorded", TABLE_RIGHT);
	table_column(&table, "lost", TABLE_RIGHT);
	table_column(&table, "holes", TABLE_RIGHT);
	table_column(&table, "time in holes", TABLE_RIGHT);
	for (size_t i = 0; i < verify->cpu_count; i++) {
		const struct verify_cpu *cpu = &verify->cpus[i];
		uint64_t told = i < page->facts->cpu_count ? page->facts->cpus[i].events : 0;

		if (!cpu->events && !cpu->holes && !told)
			continue;
		table_cell(&table, "%zu", i);
		table_cell(&table, "%s", text_count(cpu->events).s);
		table_cell(&table, "%s", told ? text_count(told).s : "unknown");
		table_cell(&table, "%s%s", text_count(cpu->lost).s,
			   cpu->unknown ? " + unknown" : "");
		table_cell(&table, "%s", text_count(cpu->holes).s);
		table_cell(&table, "%s", text_duration(cpu->hole_ns).s);
	}
	fputs("\nStreams:\n", page->out);
	table_print(&table, page->out);
	table_fini(&table);
}

static void print_checks(const struct page *page)
{
	struct table table = { 0 };

	table_column(&table, "checked", TABLE_RIGHT);
	table_column(&table, "failed", TABLE_RIGHT);
	table_column(&table, "check", TABLE_TEXT);
	for (size_t i = 0; i < VERIFY_CHECKS; i++) {
		const struct verify_count *count = &page->verify->checks[i];

		table_cell(&table, "%s", text_count(count->done).s);
		table_cell(&table, "%s", text_count(count->failed).s);
		table_cell(&table, "%s", report_verify_checks[i]);
	}
	fputs("\nChecks:\n", page->out);
	table_print(&table, page->out);
	table_fini(&table);
}

/* No faults of the trace, but what it does not know. */
static void verify_print_notes(const struct page *page)
{
	const struct verify *verify = page->verify;

	fputs("\nNotes:\n", page->out);
	fprintf(page->out,
		"  %s thread%s, %s intervals, %s waits; %s of their time is uncertain.\n",
		text_count(verify->threads).s, verify_plural(verify->threads),
		text_count(verify->intervals).s, text_count(verify->waits).s,
		text_percent(verify->uncertain_ns, verify->life_ns).s);
	if (verify->repairs)
		fprintf(page->out,
			"  %s context switch%s to a thread %s not recorded; other events give the "
			"exact time of %s.\n",
			text_count(verify->repairs).s, verify->repairs == 1 ? "" : "es",
			verify->repairs == 1 ? "was" : "were", text_count(verify->repairs_exact).s);
	if (verify->contradictions)
		fprintf(page->out, "  %s event%s contradict%s the others.\n",
			text_count(verify->contradictions).s, verify_plural(verify->contradictions),
			verify->contradictions == 1 ? "s" : "");
}

/* ---------------------------------------------------------------------- JSON */

static void json_cpus(struct json *json, const struct page *page)
{
	json_begin_array(json, "cpus");
	for (size_t i = 0; i < page->verify->cpu_count; i++) {
		const struct verify_cpu *cpu = &page->verify->cpus[i];
		uint64_t told = i < page->facts->cpu_count ? page->facts->cpus[i].events : 0;

		json_begin_object(json, NULL);
		json_print_u64(json, "cpu", i);
		json_print_u64(json, "events", cpu->events);
		json_print_u64(json, "recorded", told);
		json_print_u64(json, "lost_events", cpu->lost);
		json_print_u64(json, "holes", cpu->holes);
		json_print_u64(json, "holes_of_unknown_size", cpu->unknown);
		json_print_u64(json, "hole_ns", cpu->hole_ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_holes(struct json *json, const struct verify *verify)
{
	json_begin_array(json, "holes");
	for (size_t i = 0; i < verify->hole_count; i++) {
		const struct verify_hole *hole = &verify->holes[i];

		json_begin_object(json, NULL);
		json_print_u64(json, "cpu", hole->cpu);
		json_print_u64(json, "start_ns", hole->since_ns);
		json_print_u64(json, "end_ns", hole->until_ns);
		if (hole->lost || hole->is_step)
			json_print_u64(json, "lost_events", hole->lost);
		else
			json_print_null(json, "lost_events");
		json_end_object(json);
	}
	json_end_array(json);
	json_print_u64(json, "holes_left_out", holes_of(verify) - verify->hole_count);
}

static void json_damage(struct json *json, const struct page *page)
{
	json_begin_array(json, "damage");
	for (size_t i = 0; i < page->facts->damage_count; i++) {
		if (!is_repeated(page->facts, i))
			json_print_string(json, NULL, page->facts->damage[i]);
	}
	json_end_array(json);
	json_print_string(json, "index_damage", page->verify->index_damage);
	json_begin_array(json, "broken");
	for (size_t i = 0; i < page->verify->broken_count; i++) {
		const struct verify_broken *broken = &page->verify->broken[i];
		AUTO_FREE char *text = report_verify_broken(page->verify, broken);

		json_begin_object(json, NULL);
		json_print_string(json, "check", verify_check_key(broken->check));
		json_print_string(json, "text", text);
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_checks(struct json *json, const struct verify *verify)
{
	json_begin_object(json, "checks");
	for (size_t i = 0; i < VERIFY_CHECKS; i++) {
		json_begin_object(json, verify_check_key((enum verify_check)i));
		json_print_u64(json, "done", verify->checks[i].done);
		json_print_u64(json, "failed", verify->checks[i].failed);
		json_end_object(json);
	}
	json_end_object(json);
}

static void verify_print_json(const struct page *page)
{
	const struct verify *verify = page->verify;
	struct json json = { .out = page->out };

	report_json_begin(&json, NULL, "check-trace");
	json_print_bool(&json, "whole", verify_is_whole(verify, page->facts));
	json_print_bool(&json, "complete", page->facts->complete);
	report_json_window(&json, page->facts->first_ns, page->facts->last_ns);
	json_print_u64(&json, "events", verify->events);
	json_print_u64(&json, "lost_events", verify_lost(verify));
	json_print_u64(&json, "holes_of_unknown_size", verify_unknown(verify));
	json_print_u64(&json, "lost_packets", verify_packets(verify));
	json_print_u64(&json, "unread", verify_unread(verify, page->facts));
	json_cpus(&json, page);
	json_holes(&json, verify);
	json_damage(&json, page);
	json_checks(&json, verify);
	json_print_u64(&json, "threads", verify->threads);
	json_print_u64(&json, "intervals", verify->intervals);
	json_print_u64(&json, "waits", verify->waits);
	json_print_u64(&json, "uncertain_ns", verify->uncertain_ns);
	json_print_u64(&json, "life_ns", verify->life_ns);
	report_json_repairs(&json, verify->repairs, verify->repairs_exact);
	json_print_u64(&json, "contradictions", verify->contradictions);
	json_end_object(&json);
	json_fini(&json);
}

void report_verify(FILE *out, const struct verify *verify, const struct facts *facts,
		   const struct report_verify_opts *opts)
{
	const struct page page = { out, verify, facts, opts->path };

	if (opts->json) {
		verify_print_json(&page);
		return;
	}
	verify_print_conclusion(&page);
	print_holes(&page);
	print_damage(&page);
	print_broken(&page);
	verify_print_cpus(&page);
	print_checks(&page);
	verify_print_notes(&page);
}
