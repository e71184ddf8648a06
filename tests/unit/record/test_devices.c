/* test_devices.c - the devices of this machine as lines of a dump; nothing is told twice. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/devices.h"

static size_t lines_of(int dir_fd)
{
	int fd = openat(dir_fd, "dump.jsonl", O_RDONLY | O_CLOEXEC);
	AUTO_FILE FILE *in = fdopen(fd, "r");
	AUTO_FREE char *line = NULL;
	size_t room = 0, count = 0;

	assert_non_null(in);
	while (getline(&line, &room, in) > 0) {
		assert_true(strncmp(line, "{\"device\":{", 11) == 0);
		count++;
	}
	return count;
}

static void devices_are_added_once(void **unused)
{
	char path[] = "/tmp/holdup-devices-XXXXXX";
	AUTO_CLOSE int dir_fd = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY) : -1;
	struct devices *devices;
	size_t count;
	int fd;

	assert_true(dir_fd >= 0);
	devices = devices_begin(dir_fd); /* there is no dump: nothing is made */
	assert_int_equal(faccessat(dir_fd, "dump.jsonl", F_OK, 0), -1);
	devices_free(devices);

	fd = openat(dir_fd, "dump.jsonl", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	devices = devices_begin(dir_fd);
	count = lines_of(dir_fd);
	devices_end(devices, dir_fd);
	assert_int_equal(lines_of(dir_fd), count);
	devices_end(NULL, dir_fd); /* what was before is not known */
	assert_int_equal(lines_of(dir_fd), 2 * count);
	devices_free(devices);
	devices_free(NULL);
	assert_int_equal(unlinkat(dir_fd, "dump.jsonl", 0), 0);
	assert_int_equal(rmdir(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_added_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
