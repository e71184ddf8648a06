/* fuzz_recorded.c - any bytes as kernel/accounts: refused, or accounts that can be compared. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/accounts/memory_spans.h"
#include "analyse/why/sleeper_moves.h"
#include "analyse/accounts/reconcile.h"
#include "base/err.h"
#include "base/mem.h"
#include "accounts/recorded.h"
#include "report/reconcile.h"
#include "state/state.h"
#include "text_trace.h"
#include "timeline/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const char some_events[] = "thread 7 7 1 R prog\n"
				  "0 cpu0 switch 0(runnable) 7\n"
				  "1000 cpu0 switch 7(disk) 0\n"
				  "2000 cpu1 waking 7 cpu 0\n"
				  "3000 cpu0 switch 0(runnable) 7\n"
				  "9000 cpu0 switch 7(runnable) 0\n";

static void compare(const struct recorded *recorded)
{
	const struct memory_spans memory = { 0 };
	const struct moved moved = { 0 };
	const struct reconcile_opts opts = { .threads = true };
	struct text_trace *trace = text_trace_of(some_events);
	AUTO_FILE FILE *out = fopen("/dev/null", "w");
	struct timeline *timeline;
	struct reconcile_events events = { .memory = &memory, .moved = &moved };
	struct reconcile result;

	if (state_run(&trace->source, &trace->facts, NULL, NULL, &timeline, NULL) < 0 || !out)
		abort();
	events.timeline = timeline;
	events.facts = &trace->facts;
	if (reconcile_run(&events, recorded, &opts, &result, NULL) == 0) {
		report_reconcile(out, &result, &(struct report_reconcile_opts){ .json = true });
		report_reconcile(out, &result, &(struct report_reconcile_opts){ .json = false });
		reconcile_fini(&result);
	}
	timeline_free(timeline);
	text_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct recorded recorded;
	struct err err = { 0 };

	if (recorded_parse(data, bytes, &recorded, &err) < 0) {
		if (err.code == 0 || !err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < recorded.task_count; i++) {
		const struct recorded_task *task = &recorded.tasks[i];

		if (task->stats.tid <= 0 || task->when >= RECORDED_WHENS ||
		    !memchr(task->stats.name, '\0', sizeof(task->stats.name)))
			abort();
	}
	compare(&recorded);
	recorded_fini(&recorded);
	return 0;
}
