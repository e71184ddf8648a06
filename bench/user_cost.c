/*
 * user_cost.c - what one event of libholdup costs the thread that logs it, beside the floor.
 *
 *	usage: user_cost off|u64|u64x4|str15|floor|latency|threads N EVENTS ROUNDS
 *	       user_cost paced MILLIONS EVENTS
 *	       user_cost pages
 *	       user_cost rate THREADS MILLIONS SECONDS
 *
 * Prints ns of CPU time of the thread per event, the fastest round. The floor is what no tracer can
 * go below: read the counter and store 16 bytes into a ring of the thread's own. HOLDUP and
 * HOLDUP_EVENTS say where events go, as for any program. Before each round the trace begins anew
 * below the folder given in BENCH_DIR, and the one before is removed, so that memory is used again.
 *	threads	also the CPU time of the process, with the library's helper; BENCH_MEMORY has memory
 *		ready before
 *	paced	logs events of four numbers, so many millions a second
 *	pages	what no stream can go below for long: CPU time of the kernel to find new memory for a
 *		file in BENCH_DIR, for each 44 bytes, an event of four numbers
 *	rate	logs so many millions of events a second in each thread, and leaves its trace there
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <holdup/trace.h>

HOLDUP_EVENT(bench, u64, (u64, value))
HOLDUP_EVENT(bench, u64x4, (u64, a), (u64, b), (u64, c), (u64, d))
HOLDUP_EVENT(bench, str15, (str, text))
HOLDUP_EVENT(cold, u64, (u64, value))

#define EVENT 44 /* bytes of one with four numbers */
#define LARGE (2u << 20)
#define RING  (4u << 20) /* as large as what a flight recorder keeps of a CPU */

static char ring[RING] __attribute__((aligned(4096)));

static double clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* What others do on this CPU meanwhile is not the event's. */
static double cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* That of the library's helper, too. */
static double process_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

#define REPEAT(...)                                \
	for (uint64_t i = 0; i < count; i++) {     \
		__VA_ARGS__;                       \
		__asm__ volatile("" ::: "memory"); \
	}

static __attribute__((noinline)) void run_empty(uint64_t count)
{
	REPEAT()
}

static __attribute__((noinline)) void run_floor(uint64_t count)
{
	size_t at = 0;

	REPEAT({
		uint64_t pair[2] = { __rdtsc(), i };

		memcpy(ring + at, pair, sizeof(pair));
		at = (at + sizeof(pair)) % RING;
	})
}

static __attribute__((noinline)) void run_off(uint64_t count)
{
	REPEAT(holdup_cold_u64(i))
}

static __attribute__((noinline)) void run_u64(uint64_t count)
{
	REPEAT(holdup_bench_u64(i))
}

static __attribute__((noinline)) void run_u64x4(uint64_t count)
{
	REPEAT(holdup_bench_u64x4(i, i + 1, i + 2, i + 3))
}

static __attribute__((noinline)) void run_str15(uint64_t count)
{
	REPEAT(holdup_bench_str15("fifteen letters"))
}

static const struct {
	const char *name;
	void (*run)(uint64_t count);
} variants[] = {
	{ "empty", run_empty }, { "floor", run_floor }, { "off", run_off },
	{ "u64", run_u64 },	{ "u64x4", run_u64x4 }, { "str15", run_str15 },
};

static void remove_folder(const char *dir)
{
	DIR *entries = opendir(dir);
	const struct dirent *entry;
	char path[4096];

	while (entries && (entry = readdir(entries))) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		(void)unlink(path);
	}
	if (entries)
		(void)closedir(entries);
	(void)rmdir(dir);
}

static enum holdup_mode mode_of_bench(void)
{
	const char *mode = getenv("BENCH_MODE");

	return mode && strcmp(mode, "flight") == 0 ? HOLDUP_FLIGHT : HOLDUP_STREAM;
}

static void begin_trace(char old[4096])
{
	struct holdup_options options = { .struct_size = sizeof(options),
					  .dir = getenv("BENCH_DIR"),
					  .mode = mode_of_bench(),
					  .events = "bench" };

	if (!options.dir)
		return;
	holdup_stop();
	if (old[0])
		remove_folder(old);
	if (holdup_start(&options) < 0) {
		fprintf(stderr, "user_cost: cannot begin a trace in %s\n", options.dir);
		exit(3);
	}
	(void)holdup_trace_dir(old, 4096);
}

static double time_of(void (*run)(uint64_t), uint64_t count, int rounds)
{
	char dir[4096] = "";
	double best = 1e18;

	for (int i = 0; i < rounds; i++) {
		double start;

		begin_trace(dir);
		run(count / 4); /* until buffers have their size */
		start = cpu_ns();
		run(count);
		start = (cpu_ns() - start) / (double)count;
		best = start < best ? start : best;
	}
	if (dir[0]) {
		holdup_stop();
		remove_folder(dir);
	}
	return best;
}

/* ------------------------------------------------------------------- latency */

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* In large pages that are there: a new page of it each 1024 calls would be among the slowest. */
static uint32_t *make_table(uint64_t count)
{
	size_t bytes = count * sizeof(uint32_t), whole = bytes + LARGE - bytes % LARGE;
	uint32_t *table = aligned_alloc(LARGE, whole);

	if (table) {
		(void)madvise(table, whole, MADV_HUGEPAGE);
		memset(table, 1, whole);
	}
	return table;
}

/* Single calls, in ticks of the counter; less what reading the counter takes. */
static int show_latency(uint64_t count)
{
	uint32_t *ticks = make_table(count);
	char dir[4096] = "";
	double start, ns_per_tick;
	uint64_t first, self = UINT64_MAX;

	if (!ticks)
		return 3;
	begin_trace(dir);
	run_u64(count / 4);
	start = now_ns();
	first = __rdtsc();
	for (int i = 0; i < 1000; i++) {
		uint64_t a = __rdtsc(), b = __rdtsc();

		self = b - a < self ? b - a : self;
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t a = __rdtsc();

		holdup_bench_u64(i);
		ticks[i] = (uint32_t)(__rdtsc() - a - self);
	}
	ns_per_tick = (now_ns() - start) / (double)(__rdtsc() - first);
	qsort(ticks, count, sizeof(*ticks), compare);
	printf("{\"p50_ns\":%.1f,\"p99_ns\":%.1f,\"p999_ns\":%.1f,\"p9999_ns\":%.1f,\"max_ns\":%.0f}\n",
	       ticks[count / 2] * ns_per_tick, ticks[count / 100 * 99] * ns_per_tick,
	       ticks[count / 1000 * 999] * ns_per_tick, ticks[count / 10000 * 9999] * ns_per_tick,
	       ticks[count - 1] * ns_per_tick);
	holdup_stop();
	remove_folder(dir);
	free(ticks);
	return 0;
}

/* ------------------------------------------------------------------- threads */

struct worker {
	pthread_t thread;
	uint64_t count;
	atomic_int *go;
	double cpu_ns; /* CPU time per event */
};

static void *work(void *context)
{
	struct worker *worker = context;
	double start;

	while (!atomic_load(worker->go))
		;
	run_u64(worker->count / 4); /* until buffers have their size */
	start = cpu_ns();
	run_u64(worker->count);
	worker->cpu_ns = (cpu_ns() - start) / (double)worker->count;
	return NULL;
}

/* False: they could not be started. */
static bool run_workers(struct worker *workers, int threads, uint64_t count)
{
	atomic_int go = 0;

	for (int i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .count = count, .go = &go };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return false;
	}
	atomic_store(&go, 1);
	for (int i = 0; i < threads; i++)
		(void)pthread_join(workers[i].thread, NULL);
	return true;
}

/*
 * Let there be so much free memory that a hypervisor has given: else the stream waits for that. A
 * machine of one's own has all of its memory.
 */
static void get_memory(size_t bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	(void)madvise(memory, bytes, MADV_HUGEPAGE);
	memset(memory, 1, bytes);
	(void)munmap(memory, bytes);
}

/* The second of two rounds: buffers of the C library and such are there then. */
static int show_threads(int threads, uint64_t count)
{
	struct worker *workers = calloc((size_t)threads, sizeof(*workers));
	char dir[4096] = "";
	double worst = 0, sum = 0, all = 0;

	if (!workers)
		return 3;
	if (getenv("BENCH_MEMORY"))
		get_memory((size_t)threads * count * 2 * EVENT);
	for (int round = 0; round < 2; round++) {
		begin_trace(dir);
		all = process_ns();
		if (!run_workers(workers, threads, count))
			return 3;
		all = (process_ns() - all) / ((double)(count + count / 4) * threads);
	}
	for (int i = 0; i < threads; i++) {
		sum += workers[i].cpu_ns;
		worst = workers[i].cpu_ns > worst ? workers[i].cpu_ns : worst;
	}
	printf("{\"threads\":%d,\"mean_ns\":%.2f,\"worst_ns\":%.2f,\"process_ns\":%.2f,\"lost\":%llu}\n",
	       threads, sum / threads, worst, all, (unsigned long long)holdup_lost_count());
	holdup_stop();
	remove_folder(dir);
	free(workers);
	return 0;
}

/* ---------------------------------------------------------------------- rate */

#define BATCH 1000 /* events; then it waits until it is time for the next ones */

struct paced {
	pthread_t thread;
	double per_s, seconds;
	double took_s; /* for all of them */
	double late_s; /* at most behind its time */
};

static void *pace(void *context)
{
	struct paced *paced = context;
	double start = now_ns(), step = BATCH / paced->per_s * 1e9;
	uint64_t batches = (uint64_t)(paced->per_s * paced->seconds / BATCH);

	for (uint64_t i = 0; i < batches; i++) {
		double due = start + (double)i * step, now = now_ns();

		if ((now - due) / 1e9 > paced->late_s)
			paced->late_s = (now - due) / 1e9;
		while (now < due)
			now = now_ns();
		run_u64(BATCH);
	}
	paced->took_s = (now_ns() - start) / 1e9;
	return NULL;
}

static int show_rate(int threads, double per_s, double seconds)
{
	struct paced *paced = calloc((size_t)threads, sizeof(*paced));
	uint64_t events = (uint64_t)(per_s * seconds / BATCH) * BATCH * (uint64_t)threads;
	char dir[4096] = "";
	double took = 0, late = 0;

	if (!paced)
		return 3;
	begin_trace(dir);
	for (int i = 0; i < threads; i++) {
		paced[i] = (struct paced){ .per_s = per_s, .seconds = seconds };
		if (pthread_create(&paced[i].thread, NULL, pace, &paced[i]) != 0)
			return 3;
	}
	for (int i = 0; i < threads; i++) {
		(void)pthread_join(paced[i].thread, NULL);
		took = paced[i].took_s > took ? paced[i].took_s : took;
		late = paced[i].late_s > late ? paced[i].late_s : late;
	}
	printf("{\"threads\":%d,\"events\":%llu,\"seconds\":%.3f,\"late_ms\":%.1f,\"lost\":%llu,"
	       "\"dir\":\"%s\"}\n",
	       threads, (unsigned long long)events, took, late * 1e3,
	       (unsigned long long)holdup_lost_count(), dir);
	holdup_stop();
	free(paced);
	return 0;
}

/* CPU time of the batches alone, where the kernel has the time to find memory for them. */
static int show_paced(double per_s, uint64_t count)
{
	double step = BATCH / per_s * 1e9, start, sum = 0;
	uint64_t batches = count / BATCH;
	char dir[4096] = "";

	begin_trace(dir);
	run_u64x4(count); /* see show_threads() */
	begin_trace(dir);
	run_u64x4(count / 4);
	start = now_ns();
	for (uint64_t i = 0; i < batches; i++) {
		double before = cpu_ns();

		run_u64x4(BATCH);
		sum += cpu_ns() - before;
		while (now_ns() < start + (double)(i + 1) * step)
			;
	}
	printf("%.3f\n", sum / (double)(batches * BATCH));
	holdup_stop();
	remove_folder(dir);
	return 0;
}

/* --------------------------------------------------------------------- pages */

#define FILES	   30
#define FILE_BYTES (4u << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* As the library makes files of small pages, and maps them. */
static bool make_small(int fd, uint8_t *at)
{
	return fallocate(fd, 0, 0, FILE_BYTES) == 0 &&
	       madvise(at, FILE_BYTES, MADV_POPULATE_WRITE) == 0;
}

/* As it copies full ones. */
static bool make_copied(int fd, uint8_t *unused)
{
	(void)unused;
	return write(fd, ring, FILE_BYTES) == FILE_BYTES;
}

static bool make_large(int fd, uint8_t *at)
{
	for (off_t from = 0; from < FILE_BYTES; from += LARGE) {
		if (fallocate(fd, 0, from, 1) < 0)
			return false;
	}
	return madvise(at, FILE_BYTES, MADV_COLLAPSE) == 0;
}

/* ns of CPU time for one file, or less than 0. */
static double time_of_file(bool (*make)(int, uint8_t *), int *out_fd)
{
	char path[4096];
	uint8_t *all, *at;
	double start;

	(void)snprintf(path, sizeof(path), "%s/pages-XXXXXX", getenv("BENCH_DIR"));
	*out_fd = mkstemp(path);
	if (*out_fd < 0 || unlink(path) < 0 || ftruncate(*out_fd, FILE_BYTES) < 0)
		return -1;
	all = mmap(NULL, FILE_BYTES + LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return -1;
	at = all + -(uintptr_t)all % LARGE;
	start = cpu_ns();
	if (mmap(at, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, *out_fd, 0) ==
		    MAP_FAILED ||
	    !make(*out_fd, at))
		start = -1;
	(void)munmap(all, FILE_BYTES + LARGE);
	return start < 0 ? -1 : cpu_ns() - start;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The median, ns for an event; 0 = there are none of these. */
static double time_of_pages(bool (*make)(int, uint8_t *))
{
	double times[FILES];
	int fds[FILES];

	for (int i = 0; i < FILES; i++)
		times[i] = time_of_file(make, &fds[i]);
	for (int i = 0; i < FILES; i++)
		(void)close(fds[i]);
	qsort(times, FILES, sizeof(times[0]), compare_doubles);
	return times[0] < 0 ? 0 : times[FILES / 2] / FILE_BYTES * EVENT;
}

static int show_pages(void)
{
	double small, copied, large;

	if (!getenv("BENCH_DIR"))
		return 2;
	memset(ring, 1, sizeof(ring));
	(void)time_of_pages(make_small); /* a hypervisor may have taken back memory that is free */
	small = time_of_pages(make_small);
	copied = time_of_pages(make_copied);
	(void)time_of_pages(make_large);
	large = time_of_pages(make_large);
	printf("{\"small_ns\":%.2f,\"copied_ns\":%.2f,\"large_ns\":%.2f}\n", small, copied, large);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[argc > 3 ? argc - 2 : 2], NULL, 10) : 4000000;
	int rounds = argc > 3 ? atoi(argv[argc - 1]) : 5;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "method") == 0)
		return puts(holdup_method()) < 0;
	if (strcmp(argv[1], "pages") == 0)
		return show_pages();
	if (strcmp(argv[1], "latency") == 0)
		return show_latency(count);
	if (strcmp(argv[1], "threads") == 0 && argc > 4)
		return show_threads(atoi(argv[2]), count);
	if (strcmp(argv[1], "paced") == 0 && argc > 3)
		return show_paced(atof(argv[2]) * 1e6, strtoull(argv[3], NULL, 10));
	if (strcmp(argv[1], "rate") == 0 && argc > 4)
		return show_rate(atoi(argv[2]), atof(argv[3]) * 1e6, atof(argv[4]));
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		if (strcmp(argv[1], variants[i].name) == 0) {
			printf("%.3f\n", time_of(variants[i].run, count, rounds));
			return 0;
		}
	}
	return 2;
}
