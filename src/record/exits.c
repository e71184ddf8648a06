/*
 * exits.c - perf events of tracepoints, and the process that outlives us to drop them.
 *
 *	recorder ──┬─ copies of the events, closed at the end of recording
 *	           └─ socket ─▶ holder: reads; end of file = the recorder is gone
 *	                        pauses, closes its copies one by one, exits
 *
 * While the kernel detaches one tracepoint, nobody can switch events on or off or
 * make an instance. So the holder waits a moment, and steps aside while another
 * recorder starts or ends: that one has an instance which is switched off.
 */
#include "record/exits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "record/ftrace.h"
#include "record/instance.h"

#define LINGER_MS  500
#define PAUSE_MS   50
#define PAUSES_MAX 60 /* in all; whoever starts for longer than that has to wait */
#define KEEP_MAX   (EXITS_MAX + 2)

int exits_open(struct exits *out_exits, struct err *err)
{
	struct exits exits = EXITS_NONE;
	AUTO_FREE char *path = NULL;
	int rc = ftrace_find(&path, err);

	if (rc < 0)
		return rc;
	exits.tracing_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (exits.tracing_fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (!ftrace_has(exits.tracing_fd, "events/syscalls/sys_exit_openat")) {
		mem_close_fd(&exits.tracing_fd);
		return err_set(err, -ENOENT, "this kernel has no tracepoints of single calls");
	}
	*out_exits = exits;
	return 0;
}

/* One event on one CPU is enough: the program runs on all of them. */
static int open_event(uint64_t id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.disabled = 1, /* no samples: only the program is wanted */
	};
	int cpu = sched_getcpu();

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu < 0 ? 0 : cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

int exits_add(struct exits *exits, const char *call, int program_fd, struct err *err)
{
	AUTO_FREE char *path = xasprintf("events/syscalls/sys_exit_%s/id", call);
	uint64_t id = ftrace_read_u64(exits->tracing_fd, path, UINT64_MAX);
	int fd;

	if (id == UINT64_MAX)
		return err_set(err, -ENOENT, "this kernel does not have sys_exit_%s", call);
	if (exits->count == EXITS_MAX)
		return err_set(err, -E2BIG, "too many calls");
	fd = open_event(id);
	if (fd < 0)
		return err_set(err, -errno, "no event for sys_exit_%s: %s", call, strerror(errno));
	if (program_fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0) {
		int code = -errno;

		mem_close_fd(&fd);
		return err_set(err, code, "no BPF program at sys_exit_%s: %s", call,
			       strerror(-code));
	}
	exits->fds[exits->count++] = fd;
	return 0;
}

void exits_add_program(const struct exits *exits, size_t from, size_t until, int program_fd)
{
	for (size_t i = from; i < until; i++)
		(void)ioctl(exits->fds[i], PERF_EVENT_IOC_SET_BPF, program_fd);
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Close every descriptor but these. Sorts them. */
static void close_others(int *keep, size_t count)
{
	unsigned int from = 0;

	qsort(keep, count, sizeof(*keep), compare_fds);
	for (size_t i = 0; i < count; i++) {
		if ((unsigned int)keep[i] > from)
			close_range(from, (unsigned int)keep[i] - 1, 0);
		from = (unsigned int)keep[i] + 1;
	}
	close_range(from, ~0u, 0);
}

static void sleep_ms(long ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

/* An instance of ours that is off is about to be switched on, or to be removed. */
static bool is_switched_off(int instances_fd, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/tracing_on", name);
	AUTO_FREE char *text = NULL;
	uint64_t start;
	pid_t pid;

	if (!instance_parse_name(name, &pid, &start))
		return false;
	text = ftrace_read(instances_fd, path, NULL);
	return text && text[0] == '0';
}

static bool somebody_is_busy(int tracing_fd)
{
	int fd = openat(tracing_fd, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool busy = false;

	if (!dir) {
		mem_close_fd(&fd);
		return false;
	}
	while (!busy && (entry = readdir(dir)))
		busy = is_switched_off(fd, entry->d_name);
	closedir(dir);
	return busy;
}

static void let_go(struct exits *exits)
{
	int pauses = 0;

	sleep_ms(LINGER_MS);
	for (size_t i = 0; i < exits->count; i++) {
		while (pauses < PAUSES_MAX && somebody_is_busy(exits->tracing_fd)) {
			sleep_ms(PAUSE_MS);
			pauses++;
		}
		close(exits->fds[i]);
	}
}

/* A session of its own and no descriptor that anybody waits for. A signal may end it. */
static void __attribute__((noreturn)) hold(struct exits *exits, int socket_fd, uint32_t *ended)
{
	int keep[KEEP_MAX];
	size_t count = 0;
	sigset_t none;
	pid_t self;
	char byte;

	setsid();
	prctl(PR_SET_NAME, "holdup-holder");
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (; count < exits->count; count++)
		keep[count] = exits->fds[count];
	keep[count++] = socket_fd;
	keep[count++] = exits->tracing_fd;
	close_others(keep, count);
	guard_caps_helper(0);
	/* What the recorder writes to that it shares with a child, the kernel copies. */
	mem_keep_freed(0);
	self = chdir("/") < 0 ? 0 : getpid();
	if (send(socket_fd, &self, sizeof(self), MSG_NOSIGNAL) == sizeof(self))
		(void)file_read_next(socket_fd, &byte, 1);
	__atomic_store_n(ended, 1, __ATOMIC_RELAXED); /* a killed recorder did not */
	close(socket_fd);
	let_go(exits);
	_exit(0);
}

/* A grandchild: whoever reaps orphans reaps it, and we need not wait for its end. */
static bool fork_holder(struct exits *exits, int socket_fd, uint32_t *ended)
{
	pid_t middle = fork();

	if (middle == 0) {
		pid_t holder = fork();

		if (holder == 0)
			hold(exits, socket_fd, ended);
		_exit(0);
	}
	if (middle > 0)
		(void)child_await(middle);
	return middle > 0;
}

void exits_hold(struct exits *exits, uint32_t *ended)
{
	pid_t holder = 0;
	int fds[2];
	ssize_t got;

	if (!exits->count || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	if (!fork_holder(exits, fds[0], ended)) {
		close(fds[0]);
		close(fds[1]);
		return;
	}
	close(fds[0]);
	got = file_read_next(fds[1], &holder, sizeof(holder));
	exits->alive_fd = fds[1];
	exits->holder = got == sizeof(holder) ? holder : 0;
}

void exits_leave(struct exits *exits)
{
	for (size_t i = 0; i < exits->count; i++)
		mem_close_fd(&exits->fds[i]);
	exits->count = 0;
	mem_close_fd(&exits->tracing_fd);
	exits->tracing_fd = -1;
}

void exits_close(struct exits *exits)
{
	exits_leave(exits);
	mem_close_fd(&exits->alive_fd);
	exits->alive_fd = -1;
}
