/*
 * delays_advice.c - advice as sentences: what was waited for, what holds the process back, what
 * turning it could gain at most. Nothing is ever turned here.
 */
#include "report/delays_advice.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "accounts/advise.h"
#include "report/table.h"
#include "report/vocabulary.h"

#define TASKS_DEFAULT 5u

static const char *const topics[DELAYS_TOPICS] = {
	[DELAYS_TOPIC_CPU] = "a CPU",
	[DELAYS_TOPIC_DISK] = "disk",
	[DELAYS_TOPIC_MEMORY] = "memory",
};

static const char *const knob_names[DELAYS_ADVICE_KINDS] = {
	[DELAYS_ADVICE_CPU_MAX] = "cpu.max",
	[DELAYS_ADVICE_AFFINITY] = "affinity",
	[DELAYS_ADVICE_FEWER_THREADS] = "threads",
	[DELAYS_ADVICE_NICE] = "nice",
	[DELAYS_ADVICE_CPU_WEIGHT] = "cpu.weight",
	[DELAYS_ADVICE_FAVOUR_CPU] = "nice or cpu.weight",
	[DELAYS_ADVICE_IO_MAX] = "io.max",
	[DELAYS_ADVICE_IO_PRIORITY] = "ionice",
	[DELAYS_ADVICE_IO_WEIGHT] = "io.weight",
	[DELAYS_ADVICE_FAVOUR_IO] = "ionice or io.weight",
	[DELAYS_ADVICE_MEMORY_HIGH] = "memory.high",
	[DELAYS_ADVICE_MEMORY_MAX] = "memory.max",
	[DELAYS_ADVICE_FAVOUR_MEMORY] = "memory.low",
};

/* What to do, for advice that is not about a file of a cgroup. */
static const char *const plain_words[DELAYS_ADVICE_KINDS] = {
	[DELAYS_ADVICE_FEWER_THREADS] =
		"its own threads keep all allowed CPUs busy and wait for one another: use fewer "
		"threads or more CPUs; no priority helps",
	[DELAYS_ADVICE_FAVOUR_CPU] =
		"no limit was found: a lower nice value or a higher cpu.weight of its cgroup "
		"favours it over other tasks",
	[DELAYS_ADVICE_FAVOUR_IO] =
		"no limit was found: ionice or a higher io.weight of its cgroup favours it over "
		"others on the same disk, if the I/O scheduler supports priorities",
	[DELAYS_ADVICE_FAVOUR_MEMORY] =
		"no limit of its cgroups was hit, so the machine is short of memory: memory.low "
		"of its cgroup protects its pages, at the cost of others",
};

static char *process_words(const struct delays_advice *advice, const struct delays_knobs *knobs)
{
	switch (advice->kind) {
	case DELAYS_ADVICE_AFFINITY:
		return xasprintf("it may use %" PRIu32 " of %" PRIu32
				 " CPUs: widen its affinity (taskset, cpuset)",
				 knobs->cpus_allowed, knobs->cpus_online);
	case DELAYS_ADVICE_NICE:
		if (knobs->policy == SCHED_IDLE)
			return xasprintf("its policy is SCHED_IDLE: all other tasks run first");
		return xasprintf("its nice value is %" PRId32 ": lower it", knobs->nice);
	case DELAYS_ADVICE_IO_PRIORITY:
		if (knobs->io_class == 3)
			return xasprintf("its I/O priority is idle: all other I/O goes first");
		return xasprintf("its I/O priority is level %" PRIu32
				 " of 0 to 7: raise it with ionice",
				 knobs->io_level);
	default:
		return xstrdup(plain_words[advice->kind]);
	}
}

static char *setting_words(const struct delays_setting *setting)
{
	AUTO_FREE char *held = setting->held_ns ? xasprintf(", %s in all its tasks",
							    text_duration(setting->held_ns).s)
						: xstrdup("");
	AUTO_FREE char *hits = setting->hits ? xasprintf(" and throttled its tasks %s times%s",
							 text_count(setting->hits).s, held)
					     : xstrdup("");

	return xasprintf("%s of %s is \"%s\"%s: raise it", setting->file, setting->folder,
			 setting->value, hits);
}

static char *words_of(const struct delays_advice *advice, const struct delays_knobs *knobs)
{
	return advice->setting ? setting_words(advice->setting) : process_words(advice, knobs);
}

/* ------------------------------------------------------------------------ text */

static void delays_advice_print_line(FILE *out, const char *text, int indent)
{
	AUTO_FREE char *safe = text_escaped(text);

	fprintf(out, "%*s", indent, "");
	table_wrap(out, safe, (uint32_t)indent);
}

static void delays_advice_print_task(FILE *out, const struct delays_advised *task)
{
	const struct delays_task *of = task->row->task;
	AUTO_FREE char *name = xasprintf("%s[%d]:", of->stats.name, of->tgid);
	uint32_t told = 0;

	fputc('\n', out);
	delays_advice_print_line(out, name, 0);
	for (size_t i = 0; i < task->count; i++) {
		const struct delays_advice *advice = &task->advice[i];
		AUTO_FREE char *words = words_of(advice, task->knobs);
		AUTO_FREE char *line = xasprintf("%s: %s", knob_names[advice->kind], words);

		if (!(told & 1u << advice->topic))
			fprintf(out,
				"  waited %s for %s, %s of its time, %s times; the largest "
				"possible gain:\n",
				text_duration(advice->at_most_ns).s, topics[advice->topic],
				text_percent(advice->at_most_ns, task->row->base_ns).s,
				text_count(advice->count).s);
		told |= 1u << advice->topic;
		delays_advice_print_line(out, line, 4);
	}
}

static void advice_print_head(FILE *out, const struct delays_advised_all *all)
{
	const struct delays_advised *first = all->tasks;
	AUTO_FREE char *name = NULL;

	if (!all->count) {
		fprintf(out,
			"nothing to change: none of %zu processes waited for a CPU, disk or "
			"memory for at least 1 %% of\nits time and 10 ms\n",
			all->looked_at);
		return;
	}
	name = text_escaped(first->row->task->stats.name);
	fprintf(out, "largest possible gain: %s[%d], at most %s of waiting for %s, by %s%s\n", name,
		first->row->task->tgid, text_duration(first->advice[0].at_most_ns).s,
		topics[first->advice[0].topic], knob_names[first->advice[0].kind],
		first->advice[0].held_back ? "" : "; the effect is unknown");
}

static void advice_print_notes(FILE *out, const struct delays_advised_all *all, size_t shown)
{
	fputs("\nNotes:\n", out);
	if (shown < all->count)
		fprintf(out, "  %zu more processes with such waits: --top %zu shows all.\n",
			all->count - shown, all->count);
	delays_advice_print_line(
		out,
		"Nothing was changed. A gain is at most the delay itself, at the cost of other "
		"tasks that wait for the same CPU, disk or memory. Waits for memory may also be "
		"waits for disk.",
		2);
	delays_advice_print_line(
		out,
		"Counts of a cgroup cover all its tasks since its creation. Affinity and "
		"priorities are those of the main thread, now. Kernel threads are omitted.",
		2);
	if (all->uncounted) {
		AUTO_FREE char *text = xasprintf(
			"For %zu of %zu processes, waits for disk and memory are not counted, so "
			"no advice covers them.",
			all->uncounted, all->looked_at);

		delays_advice_print_line(out, text, 2);
	}
}

/* ------------------------------------------------------------------------ JSON */

static void advice_json(struct json *json, const struct delays_advised *task,
			const struct delays_advice *advice)
{
	AUTO_FREE char *words = words_of(advice, task->knobs);

	json_begin_object(json, NULL);
	json_print_string(json, "knob", knob_names[advice->kind]);
	json_print_string(json, "waits_for", topics[advice->topic]);
	json_print_u64(json, "at_most_ns", advice->at_most_ns);
	json_print_u64(json, "count", advice->count);
	json_print_bool(json, "held_back", advice->held_back);
	if (advice->setting) {
		json_print_string(json, "cgroup", advice->setting->folder);
		json_print_string(json, "file", advice->setting->file);
		json_print_string(json, "value", advice->setting->value);
		json_print_u64(json, "hits", advice->setting->hits);
		json_print_u64(json, "held_ns", advice->setting->held_ns);
	}
	json_print_string(json, "words", words);
	json_end_object(json);
}

static void all_json(FILE *out, const struct delays_advised_all *all)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "delays-advice");
	json_print_u64(&json, "looked_at", all->looked_at);
	json_print_u64(&json, "uncounted", all->uncounted);
	json_begin_array(&json, "tasks");
	for (size_t i = 0; i < all->count; i++) {
		const struct delays_advised *task = &all->tasks[i];

		json_begin_object(&json, NULL);
		json_print_i64(&json, "pid", task->row->task->tgid);
		json_print_string(&json, "name", task->row->task->stats.name);
		json_print_u64(&json, "base_ns", task->row->base_ns);
		json_begin_array(&json, "advice");
		for (size_t k = 0; k < task->count; k++)
			advice_json(&json, task, &task->advice[k]);
		json_end_array(&json);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}

void report_delays_advice(FILE *out, const struct delays_advised_all *all, bool json)
{
	size_t top = all->top ? all->top : TASKS_DEFAULT;
	size_t shown = all->count < top ? all->count : top;

	if (json) {
		all_json(out, all);
		return;
	}
	advice_print_head(out, all);
	for (size_t i = 0; i < shown; i++)
		delays_advice_print_task(out, &all->tasks[i]);
	advice_print_notes(out, all, shown);
}
