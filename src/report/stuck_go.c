/* stuck_go.c - see stuck_go.h. Those that wait for other goroutines come first, and many of a kind before few. */
#include "report/stuck_go.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "report/stuck.h"
#include "stuck/goroutines.h"
#include "stuck/stuck.h"

#define GO_ROWS_MAX 60 /* of a process in the text */
#define GO_IDS_MAX  8

static const char *const go_states[] = {
	[GO_WAITS] = "waits", [GO_IO] = "io",	  [GO_SLEEPS] = "sleeps",
	[GO_CALLS] = "calls", [GO_RUNS] = "runs", [GO_CHANGES] = "changes",
	[GO_OTHER] = "other",
};

static const struct go_group *group_at(const struct report_stuck *report,
				       const struct go_process *process, size_t i)
{
	return &report->goroutines->groups[process->first + i];
}

/* Of a process that is still: no goroutine did anything since a thread of it last had a CPU. 0 = not known. */
static uint64_t still_since(const struct stuck *stuck, const struct go_process *process)
{
	uint64_t since_ns = 0;

	for (size_t i = 0; i < stuck->count && process->is_still; i++) {
		const struct stuck_thread *thread = &stuck->threads[i];

		if (thread->tgid != process->tgid)
			continue;
		if (!thread->since_ns)
			return 0;
		if (thread->since_ns > since_ns)
			since_ns = thread->since_ns;
	}
	return since_ns;
}

/* The first of them waits since then, or longer; 0 = not known. */
static uint64_t group_since(const struct stuck *stuck, const struct go_process *process,
			    const struct go_group *group)
{
	uint64_t still_ns = group->state == GO_RUNS || group->state == GO_CHANGES
				    ? 0
				    : still_since(stuck, process);
	uint64_t since_ns = group->since_ns;

	if (!since_ns || (still_ns && still_ns < since_ns))
		since_ns = still_ns;
	return since_ns <= stuck->now_ns ? since_ns : 0;
}

static char *process_name(const struct stuck *stuck, int32_t tgid)
{
	const struct stuck_thread *main = stuck_find(stuck, tgid);
	AUTO_FREE char *name = xasprintf("%s[%d]", main ? main->comm : "?", tgid);

	return text_escaped(name);
}

/* "main.worker (pool.go:33)": safe on a terminal. */
static char *go_frame_text(const struct go_frame *frame)
{
	AUTO_FREE char *text = frame->file[0] ? xasprintf("%s (%s:%" PRIu32 ")", frame->function,
							  text_base_name(frame->file), frame->line)
					      : xstrdup(frame->function);

	return text_escaped(text);
}

static void print_since(FILE *out, const struct stuck *stuck, const struct go_process *process,
			const struct go_group *group)
{
	uint64_t since_ns = group_since(stuck, process, group);

	if (since_ns)
		fprintf(out, " for at least %s", text_duration(stuck->now_ns - since_ns).s);
}

/* "waits for at least 3 s in chan receive: chan int 0xc000020060, unbuffered" */
static void print_what(FILE *out, const struct stuck *stuck, const struct go_process *process,
		       const struct go_group *group)
{
	const char *s = group->count > 1 ? "" : "s";
	AUTO_FREE char *reason = text_escaped(group->reason), *object = text_escaped(group->object);

	if (group->state == GO_CHANGES) {
		fputs(" changed while this was read", out);
		return;
	}
	if (group->state == GO_RUNS)
		fprintf(out, " %s %s", group->count > 1 ? "are" : "is", reason);
	else if (group->state == GO_SLEEPS)
		fprintf(out, " sleep%s", s);
	else
		fprintf(out, " wait%s", s);
	print_since(out, stuck, process, group);
	if (group->state != GO_RUNS && group->state != GO_SLEEPS)
		fprintf(out, " in %s", reason);
	fprintf(out, "%s%s", object[0] ? ": " : "", object);
	if (group->tid)
		fprintf(out, ", thread %d", group->tid);
}

static void print_ids(FILE *out, const struct report_stuck *report, const struct go_group *group)
{
	const int64_t *ids = report->goroutines->ids + group->first;

	if (group->count == 1)
		return;
	fputs(": ", out);
	for (size_t i = 0; i < group->count && i < GO_IDS_MAX; i++)
		fprintf(out, "%s%" PRId64, i ? ", " : "", ids[i]);
	if (group->count > GO_IDS_MAX)
		fprintf(out, " and %s more", text_count(group->count - GO_IDS_MAX).s);
}

static void print_stack(FILE *out, const struct go_group *group, const char *indent)
{
	for (uint32_t i = 0; i < group->frames; i++) {
		AUTO_FREE char *frame = go_frame_text(&group->stack[i]);

		fprintf(out, "%s    %s %s\n", indent, i == group->place ? ">" : " ", frame);
	}
	if (group->frames && group->is_cut)
		fprintf(out, "%s      ...\n", indent);
}

/* In which function of the program, and who called that or began the goroutine. */
static void print_place(FILE *out, const struct report_stuck *report, const struct go_group *group,
			const char *indent)
{
	AUTO_FREE char *created = go_frame_text(&group->created), *place = NULL, *caller = NULL;
	bool has_caller = group->place + 1 < group->frames;
	bool is_told = created[0] && (group->is_runtime || strncmp(created, "runtime.", 8) != 0);

	if (report->whole)
		print_stack(out, group, indent);
	if (group->frames && !report->whole) {
		place = go_frame_text(&group->stack[group->place]);
		caller = has_caller ? go_frame_text(&group->stack[group->place + 1]) : NULL;
		fprintf(out, "%s    at %s%s%s", indent, place, caller ? ", called by " : "",
			caller ? caller : "");
		if (!caller && is_told)
			fprintf(out, ", begun by %s", created);
		fputc('\n', out);
	} else if (is_told) {
		fprintf(out, "%s    begun by %s\n", indent, created);
	}
}

static void print_group(FILE *out, const struct report_stuck *report,
			const struct go_process *process, const struct go_group *group)
{
	if (group->count > 1)
		fprintf(out, "  %s goroutines", text_count(group->count).s);
	else
		fprintf(out, "  goroutine %" PRId64, report->goroutines->ids[group->first]);
	print_what(out, report->stuck, process, group);
	if (group->is_signalled && group->object[0] && !process->is_deadlock)
		fputs(", which a signal may end", out);
	print_ids(out, report, group);
	fputc('\n', out);
	print_place(out, report, group, "  ");
}

/* First those that wait for others, then the rest; without those of the runtime, unless all is asked for. */
static void print_groups(FILE *out, const struct report_stuck *report,
			 const struct go_process *process)
{
	size_t rows = 0, more = 0;

	for (int waits = 1; waits >= 0; waits--) {
		for (size_t i = 0; i < process->groups; i++) {
			const struct go_group *group = group_at(report, process, i);

			if ((group->state == GO_WAITS) != (waits == 1) ||
			    (group->is_runtime && !report->unfold && !report->whole))
				continue;
			if (rows == GO_ROWS_MAX) {
				more += group->count;
				continue;
			}
			rows++;
			print_group(out, report, process, group);
		}
	}
	if (more)
		fprintf(out, "  and %s more: --json has all\n", text_count(more).s);
	if (process->left_out)
		fprintf(out, "  and %s that were not looked at\n", text_count(process->left_out).s);
}

char *report_stuck_go_reason(const struct report_stuck *report, int32_t tgid)
{
	const struct go_process *process = goroutines_of(report->goroutines, tgid);
	const struct stuck_thread *main = stuck_find(report->stuck, tgid);
	const char *name = main ? main->comm : "?";

	if (process && process->count > 1)
		return xasprintf("deadlock: the %" PRIu32
				 " goroutines of %s[%d] wait for each other, by exclusion",
				 process->count, name, tgid);
	return xasprintf(
		"deadlock: nobody else can end the wait of the goroutine of %s[%d], by exclusion",
		name, tgid);
}

void report_stuck_go_met(FILE *out, const struct report_stuck *report, int32_t tgid)
{
	const struct go_process *process = goroutines_of(report->goroutines, tgid);

	if (process)
		print_groups(out, report, process);
}

void report_stuck_go_deadlocks(FILE *out, const struct report_stuck *report)
{
	const struct goroutines *goroutines = report->goroutines;

	for (size_t i = 0; goroutines && i < goroutines->process_count; i++) {
		const struct go_process *process = &goroutines->processes[i];
		AUTO_FREE char *name = process_name(report->stuck, process->tgid);

		if (!process->is_deadlock)
			continue;
		if (process->count == 1)
			fprintf(out,
				"DEADLOCK: nobody else can end the wait of the goroutine of %s, but "
				"for a signal or a finalizer\n",
				name);
		else
			fprintf(out,
				"DEADLOCK: the %s goroutines of %s wait for each other; nobody else "
				"can end their waits, but for a signal or a finalizer\n",
				text_count(process->count).s, name);
		fputs("  By exclusion, as Go notes no owners: no goroutine runs, sleeps, waits for I/O or\n"
		      "  is in a system call, no timer is set, and all threads wait for work.\n",
		      out);
		print_groups(out, report, process);
	}
}

static bool has_lock(const struct report_stuck *report, const struct go_process *process)
{
	for (size_t i = 0; i < process->groups; i++) {
		const char *object = group_at(report, process, i)->object;

		if (strncmp(object, "sync.Mutex", 10) == 0 ||
		    strncmp(object, "sync.RWMutex", 12) == 0)
			return true;
	}
	return false;
}

static void print_process(FILE *out, const struct report_stuck *report,
			  const struct go_process *process)
{
	AUTO_FREE char *name = process_name(report->stuck, process->tgid);

	fprintf(out, "%s %s of %s, and %s of Go's runtime%s\n", text_count(process->count).s,
		process->count == 1 ? "goroutine" : "goroutines", name,
		text_count(process->runtime).s,
		process->is_still ? "" : "; its threads may have run meanwhile");
	print_groups(out, report, process);
	if (has_lock(report, process))
		fputs("  who holds a lock is not known: Go notes no owner\n", out);
	if (process->open[0])
		fprintf(out, "  no deadlock of all of them: %s\n", process->open);
}

/* Of many processes that is one line. */
static void print_all_missing(FILE *out, const struct report_stuck *report)
{
	const struct goroutines *goroutines = report->goroutines;
	const struct go_process *first = NULL;
	AUTO_FREE char *name = NULL;
	size_t count = 0;

	for (size_t i = 0; i < goroutines->process_count; i++) {
		if (!goroutines->processes[i].missing[0])
			continue;
		if (!count++)
			first = &goroutines->processes[i];
	}
	if (!first)
		return;
	name = process_name(report->stuck, first->tgid);
	fprintf(out, "not known: goroutines of %s Go %s, as of %s: %s\n", text_count(count).s,
		count == 1 ? "program" : "programs", name, first->missing);
}

void report_stuck_go_rest(FILE *out, const struct report_stuck *report)
{
	const struct goroutines *goroutines = report->goroutines;

	for (size_t i = 0; goroutines && i < goroutines->process_count; i++) {
		const struct go_process *process = &goroutines->processes[i];
		AUTO_FREE char *name = process_name(report->stuck, process->tgid);

		if (process->missing[0] && report->all)
			fprintf(out, "not known: goroutines of %s: %s\n", name, process->missing);
		else if (!process->is_deadlock && report->all)
			print_process(out, report, process);
	}
	if (goroutines && !report->all)
		print_all_missing(out, report);
}

/* ------------------------------------------------------------------ JSON */

static void json_text(struct json *json, const char *key, const char *text)
{
	json_print_string(json, key, text[0] ? text : NULL);
}

static void json_frame(struct json *json, const char *key, const struct go_frame *frame)
{
	json_begin_object(json, key);
	json_print_string(json, "function", frame->function);
	json_text(json, "file", frame->file);
	if (frame->file[0])
		json_print_u64(json, "line", frame->line);
	else
		json_print_null(json, "line");
	json_end_object(json);
}

static void json_stack(struct json *json, const struct go_group *group)
{
	json_begin_array(json, "stack");
	for (uint32_t i = 0; i < group->frames; i++)
		json_frame(json, NULL, &group->stack[i]);
	json_end_array(json);
	if (group->frames)
		json_print_u64(json, "place", group->place);
	else
		json_print_null(json, "place");
	json_print_bool(json, "stack_cut", group->is_cut);
	if (group->created.function[0])
		json_frame(json, "begun_by", &group->created);
	else
		json_print_null(json, "begun_by");
}

static void json_group(struct json *json, const struct report_stuck *report,
		       const struct go_process *process, const struct go_group *group)
{
	uint64_t since_ns = group_since(report->stuck, process, group);

	json_begin_object(json, NULL);
	json_begin_array(json, "ids");
	for (uint32_t i = 0; i < group->count; i++)
		json_print_i64(json, NULL, report->goroutines->ids[group->first + i]);
	json_end_array(json);
	json_print_string(json, "state", go_states[group->state]);
	json_text(json, "reason", group->reason);
	json_text(json, "object", group->object);
	if (since_ns)
		json_print_u64(json, "since_ns", since_ns);
	else
		json_print_null(json, "since_ns");
	if (group->tid)
		json_print_i64(json, "tid", group->tid);
	else
		json_print_null(json, "tid");
	json_print_bool(json, "outside", group->is_signalled);
	json_print_bool(json, "runtime", group->is_runtime);
	json_stack(json, group);
	json_end_object(json);
}

static void json_process(struct json *json, const struct report_stuck *report,
			 const struct go_process *process)
{
	json_begin_object(json, NULL);
	json_print_i64(json, "tgid", process->tgid);
	json_print_bool(json, "deadlock", process->is_deadlock);
	json_text(json, "no_deadlock", process->open);
	json_print_bool(json, "still", process->is_still);
	json_print_u64(json, "count", process->count);
	json_print_u64(json, "runtime", process->runtime);
	json_print_u64(json, "left_out", process->left_out);
	json_text(json, "missing", process->missing);
	json_begin_array(json, "groups");
	for (size_t i = 0; i < process->groups; i++)
		json_group(json, report, process, group_at(report, process, i));
	json_end_array(json);
	json_end_object(json);
}

void report_stuck_go_json(struct json *json, const struct report_stuck *report)
{
	const struct goroutines *goroutines = report->goroutines;

	json_begin_array(json, "goroutines");
	for (size_t i = 0; goroutines && i < goroutines->process_count; i++)
		json_process(json, report, &goroutines->processes[i]);
	json_end_array(json);
}
