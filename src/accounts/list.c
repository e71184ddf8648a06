/*
 * list.c - /proc and /sys/fs/cgroup as lists of tasks.
 *
 * How many threads a process has is in the link count of its folder of tasks: one stat()
 * instead of reading a file.
 */
#include "accounts/list.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "accounts/proc.h"

#define NAME_MAX_KERNEL 15u /* the kernel cuts names there */
#define CGROUP_DEPTH	32u

void delays_ids_fini(struct delays_ids *ids)
{
	free(ids->ids);
	*ids = (struct delays_ids){ 0 };
}

static void add_id(struct delays_ids *ids, struct delays_id id)
{
	ids->ids = vec_room(ids->ids, ids->count, &ids->cap, sizeof(*ids->ids));
	ids->ids[ids->count++] = id;
}

static int32_t pid_of_name(const char *name)
{
	return isdigit((unsigned char)name[0]) ? (int32_t)strtol(name, NULL, 10) : 0;
}

void delays_list_threads(int32_t tgid, struct delays_ids *ids)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int32_t tid = pid_of_name(entry->d_name);

		if (tid > 0)
			add_id(ids, (struct delays_id){ .tgid = tgid, .tid = tid });
	}
	if (dir)
		closedir(dir);
}

static bool ids_add_process(struct delays_ids *ids, const struct delays_select *select,
			    int32_t tgid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	if (stat(path, &st) < 0)
		return false;
	add_id(ids, (struct delays_id){ .tgid = tgid,
					.tid = tgid,
					.threads = st.st_nlink > 2 ? (uint32_t)st.st_nlink - 2 : 1,
					.is_process = true });
	if (select->threads)
		delays_list_threads(tgid, ids);
	return true;
}

/* The process that a thread belongs to; 0 = it is gone. */
static int32_t pid_process(int32_t tid)
{
	char path[64], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (delays_proc_read(path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "\nTgid:");
	return at ? (int32_t)strtol(at + 6, NULL, 10) : 0;
}

static void add_pids(struct delays_ids *ids, const struct delays_select *select)
{
	for (size_t i = 0; i < select->pid_count; i++) {
		int32_t pid = select->pids[i], tgid = pid_process(pid);

		if (tgid == 0)
			ids->missing++;
		else if (tgid == pid)
			ids->missing += !ids_add_process(ids, select, pid);
		else
			add_id(ids, (struct delays_id){ .tgid = tgid, .tid = pid });
	}
}

static bool list_has_name(int32_t tgid, const char *name)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", tgid);
	if (delays_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return strncmp(text, name, NAME_MAX_KERNEL) == 0;
}

static bool has_user(int32_t tgid, uint32_t uid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", tgid);
	return stat(path, &st) == 0 && st.st_uid == uid;
}

static bool ids_is_wanted(const struct delays_select *select, int32_t tgid)
{
	return select->all || (select->comm && list_has_name(tgid, select->comm)) ||
	       (select->has_uid && has_user(tgid, select->uid));
}

static void list_add_matching(struct delays_ids *ids, const struct delays_select *select)
{
	DIR *dir = opendir("/proc");
	int32_t self = getpid();
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int32_t tgid = pid_of_name(entry->d_name);

		if (tgid > 0 && tgid != self && ids_is_wanted(select, tgid))
			(void)ids_add_process(ids, select, tgid); /* gone meanwhile is fine */
	}
	if (dir)
		closedir(dir);
}

static void add_cgroup_procs(struct delays_ids *ids, const struct delays_select *select,
			     const char *path)
{
	AUTO_FREE char *name = xasprintf("%s/cgroup.procs", path);
	AUTO_FILE FILE *file = fopen(name, "r");
	int pid;

	while (file && fscanf(file, "%d", &pid) == 1) {
		if (pid > 0)
			(void)ids_add_process(ids, select, pid);
	}
}

/* A cgroup and those below it. */
static void list_add_cgroup(struct delays_ids *ids, const struct delays_select *select,
			    const char *path, uint32_t depth)
{
	DIR *dir = depth < CGROUP_DEPTH ? opendir(path) : NULL;
	struct dirent *entry;

	add_cgroup_procs(ids, select, path);
	while (dir && (entry = readdir(dir))) {
		AUTO_FREE char *below = NULL;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		below = xasprintf("%s/%s", path, entry->d_name);
		list_add_cgroup(ids, select, below, depth + 1);
	}
	if (dir)
		closedir(dir);
}

/* The folder of a cgroup: as given, or below one of the places where hierarchies are mounted. */
static char *cgroup_folder(const char *cgroup)
{
	static const char *const roots[] = {
		"",
		"/sys/fs/cgroup/",
		"/sys/fs/cgroup/unified/",
		"/sys/fs/cgroup/systemd/",
		"/sys/fs/cgroup/cpu/",
		"/sys/fs/cgroup/memory/",
	};

	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		AUTO_FREE char *path = xasprintf("%s%s", roots[i], cgroup);
		AUTO_FREE char *procs = xasprintf("%s/cgroup.procs", path);
		struct stat st;

		if (stat(procs, &st) == 0)
			return xstrdup(path);
	}
	return NULL;
}

static int pid_by_number(const void *a, const void *b)
{
	const struct delays_id *left = a, *right = b;

	if (left->tgid != right->tgid)
		return left->tgid < right->tgid ? -1 : 1;
	if (left->is_process != right->is_process)
		return left->is_process ? -1 : 1;
	return left->tid < right->tid ? -1 : left->tid > right->tid;
}

static void sort_once(struct delays_ids *ids)
{
	size_t kept = 0;

	if (!ids->count)
		return;
	qsort(ids->ids, ids->count, sizeof(*ids->ids), pid_by_number);
	for (size_t i = 0; i < ids->count; i++) {
		if (kept == 0 || pid_by_number(&ids->ids[kept - 1], &ids->ids[i]) != 0)
			ids->ids[kept++] = ids->ids[i];
	}
	ids->count = kept;
}

int delays_list(const struct delays_select *select, struct delays_ids *out_ids, struct err *err)
{
	struct delays_ids ids = { 0 };

	if (access("/proc/self", F_OK) < 0)
		return err_set(err, -ENOENT, "no tasks in /proc; it may not be mounted");
	if (select->cgroup) {
		AUTO_FREE char *folder = cgroup_folder(select->cgroup);

		if (!folder)
			return err_set(err, -ENOENT, "no cgroup \"%s\"", select->cgroup);
		list_add_cgroup(&ids, select, folder, 0);
	}
	add_pids(&ids, select);
	if (select->all || select->comm || select->has_uid)
		list_add_matching(&ids, select);
	sort_once(&ids);
	*out_ids = ids;
	return 0;
}
