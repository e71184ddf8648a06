/*
 * fifty_plant.c - waits with time-outs whose end is known, for bench/fifty.py.
 *
 *	fifty_plant cond|sem|select|timeout|periodic ROUNDS
 *
 * cond, sem, select: the main thread looks every 50 ms whether it was given something, and a thread called
 * the-holder gives it after HELD_MS of work. timeout: it waits in vain for HELD_MS, and goes on. periodic: it works
 * whenever its 50 ms are over, whether it was given something or not. Prints
 * "HOLDER WAITER BEGIN END" for each round, times in ns of CLOCK_MONOTONIC; HOLDER is 0 where nobody held it up.
 */
#include <inttypes.h>
#include <semaphore.h>
#include <sys/select.h>

#include "../examples/truth.h"

#define HELD_MS	    700u
#define SLICE_MS    50u
#define PERIOD_WORK 2u /* ms */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem, begin, ready;
static int ends[2];
static bool given;
static const char *kind;

static struct timespec after_ms(unsigned int ms)
{
	uint64_t ns = clock_ns(CLOCK_REALTIME) + ms * 1000000ull;

	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

static void work_ms(unsigned int ms)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + ms * 1000000ull;

	while (clock_ns(CLOCK_MONOTONIC) < end)
		;
}

static void give(void)
{
	if (strcmp(kind, "cond") == 0) {
		pthread_mutex_lock(&mutex);
		given = true;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	} else if (strcmp(kind, "sem") == 0) {
		sem_post(&sem);
	} else if (write(ends[1], "x", 1) != 1) {
		fail("write");
	}
}

static void *hold(void *tid)
{
	prctl(PR_SET_NAME, "the-holder");
	*(pid_t *)tid = gettid();
	sem_post(&ready);
	for (;;) {
		sem_wait(&begin);
		work_ms(HELD_MS);
		give();
	}
	return NULL;
}

static void wait_cond(void)
{
	pthread_mutex_lock(&mutex);
	while (!given) {
		struct timespec until = after_ms(SLICE_MS);

		pthread_cond_timedwait(&cond, &mutex, &until);
	}
	given = false;
	pthread_mutex_unlock(&mutex);
}

static void wait_sem(void)
{
	struct timespec until = after_ms(SLICE_MS);

	while (sem_timedwait(&sem, &until) < 0)
		until = after_ms(SLICE_MS);
}

static void wait_select(void)
{
	struct timeval limit;
	fd_set set;
	char byte;

	do {
		FD_ZERO(&set);
		FD_SET(ends[0], &set);
		limit = (struct timeval){ .tv_usec = SLICE_MS * 1000 };
	} while (select(ends[0] + 1, &set, NULL, NULL, &limit) == 0);
	if (read(ends[0], &byte, 1) != 1)
		fail("read");
}

static void wait_in_vain(void)
{
	struct timespec until = after_ms(HELD_MS);

	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&cond, &mutex, &until);
	pthread_mutex_unlock(&mutex);
}

static void wait_periodic(void)
{
	for (unsigned int i = 0; i < HELD_MS / SLICE_MS; i++) {
		struct timespec until = after_ms(SLICE_MS);

		pthread_mutex_lock(&mutex);
		pthread_cond_timedwait(&cond, &mutex, &until);
		pthread_mutex_unlock(&mutex);
		work_ms(PERIOD_WORK);
	}
}

static const struct kind {
	const char *name;
	void (*wait)(void);
	bool is_held;
} kinds[] = {
	{ "cond", wait_cond, true },	      { "sem", wait_sem, true },
	{ "select", wait_select, true },      { "timeout", wait_in_vain, false },
	{ "periodic", wait_periodic, false },
};

static void run_rounds(const struct kind *one, unsigned int rounds)
{
	pid_t holder = 0;
	pthread_t thread;

	if (one->is_held) {
		pthread_create(&thread, NULL, hold, &holder);
		sem_wait(&ready);
	}
	while (rounds--) {
		uint64_t begin_ns;

		usleep(20000);
		if (one->is_held)
			sem_post(&begin);
		begin_ns = clock_ns(CLOCK_MONOTONIC);
		one->wait();
		printf("%d %d %" PRIu64 " %" PRIu64 "\n", holder, gettid(), begin_ns,
		       clock_ns(CLOCK_MONOTONIC));
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	kind = argc == 3 ? argv[1] : "";
	sem_init(&sem, 0, 0);
	sem_init(&begin, 0, 0);
	sem_init(&ready, 0, 0);
	if (pipe(ends) < 0)
		fail("pipe");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kind, kinds[i].name) != 0)
			continue;
		run_rounds(&kinds[i], (unsigned int)atoi(argv[2]));
		return EXIT_SUCCESS;
	}
	fputs("usage: fifty_plant cond|sem|select|timeout|periodic ROUNDS\n", stderr);
	return 2;
}
