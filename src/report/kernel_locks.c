/* kernel_locks.c - the table of the kernel's locks; then, of the first rows, who had them and who asks. */
#include "report/kernel_locks_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/locks/kernel_locks.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/stats_int.h"
#include "report/table.h"

#define DETAILS 5u /* rows told in detail */
#define PARTS	5u /* owners and callers of such a row */

static const char *kernel_locks_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "dd[77] in write()" */
static char *owner_text(const struct klocks_owner *owner)
{
	return xasprintf("%s[%d]%s%s%s", owner->comm, owner->tid, owner->in[0] ? " in " : "",
			 owner->in, owner->in_call ? "()" : "");
}

/* "mmap() < vm_mmap_pgoff"; "" = not known */
static char *caller_text(const struct klocks_caller *caller)
{
	return xasprintf("%s%s%s%s", caller->call, caller->in_call ? "()" : "",
			 caller->call[0] && caller->function[0] ? " < " : "", caller->function);
}

static void klocks_put_row(struct table *table, const struct klocks_row *row)
{
	AUTO_FREE char *chain = caller_text(&row->callers[0]);

	table_cell(table, "%s", text_duration(row->wait_ns).s);
	table_cell(table, "%s", text_duration(row->wait_max_ns).s);
	table_cell(table, "%s", text_count(row->waits).s);
	table_cell(table, "%s", text_count(row->spins).s);
	if (row->owner_count)
		table_cell(table, "%s%s[%d]", row->owners[0].is_told ? "" : "freed by ",
			   row->owners[0].comm, row->owners[0].tid);
	else
		table_cell(table, "-");
	table_cell(table, "%s%s%s%s", row->name, row->waiting ? " (with waiters at the end)" : "",
		   *chain ? "; " : "", chain);
}

static void kernel_locks_print_table(FILE *out, const struct klocks_sum *sum, size_t count)
{
	static const char *const titles[] = { "waited", "longest", "waits", "spins" };
	struct table table = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		table_column(&table, titles[i], TABLE_RIGHT);
	table_column(&table, "owner", TABLE_LEFT);
	table_column(&table, "kernel lock; chain", TABLE_TEXT);
	for (size_t i = 0; i < count; i++)
		klocks_put_row(&table, &sum->rows[i]);
	table_print(&table, out);
	table_fini(&table);
}

static void kernel_locks_print_owners(FILE *out, const struct klocks_row *row)
{
	for (size_t i = 0; i < row->owner_count && i < PARTS; i++) {
		const struct klocks_owner *owner = &row->owners[i];
		AUTO_FREE char *text = owner_text(owner);

		stats_say(out,
			  owner->is_told ? "%9s  in %s wait%s that began while %s held the lock"
					 : "%9s  in %s wait%s that ended when %s released the lock",
			  text_duration(owner->ns).s, text_count(owner->count).s,
			  kernel_locks_plural(owner->count), text);
	}
	if (row->owner_count > PARTS)
		stats_say(out, "and %zu more owners", row->owner_count - PARTS);
}

static void print_callers(FILE *out, const struct klocks_row *row)
{
	for (size_t i = 0; i < row->caller_count && i < PARTS; i++) {
		const struct klocks_caller *caller = &row->callers[i];
		AUTO_FREE char *text = caller_text(caller);

		stats_say(out, "%9s  in %s wait%s of %s", text_duration(caller->ns).s,
			  text_count(caller->count).s, kernel_locks_plural(caller->count),
			  *text ? text : "-");
	}
	if (row->caller_count > PARTS)
		stats_say(out, "and %zu more callers", row->caller_count - PARTS);
}

void klocks_print_text(FILE *out, const struct klocks_sum *sum, size_t top)
{
	size_t count = sum->count < top ? sum->count : top;

	if (!sum->count)
		return;
	fprintf(out, "%s contended kernel lock%s, %s wait%s: %s%s\n", text_count(sum->count).s,
		kernel_locks_plural(sum->count), text_count(sum->waits).s,
		kernel_locks_plural(sum->waits), text_duration(sum->wait_ns).s,
		sum->is_lost ? " at least" : "");
	kernel_locks_print_table(out, sum, count);
	for (size_t i = 0; i < count && i < DETAILS; i++) {
		/* Nobody can be told to have had a spin lock. */
		if (sum->rows[i].spins == sum->rows[i].waits)
			continue;
		stats_heading(out, "%s, waits of %s:", sum->rows[i].name,
			      text_duration(sum->rows[i].wait_ns).s);
		kernel_locks_print_owners(out, &sum->rows[i]);
		print_callers(out, &sum->rows[i]);
	}
	if (count < sum->count)
		stats_heading(out, "%zu more kernel locks: --top %zu shows all", sum->count - count,
			      sum->count);
}

/* ------------------------------------------------------------------------ JSON */

static void kernel_locks_owners_json(struct json *json, const struct klocks_row *row)
{
	json_begin_array(json, "owners");
	for (size_t i = 0; i < row->owner_count; i++) {
		const struct klocks_owner *owner = &row->owners[i];

		json_begin_object(json, NULL);
		json_print_i64(json, "tid", owner->tid);
		json_print_string(json, "comm", owner->comm);
		json_print_string(json, "in", owner->in);
		json_print_string(json, "from", owner->is_told ? "lock" : "wake-up");
		json_print_u64(json, "waits", owner->count);
		json_print_u64(json, "ns", owner->ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void callers_json(struct json *json, const struct klocks_row *row)
{
	json_begin_array(json, "callers");
	for (size_t i = 0; i < row->caller_count; i++) {
		const struct klocks_caller *caller = &row->callers[i];

		json_begin_object(json, NULL);
		json_print_string(json, "call", caller->call);
		json_print_string(json, "function", caller->function);
		json_print_u64(json, "waits", caller->count);
		json_print_u64(json, "ns", caller->ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void kernel_locks_row_json(struct json *json, const struct klocks_row *row)
{
	json_begin_object(json, NULL);
	json_print_string(json, "name", row->name);
	json_print_bool(json, "known", row->is_known);
	json_print_u64(json, "flags", row->flags);
	json_print_u64(json, "waits", row->waits);
	json_print_u64(json, "spins", row->spins);
	json_print_u64(json, "waiting", row->waiting);
	json_print_u64(json, "wait_ns", row->wait_ns);
	json_print_u64(json, "wait_max_ns", row->wait_max_ns);
	json_print_u64(json, "spin_ns", row->spin_ns);
	kernel_locks_owners_json(json, row);
	callers_json(json, row);
	json_end_object(json);
}

void klocks_print_json(struct json *json, const struct klocks_sum *sum)
{
	json_begin_object(json, "kernel");
	json_print_u64(json, "events", sum->events);
	json_print_u64(json, "waits", sum->waits);
	json_print_u64(json, "spins", sum->spins);
	json_print_u64(json, "wait_ns", sum->wait_ns);
	json_print_u64(json, "spin_ns", sum->spin_ns);
	json_print_u64(json, "lost_events", sum->lost);
	json_print_bool(json, "lost", sum->is_lost);
	json_begin_array(json, "locks");
	for (size_t i = 0; i < sum->count; i++)
		kernel_locks_row_json(json, &sum->rows[i]);
	json_end_array(json);
	json_end_object(json);
}
