/* top_proc.c - small files of /proc, as words. */
#include "tui/top_proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "accounts/proc.h"
#include "event/syscalls.h"

/* System calls whose first argument is a descriptor. */
static const char *const of_descriptor[] = {
	"read",		  "write",	     "pread64",
	"pwrite64",	  "readv",	     "writev",
	"preadv",	  "pwritev",	     "preadv2",
	"pwritev2",	  "close",	     "fstat",
	"lseek",	  "ioctl",	     "fsync",
	"fdatasync",	  "ftruncate",	     "fallocate",
	"accept",	  "accept4",	     "connect",
	"bind",		  "listen",	     "sendto",
	"recvfrom",	  "sendmsg",	     "recvmsg",
	"sendmmsg",	  "recvmmsg",	     "flock",
	"fcntl",	  "epoll_wait",	     "epoll_pwait",
	"epoll_pwait2",	  "epoll_ctl",	     "getdents64",
	"openat",	  "newfstatat",	     "statx",
	"sendfile",	  "splice",	     "tee",
	"readahead",	  "sync_file_range", "syncfs",
	"io_uring_enter", "copy_file_range",
};

bool top_pressure_parse(const char *text, struct top_pressure *out_pressure)
{
	const char *full = strstr(text, "full avg10=");
	struct top_pressure pressure = { .is_there = true, .full = -1 };

	if (strncmp(text, "some avg10=", 11) != 0)
		return false;
	pressure.some = strtod(text + 11, NULL);
	if (full)
		pressure.full = strtod(full + 11, NULL);
	*out_pressure = pressure;
	return true;
}

void top_own_look(struct top_own *own)
{
	uint64_t now_ns = clock_now_ns(), cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (own->looked_ns) {
		own->used_ns = cpu_ns - own->cpu_ns;
		own->span_ns = now_ns - own->looked_ns;
	}
	own->looked_ns = now_ns;
	own->cpu_ns = cpu_ns;
}

void top_pressure_read(struct top_pressure out_pressure[TOP_PRESSURES])
{
	static const char *const paths[TOP_PRESSURES] = {
		"/proc/pressure/cpu",
		"/proc/pressure/io",
		"/proc/pressure/memory",
	};

	for (int i = 0; i < TOP_PRESSURES; i++) {
		char text[512];

		if (delays_proc_read(paths[i], text, sizeof(text)) <= 0 ||
		    !top_pressure_parse(text, &out_pressure[i]))
			out_pressure[i] = (struct top_pressure){ 0 };
	}
}

static bool has_descriptor(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(of_descriptor); i++) {
		if (strcmp(of_descriptor[i], name) == 0)
			return true;
	}
	return false;
}

/* The last but one is the stack's address: that of a 32-bit program lies below 4 GiB. */
static bool is_compat(const char *line)
{
	unsigned long long stack;

	return sizeof(long) == sizeof(uint64_t) &&
	       sscanf(line, "%*d %*x %*x %*x %*x %*x %*x %llx", &stack) == 1 && stack &&
	       stack <= UINT32_MAX;
}

void top_syscall_words(const char *line, const char *arch, char out_words[128], int *out_fd)
{
	char *end;
	long number = strtol(line, &end, 10);
	unsigned long long first = strtoull(end, NULL, 16);
	const char *name;

	*out_fd = -1;
	if (strncmp(line, "running", 7) == 0) {
		snprintf(out_words, 128, "(running, or ready to)");
		return;
	}
	if (end == line || number < 0) {
		snprintf(out_words, 128, "(blocked outside a system call)");
		return;
	}
	name = syscalls_name(arch, number, is_compat(line));
	if (name && has_descriptor(name) && first <= INT32_MAX)
		*out_fd = (int)first;
	if (!name)
		snprintf(out_words, 128, "number %ld", number);
	else if (*out_fd >= 0)
		snprintf(out_words, 128, "%s(%d, ...)", name, *out_fd);
	else
		snprintf(out_words, 128, "%s(0x%llx, ...)", name, first);
}

static void why_not(int rc, char *text, size_t bytes)
{
	const char *reason = rc == -EACCES || rc == -EPERM   ? "not permitted"
			     : rc == -ENOENT || rc == -ESRCH ? "missing"
							     : strerror(-rc);

	snprintf(text, bytes, "(%s)", reason);
}

/* A file of the task, its first line. Returns whether it could be read. */
static bool read_line(int32_t tgid, int32_t tid, const char *name, char *text, size_t bytes)
{
	char path[80];
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", tgid, tid, name);
	rc = delays_proc_read(path, text, bytes);
	if (rc < 0)
		why_not(rc, text, bytes);
	else
		text[strcspn(text, "\n")] = '\0';
	return rc >= 0;
}

static void read_link(int32_t tgid, int32_t tid, int fd, char *text, size_t bytes)
{
	char path[80];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", tgid, tid, fd);
	got = readlink(path, text, bytes - 1);
	if (got < 0)
		why_not(-errno, text, bytes);
	else
		text[got] = '\0';
}

static void read_command(int32_t tgid, char *text, size_t bytes)
{
	char path[64];
	int got;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", tgid);
	got = delays_proc_read(path, text, bytes);
	if (got < 0)
		why_not(got, text, bytes);
	for (int i = 0; i < got - 1; i++) {
		if (text[i] == '\0')
			text[i] = ' ';
	}
	if (got == 0)
		snprintf(text, bytes, "(a kernel thread)");
}

static void read_state(int32_t tgid, int32_t tid, char *text, size_t bytes)
{
	char status[1024], path[80];
	const char *state;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", tgid, tid);
	rc = delays_proc_read(path, status, sizeof(status));
	state = rc > 0 ? strstr(status, "\nState:\t") : NULL;
	if (state)
		snprintf(text, bytes, "%.*s", (int)strcspn(state + 8, "\n"), state + 8);
	else
		why_not(rc < 0 ? rc : -ENOENT, text, bytes);
}

void top_details_read(int32_t tgid, int32_t tid, struct top_details *out_details)
{
	struct top_details details = { 0 };
	char line[256];
	struct utsname system;
	int fd;

	read_state(tgid, tid, details.state, sizeof(details.state));
	if (read_line(tgid, tid, "wchan", details.wchan, sizeof(details.wchan)) &&
	    strcmp(details.wchan, "0") == 0)
		snprintf(details.wchan, sizeof(details.wchan), "(not waiting, or not permitted)");
	if (!read_line(tgid, tid, "syscall", line, sizeof(line))) {
		snprintf(details.syscall, sizeof(details.syscall), "%.120s", line);
	} else if (uname(&system) == 0) {
		top_syscall_words(line, system.machine, details.syscall, &fd);
		if (fd >= 0)
			read_link(tgid, tid, fd, details.file, sizeof(details.file));
	}
	delays_proc_cgroup(tgid, details.cgroup, sizeof(details.cgroup));
	read_command(tgid, details.command, sizeof(details.command));
	*out_details = details;
}
