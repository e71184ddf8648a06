/*
 * fsync-kworker.c - writing new data and fsync(): the disk, through the kernel's own threads.
 *
 * On most file systems the end of the writing is handled by a kworker or by the
 * journal's thread, which then wakes the caller. They work hardly at
 * all: the disk does.
 */
#include "cold.h"

#define BLOCKS	   4 /* much for the disk to do, and few calls that cost this thread time */
#define PART_BYTES ((off_t)BLOCKS * COLD_BLOCK)

static const struct example example = {
	.name = "fsync-kworker",
	.shows = "A program writes 4 MiB to a file and calls fsync(), again and again for 300 ms.\n"
		 "Kernel threads finish the writing and wake it. The answer is the disk.",
	.wants_dir = true,
};

static int temporary_file(const struct run *run)
{
	/* Past the page cache, where that goes: copying is work of this thread. */
	int flags = O_TMPFILE | O_WRONLY | O_CLOEXEC;
	int fd = open(disk_dir(run), flags | O_DIRECT, 0600);

	if (fd < 0 && errno == EINVAL)
		fd = open(disk_dir(run), flags, 0600);
	if (run->prepare)
		exit(EXIT_SUCCESS);
	if (fd < 0)
		skip("the file system has no O_TMPFILE");
	return fd;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root root = { .tid = getpid(), .comm = "fsync-kworker" };
	int fd = temporary_file(&run);
	uint64_t *block = new_block();
	uint64_t start_ns = now_ns();
	struct spent mark, spent;
	uint32_t count = 0;
	char note[64];

	fill_block(block, start_ns);
	mark = spent_mark();
	do {
		for (off_t i = 0; i < BLOCKS; i++) {
			if (pwrite(fd, block, COLD_BLOCK, i * COLD_BLOCK) != COLD_BLOCK)
				fail("write");
		}
		if (fsync(fd) < 0)
			fail("fsync");
		count++;
		/* New every time, in blocks and memory that are already there. */
		if (fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, PART_BYTES) < 0 && errno != EOPNOTSUPP)
			fail("fallocate");
	} while (now_ns() - start_ns < run_ms(&run, 300));
	spent = spent_since(mark);
	root.ns = spent_blocked_ns(spent);
	snprintf(note, sizeof(note), "%u calls of fsync", count);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "disk",
				     .root = root,
				     .error_ns = spent_error_ns(spent),
				     .what = "the disk, in fsync",
				     .note = note,
			     });
}
