/* fault-storm.c - a program touches the pages of a mapped file that is not in memory. */
#include "cold.h"

#define PAGE_BYTES 4096u
#define PAGES	   (COLD_BYTES / PAGE_BYTES)
#define STEP	   4099u /* prime: visits all pages, never neighbours */

static const struct example example = {
	.name = "fault-storm",
	.shows = "A file is mapped, dropped from the page cache, and touched page by page in a\n"
		 "scattered order for 300 ms: every touch is a page fault that reads the disk.\n"
		 "The answer is the disk.",
	.wants_dir = true,
};

/* Touch pages for 'ns'; returns how many. */
static uint32_t touch(const volatile uint8_t *map, uint64_t ns)
{
	uint64_t end_ns = now_ns() + ns;
	uint32_t count = 0;

	while (count < PAGES && now_ns() < end_ns) {
		(void)map[(size_t)(count * STEP % PAGES) * PAGE_BYTES];
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct spent mark = spent_mark(), spent;
	struct root root = { .tid = getpid(), .comm = "fault-storm" };
	int fd = cold_open(&run, 0);
	const uint8_t *map = mmap(NULL, COLD_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t start_ns;
	char note[64];

	if (map == MAP_FAILED || madvise((void *)map, COLD_BYTES, MADV_RANDOM) < 0)
		fail("mmap");
	start_ns = now_ns();
	snprintf(note, sizeof(note), "%u faults", touch(map, run_ms(&run, 300)));
	spent = spent_since(mark);
	root.ns = spent_blocked_ns(spent);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "disk",
				     .root = root,
				     .error_ns = spent_error_ns(spent),
				     .what = "page faults that read the disk",
				     .note = note,
			     });
}
