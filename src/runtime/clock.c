/*
 * clock.c - find out how the counter runs, without waiting for it.
 *
 * The kernel tells its own factors to everybody who may open a performance event of its own
 * process (perf_event_mmap_page.time_mult; see perf_event_open(2)). Where it does not, two
 * readings some milliseconds apart do.
 */
#include "runtime/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/text.h"

#define NS_PER_S   UINT64_C(1000000000)
#define MEASURE_NS UINT64_C(5000000)

#ifdef __SIZEOF_INT128__
typedef unsigned __int128 wide;
#else
typedef uint64_t wide; /* 32 bits: no counter is read there, so nothing is calculated */
#endif

#ifdef __x86_64__
#include <cpuid.h>

/* Not before what was loaded: who finds another's event in a packet has a later time than that. */
static uint64_t counter(void)
{
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

/* Invariant, and not given up by the kernel. Without /sys, the CPU's word is taken. */
static bool counter_is_good(void)
{
	unsigned a, b, c, d;
	char name[16] = "";
	int fd;

	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
		return false;
	fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	if (read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	(void)close(fd);
	return strncmp(name, "tsc", 3) == 0 || strncmp(name, "kvm-clock", 9) == 0;
}
#elif defined(__aarch64__)
static uint64_t counter(void)
{
	uint64_t ticks;

	__asm__ volatile("isb\nmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
	return ticks;
}

static bool counter_is_good(void)
{
	return true; /* the architecture promises it */
}
#else
static uint64_t counter(void)
{
	return 0;
}

static bool counter_is_good(void)
{
	return false;
}
#endif

bool probe_clock_is_counter(void)
{
	static int known; /* 1 yes, 2 no; whoever finds out says the same */

	if (!__atomic_load_n(&known, __ATOMIC_RELAXED))
		__atomic_store_n(&known, counter_is_good() ? 1 : 2, __ATOMIC_RELAXED);
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == 1;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t probe_clock_now(bool is_counter)
{
	return is_counter ? counter() : clock_ns(CLOCK_MONOTONIC);
}

/* 0 when the kernel does not tell. */
static uint64_t frequency_of_kernel(void)
{
#ifdef __aarch64__
	uint64_t hz;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
#else
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perf_event_mmap_page *page;
	uint64_t hz = 0;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return 0;
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		if (page->cap_user_time && page->time_mult && page->time_shift < 64)
			hz = (uint64_t)(((wide)NS_PER_S << page->time_shift) / page->time_mult);
		(void)munmap(page, (size_t)sysconf(_SC_PAGESIZE));
	}
	(void)close(fd);
	return hz;
#endif
}

/* The counter and the time at one moment: the closest of some tries. */
static void take_pair(clockid_t id, uint64_t *out_ticks, uint64_t *out_ns)
{
	uint64_t best = UINT64_MAX;

	*out_ticks = *out_ns = 0;
	for (int i = 0; i < 16; i++) {
		uint64_t before = counter(), ns = clock_ns(id), after = counter();

		if (after - before < best) {
			best = after - before;
			*out_ticks = before + best / 2;
			*out_ns = ns;
		}
	}
}

static uint64_t measure_frequency(void)
{
	uint64_t from_ticks, from_ns, ticks, ns;

	take_pair(CLOCK_MONOTONIC_RAW, &from_ticks, &from_ns);
	do
		take_pair(CLOCK_MONOTONIC_RAW, &ticks, &ns);
	while (ns - from_ns < MEASURE_NS);
	return (uint64_t)((wide)(ticks - from_ticks) * NS_PER_S / (ns - from_ns));
}

static void find_out(struct probe_clock *clock)
{
	uint64_t ticks, ns;
	wide real;

	if (!clock->is_counter) {
		uint64_t mono = clock_ns(CLOCK_MONOTONIC);
		uint64_t since = clock_ns(CLOCK_REALTIME) - mono;

		clock->frequency = NS_PER_S;
		clock->offset_s = since / NS_PER_S;
		clock->offset = since % NS_PER_S;
		return;
	}
	clock->frequency = frequency_of_kernel();
	if (!clock->frequency)
		clock->frequency = measure_frequency();
	take_pair(CLOCK_REALTIME, &ticks, &ns);
	real = (wide)ns * clock->frequency / NS_PER_S - ticks; /* UNIX time, in ticks */
	clock->offset_s = (uint64_t)(real / clock->frequency);
	clock->offset = (uint64_t)(real % clock->frequency);
}

struct kept {
	char boot[36];
	uint32_t is_counter;
	struct probe_clock clock;
};

static bool boot_id(char out_id[36])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, out_id, 36);

	if (fd >= 0)
		(void)close(fd);
	return got == 36;
}

static bool read_kept(const char *path, const struct kept *want, struct probe_clock *out_clock)
{
	struct kept kept;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got = fd < 0 ? -1 : read(fd, &kept, sizeof(kept));

	if (fd >= 0)
		(void)close(fd);
	if (got != sizeof(kept) || memcmp(kept.boot, want->boot, sizeof(kept.boot)) != 0 ||
	    kept.is_counter != want->is_counter || kept.clock.frequency < 1000 ||
	    kept.clock.frequency > UINT64_C(1) << 40)
		return false;
	*out_clock = kept.clock;
	return true;
}

/* Whole or not at all; whoever comes second takes what is there. */
static void clock_keep(const char *path, const struct kept *kept)
{
	char other[4096];
	struct text text;
	int fd;

	text_begin(&text, other, sizeof(other));
	text_add(&text, path);
	text_add(&text, "-");
	text_number(&text, (uint64_t)getpid());
	if (text.cut)
		return;
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, kept, sizeof(*kept)) == sizeof(*kept) && link(other, path) < 0 &&
	    errno == EEXIST) {
		struct kept old = *kept;
		struct probe_clock clock;

		if (!read_kept(path, &old, &clock))
			(void)rename(other, path); /* of an earlier boot */
	}
	(void)close(fd);
	(void)unlink(other);
}

void probe_clock_read(const char *dir, struct probe_clock *out_clock)
{
	struct kept kept = { .is_counter = probe_clock_is_counter() };
	char path[4096];
	struct text text;

	text_begin(&text, path, sizeof(path));
	text_add(&text, dir);
	text_add(&text, "/.clock");
	kept.clock.is_counter = kept.is_counter;
	if (boot_id(kept.boot) && !text.cut) {
		if (read_kept(path, &kept, out_clock))
			return;
		find_out(&kept.clock);
		clock_keep(path, &kept);
		if (read_kept(path, &kept, out_clock))
			return;
	} else {
		find_out(&kept.clock);
	}
	*out_clock = kept.clock;
}
