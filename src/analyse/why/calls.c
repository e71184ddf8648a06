/*
 * calls.c - calls that tell nothing of what a thread does, by the rule that asks: one table.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_int.h"
#include "base/mem.h"

struct harmless {
	const char *name;
	uint32_t as; /* enum call_as */
};

static const struct harmless calls[] = {
	/* sorted */
	{ "_llseek", CALL_LOOKS },
	{ "_newselect", CALL_LOOKS | CALL_QUIET },
	{ "access", CALL_LOOKS | CALL_QUIET },
	{ "alarm", CALL_LOOKS | CALL_QUIET },
	{ "arch_prctl", CALL_OWN },
	{ "bind", CALL_QUIET },
	{ "brk", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "capget", CALL_LOOKS },
	{ "clock_getres", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "clock_gettime", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "clock_gettime64", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "clock_nanosleep", CALL_QUIET | CALL_OWN },
	{ "clone", CALL_SHELL | CALL_OWN },
	{ "clone3", CALL_SHELL | CALL_OWN },
	{ "close", CALL_QUIET },
	{ "creat", CALL_QUIET },
	{ "dup", CALL_LOOKS | CALL_QUIET },
	{ "dup2", CALL_LOOKS | CALL_QUIET },
	{ "dup3", CALL_LOOKS | CALL_QUIET },
	{ "epoll_ctl", CALL_LOOKS | CALL_QUIET },
	{ "epoll_pwait", CALL_LOOKS | CALL_QUIET },
	{ "epoll_pwait2", CALL_LOOKS | CALL_QUIET },
	{ "epoll_wait", CALL_LOOKS | CALL_QUIET },
	{ "faccessat", CALL_LOOKS | CALL_QUIET },
	{ "faccessat2", CALL_LOOKS | CALL_QUIET },
	{ "fcntl", CALL_LOOKS | CALL_QUIET },
	{ "fcntl64", CALL_LOOKS | CALL_QUIET },
	{ "flock", CALL_QUIET },
	{ "fork", CALL_SHELL },
	{ "fstat", CALL_LOOKS | CALL_QUIET },
	{ "fstat64", CALL_LOOKS | CALL_QUIET },
	{ "fstatat64", CALL_LOOKS | CALL_QUIET },
	{ "fstatfs", CALL_LOOKS | CALL_QUIET },
	{ "futex", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "futex_time64", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "futex_wait", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "futex_waitv", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "futex_wake", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "getcpu", CALL_LOOKS | CALL_MUTE },
	{ "getcwd", CALL_LOOKS | CALL_QUIET },
	{ "getdents", CALL_QUIET },
	{ "getdents64", CALL_QUIET },
	{ "getegid", CALL_LOOKS | CALL_QUIET },
	{ "geteuid", CALL_LOOKS | CALL_QUIET },
	{ "getgid", CALL_LOOKS | CALL_QUIET },
	{ "getitimer", CALL_LOOKS },
	{ "getpeername", CALL_LOOKS | CALL_QUIET },
	{ "getpgid", CALL_LOOKS },
	{ "getpgrp", CALL_LOOKS },
	{ "getpid", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "getppid", CALL_LOOKS | CALL_QUIET },
	{ "getpriority", CALL_LOOKS },
	{ "getrandom", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "getrlimit", CALL_LOOKS | CALL_QUIET },
	{ "getrusage", CALL_LOOKS | CALL_QUIET },
	{ "getsid", CALL_LOOKS },
	{ "getsockname", CALL_LOOKS | CALL_QUIET },
	{ "getsockopt", CALL_LOOKS | CALL_QUIET },
	{ "gettid", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "gettimeofday", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "getuid", CALL_LOOKS | CALL_QUIET },
	{ "io_getevents", CALL_LOOKS },
	{ "io_pgetevents", CALL_LOOKS },
	{ "io_pgetevents_time64", CALL_LOOKS },
	{ "ioctl", CALL_QUIET },
	{ "kill", CALL_LOOKS | CALL_QUIET },
	{ "lseek", CALL_LOOKS | CALL_QUIET },
	{ "lstat", CALL_LOOKS | CALL_QUIET },
	{ "lstat64", CALL_LOOKS | CALL_QUIET },
	{ "madvise", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "membarrier", CALL_LOOKS },
	{ "mincore", CALL_LOOKS },
	{ "mmap", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "mprotect", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "mremap", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "munmap", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "nanosleep", CALL_QUIET | CALL_OWN },
	{ "newfstatat", CALL_LOOKS | CALL_QUIET },
	{ "open", CALL_QUIET },
	{ "openat", CALL_QUIET },
	{ "openat2", CALL_QUIET },
	{ "pipe", CALL_SHELL },
	{ "pipe2", CALL_SHELL },
	{ "poll", CALL_LOOKS | CALL_QUIET },
	{ "ppoll", CALL_LOOKS | CALL_QUIET },
	{ "ppoll_time64", CALL_LOOKS },
	{ "prctl", CALL_OWN },
	{ "pread64", CALL_LOOKS | CALL_QUIET },
	{ "preadv", CALL_QUIET },
	{ "prlimit64", CALL_SHELL },
	{ "pselect6", CALL_LOOKS | CALL_QUIET },
	{ "pselect6_time64", CALL_LOOKS },
	{ "read", CALL_LOOKS | CALL_QUIET },
	{ "readlink", CALL_LOOKS | CALL_QUIET },
	{ "readlinkat", CALL_LOOKS | CALL_QUIET },
	{ "readv", CALL_QUIET },
	{ "recv", CALL_QUIET },
	{ "recvfrom", CALL_LOOKS | CALL_QUIET },
	{ "recvmmsg", CALL_LOOKS | CALL_QUIET },
	{ "recvmsg", CALL_LOOKS | CALL_QUIET },
	{ "restart_syscall", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "rseq", CALL_OWN },
	{ "rt_sigaction", CALL_LOOKS | CALL_QUIET },
	{ "rt_sigpending", CALL_LOOKS | CALL_QUIET },
	{ "rt_sigprocmask", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "rt_sigreturn", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "rt_sigsuspend", CALL_SHELL },
	{ "rt_sigtimedwait", CALL_LOOKS | CALL_QUIET },
	{ "sched_getaffinity", CALL_LOOKS },
	{ "sched_getparam", CALL_LOOKS },
	{ "sched_getscheduler", CALL_LOOKS },
	{ "sched_setaffinity", CALL_OWN },
	{ "sched_yield", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "select", CALL_LOOKS | CALL_QUIET },
	{ "set_robust_list", CALL_OWN },
	{ "set_tid_address", CALL_OWN },
	{ "setitimer", CALL_LOOKS | CALL_QUIET },
	{ "setpgid", CALL_SHELL },
	{ "setsockopt", CALL_QUIET },
	{ "sigaltstack", CALL_LOOKS },
	{ "sigprocmask", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "sigreturn", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "socket", CALL_QUIET },
	{ "splice", CALL_QUIET },
	{ "stat", CALL_LOOKS | CALL_QUIET },
	{ "stat64", CALL_LOOKS | CALL_QUIET },
	{ "statfs", CALL_LOOKS | CALL_QUIET },
	{ "statx", CALL_LOOKS | CALL_QUIET },
	{ "sysinfo", CALL_LOOKS | CALL_QUIET },
	{ "tgkill", CALL_LOOKS | CALL_QUIET },
	{ "time", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "timer_getoverrun", CALL_LOOKS },
	{ "timer_gettime", CALL_LOOKS },
	{ "timer_settime", CALL_LOOKS | CALL_QUIET },
	{ "timerfd_gettime", CALL_LOOKS },
	{ "timerfd_settime", CALL_LOOKS | CALL_QUIET },
	{ "times", CALL_LOOKS | CALL_QUIET },
	{ "umask", CALL_QUIET },
	{ "uname", CALL_LOOKS | CALL_QUIET },
	{ "uprobe", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "uretprobe", CALL_LOOKS | CALL_QUIET | CALL_MUTE },
	{ "vfork", CALL_SHELL },
	{ "wait4", CALL_LOOKS | CALL_QUIET },
	{ "waitid", CALL_LOOKS | CALL_QUIET },
};

static int by_name(const void *left, const void *right)
{
	const struct harmless *a = left, *b = right;

	return strcmp(a->name, b->name);
}

bool call_is(struct query *query, uint32_t call, enum call_as as)
{
	const struct harmless key = {
		describe_word(query, word_make(WORD_SYSCALL, word_call(call))), 0
	};
	const struct harmless *found =
		bsearch(&key, calls, ARRAY_LEN(calls), sizeof(calls[0]), by_name);

	return found && (found->as & (uint32_t)as);
}
