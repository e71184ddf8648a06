#include "accounts/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define S UINT64_C(1000000000)

static void cgroup_of(int32_t tgid, char *path, size_t bytes)
{
	if (tgid == 9)
		path[0] = '\0';
	else
		snprintf(path, bytes, "/%d", tgid % 2);
}

struct row {
	int32_t tgid;
	const char *name;
	uint64_t cpu_ns;
};

/* Processes born at their own number of seconds. */
static void feed(struct delays_gather *gather, uint64_t time_ns, const struct row *rows,
		 size_t count)
{
	struct delays_sample sample = { .time_ns = time_ns, .count = count };

	sample.tasks = xcalloc(count + 1, sizeof(*sample.tasks));
	for (size_t i = 0; i < count; i++) {
		struct delays_task *task = &sample.tasks[i];

		*task = (struct delays_task){ .tid = rows[i].tgid,
					      .tgid = rows[i].tgid,
					      .is_process = true,
					      .threads = 2,
					      .birth_ns = (uint64_t)rows[i].tgid * S };
		task->stats.classes = 1u << DELAYS_CPU;
		task->stats.delay[DELAYS_CPU] = (struct delays_delay){ 1, rows[i].cpu_ns, 0, 0 };
		task->stats.delay[DELAYS_DISK].total_ns = 999; /* not counted: must not show */
		snprintf(task->stats.name, sizeof(task->stats.name), "%s", rows[i].name);
	}
	delays_gather_feed(gather, &sample);
}

static const struct delays_series *find(const struct delays_gather *gather,
					enum delays_gather_by by, const char *name)
{
	for (size_t i = 0; i < gather->sets[by].count; i++) {
		if (strcmp(gather->sets[by].series[i].name, name) == 0)
			return &gather->sets[by].series[i];
	}
	return NULL;
}

static uint64_t cpu_of(const struct delays_series *series)
{
	assert_non_null(series);
	assert_int_equal(series->stats.delay[DELAYS_DISK].total_ns, 0);
	return series->stats.delay[DELAYS_CPU].total_ns;
}

static void what_ends_stays_in_the_sum(void **unused)
{
	struct delays_gather gather;

	delays_gather_init(&gather, 10);
	gather.cgroup_of = cgroup_of;
	feed(&gather, 100 * S, (struct row[]){ { 2, "a", 10 }, { 3, "a", 5 }, { 9, "b", 1 } }, 3);
	assert_int_equal(cpu_of(find(&gather, DELAYS_BY_COMMAND, "a")), 15);
	assert_int_equal(cpu_of(find(&gather, DELAYS_BY_CGROUP, "/0")), 10);
	assert_int_equal(cpu_of(find(&gather, DELAYS_BY_CGROUP, "unknown")), 1);
	feed(&gather, 101 * S, (struct row[]){ { 3, "a", 25 }, { 100, "a", 4 } }, 2);
	assert_int_equal(cpu_of(find(&gather, DELAYS_BY_COMMAND, "a")), 15 + 20 + 4);
	assert_int_equal(find(&gather, DELAYS_BY_COMMAND, "a")->processes, 2);
	assert_int_equal(find(&gather, DELAYS_BY_COMMAND, "a")->threads, 4);
	assert_int_equal(find(&gather, DELAYS_BY_COMMAND, "b")->processes, 0);
	assert_int_equal(cpu_of(find(&gather, DELAYS_BY_COMMAND, "b")), 1);
	assert_int_equal(gather.ended, 2);
	delays_gather_fini(&gather);
}

static void names_are_bounded_and_nothing_is_dropped(void **unused)
{
	struct delays_gather gather;

	delays_gather_init(&gather, 2);
	gather.cgroup_of = cgroup_of;
	feed(&gather, 100 * S, (struct row[]){ { 2, "a", 1 }, { 3, "b", 2 }, { 4, "c", 4 } }, 3);
	assert_int_equal(gather.sets[DELAYS_BY_COMMAND].count, 2);
	assert_int_equal(cpu_of(&gather.sets[DELAYS_BY_COMMAND].other), 4);
	/* "a" and "b" have had no process for long: the next name takes their room. */
	feed(&gather, 102 * S, (struct row[]){ { 4, "c", 8 } }, 1);
	feed(&gather, 101 * S + DELAYS_GATHER_FORGET_NS, (struct row[]){ { 4, "c", 16 } }, 1);
	assert_int_equal(gather.sets[DELAYS_BY_COMMAND].count, 1);
	assert_int_equal(cpu_of(find(&gather, DELAYS_BY_COMMAND, "c")), 8);
	assert_int_equal(cpu_of(&gather.sets[DELAYS_BY_COMMAND].other), 8 + 1 + 2);
	delays_gather_fini(&gather);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ends_stays_in_the_sum),
		cmocka_unit_test(names_are_bounded_and_nothing_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
