/* why.c - which printer for which result. */
#include "report/why.h"

#include "report/stuck.h"
#include "report/why_int.h"

void report_why(FILE *out, const struct why *results, size_t count, const struct facts *facts,
		const struct report_why_opts *opts)
{
	if (opts->json) {
		why_json(out, results, count, facts, opts->stuck);
		return;
	}
	if (opts->stuck)
		report_stuck_cycles(out, opts->stuck);
	if (opts->lines) {
		why_text_lines(out, results, count, opts);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct page page = {
			.out = out,
			.why = &results[i],
			.facts = facts,
			.opts = opts,
			.unit = text_unit_for(why_window_ns(&results[i])),
		};

		if (i > 0)
			fputc('\n', out);
		why_text(&page);
	}
}
