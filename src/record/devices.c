/*
 * devices.c - /sys/block: names, and loop/backing_file, dm/name, slaves/ of each.
 */
#include "record/devices.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/facts.h"
#include "store/dump.h"

#define DEVICES_MAX 65536
#define BEHIND_MAX  1024

struct device {
	uint64_t nr;  /* major << 20 | minor */
	char *name;   /* owned */
	char *behind; /* owned; NULL = hardware, nothing, or not known */
};

struct devices {
	struct device *at; /* owned */
	size_t count, cap;
};

/* The first line of a small file, or NULL when it is empty or cannot be read. */
static char *first_line(int dir_fd, const char *path)
{
	AUTO_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[BEHIND_MAX];
	ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (bytes <= 0)
		return NULL;
	text[bytes] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return *text ? xstrdup(text) : NULL;
}

static DIR *open_folder(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		mem_close_fd(&fd);
	return dir;
}

/* "vda2, vdb1"; NULL = it stands on none */
static char *below(int device_fd)
{
	DIR *dir = open_folder(device_fd, "slaves");
	struct dirent *entry;
	char *all = NULL;

	while (dir && (entry = readdir(dir))) {
		char *more;

		if (entry->d_name[0] == '.' || (all && strlen(all) > BEHIND_MAX))
			continue;
		more = xasprintf("%s%s%s", all ? all : "", all ? ", " : "", entry->d_name);
		free(all);
		all = more;
	}
	if (dir)
		closedir(dir);
	return all;
}

/* "/srv/disk.img", "vg-root on vda2" */
static char *behind(int device_fd)
{
	char *file = first_line(device_fd, "loop/backing_file");
	AUTO_FREE char *name = file ? NULL : first_line(device_fd, "dm/name");
	AUTO_FREE char *disks = name ? below(device_fd) : NULL;

	if (file || !name)
		return file;
	return disks ? xasprintf("%s on %s", name, disks) : xstrdup(name);
}

static void devices_add(struct devices *devices, unsigned int major, unsigned int minor,
			const char *name, char *behind)
{
	devices->at = vec_room(devices->at, devices->count, &devices->cap, sizeof(*devices->at));
	devices->at[devices->count++] = (struct device){ .nr = (uint64_t)major << 20 | minor,
							 .name = xstrdup(name),
							 .behind = behind };
}

static void read_block(struct devices *devices)
{
	DIR *dir = open_folder(AT_FDCWD, "/sys/block");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) && devices->count < DEVICES_MAX) {
		AUTO_CLOSE int fd =
			openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		AUTO_FREE char *numbers =
			entry->d_name[0] == '.' || fd < 0 ? NULL : first_line(fd, "dev");
		unsigned int major, minor;

		if (numbers && sscanf(numbers, "%u:%u", &major, &minor) == 2)
			devices_add(devices, major, minor, entry->d_name, behind(fd));
	}
	if (dir)
		closedir(dir);
}

static const struct device *devices_find(const struct devices *devices, uint64_t nr)
{
	for (size_t i = 0; i < devices->count; i++) {
		if (devices->at[i].nr == nr)
			return &devices->at[i];
	}
	return NULL;
}

/* Partitions, and all of them where /sys is not there: " 254  0  10485760 vda" */
static void read_partitions(struct devices *devices)
{
	AUTO_FILE FILE *in = fopen("/proc/partitions", "re");
	AUTO_FREE char *line = NULL;
	unsigned int major, minor;
	char name[128];
	size_t room = 0;

	while (in && devices->count < DEVICES_MAX && getline(&line, &room, in) > 0) {
		if (sscanf(line, " %u %u %*u %127s", &major, &minor, name) == 3 &&
		    !devices_find(devices, (uint64_t)major << 20 | minor))
			devices_add(devices, major, minor, name, NULL);
	}
}

static struct devices *devices_read(void)
{
	struct devices *devices = xcalloc(1, sizeof(*devices));

	read_block(devices);
	read_partitions(devices);
	return devices;
}

static void print(FILE *out, const struct device *device, const char *behind)
{
	AUTO_FREE char *name =
		behind ? xasprintf("%s (%s)", device->name, behind) : xstrdup(device->name);

	dump_print_device(out, &(struct fact_name){ .nr = device->nr, .name = name });
}

static bool same(const char *a, const char *b)
{
	return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

/* What is now, as far as it is not what was before; 'before' may be NULL. */
static void print_new(FILE *out, const struct devices *now, const struct devices *before)
{
	for (size_t i = 0; i < now->count; i++) {
		const struct device *device = &now->at[i];
		const struct device *was = before ? devices_find(before, device->nr) : NULL;

		if (!was || (!was->behind && device->behind))
			print(out, device, device->behind);
		else if (was->behind && device->behind && !same(was->behind, device->behind))
			print(out, device, NULL);
	}
}

static void devices_append(int kernel_fd, const struct devices *now, const struct devices *before)
{
	int fd = openat(kernel_fd, "dump.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "a");

	if (!out) {
		mem_close_fd(&fd); /* there is no dump: that is told */
		return;
	}
	print_new(out, now, before);
	(void)fclose(out); /* names that are missing show as numbers */
}

struct devices *devices_begin(int kernel_fd)
{
	struct devices *devices = devices_read();

	devices_append(kernel_fd, devices, NULL);
	return devices;
}

void devices_end(const struct devices *devices, int kernel_fd)
{
	struct devices *now = devices_read();

	devices_append(kernel_fd, now, devices);
	devices_free(now);
}

void devices_free(struct devices *devices)
{
	if (!devices)
		return;
	for (size_t i = 0; i < devices->count; i++) {
		free(devices->at[i].name);
		free(devices->at[i].behind);
	}
	free(devices->at);
	free(devices);
}
