/*
 * user_cost.c - what one event of libholdup costs the thread that logs it, beside the floor.
 *
 *	usage: user_cost off|u64|u64x4|str15|floor|latency|threads N EVENTS ROUNDS
 *	       user_cost paced MILLIONS EVENTS
 *	       user_cost rate THREADS MILLIONS SECONDS
 *
 * Prints ns of CPU time of the thread per event, the fastest round. The floor is what no tracer can go below: read the
 * counter and store 16 bytes into a ring of the thread's own. HOLDUP and HOLDUP_EVENTS say where
 * events go, as for any program. Before each round the trace begins anew below the folder given
 * in BENCH_DIR, and the one before is removed, so that memory is used again. 'paced' logs events
 * of four numbers, so many millions a second. 'rate' logs so many millions of events a second in
 * each thread, and leaves its trace there.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <holdup/trace.h>

HOLDUP_EVENT(bench, u64, (u64, value))
HOLDUP_EVENT(bench, u64x4, (u64, a), (u64, b), (u64, c), (u64, d))
HOLDUP_EVENT(bench, str15, (str, text))
HOLDUP_EVENT(cold, u64, (u64, value))

#define RING (4u << 20) /* as large as what a flight recorder keeps of a CPU */

static char ring[RING] __attribute__((aligned(4096)));

static double now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What others do on this CPU meanwhile is not the event's. */
static double cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
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

/* Single calls, in ticks of the counter; less what reading the counter takes. */
static int show_latency(uint64_t count)
{
	uint32_t *ticks = calloc(count, sizeof(*ticks));
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

static int show_threads(int threads, uint64_t count)
{
	struct worker *workers = calloc((size_t)threads, sizeof(*workers));
	atomic_int go = 0;
	char dir[4096] = "";
	double worst = 0, sum = 0;

	if (!workers)
		return 3;
	begin_trace(dir);
	for (int i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .count = count, .go = &go };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return 3;
	}
	atomic_store(&go, 1);
	for (int i = 0; i < threads; i++) {
		(void)pthread_join(workers[i].thread, NULL);
		sum += workers[i].cpu_ns;
		worst = workers[i].cpu_ns > worst ? workers[i].cpu_ns : worst;
	}
	printf("{\"threads\":%d,\"mean_ns\":%.2f,\"worst_ns\":%.2f,\"lost\":%llu}\n", threads,
	       sum / threads, worst, (unsigned long long)holdup_lost_count());
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

int main(int argc, char **argv)
{
	uint64_t count = argc > 2 ? strtoull(argv[argc > 3 ? argc - 2 : 2], NULL, 10) : 4000000;
	int rounds = argc > 3 ? atoi(argv[argc - 1]) : 5;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "method") == 0)
		return puts(holdup_method()) < 0;
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
