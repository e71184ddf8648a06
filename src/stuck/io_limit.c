/* io_limit.c - see io_limit.h. No file is asked for its device: on a network that may never answer. */
#include "stuck/io_limit.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/cgroups.h"
#include "stuck/snap_int.h"

#define DEVICE_BYTES 24 /* "254:0" */
#define MOUNTS_BYTES 65536
#define LIMIT_BYTES  (STUCK_OBJECT_MAX / 2)
#define NAME_BYTES   64
#define LEAD	     "; inferred: held back by the "

/* The kernel's functions that sleep for a disk. */
static bool sleeps_for_io(const char *wchan)
{
	static const char *const parts[] = { "_dio_",	     "io_schedule",    "folio_wait",
					     "wait_on_page", "wait_on_buffer", "submit_bio_wait",
					     "blkdev_direct" };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strstr(wchan, parts[i]))
			return true;
	}
	return false;
}

static bool is_among(const char *call, const char *const *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(call, calls[i]) == 0)
			return true;
	}
	return false;
}

/* Does that call read from the descriptor that is its first argument, or write to it, now or what was written before? */
static bool moves_data(const char *call, enum cgroup_io *out_io)
{
	static const char *const reads[] = { "read", "pread64", "readv", "preadv", "preadv2" };
	static const char *const writes[] = { "write", "pwrite64", "writev", "pwritev",
					      "pwritev2" };
	static const char *const flushes[] = { "fsync", "fdatasync" };

	*out_io = CGROUP_READS;
	if (is_among(call, reads, ARRAY_LEN(reads)))
		return true;
	*out_io = CGROUP_WRITES;
	if (is_among(call, writes, ARRAY_LEN(writes)))
		return true;
	*out_io = CGROUP_FLUSHES;
	return is_among(call, flushes, ARRAY_LEN(flushes));
}

/* The first line of a file of sysfs. */
static bool read_line(char *out, size_t bytes, const char *format, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), format, name);
	if (proc_read(AT_FDCWD, path, out, bytes) <= 0)
		return false;
	out[strcspn(out, "\n")] = '\0';
	return true;
}

/* Where the file of the descriptor is, by the mount that it was opened in: "254:1". */
static bool device_of_mount(struct asleep *asleep, int32_t fd, char device[DEVICE_BYTES])
{
	static const char key[] = "mnt_id:";
	struct look *look = &asleep->snap->look;
	AUTO_FREE char *text = xmalloc(MOUNTS_BYTES);
	char name[64], info[1024];
	const char *at;
	long mount;

	snprintf(name, sizeof(name), "task/%d/fdinfo/%d", asleep->task.tid, fd);
	if (look_file(look, asleep->process, name, info, sizeof(info)) <= 0 ||
	    !(at = strstr(info, key)))
		return false;
	mount = strtol(at + sizeof(key) - 1, NULL, 10);
	if (look_file(look, asleep->process, "mountinfo", text, MOUNTS_BYTES) <= 0)
		return false;
	for (at = text; at && *at; at = strchr(at, '\n'), at += at != NULL) {
		long id;

		if (sscanf(at, "%ld %*d %23[0-9:] ", &id, device) == 2 && id == mount)
			return true;
	}
	return false;
}

/* Of a disk that is opened itself, by its name; else of the file system. */
static bool device_of(struct asleep *asleep, int32_t fd, char device[DEVICE_BYTES])
{
	char name[32], *end;
	const char *at = strstr(asleep->wait->object, " = /dev/");

	if (!at)
		return device_of_mount(asleep, fd, device);
	snprintf(name, sizeof(name), "%s", at + strlen(" = /dev/"));
	end = name + strcspn(name, ",;/ ");
	*end = '\0';
	return read_line(device, DEVICE_BYTES, "/sys/class/block/%s/dev", name);
}

/* A limit is that of the whole disk. */
static bool disk_of(const char device[DEVICE_BYTES], char disk[DEVICE_BYTES])
{
	char text[32];

	if (read_line(text, sizeof(text), "/sys/dev/block/%s/partition", device))
		return read_line(disk, DEVICE_BYTES, "/sys/dev/block/%s/../dev", device);
	memcpy(disk, device, DEVICE_BYTES);
	return true;
}

/* No request of that kind is with it. */
static bool is_idle(const char disk[DEVICE_BYTES], enum cgroup_io io)
{
	unsigned long reading, writing;
	char text[64];

	return read_line(text, sizeof(text), "/sys/dev/block/%s/inflight", disk) &&
	       sscanf(text, "%lu %lu", &reading, &writing) == 2 &&
	       !(io == CGROUP_READS ? reading : writing);
}

/* Does a limit for the disk hold it back? */
static bool is_held(struct asleep *asleep, const char disk[DEVICE_BYTES], enum cgroup_io io,
		    char limit[LIMIT_BYTES])
{
	return is_idle(disk, io) &&
	       cgroup_io_limit(&asleep->snap->look, asleep->process, disk, io, limit, LIMIT_BYTES);
}

/* It looks for a name, starts a program, or touches a page: of which file is not known. The only disk with a limit. */
static bool is_held_anywhere(struct asleep *asleep, char limit[LIMIT_BYTES])
{
	bool is_limited =
		cgroup_io_limit(&asleep->snap->look, asleep->process, NULL, CGROUP_READS, NULL, 0);
	DIR *disks = is_limited ? opendir("/sys/block") : NULL;
	char disk[DEVICE_BYTES] = "", other[LIMIT_BYTES] = "";
	const struct dirent *entry;
	int count = 0;

	while (disks && count < 2 && (entry = readdir(disks))) {
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < NAME_BYTES &&
		    read_line(disk, sizeof(disk), "/sys/block/%s/dev", entry->d_name))
			count += is_held(asleep, disk, CGROUP_READS, count ? other : limit);
	}
	if (disks)
		(void)closedir(disks);
	return count == 1;
}

static bool is_held_at_all(struct asleep *asleep, char limit[LIMIT_BYTES])
{
	char device[DEVICE_BYTES], disk[DEVICE_BYTES];
	enum cgroup_io io;

	if (!moves_data(asleep->wait->in, &io))
		return is_held_anywhere(asleep, limit);
	return device_of(asleep, (int32_t)asleep->task.args[0], device) && disk_of(device, disk) &&
	       is_held(asleep, disk, io, limit);
}

void io_limit_add(struct asleep *asleep)
{
	struct wait *wait = asleep->wait;
	size_t length = strlen(wait->object);
	char limit[LIMIT_BYTES];

	if (!sleeps_for_io(asleep->task.wchan) || !is_held_at_all(asleep, limit))
		return;
	if (length + strlen(limit) + sizeof(LEAD) > sizeof(wait->object))
		length = 0;
	snprintf(wait->object + length, sizeof(wait->object) - length, "%s%s", length ? LEAD : "",
		 limit);
	wait->limit_at = (uint16_t)(length ? length + strlen(LEAD) : 0);
	wait->is_limited = true;
}
