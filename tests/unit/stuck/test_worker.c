/* test_worker.c - what hangs is left behind, and what was begun is freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "stuck/worker.h"

#define PATIENCE_MS 20

struct job {
	struct worker_job job;
	int fd; /* to be read from; -1 = nothing to do */
};

static void run(struct worker_job *worker_job)
{
	struct job *job = (struct job *)worker_job;
	char byte;

	if (job->fd >= 0)
		(void)!read(job->fd, &byte, 1);
}

static void free_job(struct worker_job *worker_job)
{
	free(worker_job);
}

static struct job *job_new(int fd)
{
	struct job *job = xcalloc(1, sizeof(*job));

	job->job = (struct worker_job){ run, free_job };
	job->fd = fd;
	return job;
}

static void jobs_are_done_one_after_the_other(void **unused)
{
	struct worker *worker = worker_new(PATIENCE_MS);

	for (int i = 0; i < 100; i++) {
		struct job *job = job_new(-1);

		assert_true(worker_do(worker, &job->job));
		free(job);
	}
	worker_free(worker);
}

static void what_hangs_is_left_and_the_next_is_done(void **unused)
{
	struct worker *worker = worker_new(PATIENCE_MS);
	struct job *job;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	job = job_new(ends[0]);
	assert_false(worker_do(worker, &job->job));
	job = job_new(-1);
	assert_true(worker_do(worker, &job->job));
	free(job);
	close(ends[1]); /* now that one ends, and frees what it has */
	worker_free(worker);
}

static void only_so_many_may_hang(void **unused)
{
	struct worker *worker = worker_new(1);
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 50; i++) {
		struct job *job = job_new(ends[0]);

		assert_false(worker_do(worker, &job->job));
	}
	close(ends[1]);
	worker_free(worker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_done_one_after_the_other),
		cmocka_unit_test(what_hangs_is_left_and_the_next_is_done),
		cmocka_unit_test(only_so_many_may_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
