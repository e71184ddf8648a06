/* Rights that were given up are gone. As root; else there are none to give up. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "guard/caps.h"

#define NEED(what)                             \
	do {                                   \
		if (!(what))                   \
			_exit(__LINE__ % 256); \
	} while (0)

static void in_child(void (*act)(void))
{
	pid_t child;
	int status;

	if (geteuid() != 0 || !(guard_caps_now() & GUARD_CAP(CAP_SETPCAP)))
		skip();
	child = fork();
	if (child == 0) {
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("wait status %x", status);
}

static void keep_one(void)
{
	NEED(guard_caps_keep(GUARD_CAP(CAP_KILL), NULL) == 0);
	NEED(guard_caps_now() == GUARD_CAP(CAP_KILL));
	NEED(guard_caps_keep(~UINT64_C(0), NULL) == 0);
	NEED(guard_caps_now() == GUARD_CAP(CAP_KILL));
	/* The C library would ask every thread, and a sanitizer has one that kept its rights. */
	NEED(syscall(SYS_setresuid, 1, 1, 1) < 0 && errno == EPERM);
}

static void what_is_not_kept_is_gone_and_does_not_come_back(void **unused)
{
	in_child(keep_one);
}

static void be_helper(void)
{
	guard_caps_helper(0);
	NEED(guard_caps_now() == 0);
	NEED(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	NEED(prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0);
	NEED(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
}

static void a_helper_is_sealed(void **unused)
{
	in_child(be_helper);
}

static void be_nobody(void)
{
	uid_t real, effective, saved;

	NEED(guard_caps_nobody(GUARD_CAP(CAP_NET_ADMIN), NULL) == 0);
	NEED(getresuid(&real, &effective, &saved) == 0);
	NEED(real == 65534 && effective == 65534 && saved == 65534);
	NEED(getgroups(0, NULL) == 0 && getegid() == 65534);
	NEED(guard_caps_now() == GUARD_CAP(CAP_NET_ADMIN));
	NEED(setresuid(0, 0, 0) < 0);
	NEED(kill(1, 0) < 0 && errno == EPERM);
	NEED(open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0);
}

static void nobody_has_what_was_kept_and_is_nobody(void **unused)
{
	in_child(be_nobody);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_kept_is_gone_and_does_not_come_back),
		cmocka_unit_test(a_helper_is_sealed),
		cmocka_unit_test(nobody_has_what_was_kept_and_is_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
