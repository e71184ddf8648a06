/*
 * steps.c - preloaded: end the process, or let calls fail, while the helper copies files or makes
 * some of large pages. Where there is no helper (HOLDUP_HELPER=0), all threads are watched.
 *
 * STEPS_KILL=N	SIGKILL at step N of the helper, counted from its first lease or its first file of large
 *		pages: each of its calls has two, before and behind it
 * STEPS_FAIL=CALL	"exchange", "lease", "write", "name": this call of the helper fails; "large": there are
 *		no large pages; "half": there are some; "munmap": the process ends where a file of the trace is
 *		unmapped
 *
 * Prints "steps N exchanged M" and "large N by_others M" at the end: files of large pages, and how
 * many of them threads that log have made.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#pragma GCC visibility push(default)

static long (*next_syscall)(long, ...);
static int (*next_fcntl)(int, int, ...);
static ssize_t (*next_write)(int, const void *, size_t);
static int (*next_rename)(const char *, const char *);
static int (*next_unlink)(const char *);
static int (*next_madvise)(void *, size_t, int);
static int (*next_fallocate)(int, int, off_t, off_t);
static int (*next_munmap)(void *, size_t);
static long kill_at = -1, steps, exchanged, large, by_others;
static const char *failing = "";
static bool all_threads;
static bool begun; /* the helper has asked for a lease, or for large pages */

static void *find(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* At the first call: the library begins before this does. */
static void begin(void)
{
	if (next_fallocate)
		return;
	*(void **)&next_syscall = find("syscall");
	*(void **)&next_fcntl = find("fcntl64");
	*(void **)&next_write = find("write");
	*(void **)&next_rename = find("rename");
	*(void **)&next_unlink = find("unlink");
	*(void **)&next_madvise = find("madvise");
	*(void **)&next_munmap = find("munmap");
	*(void **)&next_fallocate = find("fallocate64");
	kill_at = getenv("STEPS_KILL") ? atol(getenv("STEPS_KILL")) : -1;
	all_threads = getenv("HOLDUP_HELPER") && strcmp(getenv("HOLDUP_HELPER"), "0") == 0;
	failing = getenv("STEPS_FAIL") ? getenv("STEPS_FAIL") : "";
}

static __attribute__((destructor)) void end(void)
{
	printf("steps %ld exchanged %ld\nlarge %ld by_others %ld\n", steps, exchanged, large,
	       by_others);
}

static bool is_helper(void)
{
	static __thread int known;
	char name[16] = "";

	if (!known && prctl(PR_GET_NAME, name) == 0 && strcmp(name, "holdup-helper") == 0)
		known = 1;
	return known;
}

static bool is_watched(void)
{
	return all_threads || is_helper();
}

static void step(void)
{
	if (__atomic_load_n(&begun, __ATOMIC_RELAXED) &&
	    __atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED) == kill_at)
		(void)kill(getpid(), SIGKILL);
}

static bool fails(const char *call, int error)
{
	if (strcmp(failing, call) != 0)
		return false;
	errno = error;
	return true;
}

long syscall(long number, ...)
{
	long a[6], rc;
	va_list list;

	begin();
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number != SYS_renameat2 || !is_watched())
		return next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	step();
	rc = fails("exchange", EINVAL) ? -1
				       : next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	exchanged += rc == 0;
	step();
	return rc;
}

/* Is a file of packets mapped there? */
static bool is_of_trace(const void *at)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024];
	bool is = false;

	while (maps && !is && fgets(line, sizeof(line), maps))
		is = strtoul(line, NULL, 16) == (unsigned long)at && strstr(line, "/cpu");
	if (maps)
		(void)fclose(maps);
	return is;
}

int munmap(void *at, size_t bytes)
{
	begin();
	if (strcmp(failing, "munmap") == 0 && is_of_trace(at))
		abort();
	return next_munmap(at, bytes);
}

int fcntl64(int fd, int command, ...)
{
	va_list list;
	long value;
	int rc;

	begin();
	va_start(list, command);
	value = va_arg(list, long);
	va_end(list);
	if (command != F_SETLEASE || !is_watched())
		return next_fcntl(fd, command, value);
	__atomic_store_n(&begun, true, __ATOMIC_RELAXED);
	step();
	rc = fails("lease", EINVAL) ? -1 : next_fcntl(fd, command, value);
	step();
	return rc;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	ssize_t rc;

	begin();
	if (!is_watched())
		return next_write(fd, data, bytes);
	step();
	if (strcmp(failing, "write") == 0 && bytes < 150000) {
		errno = ENOSPC;
		rc = -1;
	} else { /* in two parts, so that there is a step in between */
		rc = next_write(fd, data, bytes > 100000 ? 100000 : bytes);
	}
	step();
	return rc;
}

int rename(const char *from, const char *to)
{
	int rc;

	begin();
	if (!is_watched())
		return next_rename(from, to);
	step();
	rc = __atomic_load_n(&begun, __ATOMIC_RELAXED) && fails("name", EACCES)
		     ? -1
		     : next_rename(from, to);
	step();
	return rc;
}

int unlink(const char *path)
{
	int rc;

	begin();
	if (!is_watched())
		return next_unlink(path);
	step();
	rc = next_unlink(path);
	step();
	return rc;
}

int madvise(void *at, size_t bytes, int advice)
{
	int rc;

	begin();
	if (advice != MADV_COLLAPSE)
		return next_madvise(at, bytes, advice);
	__atomic_store_n(&begun, true, __ATOMIC_RELAXED);
	step();
	if (strcmp(failing, "half") == 0)
		(void)next_madvise(at, bytes / 2, advice);
	rc = fails("half", EAGAIN) || fails("large", ENOMEM) ? -1 : next_madvise(at, bytes, advice);
	__atomic_add_fetch(&large, rc == 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&by_others, rc == 0 && !is_helper(), __ATOMIC_RELAXED);
	step();
	return rc;
}

int fallocate64(int fd, int mode, off_t from, off_t bytes)
{
	int rc;

	begin();
	if (!is_watched())
		return next_fallocate(fd, mode, from, bytes);
	step();
	rc = next_fallocate(fd, mode, from, bytes);
	step();
	return rc;
}
