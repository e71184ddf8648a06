/* states.c - intervals, one a line, printed as they come. */
#include "report/states.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyse/stats/states.h"
#include "base/mem.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "report/frames.h"
#include "report/stats_int.h"
#include "report/table.h"
#include "report/vocabulary.h"
#include "report/why_int.h"

#define STATE_COLUMN 51 /* where the words begin */

static const char *wib_title(enum wib wib)
{
	switch (wib) {
	case WIB_WORKING:
		return "Working";
	case WIB_INTERRUPTED:
		return "Interrupted";
	case WIB_BLOCKED:
		return "Blocked";
	default:
		return "Uncertain";
	}
}

void report_states_begin(const struct report_states *report, const char *comm, int32_t tid,
			 uint64_t start_ns, uint64_t end_ns)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *safe = NULL;

	if (report->json)
		return;
	name = stats_name(comm, tid);
	safe = text_escaped(name);
	fprintf(report->out, "%s: %s, from %s to %s of the recording\n", safe,
		text_duration(end_ns - start_ns).s, page_since(report->facts->first_ns, start_ns).s,
		page_since(report->facts->first_ns, end_ns).s);
	fprintf(report->out, "  %16s  %18s  %9s  state\n", "since its start", "on the trace clock",
		"length");
}

/* The place of a wait in the program's code; NULL = it is not known. */
static const struct stack_frame *span_place(const struct report_states *report,
					    const struct states_span *span)
{
	const struct stacks *stacks = report->facts->stacks;
	uint32_t stack = STACK_NONE;

	if (stacks && span->is_wait)
		stack = stacks_find(stacks, report->tid, span->start_ns, span->end_ns);
	if (stack == STACK_NONE || stacks->stacks[stack].place == FRAME_NONE)
		return NULL;
	return stacks_frame(stacks, stack, stacks->stacks[stack].place);
}

/* "Blocked > read > fd 3 = /etc/passwd; woken by ...": the words of why --instances. */
static char *span_text(const struct states_span *span)
{
	AUTO_FREE char *waker = NULL;

	if (span->cpu >= 0)
		return xasprintf("%s > %s (CPU %d)", wib_title(span->wib), span->state, span->cpu);
	if (!span->is_wait)
		return xasprintf("%s > %s", wib_title(span->wib), span->state);
	waker = words_waker(&span->wait);
	return xasprintf("%s > %s%s%s; %s", wib_title(span->wib), span->state,
			 span->wait.object[0] ? " > " : "", span->wait.object, waker);
}

static void states_print_text(const struct report_states *report, const struct states_span *span)
{
	const struct stack_frame *place = span_place(report, span);
	AUTO_FREE char *text = span_text(span);
	AUTO_FREE char *in = place ? frame_text(place) : NULL;
	AUTO_FREE char *whole = xasprintf("%s%s%s", text, in ? "; waited in " : "", in ? in : "");
	AUTO_FREE char *safe = text_escaped(whole);

	fprintf(report->out, "  %16s  %8" PRIu64 ".%09" PRIu64 "  %9s  ",
		page_since(report->facts->first_ns, span->start_ns).s, span->start_ns / 1000000000u,
		span->start_ns % 1000000000u, text_duration(span->end_ns - span->start_ns).s);
	table_wrap(report->out, safe, STATE_COLUMN);
}

static void states_print_json(const struct report_states *report, const struct states_span *span)
{
	const struct stack_frame *place = span_place(report, span);
	struct json json = { .out = report->out };

	json_begin_object(&json, NULL);
	report_json_span(&json, span);
	if (place) {
		json_begin_object(&json, "waited_in");
		frame_json_keys(&json, place);
		json_end_object(&json);
	}
	json_end_object(&json);
	json_fini(&json);
}

void report_states_span(void *context, const struct states_span *span)
{
	const struct report_states *report = context;

	if (report->json)
		states_print_json(report, span);
	else
		states_print_text(report, span);
}

static void end_json(const struct report_states *report, const struct states_sum *sum)
{
	struct json json = { .out = report->out };

	report_json_begin(&json, NULL, "states");
	report_json_thread_keys(&json, &sum->who);
	report_json_window(&json, sum->start_ns, sum->end_ns);
	json_print_u64(&json, "intervals", sum->count);
	json_print_u64(&json, "ns", sum->ns);
	json_print_bool(&json, "more", sum->more);
	coverage_json(&json, &sum->coverage, report->facts);
	json_end_object(&json);
	json_fini(&json);
}

void report_states_end(const struct report_states *report, const struct states_sum *sum)
{
	if (report->json) {
		end_json(report, sum);
		return;
	}
	fprintf(report->out, "%s interval%s, %s in total%s\n", text_count(sum->count).s,
		sum->count == 1 ? "" : "s", text_duration(sum->ns).s,
		sum->more ? "; there are more (-n)" : "");
	coverage_text(report->out, &sum->coverage, report->facts, false);
}
