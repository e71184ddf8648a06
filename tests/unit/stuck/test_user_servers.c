/* test_user_servers.c - which file system of FUSE a file is of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stuck/snap_int.h"

static void a_mount_is_found_by_its_number(void **unused)
{
	static const char mounts[] =
		"27 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
		"43 27 0:47 / /mnt rw,nosuid - fuse.sshfs host:/ rw,user_id=0\n"
		"44 27 0:48 / /odd\\040-\\040fuse rw shared:3 - tmpfs fuse rw\n"
		"4 27 0:49 / /own rw - fuse none rw";

	assert_int_equal(fuse_connection(mounts, 43), 47);
	assert_int_equal(fuse_connection(mounts, 4), 49);
	assert_int_equal(fuse_connection(mounts, 27), 0);
	assert_int_equal(fuse_connection(mounts, 44), 0);
	assert_int_equal(fuse_connection(mounts, 5), 0);
	assert_int_equal(fuse_connection("", 5), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mount_is_found_by_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
