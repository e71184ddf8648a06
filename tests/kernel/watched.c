/*
 * watched.c - jobs, some of which take too long, for who watches them.
 *
 * usage: watched TRUTH JOBS BAD[,BAD...] [--wait] [--inside] [--stay] [--threads] [--fast]
 *
 * Each job logs its begin and end; the BAD ones sleep 60 ms on the way. With --wait the program
 * goes on behind a bad one only when it has got SIGUSR1, or after 30 s: so who sends that
 * has seen it while the program runs. With --inside it waits so before the end of the job, which has no
 * end until then. With --stay it stays until it is killed. With --threads
 * each job ends in a thread of its own. With --fast it sleeps behind each 50th job only.
 *
 * TRUTH becomes {"pid":...,"jobs":[{"job","ns"}],"signals":N}; "ready" is printed at the start.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdup/trace.h>

HOLDUP_EVENT(work, job_begin, (u32, job), (flow, flow))
HOLDUP_EVENT(work, job_end, (u32, job), (flow, flow))

#define JOBS_MAX      1000000u
#define BAD_US	      60000
#define WAIT_S	      30
#define BETWEEN_US    1000
#define SIGNAL_GAP_US 1100000 /* who watches sends no more than one signal a second */

static uint64_t spent_ns[JOBS_MAX];
static unsigned int signals;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int is_bad(const char *list, uint32_t job)
{
	for (const char *at = list; *at; at += *at == ',') {
		char *end;

		if (strtoul(at, &end, 10) == job && end != at)
			return 1;
		at = end == at ? at + 1 : end;
	}
	return 0;
}

static void wait_for_signal(const sigset_t *set)
{
	const struct timespec most = { .tv_sec = WAIT_S };

	if (sigtimedwait(set, NULL, &most) == SIGUSR1)
		signals++;
	usleep(SIGNAL_GAP_US);
}

static void burn(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

struct end {
	uint32_t job;
};

static void *end_job(void *context)
{
	const struct end *end = context;

	holdup_work_job_end(end->job, 5000 + end->job);
	return NULL;
}

static void run_job(uint32_t job, int bad, int threads, int fast, const sigset_t *inside)
{
	uint64_t start_ns = now_ns();

	holdup_work_job_begin(job, 5000 + job);
	if (!fast)
		burn();
	if (bad)
		usleep(BAD_US);
	if (bad && inside)
		wait_for_signal(inside);
	if (threads) {
		struct end end = { job };
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_job, &end) == 0)
			pthread_join(thread, NULL);
	} else {
		holdup_work_job_end(job, 5000 + job);
	}
	spent_ns[job] = now_ns() - start_ns;
}

static void write_truth(const char *path, uint32_t jobs)
{
	FILE *out = fopen(path, "w");

	if (!out)
		exit(1);
	fprintf(out, "{\"pid\":%d,\"signals\":%u,\"jobs\":[", getpid(), signals);
	for (uint32_t i = 0; i < jobs; i++)
		fprintf(out, "%s{\"job\":%u,\"ns\":%llu}", i ? "," : "", i,
			(unsigned long long)spent_ns[i]);
	fputs("]}\n", out);
	fclose(out);
}

int main(int argc, char **argv)
{
	uint32_t jobs = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	int wait = 0, inside = 0, stay = 0, threads = 0, fast = 0;
	sigset_t set;

	if (argc < 4 || jobs > JOBS_MAX)
		return 2;
	for (int i = 4; i < argc; i++) {
		wait |= strcmp(argv[i], "--wait") == 0;
		inside |= strcmp(argv[i], "--inside") == 0;
		fast |= strcmp(argv[i], "--fast") == 0;
		stay |= strcmp(argv[i], "--stay") == 0;
		threads |= strcmp(argv[i], "--threads") == 0;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	if (stay)
		sleep(2); /* who asks for events has the time to */
	for (uint32_t job = 0; job < jobs; job++) {
		int bad = is_bad(argv[3], job);

		run_job(job, bad, threads, fast, inside ? &set : NULL);
		if (bad && wait)
			wait_for_signal(&set);
		if (!fast || job % 50 == 0)
			usleep(BETWEEN_US);
	}
	write_truth(argv[1], jobs);
	while (stay)
		pause();
	return 0;
}
