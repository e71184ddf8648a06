/*
 * delays_trace.c - holdup delays TRACE: the same classes from what was recorded; and with
 * reconcile: beside the kernel's own accounts that the recording keeps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/accounts/delays_trace.h"
#include "analyse/accounts/memory_spans.h"
#include "analyse/why/sleeper_moves.h"
#include "analyse/accounts/reconcile.h"
#include "ask/reclaim_events.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/delays_cmd.h"
#include "cli/exit.h"
#include "cli/load.h"
#include "cli/reading.h"
#include "accounts/rank.h"
#include "accounts/recorded.h"
#include "report/delays.h"
#include "report/reconcile.h"
#include "timeline/timeline.h"

/* Which classes "-" stands for, and the events that would tell them. */
static char *name_needs(const struct memory_spans *memory)
{
	char *text = xstrdup("\"-\" stands for swap-in, thrashing and copy-on-write, which have no "
			     "kernel events");

	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		const char *events = memory_class_events(class);
		char *longer;

		if (!events || memory->classes & 1u << class)
			continue;
		longer = xasprintf("%s; for %s, which needs %s", text, delays_class_words(class),
				   events);
		free(text);
		text = longer;
	}
	return text;
}

static int delays_trace_report(const struct delays_cmd *cmd, const struct loaded *loaded,
			       const struct memory_spans *memory, struct err *err)
{
	const struct delays_trace_opts opts = { cmd->pids, cmd->pid_count, cmd->comm, cmd->threads,
						memory };
	struct report_delays_opts report = { .json = cmd->json,
					     .top = cmd->top,
					     .trace = cmd->trace,
					     .lost = loaded->timeline->lost_events };
	struct delays_trace trace;
	struct delays_rows rows;
	AUTO_FREE char *needs = name_needs(memory);
	const char *damage;
	struct output output = { .fd = -1 };
	FILE *file = NULL;
	int rc = 0;

	delays_trace_run(loaded->timeline, &opts, &trace);
	report.uncertain_ns = trace.uncertain_ns;
	report.needs = needs;
	damage = timeline_damage(loaded->timeline);
	if (damage)
		fprintf(stderr, "holdup: %s\n", damage);
	if (trace.sample.count == 0)
		rc = err_set(err, -ESRCH, "this recording has no such process");
	else
		rc = delays_save_open(cmd, &output, &file, err);
	if (rc == 0) {
		delays_rows_of_sample(&trace.sample, (enum delays_sort)cmd->sort, &rows);
		report_delays(stdout, &trace.sample, &rows, &report);
		if (file) {
			report.json = true;
			report_delays(file, &trace.sample, &rows, &report);
		}
		delays_rows_fini(&rows);
		rc = file ? delays_save_close(cmd, &output, file, err) : 0;
	}
	delays_trace_fini(&trace);
	return rc;
}

static int reconcile(const struct delays_cmd *cmd, const struct loaded *loaded,
		     const struct memory_spans *memory, const struct moved *moved, struct err *err)
{
	const struct reconcile_events events = { loaded->timeline, loaded->facts, memory, moved };
	const struct reconcile_opts opts = { cmd->pids, cmd->pid_count, cmd->comm, cmd->threads };
	const struct report_reconcile_opts report = { cmd->json, cmd->top, cmd->trace };
	struct recorded recorded;
	struct reconcile result;
	int rc = recorded_read(cmd->trace, &recorded, err);

	if (rc < 0)
		return rc;
	rc = reconcile_run(&events, &recorded, &opts, &result, err);
	if (rc == 0) {
		const char *damage = timeline_damage(loaded->timeline);

		if (damage)
			fprintf(stderr, "holdup: %s\n", damage);
		report_reconcile(stdout, &result, &report);
		reconcile_fini(&result);
	}
	recorded_fini(&recorded);
	return rc;
}

int delays_of_trace(const struct delays_cmd *cmd, struct err *err)
{
	struct memory_spans memory = { 0 };
	struct moved moved = { 0 };
	struct loaded loaded;
	int rc;

	reading_writes(cmd->save);
	rc = load_trace(cmd->trace, 0, &loaded, err);
	if (rc < 0)
		return rc;
	rc = reclaim_spans_moved(&loaded, cmd->trace, &memory, cmd->reconcile ? &moved : NULL, err);
	if (rc == 0 && cmd->reconcile)
		rc = reconcile(cmd, &loaded, &memory, &moved, err);
	else if (rc == 0)
		rc = delays_trace_report(cmd, &loaded, &memory, err);
	moved_fini(&moved);
	memory_spans_fini(&memory);
	loaded_fini(&loaded);
	return rc < 0 ? rc : EXIT_OK;
}
