/*
 * instance.c - make, guard and remove the private tracefs instance.
 *
 *	recorder ──┬─ hold_fd: rmdir by anybody else fails with EBUSY
 *	           └─ socket ─▶ watchdog: reads; end of file = the recorder is gone
 *
 * The watchdog is ready before the instance is made. It is in a session of its
 * own, so that what kills the recorder's process group does not kill it.
 */
#include "record/instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "proc/stat.h"
#include "record/ftrace.h"
#include "record/probe_group.h"

#define NAME_PREFIX	  "holdup-"
#define PER_PROCESS_LIMIT 64
#define REMOVE_TRIES	  200 /* a killed recorder's files are closed a little after its death */
#define REMOVE_PAUSE_NS	  10000000L
#define OUTLIVE		  'o' /* to the watchdog */

bool instance_process_start(pid_t pid, uint64_t *out_start_time)
{
	char path[64], line[STAT_BYTES_MAX];
	struct proc_stat stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!stat_read(AT_FDCWD, path, line, &stat) || stat_is_over(&stat) ||
	    stat.last < STAT_BIRTH)
		return false;
	*out_start_time = stat.field[STAT_BIRTH];
	return true;
}

/* Read digits, at least one. Moves *text behind them; false for none or too many. */
static bool instance_take_number(const char **text, uint64_t max, uint64_t *out_number)
{
	const char *at = *text;
	uint64_t number = 0;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (number > (max - (uint64_t)(*at - '0')) / 10)
			return false;
		number = number * 10 + (uint64_t)(*at - '0');
	}
	if (at == *text)
		return false;
	*text = at;
	*out_number = number;
	return true;
}

static bool take_dash(const char **text)
{
	return *(*text)++ == '-';
}

bool instance_parse_name(const char *name, pid_t *out_pid, uint64_t *out_start_time)
{
	size_t prefix = strlen(NAME_PREFIX);
	uint64_t pid, start, suffix;

	if (strncmp(name, NAME_PREFIX, prefix))
		return false;
	name += prefix;
	if (!instance_take_number(&name, INT32_MAX, &pid) || pid == 0 || !take_dash(&name) ||
	    !instance_take_number(&name, UINT64_MAX, &start))
		return false;
	if (*name && (!take_dash(&name) ||
		      !instance_take_number(&name, PER_PROCESS_LIMIT, &suffix) || *name))
		return false;
	*out_pid = (pid_t)pid;
	*out_start_time = start;
	return true;
}

static bool is_stale(const char *name)
{
	uint64_t start, now_start;
	pid_t pid;

	if (!instance_parse_name(name, &pid, &start))
		return false;
	return !instance_process_start(pid, &now_start) || now_start != start;
}

int instance_remove_stale(const char *tracing_dir)
{
	AUTO_FREE char *path = xasprintf("%s/instances", tracing_dir);
	DIR *dir = opendir(path);
	struct dirent *entry;
	int removed = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (is_stale(entry->d_name) && !unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR))
			removed++;
	}
	closedir(dir);
	(void)probe_group_remove_stale(tracing_dir);
	return removed;
}

/* events/enable reads "0" when all events are off, else "1" or "X". */
static bool is_idle(int dir_fd, const char *path)
{
	AUTO_FREE char *text = ftrace_read(dir_fd, path, NULL);

	return text && text[0] == '0';
}

bool instance_all_idle(int tracing_fd)
{
	int fd = openat(tracing_fd, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool idle = dir && is_idle(tracing_fd, "events/enable");

	if (!dir)
		mem_close_fd(&fd);
	while (idle && (entry = readdir(dir))) {
		AUTO_FREE char *path = xasprintf("%s/events/enable", entry->d_name);

		if (entry->d_name[0] != '.' && !is_idle(dirfd(dir), path))
			idle = ftrace_has(dirfd(dir), path) == false; /* gone meanwhile */
	}
	if (dir)
		closedir(dir);
	return idle;
}

/*
 * Remove an instance and then the points in user programs that it had switched on. Returns 0 or
 * a negative errno. Runs after fork(), too: of a process without other threads.
 */
static int remove_path(const char *path)
{
	struct timespec pause = { .tv_nsec = REMOVE_PAUSE_NS };

	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (!rmdir(path) || errno == ENOENT) {
			(void)probe_group_remove(path);
			return 0;
		}
		if (errno != EBUSY)
			break;
		nanosleep(&pause, NULL);
	}
	return -errno;
}

/* No event costs anybody anything any more; the rings stay. */
static int switch_off(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : ftrace_write(fd, "tracing_on", "0", NULL);

	if (rc == 0)
		(void)ftrace_write(fd, "events/enable", "0", NULL);
	return rc;
}

static void __attribute__((noreturn)) watch(const char *path, int socket_fd)
{
	char byte = 'r';

	setsid();
	prctl(PR_SET_NAME, "holdup-watchdog");
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
	/* Hold nothing that somebody waits for: the terminal, pipes, the directory. */
	if (dup2(socket_fd, 0) < 0 || chdir("/") < 0)
		_exit(1);
	close_range(1, ~0u, 0);
	/* What it removes is root's, on most machines by the owner's right alone. */
	guard_caps_helper(GUARD_CAP(CAP_DAC_OVERRIDE));
	if (send(0, &byte, 1, MSG_NOSIGNAL) == 1 && file_read_next(0, &byte, 1) == 1 &&
	    byte == OUTLIVE) {
		(void)file_read_next(0, &byte, 1);
		_exit(switch_off(path) < 0);
	}
	_exit(remove_path(path) < 0);
}

/* Without a watchdog recording still works; a killed recorder then leaves its instance. */
static void start_watchdog(struct instance *instance)
{
	int fds[2];
	char byte;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		watch(instance->path, fds[0]);
	}
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return;
	}
	instance->watchdog = pid;
	instance->watchdog_fd = fds[1];
	(void)file_read_next(fds[1], &byte, 1);
}

static void stop_watchdog(struct instance *instance)
{
	mem_close_fd(&instance->watchdog_fd);
	instance->watchdog_fd = -1;
	if (instance->watchdog > 0)
		(void)child_await(instance->watchdog);
	instance->watchdog = 0;
}

/* A name that no instance of this process has. */
static char *free_path(const char *tracing_dir)
{
	uint64_t start = 0;

	instance_process_start(getpid(), &start);
	for (int i = 1; i <= PER_PROCESS_LIMIT; i++) {
		char suffix[16] = "";
		char *path;

		if (i > 1)
			snprintf(suffix, sizeof(suffix), "-%d", i);
		path = xasprintf("%s/instances/" NAME_PREFIX "%d-%" PRIu64 "%s", tracing_dir,
				 (int)getpid(), start, suffix);
		if (access(path, F_OK) < 0)
			return path;
		free(path);
	}
	return NULL;
}

static int make(const char *tracing_dir, struct instance *instance, struct err *err)
{
	int rc;

	instance->path = free_path(tracing_dir);
	if (!instance->path)
		return err_set(err, -EEXIST, "%d tracing instances of this process exist",
			       PER_PROCESS_LIMIT);
	start_watchdog(instance);
	if (mkdir(instance->path, 0700) == 0)
		return 0;
	rc = err_set(err, -errno, "cannot make a tracing instance in %s/instances: %s", tracing_dir,
		     strerror(errno));
	stop_watchdog(instance);
	free(instance->path);
	instance->path = NULL;
	return rc;
}

int instance_open(const char *tracing_dir, struct instance *out_instance, struct err *err)
{
	struct instance instance = INSTANCE_NONE;
	int rc = make(tracing_dir, &instance, err);

	if (rc < 0)
		return rc;
	instance.dir_fd = open(instance.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (instance.dir_fd >= 0)
		instance.hold_fd = openat(instance.dir_fd, "tracing_on", O_RDONLY | O_CLOEXEC);
	if (instance.hold_fd < 0) {
		rc = err_set(err, -errno, "cannot open the tracing instance %s: %s", instance.path,
			     strerror(errno));
		goto fail;
	}
	rc = ftrace_write(instance.dir_fd, "tracing_on", "0", err);
	if (rc < 0)
		goto fail;
	*out_instance = instance;
	return 0;

fail:
	instance_close(&instance);
	return rc;
}

int instance_adopt(const char *tracing_dir, const char *name, struct instance *out_instance,
		   struct err *err)
{
	struct instance instance = INSTANCE_NONE;
	pid_t pid;
	uint64_t start;

	if (!instance_parse_name(name, &pid, &start))
		return err_set(err, -EINVAL, "it is no instance of a recorder");
	if (!is_stale(name))
		return err_set(err, -EBUSY, "its recorder, process %d, lives", (int)pid);
	instance.path = xasprintf("%s/instances/%s", tracing_dir, name);
	instance.dir_fd = open(instance.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (instance.dir_fd >= 0)
		instance.hold_fd = openat(instance.dir_fd, "tracing_on", O_RDONLY | O_CLOEXEC);
	if (instance.hold_fd < 0) {
		int rc = err_set(err, -errno, "%s: %s", instance.path, strerror(errno));

		mem_close_fd(&instance.dir_fd);
		free(instance.path);
		return rc;
	}
	(void)switch_off(instance.path); /* most often it is off already */
	*out_instance = instance;
	return 0;
}

void instance_outlive(const struct instance *instance)
{
	char byte = OUTLIVE;

	if (instance->watchdog_fd >= 0)
		(void)send(instance->watchdog_fd, &byte, 1, MSG_NOSIGNAL);
}

static void let_go(struct instance *instance, bool remove)
{
	if (!instance->path)
		return;
	mem_close_fd(&instance->hold_fd);
	mem_close_fd(&instance->dir_fd);
	if (remove)
		(void)remove_path(instance->path); /* the next start tries again */
	stop_watchdog(instance);
	free(instance->path);
	*instance = INSTANCE_NONE;
}

void instance_close(struct instance *instance)
{
	let_go(instance, true);
}

void instance_leave(struct instance *instance)
{
	let_go(instance, false);
}
