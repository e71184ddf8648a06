/*
 * why_json.c - a why report for programs. docs/ describes the keys.
 *
 * Everything that was computed is printed; spans are ns on the trace clock.
 */
#include <stdlib.h>

#include "analyse/why/wait_code.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/vocabulary.h"
#include "report/why_int.h"
#include "stuck/stuck.h"

#define LOCK_FROM "lock events" /* how a lock and its owner are known: from the program itself */
#define NEST_MAX  400		/* causality deeper than this hangs under the last level printed */

static void put_stand_ins(struct json *json, const struct why *why)
{
	json_begin_array(json, "stand_ins");
	for (size_t i = 0; i < why->stand_in_count; i++) {
		json_begin_object(json, NULL);
		report_json_thread(json, "who", &why->stand_ins[i].who);
		json_print_u64(json, "start_ns", why->stand_ins[i].start_ns);
		json_print_u64(json, "end_ns", why->stand_ins[i].end_ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void put_wib(struct json *json, const struct why *why)
{
	json_begin_object(json, "wib");
	report_json_wib(json, why->working_ns, why->interrupted_ns, why->blocked_ns,
			why->uncertain_ns);
	json_end_object(json);

	json_begin_object(json, "blocked");
	json_print_u64(json, "held_up_ns", why->held_up_ns);
	json_print_u64(json, "asked_ns", why->asked_ns);
	json_print_u64(json, "idle_ns", why->idle_ns);
	json_print_u64(json, "slices", why->slice_count);
	json_print_u64(json, "slices_ns", why->slice_ns);
	json_print_u64(json, "inferred_sleeps", why->answer_count);
	json_print_u64(json, "inferred_ns", why->answer_ns);
	json_print_u64(json, "inferred_slices", why->missed_count);
	json_print_u64(json, "inferred_slices_ns", why->missed_ns);
	json_end_object(json);
}

static void why_json_put_polls(struct json *json, const struct why_polls *polls)
{
	if (polls->bare) {
		json_begin_object(json, "bare_sleeps");
		json_print_u64(json, "count", polls->bare);
		json_print_u64(json, "sleeps", polls->sleeps);
		json_print_u64(json, "sleep_ns", polls->bare_ns);
		json_end_object(json);
	}
	if (!polls->call)
		return;
	json_begin_object(json, "polls");
	json_print_string(json, "call", polls->call);
	json_print_string(json, "error", polls->error);
	json_print_string(json, "object", polls->object ? polls->object : "");
	json_print_u64(json, "count", polls->count);
	json_print_u64(json, "sleeps", polls->sleeps);
	json_end_object(json);
}

static void why_json_put_verdict(struct json *json, const struct why *why,
				 const struct facts *facts)
{
	json_begin_array(json, "verdict");
	for (size_t i = 0; i < why->root_count; i++) {
		const struct why_root *root = &why->roots[i];

		json_begin_object(json, NULL);
		json_print_u64(json, "ns", root->ns);
		json_print_share(json, "share", root->ns, why_verdict_ns(why));
		json_print_string(json, "kind", why_kind_name(root->kind));
		report_json_thread(json, "who", &root->who);
		report_json_what(json, root);
		report_json_object(json, root->object, root->objects);
		json_print_string(json, "class", why_wait_class_name(root->class));
		json_print_u64(json, "count", root->count);
		json_print_u64(json, "longest_ns", root->longest_ns);
		report_json_reason(json, "why", root->why);
		if (root->inferred)
			report_json_reason(json, "inferred", root->inferred);
		if (root->told) {
			json_print_string(json, "told", root->told);
			json_print_u64(json, "told_ns", root->told_ns);
		}
		json_print_bool(json, "timed_out", root->timed_out);
		report_json_thread(json, "kept_off", &root->kept_off);
		if (root->client.tid)
			report_json_thread(json, "works_for", &root->client);
		why_json_put_polls(json, &root->polls);
		why_json_root_code(json, facts, root, true);
		json_end_object(json);
	}
	json_end_array(json);
}

/* Rows of roots alike, as the text has them, with the indices of the roots in "verdict". */
static void why_json_put_group(struct json *json, const struct why *why,
			       const struct why_rows *rows, const struct why_row *row)
{
	json_begin_object(json, NULL);
	json_print_u64(json, "ns", row->sum.ns);
	json_print_share(json, "share", row->sum.ns, why_verdict_ns(why));
	json_print_string(json, "kind", why_kind_name(row->sum.kind));
	json_print_string(json, "class", why_wait_class_name(row->sum.class));
	json_print_u64(json, "threads", row->threads);
	json_print_string(json, "name", row->name);
	if (row->many_whats)
		json_print_null(json, "what");
	else
		report_json_what(json, &row->sum);
	if (row->many_objects)
		json_print_null(json, "object");
	else
		report_json_object(json, row->sum.object, row->sum.objects);
	report_json_reason(json, "why", row->sum.why);
	json_print_bool(json, "timed_out", row->sum.timed_out);
	json_print_u64(json, "count", row->sum.count);
	json_print_u64(json, "longest_ns", row->sum.longest_ns);
	json_begin_array(json, "roots");
	for (uint32_t i = 0; i < row->root_count; i++)
		json_print_u64(json, NULL, rows->members[row->first_root + i]);
	json_end_array(json);
	json_end_object(json);
}

static void put_groups(struct json *json, const struct why *why)
{
	struct why_rows rows;

	why_fold(why, TOP_DEFAULT, &rows);
	json_begin_array(json, "groups");
	for (size_t i = 0; i < rows.count; i++)
		why_json_put_group(json, why, &rows, &rows.at[i]);
	json_end_array(json);
	json_begin_object(json, "kinds");
	for (enum why_kind kind = 0; kind < WHY_KIND_COUNT; kind++) {
		if (rows.ns[kind])
			json_print_u64(json, why_kind_name(kind), rows.ns[kind]);
	}
	json_end_object(json);
	why_rows_fini(&rows);
}

static void why_put_chain(struct json *json, const struct why *why, const struct facts *facts)
{
	json_begin_array(json, "chain");
	for (size_t i = 0; i < why->chain_count; i++) {
		const struct why_hop *hop = &why->chain[i];
		AUTO_FREE char *did = report_why_hop_did(hop);

		json_begin_object(json, NULL);
		report_json_thread(json, "who", &hop->who);
		report_json_named(json, "what", did, hop->what_data);
		report_json_object(json, hop->object, hop->objects);
		report_json_named(json, "woken_by", hop->woken_by, hop->woken_by_data);
		if (hop->helper)
			report_json_reason(json, "helper", hop->helper);
		if (hop->instead) {
			report_json_reason(json, "instead", hop->instead);
			report_json_thread(json, "expects", &hop->expects);
			if (hop->expects_by)
				report_json_reason(json, "expects_inferred", hop->expects_by);
		}
		if (hop->inferred) {
			report_json_reason(json, hop->known ? "asked" : "inferred", hop->inferred);
			report_json_thread(json, "answerer", &hop->answerer);
		}
		if (hop->told)
			json_print_string(json, "told", hop->told);
		if (hop->waker_told)
			json_print_string(json, "waker_told", hop->waker_told);
		report_json_thread(json, "waker", &hop->waker);
		json_print_u64(json, "ns", hop->ns);
		json_print_u64(json, "count", hop->count);
		json_print_u64(json, "slices", hop->slices);
		if (hop->lock) {
			json_print_string(json, "lock", hop->lock);
			json_print_string(json, "lock_from", LOCK_FROM);
			report_json_thread(json, "owner", &hop->owner);
		}
		if (hop->holder.tid) {
			report_json_thread(json, "holder", &hop->holder);
			json_print_string(json, "holding", hop->holding);
			json_print_bool(json, "many_held", hop->many_held);
		}
		why_json_codes(json, facts, "code", hop->code, hop->code ? hop->code->seen_ns : 0);
		why_json_codes(json, facts, "waker_code", hop->waker_code,
			       hop->waker_code ? hop->waker_code->seen_ns : 0);
		json_end_object(json);
	}
	json_end_array(json);
}

/*
 * Both trees come as lists with depths. A node is left open until a node that is
 * not below it comes: how many objects stand open is their depth.
 */
struct tree {
	struct json *json;
	uint32_t open;
};

static void tree_close_to(struct tree *tree, uint32_t depth)
{
	while (tree->open > depth) {
		json_end_array(tree->json);
		json_end_object(tree->json);
		tree->open--;
	}
}

/* The node's own keys go between this and tree_children(). */
static void tree_node(struct tree *tree, uint32_t depth)
{
	tree_close_to(tree, depth < NEST_MAX ? depth : NEST_MAX);
	json_begin_object(tree->json, NULL);
}

static void tree_children(struct tree *tree)
{
	json_begin_array(tree->json, "children");
	tree->open++;
}

static void put_summary(struct json *json, const struct why *why)
{
	struct tree tree = { .json = json };

	json_begin_array(json, "summary");
	for (size_t i = 0; i < why->line_count; i++) {
		const struct why_line *line = &why->lines[i];

		tree_node(&tree, line->depth);
		json_print_string(json, "name", line->name);
		json_print_u64(json, "ns", line->ns);
		json_print_u64(json, "count", line->count);
		json_begin_array(json, "instances");
		for (uint32_t k = 0; k < line->instance_count; k++)
			json_print_u64(json, NULL, why->instances[line->first_instance + k].id);
		json_end_array(json);
		tree_children(&tree);
	}
	tree_close_to(&tree, 0);
	json_end_array(json);
}

static void why_json_put_instances(struct json *json, const struct why *why)
{
	json_begin_object(json, "instances");
	for (size_t i = 0; i < why->instance_count; i++) {
		const struct why_instance *instance = &why->instances[i];
		AUTO_FREE char *key = xasprintf("%u", instance->id);
		AUTO_FREE char *path = words_line(why, instance->line);

		json_begin_object(json, key);
		json_print_u64(json, "start_ns", instance->start_ns);
		json_print_u64(json, "end_ns", instance->end_ns);
		json_print_string(json, "state", path);
		json_end_object(json);
	}
	json_end_object(json);
}

static void why_json_put_waker(struct json *json, const struct why_wait *wait)
{
	report_json_begin_waker(json, wait);
	if (wait->helper)
		report_json_reason(json, "helper", wait->helper);
	report_json_wib(json, wait->working_ns, wait->interrupted_ns, wait->blocked_ns,
			wait->uncertain_ns);
	json_end_object(json);
	if (wait->told)
		json_print_string(json, "told", wait->told);
	if (wait->inferred) {
		report_json_reason(json, wait->known ? "asked" : "inferred", wait->inferred);
		report_json_thread(json, "answerer", &wait->answerer);
	}
	if (!wait->is_slice)
		return;
	json_begin_object(json, "last_slice_woken_by");
	json_print_string(json, "kind", why_waker_name(wait->last_waker));
	report_json_thread_keys(json, &wait->last_woken_by);
	report_json_named(json, "name", wait->last_waker_name, wait->last_waker_data);
	json_end_object(json);
}

static void why_json_put_holder(struct json *json, const struct why_wait *wait)
{
	if (!wait->holder.tid)
		return;
	report_json_thread(json, "holder", &wait->holder);
	json_print_string(json, "holding", wait->holding);
	json_begin_object(json, "holder_did");
	report_json_wib(json, wait->held.working_ns, wait->held.interrupted_ns,
			wait->held.blocked_ns, wait->held.uncertain_ns);
	json_end_object(json);
}

/* What the program told of the lock that it waited for; nothing where it told nothing. */
static void put_lock(struct json *json, const struct why *why, const struct why_wait *wait)
{
	if (!wait->lock)
		return;
	json_print_string(json, "lock", wait->lock);
	json_print_string(json, "lock_from", LOCK_FROM);
	json_begin_array(json, "owners");
	for (uint32_t i = 0; i < wait->owner_count; i++) {
		const struct why_owner *owner = &why->owners[wait->first_owner + i];

		json_begin_object(json, NULL);
		report_json_thread(json, "who", &owner->who);
		json_print_u64(json, "ns", owner->ns);
		report_json_wib(json, owner->working_ns, owner->interrupted_ns, owner->blocked_ns,
				owner->uncertain_ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void put_wait_code(struct json *json, const struct why_wait *wait, const struct facts *facts)
{
	struct why_codes codes;

	wait_code(facts->stacks, wait, &codes);
	why_json_codes(json, facts, "code", &codes, codes.seen_ns);
	wait_waker_code(facts->stacks, wait, &codes);
	why_json_codes(json, facts, "waker_code", &codes, codes.seen_ns);
}

static void put_causality(struct json *json, const struct why *why, const struct facts *facts)
{
	struct tree tree = { .json = json };

	json_begin_array(json, "causality");
	for (size_t i = 0; i < why->wait_count; i++) {
		const struct why_wait *wait = &why->waits[i];

		tree_node(&tree, wait->depth);
		json_print_u64(json, "start_ns", wait->start_ns);
		json_print_u64(json, "end_ns", wait->end_ns);
		report_json_thread(json, "who", &wait->who);
		json_print_string(json, "in", wait->in);
		json_print_string(json, "object", wait->object);
		json_print_string(json, "stack", wait->stack);
		put_wait_code(json, wait, facts);
		json_print_string(json, "class", why_wait_class_name(wait->class));
		why_json_put_waker(json, wait);
		why_json_put_holder(json, wait);
		put_lock(json, why, wait);
		tree_children(&tree);
	}
	tree_close_to(&tree, 0);
	json_end_array(json);
	json_begin_object(json, "cut");
	json_print_u64(json, "waits", why->waits_cut);
	json_print_u64(json, "ns", why->waits_cut_ns);
	json_print_u64(json, "depth_limit_hits", why->depth_limit_hits);
	json_end_object(json);
}

static void put_throttles(struct json *json, const struct facts *facts)
{
	json_begin_array(json, "throttles");
	for (size_t i = 0; i < facts->throttle_count; i++) {
		const struct fact_throttle *throttle = &facts->throttles[i];

		json_begin_object(json, NULL);
		json_print_string(json, "cgroup", throttle->cgroup);
		json_print_u64(json, "quota_ns", throttle->quota_ns);
		json_print_u64(json, "period_ns", throttle->period_ns);
		json_print_u64(json, "periods", throttle->periods);
		json_print_u64(json, "times", throttle->times);
		json_print_u64(json, "ns", throttle->ns);
		json_end_object(json);
	}
	json_end_array(json);
}

/* What the numbers rest on. */
static void put_coverage(struct json *json, const struct why *why, const struct facts *facts)
{
	json_print_u64(json, "lost_events", why->lost_events);
	json_begin_object(json, "uncertain");
	json_print_u64(json, "ns", why->uncertain_ns);
	json_print_u64(json, "lost_span_ns", why->lost_span_ns);
	json_end_object(json);
	json_begin_object(json, "repairs");
	json_print_u64(json, "count", why->repairs);
	json_print_u64(json, "exact", why->repairs_exact);
	json_print_u64(json, "uncertain_ns", why->repairs_ns);
	json_end_object(json);
	put_throttles(json, facts);
	json_print_bool(json, "complete", facts->complete);
	report_json_missing(json, facts);
	report_json_damage(json, facts, NULL);
}

static void put_syscalls(struct json *json, const struct why *why)
{
	json_begin_object(json, "syscalls");
	for (size_t i = 0; i < why->syscall_count; i++)
		json_print_u64(json, why->syscalls[i].name, why->syscalls[i].count);
	json_end_object(json);
}

/* The class of delay that the verdict is of; null = of the whole window. */
static void put_only(struct json *json, const struct why *why)
{
	if (!why->classes) {
		json_print_null(json, "only");
		return;
	}
	json_begin_object(json, "only");
	json_print_string(json, "class", why_class_name(why->classes));
	json_print_u64(json, "ns", why->class_ns);
	json_print_u64(json, "count", why->class_count);
	json_end_object(json);
}

/* Threads whose largest part is another one than that of all. */
static void put_differing(struct json *json, const struct why_process *process)
{
	json_begin_array(json, "differ");
	for (size_t i = 0; i < process->differs_count; i++) {
		const struct why_differs *one = &process->differs[i];

		json_begin_object(json, NULL);
		report_json_thread(json, "who", &one->who);
		json_print_u64(json, "ns", one->ns);
		json_print_u64(json, "part_ns", one->root.ns);
		json_print_string(json, "kind", why_kind_name(one->root.kind));
		json_print_string(json, "class", why_wait_class_name(one->root.class));
		report_json_thread(json, "cause", &one->root.who);
		report_json_what(json, &one->root);
		report_json_object(json, one->root.object, one->root.objects);
		json_end_object(json);
	}
	json_end_array(json);
}

/* null = no moment stands out, or one thread was asked for. */
static void put_worst(struct json *json, const struct why *why)
{
	const struct why_worst *worst = why->worst;

	if (!worst) {
		json_print_null(json, "worst");
		return;
	}
	json_begin_object(json, "worst");
	report_json_window(json, worst->start_ns, worst->end_ns);
	json_print_u64(json, "held_up_ns", worst->held_ns);
	json_print_u64(json, "average_ns", worst->mean_ns);
	json_print_u64(json, "cause", worst->cause);
	json_print_u64(json, "cause_ns", worst->cause_ns);
	json_end_object(json);
}

/* A process: how many threads were added up, and those that only waited. */
static void why_json_put_process(struct json *json, const struct why *why)
{
	const struct why_process *process = why->process;

	if (!process) {
		json_print_null(json, "process");
		return;
	}
	json_begin_object(json, "process");
	json_print_u64(json, "threads", process->threads);
	json_print_u64(json, "added", process->added);
	json_print_u64(json, "threads_ns", why_states_ns(why));
	report_json_thread(json, "details_of", &process->told.target);
	json_begin_array(json, "apart");
	for (size_t i = 0; i < process->apart_count; i++) {
		const struct why_root *root = &process->apart[i];

		json_begin_object(json, NULL);
		report_json_thread(json, "who", &root->who);
		json_print_u64(json, "ns", root->ns);
		json_print_string(json, "in", root->what);
		json_print_string(json, "object", root->object);
		json_print_string(json, "class", why_wait_class_name(root->class));
		report_json_reason(json, "why", root->why);
		json_end_object(json);
	}
	json_end_array(json);
	put_differing(json, process);
	json_end_object(json);
}

/* Who the processes are that are named; only what is known. */
static void put_people(struct json *json, const struct why *why)
{
	json_begin_array(json, "people");
	for (size_t i = 0; i < why->person_count; i++) {
		const struct why_person *person = &why->people[i];
		AUTO_FREE char *place = words_place(person);

		json_begin_object(json, NULL);
		report_json_thread(json, "who", &person->who);
		json_print_string(json, "cmdline", person->cmdline);
		json_print_string(json, "cgroup", person->cgroup);
		json_print_string(json, "place", place);
		json_print_string(json, "killed_by", person->killed_by);
		json_end_object(json);
	}
	json_end_array(json);
}

static void put_deadlocked(struct json *json, const struct stuck_thread *thread)
{
	const struct why_thread who = { .tid = thread->tid,
					.tgid = thread->tgid,
					.comm = thread->comm };

	json_begin_object(json, NULL);
	report_json_thread(json, "who", &who);
	json_print_string(json, "in", thread->in);
	json_print_string(json, "object", thread->object[0] ? thread->object : NULL);
	json_begin_array(json, "waits_for");
	for (size_t i = 0; i < thread->edge_count; i++)
		json_print_i64(json, NULL, thread->edges[i].tid);
	json_end_array(json);
	json_end_object(json);
}

static void put_deadlocks(struct json *json, const struct stuck *stuck)
{
	json_begin_array(json, "deadlocks");
	for (size_t i = 0; i < stuck->cycle_count; i++) {
		json_begin_array(json, NULL);
		for (size_t k = 0; k < stuck->cycles[i].count; k++) {
			const struct stuck_thread *thread =
				stuck_find(stuck, stuck->cycles[i].tids[k]);

			if (thread)
				put_deadlocked(json, thread);
		}
		json_end_array(json);
	}
	json_end_array(json);
}

static void why_json_put_why(struct json *json, const struct why *why, const struct facts *facts,
			     const struct stuck *stuck)
{
	const struct why *details = why->process ? &why->process->told : why;

	report_json_begin(json, NULL, "why");
	report_json_thread(json, "target", &why->target);
	json_print_string(json, "cmdline", why->cmdline);
	json_print_i64(json, "stood_in_for", why->stood_in_for);
	put_stand_ins(json, why);
	report_json_window(json, why->start_ns, why->end_ns);
	put_wib(json, why);
	put_only(json, why);
	why_json_put_process(json, why);
	put_worst(json, why);
	put_people(json, why);
	if (stuck)
		put_deadlocks(json, stuck);
	why_json_put_verdict(json, why, facts);
	put_groups(json, why);
	why_put_chain(json, details, facts);
	put_summary(json, details);
	why_json_put_instances(json, details);
	put_causality(json, details, facts);
	put_coverage(json, why, facts);
	put_syscalls(json, details);
	why_json_stacks(json, facts, why, details);
	json_end_object(json);
}

void why_json(FILE *out, const struct why *results, size_t count, const struct facts *facts,
	      const struct stuck *stuck)
{
	struct json json = { .out = out };

	if (count != 1)
		json_begin_array(&json, NULL);
	for (size_t i = 0; i < count; i++)
		why_json_put_why(&json, &results[i], facts, stuck);
	if (count != 1)
		json_end_array(&json);
	json_fini(&json);
}
