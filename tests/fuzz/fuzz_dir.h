/*
 * fuzz_dir.h - a trace directory in memory-backed storage, rewritten for each input.
 */
#ifndef FUZZ_FUZZ_DIR_H
#define FUZZ_FUZZ_DIR_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_dir[64];

static inline void fuzz_dir_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", fuzz_dir);
	if (system(command) != 0)
		perror(fuzz_dir);
}

/* The folder of this process, made at the first call and removed at exit. */
static inline const char *fuzz_dir_path(void)
{
	char kernel[96];

	if (fuzz_dir[0])
		return fuzz_dir;
	strcpy(fuzz_dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/holdup-fuzz-XXXXXX"
						       : "/tmp/holdup-fuzz-XXXXXX");
	if (!mkdtemp(fuzz_dir))
		abort();
	snprintf(kernel, sizeof(kernel), "%s/kernel", fuzz_dir);
	if (mkdir(kernel, 0700) < 0)
		abort();
	atexit(fuzz_dir_remove);
	return fuzz_dir;
}

static inline void fuzz_file(const char *name, const void *bytes, size_t count)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", fuzz_dir_path(), name);
	file = fopen(path, "wb");
	if (!file)
		abort();
	if (count && fwrite(bytes, 1, count, file) != count)
		abort();
	fclose(file);
}

#endif
