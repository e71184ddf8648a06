/* locks.c - the table of locks; then, for the first rows, who had them and who asks for them. */
#include "report/locks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyse/locks/kernel_locks.h"
#include "analyse/locks/locks.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/event.h"
#include "event/facts.h"
#include "report/kernel_locks_int.h"
#include "report/stats_int.h"
#include "report/table.h"
#include "report/vocabulary.h"

#define ROWS_DEFAULT 20u
#define DETAILS	     5u /* rows told in detail */
#define PARTS	     5u /* owners and sites of such a row */

static const char *locks_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "+0x1f (server)", or the bare address. */
static char *place_text(const char *name, uint64_t address)
{
	return name ? xstrdup(name) : xasprintf("0x%" PRIx64, address);
}

/* "mutex queue (server)", "mutex 0x7f..., taken in get+0x10 (server)" */
static char *lock_text(const struct locks_row *row)
{
	AUTO_FREE char *site = NULL;

	if (row->name)
		return xasprintf("%s %s", locks_kind_name(row->kind), row->name);
	if (!row->site_count)
		return xasprintf("%s 0x%" PRIx64, locks_kind_name(row->kind), row->address);
	site = place_text(row->sites[0].name, row->sites[0].address);
	return xasprintf("%s 0x%" PRIx64 ", from %s", locks_kind_name(row->kind), row->address,
			 site);
}

static struct text time_or_dash(uint64_t ns, bool is_known)
{
	return is_known ? text_duration(ns) : (struct text){ "-" };
}

static bool locks_is_held(const struct locks_row *row)
{
	return row->kind != LOCK_KIND_COND && row->kind != LOCK_KIND_BARRIER;
}

static void locks_put_row(struct table *table, const struct locks_row *row, bool has_pids,
			  bool tells_all)
{
	AUTO_FREE char *lock = lock_text(row);
	bool has_holds = locks_is_held(row) && row->holds;

	table_cell(table, "%s", text_duration(row->wait_ns).s);
	table_cell(table, "%s", text_duration(row->wait_max_ns).s);
	table_cell(
		table, "%s",
		time_or_dash(row->contended ? row->wait_ns / row->contended : 0, row->contended).s);
	table_cell(table, "%s", text_count(row->contended).s);
	table_cell(table, "%s", locks_is_held(row) && tells_all ? text_count(row->taken).s : "-");
	table_cell(table, "%s", time_or_dash(row->hold_ns, has_holds).s);
	table_cell(table, "%s", time_or_dash(row->hold_max_ns, has_holds).s);
	if (has_pids)
		table_cell(table, "%s[%d]", row->program[0] ? row->program : "?", row->pid);
	table_cell(table, "%s%s", lock, row->waiting ? " (with waiters at the end)" : "");
}

static void locks_print_table(FILE *out, const struct locks *locks, size_t count)
{
	static const char *const titles[] = { "waited", "longest", "average", "waits",
					      "taken",	"held",	   "longest" };
	struct table table = { 0 };
	bool has_pids = locks->processes > 1;

	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		table_column(&table, titles[i], TABLE_RIGHT);
	if (has_pids)
		table_column(&table, "process", TABLE_LEFT);
	table_column(&table, "lock", TABLE_TEXT);
	for (size_t i = 0; i < count; i++)
		locks_put_row(&table, &locks->rows[i], has_pids, locks->tells_all);
	table_print(&table, out);
	table_fini(&table);
}

static void locks_print_owners(FILE *out, const struct locks_row *row)
{
	uint64_t others_ns = 0;

	for (size_t i = 0; i < row->owner_count; i++) {
		if (i < PARTS)
			stats_say(out, "%9s  while %s %d held the lock",
				  text_duration(row->owners[i].ns).s,
				  row->owners[i].tid == row->pid ? "the main thread" : "thread",
				  row->owners[i].tid);
		else
			others_ns += row->owners[i].ns;
	}
	if (others_ns)
		stats_say(out, "%9s  while %zu other threads held the lock",
			  text_duration(others_ns).s, row->owner_count - PARTS);
	if (row->nobody_ns)
		stats_say(out, "%9s  after release, before the next owner ran",
			  text_duration(row->nobody_ns).s);
	if (row->unknown_ns)
		stats_say(out, "%9s  with unknown owner", text_duration(row->unknown_ns).s);
}

static void print_sites(FILE *out, const struct locks_row *row)
{
	for (size_t i = 0; i < row->site_count && i < PARTS; i++) {
		const struct locks_site *site = &row->sites[i];
		AUTO_FREE char *place = place_text(site->name, site->address);
		AUTO_FREE char *taken = site->hold_ns ? xasprintf(", taken %s time%s and held %s",
								  text_count(site->taken).s,
								  locks_plural(site->taken),
								  text_duration(site->hold_ns).s)
						      : xstrdup("");

		stats_say(out, "%9s  in %s wait%s at %s%s", text_duration(site->wait_ns).s,
			  text_count(site->contended).s, locks_plural(site->contended), place,
			  taken);
	}
	if (row->site_count > PARTS)
		stats_say(out, "and %zu more places", row->site_count - PARTS);
}

static void locks_print_detail(FILE *out, const struct locks_row *row)
{
	AUTO_FREE char *lock = lock_text(row);

	stats_heading(out, "%s of %s[%d], waits of %s:", lock,
		      row->program[0] ? row->program : "a process", row->pid,
		      text_duration(row->wait_ns).s);
	locks_print_owners(out, row);
	print_sites(out, row);
	if (row->signals || row->broadcasts)
		stats_say(out, "%9s  signals, %s broadcasts", text_count(row->signals).s,
			  text_count(row->broadcasts).s);
	if (row->failed)
		stats_say(out, "%9s  of the waits ended without the lock (time-out or error)",
			  text_count(row->failed).s);
}

static void locks_print_notes(FILE *out, const struct locks *locks, const struct klocks_sum *kernel,
			      const struct facts *facts)
{
	bool is_lost = kernel && kernel->count && kernel->is_lost;

	if (!locks->is_lost && !is_lost && facts->damage_count == 0)
		return;
	stats_heading(out, "Notes:");
	if (is_lost)
		stats_say(out,
			  "%s kernel events were lost: waits for kernel locks are "
			  "undercounted.",
			  text_count(kernel->lost).s);
	if (locks->is_lost)
		stats_say(out,
			  "%s lock events were lost: lock operations and waits are undercounted, "
			  "and an owner is unknown until the lock is taken again.",
			  text_count(locks->lost).s);
	for (size_t i = 0; i < facts->damage_count; i++)
		stats_say(out, "damaged: %s", facts->damage[i]);
}

/* What programs told. */
static void print_programs(FILE *out, const struct locks *locks,
			   const struct report_locks_opts *opts)
{
	size_t top = opts->top ? opts->top : ROWS_DEFAULT;
	size_t count = locks->count < top ? locks->count : top;

	if (!locks->events) {
		fputs("this trace has no lock events; record with --locks\n", out);
	} else {
		fprintf(out, "%s lock%s of %s process%s", text_count(locks->count).s,
			locks_plural(locks->count), text_count(locks->processes).s,
			locks->processes == 1 ? "" : "es");
		if (locks->tells_all)
			fprintf(out, ", taken %s time%s", text_count(locks->taken).s,
				locks_plural(locks->taken));
		fprintf(out, ", waited for %s time%s: %s%s\n", text_count(locks->contended).s,
			locks_plural(locks->contended), text_duration(locks->wait_ns).s,
			locks->is_lost ? " at least" : "");
		if (count)
			locks_print_table(out, locks, count);
	}
	for (size_t i = 0; i < count && i < DETAILS; i++) {
		if (locks->rows[i].contended)
			locks_print_detail(out, &locks->rows[i]);
	}
	if (count < locks->count)
		stats_heading(out, "%zu more locks: --top %zu shows all", locks->count - count,
			      locks->count);
}

static void locks_print_text(FILE *out, const struct locks *locks, const struct klocks_sum *kernel,
			     const struct facts *facts, const struct report_locks_opts *opts)
{
	bool has_kernel = kernel && kernel->count;

	if (locks->events || !has_kernel)
		print_programs(out, locks, opts);
	if (locks->events && has_kernel)
		fputc('\n', out);
	if (has_kernel)
		klocks_print_text(out, kernel, opts->top ? opts->top : ROWS_DEFAULT);
	locks_print_notes(out, locks, kernel, facts);
}

/* ------------------------------------------------------------------------ JSON */

static void put_address(struct json *json, const char *key, uint64_t address)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_print_string(json, key, text);
}

static void locks_owners_json(struct json *json, const struct locks_row *row)
{
	json_begin_array(json, "owners");
	for (size_t i = 0; i < row->owner_count; i++) {
		json_begin_object(json, NULL);
		json_print_i64(json, "tid", row->owners[i].tid);
		json_print_u64(json, "ns", row->owners[i].ns);
		json_end_object(json);
	}
	json_end_array(json);
	json_print_u64(json, "nobody_ns", row->nobody_ns);
	json_print_u64(json, "unknown_ns", row->unknown_ns);
}

static void sites_json(struct json *json, const struct locks_row *row)
{
	json_begin_array(json, "sites");
	for (size_t i = 0; i < row->site_count; i++) {
		const struct locks_site *site = &row->sites[i];

		json_begin_object(json, NULL);
		put_address(json, "address", site->address);
		json_print_string(json, "name", site->name);
		json_print_u64(json, "taken", site->taken);
		json_print_u64(json, "waits", site->contended);
		json_print_u64(json, "wait_ns", site->wait_ns);
		json_print_u64(json, "wait_max_ns", site->wait_max_ns);
		json_print_u64(json, "hold_ns", site->hold_ns);
		json_print_u64(json, "hold_max_ns", site->hold_max_ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void locks_row_json(struct json *json, const struct locks_row *row)
{
	json_begin_object(json, NULL);
	json_print_string(json, "kind", locks_kind_name(row->kind));
	put_address(json, "address", row->address);
	json_print_string(json, "name", row->name);
	json_print_i64(json, "pid", row->pid);
	json_print_string(json, "program", row->program);
	json_print_u64(json, "taken", row->taken);
	json_print_u64(json, "taken_write", row->taken_write);
	json_print_u64(json, "waits", row->contended);
	json_print_u64(json, "failed", row->failed);
	json_print_u64(json, "waiting", row->waiting);
	json_print_u64(json, "wait_ns", row->wait_ns);
	json_print_u64(json, "wait_max_ns", row->wait_max_ns);
	json_print_u64(json, "holds", row->holds);
	json_print_u64(json, "hold_ns", row->hold_ns);
	json_print_u64(json, "hold_max_ns", row->hold_max_ns);
	json_print_u64(json, "signals", row->signals);
	json_print_u64(json, "broadcasts", row->broadcasts);
	json_print_u64(json, "destroyed", row->destroyed);
	locks_owners_json(json, row);
	sites_json(json, row);
	json_end_object(json);
}

static void locks_print_json(FILE *out, const struct locks *locks, const struct klocks_sum *kernel,
			     const struct facts *facts)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "locks");
	json_print_u64(&json, "processes", locks->processes);
	json_print_bool(&json, "tells_all", locks->tells_all);
	json_print_u64(&json, "taken", locks->taken);
	json_print_u64(&json, "waits", locks->contended);
	json_print_u64(&json, "wait_ns", locks->wait_ns);
	json_begin_array(&json, "locks");
	for (size_t i = 0; i < locks->count; i++)
		locks_row_json(&json, &locks->rows[i]);
	json_end_array(&json);
	json_print_u64(&json, "events", locks->events);
	json_print_u64(&json, "lost_events", locks->lost);
	json_print_bool(&json, "lost", locks->is_lost);
	report_json_damage(&json, facts, NULL);
	if (kernel)
		klocks_print_json(&json, kernel);
	json_end_object(&json);
	json_fini(&json);
}

void report_locks(FILE *out, const struct locks *locks, const struct klocks_sum *kernel,
		  const struct facts *facts, const struct report_locks_opts *opts)
{
	if (opts->json)
		locks_print_json(out, locks, kernel, facts);
	else
		locks_print_text(out, locks, kernel, facts, opts);
}
