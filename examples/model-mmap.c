/*
 * model-mmap.c - many threads wait for the one lock on the memory map of their process.
 *
 * Four threads map and unmap some memory 20 times each, all at once. In three of the rounds another
 * thread has the kernel make the pages of a large region, and so holds the lock on the memory
 * map, for reading, for some 50 ms: every mmap() and munmap() of the process waits for it.
 *
 *	map:begin  round
 *	map:end    round
 *
 *	sudo holdup check examples/models/model-mmap.yaml -- model-mmap
 */
#include <holdup/trace.h>

#include "planted.h"

#define THREADS 4
#define ROUNDS	20
#define SMALL	((size_t)64 << 10)
#define LARGE	((size_t)192 << 20)

HOLDUP_EVENT(map, begin, (u32, round))
HOLDUP_EVENT(map, end, (u32, round))

static const struct example example = {
	.name = "model-mmap",
	.shows = "Four threads map and unmap memory 20 times each. In three rounds another thread\n"
		 "holds the lock on the memory map of the process.",
};

struct maps {
	const struct run *run;
	pthread_barrier_t begins, ends;
	char *large;
	struct plants plants[THREADS];
	uint32_t threads;
};

static bool is_held(uint32_t round)
{
	return round == 6 || round == 10 || round == 14;
}

static void map_some(struct plants *plants, uint32_t round)
{
	void *memory;

	planted_begin(plants);
	holdup_map_begin(round);
	memory = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	munmap(memory, SMALL);
	holdup_map_end(round);
	planted_end(plants, is_held(round) ? "other_thread" : NULL, "page-maker");
}

static void *work(void *context)
{
	struct maps *maps = context;
	struct plants *plants =
		&maps->plants[__atomic_fetch_add(&maps->threads, 1, __ATOMIC_RELAXED)];

	set_name("mapper");
	for (uint32_t round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&maps->begins);
		if (is_held(round))
			nap(run_ms(maps->run, 2)); /* the page-maker is at it */
		map_some(plants, round);
		pthread_barrier_wait(&maps->ends);
	}
	return NULL;
}

/* Page after page is made, with the lock held. */
static void populate(const struct maps *maps)
{
	if (madvise(maps->large, LARGE, MADV_POPULATE_WRITE) < 0)
		skip("the kernel knows no MADV_POPULATE_WRITE");
	if (madvise(maps->large, LARGE, MADV_DONTNEED) < 0)
		fail("madvise");
	/* Who is not real time was kept waiting, and would get its turn in the next round. */
	nap(run_ms(maps->run, 100));
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct maps maps = { .run = &run };
	struct plants plants = { .count = 0 };
	pthread_t threads[THREADS];

	maps.large = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (maps.large == MAP_FAILED)
		fail("mmap");
	set_name("page-maker");
	go_fifo(10); /* and so are the threads: nobody else's work is in the way */
	pthread_barrier_init(&maps.begins, NULL, THREADS + 1);
	pthread_barrier_init(&maps.ends, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &maps);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&maps.begins);
		if (is_held(round))
			populate(&maps);
		pthread_barrier_wait(&maps.ends);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		planted_join(&plants, &maps.plants[i]);
	}
	return planted_print(&run, &plants);
}
