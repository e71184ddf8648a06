/*
 * model-deadline.c - a missed deadline because of a thread of a higher priority.
 *
 * A real-time thread has 20 jobs, one after the other; each computes for 1 ms and must be done within
 * 5 ms. In three of them a thread of a higher priority takes the CPU for 8 ms. The jobs begin
 * and end with events of the program itself:
 *
 *	deadline:job_begin  job
 *	deadline:job_end    job
 *
 *	sudo holdup check examples/models/model-deadline.yaml -- model-deadline
 */
#include <holdup/trace.h>
#include <semaphore.h>

#include "planted.h"

#define JOBS 20

HOLDUP_EVENT(deadline, job_begin, (u32, job))
HOLDUP_EVENT(deadline, job_end, (u32, job))

static const struct example example = {
	.name = "model-deadline",
	.shows =
		"20 jobs of a real-time thread, each of which must be done within 5 ms. In three of\n"
		"them a thread of a higher priority takes the CPU for 8 ms.",
};

struct jobs {
	const struct run *run;
	int cpu;
	sem_t wanted, ready;
	bool is_over;
};

static void *take_cpu(void *context)
{
	struct jobs *jobs = context;

	set_name("urgent");
	planted_alone(jobs->cpu, 20);
	sem_post(&jobs->ready);
	while (sem_wait(&jobs->wanted) == 0 && !jobs->is_over)
		burn(run_ms(jobs->run, 8));
	return NULL;
}

static bool is_late(uint32_t job)
{
	return job == 5 || job == 11 || job == 16;
}

static void do_job(struct jobs *jobs, struct plants *plants, uint32_t job)
{
	planted_begin(plants);
	holdup_deadline_job_begin(job);
	if (is_late(job))
		sem_post(&jobs->wanted);
	burn_until(now_ns() + run_ms(jobs->run, 1));
	holdup_deadline_job_end(job);
	planted_end(plants, is_late(job) ? "preempted" : NULL, "urgent");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct jobs jobs = { .run = &run, .cpu = last_cpu() };
	struct plants plants = { .count = 0 };
	pthread_t thread;

	planted_alone(jobs.cpu, 10);
	sem_init(&jobs.wanted, 0, 0);
	sem_init(&jobs.ready, 0, 0);
	pthread_create(&thread, NULL, take_cpu, &jobs);
	sem_wait(&jobs.ready);
	for (uint32_t job = 0; job < JOBS; job++)
		do_job(&jobs, &plants, job);
	jobs.is_over = true;
	sem_post(&jobs.wanted);
	pthread_join(thread, NULL);
	return planted_print(&run, &plants);
}
