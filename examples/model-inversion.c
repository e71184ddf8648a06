/*
 * model-inversion.c - priority inversion through system calls in a loop that should stay in user space.
 *
 * The control loop of a real-time thread computes for 1 ms in each of 20 rounds, and should not call
 * the kernel meanwhile. In three rounds it logs something, for which it needs a mutex. A thread of
 * low priority has it, and one between the two keeps that one off the CPU for 12 ms.
 *
 *	inversion:round_begin  round
 *	inversion:round_end    round
 *
 *	sudo holdup check examples/models/model-inversion.yaml -- model-inversion
 */
#include <holdup/trace.h>
#include <semaphore.h>

#include "planted.h"

#define ROUNDS 20

HOLDUP_EVENT(inversion, round_begin, (u32, round))
HOLDUP_EVENT(inversion, round_end, (u32, round))

static const struct example example = {
	.name = "model-inversion",
	.shows =
		"20 rounds of a real-time thread that should stay in user space. In three of them it\n"
		"calls the kernel for a mutex whose holder, of low priority, is kept off the CPU by\n"
		"a thread between the two for 12 ms.",
};

struct loop {
	const struct run *run;
	int cpu;
	pthread_mutex_t log;
	sem_t low_wanted, held, medium_wanted, ready;
	bool is_over;
};

static void *low(void *context)
{
	struct loop *loop = context;

	set_name("low-logger");
	pin(loop->cpu);
	while (sem_wait(&loop->low_wanted) == 0 && !loop->is_over) {
		pthread_mutex_lock(&loop->log);
		sem_post(&loop->held);
		burn(run_ms(loop->run, 0.3));
		pthread_mutex_unlock(&loop->log);
	}
	return NULL;
}

static void *medium(void *context)
{
	struct loop *loop = context;

	set_name("medium-hog");
	planted_alone(loop->cpu, 10);
	sem_post(&loop->ready);
	while (sem_wait(&loop->medium_wanted) == 0 && !loop->is_over)
		burn_until(now_ns() + run_ms(loop->run, 12));
	return NULL;
}

static bool does_log(uint32_t round)
{
	return round == 4 || round == 9 || round == 17;
}

static void log_something(struct loop *loop)
{
	sem_post(&loop->medium_wanted);
	pthread_mutex_lock(&loop->log);
	pthread_mutex_unlock(&loop->log);
}

static void go_round(struct loop *loop, struct plants *plants, uint32_t round)
{
	if (does_log(round)) {
		sem_post(&loop->low_wanted);
		sem_wait(&loop->held);
	}
	planted_begin(plants);
	holdup_inversion_round_begin(round);
	burn_until(now_ns() + run_ms(loop->run, 1));
	if (does_log(round))
		log_something(loop);
	holdup_inversion_round_end(round);
	planted_end(plants, does_log(round) ? "preempted" : NULL, "medium-hog");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct loop loop = { .run = &run, .cpu = last_cpu(), .log = PTHREAD_MUTEX_INITIALIZER };
	struct plants plants = { .count = 0 };
	pthread_t threads[2];

	sem_init(&loop.low_wanted, 0, 0);
	sem_init(&loop.held, 0, 0);
	sem_init(&loop.ready, 0, 0);
	sem_init(&loop.medium_wanted, 0, 0);
	pthread_create(&threads[0], NULL, low, &loop);
	pthread_create(&threads[1], NULL, medium, &loop);
	sem_wait(&loop.ready);
	planted_alone(loop.cpu, 20);
	for (uint32_t round = 0; round < ROUNDS; round++)
		go_round(&loop, &plants, round);
	loop.is_over = true;
	sem_post(&loop.low_wanted);
	sem_post(&loop.medium_wanted);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return planted_print(&run, &plants);
}
