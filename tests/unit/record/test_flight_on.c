/* test_flight_on.c - what --on takes, what fires, and how often one looks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/flight_on.h"

#define MS 1000000u

static struct flight_on parsed(const char *text)
{
	struct flight_on on = { 0 };
	struct err err = { 0 };

	if (flight_on_parse(text, &on, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return on;
}

static void pressure_has_a_resource_a_share_and_a_window(void **state)
{
	struct flight_on on = parsed("psi:io>10%/1s");

	(void)state;
	assert_int_equal(on.kind, FLIGHT_ON_PSI);
	assert_int_equal(on.resource, FLIGHT_ON_IO);
	assert_false(on.full);
	assert_null(on.cgroup);
	assert_int_equal(on.stall_us, 100000);
	assert_int_equal(on.window_us, 1000000);
	flight_on_fini(&on);
}

static void full_stands_before_the_cgroup(void **state)
{
	struct flight_on on = parsed("psi:memory:full@/web.slice>100%/10s");

	(void)state;
	assert_true(on.full);
	assert_string_equal(on.cgroup, "/web.slice");
	assert_int_equal(on.stall_us, 10000000);
	flight_on_fini(&on);
}

static void waits_have_a_limit_and_perhaps_a_name(void **state)
{
	struct flight_on on = parsed("D>500ms");

	(void)state;
	assert_int_equal(on.kind, FLIGHT_ON_D);
	assert_null(on.comm);
	assert_int_equal(on.min_ns, 500 * MS);
	flight_on_fini(&on);
	on = parsed("runnable:a>b-longer-than-a-name>100ms");
	assert_int_equal(on.kind, FLIGHT_ON_RUNNABLE);
	assert_string_equal(on.comm, "a>b-longer-than");
	assert_int_equal(on.min_ns, 100 * MS);
	flight_on_fini(&on);
}

static void a_queue_has_a_length_and_a_time(void **state)
{
	struct flight_on on = parsed("runq>8/2s");

	(void)state;
	assert_int_equal(on.kind, FLIGHT_ON_RUNQ);
	assert_int_equal(on.most, 8);
	assert_int_equal(on.min_ns, 2000 * MS);
	flight_on_fini(&on);
}

static void what_programs_log_is_taken_alone_and_in_pairs(void **state)
{
	struct flight_on on = parsed("user:shop:paid");

	(void)state;
	assert_int_equal(on.kind, FLIGHT_ON_LOGGED);
	assert_string_equal(on.event, "shop:paid");
	assert_false(flight_on_is_pair(&on));
	flight_on_fini(&on);
	on = parsed("pair:user:shop:sale_begin->user:net:rx>200ms");
	assert_int_equal(on.kind, FLIGHT_ON_LOGGED);
	assert_string_equal(on.event, "shop:sale_begin");
	assert_string_equal(on.second, "net:rx");
	assert_int_equal(on.min_ns, 200000000);
	assert_true(flight_on_is_pair(&on));
	flight_on_fini(&on);
}

static void an_event_has_perhaps_a_filter(void **state)
{
	struct flight_on on = parsed("event:block:block_rq_complete:error > 0 && comm == \"a:b\"");

	(void)state;
	assert_int_equal(on.kind, FLIGHT_ON_EVENT);
	assert_string_equal(on.event, "block/block_rq_complete");
	assert_string_equal(on.filter, "error > 0 && comm == \"a:b\"");
	flight_on_fini(&on);
	on = parsed("probe:/bin/x:work%return");
	assert_int_equal(on.kind, FLIGHT_ON_EVENT);
	assert_string_equal(on.point, "/bin/x:work%return");
	assert_false(on.is_usdt);
	flight_on_fini(&on);

	on = parsed("usdt:/bin/x:shop:timeout");
	assert_string_equal(on.point, "/bin/x:shop:timeout");
	assert_true(on.is_usdt);
	flight_on_fini(&on);

	on = parsed("model:/etc/a shop.yaml");
	assert_int_equal(on.kind, FLIGHT_ON_MODEL);
	assert_string_equal(on.model, "/etc/a shop.yaml");
	assert_false(flight_on_works(&on));
	flight_on_fini(&on);

	on = parsed("unit:web@*");
	assert_int_equal(on.kind, FLIGHT_ON_UNIT);
	assert_string_equal(on.unit, "web@*.service");
	assert_false(flight_on_works(&on));
	flight_on_fini(&on);
	on = parsed("unit");
	assert_string_equal(on.unit, "*");
	flight_on_fini(&on);

	on = parsed("pair:block:a->sched:b_c>200ms");
	assert_int_equal(on.kind, FLIGHT_ON_PAIR);
	assert_string_equal(on.event, "block/a");
	assert_string_equal(on.second, "sched/b_c");
	assert_int_equal(on.min_ns, 200000000);
	flight_on_fini(&on);

	on = parsed("pair:usdt:/bin/x:shop:begin->probe:/bin/x:work>1s");
	assert_string_equal(on.event, "usdt:/bin/x:shop:begin");
	assert_string_equal(on.second, "probe:/bin/x:work");
	flight_on_fini(&on);

	on = parsed("event:oom:mark_victim");
	assert_string_equal(on.event, "oom/mark_victim");
	assert_null(on.filter);
	flight_on_fini(&on);
	on = parsed("oom@/web.slice");
	assert_int_equal(on.kind, FLIGHT_ON_OOM);
	assert_string_equal(on.cgroup, "/web.slice");
	flight_on_fini(&on);
	on = parsed("oom");
	assert_null(on.cgroup);
	flight_on_fini(&on);
}

static void what_is_no_trigger_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		">",
		"D",
		"D>",
		"D>1ns",
		"D:>1s",
		"X>1s",
		"d>1s",
		"runnable",
		"psi:",
		"psi:io",
		"psi:io>",
		"psi:io>10%",
		"psi:io>10%/",
		"psi:io>0%/1s",
		"psi:io>101%/1s",
		"psi:io>10%/100ms",
		"psi:io>10%/11s",
		"psi:disk>10%/1s",
		"psi:io:half>10%/1s",
		"psi:io@web>10%/1s",
		"psi:io@/../x>10%/1s",
		"psi:io>10/1s",
		"psi::full>10%/1s",
		"psi:io>-1%/1s",
		"runq>8",
		"runq>/2s",
		"runq>-1/2s",
		"runq>8/99ms",
		"runq8/2s",
		"oomph",
		"oom@",
		"oom@web",
		"oom@/../x",
		"unit:",
		"unit:a b",
		"units",
		"event:",
		"event:oom",
		"event:oom:",
		"event::mark_victim",
		"event:oom:mark_victim:",
		"event:../..:enable",
		"event:oom:a/b",
		"probe:",
		"probe:work",
		"model:",
		"model:/",
		"model:shop.yaml",
		"probe:/bin/x:",
		"usdt:",
		"usdt:a:b",
		"user:",
		"user:shop",
		"user:shop:",
		"user:shop:paid:x",
		"user:sh op:paid",
		"pair:user:shop:a->user:shop:a>1s",
		"pair:user:shop:a->block:b>1s",
		"pair:block:b->user:shop:a>1s",
		"pair:user:shop->user:shop:a>1s",
		"pair:user:shop:a->user:shop:b>0",
		"pair:",
		"pair:a:b>1s",
		"pair:a:b->c:d",
		"pair:a:b->a:b>1s",
		"pair:a->c:d>1s",
		"pair:a:b->c:../d>1s",
		"pair:a:b->c:d>0",
		"pair:->>1s",
		"pair:usdt:a:b->usdt:/bin/true:a:b>1s",
		"pair:usdt:/bin/true:a:b->usdt:/bin/true:a:b>1s",
	};
	struct flight_on on;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		err = (struct err){ 0 };
		if (flight_on_parse(texts[i], &on, &err) != -EINVAL)
			fail_msg("\"%s\" is taken", texts[i]);
		assert_non_null(strstr(err.text, "--on needs"));
	}
}

static void nobody_looks_who_was_not_asked(void **state)
{
	struct flight_on ons[] = { parsed("psi:cpu>10%/2s"), parsed("D>400ms"),
				   parsed("D:name>100ms") };
	struct flight_looks looks = { 0 };

	(void)state;
	assert_true(flight_looks_next_ns(&looks, ons, 1) == UINT64_MAX);
	assert_true(flight_looks_every_ns(&looks, ons, 2, true) == UINT64_MAX);
	assert_int_equal(flight_looks_every_ns(&looks, ons, 2, false), 200 * MS);
	assert_int_equal(flight_looks_every_ns(&looks, ons, 3, true), 50 * MS);
	for (size_t i = 0; i < ARRAY_LEN(ons); i++)
		flight_on_fini(&ons[i]);
}

static void looking_costs_a_hundredth_of_a_cpu_at_most(void **state)
{
	struct flight_on on = parsed("D>400ms");
	struct flight_looks looks = { .all.cost_ns = 8 * MS };

	(void)state;
	assert_int_equal(flight_looks_every_ns(&looks, &on, 1, false), 800 * MS);
	flight_on_fini(&on);
}

/* The thread that looks is running: it has no wait that could fire. */
static void who_runs_waits_for_nothing(void **state)
{
	struct flight_on on = parsed("runnable>20ms");
	struct flight_looks looks = { 0 };
	struct flight_seen seen = { .tid = 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct flight_on *fired = flight_looks_take(&looks, &on, 1, &seen);

		assert_true(!fired || seen.tid != gettid());
		looks.all.looked_ns = 0; /* due again */
	}
	assert_true(looks.all.count > 0); /* us, at least */
	flight_looks_fini(&looks);
	flight_on_fini(&on);
}

static void what_a_kind_must_look_like_is_said(void **state)
{
	struct flight_on on = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(flight_on_parse("psi:io>200%/1s", &on, &err), -EINVAL);
	assert_string_equal(
		err.text,
		"--on needs psi:RESOURCE>PERCENT%/WINDOW (cpu, memory or io, up to 100%, from 500ms to 10s), got \"psi:io>200%/1s\"");
	assert_int_equal(flight_on_parse("D>1ms", &on, &err), -EINVAL);
	assert_string_equal(
		err.text,
		"--on needs D>DURATION or D:NAME>DURATION (10ms or longer), got \"D>1ms\"");
	assert_int_equal(flight_on_parse("disk>1ms", &on, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--on needs a trigger such as"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_programs_log_is_taken_alone_and_in_pairs),
		cmocka_unit_test(pressure_has_a_resource_a_share_and_a_window),
		cmocka_unit_test(full_stands_before_the_cgroup),
		cmocka_unit_test(waits_have_a_limit_and_perhaps_a_name),
		cmocka_unit_test(a_queue_has_a_length_and_a_time),
		cmocka_unit_test(an_event_has_perhaps_a_filter),
		cmocka_unit_test(what_is_no_trigger_is_refused),
		cmocka_unit_test(what_a_kind_must_look_like_is_said),
		cmocka_unit_test(nobody_looks_who_was_not_asked),
		cmocka_unit_test(looking_costs_a_hundredth_of_a_cpu_at_most),
		cmocka_unit_test(who_runs_waits_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
