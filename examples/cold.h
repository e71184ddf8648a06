/*
 * cold.h - a data file on a block device, for the examples that wait for a disk.
 *
 * The file is made once and kept, so that later runs only read it: writing it
 * is a wait for the disk as well. --prepare makes it and does nothing else.
 */
#ifndef EXAMPLES_COLD_H
#define EXAMPLES_COLD_H

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "truth.h"

#define COLD_BYTES (32u << 20)
#define COLD_BLOCK (1u << 20)

/* True when files in 'dir' live on a block device that the kernel knows by number. */
static inline bool on_block_device(const char *dir)
{
	char path[64];
	struct stat st;

	if (!dir || stat(dir, &st) < 0 || major(st.st_dev) == 0 || access(dir, W_OK) < 0)
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	return access(path, F_OK) == 0;
}

static inline const char *disk_dir(const struct run *run)
{
	const char *const dirs[] = { getenv("TMPDIR"), "/var/tmp", "/tmp", ".", getenv("HOME") };

	if (run->dir) {
		if (!on_block_device(run->dir))
			skip("the folder is not on a block device, or not writable");
		return run->dir;
	}
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (on_block_device(dirs[i]))
			return dirs[i];
	skip("no writable folder on a block device; give one with --dir");
}

/* Bytes that neither compress nor repeat. */
static inline void fill_block(uint64_t *block, uint64_t seed)
{
	for (size_t i = 0; i < COLD_BLOCK / sizeof(*block); i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		block[i] = seed ^ seed >> 29;
	}
}

static inline uint64_t *new_block(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 4096, COLD_BLOCK) != 0)
		fail("posix_memalign");
	return block;
}

static inline void cold_write(const char *path)
{
	uint64_t *block = new_block();
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		fail(path);
	for (uint64_t off = 0; off < COLD_BYTES; off += COLD_BLOCK) {
		fill_block(block, off + 1);
		if (write(fd, block, COLD_BLOCK) != COLD_BLOCK)
			fail(path);
	}
	if (fsync(fd) < 0)
		fail(path);
	close(fd);
	free(block);
}

/*
 * Open the data file, making it when it is missing or not whole, and drop it from
 * the page cache. Ends the program after --prepare.
 */
static inline int cold_open(const struct run *run, int flags)
{
	char path[4096];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/holdup-example-%u.data", disk_dir(run), geteuid());
	if (lstat(path, &st) < 0 || st.st_size != COLD_BYTES || st.st_uid != geteuid()) {
		(void)unlink(path); /* a leftover of a run that was cut short */
		cold_write(path);
	}
	if (run->prepare)
		exit(EXIT_SUCCESS);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);
	if (fd < 0 && errno == EINVAL)
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	if (posix_fadvise(fd, 0, COLD_BYTES, POSIX_FADV_DONTNEED) != 0)
		skip("the page cache of the data file cannot be dropped");
	return fd;
}

#endif
