/*
 * large.c - space in large pages, which cost a fifth of the small ones in their place.
 *
 * A file in memory has large pages if its file system was mounted so, which few are. But whoever
 * has it mapped may ask for them (MADV_COLLAPSE): the kernel makes one of what is there, even if
 * that is little. That is 100 us of work for 2 MiB, where 512 small pages are 1.4 ms. But it may
 * wait for other CPUs first, until they come to it, and nobody maps memory in this process
 * meanwhile: microseconds where there are CPUs to spare, else as long as threads wait for a CPU.
 * So a thread that logs asks while that is short, or when it is one that waits for its CPU, too;
 * nobody does that no other thread interrupts, or for a while after it took really long.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/probe_int.h"

#define COLLAPSE 25 /* MADV_COLLAPSE, Linux 6.1 */
#define SHORT_NS UINT64_C(2000000)
#define TURN_NS	 UINT64_C(100000000) /* a thread that was preempted will be again within this */
/* They take too long on average, or one does; then none are asked for, longer each time. */
#define LONG_NS	 UINT64_C(50000000)
#define MOST_NS	 UINT64_C(500000000)
#define REST_NS	 UINT64_C(1000000000)
#define REST_MAX UINT64_C(64000000000)

/* Of this thread: how often it was preempted, and when that was seen. */
static __thread struct {
	long count;
	uint64_t seen_at;
} preempted __attribute__((tls_model("initial-exec")));

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

/* Does it have to share its CPU? Then it is kept from it for milliseconds, whatever it does. */
static bool is_preempted(uint64_t now)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) == 0 && usage.ru_nivcsw != preempted.count) {
		preempted.count = usage.ru_nivcsw;
		preempted.seen_at = now;
	}
	return preempted.count && now - preempted.seen_at < TURN_NS;
}

bool large_pays(size_t bytes)
{
	uint64_t now, since, waits;

	if (!probe.large_pages || bytes % LARGE_BYTES)
		return false;
	now = now_ns();
	since = __atomic_load_n(&probe.large_since, __ATOMIC_RELAXED);
	waits = since && now > since ? now - since : 0;
	/* Who waits very long may wait for a CPU where the kernel's worker never runs. */
	if (now < __atomic_load_n(&probe.large_at, __ATOMIC_RELAXED) || waits > MOST_NS ||
	    !can_be_interrupted())
		return false;
	return helper_is_me() || is_preempted(now) ||
	       (waits < SHORT_NS &&
		__atomic_load_n(&probe.large_took, __ATOMIC_RELAXED) < SHORT_NS);
}

static bool map_at(uint8_t *at, int fd, size_t bytes)
{
	return ftruncate(fd, (off_t)bytes) == 0 &&
	       mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
}

static uint8_t *map_anywhere(int fd, size_t bytes)
{
	uint8_t *all = mmap(NULL, bytes + LARGE_BYTES, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before = -(uintptr_t)all % LARGE_BYTES;

	if (all == MAP_FAILED)
		return NULL;
	if (!map_at(all + before, fd, bytes)) {
		(void)munmap(all, bytes + LARGE_BYTES);
		return NULL;
	}
	if (before)
		(void)munmap(all, before);
	(void)munmap(all + before + bytes, LARGE_BYTES - before);
	return all + before;
}

uint8_t *large_map(int fd, size_t bytes, uint8_t *kept)
{
	if (!kept || (uintptr_t)kept % LARGE_BYTES)
		return map_anywhere(fd, bytes);
	return map_at(kept, fd, bytes) ? kept : NULL;
}

/* Ask again at once, or after a rest. Of threads that learn at once one may be forgotten. */
static void learn(bool made, uint64_t took, uint64_t now)
{
	uint64_t rest = __atomic_load_n(&probe.large_rest, __ATOMIC_RELAXED);
	uint64_t mean = __atomic_load_n(&probe.large_took, __ATOMIC_RELAXED);

	if (made)
		mean = (mean * 15 + took) / 16;
	if (made && took < MOST_NS && mean < LONG_NS) {
		rest /= 2;
	} else {
		mean = LONG_NS / 2;
		rest = rest < REST_NS ? REST_NS : rest > REST_MAX / 2 ? REST_MAX : rest * 2;
		__atomic_store_n(&probe.large_at, now + rest, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&probe.large_took, mean, __ATOMIC_RELAXED);
	__atomic_store_n(&probe.large_rest, rest, __ATOMIC_RELAXED);
}

bool large_fill(int fd, uint8_t *base, size_t bytes)
{
	uint64_t begin = now_ns(), end, none = 0;
	bool made = true, first;

	first = __atomic_compare_exchange_n(&probe.large_since, &none, begin, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	/* The kernel makes none of nothing. */
	for (size_t at = 0; made && at < bytes; at += LARGE_BYTES)
		made = fallocate(fd, 0, (off_t)at, 1) == 0;
	made = made && madvise(base, bytes, COLLAPSE) == 0;
	if (first)
		__atomic_store_n(&probe.large_since, 0, __ATOMIC_RELAXED);
	end = now_ns();
	learn(made, end - begin, end);
	return made;
}
