/*
 * test_perf_shared.c - records of other people's perf.data files, counted by type.
 *
 * $HOLDUP_PERF_TRACES, or ../shared/traces beside the project, has 04-perf-data with the files
 * and what perf itself counts in them (perf report -D). Skipped when it is not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "event/facts.h"
#include "read/perf/file.h"
#include "read/perf/scan.h"

static char folder[] = "/tmp/holdup-perf-XXXXXX";

static const char *const names[PERF_ALL_TYPES] = {
	[PERF_MMAP] = "MMAP",
	[PERF_LOST] = "LOST",
	[PERF_COMM] = "COMM",
	[PERF_EXIT] = "EXIT",
	[PERF_THROTTLE] = "THROTTLE",
	[PERF_UNTHROTTLE] = "UNTHROTTLE",
	[PERF_FORK] = "FORK",
	[PERF_SAMPLE] = "SAMPLE",
	[PERF_MMAP2] = "MMAP2",
	[PERF_LOST_SAMPLES] = "LOST_SAMPLES",
	[PERF_SWITCH] = "SWITCH",
	[PERF_NAMESPACES] = "NAMESPACES",
	[PERF_HEADER_ATTR] = "ATTR",
	[65] = "EVENT_TYPE",
	[68] = "FINISHED_ROUND",
	[73] = "THREAD_MAP",
	[74] = "CPU_MAP",
	[79] = "TIME_CONV",
	[PERF_HEADER_FEATURE] = "FEATURE",
	[PERF_COMPRESSED] = "COMPRESSED",
};

static char *root(void)
{
	const char *told = getenv("HOLDUP_PERF_TRACES"), *tests = getenv("HOLDUP_TESTS");

	if (told)
		return xstrdup(told);
	return xasprintf("%s/../../shared/traces", tests ? tests : ".");
}

static uint64_t count_of(const struct perf_scan *scan, const char *type)
{
	uint64_t total = 0;

	for (int i = 0; i < PERF_ALL_TYPES; i++) {
		if (names[i] && strcmp(names[i], type) == 0)
			return scan->counts[i];
		total += scan->counts[i];
	}
	if (strcmp(type, "TOTAL") != 0)
		fail_msg("no type %s", type);
	return total;
}

struct counted {
	char name[256];
	struct perf_file file;
	struct perf_scan scan;
	struct facts facts;
};

static void close_file(struct counted *counted)
{
	if (counted->name[0]) {
		perf_scan_fini(&counted->scan);
		perf_file_fini(&counted->file);
		facts_fini(&counted->facts);
	}
	*counted = (struct counted){ 0 };
}

static void open_file(struct counted *counted, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);
	struct err err = { 0 };

	close_file(counted);
	snprintf(counted->name, sizeof(counted->name), "%s", name);
	if (perf_file_open(path, &counted->file, &counted->facts, &err) < 0 ||
	    perf_scan_run(&counted->scan, &counted->file, &err) < 0)
		fail_msg("%s: %s", name, err.text);
}

static void records_are_as_many_as_perf_counts(void **unused)
{
	AUTO_FREE char *from = root();
	AUTO_FREE char *list = xasprintf("%s/04-perf-data/expected-record-counts.csv", from);
	bool made = mkdtemp(folder) != NULL;
	AUTO_FREE char *unpack =
		xasprintf("tar --zstd -xf %s/04-perf-data/perf-data.tar.zst -C %s", from, folder);
	AUTO_FREE char *remove = xasprintf("rm -rf %s", folder);
	AUTO_FILE FILE *in = fopen(list, "r");
	struct counted *counted = xcalloc(1, sizeof(*counted));
	char line[512], name[256], type[64];
	unsigned long long wanted;
	uint32_t checked = 0;

	if (!in) {
		free(counted);
		(void)rmdir(folder); /* it is empty */
		skip();
	}
	assert_true(made);
	assert_int_equal(system(unpack), 0);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%255[^,],%63[^,],%llu", name, type, &wanted) != 3)
			continue;
		if (strcmp(name, counted->name) != 0)
			open_file(counted, name);
		if (count_of(&counted->scan, type) != wanted)
			fail_msg("%s: %s: %llu, not %llu", name, type,
				 (unsigned long long)count_of(&counted->scan, type), wanted);
		checked++;
	}
	assert_true(checked > 100);
	close_file(counted);
	free(counted);
	assert_int_equal(system(remove), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_as_many_as_perf_counts),
	};
	AUTO_FREE char *from = root();
	AUTO_FREE char *list = xasprintf("%s/04-perf-data/expected-record-counts.csv", from);

	if (access(list, R_OK) < 0) {
		puts("1..0 # SKIP the traces are not here");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
