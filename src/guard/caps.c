/* caps.c - by the kernel's own calls, which concern one thread; the C library's libraries are for processes. */
#include "guard/caps.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

#define CAPS_MAX 64
#define NOBODY	 65534 /* the kernel's own number for it */
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

struct caps {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int get(struct caps *caps)
{
	*caps = (struct caps){ .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	return syscall(SYS_capget, &caps->head, caps->data) < 0 ? -errno : 0;
}

uint64_t guard_caps_now(void)
{
	struct caps caps;

	if (get(&caps) < 0)
		return 0;
	return caps.data[0].effective | (uint64_t)caps.data[1].effective << 32;
}

static int caps_keep(uint64_t kept)
{
	struct caps caps;
	int rc = get(&caps);

	if (rc < 0)
		return rc;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		caps.data[i].permitted &= (uint32_t)(kept >> (32 * i));
		/* A change of the user takes away what is effective. */
		caps.data[i].effective = caps.data[i].permitted;
		caps.data[i].inheritable = 0;
	}
	/* Kernels without the ambient set do not know the request. */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &caps.head, caps.data) < 0 ? -errno : 0;
}

int guard_caps_keep(uint64_t kept, struct err *err)
{
	int rc = caps_keep(kept);

	return rc < 0 ? err_set(err, rc, "cannot drop capabilities: %s", strerror(-rc)) : 0;
}

void guard_caps_seal(void)
{
	if (geteuid() != 0)
		return;
	for (int cap = 0; cap < CAPS_MAX; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void guard_caps_helper(uint64_t kept)
{
	if (geteuid() != 0)
		return;
	guard_caps_seal();
	if (caps_keep(kept) < 0)
		_exit(1);
}

static int become_nobody(uint64_t kept)
{
	guard_caps_seal();
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0 ||
	    prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0)
		return -errno;
	return caps_keep(kept);
}

int guard_caps_nobody(uint64_t kept, struct err *err)
{
	int rc = geteuid() == 0 ? become_nobody(kept) : 0;

	return rc < 0 ? err_set(err, rc, "cannot become nobody: %s", strerror(-rc)) : 0;
}

uint64_t guard_caps_bpf(void)
{
	/* -1: this kernel has no such capability. */
	if (prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) < 0)
		return GUARD_CAP(CAP_SYS_ADMIN);
	return GUARD_CAP(CAP_BPF);
}
