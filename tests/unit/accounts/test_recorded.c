/* Accounts beside a recording: what was written is read, and what is damaged is told. */
#include "accounts/recorded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/outbuf.h"

static const struct delays_account on = { .state = DELAYS_ACCOUNT_ON, .since_boot = true };

static struct recorded_task some_task(void)
{
	struct recorded_task task = { .when = RECORDED_EXIT, .time_ns = 5000, .slack_ns = 3 };

	strcpy(task.stats.name, "make");
	task.stats.tid = 7;
	task.stats.tgid = 6;
	task.stats.nice = -20;
	task.stats.classes = 1u << DELAYS_CPU | 1u << DELAYS_IRQ;
	task.stats.delay[DELAYS_CPU] = (struct delays_delay){ 1, 200, 200, 100 };
	task.stats.delay[DELAYS_IRQ].total_ns = UINT64_C(1) << 50;
	task.stats.run_ns = 300;
	task.stats.life_us = 9;
	task.stats.involuntary = 127;
	return task;
}

static void write_all(struct outbuf *out)
{
	const struct recorded_sched sched = { RECORDED_END, 4000, 7, 6, 1, 2, 3 };
	const struct recorded_pressure pressure = { .when = RECORDED_START,
						    .time_ns = 1,
						    .resource = "io",
						    .cgroup = "/a",
						    .has_full = true,
						    .full_ns = 9 };
	const struct recorded_loss loss = { 8, 40, "0-3" };
	const struct recorded_stolen before = { RECORDED_START, 1, 50, 10 };
	const struct recorded_stolen after = { RECORDED_END, 2, 70, 10 };
	const struct recorded_task task = some_task();

	outbuf_to_memory(out);
	recorded_put_head(out, &on, 1000, 4000000);
	recorded_put_stolen(out, &before);
	recorded_put_pressure(out, &pressure);
	recorded_put_task(out, &task);
	recorded_put_sched(out, &sched);
	recorded_put_loss(out, &loss);
	recorded_put_loss(out, &loss);
	recorded_put_stolen(out, &after);
	recorded_put_end(out, 9000, 2);
}

static void what_was_written_is_read(void **unused)
{
	const struct recorded_task task = some_task();
	struct recorded recorded;
	struct outbuf out;

	write_all(&out);
	assert_int_equal(recorded_parse(out.start, outbuf_bytes(&out), &recorded, NULL), 0);
	assert_null(recorded.damage);
	assert_int_equal(recorded.state, DELAYS_ACCOUNT_ON);
	assert_true(recorded.since_boot);
	assert_int_equal(recorded.begin_ns, 1000);
	assert_int_equal(recorded.tick_ns, 4000000);
	assert_int_equal(recorded.end_ns, 9000);
	assert_int_equal(recorded.damaged, 2);
	assert_int_equal(recorded.task_count, 1);
	assert_memory_equal(&recorded.tasks[0].stats, &task.stats, sizeof(task.stats));
	assert_int_equal(recorded.tasks[0].when, RECORDED_EXIT);
	assert_int_equal(recorded.tasks[0].time_ns, 5000);
	assert_int_equal(recorded.sched_count, 1);
	assert_int_equal(recorded.scheds[0].queued_ns, 2);
	assert_int_equal(recorded.pressure_count, 1);
	assert_string_equal(recorded.pressures[0].cgroup, "/a");
	assert_string_equal(recorded.pressures[0].resource, "io");
	assert_false(recorded.pressures[0].has_some);
	assert_int_equal(recorded.pressures[0].full_ns, 9);
	assert_int_equal(recorded.loss_count, 2);
	assert_string_equal(recorded.losses[1].cpus, "0-3");
	assert_int_equal(recorded.lost, 80);
	assert_true(recorded.has_stolen);
	assert_int_equal(recorded.stolen_ns, 70 - 50 + 10);
	recorded_fini(&recorded);
	outbuf_fini(&out);
}

/* Every cut leaves what stands before it, and says where it is unless it is between records. */
static void a_file_that_was_cut_is_read_up_to_the_cut(void **unused)
{
	struct recorded recorded;
	struct outbuf out;
	size_t whole = 0, told = 0;

	write_all(&out);
	for (size_t bytes = 8; bytes < outbuf_bytes(&out); bytes++) {
		assert_int_equal(recorded_parse(out.start, bytes, &recorded, NULL), 0);
		assert_int_equal(recorded.end_ns, 0);
		assert_in_range(recorded.task_count, told, 1);
		told = recorded.task_count;
		whole += recorded.damage == NULL;
		recorded_fini(&recorded);
	}
	assert_int_equal(told, 1);
	assert_int_equal(whole, 9); /* between the nine records, and before the first */
	outbuf_fini(&out);
}

static void other_bytes_are_refused(void **unused)
{
	struct recorded recorded;
	struct err err = { 0 };

	assert_int_equal(recorded_parse("HOLDACC2", 8, &recorded, &err), -EBADMSG);
	assert_true(err.text[0]);
	assert_int_equal(recorded_parse("", 0, &recorded, &err), -EBADMSG);
}

/* Kinds of a newer recorder, and numbers behind the known ones. */
static void what_is_not_known_is_passed_over(void **unused)
{
	static const char bytes[] = "HOLDACC1"
				    "\x63\x02\xff\xff"
				    "\x06\x04\x09\x02\x55\x55";
	struct recorded recorded;

	assert_int_equal(recorded_parse(bytes, sizeof(bytes) - 1, &recorded, NULL), 0);
	assert_null(recorded.damage);
	assert_int_equal(recorded.end_ns, 9);
	assert_int_equal(recorded.damaged, 2);
	recorded_fini(&recorded);
}

static void numbers_that_cannot_be_are_damage(void **unused)
{
	static const char endless[] =
		"HOLDACC1\x06\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	static const char no_when[] = "HOLDACC1\x02\x03\x07\x01\x01";
	static const char too_long[] = "HOLDACC1\x06\x7f\x01";
	const char *const all[] = { endless, no_when, too_long };
	const size_t sizes[] = { sizeof(endless) - 1, sizeof(no_when) - 1, sizeof(too_long) - 1 };

	for (size_t i = 0; i < 3; i++) {
		struct recorded recorded;

		assert_int_equal(recorded_parse(all[i], sizes[i], &recorded, NULL), 0);
		assert_non_null(recorded.damage);
		assert_int_equal(recorded.task_count, 0);
		recorded_fini(&recorded);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(a_file_that_was_cut_is_read_up_to_the_cut),
		cmocka_unit_test(other_bytes_are_refused),
		cmocka_unit_test(what_is_not_known_is_passed_over),
		cmocka_unit_test(numbers_that_cannot_be_are_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
