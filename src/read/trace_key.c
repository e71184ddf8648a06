/*
 * trace_key.c - go through the files of a trace, in order of their names.
 *
 * Reading gigabytes again to know that nothing changed would cost as much as what the
 * key saves. A file that was changed in place has another time of change; a copy has,
 * too, and gets an index of its own.
 */
#include "read/trace_key.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#define SAMPLES	     8
#define SAMPLE_BYTES 4096
#define MAX_DEPTH    4

struct summing {
	uint64_t sums[2];
};

static void sum(struct summing *summing, const void *bytes, size_t count)
{
	summing->sums[0] = hash_bytes(bytes, count, summing->sums[0]);
	summing->sums[1] = hash_bytes(bytes, count, ~summing->sums[1]);
}

/* Some bytes from all over the file. */
static void sum_samples(struct summing *summing, int fd, uint64_t size)
{
	uint8_t bytes[SAMPLE_BYTES];

	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint64_t room = size > SAMPLE_BYTES ? size - SAMPLE_BYTES : 0;
		ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)(room / (SAMPLES - 1) * i));

		if (got > 0)
			sum(summing, bytes, (size_t)got);
	}
}

static void sum_file(struct summing *summing, int fd, const char *name, const struct stat *stat)
{
	const uint64_t numbers[] = { (uint64_t)stat->st_size, (uint64_t)stat->st_mtim.tv_sec,
				     (uint64_t)stat->st_mtim.tv_nsec };

	sum(summing, name, strlen(name) + 1);
	sum(summing, numbers, sizeof(numbers));
	sum_samples(summing, fd, (uint64_t)stat->st_size);
}

static int wanted(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, "timeline") != 0;
}

/* No link: its target may be a device, which opening changes. */
#define OPEN_ENTRY (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)

static void sum_entry(struct summing *summing, int dir_fd, const char *name, uint32_t depth);

static void sum_dir(struct summing *summing, int fd, uint32_t depth)
{
	struct dirent **entries = NULL;
	int count = scandirat(fd, ".", &entries, wanted, alphasort);

	for (int i = 0; i < count; i++) {
		sum_entry(summing, fd, entries[i]->d_name, depth + 1);
		free(entries[i]);
	}
	free(entries);
}

/* A file that cannot be read is no part of the trace: its reader says so. */
static void sum_entry(struct summing *summing, int dir_fd, const char *name, uint32_t depth)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, OPEN_ENTRY);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0 || depth > MAX_DEPTH)
		return;
	if (S_ISDIR(stat.st_mode)) {
		sum(summing, name, strlen(name) + 1);
		sum_dir(summing, fd, depth);
	} else if (S_ISREG(stat.st_mode)) {
		sum_file(summing, fd, name, &stat);
	}
}

int read_key(const char *path, uint8_t out_key[KEY_BYTES], struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct summing summing = { { 0, 0 } };
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (S_ISDIR(stat.st_mode))
		sum_dir(&summing, fd, 0);
	else
		sum_file(&summing, fd, "", &stat);
	memcpy(out_key, summing.sums, KEY_BYTES);
	return 0;
}
