/* flight_share.c - see flight_share.h. */
#include "cli/flight_share.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/flight_store.h"
#include "report/flight.h"

#define SYMBOLS	    "kallsyms"
#define SYMBOLS_NEW "kallsyms.new" /* the link that takes its place */
#define PART	    65536u
#define LOOK_MOST   4 /* earlier snapshots */

static int open_kernel(int dir_fd, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s" FLIGHT_TRACE "/kernel", name);

	return file_open_beneath(dir_fd, path, O_RDONLY | O_DIRECTORY);
}

static int open_symbols(int kernel_fd)
{
	return openat(kernel_fd, SYMBOLS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static bool has_same_bytes(int fd, int other_fd, uint64_t bytes)
{
	AUTO_FREE char *part = xmalloc(PART);
	AUTO_FREE char *other = xmalloc(PART);

	for (uint64_t at = 0; at < bytes;) {
		size_t count = file_read_at(fd, at, part, PART);

		if (!count || file_read_at(other_fd, at, other, count) != count ||
		    memcmp(part, other, count) != 0)
			return false;
		at += count;
	}
	return true;
}

/* Two files, which could be one. */
static bool may_share(int fd, int other_fd)
{
	struct stat st, other;

	return fstat(fd, &st) == 0 && fstat(other_fd, &other) == 0 && S_ISREG(st.st_mode) &&
	       S_ISREG(other.st_mode) && st.st_dev == other.st_dev && st.st_ino != other.st_ino &&
	       st.st_uid == other.st_uid && st.st_mode == other.st_mode &&
	       st.st_size == other.st_size && st.st_size > 0 &&
	       has_same_bytes(fd, other_fd, (uint64_t)st.st_size);
}

static bool share_with(int dir_fd, int kernel_fd, int symbols_fd, const char *other)
{
	AUTO_CLOSE int other_kernel_fd = open_kernel(dir_fd, other);
	AUTO_CLOSE int other_fd = other_kernel_fd < 0 ? -1 : open_symbols(other_kernel_fd);

	if (other_fd < 0 || !may_share(symbols_fd, other_fd))
		return false;
	(void)unlinkat(kernel_fd, SYMBOLS_NEW, 0);
	if (linkat(other_kernel_fd, SYMBOLS, kernel_fd, SYMBOLS_NEW, 0) < 0)
		return false;
	if (renameat(kernel_fd, SYMBOLS_NEW, kernel_fd, SYMBOLS) == 0)
		return true;
	(void)unlinkat(kernel_fd, SYMBOLS_NEW, 0);
	return false;
}

void flight_share_symbols(int dir_fd, const char *name)
{
	AUTO_CLOSE int kernel_fd = open_kernel(dir_fd, name);
	AUTO_CLOSE int symbols_fd = kernel_fd < 0 ? -1 : open_symbols(kernel_fd);
	struct flight_list list;
	size_t looked = 0;

	if (symbols_fd < 0 || flight_store_list(dir_fd, &list) < 0)
		return;
	for (size_t i = list.count; i > 0 && looked < LOOK_MOST; i--) {
		const char *other = list.rows[i - 1].name;

		if (strcmp(other, name) == 0)
			continue;
		looked++;
		if (share_with(dir_fd, kernel_fd, symbols_fd, other))
			break;
	}
	flight_list_fini(&list);
}
