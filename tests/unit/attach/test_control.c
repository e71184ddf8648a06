/* test_control.c - control files, as a process maps them, read and changed from outside. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <holdup/trace_hot.h>

#include "base/err.h"
#include "base/mem.h"
#include "attach/control.h"
#include "wire/user.h"

/* This process's control, as the library would have made it. */
struct fixture {
	char dir[64], path[96];
	struct holdup_control_ control;
	int fd;
};

static void write_control(const struct fixture *made)
{
	assert_int_equal(pwrite(made->fd, &made->control, sizeof(made->control), 0),
			 sizeof(made->control));
}

static void read_control(struct fixture *made)
{
	assert_int_equal(pread(made->fd, &made->control, sizeof(made->control), 0),
			 sizeof(made->control));
}

#define NEWS (UINT64_C(1) << HOLDUP_NEWS_) /* in the mask: something has changed */

static int set_up(void **state)
{
	struct fixture *made = xcalloc(1, sizeof(*made));
	struct holdup_control_ *control = &made->control;
	struct user_proc proc;

	snprintf(made->dir, sizeof(made->dir), "/tmp/holdup-%u", geteuid());
	(void)mkdir(made->dir, 0700); /* another test's process may have made it */
	if (!user_proc_read(getpid(), &proc))
		return -1;
	snprintf(made->path, sizeof(made->path), "%s/%d-%llu.control", made->dir, getpid(),
		 (unsigned long long)proc.pid_ns);
	control->magic = USER_CONTROL_MAGIC;
	control->abi = HOLDUP_ABI_;
	control->pid = proc.ns_pid;
	control->pid_start = proc.start;
	control->session = HOLDUP_NO_SESSION_ << HOLDUP_TURN_;
	strcpy(control->comm, "me");
	strcpy(control->names, "64 shop:paid\n128 shop:sent\n65 net:rx\n");
	user_proc_fini(&proc);
	made->fd = open(made->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (made->fd < 0)
		return -1;
	write_control(made);
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *made = *state;

	(void)unlink(made->path);
	mem_close_fd(&made->fd);
	free(made);
	return 0;
}

static void events_are_switched_on_and_off(void **state)
{
	struct fixture *made = *state;
	struct user_process *process;
	struct user_class *classes;
	size_t count;

	assert_int_equal(user_process_open(getpid(), &process, NULL), 0);
	assert_false(user_process_logs(process));
	assert_int_equal(user_process_switch(process, "shop,net:t*", false, NULL), 0);
	read_control(made);
	assert_int_equal(made->control.mask, NEWS | 1);
	assert_int_equal(made->control.session & 0xffff, 1); /* its turn to look at the rules */
	assert_int_equal(user_process_switch(process, "shop:sent", true, NULL), 0);
	classes = user_process_classes(process, &count);
	assert_int_equal(count, 2);
	assert_string_equal(classes[0].name, "net");
	assert_int_equal(classes[0].on, 0);
	assert_int_equal(classes[1].count, 2);
	assert_int_equal(classes[1].on, 1);
	assert_int_equal(user_process_switch(process, "shop:a:b", false, NULL), -EINVAL);
	read_control(made);
	assert_string_equal(made->control.rules, "shop,net:t*,-shop:sent");
	free(classes);
	user_process_close(process);
}

static void a_trace_is_asked_for_and_taken_back(void **state)
{
	struct fixture *made = *state;
	struct holdup_control_ *before = xcalloc(1, sizeof(*before));
	struct user_process *process;

	assert_int_equal(user_process_open(getpid(), &process, NULL), 0);
	memcpy(before, process->control, sizeof(*before));
	assert_int_equal(user_process_ask(process, "/there", USER_STREAM, "net", NULL), 0);
	read_control(made);
	assert_int_equal(made->control.session >> HOLDUP_TURN_, 1);
	assert_int_equal(made->control.asked, 1);
	assert_int_equal(made->control.mode, USER_STREAM);
	assert_string_equal(made->control.dir, "/there");
	assert_int_equal(made->control.mask, NEWS | 2);
	assert_int_equal(user_process_restore(process, before, NULL), 0);
	read_control(made);
	assert_true(made->control.session >> HOLDUP_TURN_ == HOLDUP_NO_SESSION_);
	assert_int_equal(made->control.mask, NEWS);
	assert_string_equal(made->control.rules, "");
	free(before);
	user_process_close(process);
}

/* A trace that the process had gets a number of its own again: numbers never go back. */
static void an_earlier_trace_is_asked_for_again(void **state)
{
	struct fixture *made = *state;
	struct holdup_control_ *before = xcalloc(1, sizeof(*before));
	struct user_process *process;

	made->control.asked = 6;
	made->control.session = UINT64_C(6) << HOLDUP_TURN_;
	made->control.mode = USER_FLIGHT;
	strcpy(made->control.dir, "/mine");
	write_control(made);
	assert_int_equal(user_process_open(getpid(), &process, NULL), 0);
	memcpy(before, process->control, sizeof(*before));
	assert_int_equal(user_process_ask(process, "/there", USER_STREAM, NULL, NULL), 0);
	assert_int_equal(user_process_restore(process, before, NULL), 0);
	read_control(made);
	assert_int_equal(made->control.session >> HOLDUP_TURN_, 8);
	assert_int_equal(made->control.mode, USER_FLIGHT);
	assert_string_equal(made->control.dir, "/mine");
	free(before);
	user_process_close(process);
}

static int open_changed(struct fixture *made)
{
	struct user_process *process;
	int rc;

	write_control(made);
	rc = user_process_open(getpid(), &process, NULL);
	if (rc == 0)
		user_process_close(process);
	return rc;
}

static void a_control_of_another_process_is_none(void **state)
{
	struct fixture *made = *state;

	made->control.pid_start++;
	assert_int_equal(open_changed(made), -ENOENT);
	made->control.pid_start--;
	made->control.pid++;
	assert_int_equal(open_changed(made), -ENOENT);
	made->control.pid--;
	made->control.abi++;
	assert_int_equal(open_changed(made), -ENOTSUP);
	made->control.abi--;
	made->control.magic = 0; /* the process has not come so far */
	assert_int_equal(open_changed(made), -ENOENT);
	made->control.magic = USER_CONTROL_MAGIC;
	assert_int_equal(open_changed(made), 0);
	assert_int_equal(ftruncate(made->fd, 100), 0);
	assert_int_equal(user_process_open(getpid(), &(struct user_process *){ 0 }, NULL), -ENOENT);
	assert_int_equal(user_process_open(INT32_MAX, &(struct user_process *){ 0 }, NULL), -ESRCH);
}

/* Texts without an end, ids beyond all, classes beyond the mask. */
static void nothing_in_a_control_is_believed(void **state)
{
	static const char names[] = "99999 0 a:b\n-1 0 a:b\n0 0 a:b\n5 64 many:x\n"
				    "6 4000000000 many:y\nrubbish\n\n7 63 good:z\n";
	struct fixture *made = *state;
	struct user_process *process;
	struct user_class *classes;
	size_t count;

	memset(made->control.names, 'x', sizeof(made->control.names));
	memset(made->control.trace, '/', sizeof(made->control.trace));
	memset(made->control.comm, 'c', sizeof(made->control.comm));
	memcpy(made->control.names, names, strlen(names));
	write_control(made);
	assert_int_equal(user_process_open(getpid(), &process, NULL), 0);
	assert_int_equal(user_process_switch(process, "all", false, NULL), 0);
	read_control(made);
	assert_true(made->control.mask == UINT64_C(1) << 63);
	classes = user_process_classes(process, &count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(classes[i].on, strcmp(classes[i].name, "good") == 0);
	free(classes);
	user_process_close(process);
	memset(made->control.rules, '%', sizeof(made->control.rules));
	assert_int_equal(open_changed(made), -ENOENT);
}

static void a_lock_that_never_ends_is_not_waited_for(void **state)
{
	struct fixture *made = *state;
	struct user_process *process;
	struct err err = { 0 };

	assert_int_equal(user_process_open(getpid(), &process, NULL), 0);
	assert_int_equal(flock(made->fd, LOCK_EX), 0);
	assert_int_equal(user_process_stop(process, &err), -EBUSY);
	user_process_close(process);
}

static void a_link_is_not_followed(void **state)
{
	struct fixture *made = *state;
	AUTO_FREE char *other = xasprintf("%s.other", made->path);

	assert_int_equal(rename(made->path, other), 0);
	assert_int_equal(symlink(other, made->path), 0);
	assert_int_equal(user_process_open(getpid(), &(struct user_process *){ 0 }, NULL), -ENOENT);
	assert_int_equal(rename(other, made->path), 0);
	assert_int_equal(link(made->path, other), 0); /* two names: not made by the library */
	assert_int_equal(user_process_open(getpid(), &(struct user_process *){ 0 }, NULL), -ENOENT);
	(void)unlink(other);
}

/* While its process has it open it is not stale, whatever is in it. */
static void only_files_that_nobody_has_are_stale(void **state)
{
	struct fixture *made = *state;
	struct stat stat;

	made->control.pid_start++;
	write_control(made);
	(void)user_remove_stale(); /* others' may go */
	assert_int_equal(lstat(made->path, &stat), 0);
	close(made->fd);
	assert_true(user_remove_stale() >= 1);
	assert_int_equal(lstat(made->path, &stat), -1);
	made->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
}

int main(void)
{
#define WITH_CONTROL(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_CONTROL(events_are_switched_on_and_off),
		WITH_CONTROL(a_trace_is_asked_for_and_taken_back),
		WITH_CONTROL(an_earlier_trace_is_asked_for_again),
		WITH_CONTROL(a_control_of_another_process_is_none),
		WITH_CONTROL(nothing_in_a_control_is_believed),
		WITH_CONTROL(a_lock_that_never_ends_is_not_waited_for),
		WITH_CONTROL(a_link_is_not_followed),
		WITH_CONTROL(only_files_that_nobody_has_are_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
