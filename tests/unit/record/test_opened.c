/* test_opened.c - a process that hangs costs its own part only. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/opened.h"

#define PATIENCE_MS 60

/*
 * A folder that looks like /proc: processes 1 .. count with one descriptor each. The
 * command line of those in 'hanging' is a pipe that nobody writes to: it blocks who
 * opens it, like a process whose memory cannot be read.
 */
struct fake {
	char path[64];
	int fd;
	int count;
};

static void write_text(int dir_fd, const char *path, const char *text)
{
	AUTO_CLOSE int fd = openat(dir_fd, path, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void add_thread(const struct fake *fake, int tgid, int tid, const char *call)
{
	char path[48];

	snprintf(path, sizeof(path), "%d/task", tgid);
	(void)mkdirat(fake->fd, path, 0700); /* is there for the second thread */
	snprintf(path, sizeof(path), "%d/task/%d", tgid, tid);
	assert_int_equal(mkdirat(fake->fd, path, 0700), 0);
	snprintf(path, sizeof(path), "%d/task/%d/syscall", tgid, tid);
	write_text(fake->fd, path, call);
}

static struct fake fake_proc(int count, const char *hanging)
{
	struct fake fake = { .path = "/tmp/holdup-test-proc-XXXXXX", .count = count };

	assert_non_null(mkdtemp(fake.path));
	fake.fd = open(fake.path, O_RDONLY | O_DIRECTORY);
	for (int i = 1; i <= count; i++) {
		char path[32], digit[2] = { (char)('0' + i), '\0' };

		mkdirat(fake.fd, digit, 0700);
		snprintf(path, sizeof(path), "%d/fd", i);
		mkdirat(fake.fd, path, 0700);
		snprintf(path, sizeof(path), "%d/fd/5", i);
		assert_int_equal(symlinkat("pipe:[9]", fake.fd, path), 0);
		snprintf(path, sizeof(path), "%d/cmdline", i);
		if (strchr(hanging, digit[0]))
			assert_int_equal(mkfifoat(fake.fd, path, 0600), 0);
		else
			write_text(fake.fd, path, "a program");
		add_thread(&fake, i, 10 * i,
			   "202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffc00000000 0x55\n");
		add_thread(&fake, i, 10 * i + 1, "-1 0x7ffc00000000 0x55\n");
		add_thread(&fake, i, 10 * i + 2, "running\n");
		add_thread(&fake, i, 10 * i + 3,
			   "3 0x1 0x2 0x3 0x4 0x5 0x6 0xff800000 0x8049000\n");
		add_thread(&fake, i, 10 * i + 4,
			   "0 0x3 0x7f00 0x1 0x0 0x0 0x0 0x7ffc00000000 0x55\n");
	}
	return fake;
}

/* Let go of those who hang, and clean up. */
static void fake_fini(struct fake *fake)
{
	AUTO_FREE char *command = xasprintf("rm -rf %s", fake->path);

	for (int i = 1; i <= fake->count; i++) {
		char path[32];
		int fd;

		snprintf(path, sizeof(path), "%d/cmdline", i);
		fd = openat(fake->fd, path, O_RDWR | O_NONBLOCK);
		mem_close_fd(&fd);
	}
	close(fake->fd);
	assert_int_equal(system(command), 0);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static const int32_t tgids[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static void all_is_read_when_nothing_hangs(void **unused)
{
	struct fake fake = fake_proc(3, "");
	struct opened_all all;

	opened_read(fake.fd, tgids, 3, 10000, &all);
	assert_int_equal(all.hung_count, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(all.processes[i].fd_count, 1);
		assert_int_equal(all.processes[i].fds[0].fd, 5);
		assert_string_equal(all.processes[i].fds[0].link, "pipe:[9]");
		assert_string_equal(all.processes[i].cmdline, "a program");
		/* Not who runs, nor a fault, nor a 32-bit program. */
		assert_int_equal(all.processes[i].call_count, 2);
		assert_int_equal(all.processes[i].calls[0].tid, 10 * tgids[i]);
		assert_int_equal(all.processes[i].calls[0].nr, 202);
		assert_int_equal(all.processes[i].calls[0].args[0], 0x7f00);
		assert_int_equal(all.processes[i].calls[0].args[1], 0x80);
		assert_true(all.processes[i].calls[0].seen_ns > 0);
		assert_int_equal(all.processes[i].calls[1].nr, 0);
	}
	opened_fini(&all, 3);
	fake_fini(&fake);
}

static void write_auxv(const struct fake *fake, const char *path, const void *pairs, size_t bytes)
{
	AUTO_CLOSE int fd = openat(fake->fd, path, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(write(fd, pairs, bytes), bytes);
}

/* AT_SYSINFO_EHDR, AT_HWCAP: what the kernel of x86 hands to programs of each kind. */
static void what_the_kernel_hands_to_a_program_tells_its_bits(void **unused)
{
	static const uint32_t of_32[] = { 32, 0xf7f665e0, 33, 0xf7f66000, 16, 0x178bfbff };
	static const uint64_t of_64[] = { 33, 0x7ffc00000000, 16, 0x178bfbff };
	struct fake fake = fake_proc(4, "");
	struct opened_all all;

	write_auxv(&fake, "1/auxv", of_32, sizeof(of_32));
	write_auxv(&fake, "2/auxv", of_64, sizeof(of_64));
	write_auxv(&fake, "3/auxv", of_32, 4);
	opened_read(fake.fd, tgids, 4, 10000, &all);
	assert_int_equal(all.processes[0].compat, sizeof(long) == 8);
	assert_false(all.processes[1].compat);
	assert_false(all.processes[2].compat);
	assert_false(all.processes[3].compat);
	opened_fini(&all, 4);
	fake_fini(&fake);
}

static void one_that_hangs_is_given_up_and_the_next_are_read(void **unused)
{
	struct fake fake = fake_proc(4, "2");
	struct opened_all all;

	opened_read(fake.fd, tgids, 4, PATIENCE_MS, &all);
	assert_int_equal(all.hung_count, 1);
	assert_int_equal(all.hung[0], 2);
	assert_string_equal(all.processes[0].cmdline, "a program");
	assert_string_equal(all.processes[1].cmdline, "");
	assert_int_equal(all.processes[1].fd_count, 1);
	assert_string_equal(all.processes[2].cmdline, "a program");
	assert_string_equal(all.processes[3].cmdline, "a program");
	opened_fini(&all, 4);
	fake_fini(&fake);
}

static void the_last_one_may_hang(void **unused)
{
	struct fake fake = fake_proc(2, "2");
	struct opened_all all;

	opened_read(fake.fd, tgids, 2, PATIENCE_MS, &all);
	assert_int_equal(all.hung_count, 1);
	assert_string_equal(all.processes[0].cmdline, "a program");
	opened_fini(&all, 2);
	fake_fini(&fake);
}

static void when_all_hang_patience_ends(void **unused)
{
	struct fake fake = fake_proc(8, "12345678");
	struct opened_all all;
	double start = now();

	opened_read(fake.fd, tgids, 8, PATIENCE_MS, &all);
	assert_true(now() - start < 5);
	assert_int_equal(all.hung_count, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(all.processes[i].fd_count, 1);
	opened_fini(&all, 8);
	fake_fini(&fake);
}

static void a_process_that_is_gone_is_no_error(void **unused)
{
	struct fake fake = fake_proc(1, "");
	struct opened_all all;

	opened_read(fake.fd, tgids, 2, 10000, &all);
	assert_int_equal(all.hung_count, 0);
	assert_int_equal(all.processes[1].error, 0);
	assert_string_equal(all.processes[1].cmdline, "");
	opened_fini(&all, 2);
	fake_fini(&fake);
}

static void nobody_to_ask_is_fine(void **unused)
{
	struct fake fake = fake_proc(1, "");
	struct opened_all all;

	opened_read(fake.fd, tgids, 0, 10000, &all);
	assert_int_equal(all.hung_count, 0);
	opened_fini(&all, 0);
	fake_fini(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_read_when_nothing_hangs),
		cmocka_unit_test(what_the_kernel_hands_to_a_program_tells_its_bits),
		cmocka_unit_test(one_that_hangs_is_given_up_and_the_next_are_read),
		cmocka_unit_test(the_last_one_may_hang),
		cmocka_unit_test(when_all_hang_patience_ends),
		cmocka_unit_test(a_process_that_is_gone_is_no_error),
		cmocka_unit_test(nobody_to_ask_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
