/* fuzz_delays_saved.c - any bytes as a saved report of delays: refused, or times that can be. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "accounts/saved.h"
#include "report/delays_compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void compare(const struct delays_run *run)
{
	const struct delays_run runs[] = { *run, *run, *run };
	struct delays_comparison comparison = { runs, ARRAY_LEN(runs), 0 };
	AUTO_FILE FILE *out = fopen("/dev/null", "w");

	if (!out || delays_runs_check(runs, ARRAY_LEN(runs), NULL) < 0)
		return;
	for (size_t first = 0; first < ARRAY_LEN(runs); first++) {
		comparison.first_count = first;
		report_delays_compare(out, &comparison, false);
		report_delays_compare(out, &comparison, true);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct delays_run run;
	struct err err = { 0 };

	if (delays_run_parse((const char *)data, bytes, "name", &run, &err) < 0) {
		if (err.code == 0 || !err.text[0])
			abort();
		return 0;
	}
	for (enum delays_part part = 0; part < DELAYS_PARTS; part++) {
		if (run.ns[part] > DELAYS_SAVED_NS_MAX ||
		    (run.ns[part] && !(run.known & 1u << part)))
			abort();
	}
	compare(&run);
	delays_run_fini(&run);
	return 0;
}
