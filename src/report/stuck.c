/* stuck.c - what threads wait for, who could end it, and what that ends in. */
#include "report/stuck.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "base/text.h"
#include "event/stacks.h"
#include "report/frames.h"
#include "report/stuck_fold.h"
#include "report/stuck_go.h"
#include "report/stuck_how.h"
#include "report/vocabulary.h"
#include "stuck/condition.h"
#include "stuck/goroutines.h"
#include "stuck/stuck.h"

#define ROWS_MAX  200 /* of the text */
#define NAMES_MAX 8   /* of a list of those who could end a wait */
#define MET_ROWS  10  /* of threads that a condition is met by */
#define HOPS_MAX  6   /* of a line */
#define ROOTS_MAX 3   /* of a list of what a chain ends in */

/* Does the call give something away, and wait for whoever takes it? */
static bool is_output(const char *call)
{
	static const char *const calls[] = {
		"write",    "writev",
		"pwrite64", "pwritev",
		"pwritev2", "send",
		"sendto",   "sendmsg",
		"sendmmsg", "sendfile",
		"msgsnd",   "mq_timedsend",
		"vmsplice", "mq_timedsend_time64",
	};
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		found |= strcmp(call, calls[i]) == 0;
	return found;
}

/* "runs", "sleeps for a time": of a thread that a chain ends in, or of the thread itself. */
static const char *kind_words(const struct stuck_thread *thread)
{
	switch (thread->kind) {
	case STUCK_RUNS:
		return "runs, or waits for a CPU";
	case STUCK_TASKS:
		return "waits for others";
	case STUCK_TIMER:
		return "sleeps until a time";
	case STUCK_KERNEL:
		if (thread->is_limited)
			return "is held back by an I/O limit, as inferred";
		return "is asleep in the kernel (state D)";
	case STUCK_STOPPED:
		return "is stopped by a signal, until SIGCONT";
	case STUCK_TRACED:
		return "is stopped by its tracer";
	case STUCK_FROZEN:
		return "is frozen by its cgroup";
	case STUCK_OUTSIDE:
		return is_output(thread->in) ? "waits until somebody outside takes its output"
					     : "waits for input from outside";
	case STUCK_UNOWNED:
		return "waits for an object without a known owner";
	case STUCK_EXITED:
		return "has exited";
	default:
		return "waits for an unknown object";
	}
}

static char *thread_name(const struct stuck *stuck, int32_t tid)
{
	const struct stuck_thread *thread = stuck_find(stuck, tid);

	return xasprintf("%s[%d]", thread ? thread->comm : "?", tid);
}

/* The same with what its process says of itself: "postgres[4] (app shop [local] idle)". */
static char *titled_name(const struct stuck *stuck, int32_t tid)
{
	const struct stuck_thread *thread = stuck_find(stuck, tid);
	AUTO_FREE char *name = thread_name(stuck, tid);
	bool is_told = thread && thread->title[0];

	return xasprintf("%s%s%s%s", name, is_told ? " (" : "", is_told ? thread->title : "",
			 is_told ? ")" : "");
}

/* "read fd 0 = pipe:[4]" */
static char *wait_text(const struct stuck_thread *thread)
{
	return xasprintf("%s%s%s%s", thread->in, thread->in[0] && thread->object[0] ? ": " : "",
			 thread->object, thread->is_timed ? " (with a time limit)" : "");
}

static char *end_text(const struct stuck_thread *thread)
{
	AUTO_FREE char *wait = wait_text(thread);
	bool is_told = wait[0];

	return xasprintf("%s%s%s%s", kind_words(thread), is_told ? " (" : "", is_told ? wait : "",
			 is_told ? ")" : "");
}

/* Whether the process has threads beside its main thread. */
static bool has_more_threads(const struct stuck *stuck, int32_t tgid)
{
	const struct stuck_thread *main = stuck_find(stuck, tgid);
	size_t next = main ? (size_t)(main - stuck->threads) + 1 : stuck->count;

	return next < stuck->count && stuck->threads[next].tgid == tgid;
}

/* The only one of the process's threads that runs; NULL = there is none, or several. */
static const struct stuck_thread *only_running(const struct stuck *stuck, int32_t tgid)
{
	const struct stuck_thread *main = stuck_find(stuck, tgid), *found = NULL;

	for (const struct stuck_thread *at = main;
	     at && at < stuck->threads + stuck->count && at->tgid == tgid; at++) {
		if (at->kind != STUCK_RUNS)
			continue;
		if (found)
			return NULL;
		found = at;
	}
	return found;
}

/* "any of a[1], b[2] and its threads and 3 more"; "any thread of a[1]; of these a[1] runs" */
static char *any_text(const struct stuck *stuck, const struct stuck_thread *thread)
{
	char *text = xstrdup(thread->edge_count == 1 ? "any thread of "
			     : thread->needs_all     ? "all of "
						     : "any of ");

	for (size_t i = 0; i < thread->edge_count && i < ROOTS_MAX; i++) {
		const struct stuck_edge *edge = &thread->edges[i];
		AUTO_FREE char *name = thread_name(stuck, edge->tid);
		bool is_more = thread->edge_count > 1 && edge->is_process &&
			       has_more_threads(stuck, edge->tid);
		char *more = xasprintf("%s%s%s%s", text, i ? ", " : "", name,
				       is_more ? " and its threads" : "");

		free(text);
		text = more;
	}
	if (thread->edge_count > ROOTS_MAX) {
		char *more = xasprintf("%s and %zu more", text, thread->edge_count - ROOTS_MAX);

		free(text);
		text = more;
	}
	if (thread->edge_count == 1) {
		const struct stuck_thread *running = only_running(stuck, thread->edges[0].tid);
		AUTO_FREE char *name = running ? thread_name(stuck, running->tid) : NULL;
		char *more = xasprintf("%s%s%s%s", text, name ? "; of these " : "",
				       name ? name : "", name ? " runs, or waits for a CPU" : "");

		free(text);
		text = more;
	}
	return text;
}

/* "; by exclusion, only a[2] can end that, but for a signal: sleeps until a time"; "" = nothing is known. */
static char *only_text(const struct stuck *stuck, const struct stuck_thread *thread)
{
	const struct stuck_thread *only =
		thread->only_tid ? stuck_find(stuck, thread->only_tid) : NULL;
	AUTO_FREE char *name = only ? titled_name(stuck, only->tid) : NULL;
	AUTO_FREE char *what = only ? end_text(only) : NULL;

	return only ? xasprintf("; by exclusion, only %s can end that, but for a signal: %s", name,
				what)
		    : xstrdup("");
}

/* What a thread's chain ends in, in words. */
static char *root_text(const struct stuck *stuck, const struct stuck_thread *thread)
{
	const struct stuck_thread *end = stuck_find(stuck, thread->root_tid);
	AUTO_FREE char *name = NULL, *what = NULL, *only = NULL;

	switch (thread->root) {
	case STUCK_ROOT_DEADLOCK:
		return xstrdup(thread->is_closed ? "deadlock: no owner is known, and nobody "
						   "else can end the wait"
						 : "deadlock");
	case STUCK_ROOT_VICTIM:
		return xstrdup("waits behind a deadlock");
	case STUCK_ROOT_INSIDE:
		return xstrdup(thread->is_inside ? "no owner is known, and only a signal can wake "
						   "a thread of the process"
						 : "waits behind a process that only a signal can "
						   "wake");
	case STUCK_ROOT_BEFORE:
		name = thread_name(stuck, thread->root_tid);
		return xasprintf("the deadlock of %s, unless somebody else ends a wait before",
				 name);
	case STUCK_ROOT_RING:
		return xstrdup("a cycle that a time limit or an unseen process can end");
	case STUCK_ROOT_ANY:
		return any_text(stuck, end && end->edge_count ? end : thread);
	case STUCK_ROOT_TASK:
		if (!end)
			return xstrdup("");
		name = titled_name(stuck, end->tid);
		what = end_text(end);
		only = only_text(stuck, end);
		return xasprintf("%s %s%s", name, what, only);
	default:
		only = only_text(stuck, thread);
		return xasprintf("%s%s", kind_words(thread), only);
	}
}

static void json_tids(struct json *json, const char *key, const int32_t *tids, size_t count)
{
	json_begin_array(json, key);
	for (size_t i = 0; i < count; i++)
		json_print_i64(json, NULL, tids[i]);
	json_end_array(json);
}

static void json_wait(struct json *json, const struct stuck_thread *thread)
{
	if (thread->kind == STUCK_RUNS || thread->kind == STUCK_EXITED) {
		json_print_null(json, "wait");
		return;
	}
	json_begin_object(json, "wait");
	json_print_string(json, "in", thread->in[0] ? thread->in : kind_words(thread));
	json_print_string(json, "object", thread->object[0] ? thread->object : NULL);
	if (thread->since_ns)
		json_print_u64(json, "since_ns", thread->since_ns);
	else
		json_print_null(json, "since_ns");
	json_print_bool(json, "outside", thread->has_outside);
	json_end_object(json);
}

static const char *comm_of(const struct stuck *stuck, int32_t tid)
{
	const struct stuck_thread *thread = stuck_find(stuck, tid);

	return thread ? thread->comm : "";
}

static void json_edges(struct json *json, const struct stuck *stuck,
		       const struct stuck_thread *thread)
{
	json_begin_array(json, "waits_for");
	for (size_t i = 0; i < thread->edge_count; i++) {
		const struct stuck_edge *edge = &thread->edges[i];
		AUTO_FREE char *how = report_stuck_how(edge);

		json_begin_object(json, NULL);
		json_print_i64(json, "tid", edge->tid);
		json_print_string(json, "comm", comm_of(stuck, edge->tid));
		json_print_string(json, "how", how);
		json_end_object(json);
	}
	json_end_array(json);
}

/* NULL = its stack is not known. */
static const struct stack *stack_of(const struct stacks *stacks, int32_t tid, uint32_t *out_number)
{
	size_t i = stacks ? stacks_first_wait(stacks, tid, 0) : 0;

	if (!stacks || i >= stacks->wait_count || stacks->waits[i].tid != tid)
		return NULL;
	*out_number = stacks->waits[i].stack;
	return &stacks->stacks[*out_number];
}

static void json_stack(struct json *json, const struct stacks *stacks, int32_t tid)
{
	uint32_t number;
	const struct stack *stack = stack_of(stacks, tid, &number);

	if (!stack) {
		json_print_null(json, "stack");
		json_print_null(json, "stack_end");
		return;
	}
	json_begin_array(json, "stack");
	for (uint32_t i = 0; i < stack->count; i++) {
		json_begin_object(json, NULL);
		frame_json_keys(json, stacks_frame(stacks, number, i));
		json_end_object(json);
	}
	json_end_array(json);
	json_print_string(json, "stack_end", stack->end);
}

static void json_thread(struct json *json, const struct report_stuck *report,
			const struct stuck_thread *thread)
{
	const struct stuck *stuck = report->stuck;
	AUTO_FREE char *root = root_text(stuck, thread);

	json_begin_object(json, NULL);
	json_print_i64(json, "tid", thread->tid);
	json_print_i64(json, "tgid", thread->tgid);
	json_print_string(json, "comm", thread->comm);
	json_print_string(json, "title", thread->title[0] ? thread->title : NULL);
	json_wait(json, thread);
	json_edges(json, stuck, thread);
	json_print_string(json, "root", root);
	json_stack(json, report->stacks, thread->tid);
	json_end_object(json);
}

static void json_convoys(struct json *json, const struct stuck *stuck)
{
	json_begin_array(json, "convoys");
	for (size_t i = 0; i < stuck->convoy_count; i++) {
		const struct stuck_convoy *convoy = &stuck->convoys[i];

		json_begin_object(json, NULL);
		json_print_i64(json, "tid", convoy->tid);
		json_print_string(json, "comm", comm_of(stuck, convoy->tid));
		json_print_bool(json, "inferred", convoy->is_inferred);
		json_print_string(json, "object", convoy->object);
		json_tids(json, "tids", convoy->tids, convoy->count);
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_report(struct json *json, const char *key, const struct report_stuck *report)
{
	const struct stuck *stuck = report->stuck;

	report_json_begin(json, key, "stuck");
	json_print_u64(json, "took_ns", stuck->took_ns);
	json_begin_array(json, "threads");
	for (size_t i = 0; i < stuck->count; i++)
		json_thread(json, report, &stuck->threads[i]);
	json_end_array(json);
	json_begin_array(json, "cycles");
	for (size_t i = 0; i < stuck->cycle_count; i++)
		json_tids(json, NULL, stuck->cycles[i].tids, stuck->cycles[i].count);
	json_end_array(json);
	json_convoys(json, stuck);
	report_stuck_go_json(json, report);
	json_begin_array(json, "missing");
	for (size_t i = 0; i < stuck->missing_count; i++) {
		json_begin_object(json, NULL);
		json_print_string(json, "what", stuck->missing[i].what);
		json_print_string(json, "why", stuck->missing[i].why);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

void report_stuck_json(FILE *out, const struct report_stuck *report)
{
	struct json json = { .out = out };

	json_report(&json, NULL, report);
	json_fini(&json);
}

static void print_name(FILE *out, const struct stuck *stuck, int32_t tid)
{
	AUTO_FREE char *name = thread_name(stuck, tid);
	AUTO_FREE char *safe = text_escaped(name);

	fputs(safe, out);
}

static void print_titled_name(FILE *out, const struct stuck *stuck, int32_t tid)
{
	AUTO_FREE char *name = titled_name(stuck, tid);
	AUTO_FREE char *safe = text_escaped(name);

	fputs(safe, out);
}

/* "  for 3.20 s", since when it had no CPU. */
static void print_since(FILE *out, const struct stuck *stuck, const struct stuck_thread *thread)
{
	if (thread->since_ns && thread->since_ns <= stuck->now_ns)
		fprintf(out, " for %s", text_duration(stuck->now_ns - thread->since_ns).s);
}

static void print_edges(FILE *out, const struct stuck *stuck, const struct stuck_thread *thread,
			const char *indent)
{
	for (size_t i = 0; i < thread->edge_count && i < NAMES_MAX; i++) {
		const struct stuck_edge *edge = &thread->edges[i];
		AUTO_FREE char *how = report_stuck_how(edge);

		fprintf(out, "%s  <- ", indent);
		print_titled_name(out, stuck, edge->tid);
		fprintf(out, " %s\n", how);
	}
	if (thread->edge_count > NAMES_MAX)
		fprintf(out, "%s  <- and %zu more\n", indent, thread->edge_count - NAMES_MAX);
	if (thread->edge_count && thread->has_outside)
		fprintf(out, "%s  <- or from outside: a signal, a client, the network\n", indent);
}

/* In whose code it waits, and who called that. */
static char *place_text(const struct report_stuck *report, const struct stack *stack,
			uint32_t number)
{
	uint32_t at = stack->place != FRAME_NONE ? stack->place : 0;
	const struct stack_frame *place = stacks_frame(report->stacks, number, at);
	uint32_t caller =
		place->function ? stack->caller : stacks_named_caller(report->stacks, number, at);
	bool has_caller = caller != FRAME_NONE && stack->place != FRAME_NONE;
	AUTO_FREE char *text = frame_text(place);
	AUTO_FREE char *above =
		has_caller ? frame_text(stacks_frame(report->stacks, number, caller)) : NULL;
	const char *how = place->function ? ", called by " : ", below ";

	return xasprintf("%s%s%s", text, has_caller ? how : "", has_caller ? above : "");
}

static void print_code(FILE *out, const struct report_stuck *report, int32_t tid,
		       const char *indent)
{
	uint32_t number;
	const struct stack *stack = stack_of(report->stacks, tid, &number);
	AUTO_FREE char *place = NULL;

	if (!stack || !stack->count)
		return;
	if (report->whole) {
		frame_print_stack(out, report->stacks, number, stack->place, indent);
		return;
	}
	place = place_text(report, stack, number);
	fprintf(out, "%s    at %s\n", indent, place);
}

static void print_thread(FILE *out, const struct report_stuck *report,
			 const struct stuck_thread *thread, const char *indent)
{
	const struct stuck *stuck = report->stuck;
	AUTO_FREE char *wait = wait_text(thread);
	AUTO_FREE char *safe = text_escaped(wait);

	fputs(indent, out);
	print_titled_name(out, stuck, thread->tid);
	if (thread->kind == STUCK_RUNS || thread->kind == STUCK_EXITED || !wait[0]) {
		fprintf(out, " %s%s%s", kind_words(thread), wait[0] ? ": " : "", safe);
		print_since(out, stuck, thread);
		fputc('\n', out);
	} else {
		fputs(" waits", out);
		print_since(out, stuck, thread);
		fprintf(out, " in %s\n", safe);
	}
	print_code(out, report, thread->tid, indent);
	print_edges(out, stuck, thread, indent);
}

static void print_root(FILE *out, const struct stuck *stuck, const struct stuck_thread *thread)
{
	AUTO_FREE char *root = root_text(stuck, thread);
	AUTO_FREE char *safe = text_escaped(root);

	/* Of itself, the line above it says so. */
	if (thread->kind != STUCK_RUNS && thread->kind != STUCK_EXITED &&
	    (thread->in[0] || thread->root != STUCK_ROOT_SELF))
		fprintf(out, "    ends in: %s\n", safe);
}

/* Of those who have no known owner it is by exclusion. */
static void print_closed(FILE *out, const struct stuck_cycle *cycle)
{
	if (cycle->count == 1)
		fputs("DEADLOCK: nobody else can end the wait of this thread", out);
	else
		fprintf(out,
			"DEADLOCK: %zu threads wait for each other; nobody else can end their waits",
			cycle->count);
	fputs(", but for a signal\n"
	      "  By exclusion, as not all owners are known: each thread of the process sleeps, it\n"
	      "  handles no signals, and no other process shares its memory.\n",
	      out);
}

static void print_cycles(FILE *out, const struct report_stuck *report)
{
	const struct stuck *stuck = report->stuck;

	for (size_t i = 0; i < stuck->cycle_count; i++) {
		const struct stuck_cycle *cycle = &stuck->cycles[i];

		if (cycle->is_closed)
			print_closed(out, cycle);
		else if (cycle->count == 1)
			fputs("DEADLOCK: a thread waits for itself\n", out);
		else
			fprintf(out, "DEADLOCK: %zu threads wait for each other\n", cycle->count);
		for (size_t k = 0; k < cycle->count && k < ROWS_MAX; k++) {
			const struct stuck_thread *thread = stuck_find(stuck, cycle->tids[k]);

			if (thread)
				print_thread(out, report, thread, "  ");
		}
		if (cycle->count > ROWS_MAX)
			fprintf(out, "  and %zu more\n", cycle->count - ROWS_MAX);
	}
}

static void print_convoys(FILE *out, const struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->convoy_count; i++) {
		const struct stuck_convoy *convoy = &stuck->convoys[i];
		const struct stuck_thread *owner = stuck_find(stuck, convoy->tid);
		AUTO_FREE char *safe = text_escaped(convoy->object);

		fprintf(out, "CONVOY: %zu threads behind ", convoy->count);
		print_name(out, stuck, convoy->tid);
		fprintf(out, "%s, %s%s%s\n", convoy->is_inferred ? ", inferred" : "", safe,
			owner ? "; it " : "", owner ? kind_words(owner) : "");
	}
}

/* "a[3], b[4] and 2 more" */
static void print_names(FILE *out, const struct stuck *stuck, const size_t *indices, size_t count)
{
	for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
		fputs(i ? ", " : "", out);
		print_name(out, stuck, stuck->threads[indices[i]].tid);
	}
	if (count > NAMES_MAX)
		fprintf(out, " and %zu more", count - NAMES_MAX);
}

struct place {
	char *text; /* owned */
	size_t count;
	int32_t tid; /* the first that is there */
};

ORDER_FUNCTION(by_place_text, struct place, ORDER_TEXT(text), ORDER_UP(tid));
ORDER_FUNCTION(by_place_count, struct place, ORDER_DOWN(count), ORDER_TEXT(text));

/* One for each thread; returns how many different ones come first. */
static size_t join_places(struct place *places, size_t count)
{
	size_t kinds = 0;

	qsort(places, count, sizeof(*places), by_place_text);
	for (size_t i = 0; i < count; i++) {
		if (kinds && strcmp(places[kinds - 1].text, places[i].text) == 0) {
			places[kinds - 1].count++;
			free(places[i].text);
		} else {
			places[kinds++] = places[i];
		}
	}
	qsort(places, kinds, sizeof(*places), by_place_count);
	return kinds;
}

/* "at f (x): 3 of them", "at g (x): a[3]" */
static void print_places(FILE *out, const struct report_stuck *report, const size_t *indices,
			 size_t count)
{
	AUTO_FREE struct place *places = xcalloc(count + 1, sizeof(*places));
	size_t known = 0, kinds;

	for (size_t i = 0; i < count; i++) {
		int32_t tid = report->stuck->threads[indices[i]].tid;
		uint32_t number;
		const struct stack *stack = stack_of(report->stacks, tid, &number);

		if (stack && stack->count)
			places[known++] =
				(struct place){ place_text(report, stack, number), 1, tid };
	}
	kinds = join_places(places, known);
	for (size_t i = 0; i < kinds; i++) {
		if (i < NAMES_MAX)
			fprintf(out, "    at %s", places[i].text);
		if (i < NAMES_MAX && places[i].count > 1 && places[i].count < count)
			fprintf(out, ": %s of them", text_count(places[i].count).s);
		if (i < NAMES_MAX && places[i].count == 1) {
			fputs(": ", out);
			print_name(out, report->stuck, places[i].tid);
		}
		if (i < NAMES_MAX)
			fputc('\n', out);
		free(places[i].text);
	}
	if (kinds > NAMES_MAX)
		fprintf(out, "    at %zu more places: --unfold has them\n", kinds - NAMES_MAX);
}

/* "4 threads wait for up to 3.20 s in futex: condition variable: a[3], b[4], ..." */
static void print_alike(FILE *out, const struct report_stuck *report, const size_t *indices,
			size_t count)
{
	const struct stuck *stuck = report->stuck;
	const struct stuck_thread *first = &stuck->threads[indices[0]];
	AUTO_FREE char *object = stuck_fold_object(first);
	AUTO_FREE char *wait = xasprintf("%s%s%s%s", first->in, object[0] ? ": " : "", object,
					 first->is_timed ? " (with a time limit)" : "");
	AUTO_FREE char *safe = text_escaped(wait);
	uint64_t since_ns = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t ns = stuck->threads[indices[i]].since_ns;

		if (ns && ns <= stuck->now_ns && (!since_ns || ns < since_ns))
			since_ns = ns;
	}
	fprintf(out, "%s threads wait", text_count(count).s);
	if (since_ns)
		fprintf(out, " for up to %s", text_duration(stuck->now_ns - since_ns).s);
	fprintf(out, " in %s: ", safe);
	print_names(out, stuck, indices, count);
	fputc('\n', out);
	print_places(out, report, indices, count);
	print_root(out, stuck, first);
}

struct rows {
	size_t printed, more, idle;
};

static void print_row(FILE *out, const struct report_stuck *report, const size_t *indices,
		      size_t count, struct rows *rows)
{
	const struct stuck_thread *first = &report->stuck->threads[indices[0]];

	if (rows->printed == ROWS_MAX) {
		rows->more += count;
		return;
	}
	rows->printed++;
	if (count > 1) {
		print_alike(out, report, indices, count);
	} else {
		print_thread(out, report, first, "");
		print_root(out, report->stuck, first);
	}
}

/* Whoever waits for others, or for ever, is told before the others. */
static bool is_in_chain(const struct stuck_thread *thread)
{
	return thread->edge_count || thread->root == STUCK_ROOT_VICTIM ||
	       thread->root == STUCK_ROOT_INSIDE;
}

/* Of those that wait for nobody who is there, the ones that were at something, and wait for no time and no work. */
static bool *amid_work(const struct report_stuck *report)
{
	const struct stuck *stuck = report->stuck;
	bool *amid = xcalloc(stuck->count + 1, sizeof(*amid));

	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];
		uint32_t number;
		const struct stack *stack = stack_of(report->stacks, thread->tid, &number);

		amid[i] = stack && thread->kind == STUCK_UNOWNED && stack->idle == STACK_NOT_IDLE &&
			  stacks_is_amid(report->stacks, stack);
	}
	return amid;
}

static void print_idle(FILE *out, const struct report_stuck *report, struct rows *rows)
{
	AUTO_FREE bool *amid = amid_work(report);
	struct stuck_fold fold;

	stuck_fold_make(report->stuck, amid, &fold);
	for (size_t i = 0; i < fold.count && report->all;) {
		size_t count = report->unfold || report->whole ? 1 : stuck_fold_length(&fold, i);

		print_row(out, report, fold.indices + i, count, rows);
		i += count;
	}
	rows->idle = report->all ? 0 : fold.count;
	stuck_fold_fini(&fold);
}

static void print_threads(FILE *out, const struct report_stuck *report)
{
	const struct stuck *stuck = report->stuck;
	struct rows rows = { 0 };

	for (int chains = 1; chains >= 0; chains--) {
		for (size_t i = 0; i < stuck->count; i++) {
			const struct stuck_thread *thread = &stuck->threads[i];

			/* Deadlocks are told above. */
			if (thread->root != STUCK_ROOT_DEADLOCK && !stuck_is_idle(thread) &&
			    is_in_chain(thread) == (chains == 1))
				print_row(out, report, &i, 1, &rows);
		}
	}
	print_idle(out, report, &rows);
	if (rows.more)
		fprintf(out, "and %s more: --json has all\n", text_count(rows.more).s);
	if (rows.idle)
		fprintf(out, "%s wait for a timer, for input or for an unknown owner\n",
			text_count(rows.idle).s);
}

void report_stuck_cycles(FILE *out, const struct stuck *stuck)
{
	const struct report_stuck report = { .stuck = stuck };

	print_cycles(out, &report);
	if (stuck->cycle_count)
		fputs("  So it was when the recording ended; holdup stuck shows more.\n\n", out);
}

/*
 * Where no cycle is known: of how many processes no thread can go on by what this machine does. Threads of one stand
 * together. Who waits for such a process has others that may go on.
 */
static size_t asleep_processes(const struct stuck *stuck, const struct stuck_thread **out_first)
{
	size_t count = 0;
	int32_t tgid = 0;

	for (size_t i = 0; i < stuck->count; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (thread->root != STUCK_ROOT_INSIDE || !thread->is_inside || thread->tgid == tgid)
			continue;
		tgid = thread->tgid;
		if (!count++)
			*out_first = thread;
	}
	return count;
}

static char *headline(const struct report_stuck *report)
{
	const struct stuck *stuck = report->stuck;
	const struct stuck_thread *first = NULL;
	bool has_deadlock = stuck->cycle_count ||
			    (report->goroutines && goroutines_deadlocks(report->goroutines) > 0);
	size_t asleep = has_deadlock ? 0 : asleep_processes(stuck, &first);
	AUTO_FREE char *name = asleep == 1 ? thread_name(stuck, first->tgid) : NULL;

	if (asleep == 1)
		return xasprintf("no deadlock found, but only a signal can wake %s", name);
	if (asleep)
		return xasprintf("no deadlock found, but only a signal can wake each of %s "
				 "processes",
				 text_count(asleep).s);
	return xstrdup(has_deadlock ? "a deadlock" : "no deadlock found");
}

void report_stuck_text(FILE *out, const struct report_stuck *report)
{
	const struct stuck *stuck = report->stuck;
	AUTO_FREE char *line = headline(report);

	fprintf(out, "%s %s inspected in %s: %s\n", text_count(stuck->count).s,
		stuck->count == 1 ? "thread" : "threads", text_duration(stuck->took_ns).s, line);
	print_cycles(out, report);
	report_stuck_go_deadlocks(out, report);
	print_convoys(out, stuck);
	print_threads(out, report);
	report_stuck_go_rest(out, report);
	for (size_t i = 0; i < stuck->missing_count; i++)
		fprintf(out, "not known: %s: %s\n", stuck->missing[i].what, stuck->missing[i].why);
}

/* ----------------------------------------------------------- one line of a chain */

static char *chain_more(char *text, char *more)
{
	char *longer = xasprintf("%s%s", text, more);

	free(text);
	free(more);
	return longer;
}

char *report_stuck_chain(const struct stuck *stuck, const struct stuck_thread *thread)
{
	const struct stuck_thread *at = thread;
	char *text;

	if (thread->kind == STUCK_RUNS)
		return xstrdup("");
	if (!thread->edge_count)
		return thread->in[0] ? wait_text(thread) : xstrdup(kind_words(thread));
	text = xasprintf("%s%s",
			 thread->root == STUCK_ROOT_DEADLOCK ? "DEADLOCK: "
			 : thread->root == STUCK_ROOT_VICTIM ? "behind a deadlock: "
							     : "",
			 thread->in[0] ? thread->in : kind_words(thread));
	for (size_t hops = 0; hops < HOPS_MAX && at->edge_count == 1; hops++) {
		const struct stuck_edge *edge = &at->edges[0];
		const struct stuck_thread *next = stuck_find(stuck, edge->tid);
		AUTO_FREE char *name = thread_name(stuck, edge->tid);

		text = chain_more(text, xasprintf(" > %s%s", name, edge->is_inferred ? "?" : ""));
		if (!next)
			return text;
		at = next;
		if (at == thread)
			return text;
	}
	if (at->edge_count > 1)
		return chain_more(chain_more(text, xstrdup(" > ")), any_text(stuck, at));
	return at->edge_count ? chain_more(text, xstrdup(" > ..."))
			      : chain_more(text, xasprintf(": %s", kind_words(at)));
}

/* ------------------------------------------------------- a condition is met */

static const char *const condition_words[] = {
	[CONDITION_CHAIN] = "long wait",
	[CONDITION_D] = "long sleep in state D",
	[CONDITION_CONVOY] = "convoy",
};

/* "deadlock: 2 threads wait for each other: a[3], b[4]" */
static char *deadlock_reason(const struct stuck *stuck, const struct condition_met *met)
{
	const struct stuck_thread *first = stuck_find(stuck, met->tids[0]);
	bool is_alone = met->count == 1 && first && first->is_closed;
	char *text = is_alone ? xstrdup("deadlock: nobody can end the wait of ")
		     : met->count == 1
			     ? xstrdup("deadlock: a thread waits for itself: ")
			     : xasprintf("deadlock: %zu threads wait for each other: ", met->count);

	for (size_t i = 0; i < met->count && i < NAMES_MAX; i++) {
		AUTO_FREE char *name = thread_name(stuck, met->tids[i]);
		char *more = xasprintf("%s%s%s", text, i ? ", " : "", name);

		free(text);
		text = more;
	}
	return text;
}

/* Whether the chain goes by somebody who need not be the one. */
static bool is_chain_inferred(const struct stuck *stuck, const struct stuck_thread *thread)
{
	for (size_t step = 0; thread && thread->edge_count && step < stuck->count; step++) {
		for (size_t i = 0; i < thread->edge_count; i++) {
			if (thread->edges[i].is_inferred)
				return true;
		}
		thread = stuck_find(stuck, thread->edges[0].tid);
	}
	return false;
}

char *report_met_reason(const struct report_met *met, const struct report_stuck *report)
{
	const struct stuck *stuck = report->stuck;
	const struct stuck_thread *first = stuck_find(stuck, met->met->tids[0]);
	AUTO_FREE char *name = thread_name(stuck, met->met->tids[0]);
	AUTO_FREE char *wait = first ? wait_text(first) : xstrdup("");
	AUTO_FREE char *root = first ? root_text(stuck, first) : xstrdup("");
	AUTO_FREE char *others =
		met->met->count > 1 ? xasprintf(" and %zu more", met->met->count - 1) : NULL;

	if (met->condition->kind == CONDITION_DEADLOCK)
		return met->met->is_of_goroutines ? report_stuck_go_reason(report, met->met->tid)
						  : deadlock_reason(stuck, met->met);
	return xasprintf("%s: %s%s%s%s; %s%s", condition_words[met->condition->kind], name,
			 others ? others : "", wait[0] ? " in " : "", wait,
			 is_chain_inferred(stuck, first) ? "inferred: " : "", root);
}

void report_met_text(FILE *out, const struct report_met *met, const struct report_stuck *report)
{
	const struct stuck *stuck = report->stuck;
	AUTO_FREE char *reason = report_met_reason(met, report);
	AUTO_FREE char *safe = text_escaped(reason);
	size_t rows = met->met->count < MET_ROWS ? met->met->count : MET_ROWS;

	fprintf(out, "%s %s (%s)\n", text_local_time(met->time_ns).s, safe, met->condition->text);
	if (met->met->is_of_goroutines) {
		report_stuck_go_met(out, report, met->met->tid);
		return;
	}
	for (size_t i = 0; i < rows; i++) {
		const struct stuck_thread *thread = stuck_find(stuck, met->met->tids[i]);

		if (!thread)
			continue;
		print_thread(out, report, thread, "  ");
		if (thread->root != STUCK_ROOT_DEADLOCK)
			print_root(out, stuck, thread);
	}
	if (met->met->count > rows)
		fprintf(out, "  and %s more\n", text_count(met->met->count - rows).s);
}

void report_met_json(FILE *out, const struct report_met *met, const struct report_stuck *report)
{
	AUTO_FREE char *reason = report_met_reason(met, report);
	struct json json = { .out = out };

	report_json_begin(&json, NULL, "stuck-watch");
	json_print_u64(&json, "time_ns", met->time_ns);
	json_print_string(&json, "on", met->condition->text);
	json_print_string(&json, "reason", reason);
	json_print_i64(&json, "tid", met->met->tid);
	json_tids(&json, "tids", met->met->tids, met->met->count);
	if (met->met->since_ns)
		json_print_u64(&json, "since_ns", met->met->since_ns);
	else
		json_print_null(&json, "since_ns");
	json_report(&json, "stuck", report);
	json_end_object(&json);
	json_fini(&json);
}
