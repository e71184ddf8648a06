/* proc.c - stat, status and cgroup of threads. */
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "proc/stat.h"

#define FLAG_WORKER   0x00000020u /* of STAT_FLAGS; linux/sched.h */
#define TASK_COMM_MAX 15	  /* what events show */

#define OUTERMOST_PID_NAMESPACE 4026531836u /* PROC_PID_INIT_INO, the same on every kernel */

int proc_read(int dir_fd, const char *path, char *out, size_t room)
{
	AUTO_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = file_read_next(fd, out, room - 1);
	out[got < 0 ? 0 : got] = '\0';
	return (int)got;
}

static int compare_numbers(const void *left, const void *right)
{
	int32_t a, b;

	memcpy(&a, left, sizeof(a));
	memcpy(&b, right, sizeof(b));
	return (a > b) - (a < b);
}

int proc_numbers(int dir_fd, const char *path, int32_t **out_numbers)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int32_t *numbers = NULL;
	size_t count = 0, cap = 0;
	struct dirent *entry;

	if (!dir) {
		int rc = -errno;

		mem_close_fd(&fd);
		return rc;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		numbers = vec_room(numbers, count, &cap, sizeof(*numbers));
		numbers[count++] = atoi(entry->d_name);
	}
	closedir(dir);
	if (count)
		qsort(numbers, count, sizeof(*numbers), compare_numbers);
	*out_numbers = numbers;
	return (int)count;
}

uint64_t proc_runs(int proc_fd, int32_t tgid, int32_t tid)
{
	uint64_t runs = 0, voluntary, other;
	char path[64], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "%d/task/%d/schedstat", tgid, tid);
	if (proc_read(proc_fd, path, text, sizeof(text)) > 0 &&
	    sscanf(text, "%*u %*u %" SCNu64, &runs) == 1 && runs)
		return runs;
	snprintf(path, sizeof(path), "%d/task/%d/status", tgid, tid);
	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	if (!at ||
	    sscanf(at,
		   "\nvoluntary_ctxt_switches: %" SCNu64 "\nnonvoluntary_ctxt_switches: %" SCNu64,
		   &voluntary, &other) != 2)
		return 0;
	return voluntary + other;
}

/* A worker's name is followed by what it works on; events show the name alone. */
static void cut_worker(char *comm)
{
	char *from = strncmp(comm, "kworker/R", 9) == 0 ? NULL : strpbrk(comm, "+-");

	if (from)
		*from = '\0';
	comm[strnlen(comm, TASK_COMM_MAX)] = '\0';
}

bool proc_parse_stat(const char *line, struct proc_thread *out_thread)
{
	struct proc_stat stat;
	uint64_t flags;

	if (!stat_parse(line, &stat) || stat.last < STAT_PRIO)
		return false;
	flags = stat.field[STAT_FLAGS];
	stat_copy_comm(&stat, out_thread->comm, sizeof(out_thread->comm));
	out_thread->state = stat.state;
	out_thread->ppid = (int32_t)stat.field[STAT_PPID];
	out_thread->prio = (int32_t)stat.field[STAT_PRIO];
	out_thread->born_ticks = stat.field[STAT_BIRTH];
	out_thread->policy = stat.last >= STAT_POLICY ? (int32_t)stat.field[STAT_POLICY] : -1;
	out_thread->kernel = flags & STAT_KERNEL_THREAD;
	if (out_thread->kernel && flags & FLAG_WORKER)
		cut_worker(out_thread->comm);
	return true;
}

int32_t proc_parse_vtid(const char *status)
{
	const char *at = strstr(status, "\nNSpid:");
	long number = 0;
	int count = 0;

	for (at = at ? at + 7 : ""; *at == '\t' || *at == ' '; count++) {
		char *end;

		number = strtol(at, &end, 10);
		if (end == at)
			break;
		at = end;
	}
	return count > 1 && number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
}

uint64_t proc_pid_namespace(int proc_fd, int32_t tgid)
{
	char path[32], link[64] = "";

	snprintf(path, sizeof(path), "%d/ns/pid", tgid);
	if (readlinkat(proc_fd, path, link, sizeof(link) - 1) <= 0 ||
	    strncmp(link, "pid:[", 5) != 0)
		return 0;
	return strtoull(link + 5, NULL, 10);
}

bool proc_is_outermost(void)
{
	char link[64] = "";
	uint64_t space = 0;

	if (readlink("/proc/self/ns/pid", link, sizeof(link) - 1) > 0)
		(void)sscanf(link, "pid:[%" SCNu64, &space); /* stays 0 */
	return !space || space == OUTERMOST_PID_NAMESPACE;
}

static void read_status(int proc_fd, struct proc_thread *thread)
{
	char path[64], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "%d/task/%d/status", thread->tgid, thread->tid);
	if (proc_read(proc_fd, path, text, sizeof(text)) < 0)
		return;
	at = strstr(text, "\nUid:");
	thread->uid = at ? (uint32_t)strtoul(at + 5, NULL, 10) : 0;
	thread->vtid = proc_parse_vtid(text);
}

int32_t proc_next_child(const char **at)
{
	char *end;
	long pid = strtol(*at, &end, 10);

	if (end == *at || *end != ' ')
		return 0;
	*at = end;
	return (int32_t)pid;
}

bool proc_read_thread(int proc_fd, int32_t tgid, int32_t tid, struct proc_thread *out_thread)
{
	struct proc_thread thread = { .tid = tid, .tgid = tgid };
	char path[64], text[1024];

	snprintf(path, sizeof(path), "%d/task/%d/stat", tgid, tid);
	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0 || !proc_parse_stat(text, &thread))
		return false;
	thread.seen_ns = clock_now_ns();
	if (!thread.kernel)
		read_status(proc_fd, &thread);
	*out_thread = thread;
	return true;
}

/* Is it among "cpu,cpuacct", which ends with ':'? The list of the unified hierarchy is empty. */
static bool is_in_list(const char *list, const char *controller)
{
	size_t length = strlen(controller);

	for (;;) {
		if (strncmp(list, controller, length) == 0 &&
		    (list[length] == ',' || list[length] == ':'))
			return true;
		list += strcspn(list, ",:\n");
		if (*list != ',')
			return false;
		list++;
	}
}

const char *proc_cgroup_path(const char *text, const char *controller)
{
	const char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		const char *list = strchr(text, ':');
		const char *path = list && list < end ? strchr(list + 1, ':') : NULL;

		if (path && path < end && is_in_list(list + 1, controller))
			return path + 1;
	}
	return NULL;
}

void proc_read_cgroup(int proc_fd, int32_t tgid, char *out, size_t room)
{
	char path[32], text[4096];
	const char *from;

	out[0] = '\0';
	snprintf(path, sizeof(path), "%d/cgroup", tgid);
	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0)
		return;
	from = proc_cgroup_path(text, "");
	if (!from) { /* "7:cpu,cpuacct:/path" */
		from = strchr(text, ':');
		from = from ? strchr(from + 1, ':') : NULL;
		from = from ? from + 1 : NULL;
	}
	if (from)
		snprintf(out, room, "%.*s", (int)strcspn(from, "\n"), from);
}

bool proc_wchan_frozen(const char *wchan)
{
	return strcmp(wchan, "do_freezer_trap") == 0 || strcmp(wchan, "__refrigerator") == 0 ||
	       strcmp(wchan, "get_signal") == 0;
}

void proc_read_frozen(int proc_fd, int32_t tgid, char *out, size_t room)
{
	char path[32], text[4096], wchan[128];
	const char *from;

	out[0] = '\0';
	snprintf(path, sizeof(path), "%d/wchan", tgid);
	if (proc_read(proc_fd, path, wchan, sizeof(wchan)) <= 0)
		return;
	snprintf(path, sizeof(path), "%d/cgroup", tgid);
	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0)
		return;
	from = proc_cgroup_path(text, strcmp(wchan, "do_freezer_trap") == 0 ||
						      strcmp(wchan, "get_signal") == 0
					      ? ""
					      : "freezer");
	if (from && from[0] == '/' && from[1] != '\n') /* the root is never frozen */
		snprintf(out, room, "%.*s", (int)strcspn(from, "\n"), from);
}

bool proc_is_frozen(int proc_fd, int32_t tgid, int32_t tid)
{
	char path[64], wchan[128];

	snprintf(path, sizeof(path), "%d/task/%d/wchan", tgid, tid);
	return proc_read(proc_fd, path, wchan, sizeof(wchan)) > 0 && proc_wchan_frozen(wchan);
}

bool proc_is_frozen_asleep(int proc_fd, int32_t tgid, const char *root)
{
	char path[32], text[4096], state[16];
	AUTO_FREE char *file = NULL;
	const char *from;

	snprintf(path, sizeof(path), "%d/cgroup", tgid);
	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0)
		return false;
	from = proc_cgroup_path(text, "freezer");
	if (!from || from[0] != '/' || strncmp(from, "/..", 3) == 0)
		return false;
	file = xasprintf("%s%.*s/freezer.state", root, (int)strcspn(from, "\n"), from);
	return proc_read(AT_FDCWD, file, state, sizeof(state)) > 0 &&
	       strncmp(state, "FROZEN", 6) == 0;
}
