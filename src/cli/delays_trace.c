/* delays_trace.c - holdup delays TRACE: the same classes from what was recorded. */
#include <errno.h>
#include <stdio.h>

#include "analyse/delays_trace.h"
#include "base/err.h"
#include "cli/delays_cmd.h"
#include "cli/exit.h"
#include "cli/load.h"
#include "delays/rank.h"
#include "report/delays.h"
#include "timeline/timeline.h"

static int report(const struct delays_cmd *cmd, const struct loaded *loaded, struct err *err)
{
	const struct delays_trace_opts opts = { cmd->pids, cmd->pid_count, cmd->comm,
						cmd->threads };
	struct report_delays_opts report = { .json = cmd->json,
					     .top = cmd->top,
					     .trace = cmd->trace,
					     .lost = loaded->timeline->lost_events };
	struct delays_trace trace;
	struct delays_rows rows;
	const char *damage;
	FILE *file = NULL;
	int rc = 0;

	delays_trace_run(loaded->timeline, &opts, &trace);
	report.uncertain_ns = trace.uncertain_ns;
	damage = timeline_damage(loaded->timeline);
	if (damage)
		fprintf(stderr, "holdup: %s\n", damage);
	if (trace.sample.count == 0)
		rc = err_set(err, -ESRCH, "no such process is in this recording");
	else
		rc = delays_save_open(cmd, &file, err);
	if (rc == 0) {
		delays_rows_of_sample(&trace.sample, (enum delays_sort)cmd->sort, &rows);
		report_delays(stdout, &trace.sample, &rows, &report);
		if (file) {
			report.json = true;
			report_delays(file, &trace.sample, &rows, &report);
		}
		delays_rows_fini(&rows);
		rc = delays_save_close(cmd, file, 0, err);
	}
	delays_trace_fini(&trace);
	return rc;
}

int delays_of_trace(const struct delays_cmd *cmd, struct err *err)
{
	struct loaded loaded;
	int rc = load_trace(cmd->trace, 0, &loaded, err);

	if (rc < 0)
		return rc;
	rc = report(cmd, &loaded, err);
	loaded_fini(&loaded);
	return rc < 0 ? rc : EXIT_OK;
}
