#include "accounts/knobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static char root[] = "/tmp/holdup-knobs-XXXXXX";

static void write_file(const char *name, const char *text)
{
	AUTO_FREE char *path = xasprintf("%s%s", root, name);
	AUTO_FILE FILE *file = NULL;

	for (char *at = strchr(path + sizeof(root), '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
}

static int make_root(void **unused)
{
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **unused)
{
	AUTO_FREE char *command = xasprintf("rm -r %s", root);

	return system(command);
}

static void a_process_is_read(void **unused)
{
	struct delays_knobs knobs;

	write_file("/proc/7/stat",
		   "7 (a) b) (c) S 1 7 7 0 -1 2097152 1 2 3 4 5 6 7 8 20 15 1 0 100 1 "
		   "1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 0 0 5 0 0 0\n");
	write_file("/proc/7/status",
		   "Name:\ta\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\nMems:\t1\n");
	write_file("/sys/devices/system/cpu/online", "0-3,8\n");
	delays_knobs_read(root, 7, &knobs);
	assert_true(knobs.has_nice);
	assert_true(knobs.is_kernel);
	assert_int_equal(knobs.nice, 15);
	assert_int_equal(knobs.policy, 5);
	assert_int_equal(knobs.cpus_allowed, 2);
	assert_int_equal(knobs.cpus_online, 5);
	delays_knobs_fini(&knobs);
}

static void nothing_is_known_of_who_is_gone(void **unused)
{
	struct delays_knobs knobs;

	delays_knobs_read(root, 8, &knobs);
	assert_false(knobs.has_nice);
	assert_int_equal(knobs.cpus_allowed, 0);
	for (size_t i = 0; i < DELAYS_KNOBS; i++)
		assert_false(knobs.settings[i].binds);
	delays_knobs_fini(&knobs);
}

/* A limit far up binds as well; of several, the one that was hit most. */
static void limits_are_found_on_the_way_up(void **unused)
{
	const struct delays_setting *setting;
	AUTO_FREE char *up = xasprintf("%s/sys/fs/cgroup/up", root);
	AUTO_FREE char *own = xasprintf("%s/sys/fs/cgroup/up/own", root);
	struct delays_knobs knobs;

	write_file("/proc/9/cgroup", "0::/up/own\n");
	write_file("/sys/fs/cgroup/up/cpu.max", "20000 100000\n");
	write_file("/sys/fs/cgroup/up/cpu.stat",
		   "usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 250\n");
	write_file("/sys/fs/cgroup/up/own/cpu.max", "max 100000\n");
	write_file("/sys/fs/cgroup/up/own/cpu.weight", "50\n");
	write_file("/sys/fs/cgroup/up/cpu.weight", "20\n");
	write_file("/sys/fs/cgroup/up/own/io.weight", "default 100\n");
	write_file("/sys/fs/cgroup/up/own/io.max", "");
	write_file("/sys/fs/cgroup/up/own/memory.high", "1048576\n");
	write_file("/sys/fs/cgroup/up/own/memory.events.local", "low 5\nhigh 12\nmax 0\n");
	write_file("/sys/fs/cgroup/up/own/memory.max", "2097152\n");
	delays_knobs_read(root, 9, &knobs);
	setting = &knobs.settings[DELAYS_KNOB_CPU_MAX];
	assert_true(setting->binds);
	assert_string_equal(setting->folder, up);
	assert_string_equal(setting->value, "20000 100000");
	assert_int_equal(setting->hits, 4);
	assert_int_equal(setting->held_ns, 250000);
	assert_string_equal(knobs.settings[DELAYS_KNOB_CPU_WEIGHT].value, "20");
	assert_false(knobs.settings[DELAYS_KNOB_IO_WEIGHT].binds);
	assert_false(knobs.settings[DELAYS_KNOB_IO_MAX].binds);
	assert_string_equal(knobs.settings[DELAYS_KNOB_MEMORY_HIGH].folder, own);
	assert_int_equal(knobs.settings[DELAYS_KNOB_MEMORY_HIGH].hits, 12);
	assert_false(knobs.settings[DELAYS_KNOB_MEMORY_MAX].binds); /* it was never hit */
	delays_knobs_fini(&knobs);
}

static void the_first_kind_of_cgroups_is_read(void **unused)
{
	struct delays_knobs knobs;

	write_file("/proc/10/cgroup", "4:memory:/b\n1:cpu:/a\n0::/\n");
	write_file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
	write_file("/sys/fs/cgroup/cpu/a/cpu.stat",
		   "nr_periods 9\nnr_throttled 3\nthrottled_time 77\n");
	write_file("/sys/fs/cgroup/cpu/a/cpu.shares", "1024\n");
	write_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	write_file("/sys/fs/cgroup/memory/b/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("/sys/fs/cgroup/memory/b/memory.failcnt", "5\n");
	delays_knobs_read(root, 10, &knobs);
	assert_string_equal(knobs.settings[DELAYS_KNOB_CPU_MAX].file, "cpu.cfs_quota_us");
	assert_int_equal(knobs.settings[DELAYS_KNOB_CPU_MAX].held_ns, 77);
	assert_false(knobs.settings[DELAYS_KNOB_CPU_WEIGHT].binds);
	assert_false(knobs.settings[DELAYS_KNOB_MEMORY_MAX].binds); /* no limit */
	delays_knobs_fini(&knobs);
}

static void a_cgroup_outside_is_not_followed(void **unused)
{
	struct delays_knobs knobs;

	write_file("/proc/11/cgroup", "0::/../../up\n1:cpu");
	delays_knobs_read(root, 11, &knobs);
	assert_false(knobs.settings[DELAYS_KNOB_CPU_MAX].binds);
	delays_knobs_fini(&knobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_read),
		cmocka_unit_test(nothing_is_known_of_who_is_gone),
		cmocka_unit_test(limits_are_found_on_the_way_up),
		cmocka_unit_test(the_first_kind_of_cgroups_is_read),
		cmocka_unit_test(a_cgroup_outside_is_not_followed),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
