/* sampled.c - every row says that it is sampled; only the kernel's own counts are not. */
#include "report/sampled.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/table.h"
#include "report/vocabulary.h"
#include "stuck/sampled.h"

#define TOP_DEFAULT 20
#define NAMES_MAX   8 /* of a deadlock */

static const struct {
	const char *name;  /* in JSON */
	const char *words; /* in text */
} kinds[] = {
	[STUCK_RUNS] = { "runs", "ran, or waited for a CPU" },
	[STUCK_TASKS] = { "tasks", "waited" },
	[STUCK_TIMER] = { "timer", "slept until a time" },
	[STUCK_KERNEL] = { "kernel", "was asleep in the kernel (state D)" },
	[STUCK_STOPPED] = { "stopped", "was stopped by a signal" },
	[STUCK_TRACED] = { "traced", "was stopped by its tracer" },
	[STUCK_FROZEN] = { "frozen", "was frozen by its cgroup" },
	[STUCK_OUTSIDE] = { "outside", "waited for input from outside" },
	[STUCK_UNOWNED] = { "unowned", "waited for an object without a known owner" },
	[STUCK_UNKNOWN] = { "unknown", "waited for an unknown object" },
	[STUCK_EXITED] = { "exited", "had exited" },
};

static char *wait_words(const struct sampled_wait *wait)
{
	AUTO_FREE char *who =
		wait->waits_for ? xasprintf("; for %s[%d]%s", wait->waits_for_comm, wait->waits_for,
					    wait->is_inferred ? " (inferred)" : "")
				: xstrdup("");

	bool is_more = wait->is_timed && wait->kind != STUCK_TIMER; /* which says so */

	return xasprintf("%s[%d] %s%s%s%s%s%s%s", wait->comm, wait->tid, kinds[wait->kind].words,
			 wait->in[0] ? " in " : "", wait->in, wait->object[0] ? ": " : "",
			 wait->object, is_more ? " (with a time limit)" : "", who);
}

/* For whom threads were found waiting most often, added up. */
static const struct sampled_wait *most_awaited(const struct sampled *sampled, uint64_t *out_looks)
{
	const struct sampled_wait *most = NULL;

	*out_looks = 0;
	for (size_t i = 0; i < sampled->wait_count; i++) {
		uint64_t looks = 0;

		if (!sampled->waits[i].waits_for)
			continue;
		for (size_t k = 0; k < sampled->wait_count; k++) {
			if (sampled->waits[k].waits_for == sampled->waits[i].waits_for)
				looks += sampled->waits[k].looks;
		}
		if (looks > *out_looks) {
			*out_looks = looks;
			most = &sampled->waits[i];
		}
	}
	return most;
}

static void sampled_add_counts(const struct sampled *sampled, uint64_t *out_cpu_ns,
			       uint64_t *out_queue_ns)
{
	*out_cpu_ns = *out_queue_ns = 0;
	for (size_t i = 0; i < sampled->thread_count; i++) {
		const struct sampled_thread *thread = &sampled->threads[i];

		*out_cpu_ns += thread->cpu_ns[1] - thread->cpu_ns[0];
		*out_queue_ns += thread->queue_ns[1] - thread->queue_ns[0];
	}
}

/* They are known, not inferred: some by exclusion. */
static void sampled_print_deadlocks(FILE *out, const struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->cycle_count; i++) {
		const struct stuck_cycle *cycle = &stuck->cycles[i];
		AUTO_FREE char *text = NULL, *safe = NULL;
		char *names = xstrdup("");

		for (size_t k = 0; k < cycle->count && k < NAMES_MAX; k++) {
			const struct stuck_thread *thread = stuck_find(stuck, cycle->tids[k]);
			char *more = xasprintf("%s%s%s[%d]", names, k ? ", " : "",
					       thread ? thread->comm : "?", cycle->tids[k]);

			free(names);
			names = more;
		}
		text = xasprintf("DEADLOCK: %zu thread%s: %s%s.%s", cycle->count,
				 cycle->count > 1   ? "s wait for each other"
				 : cycle->is_closed ? ", whose wait nobody can end"
						    : " waits for itself",
				 names, cycle->count > NAMES_MAX ? " and others" : "",
				 cycle->is_closed ? " (No owner is known; this is by exclusion.)"
						  : "");
		free(names);
		safe = text_escaped(text);
		fputs("  ", out);
		table_wrap(out, safe, 2);
	}
}

static void sampled_print_head(FILE *out, const struct sampled *sampled)
{
	uint64_t looks, cpu_ns, queue_ns;
	const struct sampled_wait *most = most_awaited(sampled, &looks);
	AUTO_FREE char *text = NULL, *safe = NULL;

	sampled_add_counts(sampled, &cpu_ns, &queue_ns);
	fprintf(out,
		"Sampled, not traced: %" PRIu32 " sample%s in %s of %zu thread%s. Wakers and waits "
		"shorter\nthan the sampling interval are not "
		"known.\n",
		sampled->looks, sampled->looks == 1 ? "" : "s", text_duration(sampled->took_ns).s,
		sampled->thread_count, sampled->thread_count == 1 ? "" : "s");
	fprintf(out, "  Counted by the kernel: ran for %s, waited for a CPU for %s.\n",
		text_duration(cpu_ns).s, text_duration(queue_ns).s);
	if (sampled->is_ended)
		fputs("  The process has exited.\n", out);
	else if (sampled->last)
		sampled_print_deadlocks(out, sampled->last);
	if (!most)
		return;
	text = xasprintf("Largest hold-up (sampled): %s[%d], with %.1f waiting threads per sample "
			 "on average%s.",
			 most->waits_for_comm, most->waits_for,
			 (double)looks / (double)sampled->looks,
			 most->is_inferred ? ", inferred" : "");
	safe = text_escaped(text);
	fputs("  ", out);
	table_wrap(out, safe, 2);
}

void report_sampled_text(FILE *out, const struct sampled *sampled, uint32_t top, bool is_command)
{
	size_t most = top ? top : TOP_DEFAULT;
	struct table table = { 0 };

	sampled_print_head(out, sampled);
	table_column(&table, "looks", TABLE_RIGHT);
	table_column(&table, "of all", TABLE_RIGHT);
	table_column(&table, "sampled states of threads", TABLE_TEXT);
	for (size_t i = 0; i < sampled->wait_count && i < most; i++) {
		AUTO_FREE char *words = wait_words(&sampled->waits[i]);

		table_cell(&table, "%" PRIu32, sampled->waits[i].looks);
		table_cell(&table, "%s", text_percent(sampled->waits[i].looks, sampled->looks).s);
		table_cell(&table, "%s", words);
	}
	fputc('\n', out);
	table_print(&table, out);
	table_fini(&table);
	if (sampled->wait_count > most)
		fprintf(out, "  and %zu more (--top %zu shows all)\n", sampled->wait_count - most,
			sampled->wait_count);
	fprintf(out, "\nRoot can record each wait with its length and waker: sudo holdup why %s\n",
		is_command ? "-- COMMAND" : "-p PID");
}

static void sampled_put_wait(struct json *json, const struct sampled_wait *wait)
{
	json_begin_object(json, NULL);
	json_print_i64(json, "tid", wait->tid);
	json_print_i64(json, "tgid", wait->tgid);
	json_print_string(json, "comm", wait->comm);
	json_print_u64(json, "looks", wait->looks);
	json_print_string(json, "kind", kinds[wait->kind].name);
	json_print_string(json, "in", wait->in);
	json_print_string(json, "object", wait->object);
	json_print_i64(json, "waits_for", wait->waits_for);
	json_print_bool(json, "inferred", wait->is_inferred);
	json_end_object(json);
}

static void put_tids(struct json *json, const struct stuck_cycle *cycle)
{
	json_begin_array(json, NULL);
	for (size_t i = 0; i < cycle->count; i++)
		json_print_i64(json, NULL, cycle->tids[i]);
	json_end_array(json);
}

void report_sampled_json(FILE *out, const struct sampled *sampled)
{
	struct json json = { .out = out };
	uint64_t cpu_ns, queue_ns;

	sampled_add_counts(sampled, &cpu_ns, &queue_ns);
	report_json_begin(&json, NULL, "why-sampled");
	json_print_u64(&json, "took_ns", sampled->took_ns);
	json_print_u64(&json, "looks", sampled->looks);
	json_print_u64(&json, "threads", sampled->thread_count);
	json_print_u64(&json, "working_ns", cpu_ns);
	json_print_u64(&json, "cpu_queue_ns", queue_ns);
	json_print_bool(&json, "ended", sampled->is_ended);
	json_begin_array(&json, "sampled");
	for (size_t i = 0; i < sampled->wait_count; i++)
		sampled_put_wait(&json, &sampled->waits[i]);
	json_end_array(&json);
	json_print_u64(&json, "left_out", sampled->waits_left_out);
	json_begin_array(&json, "cycles");
	for (size_t i = 0; sampled->last && !sampled->is_ended && i < sampled->last->cycle_count;
	     i++)
		put_tids(&json, &sampled->last->cycles[i]);
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}
