/* Rights given up for good, and lent for a moment. Needs root; each case is a child of its own. */
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/drop.h"
#include "guard/user.h"

#define UID 64321
#define GID 64322

/* The exit status of 'body' in a child; the number of the line that failed, else 0. */
static int status_of(int (*body)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define NEED(condition)                                                           \
	do {                                                                      \
		if (!(condition)) {                                               \
			fprintf(stderr, "# line %d: %s\n", __LINE__, #condition); \
			return 1;                                                 \
		}                                                                 \
	} while (0)

static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void set_user(void)
{
	setenv("SUDO_UID", "64321", 1);
	setenv("SUDO_GID", "64322", 1);
}

static bool may_open(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0;
}

static int drop_and_try(void)
{
	struct err err = { 0 };

	set_user();
	NEED(may_open("/etc/shadow"));
	NEED(guard_drop_to_sudo_user(&err) == 0);
	NEED(getuid() == UID && geteuid() == UID && getgid() == GID && getegid() == GID);
	NEED(!may_open("/etc/shadow"));
	NEED(setuid(0) < 0 && setgid(0) < 0 && seteuid(0) < 0);
	NEED(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	NEED(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	NEED(kill(1, 0) < 0);
	return 0;
}

static void test_root_is_gone_for_good(void **state)
{
	need_root();
	assert_int_equal(status_of(drop_and_try), 0);
}

static void *open_shadow(void *pipe_fd)
{
	char byte;

	if (read(*(int *)pipe_fd, &byte, 1) != 1)
		return NULL;
	return may_open("/etc/shadow") ? pipe_fd : NULL;
}

static int drop_with_thread(void)
{
	struct err err = { 0 };
	int pipe_fds[2];
	pthread_t thread;
	void *could = pipe_fds;

	set_user();
	NEED(pipe2(pipe_fds, O_CLOEXEC) == 0);
	NEED(pthread_create(&thread, NULL, open_shadow, &pipe_fds[0]) == 0);
	NEED(guard_drop_to_sudo_user(&err) == 0);
	NEED(write(pipe_fds[1], "x", 1) == 1);
	NEED(pthread_join(thread, &could) == 0);
	NEED(could == NULL);
	return 0;
}

static void test_no_thread_keeps_root(void **state)
{
	need_root();
	assert_int_equal(status_of(drop_with_thread), 0);
}

static int drop_with_netlink(void)
{
	struct err err = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);

	set_user();
	NEED(fd >= 0);
	NEED(guard_drop_to_sudo_user(&err) < 0);
	NEED(strstr(err.text, "still open"));
	close(fd);
	NEED(guard_drop_to_sudo_user(&err) == 0);
	return 0;
}

/* With descriptors of its own, which its end has to close. */
static void *open_many(void *unused)
{
	if (unshare(CLONE_FILES) == 0)
		for (int i = 0; i < 900; i++)
			(void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
	return unused;
}

/* What was joined leaves the kernel a little later. */
static int drop_behind_threads(void)
{
	struct guard_user user = { .uid = UID, .gid = GID };
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		NEED(pthread_create(&threads[i], NULL, open_many, NULL) == 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		NEED(pthread_join(threads[i], NULL) == 0);
	NEED(guard_drop(&user, NULL) == 0);
	return 0;
}

static void test_threads_that_have_ended_are_no_threads(void **state)
{
	need_root();
	for (int i = 0; i < 40; i++)
		assert_int_equal(status_of(drop_behind_threads), 0);
}

static void test_a_descriptor_that_only_root_can_have_is_told(void **state)
{
	need_root();
	assert_int_equal(status_of(drop_with_netlink), 0);
}

static int lend_and_take_back(void)
{
	char dir[] = "/tmp/holdup-lend-XXXXXX";
	struct guard_user user;
	struct guard_lent lent;
	struct stat st;
	int fd;

	set_user();
	NEED(mkdtemp(dir) && chmod(dir, 0777) == 0);
	NEED(guard_user_find(&user));
	NEED(guard_lend(&user, &lent, NULL) == 0);
	NEED(!may_open("/etc/shadow"));
	NEED(chdir(dir) == 0);
	fd = open("made", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	guard_take_back(&lent);
	NEED(fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == UID && st.st_gid == GID);
	NEED(may_open("/etc/shadow") && getgroups(0, NULL) >= 0);
	NEED(unlink("made") == 0 && rmdir(dir) == 0);
	guard_user_fini(&user);
	return 0;
}

static void test_what_is_lent_comes_back(void **state)
{
	need_root();
	assert_int_equal(status_of(lend_and_take_back), 0);
}

static void test_without_sudo_there_is_nobody_else(void **state)
{
	static const char *const wrong[] = {
		"", "0", "-1", "4294967295", "99999999999", "1x", " 1"
	};
	uid_t uid;
	gid_t gid;

	setenv("SUDO_GID", "100", 1);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		setenv("SUDO_UID", wrong[i], 1);
		assert_false(guard_user_ids(&uid, &gid));
	}
	unsetenv("SUDO_UID");
	assert_false(guard_user_ids(&uid, &gid));
	assert_int_equal(guard_drop_to_sudo_user(NULL), 0);
}

static void names(const char *variable, const char *value, uid_t user)
{
	uid_t uid = 0;
	gid_t gid = 0;

	setenv(variable, value, 1);
	assert_int_equal(guard_user_ids(&uid, &gid), user != 0);
	assert_int_equal(uid, user);
	assert_int_equal(gid, user ? getpwuid(user)->pw_gid : 0);
	guard_user_forget();
	assert_false(guard_user_ids(&uid, &gid));
}

static void test_who_called_by_pkexec_or_doas_is_the_user(void **state)
{
	const struct passwd *nobody = getpwnam("nobody");
	AUTO_FREE char *number = NULL;
	uid_t user;

	need_root();
	assert_non_null(nobody);
	user = nobody->pw_uid;
	number = xasprintf("%u", user);
	names("PKEXEC_UID", number, user);
	names("PKEXEC_UID", "0", 0);
	names("PKEXEC_UID", "4294967294", 0);
	names("DOAS_USER", "nobody", user);
	names("DOAS_USER", "root", 0);
	names("DOAS_USER", "no such user", 0);
	names("DOAS_USER", "", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_is_gone_for_good),
		cmocka_unit_test(test_no_thread_keeps_root),
		cmocka_unit_test(test_threads_that_have_ended_are_no_threads),
		cmocka_unit_test(test_a_descriptor_that_only_root_can_have_is_told),
		cmocka_unit_test(test_what_is_lent_comes_back),
		cmocka_unit_test(test_without_sudo_there_is_nobody_else),
		cmocka_unit_test(test_who_called_by_pkexec_or_doas_is_the_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
