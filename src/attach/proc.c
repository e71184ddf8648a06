/* proc.c - read a process's files in /proc. Any of them may say anything. */
#include "attach/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "proc/stat.h"

#define ENVIRONMENT_MAX (256u << 10)
#define RUNTIME_KEY	"HOLDUP_RUNTIME_DIR="

/* Up to 'size' - 1 bytes of /proc/PID/NAME, terminated; bytes read, 0 when there is nothing. */
static size_t proc_read_file(int32_t pid, const char *name, char *out_text, size_t size)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/%s", pid, name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done + 1 < size) {
		ssize_t got = read(fd, out_text + done, size - 1 - done);

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	out_text[done] = '\0';
	return done;
}

static const char *line_of(const char *text, const char *key)
{
	size_t bytes = strlen(key);

	while (text && strncmp(text, key, bytes) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + bytes : NULL;
}

bool user_status_number(const char *status, const char *key, int index, uint64_t *out_number)
{
	const char *at = line_of(status, key);
	bool found = false;

	for (int i = 0; at && (index < 0 || i <= index); i++) {
		char *end;
		unsigned long long number;

		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			return found && index < 0;
		number = strtoull(at, &end, 10);
		found = index < 0 || i == index;
		*out_number = found ? number : *out_number;
		at = end;
	}
	return found;
}

uint32_t user_map_id(const char *map, uint32_t outer)
{
	unsigned long long inner, first, count;

	for (; map && *map; map = strchr(map, '\n') ? strchr(map, '\n') + 1 : NULL) {
		if (sscanf(map, "%llu %llu %llu", &inner, &first, &count) == 3 && outer >= first &&
		    outer - first < count)
			return (uint32_t)(inner + (outer - first));
	}
	return outer;
}

uint64_t user_stat_start(const char *line)
{
	struct proc_stat stat;

	return stat_parse(line, &stat) ? stat.field[STAT_BIRTH] : 0;
}

static char *find_runtime(int32_t pid)
{
	AUTO_FREE char *all = xmalloc(ENVIRONMENT_MAX);
	size_t bytes = proc_read_file(pid, "environ", all, ENVIRONMENT_MAX);

	for (size_t at = 0; at < bytes; at += strlen(all + at) + 1) {
		if (strncmp(all + at, RUNTIME_KEY, strlen(RUNTIME_KEY)) == 0 &&
		    all[at + strlen(RUNTIME_KEY)] == '/')
			return xstrdup(all + at + strlen(RUNTIME_KEY));
	}
	return NULL;
}

/* When we may not look, they are taken for the same: what is not there is then not found. */
static bool has_our_mounts(int32_t pid)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/ns/mnt", pid);
	AUTO_FREE char *root = xasprintf("/proc/%d/root", pid);
	struct stat ours, theirs;

	if (stat("/proc/self/ns/mnt", &ours) < 0 || stat(path, &theirs) < 0)
		return true;
	if (ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev)
		return false;
	return stat("/", &ours) == 0 && stat(root, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
	       ours.st_dev == theirs.st_dev; /* chroot() */
}

static uint64_t pid_namespace_of(int32_t pid)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/ns/pid", pid);
	struct stat ns;

	return stat(path, &ns) == 0 ? ns.st_ino : 0;
}

bool user_proc_read(int32_t pid, struct user_proc *out_proc)
{
	char text[8192];
	uint64_t ns_pid, uid, gid;
	struct user_proc proc = { .pid = pid };

	if (!proc_read_file(pid, "stat", text, sizeof(text)))
		return false;
	proc.start = user_stat_start(text);
	if (!proc_read_file(pid, "status", text, sizeof(text)) || !line_of(text, "VmSize:") ||
	    !user_status_number(text, "Uid:", 1, &uid) ||
	    !user_status_number(text, "Gid:", 1, &gid))
		return false;
	if (!user_status_number(text, "NSpid:", -1, &ns_pid))
		ns_pid = (uint64_t)pid;
	proc.ns_pid = (int32_t)ns_pid;
	proc.uid = (uint32_t)uid;
	proc.gid = (uint32_t)gid;
	(void)proc_read_file(pid, "uid_map", text, sizeof(text));
	proc.ns_uid = user_map_id(text, proc.uid);
	proc.pid_ns = pid_namespace_of(pid);
	proc.same_mounts = has_our_mounts(pid);
	proc.runtime = find_runtime(pid);
	*out_proc = proc;
	return true;
}

void user_proc_fini(struct user_proc *proc)
{
	free(proc->runtime);
	proc->runtime = NULL;
}

static int process_by_number(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

size_t user_proc_all(int32_t **out_pids)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int32_t *pids = NULL;
	size_t count = 0, cap = 0;
	uint64_t pid;

	while (dir && (entry = readdir(dir))) {
		if (!text_parse_u64(entry->d_name, &pid) || pid == 0 || pid > INT32_MAX)
			continue;
		pids = vec_room(pids, count, &cap, sizeof(*pids));
		pids[count++] = (int32_t)pid;
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(pids, count, sizeof(*pids), process_by_number);
	*out_pids = pids;
	return count;
}

bool user_proc_may_live(uint64_t start)
{
	int32_t *pids;
	size_t count = user_proc_all(&pids);
	bool lives = geteuid() != 0 || count == 0; /* others may be hidden from us */
	char line[1024];

	for (size_t i = 0; i < count && !lives; i++)
		lives = proc_read_file(pids[i], "stat", line, sizeof(line)) &&
			user_stat_start(line) == start;
	free(pids);
	return lives;
}
