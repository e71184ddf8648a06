/* knobs.c - a table of the files of cgroups that hold tasks back, and who reads them. */
#include "accounts/knobs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "accounts/cpus.h"
#include "accounts/proc.h"
#include "proc/stat.h"

#define UNLIMITED	   (UINT64_C(1) << 60) /* the first hierarchy writes a number near 2^63 */
#define IOPRIO_OF_PROCESS  1
#define IOPRIO_CLASS_SHIFT 13

struct knob_file {
	enum delays_knob knob;
	const char *controller; /* its hierarchy of the first kind; NULL = the second kind */
	const char *file;
	uint64_t weight;     /* the default of a weight; 0 = it is a limit */
	const char *counter; /* a file that counts how often it held back; NULL = none does */
	const char *hits;    /* what stands before the number in that file; "" = nothing */
	const char *held;    /* likewise the time; NULL = it has none */
	uint64_t held_unit_ns;
};

static const struct knob_file knob_files[] = {
	{ DELAYS_KNOB_CPU_MAX, NULL, "cpu.max", 0, "cpu.stat", "nr_throttled ", "throttled_usec ",
	  1000 },
	{ DELAYS_KNOB_CPU_MAX, "cpu", "cpu.cfs_quota_us", 0, "cpu.stat", "nr_throttled ",
	  "throttled_time ", 1 },
	{ DELAYS_KNOB_CPU_WEIGHT, NULL, "cpu.weight", 100 },
	{ DELAYS_KNOB_CPU_WEIGHT, "cpu", "cpu.shares", 1024 },
	{ DELAYS_KNOB_IO_MAX, NULL, "io.max", 0 },
	{ DELAYS_KNOB_IO_WEIGHT, NULL, "io.weight", 100 },
	{ DELAYS_KNOB_MEMORY_HIGH, NULL, "memory.high", 0, "memory.events.local", "high " },
	{ DELAYS_KNOB_MEMORY_MAX, NULL, "memory.max", 0, "memory.events.local", "max " },
	{ DELAYS_KNOB_MEMORY_MAX, "memory", "memory.limit_in_bytes", 0, "memory.failcnt", "" },
};

/* Where hierarchies are mounted by custom; the second kind also below the first. */
static const char *const unified_places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

void delays_knobs_fini(struct delays_knobs *knobs)
{
	for (size_t i = 0; i < DELAYS_KNOBS; i++)
		free(knobs->settings[i].folder);
	*knobs = (struct delays_knobs){ 0 };
}

/* ----------------------------------------------------------------- one cgroup */

static bool is_below_default(const struct knob_file *file, const char *value)
{
	size_t word = strncmp(value, "default ", 8) == 0 ? 8 : 0; /* of io.weight */
	uint64_t weight = strtoull(value + word, NULL, 10);

	return weight > 0 && weight < file->weight;
}

static bool is_limit(const char *value)
{
	if (!value[0] || strncmp(value, "max", 3) == 0 || value[0] == '-')
		return false;
	return strtoull(value, NULL, 10) < UNLIMITED;
}

/* Look at one file of one cgroup. Returns whether it holds its tasks back. */
static bool read_setting(const struct knob_file *file, const char *folder,
			 struct delays_setting *out_setting)
{
	struct delays_setting setting = { .binds = true, .file = file->file };
	AUTO_FREE char *path = xasprintf("%s/%s", folder, file->file);
	char text[4096];

	if (delays_proc_read(path, text, sizeof(text)) < 0)
		return false;
	snprintf(setting.value, sizeof(setting.value), "%.*s", (int)strcspn(text, "\n"), text);
	if (file->weight ? !is_below_default(file, setting.value) : !is_limit(setting.value))
		return false;
	if (file->counter) {
		AUTO_FREE char *counter = xasprintf("%s/%s", folder, file->counter);

		if (delays_proc_read(counter, text, sizeof(text)) < 0)
			return false;
		setting.hits = delays_proc_number(text, file->hits);
		if (file->held)
			setting.held_ns = delays_proc_number(text, file->held) * file->held_unit_ns;
		if (!setting.hits)
			return false;
	}
	*out_setting = setting;
	return true;
}

/* Does this one hold back more than what was found below it? */
static bool binds_more(const struct knob_file *file, const struct delays_setting *one,
		       const struct delays_setting *than)
{
	if (!than->binds)
		return true;
	if (!file->weight)
		return one->hits > than->hits;
	return strtoull(one->value + strcspn(one->value, "0123456789"), NULL, 10) <
	       strtoull(than->value + strcspn(than->value, "0123456789"), NULL, 10);
}

/* --------------------------------------------------------------- the way to the root */

/* "/a/b" out of a line of /proc/PID/cgroup; NULL when it is not there or leads outside. */
static char *knobs_cgroup_of(const char *text, const char *controller)
{
	for (const char *line = text; line && *line; line += *line == '\n') {
		const char *names = strchr(line, ':');
		const char *path = names ? strchr(names + 1, ':') : NULL;
		size_t length = path ? (size_t)(path - names - 1) : 0;
		bool is_it = path && length == strlen(controller) &&
			     strncmp(names + 1, controller, length) == 0;

		line += strcspn(line, "\n");
		if (is_it && path < line) {
			char *cgroup = xstrndup(path + 1, (size_t)(line - path - 1));

			if (cgroup[0] == '/' && !strstr(cgroup, "/.."))
				return cgroup;
			free(cgroup);
			return NULL;
		}
	}
	return NULL;
}

/* The cgroup at 'place' and those above it; the mount itself is the root. */
static void knobs_read_path(const struct knob_file *file, const char *place, const char *cgroup,
			    struct delays_setting *setting)
{
	AUTO_FREE char *folder = xasprintf("%s%s", place, cgroup);
	size_t mount = strlen(place);

	for (;;) {
		struct delays_setting found;
		char *slash;

		if (read_setting(file, folder, &found) && binds_more(file, &found, setting)) {
			free(setting->folder);
			*setting = found;
			setting->folder = xstrdup(folder);
		}
		slash = strrchr(folder + mount, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

static void read_cgroups(const char *root, int32_t tgid, struct delays_knobs *knobs)
{
	AUTO_FREE char *path = xasprintf("%s/proc/%d/cgroup", root, tgid);
	char text[4096];

	if (delays_proc_read(path, text, sizeof(text)) <= 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(knob_files); i++) {
		const struct knob_file *file = &knob_files[i];
		AUTO_FREE char *cgroup =
			knobs_cgroup_of(text, file->controller ? file->controller : "");
		struct delays_setting *setting = &knobs->settings[file->knob];

		for (size_t k = 0; k < ARRAY_LEN(unified_places) && cgroup; k++) {
			AUTO_FREE char *place =
				file->controller
					? xasprintf("%s/sys/fs/cgroup/%s", root, file->controller)
					: xasprintf("%s%s", root, unified_places[k]);

			knobs_read_path(file, place, cgroup, setting);
			if (file->controller)
				break;
		}
	}
}

/* ----------------------------------------------------------------- the process itself */

static void knobs_read_stat(const char *root, int32_t tgid, struct delays_knobs *knobs)
{
	AUTO_FREE char *path = xasprintf("%s/proc/%d/stat", root, tgid);
	char line[STAT_BYTES_MAX];
	struct proc_stat stat;

	if (!stat_read(AT_FDCWD, path, line, &stat) || stat.last < STAT_POLICY)
		return;
	knobs->is_kernel = stat.field[STAT_FLAGS] & STAT_KERNEL_THREAD;
	knobs->nice = (int32_t)stat.field[STAT_NICE];
	knobs->policy = (uint32_t)stat.field[STAT_POLICY];
	knobs->has_nice = true;
}

static uint32_t cpus_in(const char *text)
{
	AUTO_FREE char *list = xstrndup(text, strcspn(text, "\n"));
	struct delays_cpus cpus;
	uint32_t count;

	if (delays_cpus_parse(list, &cpus, NULL) < 0)
		return 0;
	count = (uint32_t)cpus.count;
	delays_cpus_fini(&cpus);
	return count;
}

static void read_affinity(const char *root, int32_t tgid, struct delays_knobs *knobs)
{
	AUTO_FREE char *status = xasprintf("%s/proc/%d/status", root, tgid);
	AUTO_FREE char *online = xasprintf("%s/sys/devices/system/cpu/online", root);
	const char *list = NULL;
	char text[16384];

	if (delays_proc_read(status, text, sizeof(text)) > 0)
		list = strstr(text, "\nCpus_allowed_list:\t");
	if (list)
		knobs->cpus_allowed = cpus_in(strchr(list, '\t') + 1);
	if (delays_proc_read(online, text, sizeof(text)) > 0)
		knobs->cpus_online = cpus_in(text);
}

void delays_knobs_read(const char *root, int32_t tgid, struct delays_knobs *out_knobs)
{
	struct delays_knobs knobs = { 0 };
	long io = root[0] ? -1 : syscall(SYS_ioprio_get, IOPRIO_OF_PROCESS, tgid);

	knobs_read_stat(root, tgid, &knobs);
	read_affinity(root, tgid, &knobs);
	read_cgroups(root, tgid, &knobs);
	if (io >= 0) {
		knobs.has_io_priority = true;
		knobs.io_class = (uint32_t)io >> IOPRIO_CLASS_SHIFT;
		knobs.io_level = (uint32_t)io & 7;
	}
	*out_knobs = knobs;
}
