/* debug_file.c - see debug_file.h. */
#include "symbol/debug_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"

#define BUILD_ID_MAX 64
#define BLOCK_BYTES  65536u

static int open_by_id(const struct debug_wanted *wanted, char **out_path)
{
	char digits[2 * BUILD_ID_MAX + 1] = "";
	AUTO_FREE char *path = NULL;
	int fd;

	if (wanted->id_bytes < 2 || wanted->id_bytes > BUILD_ID_MAX)
		return -1;
	for (size_t i = 0; i < wanted->id_bytes; i++)
		snprintf(digits + 2 * i, 3, "%02x", wanted->id[i]);
	path = xasprintf("%s/.build-id/%.2s/%s.debug", wanted->root, digits, digits + 2);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		*out_path = xstrdup(path);
	return fd;
}

static bool has_crc(int fd, uint32_t wanted)
{
	AUTO_FREE uint8_t *block = xmalloc(BLOCK_BYTES);
	uLong crc = crc32(0, NULL, 0);
	uint64_t at = 0;
	ssize_t got;

	while ((got = pread(fd, block, BLOCK_BYTES, (off_t)at)) > 0 && at <= DEBUG_LINKED_BYTES) {
		crc = crc32(crc, block, (uInt)got);
		at += (uint64_t)got;
	}
	return got == 0 && crc == wanted;
}

/* Takes the path. */
static int open_linked(char *path, uint32_t crc, char **out_path)
{
	int fd = file_open_plain(path);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size <= DEBUG_LINKED_BYTES &&
	    has_crc(fd, crc)) {
		*out_path = path;
		return fd;
	}
	mem_close_fd(&fd);
	free(path);
	return -1;
}

int debug_file_open(const struct debug_wanted *wanted, char **out_path)
{
	int fd = open_by_id(wanted, out_path);
	const char *name = wanted->link, *slash = strrchr(wanted->path, '/');
	int folder;

	if (fd >= 0 || !name || !*name || strchr(name, '/') || *wanted->path != '/' || !slash)
		return fd;
	folder = (int)(slash - wanted->path);
	fd = open_linked(xasprintf("%.*s/%s", folder, wanted->path, name), wanted->link_crc,
			 out_path);
	if (fd < 0)
		fd = open_linked(xasprintf("%.*s/.debug/%s", folder, wanted->path, name),
				 wanted->link_crc, out_path);
	if (fd < 0)
		fd = open_linked(xasprintf("%s%.*s/%s", wanted->root, folder, wanted->path, name),
				 wanted->link_crc, out_path);
	return fd;
}
