/* proc.c - files of /proc as numbers. */
#include "accounts/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "proc/stat.h"

#define NS_PER_S 1000000000u

uint64_t delays_now_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

int delays_proc_read(const char *path, char *text, size_t bytes)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, bytes - 1);

	if (got < 0)
		return -errno;
	text[got] = '\0';
	return (int)got;
}

uint64_t delays_proc_number(const char *text, const char *name)
{
	const char *at = text;

	while (at && strncmp(at, name, strlen(name)) != 0) {
		at = strchr(at, '\n');
		at += at != NULL;
	}
	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static uint64_t line_value(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool add_thread_io(int32_t tgid, int32_t tid, struct delays_stats *stats)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/io", tgid, tid);
	if (delays_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	stats->read_chars += line_value(text, "rchar: ");
	stats->write_chars += line_value(text, "wchar: ");
	stats->read_calls += line_value(text, "syscr: ");
	stats->write_calls += line_value(text, "syscw: ");
	stats->read_bytes += line_value(text, "\nread_bytes: ");
	stats->write_bytes += line_value(text, "\nwrite_bytes: ");
	stats->cancelled_bytes += line_value(text, "cancelled_write_bytes: ");
	return true;
}

static bool add_process_io(int32_t tgid, struct delays_stats *stats)
{
	struct dirent *entry;
	bool found = false;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);

		found = (tid > 0 && add_thread_io(tgid, tid, stats)) || found;
	}
	if (dir)
		closedir(dir);
	return found;
}

bool delays_proc_io(int32_t tgid, int32_t tid, bool is_process, struct delays_stats *stats)
{
	struct delays_stats io = { 0 };

	if (is_process ? !add_process_io(tgid, &io) : !add_thread_io(tgid, tid, &io))
		return false;
	stats->read_chars = io.read_chars;
	stats->write_chars = io.write_chars;
	stats->read_calls = io.read_calls;
	stats->write_calls = io.write_calls;
	stats->read_bytes = io.read_bytes;
	stats->write_bytes = io.write_bytes;
	stats->cancelled_bytes = io.cancelled_bytes;
	stats->has |= DELAYS_HAS_IO | DELAYS_HAS_CALLS;
	return true;
}

static bool proc_read_stat(int32_t tgid, int32_t tid, struct delays_stats *stats)
{
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK), now_ns = delays_now_ns();
	char path[64], line[STAT_BYTES_MAX];
	struct proc_stat stat;
	uint64_t birth_ns;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", tgid, tid);
	if (!stat_read(AT_FDCWD, path, line, &stat))
		return false;
	stat_copy_comm(&stat, stats->name, sizeof(stats->name));
	stats->ppid = (int32_t)stat.field[STAT_PPID];
	stats->user_us = stat.field[STAT_USER] * tick_ns / 1000;
	stats->system_us = stat.field[STAT_SYSTEM] * tick_ns / 1000;
	birth_ns = stat.field[STAT_BIRTH] * tick_ns;
	stats->life_us = now_ns > birth_ns ? (now_ns - birth_ns) / 1000 : 0;
	stats->delay[DELAYS_DISK].total_ns = stat.field[STAT_DISK] * tick_ns;
	return true;
}

bool delays_proc_thread(int32_t tgid, int32_t tid, struct delays_stats *out_stats)
{
	struct delays_stats stats = { .tid = tid, .tgid = tgid, .has = DELAYS_HAS_TGID };
	struct delays_delay *cpu = &stats.delay[DELAYS_CPU];
	char path[64], text[128];

	if (!proc_read_stat(tgid, tid, &stats))
		return false;
	stats.has |= DELAYS_HAS_BASIC;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", tgid, tid);
	if (delays_proc_read(path, text, sizeof(text)) > 0 &&
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &stats.run_ns, &cpu->total_ns,
		   &cpu->count) == 3) {
		stats.has |= DELAYS_HAS_RUN;
		stats.classes |= 1u << DELAYS_CPU;
	}
	*out_stats = stats;
	return true;
}

void delays_proc_cgroup(int32_t tgid, char *path, size_t bytes)
{
	char name[64], text[4096];
	const char *line;
	size_t length;

	path[0] = '\0';
	snprintf(name, sizeof(name), "/proc/%d/cgroup", tgid);
	if (delays_proc_read(name, text, sizeof(text)) <= 0)
		return;
	line = proc_cgroup_path(text, "");
	if (!line || strncmp(line, "/\n", 2) == 0)
		line = strchr(text, '/');
	if (!line)
		return;
	length = strcspn(line, "\n");
	snprintf(path, bytes, "%.*s", (int)length, line);
}

bool delays_proc_hides(void)
{
	return access("/proc/self", F_OK) == 0 && access("/proc/1", F_OK) < 0;
}
