/* test_events.c - choosing events, against a made-up events directory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/events.h"
#include "store/manifest.h"

static const char *const directories[] = {
	"events",
	"events/sched",
	"events/sched/sched_switch",
	"events/sched/sched_waking",
	"events/sched/sched_wakeup_new",
	"events/sched/sched_process_fork",
	"events/raw_syscalls",
	"events/raw_syscalls/sys_enter",
	"events/raw_syscalls/sys_exit",
	"events/irq",
	"events/irq/irq_handler_entry",
	"events/irq/irq_handler_exit",
	"events/irq/softirq_entry",
	"events/ftrace",
	"events/ftrace/function",
};

struct fixture {
	char dir[64];
	int fd;
	struct event_set set;
	struct manifest manifest;
	struct err err;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/holdup-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < ARRAY_LEN(directories); i++)
		assert_int_equal(mkdirat(f->fd, directories[i], 0700), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	event_set_fini(&f->set);
	manifest_fini(&f->manifest);
	close(f->fd);
	nftw(f->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static int choose(struct fixture *f, const char *wish)
{
	return event_set_choose(&f->set, f->fd, wish, &f->manifest, &f->err);
}

static bool is_missing(const struct fixture *f, const char *what)
{
	for (size_t i = 0; i < f->manifest.missing_count; i++) {
		if (!strcmp(f->manifest.missing[i].what, what))
			return true;
	}
	return false;
}

static void no_wish_means_all_that_is_known_and_there(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(choose(f, NULL), 0);
	assert_true(event_set_has(&f->set, "sched:sched_switch"));
	assert_true(event_set_has(&f->set, "raw_syscalls:sys_enter"));
	assert_true(event_set_has(&f->set, "irq:irq_handler_exit"));
	assert_false(event_set_has(&f->set, "ftrace:function"));
}

static void an_event_that_the_kernel_lacks_is_noted_by_name(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(choose(f, "full"), 0);
	assert_true(is_missing(f, "event irq:softirq_exit"));
	assert_false(is_missing(f, "event irq:softirq_entry"));
}

static void core_has_no_system_calls(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(choose(f, "core"), 0);
	assert_true(event_set_has(&f->set, "irq:softirq_entry"));
	assert_false(event_set_has(&f->set, "raw_syscalls:sys_enter"));
}

static void a_list_gets_what_the_engine_needs(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(choose(f, "sys_exit"), 0);
	assert_int_equal(f->set.count, 5);
	assert_true(event_set_has(&f->set, "raw_syscalls:sys_exit"));
	assert_true(event_set_has(&f->set, "sched:sched_waking"));
	assert_true(event_set_has(&f->set, "sched:sched_process_fork"));
}

static void a_list_takes_systems_events_wildcards_and_sets(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(choose(f, "irq:irq_*, raw_syscalls,softirq_entry,core"), 0);
	assert_true(event_set_has(&f->set, "irq:irq_handler_entry"));
	assert_true(event_set_has(&f->set, "irq:irq_handler_exit"));
	assert_true(event_set_has(&f->set, "irq:softirq_entry"));
	assert_true(event_set_has(&f->set, "raw_syscalls:sys_enter"));
}

static void an_event_named_twice_is_there_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(choose(f, "sched_switch,sched,sched:sched_switch"), 0);
	assert_int_equal(f->set.count, 4);
}

static void an_unknown_name_is_an_error_with_close_names(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(choose(f, "sched:sched_swich"), -EINVAL);
	assert_non_null(strstr(f->err.text, "'sched:sched_swich'"));
	assert_non_null(strstr(f->err.text, "sched:sched_switch"));
	assert_int_equal(choose(f, "sys_entr"), -EINVAL);
	assert_non_null(strstr(f->err.text, "raw_syscalls:sys_enter"));
	assert_int_equal(choose(f, "zzzzzzzzzz"), -EINVAL);
	assert_null(strstr(f->err.text, "close"));
}

static void empty_and_endless_names_are_errors(void **state)
{
	struct fixture *f = *state;
	char long_name[1000];

	memset(long_name, 'a', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(choose(f, ""), -EINVAL);
	assert_int_equal(choose(f, "sched,,irq"), -EINVAL);
	assert_int_equal(choose(f, "sched,"), -EINVAL);
	assert_int_equal(choose(f, long_name), -EINVAL);
}

static void a_kernel_without_switches_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlinkat(f->fd, "events/sched/sched_switch", AT_REMOVEDIR), 0);
	assert_int_equal(choose(f, "full"), -ENOTSUP);
	assert_non_null(strstr(f->err.text, "sched:sched_switch"));
}

static void what_can_be_switched_on_is_listed_and_the_rest_noted(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(choose(f, "sched_process_fork,sys_exit"), 0);
	for (size_t i = 0; i < f->set.count; i++) {
		AUTO_FREE char *path = xasprintf("events/%s/enable", f->set.names[i]);

		*strchr(path, ':') = '/';
		if (strcmp(f->set.names[i], "raw_syscalls:sys_exit"))
			close(openat(f->fd, path, O_WRONLY | O_CREAT, 0600));
	}
	assert_int_equal(event_set_enable(&f->set, f->fd, &f->manifest, &f->err), 0);
	assert_int_equal(f->manifest.event_count, 4);
	assert_true(is_missing(f, "event raw_syscalls:sys_exit"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_wish_means_all_that_is_known_and_there),
		TEST(an_event_that_the_kernel_lacks_is_noted_by_name),
		TEST(core_has_no_system_calls),
		TEST(a_list_gets_what_the_engine_needs),
		TEST(a_list_takes_systems_events_wildcards_and_sets),
		TEST(an_event_named_twice_is_there_once),
		TEST(an_unknown_name_is_an_error_with_close_names),
		TEST(empty_and_endless_names_are_errors),
		TEST(a_kernel_without_switches_is_refused),
		TEST(what_can_be_switched_on_is_listed_and_the_rest_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
