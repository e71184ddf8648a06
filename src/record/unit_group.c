/* unit_group.c - see unit_group.h. */
#include "record/unit_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define DEEP	     4	 /* cgroups in cgroups */
#define FOLDERS_MOST 64u /* in all */
#define PATH_BYTES   2048u

/* systemd's own, and not the one of the whole machine. */
static bool is_path(const char *path)
{
	size_t length = strlen(path);

	return path[0] == '/' && path[1] && path[1] != '/' && length < PATH_BYTES &&
	       !strstr(path, "/../") && !strstr(path, "/./") &&
	       (length < 3 || strcmp(path + length - 3, "/..") != 0);
}

static FILE *open_in(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		(void)close(fd);
	return file;
}

static void add(struct unit_group *group, int32_t pid)
{
	if (group->count < UNIT_GROUP_PIDS)
		group->pids[group->count++] = pid;
	else
		group->more++;
}

static void read_processes(int dir_fd, struct unit_group *group)
{
	AUTO_FILE FILE *file = open_in(dir_fd, "cgroup.procs");
	int32_t pid;

	while (file && fscanf(file, "%" SCNd32, &pid) == 1) {
		if (pid > 0) /* 0: of another pid namespace */
			add(group, pid);
	}
}

static void read_oom(int dir_fd, struct unit_group *group)
{
	AUTO_FILE FILE *file = open_in(dir_fd, "memory.events");
	char line[64];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "oom_kill %" SCNu64, &group->oom_kills) == 1)
			return;
	}
}

/* 'dir_fd' is taken. */
static void read_folder(int dir_fd, int deep, size_t *folders, struct unit_group *group)
{
	DIR *dir = fdopendir(dir_fd);
	struct dirent *entry;

	if (!dir) {
		(void)close(dir_fd);
		return;
	}
	read_processes(dir_fd, group);
	while (deep > 0 && (entry = readdir(dir))) {
		int fd;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || ++*folders > FOLDERS_MOST)
			continue;
		fd = openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			read_folder(fd, deep - 1, folders, group);
	}
	(void)closedir(dir);
}

bool unit_group_read(const char *const *roots, const char *path, struct unit_group *out_group)
{
	struct unit_group group = { 0 };
	size_t folders = 0;

	if (!is_path(path))
		return false;
	for (; *roots; roots++) {
		AUTO_FREE char *whole = xasprintf("%s%s", *roots, path);
		int fd = open(whole, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		read_oom(fd, &group);
		read_folder(fd, DEEP, &folders, &group);
		*out_group = group;
		return true;
	}
	return false;
}

void unit_groups_note(struct unit_groups *groups, const char *name, const struct unit_group *group)
{
	size_t place = UNIT_GROUPS;

	if (strlen(name) >= UNIT_NAME_BYTES)
		return;
	for (size_t i = UNIT_GROUPS; i-- > 0;) {
		if (strcmp(groups->items[i].name, name) == 0) {
			place = i;
			break;
		}
		if (!groups->items[i].name[0])
			place = i;
	}
	if (place == UNIT_GROUPS) {
		place = groups->next;
		groups->next = (groups->next + 1) % UNIT_GROUPS;
	}
	if (strcmp(groups->items[place].name, name) != 0) {
		memcpy(groups->items[place].name, name, strlen(name) + 1);
		groups->items[place].group = *group;
	} else if (group->count) {
		groups->items[place].group = *group;
	} else if (group->oom_kills) {
		groups->items[place].group.oom_kills = group->oom_kills;
	}
}

struct unit_group unit_groups_take(struct unit_groups *groups, const char *name)
{
	for (size_t i = 0; *name && i < UNIT_GROUPS; i++) {
		if (strcmp(groups->items[i].name, name) == 0) {
			groups->items[i].name[0] = '\0';
			return groups->items[i].group;
		}
	}
	return (struct unit_group){ 0 };
}

void unit_group_leave_out(struct unit_group *group, int32_t pid)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < group->count; i++) {
		if (group->pids[i] != pid)
			group->pids[kept++] = group->pids[i];
	}
	group->count = kept;
}
