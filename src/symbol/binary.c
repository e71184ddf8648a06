/*
 * binary.c - which file a name means.
 *
 * The loader's cache (glibc's sysdeps/generic/dl-cache.h) is a head, entries of fixed
 * size and their strings, whose offsets count from the head. Older files have a head
 * of an older kind before it.
 */
#include "symbol/binary.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define CACHE_MAX_BYTES (16u << 20)
#define CACHE_MAGIC	"glibc-ld.so.cache1.1"
#define ENTRY_BYTES	24
#define HEAD_BYTES	48

#if defined(__x86_64__)
#define CACHE_FLAGS 0x0303 /* a library of the C library 6, of this machine */
#define MULTIARCH   "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define CACHE_FLAGS 0x0a03
#define MULTIARCH   "aarch64-linux-gnu"
#else
#define CACHE_FLAGS 0x0003
#define MULTIARCH   "."
#endif

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static char *absolute(const char *path)
{
	AUTO_FREE char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

	while (here && !strncmp(path, "./", 2))
		path += 2;
	return here ? xasprintf("%s/%s", here, path) : xstrdup(path);
}

static char *search_path(const char *name)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t bytes = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)bytes, path, name);

		if (bytes && path[0] == '/' && is_file(file) && access(file, X_OK) == 0)
			return file;
		free(file);
		path += bytes + (path[bytes] == ':');
	}
	return NULL;
}

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Is 'library' what was asked for: the same, or with ".so..." behind it? */
static bool library_is_named(const char *library, const char *name)
{
	size_t bytes = strlen(name);

	return strncmp(library, name, bytes) == 0 &&
	       (!library[bytes] ||
		(!strstr(name, ".so") && strncmp(library + bytes, ".so", 3) == 0));
}

/* A terminated text of the cache; NULL when it is none. */
static const char *string_at(const uint8_t *head, size_t left, uint32_t offset)
{
	if (offset >= left || !memchr(head + offset, '\0', left - offset))
		return NULL;
	return (const char *)head + offset;
}

char *binary_search_cache(const uint8_t *bytes, size_t count, const char *name)
{
	const uint8_t *head = memmem(bytes, count, CACHE_MAGIC, strlen(CACHE_MAGIC));
	size_t left = head ? count - (size_t)(head - bytes) : 0;
	uint32_t entries;

	if (left < HEAD_BYTES)
		return NULL;
	entries = word_at(head + 20);
	for (uint32_t i = 0; i < entries && (left - HEAD_BYTES) / ENTRY_BYTES > i; i++) {
		const uint8_t *entry = head + HEAD_BYTES + (size_t)i * ENTRY_BYTES;
		const char *library = string_at(head, left, word_at(entry + 4));
		const char *path = string_at(head, left, word_at(entry + 8));

		if (word_at(entry) == CACHE_FLAGS && library && path && path[0] == '/' &&
		    library_is_named(library, name))
			return xstrdup(path);
	}
	return NULL;
}

static uint8_t *binary_read_file(const char *path, size_t *out_count)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	uint8_t *bytes;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > CACHE_MAX_BYTES)
		return NULL;
	bytes = xcalloc((size_t)st.st_size + 1, 1);
	got = pread(fd, bytes, (size_t)st.st_size, 0);
	*out_count = got > 0 ? (size_t)got : 0;
	return bytes;
}

char *binary_find_library(const char *name, const char *cache)
{
	static const char *const folders[] = {
		"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib", "/usr/lib"
	};
	size_t count = 0;
	AUTO_FREE uint8_t *bytes = binary_read_file(cache, &count);
	char *found = bytes ? binary_search_cache(bytes, count, name) : NULL;

	if (found && is_file(found))
		return found;
	free(found);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		char *path = xasprintf("%s/%s", folders[i], name);

		if (strstr(name, ".so") && is_file(path))
			return path;
		free(path);
	}
	return NULL;
}

int binary_find(const char *name, char **out_path, struct err *err)
{
	char *path = NULL;

	if (!name[0])
		return err_set(err, -ENOENT, "an empty name of a program");
	if (strchr(name, '/')) {
		struct stat st;

		if (stat(name, &st) < 0)
			return err_set(err, -ENOENT, "cannot find %s: %s", name, strerror(errno));
		*out_path = absolute(name);
		return 0;
	}
	path = search_path(name);
	if (!path)
		path = binary_find_library(name, BINARY_LOADER_CACHE);
	if (!path)
		return err_set(err, -ENOENT,
			       "no program on the PATH and no library is called %s%s%s", name,
			       is_file(name) ? "; for the file of this directory write ./" : "",
			       is_file(name) ? name : "");
	*out_path = path;
	return 0;
}
