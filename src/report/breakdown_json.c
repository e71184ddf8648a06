/* breakdown_json.c - a breakdown for programs. docs/man/holdup-breakdown.1 describes the keys. */
#include "analyse/stats/breakdown.h"
#include "event/facts.h"
#include "report/breakdown_int.h"
#include "report/stats_int.h"
#include "report/vocabulary.h"
#include "report/why_int.h"

static void put_parts(struct json *json, uint64_t ns, const uint64_t parts[PART_COUNT])
{
	static const char *const keys[PART_COUNT] = { "working_ns", "interrupted_ns",
						      "waiting_for_cpu_ns", "blocked_ns",
						      "uncertain_ns" };

	json_print_u64(json, "ns", ns);
	for (size_t i = 0; i < PART_COUNT; i++)
		json_print_u64(json, keys[i], parts[i]);
}

/* Nothing where no stacks were recorded. */
static void put_code(struct json *json, const struct facts *facts, const struct why_codes *codes,
		     uint64_t ns)
{
	why_json_places(json, facts, "code", codes, ns);
	if (facts->stacks)
		json_print_share(json, "code_seen", codes->seen_ns < ns ? codes->seen_ns : ns, ns);
}

static void put_lines(struct json *json, const struct breakdown *breakdown,
		      const struct facts *facts)
{
	json_begin_array(json, "lines");
	for (size_t i = 0; i < breakdown->line_count; i++) {
		const struct breakdown_line *line = &breakdown->lines[i];

		json_begin_object(json, NULL);
		json_print_string(json, "kind", breakdown_kind_name(line->kind));
		json_print_string(json, "name", breakdown_line_name(line));
		json_print_u64(json, "count", line->count);
		put_parts(json, line->ns, line->parts);
		json_print_u64(json, "max_ns", line->max_ns);
		json_print_u64(json, "errors", line->errors);
		json_print_u64(json, "events", line->events);
		put_code(json, facts, &line->code, breakdown_code_ns(line->parts));
		json_end_object(json);
	}
	json_end_array(json);
}

static void breakdown_json_put_irqs(struct json *json, const struct breakdown *breakdown)
{
	json_begin_array(json, "interrupts");
	for (size_t i = 0; i < breakdown->irq_count; i++) {
		const struct breakdown_irq *irq = &breakdown->irqs[i];

		json_begin_object(json, NULL);
		json_print_string(json, "name", irq->name);
		json_print_u64(json, "count", irq->count);
		json_print_u64(json, "ns", irq->ns);
		json_print_u64(json, "events", irq->events);
		json_end_object(json);
	}
	json_end_array(json);
}

static void breakdown_json_put_waits(struct json *json, const struct breakdown *breakdown,
				     const struct facts *facts)
{
	json_begin_array(json, "waits");
	for (size_t i = 0; i < breakdown->wait_count; i++) {
		const struct breakdown_wait *wait = &breakdown->waits[i];

		json_begin_object(json, NULL);
		json_print_string(json, "kind", wait_kind_name(wait->kind));
		json_print_string(json, "in", wait->in);
		json_print_string(json, "object", wait->object);
		json_begin_object(json, "woken_by");
		json_print_string(json, "kind", why_waker_name(wait->how));
		report_json_thread_keys(json, &wait->by);
		json_print_string(json, "name", wait->waker);
		json_end_object(json);
		json_print_u64(json, "count", wait->count);
		json_print_u64(json, "ns", wait->ns);
		json_print_u64(json, "max_ns", wait->max_ns);
		put_code(json, facts, &wait->code, wait->ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void put_others(struct json *json, const struct breakdown *breakdown,
		       const struct facts *facts)
{
	json_begin_array(json, "others");
	for (size_t i = 0; i < breakdown->other_count; i++) {
		const struct breakdown_other *other = &breakdown->others[i];

		json_begin_object(json, NULL);
		report_json_thread(json, "who", &other->who);
		json_print_bool(json, "queued_work", other->queued);
		json_print_u64(json, "waits", other->waits);
		json_print_u64(json, "ns", other->ns);
		json_print_u64(json, "own_ns", other->own_ns);
		json_print_u64(json, "kernel_ns", other->kernel_ns);
		json_print_u64(json, "interrupted_ns", other->irq_ns);
		json_print_u64(json, "waiting_for_cpu_ns", other->waiting_ns);
		json_print_u64(json, "blocked_ns", other->blocked_ns);
		json_print_u64(json, "uncertain_ns", other->uncertain_ns);
		put_code(json, facts, &other->code, breakdown_other_code_ns(other));
		json_end_object(json);
	}
	json_end_array(json);
}

static void breakdown_json_put_threads(struct json *json, const struct breakdown *breakdown,
				       const struct facts *facts)
{
	json_begin_array(json, "threads");
	for (size_t i = 0; i < breakdown->thread_count; i++) {
		const struct breakdown_thread *thread = &breakdown->threads[i];

		json_begin_object(json, NULL);
		report_json_thread(json, "who", &thread->who);
		json_print_u64(json, "start_ns", thread->start_ns);
		json_print_u64(json, "end_ns", thread->end_ns);
		put_parts(json, thread->ns, thread->parts);
		json_print_u64(json, "events", thread->events);
		json_print_bool(json, "adds_up", thread->adds_up);
		put_code(json, facts, &thread->code, breakdown_code_ns(thread->parts));
		json_end_object(json);
	}
	json_end_array(json);
}

void breakdown_json(FILE *out, const struct breakdown *breakdown, const struct facts *facts)
{
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "breakdown");
	report_json_thread(&json, "process", &breakdown->process);
	json_print_string(&json, "cmdline", breakdown->cmdline);
	report_json_window(&json, breakdown->start_ns, breakdown->end_ns);
	json_print_u64(&json, "wall_ns", breakdown->wall_ns);
	json_begin_object(&json, "life");
	put_parts(&json, breakdown->life_ns, breakdown->parts);
	json_end_object(&json);
	json_print_u64(&json, "events", breakdown->events);
	json_print_bool(&json, "adds_up", breakdown->adds_up);
	put_lines(&json, breakdown, facts);
	breakdown_json_put_irqs(&json, breakdown);
	breakdown_json_put_waits(&json, breakdown, facts);
	put_others(&json, breakdown, facts);
	breakdown_json_put_threads(&json, breakdown, facts);
	coverage_json(&json, &breakdown->coverage, facts);
	json_end_object(&json);
	json_fini(&json);
}
