/*
 * large.c - space in large pages, which cost a fifth of the small ones in their place.
 *
 * A file in memory has large pages if its file system was mounted so, which few are. But whoever
 * has it mapped may ask for them (MADV_COLLAPSE): the kernel makes one of what is there, even if
 * that is little. It may wait for all other CPUs before it does, and nobody maps memory in this
 * process meanwhile. On a machine with CPUs to spare that takes microseconds, else it may be many
 * milliseconds. So threads that log do not ask for any, nor does a helper that no other thread
 * interrupts, nor any for a while after it took long.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "probe/probe_int.h"

#define COLLAPSE 25 /* MADV_COLLAPSE, Linux 6.1 */
/* They take too long on average, or one did; then none are asked for, longer each time. */
#define LONG_NS	 UINT64_C(10000000)
#define MOST_NS	 UINT64_C(40000000)
#define REST_NS	 UINT64_C(1000000000)
#define REST_MAX UINT64_C(64000000000)

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool can_be_interrupted(void)
{
	int policy = sched_getscheduler(0);

	return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

bool large_pays(size_t bytes)
{
	return probe.large_pages && bytes % LARGE_BYTES == 0 && helper_is_me() &&
	       now_ns() >= probe.large_at && can_be_interrupted();
}

uint8_t *large_map(int fd, size_t bytes)
{
	uint8_t *all = mmap(NULL, bytes + LARGE_BYTES, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before = -(uintptr_t)all % LARGE_BYTES;

	if (all == MAP_FAILED)
		return NULL;
	if (ftruncate(fd, (off_t)bytes) < 0 || mmap(all + before, bytes, PROT_READ | PROT_WRITE,
						    MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		(void)munmap(all, bytes + LARGE_BYTES);
		return NULL;
	}
	if (before)
		(void)munmap(all, before);
	(void)munmap(all + before + bytes, LARGE_BYTES - before);
	return all + before;
}

/* Ask again at once, or after a rest. */
static void learn(bool made, uint64_t took)
{
	uint64_t rest = probe.large_rest;

	if (made)
		probe.large_took = (probe.large_took * 7 + took) / 8;
	if (made && took < MOST_NS && probe.large_took < LONG_NS) {
		probe.large_rest = rest / 2;
		return;
	}
	probe.large_took = LONG_NS / 2;
	probe.large_rest = rest < REST_NS ? REST_NS : rest > REST_MAX / 2 ? REST_MAX : rest * 2;
	probe.large_at = now_ns() + probe.large_rest;
}

bool large_fill(int fd, uint8_t *base, size_t bytes)
{
	uint64_t begin = now_ns();
	bool made = true;

	/* The kernel makes none of nothing. */
	for (size_t at = 0; made && at < bytes; at += LARGE_BYTES)
		made = fallocate(fd, 0, (off_t)at, 1) == 0;
	made = made && madvise(base, bytes, COLLAPSE) == 0;
	learn(made, now_ns() - begin);
	return made;
}
