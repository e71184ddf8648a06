/*
 * replay.c - run a fuzz target over its seed files, without a fuzzer.
 *
 *	fuzz_TARGET [FILE | FOLDER]...
 *
 * Each file is fed whole, then cut at a few lengths and with single bits turned,
 * so that every build tests more than the seeds themselves. A target fails by
 * crashing; the name of the file is printed before it is fed. Output is TAP.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define CUTS  16 /* shorter copies of each file */
#define FLIPS 64 /* copies with one bit turned */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The fuzzer hands out heap blocks of the exact size, so that a sanitizer sees an overrun. */
static void feed(const uint8_t *data, size_t bytes, size_t flip_bit)
{
	uint8_t *copy = xmalloc(bytes ? bytes : 1);

	if (bytes)
		memcpy(copy, data, bytes);
	if (flip_bit / 8 < bytes)
		copy[flip_bit / 8] ^= (uint8_t)(1u << (flip_bit % 8));
	LLVMFuzzerTestOneInput(copy, bytes);
	free(copy);
}

static void feed_variants(const uint8_t *data, size_t bytes)
{
	uint32_t random = 1;

	feed(data, bytes, SIZE_MAX);
	for (size_t i = 0; i < CUTS; i++)
		feed(data, bytes * i / CUTS, SIZE_MAX);
	for (size_t i = 0; i < FLIPS && bytes; i++) {
		random = random * 1664525u + 1013904223u;
		feed(data, bytes, random % (bytes * 8));
	}
}

struct tally {
	int files;
	int bad;
};

static void replay_file(const char *path, struct tally *tally)
{
	AUTO_FILE FILE *file = fopen(path, "rb");
	AUTO_FREE uint8_t *data = NULL;
	struct stat st;

	tally->files++;
	if (!file || fstat(fileno(file), &st) < 0) {
		printf("not ok - %s: %s\n", path, strerror(errno));
		tally->bad++;
		return;
	}
	data = xmalloc((size_t)st.st_size + 1);
	feed_variants(data, fread(data, 1, (size_t)st.st_size, file));
	printf("ok - %s\n", path);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay_folder(const char *path, struct tally *tally)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		char *file = xasprintf("%s/%s", path, entries[i]->d_name);

		replay_file(file, tally);
		free(file);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	struct tally tally = { .files = 1 };
	struct stat st;

	setvbuf(stdout, NULL, _IOLBF, 0);
	feed_variants(NULL, 0);
	printf("ok - nothing at all\n");
	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			replay_folder(argv[i], &tally);
		else
			replay_file(argv[i], &tally);
	}
	printf("1..%d\n", tally.files);
	return tally.bad ? 1 : 0;
}
