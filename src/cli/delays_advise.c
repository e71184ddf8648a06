/* delays_advise.c - holdup delays advise: which knob the numbers point to; none is turned. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/delays_cmd.h"
#include "cli/exit.h"
#include "accounts/advise.h"
#include "accounts/rank.h"
#include "accounts/sample.h"
#include "report/delays_advice.h"

/* Room for each process; the views of delays_advised point into it. */
struct advised {
	struct delays_knobs knobs;
	struct delays_advice advice[DELAYS_ADVICE_KINDS];
};

/* Most to gain first; ties by number. */
static int by_gain(const void *a, const void *b)
{
	const struct delays_advised *left = a, *right = b;

	if (left->advice[0].at_most_ns != right->advice[0].at_most_ns)
		return left->advice[0].at_most_ns > right->advice[0].at_most_ns ? -1 : 1;
	return left->row->task->tgid < right->row->task->tgid ? -1 : 1;
}

static void advise(const struct delays_cmd *cmd, const struct delays_rows *rows)
{
	AUTO_FREE struct delays_advised *tasks = xcalloc(rows->count + 1, sizeof(*tasks));
	struct advised **all = xcalloc(rows->count + 1, sizeof(struct advised *));
	struct delays_advised_all result = { .tasks = tasks, .top = cmd->top };

	for (size_t i = 0; i < rows->count; i++) {
		const struct delays_row *row = &rows->rows[i];
		struct advised *advised = xcalloc(1, sizeof(*advised));
		size_t count;

		all[i] = advised;
		delays_knobs_read("", row->task->tgid, &advised->knobs);
		if (advised->knobs.is_kernel)
			continue;
		result.looked_at++;
		result.uncounted += !delays_has_class(row->stats, DELAYS_DISK);
		count = delays_advise(row, &advised->knobs, advised->advice);
		if (count)
			tasks[result.count++] = (struct delays_advised){ row, &advised->knobs,
									 advised->advice, count };
	}
	qsort(tasks, result.count, sizeof(*tasks), by_gain);
	report_delays_advice(stdout, &result, cmd->json);
	for (size_t i = 0; i < rows->count; i++) {
		delays_knobs_fini(&all[i]->knobs);
		free(all[i]);
	}
	free(all);
}

int delays_advise_cmd(const struct delays_cmd *cmd, struct err *err)
{
	struct delays_sample sample;
	struct delays_rows rows;
	struct err why = { 0 };
	int rc = delays_sample_once(cmd, 0, &sample, &why, err);

	if (rc < 0)
		return rc;
	rc = delays_found_any(cmd, &sample, err);
	if (rc == 0) {
		if (sample.source == DELAYS_FROM_PROC)
			fprintf(stderr, "holdup: %s; reporting only CPU time and waits for a CPU\n",
				why.text);
		delays_rows_of_sample(&sample, DELAYS_SORT_WAITED, &rows);
		advise(cmd, &rows);
		delays_rows_fini(&rows);
	}
	delays_sample_fini(&sample);
	return rc < 0 ? rc : EXIT_OK;
}
