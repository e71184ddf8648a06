/*
 * filter.c - the calls of a reader, those that end it, and where it may write.
 *
 * Pointers of a call cannot be looked at by the filter: clone3() fails as if it did not exist, and
 * the C library takes clone(), whose flags are a number.
 */
#include "guard/filter.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "guard/landlock.h"

/*
 * The sanitizers' runtimes start helpers that look into the process at its end. So in a build with
 * them everything is allowed but what is forbidden by name, and these are not.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#define CLONE_SPACES                                                                   \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* By name: what libseccomp or this machine does not know is passed over. */
static const char *const allowed[] = {
	/* to read */
	"read",
	"readv",
	"pread64",
	"preadv",
	"preadv2",
	"lseek",
	"_llseek",
	"open",
	"openat",
	"openat2",
	"close",
	"close_range",
	"stat",
	"fstat",
	"lstat",
	"newfstatat",
	"stat64",
	"fstat64",
	"lstat64",
	"fstatat64",
	"statx",
	"access",
	"faccessat",
	"faccessat2",
	"readlink",
	"readlinkat",
	"getdents",
	"getdents64",
	"statfs",
	"fstatfs",
	"statfs64",
	"fstatfs64",
	"getcwd",
	"chdir",
	"fchdir",
	"fadvise64",
	"readahead",
	"cachestat",
	/* descriptors, and waiting for them */
	"poll",
	"ppoll",
	"select",
	"_newselect",
	"pselect6",
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"epoll_pwait2",
	"pipe",
	"pipe2",
	"dup",
	"dup2",
	"dup3",
	"fcntl",
	"fcntl64",
	"flock",
	"eventfd2",
	"signalfd4",
	"inotify_init1",
	"inotify_add_watch",
	"inotify_rm_watch",
	"timerfd_create",
	"timerfd_settime",
	"timerfd_gettime",
	/* to write the output and the index; where is Landlock's */
	"write",
	"writev",
	"pwrite64",
	"pwritev",
	"pwritev2",
	"ftruncate",
	"ftruncate64",
	"truncate",
	"fallocate",
	"fsync",
	"fdatasync",
	"sync_file_range",
	"rename",
	"renameat",
	"renameat2",
	"mkdir",
	"mkdirat",
	"unlink",
	"unlinkat",
	"rmdir",
	"linkat",
	"fchmod",
	"umask",
	"copy_file_range",
	"sendfile",
	"splice",
	"memfd_create",
	/* memory */
	"brk",
	"mmap",
	"mmap2",
	"munmap",
	"mremap",
	"mprotect",
	"madvise",
	"msync",
	"mincore",
	"mlock",
	"mlock2",
	"munlock",
	"membarrier",
	"map_shadow_stack",
	"mseal",
	"get_mempolicy",
	"pkey_alloc",
	"pkey_free",
	"pkey_mprotect",
	/* threads */
	"futex",
	"futex_waitv",
	"futex_wake",
	"futex_wait",
	"futex_requeue",
	"set_robust_list",
	"get_robust_list",
	"rseq",
	"set_tid_address",
	"gettid",
	"getpid",
	"getppid",
	"sched_yield",
	"sched_getaffinity",
	"sched_setaffinity",
	"sched_getparam",
	"sched_getscheduler",
	"getcpu",
	"arch_prctl",
	"exit",
	"exit_group",
	"restart_syscall",
	"wait4",
	"waitid",
	/* time */
	"clock_gettime",
	"clock_getres",
	"clock_nanosleep",
	"nanosleep",
	"gettimeofday",
	"time",
	"times",
	"getitimer",
	"setitimer",
	"alarm",
	"pause",
	/* signals, of its own */
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"rt_sigtimedwait",
	"rt_sigsuspend",
	"rt_sigpending",
	"sigaltstack",
	/* what it is and where */
	"uname",
	"sysinfo",
	"getrlimit",
	"getrusage",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"getresuid",
	"getresgid",
	"getgroups",
	"getpgrp",
	"getpgid",
	"getsid",
	"getpriority",
	"capget",
	"getrandom",
};

/* No trace is a reason for these: who calls one is not us any more. */
static const char *const forbidden[] = {
	"socket",
	"socketpair",
	"connect",
	"bind",
	"listen",
	"accept",
	"accept4",
	"sendto",
	"sendmsg",
	"sendmmsg",
	"recvmsg",
	"recvmmsg",
	"execve",
	"execveat",
	"fork",
	"vfork",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"process_madvise",
	"kcmp",
	"pidfd_open",
	"pidfd_getfd",
	"pidfd_send_signal",
	"tkill",
	"rt_sigqueueinfo",
	"rt_tgsigqueueinfo",
	"mount",
	"umount2",
	"pivot_root",
	"chroot",
	"open_tree",
	"move_mount",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	"unshare",
	"setns",
	"init_module",
	"finit_module",
	"delete_module",
	"kexec_load",
	"kexec_file_load",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"keyctl",
	"add_key",
	"request_key",
	"setuid",
	"setgid",
	"setreuid",
	"setregid",
	"setresuid",
	"setresgid",
	"capset",
	"chmod",
	"fchmodat",
	"fchmodat2",
	"chown",
	"lchown",
	"fchown",
	"fchownat",
	"setxattr",
	"lsetxattr",
	"fsetxattr",
	"removexattr",
	"mknod",
	"mknodat",
	"symlink",
	"symlinkat",
	"link",
	"reboot",
	"sethostname",
	"setdomainname",
	"settimeofday",
	"clock_settime",
	"clock_adjtime",
	"adjtimex",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"personality",
	"iopl",
	"ioperm",
	"modify_ldt",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"io_setup",
	"vhangup",
	"syslog",
	"open_by_handle_at",
	"name_to_handle_at",
	"fanotify_init",
	"memfd_secret",
	"setsid",
	"setpgid",
	"sched_setattr",
	"sched_setscheduler",
	"sched_setparam",
	"setpriority",
	"ioprio_set",
	"migrate_pages",
	"move_pages",
	"mbind",
	"set_mempolicy",
	"setrlimit",
	"uselib",
	"lookup_dcookie",
	"vmsplice",
	"shmget",
	"shmat",
	"shmctl",
	"semget",
	"msgget",
	"mq_open",
};

/* Who answers on a socket that listens already, beside 'allowed'. It can make none and reach nobody. */
static const char *const of_servers[] = {
	"accept",   "accept4",	  "recvfrom",	"sendto",      "sendmsg",
	"shutdown", "setsockopt", "getsockopt", "getsockname", "getpeername",
};

/* Root opens files as the user who ran sudo (guard_lend()), and so gives rights up. */
static const char *const of_root[] = { "setfsuid", "setfsgid", "setgroups" };

/* What the runtimes of sanitizers do. */
static const char *const of_sanitizers[] = {
	"ptrace",    "execve",		 "fork",       "vfork", "personality",
	"setrlimit", "process_vm_readv", "socketpair",
};

static uint32_t state;
static bool is_server, has_screen;

const char *guard_filter_forbidden(size_t i)
{
	return i < ARRAY_LEN(forbidden) ? forbidden[i] : NULL;
}

bool guard_filter_is_wide(void)
{
	return SANITIZED;
}

uint32_t guard_filter_state(void)
{
	return state;
}

/* ------------------------------------------------------------------ the end */

static int numbers[ARRAY_LEN(forbidden)]; /* of this machine; negative = none */

static const char *filter_call_name(int number)
{
	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
		if (numbers[i] == number)
			return forbidden[i];
	}
	return "a call";
}

static void say(const char *text)
{
	(void)!write(STDERR_FILENO, text, strlen(text)); /* there is nobody else to tell */
}

/* The call was not made. Nothing here may allocate: whose memory this is, is not known. */
static void on_forbidden(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	say("holdup: stopped, because reading a trace never needs ");
	say(filter_call_name(info->si_syscall));
	say("(): the trace may be an attack; please report it with the trace\n");
	(void)signal(SIGSYS, SIG_DFL);
	(void)raise(SIGSYS); /* on return, when it is no longer blocked */
}

static void watch_forbidden(void)
{
	struct sigaction action = { .sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO };

	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++)
		numbers[i] = seccomp_syscall_resolve_name(forbidden[i]);
	(void)sigaction(SIGSYS, &action, NULL);
}

/* -------------------------------------------------------------------- rules */

static bool is_of_sanitizers(const char *name)
{
	for (size_t i = 0; SANITIZED && i < ARRAY_LEN(of_sanitizers); i++) {
		if (strcmp(name, of_sanitizers[i]) == 0)
			return true;
	}
	return false;
}

static bool is_of_servers(const char *name)
{
	for (size_t i = 0; is_server && i < ARRAY_LEN(of_servers); i++) {
		if (strcmp(name, of_servers[i]) == 0)
			return true;
	}
	return false;
}

/* A call that this machine does not have is nobody's to make. */
static int add_named(scmp_filter_ctx filter, uint32_t action, const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number < 0 || is_of_sanitizers(name))
		return 0;
	return seccomp_rule_add(filter, action, number, 0);
}

static int add_lists(scmp_filter_ctx filter)
{
	int rc = 0;

	for (size_t i = 0; !SANITIZED && rc == 0 && i < ARRAY_LEN(allowed); i++)
		rc = add_named(filter, SCMP_ACT_ALLOW, allowed[i]);
	for (size_t i = 0; !SANITIZED && is_server && rc == 0 && i < ARRAY_LEN(of_servers); i++)
		rc = add_named(filter, SCMP_ACT_ALLOW, of_servers[i]);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(forbidden); i++) {
		if (!is_of_servers(forbidden[i]))
			rc = add_named(filter, SCMP_ACT_TRAP, forbidden[i]);
	}
	for (size_t i = 0; !SANITIZED && rc == 0 && i < ARRAY_LEN(of_root); i++)
		rc = add_named(filter, geteuid() == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_TRAP, of_root[i]);
	return rc;
}

/* A call whose first numbers decide. */
struct rule {
	const char *name;
	uint32_t action;
	unsigned int count;
	struct scmp_arg_cmp args[2];
};

static int add_rules(scmp_filter_ctx filter, const struct rule *rules, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		int number = seccomp_syscall_resolve_name(rules[i].name);

		if (number >= 0)
			rc = seccomp_rule_add_array(filter, rules[i].action, number, rules[i].count,
						    rules[i].args);
	}
	return rc;
}

/* tcsetattr() of older and newer C libraries. */
static int add_modes(scmp_filter_ctx filter)
{
	static const uint32_t requests[] = {
		TCSETS,
		TCSETSW,
		TCSETSF,
		0x402c542b /* TCSETS2 */,
		0x402c542c /* TCSETSW2 */,
		0x402c542d /* TCSETSF2 */,
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(requests); i++) {
		const struct rule rule = {
			"ioctl",
			SCMP_ACT_ALLOW,
			1,
			{ SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]) },
		};

		rc = add_rules(filter, &rule, 1);
	}
	return rc;
}

/* Threads, but no processes; signals for itself; what asks a terminal, but types nothing into it. */
static int add_conditions(scmp_filter_ctx filter)
{
	const uint64_t self = (uint64_t)getpid();
	const struct rule rules[] = {
		{ "clone",
		  SCMP_ACT_ALLOW,
		  1,
		  { SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_SPACES, CLONE_THREAD) } },
		{ "clone", SCMP_ACT_TRAP, 1, { SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0) } },
		{ "kill", SCMP_ACT_ALLOW, 1, { SCMP_A0(SCMP_CMP_EQ, self) } },
		{ "kill", SCMP_ACT_TRAP, 1, { SCMP_A0(SCMP_CMP_NE, self) } },
		{ "tgkill", SCMP_ACT_ALLOW, 1, { SCMP_A0(SCMP_CMP_EQ, self) } },
		{ "tgkill", SCMP_ACT_TRAP, 1, { SCMP_A0(SCMP_CMP_NE, self) } },
		{ "prlimit64",
		  SCMP_ACT_ALLOW,
		  2,
		  { SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0) } },
		{ "ioctl", SCMP_ACT_ALLOW, 1, { SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TCGETS) } },
		{ "ioctl",
		  SCMP_ACT_ALLOW,
		  1,
		  { SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, 0x802c542a /* TCGETS2 */) } },
		{ "ioctl",
		  SCMP_ACT_ALLOW,
		  1,
		  { SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCGWINSZ) } },
		{ "ioctl",
		  SCMP_ACT_ALLOW,
		  1,
		  { SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCGPGRP) } },
		{ "ioctl",
		  SCMP_ACT_ALLOW,
		  1,
		  { SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, FIONREAD) } },
		{ "ioctl", SCMP_ACT_TRAP, 1, { SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCSTI) } },
		{ "prctl", SCMP_ACT_ALLOW, 1, { SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME) } },
		{ "prctl", SCMP_ACT_ALLOW, 1, { SCMP_A0(SCMP_CMP_EQ, PR_GET_NAME) } },
		{ "prctl", SCMP_ACT_ALLOW, 1, { SCMP_A0(SCMP_CMP_EQ, PR_GET_DUMPABLE) } },
		{ "prctl", SCMP_ACT_ALLOW, 1, { SCMP_A0(SCMP_CMP_EQ, PR_GET_SECCOMP) } },
		{ "prctl",
		  SCMP_ACT_ALLOW,
		  1,
		  { SCMP_A0(SCMP_CMP_EQ, 0x53564d41 /* PR_SET_VMA */) } },
	};
	const size_t count = ARRAY_LEN(rules);
	int rc;

	if (SANITIZED) /* all of these are allowed */
		return 0;
	rc = add_rules(filter, rules, count);
	return rc == 0 && has_screen ? add_modes(filter) : rc;
}

static int set_attributes(scmp_filter_ctx filter)
{
	/* Not there in an older libseccomp: the filter is slower, and as tight. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	/* For threads that are there already; refused where there are no filters. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* Calls by the entry for 32-bit programs have other numbers. */
	return seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
}

/* -EINVAL, -ENOSYS: this kernel, or what plays its part, has no filters. */
static bool is_absent(int rc)
{
	return rc == -EINVAL || rc == -ENOSYS || rc == -EOPNOTSUPP;
}

static int filter_calls(struct err *err)
{
	scmp_filter_ctx filter = seccomp_init(SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOSYS));
	int rc = filter ? set_attributes(filter) : -ENOMEM;

	if (rc == 0)
		rc = add_lists(filter);
	if (rc == 0)
		rc = add_conditions(filter);
	if (rc < 0) {
		seccomp_release(filter);
		return err_set(err, rc, "cannot create the system call filter: %s", strerror(-rc));
	}
	watch_forbidden();
	rc = seccomp_load(filter);
	seccomp_release(filter);
	if (rc == 0)
		state |= GUARD_FILTER_CALLS;
	return rc == 0 || is_absent(rc) || rc == -ECANCELED
		       ? 0
		       : err_set(err, rc, "cannot install the system call filter: %s",
				 strerror(-rc));
}

/* ------------------------------------------------------------------ who counts */

int guard_filter_counter(struct err *err)
{
	static const char *const calls[] = { "read",	   "sendmsg",	   "close",
					     "exit_group", "rt_sigreturn", "restart_syscall" };
	const struct rule rule = {
		"bpf", SCMP_ACT_ALLOW, 1, { SCMP_A0(SCMP_CMP_EQ, BPF_ENABLE_STATS) }
	};
	scmp_filter_ctx filter;
	int rc;

	if (SANITIZED)
		return 0;
	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	rc = filter ? set_attributes(filter) : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(calls); i++)
		rc = add_named(filter, SCMP_ACT_ALLOW, calls[i]);
	if (rc == 0)
		rc = add_rules(filter, &rule, 1);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc == 0 ? 0
		       : err_set(err, rc, "cannot install the system call filter: %s",
				 strerror(-rc));
}

/* ------------------------------------------------------------------ readers */

/* Of root, as it may read what others may not, and write where the user may. */
static int give_up_rights(struct err *err)
{
	if (geteuid() != 0)
		return 0;
	guard_caps_seal();
	return guard_caps_keep(GUARD_CAP(CAP_DAC_OVERRIDE) | GUARD_CAP(CAP_DAC_READ_SEARCH) |
				       GUARD_CAP(CAP_SETUID) | GUARD_CAP(CAP_SETGID),
			       err);
}

int guard_filter_reader(const struct guard_place *places, size_t count, struct err *err)
{
	static bool is_begun;
	int rc;

	if (is_begun)
		return 0;
	is_begun = true;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, -errno, "cannot set no_new_privs: %s", strerror(errno));
	rc = give_up_rights(err);
	if (rc < 0)
		return rc;
	rc = SANITIZED ? 0 : landlock_writes(places, count, err);
	if (rc > 0)
		state |= GUARD_FILTER_FILES;
	return rc < 0 ? rc : filter_calls(err);
}

int guard_filter_server(const struct guard_place *places, size_t count, struct err *err)
{
	is_server = true;
	return guard_filter_reader(places, count, err);
}

int guard_filter_screen(const struct guard_place *places, size_t count, struct err *err)
{
	has_screen = true;
	return guard_filter_reader(places, count, err);
}

uint32_t guard_filter_support(void)
{
	uint32_t parts = landlock_version() > 0 ? GUARD_FILTER_FILES : 0;

	/* A filter at NULL is refused with EFAULT by a kernel that has them. */
	if (prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, NULL) < 0 && errno == EFAULT)
		parts |= GUARD_FILTER_CALLS;
	return parts;
}
