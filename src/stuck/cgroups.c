/* cgroups.c - see cgroups.h. Both versions, where distributions mount them. */
#include "stuck/cgroups.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/look.h"

#define TEXT_BYTES 4096
#define PATH_BYTES 1024
#define LEVELS_MAX 32

/* A controller, and where its files are. */
struct hierarchy {
	const char *controller; /* "" = of the unified hierarchy */
	const char *root;
};

static const struct hierarchy freezers[] = {
	{ "freezer", "/sys/fs/cgroup/freezer" },
	{ "", "/sys/fs/cgroup" },
	{ "", "/sys/fs/cgroup/unified" },
};

static const struct hierarchy quotas[] = {
	{ "cpu", "/sys/fs/cgroup/cpu" },
	{ "cpu", "/sys/fs/cgroup/cpu,cpuacct" },
	{ "", "/sys/fs/cgroup" },
	{ "", "/sys/fs/cgroup/unified" },
};

/* The path of the cgroup below its root; false = the process has none there. */
static bool cgroup_path(const char *text, const char *controller, char path[PATH_BYTES])
{
	const char *at = proc_cgroup_path(text, controller);
	size_t length;

	if (!at)
		return false;
	length = strcspn(at, "\n");
	if (at[0] != '/' || length >= PATH_BYTES || strstr(at, "/..") == at)
		return false;
	memcpy(path, at, length);
	path[length] = '\0';
	return true;
}

static bool cgroup_read(const char *root, const char *path, const char *file, char text[TEXT_BYTES])
{
	AUTO_FREE char *name = xasprintf("%s%s/%s", root, path, file);

	return proc_read(AT_FDCWD, name, text, TEXT_BYTES) > 0;
}

bool cgroup_is_frozen(struct look *look, struct process *process)
{
	char own[TEXT_BYTES], text[TEXT_BYTES], path[PATH_BYTES];

	if (look_file(look, process, "cgroup", own, sizeof(own)) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(freezers); i++) {
		if (!cgroup_path(own, freezers[i].controller, path))
			continue;
		if (cgroup_read(freezers[i].root, path, "freezer.state", text) &&
		    strncmp(text, "FROZEN", 6) == 0)
			return true;
		if (cgroup_read(freezers[i].root, path, "cgroup.events", text) &&
		    strstr(text, "frozen 1"))
			return true;
	}
	return false;
}

static bool read_count(const char *text, const char *name, uint64_t *out_count)
{
	const char *at = strstr(text, name);

	return at && sscanf(at + strlen(name), " %" SCNu64, out_count) == 1;
}

/* Whether this one has a limit, and how often that was reached. */
static bool quota_of(const char *root, const char *path, uint64_t *out_hit, uint64_t *out_periods)
{
	char text[TEXT_BYTES];
	bool is_limited =
		(cgroup_read(root, path, "cpu.max", text) && strncmp(text, "max", 3) != 0) ||
		(cgroup_read(root, path, "cpu.cfs_quota_us", text) && text[0] != '-');

	return is_limited && cgroup_read(root, path, "cpu.stat", text) &&
	       read_count(text, "nr_throttled", out_hit) &&
	       read_count(text, "nr_periods", out_periods) && *out_hit > 0;
}

static bool quota_above(const char *root, char path[PATH_BYTES], char *text, size_t bytes)
{
	uint64_t hit, periods;

	for (int level = 0; level < LEVELS_MAX && path[0] == '/' && path[1]; level++) {
		if (quota_of(root, path, &hit, &periods)) {
			snprintf(text, bytes,
				 "CPU quota of cgroup %.100s, used up in %" PRIu64 " of %" PRIu64
				 " periods",
				 path, hit, periods);
			return true;
		}
		*strrchr(path, '/') = '\0';
	}
	return false;
}

bool cgroup_quota(struct look *look, struct process *process, char *text, size_t bytes)
{
	char own[TEXT_BYTES], path[PATH_BYTES];

	if (look_file(look, process, "cgroup", own, sizeof(own)) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(quotas); i++) {
		if (cgroup_path(own, quotas[i].controller, path) &&
		    quota_above(quotas[i].root, path, text, bytes))
			return true;
	}
	return false;
}

static const struct hierarchy throttles[] = {
	{ "blkio", "/sys/fs/cgroup/blkio" },
	{ "", "/sys/fs/cgroup" },
	{ "", "/sys/fs/cgroup/unified" },
};

/* What follows "254:0 " in the line of that disk; NULL = there is none. */
static const char *line_of(const char *text, const char *disk)
{
	size_t length = strlen(disk);

	while (*text && (strncmp(text, disk, length) != 0 || text[length] != ' ')) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return *text ? text + length + 1 : NULL;
}

static void add_limit(char *limits, size_t bytes, const char *name, const char *lead,
		      uint64_t limit)
{
	size_t used = strlen(limits);

	snprintf(limits + used, bytes - used, "%s%s%s%" PRIu64, used ? ", " : "", name, lead,
		 limit);
}

/* Version 1: only its own cgroup counts, and not where the kernel writes later. */
static bool limits_of_first(const char *root, const char *path, const char *disk, enum cgroup_io io,
			    char *limits, size_t bytes)
{
	static const char *const files[2][2] = {
		{ "blkio.throttle.read_bps_device", "blkio.throttle.read_iops_device" },
		{ "blkio.throttle.write_bps_device", "blkio.throttle.write_iops_device" },
	};
	char text[TEXT_BYTES];
	uint64_t limit;

	for (int i = 0; i < 2 && io != CGROUP_FLUSHES; i++) {
		const char *file = files[io == CGROUP_WRITES][i], *line;

		if (!cgroup_read(root, path, file, text))
			continue;
		if (!disk)
			return true;
		line = line_of(text, disk);
		if (line && sscanf(line, "%" SCNu64, &limit) == 1)
			add_limit(limits, bytes, file, " ", limit);
	}
	return limits[0] != '\0';
}

/* "254:0 rbps=4096 wbps=max riops=max wiops=max" */
static bool limits_of_unified(const char *root, const char *path, const char *disk,
			      enum cgroup_io io, char *limits, size_t bytes)
{
	static const char *const names[2][2] = { { "rbps=", "riops=" }, { "wbps=", "wiops=" } };
	char text[TEXT_BYTES];
	const char *line;
	uint64_t limit;

	if (!cgroup_read(root, path, "io.max", text))
		return false;
	if (!disk)
		return true;
	line = line_of(text, disk);
	if (!line)
		return false;
	text[line - text + strcspn(line, "\n")] = '\0';
	for (int i = 0; i < 2; i++) {
		const char *name = names[io != CGROUP_READS][i], *at = strstr(line, name);

		if (at && sscanf(at + strlen(name), "%" SCNu64, &limit) == 1)
			add_limit(limits, bytes, limits[0] ? "" : "io.max ", name, limit);
	}
	return limits[0] != '\0';
}

bool cgroup_io_limit(struct look *look, struct process *process, const char *disk,
		     enum cgroup_io io, char *text, size_t bytes)
{
	char own[TEXT_BYTES], path[PATH_BYTES], limits[160] = "";
	bool is_found = false;

	if (look_file(look, process, "cgroup", own, sizeof(own)) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(throttles) && !is_found; i++) {
		const char *root = throttles[i].root;

		if (!cgroup_path(own, throttles[i].controller, path))
			continue;
		if (*throttles[i].controller) {
			is_found = limits_of_first(root, path, disk, io, limits, sizeof(limits));
			continue;
		}
		for (int level = 0; level < LEVELS_MAX && path[0] == '/' && path[1]; level++) {
			is_found = limits_of_unified(root, path, disk, io, limits, sizeof(limits));
			if (is_found)
				break;
			*strrchr(path, '/') = '\0';
		}
	}
	return is_found &&
	       (!disk || (size_t)snprintf(text, bytes, "I/O limit of cgroup %.100s (%s)", path,
					  limits) < bytes);
}
