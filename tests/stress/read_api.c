/*
 * read_api.c - many traces open at once, each used by its own thread.
 *
 * All open the same recording while it has no index, so that they build it at once or wait for
 * one another; then they ask, and some build it again under the others. All get the same answers.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "holdup/read.h"

#define THREADS 6
#define ROUNDS	4

struct asker {
	const char *path;
	uint32_t number;
	uint64_t hash; /* of all answers, the same in each round; 0 = an error */
	char error[512];
};

static int ask_thread(struct hr_trace *trace, uint32_t thread, uint64_t *hash)
{
	struct hr_interval in = { .struct_size = sizeof(in) };
	struct hr_total total = { .struct_size = sizeof(total) };
	struct hr_intervals *intervals = NULL;
	struct hr_totals *totals = NULL;
	int rc = hr_intervals_new(trace, thread, 0, UINT64_MAX, &intervals);

	while (rc == 0 && hr_intervals_next(intervals, &in) > 0) {
		const char *text = hr_state_text(trace, in.state);

		*hash = hash_bytes(&in, sizeof(in), *hash);
		*hash = hash_bytes(text, strlen(text), *hash);
	}
	hr_intervals_free(intervals);
	if (rc == 0)
		rc = hr_process_totals(trace, thread, 0, UINT64_MAX, &totals);
	while (rc == 0 && hr_totals_next(totals, &total) > 0)
		*hash = hash_bytes(&total, sizeof(total), *hash);
	hr_totals_free(totals);
	return rc;
}

static int ask(struct asker *asker, uint32_t round)
{
	struct hr_trace *trace;
	uint64_t hash = 1;
	int rc = hr_open(asker->path, NULL, &trace, asker->error, sizeof(asker->error));

	if (rc < 0)
		return rc;
	if (round > 0 && asker->number % 3 == round % 3)
		rc = hr_rebuild(trace);
	for (uint32_t i = 0; rc == 0 && i < hr_thread_count(trace); i++)
		rc = ask_thread(trace, i, &hash);
	if (rc == 0 && asker->hash && asker->hash != hash)
		rc = -1;
	if (rc < 0)
		(void)snprintf(asker->error, sizeof(asker->error), "%s", hr_error(trace));
	asker->hash = hash;
	hr_close(trace);
	return rc;
}

static void *run(void *context)
{
	struct asker *asker = context;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		if (ask(asker, round) < 0) {
			asker->hash = 0;
			break;
		}
	}
	return NULL;
}

static void each_thread_has_its_own_trace(void **state)
{
	const char *tests = getenv("HOLDUP_TESTS");
	char base[] = "/tmp/holdup-read-api-XXXXXX";
	struct asker askers[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	assert_non_null(mkdtemp(base));
	AUTO_FREE char *unpack =
		xasprintf("tar --no-same-owner -C %s -xzf %s/data/wait-child.tar.gz", base,
			  tests ? tests : ".");
	AUTO_FREE char *clean = xasprintf("rm -rf %s", base);
	AUTO_FREE char *path = xasprintf("%s/wait-child.holdup", base);

	assert_int_equal(system(unpack), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		askers[i] = (struct asker){ .path = path, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, run, &askers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(system(clean), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		if (!askers[i].hash || askers[i].hash != askers[0].hash)
			fail_msg("thread %u: %llx, not %llx: %s", i,
				 (unsigned long long)askers[i].hash,
				 (unsigned long long)askers[0].hash, askers[i].error);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_its_own_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
